package study

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
)

// source is where the joins of one stream come from, in the steady phase.
type source struct {
	joins     int64 // fan-in less 1, of the cohorts led in the phase
	blocks    []sum // of these, by block of the trace
	positions []int64
	times     []sum            // joins that arrived in the phase, by arrival in ms
	largest   []result.Largest // and others
}

// sum is an amount by its key. Sums are in the order of their keys, each once.
type sum struct{ key, n int64 }

// cohort adds a cohort with a fan-in above 1. Where a block may have several,
// joined adds them up, else it is nil.
func (o *source) cohort(s *stream, c fanin.Cohort, joined *counter) {
	if s.phase(c.Leader) != result.Steady {
		return
	}
	n := int64(c.FanIn) - 1
	block := s.block[c.Block]
	at := slices.Index(s.trace.Blocks(int(s.request[c.Leader])), block)
	o.joins += n
	if joined != nil {
		joined.add(c.Block, c.FanIn-1)
	} else {
		o.blocks = append(o.blocks, sum{int64(block), n})
	}
	for len(o.positions) <= depth(at) {
		o.positions = append(o.positions, 0)
	}
	o.positions[depth(at)] += n
	o.rank(result.Largest{
		StartMS:   s.ArrivalMS[c.Leader],
		BlockHash: s.trace.Hash[block],
		Position:  int64(at),
		FanIn:     int64(c.FanIn),
	})
}

// rank adds a cohort to the largest, if it may be one of them. Most are not, and
// are seen not to be by one comparison: from MostLargest on, those stand first
// and in their order.
func (o *source) rank(l result.Largest) {
	n := len(o.largest)
	if n >= result.MostLargest && byRank(o.largest[result.MostLargest-1], l) < 0 {
		return
	}
	if o.largest = append(o.largest, l); n+1 == result.MostLargest || n+1 == 2*result.MostLargest {
		o.largest = largest(o.largest)
	}
}

// join adds joins, which come in the order they arrive.
func (o *source) join(s *stream, j fanin.Joins) {
	if s.phase(j.Joiner) != result.Steady {
		return
	}
	now := s.ArrivalMS[j.Joiner]
	if n := len(o.times); n == 0 || o.times[n-1].key != now {
		o.times = append(o.times, sum{key: now})
	}
	o.times[len(o.times)-1].n += int64(j.Blocks)
}

// finish draws the sums together; afterwards the source is only read.
func (o *source) finish(s *stream, joined *counter) {
	if joined != nil {
		for _, b := range joined.touched {
			o.blocks = append(o.blocks, sum{int64(s.block[b]), int64(joined.n[b])})
		}
		joined.clear()
	}
	o.blocks = drawTogether(o.blocks)
	o.largest = largest(o.largest)
}

// counter adds up joins by block of a stream.
type counter struct {
	n       []uint32
	touched []uint32 // the blocks of which n is not 0
}

// reset makes room for so many blocks.
func (c *counter) reset(blocks int) {
	if len(c.n) < blocks {
		c.n = make([]uint32, blocks)
	}
}

func (c *counter) add(block, n uint32) {
	if c.n[block] == 0 {
		c.touched = append(c.touched, block)
	}
	c.n[block] += n
}

func (c *counter) clear() {
	for _, b := range c.touched {
		c.n[b] = 0
	}
	c.touched = c.touched[:0]
}

// depth returns the class of a position: 0, then 1 to 3, 4 to 15, 16 to 63
// and so on.
func depth(position int) int { return (bits.Len(uint(position)) + 1) / 2 }

// byRank orders cohorts by fan-in, the largest first, then start, then hash.
func byRank(a, b result.Largest) int {
	return cmp.Or(
		-cmp.Compare(a.FanIn, b.FanIn),
		cmp.Compare(a.StartMS, b.StartMS),
		cmp.Compare(a.BlockHash, b.BlockHash),
		cmp.Compare(a.Instance, b.Instance),
	)
}

// largest returns the largest of cohorts, sorted.
func largest(cohorts []result.Largest) []result.Largest {
	slices.SortFunc(cohorts, byRank)
	return cohorts[:min(result.MostLargest, len(cohorts))]
}

// sourceAt is the source of an instance.
type sourceAt struct {
	instance int
	*source
}

// concentrationOf draws together what the instances of a configuration gave
// in the steady phase, of which fanIn are the cohorts.
func (rd *reading) concentrationOf(sources []sourceAt, fanIn result.FanIn) result.Concentration {
	c := result.Concentration{Positions: []result.AtDepth{}, Largest: []result.Largest{}}
	var blocks, times []sum
	var cohorts []result.Largest
	var positions []int64
	for _, s := range sources {
		c.Joins += s.joins
		blocks = append(blocks, s.blocks...)
		times = append(times, s.times...)
		for _, l := range s.largest {
			l.Instance = int64(s.instance)
			cohorts = append(cohorts, l)
		}
		for d, n := range s.positions {
			for len(positions) <= d {
				positions = append(positions, 0)
			}
			positions[d] += n
		}
	}
	c.Largest = append(c.Largest, largest(cohorts)...)
	from := int64(0)
	for d, n := range positions {
		to := int64(1)<<(2*d) - 1
		c.Positions = append(c.Positions, result.AtDepth{From: from, To: to, Joins: n})
		from = to + 1
	}
	c.BusiestCohorts = fanIn.Busiest()
	if len(sources) > 1 {
		blocks, times = drawTogether(blocks), drawTogether(times)
	}
	c.BusiestBlocks = result.NewBusiest(rd.steadyBlocks, func(count int64) int64 { return most(blocks, count) })
	c.BusiestTimestamps = result.NewBusiest(rd.steadyTimestamps, func(count int64) int64 { return most(times, count) })
	return c
}

// drawTogether sorts sums by key and leaves one a key, in their own memory.
func drawTogether(sums []sum) []sum {
	slices.SortFunc(sums, func(a, b sum) int { return cmp.Compare(a.key, b.key) })
	out := sums[:0]
	for _, p := range sums {
		if n := len(out); n > 0 && out[n-1].key == p.key {
			out[n-1].n += p.n
			continue
		}
		out = append(out, p)
	}
	return out
}

// most returns what the count sums with most have together.
func most(sums []sum, count int64) (total int64) {
	have := map[int64]int64{} // so many sums of an amount; there are few amounts
	for _, p := range sums {
		have[p.n]++
	}
	for _, amount := range slices.Backward(slices.Sorted(maps.Keys(have))) {
		n := min(count, have[amount])
		total += n * amount
		count -= n
	}
	return total
}
