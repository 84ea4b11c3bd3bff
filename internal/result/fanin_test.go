package result

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fanInList is the plain model of a FanIn: the fan-in of every cohort.
type fanInList []int64

func (l fanInList) fanIn() FanIn {
	var counts []int64
	for _, f := range l {
		for int64(len(counts)) <= f {
			counts = append(counts, 0)
		}
		counts[f]++
	}
	return FanInFromCounts(counts)
}

// percentile is the nearest rank, from its definition: the first element of
// the sorted list that at least percent of all are not above.
func (l fanInList) percentile(percent int64) int64 {
	slices.Sort(l)
	for _, f := range l {
		var within int64
		for _, g := range l {
			if g <= f {
				within++
			}
		}
		if 100*within >= percent*int64(len(l)) {
			return f
		}
	}
	return 0
}

func TestFanInIsASortedList(t *testing.T) {
	lists := rapid.SliceOf(rapid.Int64Range(1, 9))
	rapid.Check(t, func(t *rapid.T) {
		l := fanInList(lists.Draw(t, "fan-ins"))
		h := l.fanIn()
		var attempts, dupCohorts, dupAttempts, largest int64
		for _, f := range l {
			attempts += f
			largest = max(largest, f)
			if f > 1 {
				dupCohorts++
				dupAttempts += f
			}
		}
		percent := rapid.Int64Range(1, 100).Draw(t, "percent")
		for _, c := range []struct {
			name      string
			got, want int64
		}{
			{"Cohorts", h.Cohorts(), int64(len(l))},
			{"Attempts", h.Attempts(), attempts},
			{"DuplicateCohorts", h.DuplicateCohorts(), dupCohorts},
			{"DuplicateAttempts", h.DuplicateAttempts(), dupAttempts},
			{"Max", h.Max(), largest},
			{"Percentile", h.Percentile(percent), l.percentile(percent)},
		} {
			if c.got != c.want {
				t.Errorf("%s of %v = %d, want %d", c.name, l, c.got, c.want)
			}
		}

		m := fanInList(lists.Draw(t, "more"))
		g := m.fanIn()
		before := slices.Clone(h)
		if d := cmp.Diff(h.Add(g), append(slices.Clone(l), m...).fanIn()); d != "" {
			t.Errorf("Add: %s", d)
		}
		if !slices.Equal(h, before) || !slices.Equal(g, m.fanIn()) {
			t.Errorf("Add changed what it adds")
		}
	})
}

// Nearest rank at its edges: p99 of 100 cohorts is the 99th, of 99 the 99th, of
// 199 and of 200 the 198th.
func TestPercentileRank(t *testing.T) {
	for _, c := range []struct {
		fanIn         FanIn
		percent, want int64
	}{
		{nil, 99, 0},
		{FanIn{{7, 1}}, 1, 7},
		{FanIn{{1, 1}, {7, 1}}, 50, 1},
		{FanIn{{1, 1}, {7, 1}}, 51, 7},
		{FanIn{{1, 99}, {7, 1}}, 99, 1},
		{FanIn{{1, 98}, {7, 1}}, 99, 7},
		{FanIn{{1, 198}, {7, 2}}, 99, 1},
		{FanIn{{1, 197}, {7, 2}}, 99, 7},
		{FanIn{{1, 1000}, {7, 1}}, 100, 7},
	} {
		if got := c.fanIn.Percentile(c.percent); got != c.want {
			t.Errorf("p%d of %v = %d, want %d", c.percent, c.fanIn, got, c.want)
		}
	}
}

func TestTally(t *testing.T) {
	a := Tally{Counts{10, 9, 3, 6, 4, 2, 1}, FanIn{{1, 3}, {3, 1}}}
	b := Tally{Counts{20, 30, 10, 20, 16, 4, 2}, FanIn{{1, 15}, {4, 1}}}
	a.Add(&b)
	want := Figures{
		Counts:           Counts{30, 39, 13, 26, 20, 6, 3},
		DuplicateCohorts: 2, DuplicateAttempts: 7, FanInP50: 1, FanInP99: 4, FanInMax: 4,
		PrintedRedundancy: 6.0 / 26,
	}
	if d := cmp.Diff(want, a.Figures()); d != "" {
		t.Error(d)
	}
	if got := (&Tally{}).Figures(); got != (Figures{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestImbalance(t *testing.T) {
	for _, c := range []struct {
		requests []int64
		want     float64
	}{
		{nil, 0}, {[]int64{0, 0}, 0}, {[]int64{5}, 1}, {[]int64{3, 3, 3}, 1}, {[]int64{9, 0, 0}, 3}, {[]int64{2, 1}, 4.0 / 3},
	} {
		if got := Imbalance(c.requests); got != c.want {
			t.Errorf("Imbalance(%v) = %v, want %v", c.requests, got, c.want)
		}
	}
}
