package findings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
)

// row returns a row of the trace "t" in the steady phase.
func row(lookup, routing string, instances int, windowMS, joins, attempts int64) result.PhaseRow {
	return result.PhaseRow{
		Trace:  "t",
		Config: result.Config{Lookup: lookup, Routing: routing, Instances: instances, CapacityBlocks: 10, WindowMS: windowMS},
		Phase:  result.Steady,
		Figures: result.Figures{
			Counts:   result.Counts{Attempts: attempts, Joins: joins, Cohorts: attempts - joins},
			FanInP50: 1, FanInP99: 1, FanInMax: 1,
		},
		RequestImbalance: 1,
	}
}

// gapped is the profile of a trace with that smallest gap.
func gapped(ms int64) *profile.Profile { return &profile.Profile{SmallestPositiveGapMS: &ms} }

// findingsOf returns the findings of the trace "t" of a run that had no joins to
// relate and nothing beside its grid, but for the absence of the latter.
func findingsOf(rows []result.PhaseRow, p *profile.Profile) *Findings {
	f := Of("t", &result.Rows{Phases: rows}, p, nil)
	f.Absent = slices.DeleteFunc(f.Absent, func(a *Absence) bool { return a.Finding == SensitivityFinding })
	return f
}

func diff(t *testing.T, want, got any) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("findings differ (-want +got):\n%s", d)
	}
}

// TestWorkedByHand is a study small enough to do on paper: redundancies of
// 1/10, 1/5, 0 and 3/10 under 10 ms, of 1/2 under 100 ms.
func TestWorkedByHand(t *testing.T) {
	rows := []result.PhaseRow{
		row(ContiguousPrefix, RoundRobin, 2, 10, 1, 10),
		row(ContiguousPrefix, RoundRobin, 2, 100, 5, 10),
		row(ContiguousPrefix, FirstBlockAffinity, 2, 10, 2, 10),
		row(IndependentBlocks, RoundRobin, 2, 10, 0, 10),
		row(IndependentBlocks, FirstBlockAffinity, 2, 10, 3, 10),
	}
	rows[2].RequestImbalance = 1.75
	rows[4].RequestImbalance = 1.5
	rows[3].RequestImbalance = 1.25
	rows[2].FanInMax = 7
	rows[3].FanInP99 = 2
	rows[4].FanInP99 = 3

	// Neither of these says anything about the steady phase of t.
	warmup, other := rows[0], rows[0]
	warmup.Phase, other.Trace = result.Warmup, "u"
	warmup.Joins, other.Joins = 10, 10
	warmup.FanInMax, other.FanInMax = 99, 99
	all := append([]result.PhaseRow{warmup}, append(rows, other)...)

	p := gapped(1)
	both := Comparison{Pairs: 2, Higher: 2, AffinityImbalance: 1.75, RoundRobinImbalance: 1.25}
	diff(t, &Findings{
		Trace: "t", Phase: "steady", Rows: 5, Profile: p,
		Windows: []Window{
			{
				WindowsMS: []int64{10}, Rows: 4,
				MedianRedundancy: 0.15, LargestRedundancy: 0.3,
				LargestAt:     &Config{IndependentBlocks, FirstBlockAffinity, 2, 10, 10},
				RowsAtLargest: 1, SharesAtLargest: Shares{Redundancy: 0.3},
				MedianWithoutExtensions: 0.15, LargestWithoutExtensions: 0.3,
				LargestFanIn: 7, LargestFanInAt: &Config{ContiguousPrefix, FirstBlockAffinity, 2, 10, 10}, RowsP99FanInOver: 2,
			},
			{
				WindowsMS: []int64{100}, Rows: 1,
				MedianRedundancy: 0.5, LargestRedundancy: 0.5,
				LargestAt:     &Config{ContiguousPrefix, RoundRobin, 2, 10, 100},
				RowsAtLargest: 1, SharesAtLargest: Shares{Redundancy: 0.5},
				MedianWithoutExtensions: 0.5, LargestWithoutExtensions: 0.5, LargestFanIn: 1,
			},
		},
		Lookups: &Lookups{
			// |2/10 - 3/10| equals |1/10 - 0/10|, which comes first.
			Pairs: 2, LargestDifference: 0.1, PairsAtLargest: 2,
			At:               &Config{"", RoundRobin, 2, 10, 10},
			ContiguousPrefix: 0.1, IndependentBlocks: 0,
		},
		Affinity:     &Affinity{Comparison: both, ByInstances: []AtInstances{{2, both}}},
		Concentrated: []Concentrated{},
		Absent:       []*Absence{},
	}, findingsOf(all, p))
}

// TestWindowsThatAreOne pools what lies up to and with the smallest gap, and
// takes no window for one by its number.
func TestWindowsThatAreOne(t *testing.T) {
	of := func(windowsMS ...int64) (rows []result.PhaseRow) {
		for _, w := range windowsMS {
			rows = append(rows, row(ContiguousPrefix, RoundRobin, 1, w, 1, w+100))
		}
		return rows
	}
	for _, c := range []struct {
		name string
		rows []result.PhaseRow
		p    *profile.Profile
		want [][]int64
	}{
		{"gap equal to a window", of(10, 30, 100, 300), gapped(100), [][]int64{{10, 30, 100}, {300}}},
		{"gap one below a window", of(10, 30, 100, 300), gapped(99), [][]int64{{10, 30}, {100}, {300}}},
		{"gap equal to the first", of(10, 30), gapped(10), [][]int64{{10}, {30}}},
		{"gap below all", of(10, 30), gapped(9), [][]int64{{10}, {30}}},
		{"gap above all", of(10, 30), gapped(1000), [][]int64{{10, 30}}},
		{"largest gap there can be", of(10, math.MaxInt64), gapped(math.MaxInt64), [][]int64{{10, math.MaxInt64}}},
		{"no gap", of(10, 30, 100), gapless(), [][]int64{{10, 30, 100}}},
		{"one window", of(30), gapped(3000), [][]int64{{30}}},
		{"one window, no gap", of(30), gapless(), [][]int64{{30}}},
		{"windows not in order", of(300, 10, 100), gapped(100), [][]int64{{10, 100}, {300}}},
		{"other windows", of(7, 2996, 2997, 2998), gapped(2997), [][]int64{{7, 2996, 2997}, {2998}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got [][]int64
			for _, line := range findingsOf(c.rows, c.p).Windows {
				got = append(got, line.WindowsMS)
				if line.Rows != len(line.WindowsMS) {
					t.Errorf("windows %v: %d rows, want one each", line.WindowsMS, line.Rows)
				}
			}
			diff(t, c.want, got)
		})
	}
}

func gapless() *profile.Profile { return &profile.Profile{} }

// TestExact compares fractions that float64 cannot tell apart, or takes for
// different though they are equal.
func TestExact(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct {
		name                 string
		affinity, roundRobin [2]int64 // joins, attempts
		want                 Comparison
		floats               int // how float64 compares the shares: wrongly, where it matters here
	}{
		{"above by less than a float shows", [2]int64{most / 3, most - 1}, [2]int64{most / 3, most}, Comparison{Higher: 1}, 0},
		{"below by less than a float shows", [2]int64{most / 3, most}, [2]int64{most / 3, most - 1}, Comparison{Lower: 1}, 0},
		{"equal in other terms", [2]int64{1, 1000}, [2]int64{most / 1000, most / 1000 * 1000}, Comparison{Equal: 1}, -1},
		{"no attempts on either side", [2]int64{0, 0}, [2]int64{0, 0}, Comparison{Equal: 1}, 0},
		{"no attempts against no joins", [2]int64{0, 0}, [2]int64{0, 9}, Comparison{Equal: 1}, 0},
		{"no attempts against joins", [2]int64{0, 0}, [2]int64{1, 9}, Comparison{Lower: 1}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, r := c.affinity, c.roundRobin
			rows := []result.PhaseRow{
				row(ContiguousPrefix, FirstBlockAffinity, 2, 10, a[0], a[1]),
				row(ContiguousPrefix, RoundRobin, 2, 10, r[0], r[1]),
			}
			if got := cmp.Compare(share(rows[0]), share(rows[1])); got != c.floats {
				t.Errorf("float64 compares them as %d, want %d: the case shows nothing", got, c.floats)
			}
			f := findingsOf(rows, gapped(1))
			c.want.Pairs, c.want.AffinityImbalance, c.want.RoundRobinImbalance = 1, 1, 1
			diff(t, c.want, f.Affinity.Comparison)

			// The largest redundancy is found the same way.
			if w := f.Windows[0]; c.want.Higher == 1 && (w.LargestAt.Routing != FirstBlockAffinity || w.RowsAtLargest != 1) {
				t.Errorf("largest is at %+v in %d rows, want the first row alone", w.LargestAt, w.RowsAtLargest)
			}
		})
	}

	// Nor does a difference of two nearly equal redundancies cancel to 0.
	f := findingsOf([]result.PhaseRow{
		row(ContiguousPrefix, RoundRobin, 2, 10, most/3, most-1),
		row(IndependentBlocks, RoundRobin, 2, 10, most/3, most),
	}, gapped(1))
	if got := f.Lookups.LargestDifference; got < 1e-20 || got > 1e-19 {
		t.Errorf("difference %g, want 1/3 ÷ 2⁶³ = 3.6e-20", got)
	}
}

// TestAbsent runs studies that cannot have every finding: each that is missing
// says why.
func TestAbsent(t *testing.T) {
	noLookups := &Absence{"lookup_difference", "independent_blocks was not run", "--lookup contiguous_prefix,independent_blocks"}
	noRouting := &Absence{"affinity_vs_round_robin", "first_block_affinity was not run", "--routing first_block_affinity,round_robin"}
	one := row(ContiguousPrefix, RoundRobin, 1, 10, 1, 4)
	idle := row(ContiguousPrefix, RoundRobin, 1, 10, 0, 0)
	idle.FanInP50, idle.FanInP99, idle.FanInMax = 0, 0, 0

	for _, c := range []struct {
		name   string
		rows   []result.PhaseRow
		p      *profile.Profile
		window []Window
		absent []*Absence
	}{
		{
			"one configuration", []result.PhaseRow{one}, gapped(1),
			[]Window{{
				WindowsMS: []int64{10}, Rows: 1, MedianRedundancy: 0.25, LargestRedundancy: 0.25,
				LargestAt: &Config{ContiguousPrefix, RoundRobin, 1, 10, 10}, RowsAtLargest: 1, LargestFanIn: 1,
			}},
			[]*Absence{noLookups, noRouting},
		},
		{
			"one request that hits all it asks for", []result.PhaseRow{idle}, gapless(),
			[]Window{{WindowsMS: []int64{10}, Rows: 1, RowsWithoutAttempts: 1, RowsAtLargest: 1}},
			[]*Absence{noLookups, noRouting},
		},
		{
			"the other names", []result.PhaseRow{row(IndependentBlocks, FirstBlockAffinity, 1, 10, 0, 1)}, gapped(1),
			[]Window{{WindowsMS: []int64{10}, Rows: 1, RowsAtLargest: 1, LargestFanIn: 1}},
			[]*Absence{
				{noLookups.Finding, "contiguous_prefix was not run", noLookups.Flag},
				{noRouting.Finding, "round_robin was not run", noRouting.Flag},
			},
		},
		{
			"names that are not compared", []result.PhaseRow{row("other", "least_loaded", 1, 10, 0, 1)}, gapped(1),
			[]Window{{WindowsMS: []int64{10}, Rows: 1, RowsAtLargest: 1, LargestFanIn: 1}},
			[]*Absence{
				{noLookups.Finding, "neither contiguous_prefix nor independent_blocks was run", noLookups.Flag},
				{noRouting.Finding, "neither first_block_affinity nor round_robin was run", noRouting.Flag},
			},
		},
		{
			"no pair", []result.PhaseRow{
				row(ContiguousPrefix, RoundRobin, 1, 10, 0, 1),
				row(IndependentBlocks, FirstBlockAffinity, 1, 10, 0, 1),
			}, gapped(1),
			[]Window{{WindowsMS: []int64{10}, Rows: 2, RowsAtLargest: 2, LargestFanIn: 1}},
			[]*Absence{
				{noLookups.Finding, "no two rows differ in nothing but contiguous_prefix and independent_blocks", ""},
				{noRouting.Finding, "no two rows differ in nothing but first_block_affinity and round_robin", ""},
			},
		},
		{
			"no rows", nil, gapless(), nil,
			[]*Absence{{RedundancyByWindow, noRows, ""}, {noLookups.Finding, noRows, ""}, {noRouting.Finding, noRows, ""}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := findingsOf(c.rows, c.p)
			for i := range c.window { // no row has an extension
				line := &c.window[i]
				line.MedianWithoutExtensions, line.LargestWithoutExtensions = line.MedianRedundancy, line.LargestRedundancy
				line.SharesAtLargest.Redundancy = line.LargestRedundancy
			}
			diff(t, &Findings{
				Trace: "t", Phase: "steady", Rows: len(c.rows), Profile: c.p,
				Windows: c.window, Concentrated: []Concentrated{}, Absent: c.absent,
			}, f)
			for _, a := range c.absent {
				if got := f.Why(a.Finding); got == nil || *got != *a {
					t.Errorf("why %s: %+v, want %+v", a.Finding, got, a)
				}
			}
			if _, err := json.Marshal(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// drawRows draws the steady and warm-up rows of a grid, in order. Terms are
// small, so that ties are many and float64 tells all fractions apart.
func drawRows(t *rapid.T) []result.PhaseRow {
	grid := result.Grid{
		Lookups:          rapid.SampledFrom([][]string{{ContiguousPrefix}, {IndependentBlocks}, {ContiguousPrefix, IndependentBlocks}}).Draw(t, "lookups"),
		Routings:         rapid.SampledFrom([][]string{{RoundRobin}, {FirstBlockAffinity, RoundRobin}, {"least_loaded", RoundRobin, FirstBlockAffinity}}).Draw(t, "routings"),
		Instances:        rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 1, 3, rapid.ID).Draw(t, "instances"),
		CapacitiesBlocks: rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 1, 2, rapid.ID).Draw(t, "capacities"),
		WindowsMS:        rapid.SliceOfNDistinct(rapid.Int64Range(1, 9), 1, 4, rapid.ID).Draw(t, "windows"),
	}
	var rows []result.PhaseRow
	for _, c := range grid.Configs() {
		for phase := range result.Phase(result.Phases) {
			r := row("", "", 0, 0, 0, rapid.Int64Range(0, 6).Draw(t, "attempts"))
			r.Config, r.Phase = c, phase
			if r.Attempts > 0 {
				r.Joins = rapid.Int64Range(0, r.Attempts-1).Draw(t, "joins")
			}
			r.FanInMax = rapid.Int64Range(0, 5).Draw(t, "max")
			r.FanInP99 = rapid.Int64Range(0, r.FanInMax).Draw(t, "p99")
			r.RequestImbalance = rapid.Float64Range(1, 16).Draw(t, "imbalance")
			rows = append(rows, r)
		}
	}
	return rows
}

// TestPlain recomputes every finding over random rows from its definition, in
// floating point and one question at a time.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		p := gapless()
		if rapid.Bool().Draw(t, "has gaps") {
			p = gapped(rapid.Int64Range(1, 10).Draw(t, "gap"))
		}
		before := slices.Clone(rows)
		f := findingsOf(rows, p)
		if !slices.Equal(rows, before) {
			t.Fatal("the rows changed")
		}

		rows = slices.DeleteFunc(rows, func(r result.PhaseRow) bool { return r.Phase != result.Steady })
		seen := 0
		for i, line := range f.Windows {
			if i > 0 && line.WindowsMS[0] <= slices.Max(f.Windows[i-1].WindowsMS) {
				t.Fatalf("windows %v come after %v", line.WindowsMS, f.Windows[i-1].WindowsMS)
			}
			plainWindow(t, &line, rows, p)
			seen += line.Rows
		}
		if f.Rows != len(rows) || seen != len(rows) {
			t.Fatalf("%d rows in all, %d in the lines, want %d", f.Rows, seen, len(rows))
		}
		plainLookups(t, f, rows)
		plainAffinity(t, f, rows)
	})
}

func share(r result.PhaseRow) float64 {
	if r.Attempts == 0 {
		return 0
	}
	return float64(r.Joins) / float64(r.Attempts)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func plainWindow(t *rapid.T, line *Window, rows []result.PhaseRow, p *profile.Profile) {
	for _, w := range line.WindowsMS {
		if len(line.WindowsMS) > 1 && p.SmallestPositiveGapMS != nil && w > *p.SmallestPositiveGapMS {
			t.Fatalf("window %d is not one with %v: gap %d", w, line.WindowsMS, *p.SmallestPositiveGapMS)
		}
	}
	var of []result.PhaseRow
	for _, r := range rows {
		one := p.SmallestPositiveGapMS == nil || r.WindowMS <= *p.SmallestPositiveGapMS
		lineIsOne := p.SmallestPositiveGapMS == nil || line.WindowsMS[0] <= *p.SmallestPositiveGapMS
		if r.WindowMS == line.WindowsMS[0] || one && lineIsOne {
			of = append(of, r)
		}
	}
	slices.SortStableFunc(of, func(a, b result.PhaseRow) int { return cmp.Compare(share(a), share(b)) })
	middle := share(of[len(of)/2])
	if len(of)%2 == 0 {
		middle = (middle + share(of[len(of)/2-1])) / 2
	}
	last := of[len(of)-1]
	if line.Rows != len(of) || !near(line.MedianRedundancy, middle) || !near(line.LargestRedundancy, share(last)) {
		t.Fatalf("%+v: plainly %d rows, median %g, largest %g", line, len(of), middle, share(last))
	}
	var fanIn int64
	var over, idle, largest int
	for _, r := range of {
		fanIn = max(fanIn, r.FanInMax)
		if r.FanInP99 > 1 {
			over++
		}
		if r.Attempts == 0 {
			idle++
		}
		if share(r) == share(last) {
			largest++
		}
	}
	if line.LargestFanIn != fanIn || line.RowsP99FanInOver != over || line.RowsWithoutAttempts != idle || line.RowsAtLargest != largest {
		t.Fatalf("%+v: plainly fan-in %d, p99 above 1 %d, without attempts %d, at the largest %d", line, fanIn, over, idle, largest)
	}
	if (line.LargestAt == nil) != (share(last) == 0) {
		t.Fatalf("%+v: the largest is at %+v", line, line.LargestAt)
	}
	for _, r := range of {
		if line.LargestAt != nil && r.Config == result.Config(*line.LargestAt) && share(r) != share(last) {
			t.Fatalf("%+v is not the largest", r.Config)
		}
	}
}

func plainLookups(t *rapid.T, f *Findings, rows []result.PhaseRow) {
	pairs, most := 0, 0.0
	for _, a := range rows {
		for _, b := range rows {
			if a.Lookup == ContiguousPrefix && b.Lookup == IndependentBlocks && a.Routing == b.Routing &&
				a.Instances == b.Instances && a.CapacityBlocks == b.CapacityBlocks && a.WindowMS == b.WindowMS {
				pairs++
				most = max(most, math.Abs(share(a)-share(b)))
			}
		}
	}
	if f.Lookups == nil {
		if pairs > 0 || f.Why(LookupDifference) == nil {
			t.Fatalf("%d pairs, but the difference is absent: %+v", pairs, f.Why(LookupDifference))
		}
		return
	}
	l := f.Lookups
	if f.Why(LookupDifference) != nil || l.Pairs != pairs || !near(l.LargestDifference, most) ||
		!near(math.Abs(l.ContiguousPrefix-l.IndependentBlocks), most) || (l.At == nil) != (most == 0) {
		t.Fatalf("%+v: plainly %d pairs, largest %g", l, pairs, most)
	}
}

func plainAffinity(t *rapid.T, f *Findings, rows []result.PhaseRow) {
	want := make(map[int]Comparison) // by instances; 0 is all
	for _, a := range rows {
		for _, b := range rows {
			if a.Routing != FirstBlockAffinity || b.Routing != RoundRobin || a.Lookup != b.Lookup ||
				a.Instances != b.Instances || a.CapacityBlocks != b.CapacityBlocks || a.WindowMS != b.WindowMS {
				continue
			}
			for _, n := range []int{0, a.Instances} {
				c := want[n]
				c.Pairs++
				switch {
				case share(a) > share(b):
					c.Higher++
				case share(a) < share(b):
					c.Lower++
				default:
					c.Equal++
				}
				c.AffinityImbalance = math.Max(c.AffinityImbalance, a.RequestImbalance)
				c.RoundRobinImbalance = math.Max(c.RoundRobinImbalance, b.RequestImbalance)
				want[n] = c
			}
		}
	}
	got := make(map[int]Comparison)
	if f.Affinity != nil {
		got[0] = f.Affinity.Comparison
		for _, at := range f.Affinity.ByInstances {
			got[at.Instances] = at.Comparison
		}
		if !slices.IsSortedFunc(f.Affinity.ByInstances, func(a, b AtInstances) int { return a.Instances - b.Instances }) {
			t.Fatal("instances are not in order")
		}
	}
	if d := gocmp.Diff(want, got); d != "" || (f.Affinity == nil) != (f.Why(AffinityVsRoundRobin) != nil) {
		t.Fatalf("affinity differs (-plain +got), absent %+v:\n%s", f.Why(AffinityVsRoundRobin), d)
	}
}

// TestJSONReadsBack holds the JSON to shares that read back exactly and to the
// same bytes each time.
func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		f := findingsOf(rows, gapped(3))
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(findingsOf(rows, gapped(3)))
		if err != nil || !bytes.Equal(text, again) {
			t.Fatalf("the second time: %v\n%s\n%s", err, text, again)
		}
		back := new(Findings)
		if err := json.Unmarshal(text, back); err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(f, back); d != "" {
			t.Fatalf("read back (-want +got):\n%s", d)
		}
	})
}
