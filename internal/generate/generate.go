package generate

import (
	"io"
	"slices"

	"kvfanin/internal/trace"
)

// Write writes the trace of p to w, request by request in Mooncake's JSONL. It
// returns the error of p.Validate, or the first error of w. It holds 8 bytes a
// request and the block hashes of the documents in use.
func Write(w io.Writer, p Params) error {
	if err := p.Validate(); err != nil {
		return err
	}
	out := trace.NewWriter(w)
	g := newGenerator(p)
	for _, at := range arrivals(p) {
		if err := out.Write(g.next(at)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// arrivals returns the arrival times in ms, in order: a Poisson process given
// that it has p.Requests events in p.Requests·p.MeanGapMS ms. Given their
// number, the events of a Poisson process are independent and uniform over the
// span (Ross, Stochastic Processes, 2nd ed. 1996, theorem 2.3.1), so no
// logarithm is needed, which machines may round differently.
func arrivals(p Params) []int64 {
	s := newSource(p.Seed, 0)
	at := make([]int64, p.Requests)
	for i := range at {
		at[i] = s.below(int64(p.Requests) * p.MeanGapMS)
	}
	slices.Sort(at)
	return at
}

// document is a text that prompts begin with: a system prompt, its own words,
// and the questions and answers it was followed up with.
type document struct {
	tokens int64
	hashes []uint64 // of its whole blocks that have been written
}

// generator is the state from which the next request is drawn.
type generator struct {
	p Params
	source

	nextHash uint64
	heads    [][]uint64 // block hashes of each system prompt once it was used
	inUse    []document // no tokens: the next question there opens a new one
	lone     document   // of a request that no other shares
	record   trace.Record
}

// newGenerator draws from a source of its own, so that arrivals and prompts do
// not depend on each other: another MeanGapMS changes times alone, and more
// Requests add prompts behind the same ones.
func newGenerator(p Params) *generator {
	return &generator{
		p:      p,
		source: newSource(p.Seed, 1),
		heads:  make([][]uint64, p.Heads),
		inUse:  make([]document, p.Documents),
	}
}

// next returns the request that arrives at the given time, valid until the
// next call.
func (g *generator) next(at int64) *trace.Record {
	d := &g.lone
	switch kind := g.below(100); {
	case kind < g.p.ChatPercent:
		*d = document{hashes: d.hashes[:0]}
	case kind < g.p.ChatPercent+g.p.OneOffPercent:
		g.open(d)
	default:
		d = &g.inUse[g.below(g.p.Documents)]
		if d.tokens == 0 {
			g.open(d)
		}
	}
	g.ask(d, at)
	if d == &g.lone {
		return &g.record
	}
	if g.percent(g.p.FollowUpPercent) {
		g.followUp(d)
	}
	if g.last(g.p.QuestionsPerDocument) {
		d.tokens = 0
	}
	return &g.record
}

// open makes d a new document: a system prompt, then words that nothing else
// begins with, ending somewhere in their last block.
func (g *generator) open(d *document) {
	head := &g.heads[g.below(g.p.Heads)]
	*head = g.fill(*head, g.p.HeadBlocks)
	d.hashes = append(d.hashes[:0], *head...)
	d.tokens = (g.p.HeadBlocks+g.geometric(g.p.DocumentBlocks))*g.p.BlockTokens - g.below(g.p.BlockTokens)
}

// ask makes the record a prompt of d and a new question. Only whole blocks of
// the document are shared with other prompts: the block it ends in goes on
// with the question, and so has another hash each time.
func (g *generator) ask(d *document, at int64) {
	block := g.p.BlockTokens
	d.hashes = g.fill(d.hashes, d.tokens/block)

	r := &g.record
	r.TimestampMS = at
	r.InputTokens = d.tokens + g.uniform(g.p.QuestionTokens)
	r.OutputTokens = g.uniform(g.p.AnswerTokens)
	r.Hashes = g.fill(append(r.Hashes[:0], d.hashes...), (r.InputTokens+block-1)/block)
}

// followUp lets d go on with the question and answer of the record. Blocks that
// the answer fills have no hash before a prompt holds them.
func (g *generator) followUp(d *document) {
	d.tokens = g.record.InputTokens + g.record.OutputTokens
	whole := g.record.InputTokens / g.p.BlockTokens
	d.hashes = append(d.hashes, g.record.Hashes[len(d.hashes):whole]...)
}

// fill appends new hashes to hashes until there are n. Hashes are small and
// dense, numbered as they first appear, as in the public traces: whoever calls
// it writes them with the next record, in this order.
func (g *generator) fill(hashes []uint64, n int64) []uint64 {
	for int64(len(hashes)) < n {
		hashes = append(hashes, g.nextHash)
		g.nextHash++
	}
	return hashes
}
