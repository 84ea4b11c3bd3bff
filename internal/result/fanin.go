package result

import (
	"cmp"
	"slices"
)

// FanIn is a distribution of cohorts over their fan-in, in ascending order of
// fan-in, each fan-in once and none without cohorts.
type FanIn []FanInCount

// FanInCount says how many cohorts have one fan-in.
type FanInCount struct {
	FanIn   int64 // attempts in the cohort, the leader included; at least 1
	Cohorts int64
}

// FanInFromCounts returns the distribution in which counts[f] cohorts have
// fan-in f. Element 0 is not looked at: no cohort is without its leader.
func FanInFromCounts(counts []int64) FanIn {
	var h FanIn
	for f, c := range counts {
		if f > 0 && c > 0 {
			h = append(h, FanInCount{int64(f), c})
		}
	}
	return h
}

// Cohorts returns the number of cohorts.
func (h FanIn) Cohorts() int64 {
	var n int64
	for _, e := range h {
		n += e.Cohorts
	}
	return n
}

// Attempts returns the sum of fan-in over all cohorts.
func (h FanIn) Attempts() int64 {
	var n int64
	for _, e := range h {
		n += e.FanIn * e.Cohorts
	}
	return n
}

// DuplicateCohorts returns the number of cohorts with a fan-in above 1.
func (h FanIn) DuplicateCohorts() int64 { return h.Cohorts() - h.single() }

// DuplicateAttempts returns the attempts in cohorts with a fan-in above 1.
func (h FanIn) DuplicateAttempts() int64 { return h.Attempts() - h.single() }

func (h FanIn) single() int64 {
	if len(h) == 0 || h[0].FanIn != 1 {
		return 0
	}
	return h[0].Cohorts
}

// Percentile returns the fan-in at the nearest rank: the smallest fan-in that
// at least percent (1 to 100) of the cohorts do not exceed. It is 0 without
// cohorts.
func (h FanIn) Percentile(percent int64) int64 {
	rank := (h.Cohorts()*percent + 99) / 100
	for _, e := range h {
		if rank <= e.Cohorts {
			return e.FanIn
		}
		rank -= e.Cohorts
	}
	return 0
}

// Max returns the largest fan-in, 0 without cohorts.
func (h FanIn) Max() int64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].FanIn
}

// Add returns the distribution of both sets of cohorts together. Neither is
// changed.
func (h FanIn) Add(g FanIn) FanIn {
	all := slices.Concat(h, g)
	slices.SortFunc(all, func(a, b FanInCount) int { return cmp.Compare(a.FanIn, b.FanIn) })
	sum := all[:0]
	for _, e := range all {
		if n := len(sum); n > 0 && sum[n-1].FanIn == e.FanIn {
			sum[n-1].Cohorts += e.Cohorts
			continue
		}
		sum = append(sum, e)
	}
	return sum
}
