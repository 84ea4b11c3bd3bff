package study

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/result"
)

// TestRank holds the largest that are kept to those of all, whatever their order.
func TestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) result.Largest {
			return result.Largest{
				FanIn:     rapid.Int64Range(2, 6).Draw(t, "fan-in"),
				StartMS:   rapid.Int64Range(0, 9).Draw(t, "start"),
				BlockHash: rapid.Uint64().Draw(t, "hash"),
			}
		}), 0, 60).Draw(t, "cohorts")
		var o source
		for _, l := range all {
			o.rank(l)
		}
		o.finish(nil, nil)
		slices.SortFunc(all, byRank)
		if want := all[:min(10, len(all))]; !slices.Equal(o.largest, want) {
			t.Fatalf("largest %v, want %v", o.largest, want)
		}
	})
}

// TestMost holds the sum of those with most to a plain one.
func TestMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOf(rapid.Int64Range(1, 5)).Draw(t, "amounts")
		var sums []sum
		for key, n := range amounts {
			sums = append(sums, sum{int64(key), n})
		}
		count := rapid.Int64Range(0, int64(len(amounts))+2).Draw(t, "count")
		slices.Sort(amounts)
		slices.Reverse(amounts)
		var want int64
		for _, n := range amounts[:min(int(count), len(amounts))] {
			want += n
		}
		if got := most(sums, count); got != want {
			t.Fatalf("the %d most of %v: %d, want %d", count, amounts, got, want)
		}
	})
}
