package profile

import (
	"math"

	"kvfanin/internal/trace"
)

// Profile is what a trace looks like. Its JSON form is written beside the rows
// of a study; fields keep their order there, and a figure that does not exist,
// such as the median gap of a trace with one timestamp, is left out.
type Profile struct {
	Requests          int64 `json:"requests"`
	Lookups           int64 `json:"lookups"` // (request, block) pairs; a hash that stands twice in one request counts once
	DistinctBlocks    int64 `json:"distinct_blocks"`
	DroppedDuplicates int64 `json:"dropped_duplicates"` // hashes that stood a second time in one request

	BlockTokens  int64 `json:"block_tokens"`  // tokens in one block
	InputTokens  int64 `json:"input_tokens"`  // sum over requests, at most math.MaxInt64
	OutputTokens int64 `json:"output_tokens"` // sum over requests, at most math.MaxInt64

	FirstTimestampMS   *int64 `json:"first_timestamp_ms,omitempty"`
	LastTimestampMS    *int64 `json:"last_timestamp_ms,omitempty"`
	DistinctTimestamps int64  `json:"distinct_timestamps"`

	// All windows up to the smallest positive gap are one and the same
	// experiment: every load is complete by the next timestamp.
	SmallestPositiveGapMS      *int64 `json:"smallest_positive_gap_ms,omitempty"`
	MedianPositiveGapMS        *int64 `json:"median_positive_gap_ms,omitempty"`
	MedianRequestsPerTimestamp *int64 `json:"median_requests_per_timestamp,omitempty"`
	MedianPositiveReuseGapMS   *int64 `json:"median_positive_reuse_gap_ms,omitempty"`

	PositiveGapMS        Distribution `json:"positive_gap_ms"`        // ms between successive distinct timestamps
	RequestsPerTimestamp Distribution `json:"requests_per_timestamp"` // one value a distinct timestamp
	Reuse                Reuse        `json:"reuse"`

	Arrivals *Arrivals `json:"arrivals,omitempty"`
}

// Arrivals counts requests and their lookups over time, in spans of equal
// length from the first timestamp on; the last timestamp is in the last span.
type Arrivals struct {
	SpanMS   int64   `json:"span_ms"`
	Requests []int64 `json:"requests"` // of each span
	Lookups  []int64 `json:"lookups"`
}

// arrivalSpans is how many spans arrivals are counted in.
const arrivalSpans = 120

// Reuse says after how long blocks come back. A reuse is a lookup of a block
// that an earlier request looked up; its gap is the time in ms since the last
// such request, anywhere in the trace. There are Lookups - DistinctBlocks of
// them. Gaps of zero, between requests that share a timestamp, are reuses but
// not part of PositiveGapMS.
type Reuse struct {
	Reuses        int64        `json:"reuses"`
	ZeroGaps      int64        `json:"zero_gaps"`
	PositiveGapMS Distribution `json:"positive_gap_ms"`
	Windows       []Window     `json:"windows"` // as asked for, in that order
}

// Window counts the reuses that fall inside one load window: those that would
// still find the block in flight had its last appearance started the load. A
// gap of exactly WindowMS is outside, because there the load is complete.
type Window struct {
	WindowMS int64 `json:"window_ms"`
	Reuses   int64 `json:"reuses"` // with a gap below WindowMS, zero gaps included

	// Share is Reuses ÷ all reuses of the trace, absent where it has none.
	Share *float64 `json:"share,omitempty"`
}

// Of profiles t and counts its reuses inside each of windowsMS, in ms. Beside
// the trace it holds 16 bytes a request, then 4 bytes a distinct block.
func Of(t *trace.Trace, windowsMS []int64) *Profile {
	p := &Profile{
		Requests:          int64(t.Requests()),
		Lookups:           int64(t.Lookups()),
		DistinctBlocks:    int64(len(t.Hash)),
		DroppedDuplicates: t.Dropped,
		BlockTokens:       int64(t.BlockTokens),
		InputTokens:       sum(t.InputTokens),
		OutputTokens:      sum(t.OutputTokens),
	}
	if n := t.Requests(); n > 0 {
		p.FirstTimestampMS, p.LastTimestampMS = new(t.ArrivalMS[0]), new(t.ArrivalMS[n-1])
		p.Arrivals = arrivalsOf(t)
	}

	gaps, perTimestamp := ticks(t.ArrivalMS)
	p.DistinctTimestamps = int64(len(perTimestamp))
	p.PositiveGapMS = distribution(gaps)
	p.RequestsPerTimestamp = distribution(perTimestamp)
	p.Reuse = reuseOf(t, windowsMS)

	if q := p.PositiveGapMS.Quantiles; q != nil {
		p.SmallestPositiveGapMS, p.MedianPositiveGapMS = new(q.Min), new(q.P50)
	}
	if q := p.RequestsPerTimestamp.Quantiles; q != nil {
		p.MedianRequestsPerTimestamp = new(q.P50)
	}
	if q := p.Reuse.PositiveGapMS.Quantiles; q != nil {
		p.MedianPositiveReuseGapMS = new(q.P50)
	}
	return p
}

func arrivalsOf(t *trace.Trace) *Arrivals {
	first, last := t.ArrivalMS[0], t.ArrivalMS[t.Requests()-1]
	a := &Arrivals{
		SpanMS:   (last-first)/arrivalSpans + 1,
		Requests: make([]int64, arrivalSpans),
		Lookups:  make([]int64, arrivalSpans),
	}
	for i, now := range t.ArrivalMS {
		span := (now - first) / a.SpanMS
		a.Requests[span]++
		a.Lookups[span] += int64(len(t.Blocks(i)))
	}
	return a
}

// ticks returns the gaps between successive distinct timestamps and how
// many requests each timestamp has.
func ticks(at []int64) (gaps, perTimestamp []int64) {
	gaps = make([]int64, 0, len(at))
	perTimestamp = make([]int64, 0, len(at))
	for i, t := range at {
		if i > 0 && t == at[i-1] {
			perTimestamp[len(perTimestamp)-1]++
			continue
		}
		if i > 0 {
			gaps = append(gaps, t-at[i-1])
		}
		perTimestamp = append(perTimestamp, 1)
	}
	return gaps, perTimestamp
}

// sum stays at the largest int64 once it is reached. A trace may hold lengths
// near it, and a negative total would be worse than one known to be a bound.
func sum(xs []int64) (total int64) {
	for _, x := range xs {
		if total > math.MaxInt64-x {
			return math.MaxInt64
		}
		total += x
	}
	return total
}
