package study

import (
	"cmp"
	"math/bits"
	"slices"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
)

// source is where the joins of one stream come from, in the steady phase.
type source struct {
	joins     int64 // fan-in less 1, of the cohorts led in the phase
	blocks    sums  // of these, by block of the trace
	positions []int64
	times     sums             // joins that arrived in the phase, by arrival in ms
	largest   []result.Largest // and others
}

// cohort adds a cohort with a fan-in above 1.
func (o *source) cohort(s *stream, c fanin.Cohort) {
	if s.phase(c.Leader) != result.Steady {
		return
	}
	n := int64(c.FanIn) - 1
	block := s.block[c.Block]
	at := slices.Index(s.trace.Blocks(int(s.request[c.Leader])), block)
	o.joins += n
	o.blocks.add(int64(block), n)
	for len(o.positions) <= depth(at) {
		o.positions = append(o.positions, 0)
	}
	o.positions[depth(at)] += n
	o.largest = append(o.largest, result.Largest{
		StartMS:   s.ArrivalMS[c.Leader],
		BlockHash: s.trace.Hash[block],
		Position:  int64(at),
		FanIn:     int64(c.FanIn),
	})
	if len(o.largest) > 100*result.MostLargest {
		o.largest = largest(o.largest)
	}
}

// join adds joins.
func (o *source) join(s *stream, j fanin.Joins) {
	if s.phase(j.Joiner) == result.Steady {
		o.times.add(s.ArrivalMS[j.Joiner], int64(j.Blocks))
	}
}

// finish draws the sums together; afterwards the source is only read.
func (o *source) finish() {
	o.blocks.compact()
	o.times.compact()
	o.largest = largest(o.largest)
}

// depth returns the class of a position: 0, then 1 to 3, 4 to 15, 16 to 63
// and so on.
func depth(position int) int { return (bits.Len(uint(position)) + 1) / 2 }

// largest returns the largest of cohorts, sorted.
func largest(cohorts []result.Largest) []result.Largest {
	slices.SortFunc(cohorts, func(a, b result.Largest) int {
		return cmp.Or(
			-cmp.Compare(a.FanIn, b.FanIn),
			cmp.Compare(a.StartMS, b.StartMS),
			cmp.Compare(a.BlockHash, b.BlockHash),
			cmp.Compare(a.Instance, b.Instance),
		)
	})
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
	var blocks, times sums
	var cohorts []result.Largest
	var positions []int64
	for _, s := range sources {
		c.Joins += s.joins
		blocks.merge(&s.blocks)
		times.merge(&s.times)
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
	c.BusiestBlocks = result.NewBusiest(rd.steadyBlocks, blocks.most)
	c.BusiestTimestamps = result.NewBusiest(rd.steadyTimestamps, times.most)
	return c
}

// sums adds up amounts by key, in memory for twice as many as there are keys.
type sums struct {
	pairs []sum
	limit int
}

type sum struct{ key, n int64 }

func (s *sums) add(key, n int64) {
	s.pairs = append(s.pairs, sum{key, n})
	if len(s.pairs) > s.limit {
		s.compact()
		s.limit = max(1024, 2*len(s.pairs))
	}
}

func (s *sums) merge(other *sums) {
	for _, p := range other.pairs {
		s.add(p.key, p.n)
	}
}

// compact leaves one sum a key.
func (s *sums) compact() {
	slices.SortFunc(s.pairs, func(a, b sum) int { return cmp.Compare(a.key, b.key) })
	out := s.pairs[:0]
	for _, p := range s.pairs {
		if n := len(out); n > 0 && out[n-1].key == p.key {
			out[n-1].n += p.n
			continue
		}
		out = append(out, p)
	}
	s.pairs = out
}

// most returns what the count keys with most have together.
func (s *sums) most(count int64) (total int64) {
	s.compact()
	largest := make([]int64, len(s.pairs))
	for i, p := range s.pairs {
		largest[i] = p.n
	}
	slices.SortFunc(largest, func(a, b int64) int { return cmp.Compare(b, a) })
	for _, n := range largest[:min(count, int64(len(largest)))] {
		total += n
	}
	return total
}
