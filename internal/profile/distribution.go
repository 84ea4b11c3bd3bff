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

// distribution sorts xs in place.
func distribution(xs []int64) Distribution {
	n := len(xs)
	if n == 0 {
		return Distribution{}
	}
	slices.Sort(xs)
	at := func(p int) int64 { return xs[p*n/100] }
	return Distribution{Count: int64(n), Quantiles: &Quantiles{
		Min: xs[0], P1: at(1), P5: at(5), P10: at(10), P25: at(25), P50: at(50),
		P75: at(75), P90: at(90), P95: at(95), P99: at(99), Max: xs[n-1],
	}}
}
