package study

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

// outcomes runs a plan with one worker and returns what each configuration
// gave, nil if it was not wanted. It fails if one is committed twice.
func outcomes(t *rapid.T, tr *trace.Trace, p Params, wanted []bool) []*result.Outcome {
	configs := p.Grid.Configs()
	got := make([]*result.Outcome, len(configs))
	rd := asItStands(tr, p.Warmup)
	l := newLedger(rd, configs, func(all ...given) error {
		for _, g := range all {
			if got[g.Config] != nil {
				t.Fatalf("%+v is committed twice", configs[g.Config])
			}
			got[g.Config] = g.Outcome
		}
		return nil
	})
	var r replayer
	if err := p.tasks(rd, wanted, l, func(run task) error { return run(&r) }, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

// drawGrid draws a grid with values that make some configurations one
// experiment, in any order.
func drawGrid(t *rapid.T) result.Grid {
	return result.Grid{
		Lookups:          rapid.SliceOfNDistinct(rapid.SampledFrom(DefaultGrid().Lookups), 1, 2, rapid.ID).Draw(t, "lookups"),
		Routings:         rapid.SliceOfNDistinct(rapid.SampledFrom(DefaultGrid().Routings), 1, 2, rapid.ID).Draw(t, "routings"),
		Instances:        rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 1, 3, rapid.ID).Draw(t, "instances"),
		CapacitiesBlocks: rapid.SliceOfNDistinct(rapid.SampledFrom([]int{1, 2, 3, 5, 8, 11, 100}), 1, 3, rapid.ID).Draw(t, "capacities"),
		WindowsMS:        rapid.SliceOfNDistinct(rapid.SampledFrom([]int64{1, 2, 4, 5, 10, 11, 50, 200}), 1, 5, rapid.ID).Draw(t, "windows"),
	}
}

// drawTree makes the blocks of a drawn trace name their whole prefix.
func drawTree(t *rapid.T) *trace.Trace {
	tr := drawTrace(t)
	names := map[[2]uint32]uint32{}
	tr.Hash = nil
	for i := range tr.Requests() {
		parent := ^uint32(0)
		for l, b := range tr.Blocks(i) {
			path := [2]uint32{parent, b % 3}
			if _, ok := names[path]; !ok {
				names[path] = uint32(len(names))
				tr.Hash = append(tr.Hash, uint64(len(names))*0x9E3779B97F4A7C15)
			}
			parent = names[path]
			tr.Blocks(i)[l] = parent
		}
	}
	return tr
}

// TestPlanIsEveryConfiguration holds the plan, which runs each experiment once,
// to a run of every configuration by itself: each is committed once, with the
// same outcome, and what is not wanted is not.
func TestPlanIsEveryConfiguration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		if rapid.Bool().Draw(t, "tree") {
			tr = drawTree(t)
		}
		p := Params{
			Grid:    drawGrid(t),
			Warmup:  tenths(t, rapid.Int64Range(0, 9).Draw(t, "warmup")),
			Control: rapid.SampledFrom([]fanin.Control{fanin.NoControl, fanin.NoControl, fanin.InsertOnMiss, fanin.SlidingWindow}).Draw(t, "control"),
		}
		configs := p.Grid.Configs()
		wanted := rapid.SliceOfN(rapid.Bool(), len(configs), len(configs)).Draw(t, "wanted")
		planned := outcomes(t, tr, p, wanted)
		p.NoCollapse = true
		for i, want := range outcomes(t, tr, p, every(len(configs))) {
			if !wanted[i] {
				want = nil
			}
			if diff := cmp.Diff(want, planned[i]); diff != "" {
				t.Fatalf("%+v (-by itself +planned):\n%s", configs[i], diff)
			}
		}
	})
}

func TestWindowClasses(t *testing.T) {
	for _, test := range []struct {
		arrivals []int64
		windows  []int64
		want     []int
	}{
		{[]int64{0, 10, 20}, []int64{1, 9, 10, 11, 20, 21, 100}, []int{0, 0, 0, 1, 1, 2, 2}},
		{[]int64{0, 0, 0}, []int64{1, 1000}, []int{0, 0}},
		{[]int64{5}, []int64{1, 2}, []int{0, 0}},
		{nil, []int64{1, 2}, []int{0, 0}},
		{[]int64{0, 3, 1000, 1004}, []int64{3, 4, 5, 900}, []int{0, 1, 2, 2}},
	} {
		class, leaders := windowClasses(test.arrivals, test.windows)
		if !slices.Equal(class, test.want) {
			t.Errorf("arrivals %v, windows %v: classes %v, want %v", test.arrivals, test.windows, class, test.want)
		}
		for i, c := range class {
			if first := slices.Index(class, c); int64(leaders[c]) != test.windows[first] {
				t.Errorf("arrivals %v: window %d is led by %d", test.arrivals, test.windows[i], leaders[c])
			}
		}
	}
}

// TestExplain holds that no reason adds lookups, that the first number is that
// of every configuration and the last that of the experiments.
func TestExplain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTree(t)
		p := Params{Grid: drawGrid(t), Warmup: tenths(t, 1)}
		x, err := Explain(tr, p)
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(len(p.Grid.Configs()) * tr.Lookups()); x.Lookups != want {
			t.Fatalf("%d lookups in all, want %d", x.Lookups, want)
		}
		steps := []int64{x.Lookups, x.AfterRequests, x.AfterWindows, x.AfterCapacities, x.AfterUnbounded}
		if !slices.IsSortedFunc(steps, func(a, b int64) int { return int(b - a) }) {
			t.Fatalf("a reason adds lookups: %v", steps)
		}
		pl, err := newPlan(asItStands(tr, p.Warmup), &p, every(len(p.Grid.Configs())))
		if err != nil {
			t.Fatal(err)
		}
		var run int64
		for d := range pl.deals {
			for _, e := range pl.experiments(d) {
				run += int64(len(e.stream.Block))
			}
		}
		if run != x.AfterUnbounded {
			t.Fatalf("%d lookups are run, explained are %d", run, x.AfterUnbounded)
		}
	})
}

// TestGroups holds that configurations which share a cohort file have the same
// cohorts, each run by itself, and that every configuration is in one group.
func TestGroups(t *testing.T) {
	var r replayer
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		if rapid.Bool().Draw(t, "tree") {
			tr = drawTree(t)
		}
		p := Params{
			Grid:    drawGrid(t),
			Warmup:  tenths(t, 1),
			Control: rapid.SampledFrom([]fanin.Control{fanin.NoControl, fanin.NoControl, fanin.InsertOnMiss, fanin.SlidingWindow}).Draw(t, "control"),
		}
		configs := p.Grid.Configs()
		pl, err := newPlan(asItStands(tr, p.Warmup), &p, every(len(configs)))
		if err != nil {
			t.Fatal(err)
		}
		streamsOf := func(d int) []stream {
			return split(pl.reading, pl.deals[d].assigned, every(pl.deals[d].instances))
		}
		cohortsOf := func(config int) (all []result.Cohort) {
			d := slices.IndexFunc(pl.deals, func(d deal) bool { return d.has(configs[config]) })
			_, err := pl.runAll(&r, streamsOf(d), config, func(batch []result.Cohort) error {
				all = append(all, batch...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		grouped := make([]int, len(configs))
		for d := range pl.deals {
			alike := pl.alike(d)
			if alike[0] < d {
				continue
			}
			for _, group := range pl.groups(alike, streamsOf(d)) {
				want := cohortsOf(group[0])
				for _, i := range group {
					grouped[i]++
					if configs[i].Instances < configs[group[0]].Instances {
						t.Fatalf("%+v has fewer instances than %+v", configs[i], configs[group[0]])
					}
					if diff := cmp.Diff(want, cohortsOf(i)); diff != "" {
						t.Fatalf("%+v and %+v share a file (-first +other):\n%s", configs[group[0]], configs[i], diff)
					}
				}
			}
		}
		for i, n := range grouped {
			if n != 1 {
				t.Fatalf("%+v is in %d groups", configs[i], n)
			}
		}
	})
}
