package trace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// DefaultBlockTokens is the block size of the public Mooncake traces.
const DefaultBlockTokens = 512

// Options say how a trace is read.
type Options struct {
	BlockTokens int       // tokens in one block; 0 means DefaultBlockTokens
	Sort        bool      // accept requests that are out of order, and sort them by arrival, stably
	Stdin       io.Reader // what a Ref with path "-" reads
}

func (o Options) withDefaults() (Options, error) {
	if o.BlockTokens == 0 {
		o.BlockTokens = DefaultBlockTokens
	}
	if o.BlockTokens < 0 {
		return o, fmt.Errorf("block size: got %d tokens, want at least 1", o.BlockTokens)
	}
	return o, nil
}

// Record is one request as it stands in a file.
type Record struct {
	TimestampMS  int64    // arrival, ms
	InputTokens  int64    // prompt length
	OutputTokens int64    // generated tokens
	Hashes       []uint64 // of the prompt's blocks in prefix order; may repeat
}

// format is one kind of trace file.
type format struct {
	name string

	// read hands each good record of the text to record and each problem, in
	// the order of the text, to report, until one of them returns an error,
	// which it returns. The record is good until the next call. Any other
	// error it returns is one of reading the text.
	read func(l *lines, file string, opt Options, record func(line int64, r *Record) error, report func(*Problem) error) error
}

// formats lists every format there is. With a second one, what tells them
// apart comes here as well.
var formats = []format{
	{name: "mooncake", read: readMooncake},
}

// Load reads a whole trace into memory. The first problem of the file is the
// error, a *Problem. Other errors are those of opening, reading and
// decompressing; ctx.Err() if ctx ended; and a file that changed meanwhile.
//
// A compressed file is decompressed twice, since its git blob id begins with
// its length; standard input and pipes go through an unlinked temporary file.
func Load(ctx context.Context, ref Ref, opt Options) (*Trace, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	f, err := openSeekable(ctx, ref, opt.Stdin)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	size, err := textSize(ctx, ref.file(), f)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := newText(ctx, ref.file(), f)
	if err != nil {
		return nil, err
	}
	defer text.close()
	return read(text, ref.Name, ref.file(), size, opt)
}

// Parse reads a trace from text in memory, as Load does from a file; name is
// the trace's name and what problems call the file.
func Parse(name string, text []byte, opt Options) (*Trace, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	return read(bytes.NewReader(text), name, name, int64(len(text)), opt)
}

// read builds a trace from text that was announced to have size bytes.
func read(text io.Reader, name, file string, size int64, opt Options) (*Trace, error) {
	id := newIdentity(file, size)
	l := newLines(io.TeeReader(text, id))
	b := newBuilder(file, l, size)
	err := formats[0].read(l, file, opt, b.add, func(p *Problem) error { return p })
	id.stop()
	if err != nil {
		return nil, err
	}
	t := b.trace
	t.Name, t.BlockTokens, t.Hash = name, opt.BlockTokens, b.blocks.hash
	if t.Source, err = id.source(); err != nil {
		return nil, err
	}
	if opt.Sort && !slices.IsSorted(t.ArrivalMS) {
		t = sorted(t)
	}
	return t, nil
}

// builder makes a trace from records in file order.
type builder struct {
	file   string
	lines  *lines
	size   int64 // of the text
	trace  *Trace
	blocks numbering
	last   []uint32 // request, counted from 1, that held a block last; one a block

	// The limits of what a Trace can number. Fields, so that a test can reach them.
	maxRequests, maxBlocks, maxLookups int
}

func newBuilder(file string, lines *lines, size int64) *builder {
	return &builder{
		file:        file,
		lines:       lines,
		size:        size,
		trace:       &Trace{Offset: []int64{0}},
		maxRequests: 1<<31 - 1,
		maxBlocks:   1<<32 - 2,
		maxLookups:  1<<32 - 2,
	}
}

func (b *builder) add(line int64, r *Record) error {
	t := b.trace
	n := len(r.Hashes)
	b.reserve(n)
	t.ArrivalMS = append(t.ArrivalMS, r.TimestampMS)
	t.InputTokens = append(t.InputTokens, r.InputTokens)
	t.OutputTokens = append(t.OutputTokens, r.OutputTokens)
	if len(t.ArrivalMS) > b.maxRequests {
		return b.tooMany(line, "record", "requests", b.maxRequests)
	}
	request := uint32(len(t.ArrivalMS))
	for _, h := range r.Hashes {
		block, fresh := b.blocks.add(h)
		switch {
		case fresh:
			b.last = append(b.last, request)
		case b.last[block] == request:
			t.Dropped++
			continue
		default:
			b.last[block] = request
		}
		t.Block = append(t.Block, block)
	}
	// After the loop, to keep it tight: a block number that wrapped around in
	// it goes nowhere.
	if len(b.blocks.hash) > b.maxBlocks {
		return b.tooMany(line, "hash_ids", "distinct hashes", b.maxBlocks)
	}
	if len(t.Block) > b.maxLookups {
		return b.tooMany(line, "hash_ids", "lookups", b.maxLookups)
	}
	t.Offset = append(t.Offset, int64(len(t.Block)))
	return nil
}

// reserve makes room in the columns for a request of n hashes.
func (b *builder) reserve(n int) {
	t := b.trace
	if have := len(t.ArrivalMS); have == cap(t.ArrivalMS) {
		room := b.room(have, 1)
		t.ArrivalMS = resized(t.ArrivalMS, room)
		t.InputTokens = resized(t.InputTokens, room)
		t.OutputTokens = resized(t.OutputTokens, room)
		t.Offset = resized(t.Offset, room+1)
	}
	if have := len(t.Block); have+n > cap(t.Block) {
		t.Block = resized(t.Block, b.room(have, n))
	}
	if have := len(b.last); have+n > cap(b.last) {
		b.last = resized(b.last, b.room(have, n))
		b.blocks.reserve(cap(b.last))
	}
}

// room returns how much room to make in a column that has some elements and
// may get n more: what the whole text takes if it goes on like the part before.
// So a long column is made once or twice and not by doubling, which would leave
// as much memory behind as it holds. The start of a text does not tell much of
// its end; until a column is long, it becomes four times as long at most.
//
// What an estimate is above the mark is mostly room that is never touched; the
// slots are, and 8 bytes a lookup are the most that they take.
func (b *builder) room(have, n int) int {
	need := have + n
	end := max(need+need/8, int(float64(have)*float64(b.size)/float64(b.lines.passed())*1.01))
	if have < longColumn {
		return min(end, 4*need)
	}
	return end
}

// longColumn is the length from which the text before tells how it goes on.
const longColumn = 1 << 18

// resized returns a column with its elements and room for so many in all.
func resized[E any](column []E, room int) []E {
	return append(make([]E, 0, room), column...)
}

func (b *builder) tooMany(line int64, field, what string, most int) error {
	return &Problem{
		File: b.file, Line: line, Field: field, Kind: TooMany,
		Got:  strconv.Itoa(most+1) + " " + what + " so far",
		Want: "at most " + strconv.Itoa(most),
	}
}

// sorted returns the trace with its requests sorted by arrival, stably, and
// its blocks numbered anew by first appearance.
func sorted(t *Trace) *Trace {
	order := make([]int, t.Requests())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.ArrivalMS[i], t.ArrivalMS[j]) })

	s := *t
	s.Source.Sorted = true
	s.ArrivalMS = permuted(t.ArrivalMS, order)
	s.InputTokens = permuted(t.InputTokens, order)
	s.OutputTokens = permuted(t.OutputTokens, order)
	s.Offset = make([]int64, 1, len(t.Offset))
	s.Block = make([]uint32, 0, len(t.Block))
	s.Hash = make([]uint64, 0, len(t.Hash))
	number := make([]uint32, len(t.Hash)) // new block number + 1 of an old one
	for _, i := range order {
		for _, old := range t.Blocks(i) {
			if number[old] == 0 {
				s.Hash = append(s.Hash, t.Hash[old])
				number[old] = uint32(len(s.Hash))
			}
			s.Block = append(s.Block, number[old]-1)
		}
		s.Offset = append(s.Offset, int64(len(s.Block)))
	}
	return &s
}

func permuted(column []int64, order []int) []int64 {
	out := make([]int64, len(column))
	for k, i := range order {
		out[k] = column[i]
	}
	return out
}
