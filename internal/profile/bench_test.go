package profile

import (
	"fmt"
	"slices"
	"testing"

	"kvfanin/internal/trace"
)

// BenchmarkOf shows ns a lookup, for gaps that are few different ones, as in a
// trace of coarse timestamps, or many, beside two bounds: going once
// through the reuses, and sorting their gaps.
func BenchmarkOf(b *testing.B) {
	for _, step := range []int64{3000, 1} {
		t := spread(20_000, 30, step)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("step=%dms/%s", step, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(t.Lookups()), "ns/lookup")
			})
		}
		r := reuses{t, make([]uint32, len(t.Hash))}
		var sum int64
		run("bound/once", func() { r.gaps(func(gap int64) { sum += gap }) })
		run("bound/sort", func() {
			var all []int64
			r.gaps(func(gap int64) { all = append(all, gap) })
			slices.Sort(all)
		})
		run("of", func() { Of(t, []int64{10, 100, 1000, 10000}) })
	}
}

// spread is a trace of so many requests and blocks a request, whose blocks come
// back after any number of requests, with arrivals on multiples of step.
func spread(requests, blocks int, stepMS int64) *trace.Trace {
	var rs []request
	prompt := uint64(0) // a fixed sequence that looks drawn
	for i := range requests {
		r := request{at: int64(i) * 250 / stepMS * stepMS}
		prompt = (prompt*6364136223846793005 + 1442695040888963407) % uint64(requests)
		for k := range blocks {
			r.hashes = append(r.hashes, prompt/4*uint64(blocks)+uint64(k))
		}
		rs = append(rs, r)
	}
	return columns(rs)
}
