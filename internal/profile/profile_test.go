package profile

import (
	"encoding/json"
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/trace"
)

// request is one line of a test trace; input length is a whole number of blocks.
type request struct {
	at     int64
	hashes []uint64 // no hash twice
}

// columns is the trace of rs with 16-token blocks and one output token a request.
func columns(rs []request) *trace.Trace {
	t := &trace.Trace{Name: "test", BlockTokens: 16, Offset: []int64{0}}
	number := map[uint64]uint32{}
	for _, r := range rs {
		for _, h := range r.hashes {
			b, seen := number[h]
			if !seen {
				b = uint32(len(t.Hash))
				number[h] = b
				t.Hash = append(t.Hash, h)
			}
			t.Block = append(t.Block, b)
		}
		t.ArrivalMS = append(t.ArrivalMS, r.at)
		t.InputTokens = append(t.InputTokens, int64(16*len(r.hashes)))
		t.OutputTokens = append(t.OutputTokens, 1)
		t.Offset = append(t.Offset, int64(len(t.Block)))
	}
	return t
}

// naive profiles rs in the plainest way: maps, a scan for every count, and a
// percentile found by asking each value for its rank.
func naive(rs []request, windows []int64) *Profile {
	p := &Profile{BlockTokens: 16, Reuse: Reuse{Windows: []Window{}}}
	at := map[int64]int64{}      // requests by timestamp
	last := map[uint64]int64{}   // last appearance of a hash
	hashes := map[uint64]bool{}  // all hashes
	var reuses, positive []int64 // gaps
	for _, r := range rs {
		p.Requests++
		p.OutputTokens++
		at[r.at]++
		for _, h := range r.hashes {
			p.Lookups++
			p.InputTokens += 16
			if before, ok := last[h]; ok {
				reuses = append(reuses, r.at-before)
				if r.at > before {
					positive = append(positive, r.at-before)
				}
			}
			last[h] = r.at
			hashes[h] = true
		}
	}
	p.DistinctBlocks = int64(len(hashes))

	var times, counts, gaps []int64
	for t, n := range at {
		times, counts = append(times, t), append(counts, n)
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i]-times[i-1])
	}
	p.DistinctTimestamps = int64(len(times))
	if n := len(times); n > 0 {
		first, last := times[0], times[n-1]
		p.FirstTimestampMS, p.LastTimestampMS = &first, &last
		p.Arrivals = &Arrivals{SpanMS: (last-first)/120 + 1}
		for from := first; len(p.Arrivals.Requests) < 120; from += p.Arrivals.SpanMS {
			var requests, lookups int64
			for _, r := range rs {
				if r.at >= from && r.at-from < p.Arrivals.SpanMS {
					requests++
					lookups += int64(len(r.hashes))
				}
			}
			p.Arrivals.Requests = append(p.Arrivals.Requests, requests)
			p.Arrivals.Lookups = append(p.Arrivals.Lookups, lookups)
		}
	}
	p.PositiveGapMS = naiveDistribution(gaps)
	p.RequestsPerTimestamp = naiveDistribution(counts)
	p.Reuse.PositiveGapMS = naiveDistribution(positive)
	if len(gaps) > 0 {
		p.SmallestPositiveGapMS, p.MedianPositiveGapMS = new(naiveElement(gaps, 0)), new(naiveElement(gaps, len(gaps)/2))
	}
	if len(counts) > 0 {
		p.MedianRequestsPerTimestamp = new(naiveElement(counts, len(counts)/2))
	}
	if len(positive) > 0 {
		p.MedianPositiveReuseGapMS = new(naiveElement(positive, len(positive)/2))
	}

	p.Reuse.Reuses = int64(len(reuses))
	p.Reuse.ZeroGaps = int64(len(reuses) - len(positive))
	for _, w := range windows {
		in := Window{WindowMS: w}
		for _, g := range reuses {
			if g < w {
				in.Reuses++
			}
		}
		if len(reuses) > 0 {
			in.Share = new(float64(in.Reuses) / float64(len(reuses)))
		}
		p.Reuse.Windows = append(p.Reuse.Windows, in)
	}
	return p
}

// naiveElement is element k, from 0, of xs were it sorted: the value with at
// most k values below it and more than k up to it.
func naiveElement(xs []int64, k int) int64 {
	for _, x := range xs {
		below, upTo := 0, 0
		for _, y := range xs {
			if y < x {
				below++
			}
			if y <= x {
				upTo++
			}
		}
		if below <= k && k < upTo {
			return x
		}
	}
	panic("no such element")
}

func naiveDistribution(xs []int64) Distribution {
	n := len(xs)
	if n == 0 {
		return Distribution{}
	}
	at := func(p int) int64 { return naiveElement(xs, int(math.Floor(float64(p*n)/100))) }
	return Distribution{int64(n), &Quantiles{
		naiveElement(xs, 0), at(1), at(5), at(10), at(25), at(50), at(75), at(90), at(95), at(99), naiveElement(xs, n-1),
	}}
}

func TestOfEqualsNaive(t *testing.T) {
	windows := []int64{0, 1, 2, 3, 5, 8, 1000, 1 << 30}
	rapid.Check(t, func(t *rapid.T) {
		var rs []request
		at := int64(0)
		longest := rapid.SampledFrom([]int64{4, 1 << 10, 1 << 25, 1 << 55}).Draw(t, "longest") // gaps of one digit or more
		for range rapid.IntRange(0, 120).Draw(t, "requests") {
			at += rapid.OneOf(rapid.Int64Range(0, 4), rapid.Int64Range(0, longest)).Draw(t, "gap") // many ties
			rs = append(rs, request{at, rapid.SliceOfNDistinct(rapid.Uint64Range(0, 9), 0, 6, rapid.ID).Draw(t, "hashes")})
		}
		if diff := cmp.Diff(naive(rs, windows), Of(columns(rs), windows)); diff != "" {
			t.Fatalf("naive (-) and Of (+) differ:\n%s", diff)
		}
	})
}

// The definition at Distribution, on values where lower, upper and mean
// medians and both nearest ranks differ.
func TestDistributionRanks(t *testing.T) {
	hundred := make([]int64, 100) // 0, 10, … 990, backwards
	for i := range hundred {
		hundred[i] = int64(10 * (99 - i))
	}
	for _, c := range []struct {
		name string
		xs   []int64
		want Distribution
	}{
		{"one", []int64{7}, Distribution{1, &Quantiles{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}}},
		{"two", []int64{9, 2}, Distribution{2, &Quantiles{2, 2, 2, 2, 2, 9, 9, 9, 9, 9, 9}}},
		{"three", []int64{9, 2, 4}, Distribution{3, &Quantiles{2, 2, 2, 2, 2, 4, 9, 9, 9, 9, 9}}},
		{"hundred", hundred, Distribution{100, &Quantiles{0, 10, 50, 100, 250, 500, 750, 900, 950, 990, 990}}},
	} {
		if diff := cmp.Diff(c.want, distribution(c.xs)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.name, diff)
		}
	}
}

// A figure that does not exist is left out of the JSON, and what is there has
// a stable order. Each case is read back to the same profile.
func TestDegenerateTraces(t *testing.T) {
	const (
		head  = `"block_tokens":16,`
		empty = `{"count":0}`
	)
	one := func(v string) string {
		return `{"count":1,` + strings.ReplaceAll(`"min":V,"p1":V,"p5":V,"p10":V,"p25":V,"p50":V,"p75":V,"p90":V,"p95":V,"p99":V,"max":V}`, "V", v)
	}
	for _, c := range []struct {
		name string
		rs   []request
		want string
	}{
		{"no request", nil,
			`{"requests":0,"lookups":0,"distinct_blocks":0,"dropped_duplicates":0,` + head + `"input_tokens":0,"output_tokens":0,` +
				`"distinct_timestamps":0,"positive_gap_ms":` + empty + `,"requests_per_timestamp":` + empty +
				`,"reuse":{"reuses":0,"zero_gaps":0,"positive_gap_ms":` + empty + `,"windows":[{"window_ms":10,"reuses":0}]}}`},
		{"one request", []request{{5, []uint64{1, 2}}},
			`{"requests":1,"lookups":2,"distinct_blocks":2,"dropped_duplicates":0,` + head + `"input_tokens":32,"output_tokens":1,` +
				`"first_timestamp_ms":5,"last_timestamp_ms":5,"distinct_timestamps":1,"median_requests_per_timestamp":1,` +
				`"positive_gap_ms":` + empty + `,"requests_per_timestamp":` + one("1") +
				`,"reuse":{"reuses":0,"zero_gaps":0,"positive_gap_ms":` + empty + `,"windows":[{"window_ms":10,"reuses":0}]}}`},
		{"no block", []request{{0, nil}, {3, nil}},
			`{"requests":2,"lookups":0,"distinct_blocks":0,"dropped_duplicates":0,` + head + `"input_tokens":0,"output_tokens":2,` +
				`"first_timestamp_ms":0,"last_timestamp_ms":3,"distinct_timestamps":2,"smallest_positive_gap_ms":3,"median_positive_gap_ms":3,"median_requests_per_timestamp":1,` +
				`"positive_gap_ms":` + one("3") + `,"requests_per_timestamp":` + strings.Replace(one("1"), `"count":1`, `"count":2`, 1) +
				`,"reuse":{"reuses":0,"zero_gaps":0,"positive_gap_ms":` + empty + `,"windows":[{"window_ms":10,"reuses":0}]}}`},
		{"one instant", []request{{4, []uint64{1}}, {4, []uint64{1}}, {4, []uint64{1}}},
			`{"requests":3,"lookups":3,"distinct_blocks":1,"dropped_duplicates":0,` + head + `"input_tokens":48,"output_tokens":3,` +
				`"first_timestamp_ms":4,"last_timestamp_ms":4,"distinct_timestamps":1,"median_requests_per_timestamp":3,` +
				`"positive_gap_ms":` + empty + `,"requests_per_timestamp":` + one("3") +
				`,"reuse":{"reuses":2,"zero_gaps":2,"positive_gap_ms":` + empty + `,"windows":[{"window_ms":10,"reuses":2,"share":1}]}}`},
		{"a gap of exactly the window", []request{{0, []uint64{1}}, {10, []uint64{1}}},
			`{"requests":2,"lookups":2,"distinct_blocks":1,"dropped_duplicates":0,` + head + `"input_tokens":32,"output_tokens":2,` +
				`"first_timestamp_ms":0,"last_timestamp_ms":10,"distinct_timestamps":2,"smallest_positive_gap_ms":10,"median_positive_gap_ms":10,"median_requests_per_timestamp":1,"median_positive_reuse_gap_ms":10,` +
				`"positive_gap_ms":` + one("10") + `,"requests_per_timestamp":` + strings.Replace(one("1"), `"count":1`, `"count":2`, 1) +
				`,"reuse":{"reuses":1,"zero_gaps":0,"positive_gap_ms":` + one("10") + `,"windows":[{"window_ms":10,"reuses":0,"share":0}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Of(columns(c.rs), []int64{10})
			p.Arrivals = nil // two spans of 120 at most: TestOfEqualsNaive holds them
			got, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			var back Profile
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(*p, back); diff != "" {
				t.Errorf("written (-), read back (+):\n%s", diff)
			}
		})
	}
}

// Dropped is the trace's own count, which no column holds.
func TestDroppedDuplicates(t *testing.T) {
	tr := columns([]request{{0, []uint64{1}}})
	tr.Dropped = 3
	if got := Of(tr, nil).DroppedDuplicates; got != 3 {
		t.Errorf("dropped_duplicates = %d, want 3", got)
	}
}

func TestTokenTotalsDoNotOverflow(t *testing.T) {
	tr := columns([]request{{0, nil}, {0, nil}, {0, nil}})
	tr.InputTokens = []int64{1 << 62, 1 << 62, 1 << 62}
	tr.OutputTokens = []int64{math.MaxInt64 - 1, 1, 0}
	p := Of(tr, nil)
	if p.InputTokens != math.MaxInt64 || p.OutputTokens != math.MaxInt64 {
		t.Errorf("totals %d and %d, want both %d", p.InputTokens, p.OutputTokens, int64(math.MaxInt64))
	}
}
