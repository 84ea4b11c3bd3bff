package profile

import "slices"

// Distribution is n values by their ranks; the field that holds it says their
// unit. With no values there are no quantiles: Count is 0, Quantiles is nil and
// the JSON has the count alone.
//
// The percentile p is element ⌊p·n ÷ 100⌋ of the sorted values, counted from 0:
// an observed value, never one between two. That is the nearest rank, and where
// the rank falls exactly between two elements the upper one of them. So P50 is
// element ⌊n ÷ 2⌋, and a median of this package is that P50 and nothing else.
type Distribution struct {
	Count int64 `json:"count"`
	*Quantiles
}

// Quantiles are the smallest value, the largest, and percentiles as defined at
// Distribution.
type Quantiles struct {
	Min int64 `json:"min"`
	P1  int64 `json:"p1"`
	P5  int64 `json:"p5"`
	P10 int64 `json:"p10"`
	P25 int64 `json:"p25"`
	P50 int64 `json:"p50"`
	P75 int64 `json:"p75"`
	P90 int64 `json:"p90"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// percentiles are the fields of Quantiles between Min and Max, in their order.
var percentiles = [...]int{1, 5, 10, 25, 50, 75, 90, 95, 99}

// ranks returns which elements of n sorted values, counted from 0, make up
// their Quantiles, in the order of its fields.
func ranks(n int) []int {
	ranks := []int{0}
	for _, p := range percentiles {
		ranks = append(ranks, p*n/100)
	}
	return append(ranks, n-1)
}

// distributionOf makes a distribution of n values of the elements at their
// ranks.
func distributionOf(n int, v []int64) Distribution {
	return Distribution{Count: int64(n), Quantiles: &Quantiles{
		Min: v[0], P1: v[1], P5: v[2], P10: v[3], P25: v[4], P50: v[5],
		P75: v[6], P90: v[7], P95: v[8], P99: v[9], Max: v[10],
	}}
}

// distribution sorts xs in place.
func distribution(xs []int64) Distribution {
	n := len(xs)
	if n == 0 {
		return Distribution{}
	}
	slices.Sort(xs)
	var v []int64
	for _, rank := range ranks(n) {
		v = append(v, xs[rank])
	}
	return distributionOf(n, v)
}
