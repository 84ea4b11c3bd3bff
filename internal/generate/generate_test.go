package generate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/trace"
)

// defaultSHA256 is of the bytes of Default. It changes only with a change to
// the process or its defaults, which every table made from them then shows:
// whoever changes it says so.
const defaultSHA256 = "7009d9d58d251b8bb700dc314a7941c2b0fabd72de4e504d70d237e470024406"

func write(t testing.TB, p Params) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read parses a generated trace with the reader that studies use, which holds
// len(hash_ids) = ceil(input_length / block), the order of timestamps and more.
func read(t testing.TB, p Params) *trace.Trace {
	t.Helper()
	tr, err := trace.Parse("generated", write(t, p), trace.Options{BlockTokens: int(p.BlockTokens)})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// fataler is a *testing.T or *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

// checkPrompts holds what is true of any generated trace:
//
//   - a hash names the whole prefix up to its end: it is always at the same
//     depth behind the same hash, and so behind the same hashes;
//   - hashes are numbered from 0 as they first appear;
//   - a block that a prompt fills in part is in no other prompt.
func checkPrompts(t fataler, tr *trace.Trace) {
	const none = -1
	var parent []int64 // of each block number: the hash before it
	var uses []int
	var partial []uint32
	for i := range tr.Requests() {
		before := int64(none)
		blocks := tr.Blocks(i)
		for depth, b := range blocks {
			h := tr.Hash[b]
			if h != uint64(b) {
				t.Fatalf("request %d: hash %d is the one to appear as number %d", i, h, b)
			}
			if int(b) == len(parent) {
				parent, uses = append(parent, before), append(uses, 0)
			}
			if parent[b] != before {
				t.Fatalf("request %d: hash %d at depth %d is behind %d, and was behind %d", i, h, depth, before, parent[b])
			}
			uses[b]++
			before = int64(b)
		}
		if tr.InputTokens[i]%int64(tr.BlockTokens) != 0 {
			partial = append(partial, blocks[len(blocks)-1])
		}
	}
	for _, b := range partial {
		if uses[b] != 1 {
			t.Fatalf("hash %d ends a prompt within its block and is in %d prompts", b, uses[b])
		}
	}
}

// median is element ⌊n/2⌋ of the sorted values.
func median(xs []int64) int64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// gaps returns the positive gaps between arrivals and the gaps of all reuses.
func gaps(tr *trace.Trace) (arrival, reuse []int64) {
	last := map[uint32]int64{}
	for i, at := range tr.ArrivalMS {
		if i > 0 && at > tr.ArrivalMS[i-1] {
			arrival = append(arrival, at-tr.ArrivalMS[i-1])
		}
		for _, b := range tr.Blocks(i) {
			if before, ok := last[b]; ok {
				reuse = append(reuse, at-before)
			}
			last[b] = at
		}
	}
	return arrival, reuse
}

func TestDefaultBytes(t *testing.T) {
	sum := sha256.Sum256(write(t, Default()))
	if got := hex.EncodeToString(sum[:]); got != defaultSHA256 {
		t.Errorf("SHA-256 of the default trace is %s, want %s", got, defaultSHA256)
	}
}

// The shape that Default promises, and the published synthetic trace has, for
// the default seed and others: it is the process, not one lucky draw.
func TestDefaultShape(t *testing.T) {
	for seed := range uint64(6) {
		p := Default()
		p.Seed = seed
		tr := read(t, p)
		checkPrompts(t, tr)

		arrival, reuse := gaps(tr)
		within := func(name string, got, low, high float64) {
			t.Helper()
			if got < low || got > high {
				t.Errorf("seed %d: %s is %g, want %g to %g", seed, name, got, low, high)
			}
		}
		within("requests", float64(tr.Requests()), 4000, 4000)
		within("lookups a request", float64(tr.Lookups())/4000, 26, 36)
		within("distinct blocks", float64(len(tr.Hash)), 44_000, 60_000)
		// The gaps of a Poisson process have median m·ln 2; that of 4,000 has
		// a standard deviation near m/√4000 = 4 ms.
		within("median positive gap in ms", float64(median(arrival)), 252*0.6931-16, 252*0.6931+16)
		within("median reuse gap in ms", float64(median(reuse)), 50_000, 75_000)
		for _, w := range []struct {
			ms        int64
			published float64 // share of the published trace's reuses with a smaller gap
		}{{1000, 0.0172}, {3000, 0.0596}, {10_000, 0.1671}} {
			n, _ := slices.BinarySearch(reuse, w.ms)
			share := float64(n) / float64(len(reuse))
			within("share of reuses inside a window", share, w.published/2, w.published*2)
		}
	}
}

// Small traces of any parameters: short blocks and few documents make prompts
// that end with a block, repeated follow-ups and re-opened documents common.
func TestAnyParams(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(rt, name) }
		p := Params{
			Seed:                 rapid.Uint64().Draw(rt, "seed"),
			Requests:             int(draw("requests", 1, 80)),
			BlockTokens:          draw("block tokens", 1, 9),
			MeanGapMS:            draw("mean gap", 1, 20),
			ChatPercent:          draw("chat", 0, 40),
			OneOffPercent:        draw("one-off", 0, 60),
			Documents:            draw("documents", 1, 4),
			DocumentBlocks:       draw("document blocks", 1, 5),
			QuestionsPerDocument: draw("questions", 1, 10),
			FollowUpPercent:      draw("follow-up", 0, 100),
			QuestionTokens:       draw("question tokens", 1, 12),
			AnswerTokens:         draw("answer tokens", 1, 30),
			Heads:                draw("heads", 1, 3),
			HeadBlocks:           draw("head blocks", 0, 3),
		}
		tr := read(t, p)
		if tr.Requests() != p.Requests {
			rt.Fatalf("%d requests, want %d", tr.Requests(), p.Requests)
		}
		if last := tr.ArrivalMS[p.Requests-1]; last >= int64(p.Requests)*p.MeanGapMS {
			rt.Fatalf("last arrival at %d ms, want below %d", last, int64(p.Requests)*p.MeanGapMS)
		}
		if tr.Dropped != 0 {
			rt.Fatalf("%d hashes twice in one request", tr.Dropped)
		}
		checkPrompts(rt, tr)
	})
}

func TestSeed(t *testing.T) {
	a, b := Default(), Default()
	if !bytes.Equal(write(t, a), write(t, b)) {
		t.Error("the same seed gave other bytes")
	}
	b.Seed++
	one, other := read(t, a), read(t, b)
	if slices.Equal(one.ArrivalMS, other.ArrivalMS) {
		t.Error("another seed gave the same arrivals")
	}
	if slices.Equal(one.InputTokens, other.InputTokens) {
		t.Error("another seed gave the same prompts")
	}
}

// Arrivals and prompts are drawn apart: a sweep over load or length compares
// the same prompts.
func TestArrivalsApartFromPrompts(t *testing.T) {
	p := Default()
	base := read(t, p)
	p.MeanGapMS = 25
	faster := read(t, p)
	if !slices.Equal(base.Block, faster.Block) || !slices.Equal(base.OutputTokens, faster.OutputTokens) {
		t.Error("another mean gap gave other prompts")
	}
	if slices.Equal(base.ArrivalMS, faster.ArrivalMS) {
		t.Error("another mean gap gave the same arrivals")
	}
	p = Default()
	p.Requests *= 2
	longer := read(t, p)
	if !slices.Equal(base.Block, longer.Block[:base.Lookups()]) {
		t.Error("twice the requests do not begin with the same prompts")
	}
}

// Each kind of request by itself shares what its description says.
func TestKinds(t *testing.T) {
	small := Default()
	small.Requests = 400
	small.OneOffPercent, small.ChatPercent = 0, 0

	t.Run("chat shares nothing", func(t *testing.T) {
		p := small
		p.ChatPercent = 100
		tr := read(t, p)
		if tr.Lookups() != len(tr.Hash) {
			t.Errorf("%d lookups of %d blocks", tr.Lookups(), len(tr.Hash))
		}
	})
	t.Run("one-off shares its head", func(t *testing.T) {
		p := small
		p.OneOffPercent, p.Heads, p.HeadBlocks = 100, 1, 3
		tr := read(t, p)
		if reuses := tr.Lookups() - len(tr.Hash); reuses != 3*(p.Requests-1) {
			t.Errorf("%d reuses, want the head's 3 blocks in each of %d later requests", reuses, p.Requests-1)
		}
	})
	t.Run("document is asked a geometric number of questions", func(t *testing.T) {
		p := small
		p.Requests, p.Documents, p.HeadBlocks, p.FollowUpPercent, p.DocumentBlocks = 4000, 1, 0, 0, 8
		p.BlockTokens = 16 // so that a document has a whole block, and its first hash names it
		tr := read(t, p)
		first := map[uint32]int{}
		for i := range tr.Requests() {
			first[tr.Blocks(i)[0]]++
		}
		// Some 667 documents with a mean of 6 and a deviation of 5.5 each; a
		// document in eight has no whole block and counts once a question.
		if n := len(first); n < 800 || n > 1500 {
			t.Errorf("%d first blocks over 4000 questions", n)
		}
	})
	t.Run("follow-up extends the prompt before", func(t *testing.T) {
		p := small
		p.Requests, p.Documents, p.FollowUpPercent, p.QuestionsPerDocument = 40, 1, 100, 10_000
		tr := read(t, p)
		for i := 1; i < tr.Requests(); i++ {
			if tr.InputTokens[i] <= tr.InputTokens[i-1]+tr.OutputTokens[i-1] {
				t.Fatalf("request %d has %d tokens after %d and an answer of %d", i, tr.InputTokens[i], tr.InputTokens[i-1], tr.OutputTokens[i-1])
			}
			whole := tr.InputTokens[i-1] / p.BlockTokens
			if !slices.Equal(tr.Blocks(i)[:whole], tr.Blocks(i - 1)[:whole]) {
				t.Fatalf("request %d does not begin with the %d whole blocks before it", i, whole)
			}
		}
	})
}

// The mean and the range of every draw, over enough of them that the mean is
// known to a fiftieth.
func TestDraws(t *testing.T) {
	const n, mean = 100_000, 40
	s := newSource(1, 0)
	for _, c := range []struct {
		name      string
		draw      func() int64
		mean      float64
		low, high int64
	}{
		{"below", func() int64 { return s.below(2*mean + 1) }, mean, 0, 2 * mean},
		{"uniform", func() int64 { return s.uniform(mean) }, mean, 1, 2*mean - 1},
		{"uniform of mean 1", func() int64 { return s.uniform(1) }, 1, 1, 1},
		{"geometric", func() int64 { return s.geometric(mean) }, mean, 1, 1 << 20},
		{"geometric of mean 1", func() int64 { return s.geometric(1) }, 1, 1, 1},
	} {
		var sum int64
		low, high := int64(1<<62), int64(-1)
		for range n {
			x := c.draw()
			sum, low, high = sum+x, min(low, x), max(high, x)
		}
		if got := float64(sum) / n; got < c.mean*0.98 || got > c.mean*1.02 {
			t.Errorf("%s: mean %g, want %g", c.name, got, c.mean)
		}
		if low != c.low || high > c.high {
			t.Errorf("%s: drawn from %d to %d, want %d to %d", c.name, low, high, c.low, c.high)
		}
		if c.high < 1<<20 && high != c.high {
			t.Errorf("%s: largest is %d, want %d", c.name, high, c.high)
		}
	}
}

func TestOneRequest(t *testing.T) {
	p := Default()
	p.Requests = 1
	tr := read(t, p)
	if tr.Requests() != 1 || tr.ArrivalMS[0] < 0 || tr.ArrivalMS[0] >= p.MeanGapMS {
		t.Errorf("%d requests at %v, want one before %d ms", tr.Requests(), tr.ArrivalMS, p.MeanGapMS)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		set  func(*Params)
		want string
	}{
		{func(p *Params) { p.Requests = 0 }, "generate: requests is 0, want 1 to 1000000000"},
		{func(p *Params) { p.BlockTokens = 0 }, "generate: block tokens is 0, want 1 to 1000000"},
		{func(p *Params) { p.MeanGapMS = -1 }, "generate: mean gap in ms is -1, want 1 to 1000000000"},
		{func(p *Params) { p.ChatPercent = 101 }, "generate: chat percent is 101, want 0 to 100"},
		{func(p *Params) { p.ChatPercent, p.OneOffPercent = 60, 41 }, "generate: one-off percent is 41, want 0 to 40"},
		{func(p *Params) { p.Documents = 0 }, "generate: documents is 0, want 1 to 10000000"},
		{func(p *Params) { p.DocumentBlocks = 0 }, "generate: document blocks is 0, want 1 to 10000"},
		{func(p *Params) { p.QuestionsPerDocument = 0 }, "generate: questions per document is 0, want 1 to 10000"},
		{func(p *Params) { p.FollowUpPercent = -5 }, "generate: follow-up percent is -5, want 0 to 100"},
		{func(p *Params) { p.QuestionTokens = 0 }, "generate: question tokens is 0, want 1 to 100000"},
		{func(p *Params) { p.AnswerTokens = 100_001 }, "generate: answer tokens is 100001, want 1 to 100000"},
		{func(p *Params) { p.Heads = 0 }, "generate: heads is 0, want 1 to 10000"},
		{func(p *Params) { p.HeadBlocks = 10_001 }, "generate: head blocks is 10001, want 0 to 10000"},
	} {
		p := Default()
		c.set(&p)
		if err := p.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if err := Write(io.Discard, p); err == nil {
			t.Errorf("Write took %+v", p)
		}
	}
	if err := Default().Validate(); err != nil {
		t.Errorf("Default: %v", err)
	}
}

type failing struct{ after int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	for _, after := range []int{0, 100_000, 1_000_000} {
		if err := Write(&failing{after}, Default()); !errors.Is(err, errFull) {
			t.Errorf("a disk full after %d bytes gave %v", after, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	p := Default()
	b.SetBytes(int64(len(write(b, p))))
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, p); err != nil {
			b.Fatal(err)
		}
	}
}
