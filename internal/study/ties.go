package study

import (
	"math"
	"math/rand/v2"
	"slices"

	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

// under returns the reading of an arm: the trace with its equal timestamps
// spread as the arm says, and its phases where they were.
func (rd *reading) under(arm result.Arm) *reading {
	t := *rd.trace
	t.ArrivalMS = spread(rd.trace, arm)
	return &reading{trace: &t, steady: rd.steady, seed: arm.Seed}
}

// spread returns when each request arrives under an arm. The m requests of one
// timestamp are spread, in file order, over the g ms to the next: evenly, the
// k-th at ⌊k·g÷m⌋ from it, or at m integers drawn from [0, g) and sorted. The
// last timestamp has the median gap, a single one none.
func spread(t *trace.Trace, arm result.Arm) []int64 {
	if arm.Ties == result.Simultaneous {
		return t.ArrivalMS
	}
	arrivals := slices.Clone(t.ArrivalMS)
	draw := rand.New(rand.NewPCG(uint64(arm.Seed), 0))
	last := medianGap(arrivals)
	for to := 0; to < len(arrivals); {
		from, now := to, arrivals[to]
		for to < len(arrivals) && arrivals[to] == now {
			to++
		}
		gap := last
		if to < len(arrivals) {
			gap = arrivals[to] - now
		}
		gap = min(gap, math.MaxInt64-now)
		if gap == 0 {
			continue
		}
		tie := arrivals[from:to]
		for k := range tie {
			if arm.Ties == result.Random {
				tie[k] = now + draw.Int64N(gap)
			} else {
				tie[k] = now + evenly(int64(k), gap, int64(len(tie)))
			}
		}
		slices.Sort(tie)
	}
	return arrivals
}

// evenly returns ⌊k·gap÷m⌋ for k < m, which k·gap itself may not fit into.
func evenly(k, gap, m int64) int64 { return k*(gap/m) + k*(gap%m)/m }

// medianGap returns element ⌊n/2⌋ of the n positive gaps, sorted; 0 if there is
// none.
func medianGap(arrivals []int64) int64 {
	var gaps []int64
	for i := 1; i < len(arrivals); i++ {
		if gap := arrivals[i] - arrivals[i-1]; gap > 0 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}
