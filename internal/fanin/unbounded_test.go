package fanin

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/reference"
)

// drawWindows draws some ascending windows.
func drawWindows(t *rapid.T) []Window {
	windows := rapid.SliceOfNDistinct(rapid.SampledFrom([]Window{1, 2, 3, 5, 9, 10, 11, 29, 30, 31, 100}), 1, 5, rapid.ID).Draw(t, "windows")
	slices.Sort(windows)
	return windows
}

// drawTree draws a small trace whose blocks name a whole prefix.
func drawTree(t *rapid.T) []reference.Request {
	requests := drawRequests(t)
	names := map[[2]uint64]uint64{}
	for i := range requests {
		parent := uint64(0)
		for l, h := range requests[i].Hashes {
			path := [2]uint64{parent, h % 3} // few, so that prefixes are shared
			if names[path] == 0 {
				names[path] = uint64(len(names)) + 1
			}
			parent = names[path]
			requests[i].Hashes[l] = parent
		}
	}
	return requests
}

// runUnbounded returns what Unbounded tells under each window, in the form of
// a run of the engine that is told of duplicates alone.
func runUnbounded(u *Unbounded, s *Stream, windows []Window) []seen {
	all := make([]seen, len(windows))
	loads := make([]uint32, len(s.ArrivalMS))
	counts := u.Run(s, windows, UnboundedObserver{
		Joins: func(joins []JoinsFrom) {
			for _, j := range joins {
				for k := j.Window; k < len(windows); k++ {
					all[k].Joins = append(all[k].Joins, j.Joins)
				}
			}
		},
		Duplicates: func(cohorts []CohortUnder) {
			for _, c := range cohorts {
				all[c.Window].Cohorts = append(all[c.Window].Cohorts, c.Cohort)
			}
		},
		Loads: loads,
	})
	for k := range all {
		all[k].Loads = loads
		all[k].Counts = counts[k]
		all[k].sort()
	}
	return all
}

// TestUnboundedIsReference holds Unbounded, under each window, to the reference
// model: looked up independently on any trace, by contiguous prefix on traces
// whose blocks name a whole prefix.
func TestUnboundedIsReference(t *testing.T) {
	var u Unbounded
	rapid.Check(t, func(t *rapid.T) {
		c := Config{Lookup: rapid.SampledFrom(Lookups).Draw(t, "lookup")}
		requests := drawRequests(t)
		if c.Lookup == ContiguousPrefix {
			requests = drawTree(t)
		}
		s, windows := streamOf(requests), drawWindows(t)
		if c.Lookup == ContiguousPrefix && !s.IsPrefixTree() {
			t.Fatal("not a prefix tree")
		}
		c.Capacity = max(1, s.Blocks)
		for k, got := range runUnbounded(&u, s, windows) {
			c.Window = windows[k]
			want := expect(requests, s, c)
			want.Cohorts = append([]Cohort(nil), duplicates(want.Cohorts)...)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v: differs from the reference (-reference +unbounded):\n%s", c, diff)
			}
		}
	})
}

func TestIsPrefixTree(t *testing.T) {
	for _, test := range []struct {
		name     string
		requests []reference.Request
		want     bool
	}{
		{"shared heads", []reference.Request{{Hashes: []uint64{1, 2, 3}}, {Hashes: []uint64{1, 2, 4}}, {Hashes: []uint64{5}}}, true},
		{"no blocks", []reference.Request{{}, {}}, true},
		{"after another block", []reference.Request{{Hashes: []uint64{1, 2}}, {Hashes: []uint64{3, 2}}}, false},
		{"first, then not", []reference.Request{{Hashes: []uint64{1}}, {Hashes: []uint64{2, 1}}}, false},
		{"not first, then first", []reference.Request{{Hashes: []uint64{2, 1}}, {Hashes: []uint64{1}}}, false},
	} {
		if got := streamOf(test.requests).IsPrefixTree(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
