package profile

import (
	"fmt"
	"math"
	"slices"
)

// Check returns the first identity that p does not have, nil if it has all: it
// is made of counts that are made of each other, and an edited figure disagrees
// with another one. What nothing else in a profile knows, such as output
// tokens, it cannot tell.
func (p *Profile) Check() error {
	if err := p.PositiveGapMS.check("positive_gap_ms"); err != nil {
		return err
	}
	if err := p.RequestsPerTimestamp.check("requests_per_timestamp"); err != nil {
		return err
	}
	if err := p.Reuse.PositiveGapMS.check("reuse.positive_gap_ms"); err != nil {
		return err
	}
	for _, equal := range []struct {
		what      string
		got, want int64
	}{
		{"reuse.reuses are lookups - distinct_blocks", p.Reuse.Reuses, p.Lookups - p.DistinctBlocks},
		{"reuse.zero_gaps and reuse.positive_gap_ms.count are reuse.reuses", p.Reuse.ZeroGaps + p.Reuse.PositiveGapMS.Count, p.Reuse.Reuses},
		{"requests_per_timestamp.count is distinct_timestamps", p.RequestsPerTimestamp.Count, p.DistinctTimestamps},
		{"positive_gap_ms.count is distinct_timestamps - 1", p.PositiveGapMS.Count, max(0, p.DistinctTimestamps-1)},
	} {
		if equal.got != equal.want {
			return fmt.Errorf("%s: %d ≠ %d", equal.what, equal.got, equal.want)
		}
	}
	for _, copied := range []struct {
		what      string
		got, want *int64
	}{
		{"smallest_positive_gap_ms is positive_gap_ms.min", p.SmallestPositiveGapMS, p.PositiveGapMS.at(func(q *Quantiles) int64 { return q.Min })},
		{"median_positive_gap_ms is positive_gap_ms.p50", p.MedianPositiveGapMS, p.PositiveGapMS.median()},
		{"median_requests_per_timestamp is requests_per_timestamp.p50", p.MedianRequestsPerTimestamp, p.RequestsPerTimestamp.median()},
		{"median_positive_reuse_gap_ms is reuse.positive_gap_ms.p50", p.MedianPositiveReuseGapMS, p.Reuse.PositiveGapMS.median()},
	} {
		if (copied.got == nil) != (copied.want == nil) || copied.got != nil && *copied.got != *copied.want {
			return fmt.Errorf("%s, and it is not", copied.what)
		}
	}
	if err := p.checkSpan(); err != nil {
		return err
	}
	if err := p.checkArrivals(); err != nil {
		return err
	}
	return p.Reuse.checkWindows()
}

// checkArrivals compares arrivals over time with their totals.
func (p *Profile) checkArrivals() error {
	a := p.Arrivals
	if (a == nil) != (p.Requests == 0) {
		return fmt.Errorf("arrivals of %d requests", p.Requests)
	}
	if a == nil {
		return nil
	}
	if want := (*p.LastTimestampMS-*p.FirstTimestampMS)/arrivalSpans + 1; a.SpanMS != want {
		return fmt.Errorf("arrivals.span_ms %d ≠ %d by the timestamps", a.SpanMS, want)
	}
	for _, counted := range []struct {
		what  string
		spans []int64
		want  int64
	}{{"requests", a.Requests, p.Requests}, {"lookups", a.Lookups, p.Lookups}} {
		if n := total(counted.spans); len(counted.spans) != arrivalSpans || slices.Min(counted.spans) < 0 || n != counted.want {
			return fmt.Errorf("arrivals.%s: %d in %d spans ≠ %s %d", counted.what, n, len(counted.spans), counted.what, counted.want)
		}
	}
	return nil
}

func total(xs []int64) (sum int64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// checkSpan compares timestamps, gaps and lengths by what they can be.
func (p *Profile) checkSpan() error {
	if (p.FirstTimestampMS == nil) != (p.Requests == 0) || (p.LastTimestampMS == nil) != (p.Requests == 0) {
		return fmt.Errorf("first_timestamp_ms and last_timestamp_ms are those of %d requests", p.Requests)
	}
	if q := p.PositiveGapMS.Quantiles; q != nil {
		span := float64(*p.LastTimestampMS) - float64(*p.FirstTimestampMS) // a bound: it may be rounded
		if n := float64(p.PositiveGapMS.Count); span < 0.999*n*float64(q.Min) || span > 1.001*n*float64(q.Max) {
			return fmt.Errorf("first_timestamp_ms and last_timestamp_ms are %v apart, which %d gaps of positive_gap_ms cannot be", span, p.PositiveGapMS.Count)
		}
	} else if p.Requests > 0 && *p.FirstTimestampMS != *p.LastTimestampMS {
		return fmt.Errorf("first_timestamp_ms and last_timestamp_ms differ without a gap")
	}
	// ceil(input ÷ block) is the hashes of a request, before any is dropped.
	block := float64(p.BlockTokens)
	most := float64(p.Lookups+p.DroppedDuplicates) * block
	least := min(most-float64(p.Requests)*block, math.MaxInt64) // where the sum stays
	if in := float64(p.InputTokens); in > 1.001*most || in < 0.999*least {
		return fmt.Errorf("input_tokens %d do not fill the blocks of the lookups", p.InputTokens)
	}
	return nil
}

// check compares the quantiles of a distribution with each other.
func (d *Distribution) check(name string) error {
	if (d.Count == 0) != (d.Quantiles == nil) {
		return fmt.Errorf("%s: a count of %d with quantiles, or without", name, d.Count)
	}
	if d.Quantiles != nil && !slices.IsSorted(d.values()) {
		return fmt.Errorf("%s: the quantiles %v do not ascend", name, d.values())
	}
	return nil
}

// values returns the quantiles, ascending.
func (q *Quantiles) values() []int64 {
	return []int64{q.Min, q.P1, q.P5, q.P10, q.P25, q.P50, q.P75, q.P90, q.P95, q.P99, q.Max}
}

func (d *Distribution) at(quantile func(*Quantiles) int64) *int64 {
	if d.Quantiles == nil {
		return nil
	}
	v := quantile(d.Quantiles)
	return &v
}

func (d *Distribution) median() *int64 { return d.at(func(q *Quantiles) int64 { return q.P50 }) }

// checkWindows compares the reuses inside each window with the distribution of
// gaps: a quantile below the window is inside it, and so are all gaps of lower
// rank.
func (r *Reuse) checkWindows() error {
	for _, w := range r.Windows {
		positive := w.Reuses - r.ZeroGaps
		if positive < 0 || positive > r.PositiveGapMS.Count {
			return fmt.Errorf("reuse.windows: %d reuses inside %d ms, of %d of which %d have no gap", w.Reuses, w.WindowMS, r.Reuses, r.ZeroGaps)
		}
		if (w.Share == nil) != (r.Reuses == 0) || w.Share != nil && *w.Share != float64(w.Reuses)/float64(r.Reuses) {
			return fmt.Errorf("reuse.windows: share of %d ms is not its reuses ÷ all", w.WindowMS)
		}
		if r.PositiveGapMS.Quantiles == nil {
			continue
		}
		for i, v := range r.PositiveGapMS.values() {
			if rank := int64(ranks(int(r.PositiveGapMS.Count))[i]); (v < w.WindowMS) != (positive > rank) {
				return fmt.Errorf("reuse.windows: %d reuses inside %d ms, and element %d of the positive gaps is %d ms", w.Reuses, w.WindowMS, rank, v)
			}
		}
	}
	return nil
}
