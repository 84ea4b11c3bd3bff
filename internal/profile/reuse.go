package profile

import (
	"math/bits"
	"slices"

	"kvfanin/internal/trace"
)

// reuses goes through the reuses of a trace, as often as need be. A few ns a
// lookup each time are less than it takes to sort the gaps, and keeping them
// would take as much memory as the trace.
type reuses struct {
	trace *trace.Trace
	last  []uint32 // request, counted from 1, that held a block last; one a block
}

// gaps yields the gap of every reuse, in trace order, to the end.
func (r *reuses) gaps(yield func(gapMS int64)) {
	clear(r.last)
	at := r.trace.ArrivalMS
	for i, now := range at {
		for _, b := range r.trace.Blocks(i) {
			if last := r.last[b]; last != 0 {
				yield(now - at[last-1])
			}
			r.last[b] = uint32(i) + 1
		}
	}
}

func reuseOf(t *trace.Trace, windowsMS []int64) Reuse {
	reuses := reuses{t, make([]uint32, len(t.Hash))}
	r := Reuse{Windows: make([]Window, len(windowsMS))}
	for i, w := range windowsMS {
		r.Windows[i].WindowMS = w
	}
	var first digits
	shift := reuses.firstShift()
	reuses.gaps(func(gap int64) {
		r.Reuses++
		if gap == 0 {
			r.ZeroGaps++
		}
		first[gap>>shift]++
		for i := range r.Windows {
			if w := &r.Windows[i]; gap < w.WindowMS {
				w.Reuses++
			}
		}
	})
	if r.Reuses > 0 {
		for i := range r.Windows {
			w := &r.Windows[i]
			w.Share = new(float64(w.Reuses) / float64(r.Reuses))
		}
	}
	if n := int(r.Reuses - r.ZeroGaps); n > 0 {
		wanted := ranks(n)
		for i := range wanted {
			wanted[i] += int(r.ZeroGaps) // they come before
		}
		r.PositiveGapMS = distributionOf(n, reuses.elements(wanted, &first))
	}
	return r
}

// digits counts gaps by one of their digits. Its size makes for two digits up
// to a gap of three days, and stays in the cache.
type digits [1 << digitBits]int

const digitBits = 14

// firstShift is the number of bits behind the first digit of the gaps.
func (r *reuses) firstShift() int {
	at := r.trace.ArrivalMS
	if len(at) == 0 {
		return 0
	}
	longest := uint64(at[len(at)-1] - at[0])
	return max(bits.Len64(longest)-1, 0) / digitBits * digitBits
}

// elements returns the elements at some ranks, which ascend, of all gaps were
// they sorted; first has the counts of the first digit. It finds digit by
// digit: of the gaps that begin like an element it counts those that have each
// next digit.
func (r *reuses) elements(ranks []int, first *digits) []int64 {
	found := make([]int64, len(ranks)) // the digits so far
	rest := slices.Clone(ranks)        // ranks among the gaps that begin with them
	begin, counts := []int64{0}, []digits{*first}
	for shift := r.firstShift(); ; {
		for i := range found {
			count := &counts[slices.Index(begin, found[i])]
			next := 0
			for ; rest[i] >= count[next]; next++ {
				rest[i] -= count[next]
			}
			found[i] = found[i]<<digitBits | int64(next)
		}
		if shift == 0 {
			return found
		}
		shift -= digitBits
		begin = slices.Compact(slices.Clone(found))
		counts = make([]digits, len(begin))
		r.gaps(func(gap int64) {
			gap >>= shift
			if i := slices.Index(begin, gap>>digitBits); i >= 0 {
				counts[i][gap&(1<<digitBits-1)]++
			}
		})
	}
}
