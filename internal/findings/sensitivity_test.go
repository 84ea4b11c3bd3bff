package findings

import (
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/result"
)

var besideGrid = result.Grid{
	Lookups:          []string{ContiguousPrefix},
	Routings:         []string{RoundRobin, FirstBlockAffinity},
	Instances:        []int{1, 2, 3},
	CapacitiesBlocks: []int{5, 6},
	WindowsMS:        []int64{10, 40},
}

var askedBeside = &result.Sensitivity{
	Seeds: 3, CurveWindowsMS: []int64{5, 10, 20, 40}, Spans: 4, ThresholdShares: []float64{0.1, 0.5},
}

// drawBeside draws rows of a grid and beside it, of any values.
func drawBeside(t *rapid.T) *result.Rows {
	rows := &result.Rows{}
	draw := func(c result.Config, phase result.Phase) (result.PhaseRow, result.RelationRow) {
		r := row(c.Lookup, c.Routing, c.Instances, c.WindowMS, 0, rapid.Int64Range(0, 9).Draw(t, "attempts"))
		r.Config, r.Phase = c, phase
		if r.Attempts > 0 {
			r.Joins = rapid.Int64Range(0, r.Attempts-1).Draw(t, "joins")
		}
		r.RequestImbalance = rapid.Float64Range(1, 3).Draw(t, "imbalance")
		extension := rapid.Int64Range(0, r.Joins).Draw(t, "extension")
		return r, result.RelationRow{
			Trace: "t", Config: c, Phase: phase, Attempts: r.Attempts, Joins: r.Joins,
			Relations: result.Relations{Extension: extension, Branch: r.Joins - extension},
		}
	}
	for _, c := range besideGrid.Configs() {
		for phase := range result.Phase(result.Phases) {
			r, relation := draw(c, phase)
			rows.Phases, rows.Relations = append(rows.Phases, r), append(rows.Relations, relation)
		}
	}
	arms := func(runs []result.ArmsRun) (arms []result.ArmRow, relations []result.ArmRelationRow) {
		for _, run := range runs {
			for _, c := range run.Grid.Configs() {
				for phase := range result.Phase(result.Phases) {
					r, relation := draw(c, phase)
					arms = append(arms, result.ArmRow{PhaseRow: r, Arm: run.Arm})
					relations = append(relations, result.ArmRelationRow{RelationRow: relation, Arm: run.Arm})
				}
			}
		}
		return arms, relations
	}
	rows.Arms, rows.ArmRelations = arms(askedBeside.Arms(besideGrid))
	rows.Curve, rows.CurveRelations = arms(askedBeside.Curve(besideGrid))
	curve := askedBeside.Curve(besideGrid)[0].Grid.Configs()
	for i, c := range curve {
		for k := range askedBeside.Spans {
			joins := rapid.Int64Range(0, 5).Draw(t, "joins")
			rows.Spans = append(rows.Spans, result.SpanRow{
				Trace: "t", Config: c, Span: k, StartMS: int64(100 * k),
				SpanCount: result.SpanCount{Attempts: joins + rapid.Int64Range(0, 5).Draw(t, "loads"), Joins: joins, Extension: rapid.Int64Range(0, joins).Draw(t, "extension")},
			})
		}
		if i%len(askedBeside.CurveWindowsMS) > 0 {
			continue
		}
		for _, ties := range []string{"simultaneous", "even"} {
			for _, measure := range result.Measures {
				for _, share := range askedBeside.ThresholdShares {
					r := result.ThresholdRow{Trace: "t", Config: c, Ties: ties, Measure: measure, Share: share}
					r.WindowMS = rapid.Int64Range(0, 40).Draw(t, "threshold")
					rows.Thresholds = append(rows.Thresholds, r)
				}
			}
		}
	}
	return rows
}

// plainRow is a row of any table, found by searching for it.
type plainRow struct {
	joins, extensions, attempts int64
	imbalance                   float64
}

func (r plainRow) share(without bool) float64 {
	joins := r.joins
	if without {
		joins -= r.extensions
	}
	if r.attempts == 0 {
		return 0
	}
	return float64(joins) / float64(r.attempts)
}

func plainGrid(rows *result.Rows, c result.Config) plainRow {
	for i, r := range rows.Phases {
		if r.Config == c && r.Phase == result.Steady {
			return plainRow{r.Joins, rows.Relations[i].Extension, r.Attempts, r.RequestImbalance}
		}
	}
	panic("no such row")
}

func plainArm(arms []result.ArmRow, relations []result.ArmRelationRow, ties string, seed int64, c result.Config) plainRow {
	for i, r := range arms {
		if r.Config == c && r.Phase == result.Steady && r.Ties == ties && r.Seed == seed {
			return plainRow{r.Joins, relations[i].Extension, r.Attempts, r.RequestImbalance}
		}
	}
	panic("no such row")
}

// TestSensitivity recomputes every finding beside the grid over random rows
// from its definition, one question at a time.
func TestSensitivity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawBeside(t)
		f := Of("t", rows, gapped(1), askedBeside)
		s := f.Sensitivity
		if s == nil || f.Why(SensitivityFinding) != nil || s.SpanMS != 100 || s.Spans != 4 || s.Seeds != 3 {
			t.Fatalf("%+v, absent %+v", s, f.Absent)
		}
		plainTies(t, s, rows)
		plainCurves(t, s, rows)
		plainRouting(t, s.Routing, rows)
	})
}

func plainTies(t *rapid.T, s *Sensitivity, rows *result.Rows) {
	if len(s.Ties) != 2 {
		t.Fatalf("ties of %d windows, want 2", len(s.Ties))
	}
	for i, window := range []int64{10, 40} {
		of := func(find func(c result.Config) plainRow) (m MedianLargest) {
			var all []float64
			for _, c := range besideGrid.Configs() {
				if c.WindowMS == window {
					all = append(all, find(c).share(false))
					m.Largest = math.Max(m.Largest, find(c).share(false))
					m.LargestWithoutExtensions = math.Max(m.LargestWithoutExtensions, find(c).share(true))
				}
			}
			slices.Sort(all)
			m.Median = (all[len(all)/2-1] + all[len(all)/2]) / 2 // of twelve
			return m
		}
		arm := func(ties string, seed int64) MedianLargest {
			return of(func(c result.Config) plainRow { return plainArm(rows.Arms, rows.ArmRelations, ties, seed, c) })
		}
		draws := []MedianLargest{arm("random", 1), arm("random", 2), arm("random", 3)}
		sorted := func(field func(MedianLargest) float64) []float64 {
			values := []float64{field(draws[0]), field(draws[1]), field(draws[2])}
			slices.Sort(values)
			return values
		}
		medians := sorted(func(m MedianLargest) float64 { return m.Median })
		largest := sorted(func(m MedianLargest) float64 { return m.Largest })
		without := sorted(func(m MedianLargest) float64 { return m.LargestWithoutExtensions })
		want := Ties{
			WindowMS: window, Rows: 12,
			Simultaneous: of(func(c result.Config) plainRow { return plainGrid(rows, c) }),
			Even:         arm("even", 0),
			RandomLow:    MedianLargest{medians[0], largest[0], without[0]},
			RandomMedian: MedianLargest{medians[1], largest[1], without[1]},
			RandomHigh:   MedianLargest{medians[2], largest[2], without[2]},
		}
		if d := gocmp.Diff(want, s.Ties[i]); d != "" {
			t.Fatalf("ties (-plain +got):\n%s", d)
		}
		if low := min(want.Simultaneous.Largest, want.Even.Largest, largest[0]); s.Ties[i].Low() != low {
			t.Fatalf("low %v, want %v", s.Ties[i].Low(), low)
		}
		if high := max(want.Simultaneous.Largest, want.Even.Largest, largest[2]); s.Ties[i].High() != high {
			t.Fatalf("high %v, want %v", s.Ties[i].High(), high)
		}
	}
}

func plainCurves(t *rapid.T, s *Sensitivity, rows *result.Rows) {
	k, threshold := 0, 0
	for _, routing := range besideGrid.Routings {
		for _, n := range besideGrid.Instances {
			for _, capacity := range besideGrid.CapacitiesBlocks {
				c := s.Curves[k]
				if c.Routing != routing || c.Instances != n || c.CapacityBlocks != capacity || c.Lookup != ContiguousPrefix {
					t.Fatalf("curve %d is of %s, %d × %d", k, c.Routing, c.Instances, c.CapacityBlocks)
				}
				last := math.Inf(-1)
				falls := 0
				for i, window := range askedBeside.CurveWindowsMS {
					at := result.Config{Lookup: ContiguousPrefix, Routing: routing, Instances: n, CapacityBlocks: capacity, WindowMS: window}
					simultaneous := plainArm(rows.Curve, rows.CurveRelations, "simultaneous", 0, at)
					readings := []plainRow{simultaneous, plainArm(rows.Curve, rows.CurveRelations, "even", 0, at)}
					inGrid := window == 10 || window == 40
					if inGrid {
						for seed := range int64(3) {
							readings = append(readings, plainArm(rows.Arms, rows.ArmRelations, "random", seed+1, at))
						}
					}
					p := c.Points[i]
					if p.WindowMS != window || p.InGrid != inGrid || p.Attempts != simultaneous.attempts {
						t.Fatalf("point %+v", p)
					}
					for _, without := range []bool{false, true} {
						m := p.All
						if without {
							m = p.WithoutExtensions
						}
						low, high := math.Inf(1), math.Inf(-1)
						for _, r := range readings {
							low, high = math.Min(low, r.share(without)), math.Max(high, r.share(without))
						}
						if m.Redundancy != simultaneous.share(without) || m.TiesLow != low || m.TiesHigh != high {
							t.Fatalf("%+v: want %v, ties %v to %v", m, simultaneous.share(without), low, high)
						}
						if m.IntervalLow > m.IntervalHigh || m.IntervalLow < 0 || m.IntervalHigh > 1 {
							t.Fatalf("interval %+v", m)
						}
					}
					if p.All.Redundancy < last {
						falls++
						found := false
						for _, fall := range c.Falls {
							found = found || fall.FromMS < window && window <= fall.ToMS && fall.From > fall.To
						}
						if !found {
							t.Fatalf("no fall at %d among %+v", window, c.Falls)
						}
					}
					last = p.All.Redundancy
				}
				if (falls == 0) != (len(c.Falls) == 0) {
					t.Fatalf("%d falls, found %+v", falls, c.Falls)
				}
				for i, got := range c.Thresholds {
					simultaneous, even := rows.Thresholds[threshold+i], rows.Thresholds[threshold+4+i]
					want := Threshold{simultaneous.Measure == "without_extensions", simultaneous.Share, simultaneous.WindowMS, even.WindowMS}
					if got != want || simultaneous.Measure != even.Measure || simultaneous.Share != even.Share {
						t.Fatalf("threshold %+v, want %+v", got, want)
					}
				}
				threshold += 8
				k++
			}
		}
	}
	if k != len(s.Curves) {
		t.Fatalf("%d curves, want %d", len(s.Curves), k)
	}
}

func plainRouting(t *rapid.T, r *Routing, rows *result.Rows) {
	mean := func(a, b func(c result.Config) []plainRow) (pairs, higher, lower int, difference float64) {
		for _, c := range besideGrid.Configs() {
			if c.Routing != RoundRobin || c.Instances == 1 {
				continue
			}
			for _, x := range a(c) {
				for _, y := range b(c) {
					pairs++
					if x.share(false) > y.share(false) {
						higher++
					}
					if x.share(false) < y.share(false) {
						lower++
					}
					difference += x.share(false) - y.share(false)
				}
			}
		}
		return pairs, higher, lower, difference / float64(pairs)
	}
	grid := func(routing string) func(c result.Config) []plainRow {
		return func(c result.Config) []plainRow {
			c.Routing = routing
			return []plainRow{plainGrid(rows, c)}
		}
	}
	other := func(routing string, seeds ...int64) func(c result.Config) []plainRow {
		return func(c result.Config) (all []plainRow) {
			c.Routing = routing
			for _, seed := range seeds {
				all = append(all, plainArm(rows.Arms, rows.ArmRelations, "simultaneous", seed, c))
			}
			return all
		}
	}
	affinity, roundRobin, matched := grid(FirstBlockAffinity), grid(RoundRobin), other("matched_load", 1, 2, 3)
	for _, want := range []struct {
		a, b   string
		ofA    func(c result.Config) []plainRow
		ofB    func(c result.Config) []plainRow
		toRead float64
	}{
		{FirstBlockAffinity, RoundRobin, affinity, roundRobin, r.AffinityLessRoundRobin},
		{FirstBlockAffinity, "matched_load", affinity, matched, r.Prefix},
		{"matched_load", RoundRobin, matched, roundRobin, r.Load},
		{FirstBlockAffinity, "affinity_bounded_load", affinity, other("affinity_bounded_load", 0), math.NaN()},
		{"affinity_bounded_load", RoundRobin, other("affinity_bounded_load", 0), roundRobin, math.NaN()},
		{"least_loaded", RoundRobin, other("least_loaded", 0), roundRobin, math.NaN()},
	} {
		at := slices.IndexFunc(r.Pairs, func(p RoutingPair) bool { return p.A == want.a && p.B == want.b })
		if at < 0 {
			t.Fatalf("%s against %s is missing", want.a, want.b)
		}
		got := r.Pairs[at]
		pairs, higher, lower, difference := mean(want.ofA, want.ofB)
		if got.Pairs != pairs || got.Higher != higher || got.Lower != lower || got.Equal != pairs-higher-lower || !near(got.MeanDifference, difference) ||
			!math.IsNaN(want.toRead) && want.toRead != got.MeanDifference {
			t.Fatalf("%+v: want %d pairs, %d higher, %d lower, mean %v", got, pairs, higher, lower, difference)
		}
	}
	if !near(r.AffinityLessRoundRobin, r.Load+r.Prefix) {
		t.Fatalf("%v is not load %v and prefix %v", r.AffinityLessRoundRobin, r.Load, r.Prefix)
	}
	low, high := math.Inf(1), math.Inf(-1)
	for seed := range int64(3) {
		_, _, _, difference := mean(other("matched_load", seed+1), roundRobin)
		low, high = math.Min(low, difference), math.Max(high, difference)
	}
	if !near(low, r.LoadLow) || !near(high, r.LoadHigh) {
		t.Fatalf("load %v to %v over the draws, want %v to %v", r.LoadLow, r.LoadHigh, low, high)
	}
	if r.Rows != 8 {
		t.Fatalf("%d rows, want 8", r.Rows)
	}
}

// TestBootstrap holds the interval to what a bootstrap must give: nothing where
// every span is alike, the whole way between where one of two kinds is drawn,
// and about two standard errors in between.
func TestBootstrap(t *testing.T) {
	spans := func(joins ...int64) (rows []result.SpanRow) {
		for _, j := range joins {
			rows = append(rows, result.SpanRow{SpanCount: result.SpanCount{Attempts: 100, Joins: j, Extension: j / 2}})
		}
		return rows
	}
	alike := spans(7, 7, 7, 7)
	boot := newBootstrap(4)
	if low, high := boot.interval(alike, result.All); low != 0.07 || high != 0.07 {
		t.Errorf("spans alike: %v to %v, want 0.07", low, high)
	}
	if low, high := boot.interval(alike, result.WithoutExtensions); low != 0.04 || high != 0.04 {
		t.Errorf("spans alike, without extensions: %v to %v, want 0.04", low, high)
	}
	if low, high := boot.interval(spans(0, 0, 0, 0), result.All); low != 0 || high != 0 {
		t.Errorf("no joins: %v to %v", low, high)
	}
	none := make([]result.SpanRow, 4)
	if low, high := boot.interval(none, result.All); low != 0 || high != 0 {
		t.Errorf("no attempts: %v to %v", low, high)
	}
	// What happens in one span alone is the same in every draw that has it.
	alone := slices.Concat(spans(7), none[:3])
	if low, high := boot.interval(alone, result.All); low != 0.07 || high != 0.07 {
		t.Errorf("one span with attempts: %v to %v, want 0.07", low, high)
	}
	// Of 100 spans with 0 or 20 joins of 100 the mean is 0.1, its standard error
	// 0.1 ÷ 10, and 95 % lie within 1.96 of them.
	var half []int64
	for i := range 100 {
		half = append(half, 20*int64(i%2))
	}
	low, high := newBootstrap(100).interval(spans(half...), result.All)
	if math.Abs(low-0.0804) > 0.004 || math.Abs(high-0.1196) > 0.004 {
		t.Errorf("%v to %v, want about 0.0804 to 0.1196", low, high)
	}
	again, _ := newBootstrap(100).interval(spans(half...), result.All)
	if again != low {
		t.Errorf("a second time %v, not %v", again, low)
	}
}

// TestRoutingWords holds the words to the two parts.
func TestRoutingWords(t *testing.T) {
	for _, test := range []struct {
		total, load, prefix float64
		want                string
	}{
		{0, 0, 0, "Neither load nor prefix makes a difference"},
		{0.01, 0, 0.01, "All of it is prefix."},
		{-0.01, -0.01, 0, "All of it is load."},
		{-0.04, -0.01, -0.03, "Both go the same way: 25 % of it is load, 75 % prefix."},
		{-0.01, -0.03, 0.02, "the direction is that of the load, and the prefixes work against it"},
		{0.01, -0.01, 0.02, "the direction is that of the prefixes, and the load works against it"},
	} {
		r := Routing{Rows: 3, AffinityLessRoundRobin: test.total, Load: test.load, Prefix: test.prefix, LoadLow: test.load, LoadHigh: test.load}
		if got := r.words(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test, got)
		}
	}
	for _, test := range []struct {
		total, low, high float64
		want             string
	}{
		{0.01, -0.02, 0.02, "Neither part can be told from nothing"},
		{0.03, -0.001, 0.002, "The part of the load cannot be told from nothing by these draws: what can be told is prefix."},
		{0.03, 0.029, 0.031, "The part of the prefixes cannot be told from nothing by these draws: what can be told is load."},
		{0.04, 0.009, 0.011, "25 % of it is load"},
	} {
		middle := (test.low + test.high) / 2
		r := Routing{Rows: 3, AffinityLessRoundRobin: test.total, Load: middle, Prefix: test.total - middle, LoadLow: test.low, LoadHigh: test.high}
		if got := r.words(); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test, got)
		}
	}
	r := Routing{Rows: 3, AffinityLessRoundRobin: -0.01, Load: 0.02, Prefix: -0.03}
	for _, part := range []string{"1.000000 points lower than that of round_robin", "2.000000 points higher than round_robin", "3.000000 points lower than matched_load"} {
		if !strings.Contains(r.words(), part) {
			t.Errorf("%q is not in %q", part, r.words())
		}
	}
}

// TestConcentrated holds the rows that are picked to be those with most.
func TestConcentrated(t *testing.T) {
	var rows result.Rows
	for i, joins := range []int64{1, 5, 5, 2, 0} {
		r := row(ContiguousPrefix, RoundRobin, i+1, 10, joins, 10)
		r.FanInMax = []int64{9, 4, 4, 9, 1}[i]
		r.DuplicateCohorts, r.DuplicateAttempts, r.BoundaryJoins = joins, 2*joins, int64(i)
		for k, n := range []int64{2, 3} { // two instances
			rows.FanIns = append(rows.FanIns, result.FanInRow{
				Trace: "t", Config: r.Config, Instance: k, Phase: result.Steady, FanInCount: result.FanInCount{FanIn: r.FanInMax, Cohorts: n},
			})
		}
		rows.Phases = append(rows.Phases, r)
		rows.Concentrations = append(rows.Concentrations, result.ConcentrationRow{
			Trace: "t", Lookup: r.Lookup, Routing: r.Routing, Instances: r.Instances, CapacityBlocks: r.CapacityBlocks, WindowMS: r.WindowMS,
			Concentration: result.Concentration{Joins: joins},
		})
	}
	got := Of("t", &rows, gapped(1), nil).Concentrated
	want := []Concentrated{
		{
			WindowsMS: []int64{10}, Why: "largest_redundancy", At: Config{ContiguousPrefix, RoundRobin, 2, 10, 10},
			Shares: Shares{DuplicateCohorts: 1, DuplicateAttempts: 1, Redundancy: 0.5}, FanInMax: 4, CohortsAtMax: 5, BoundaryJoins: 1, Concentration: result.Concentration{Joins: 5},
		},
		{
			WindowsMS: []int64{10}, Why: "largest_fanin", At: Config{ContiguousPrefix, RoundRobin, 1, 10, 10},
			Shares: Shares{DuplicateCohorts: 1.0 / 9, DuplicateAttempts: 0.2, Redundancy: 0.1}, FanInMax: 9, CohortsAtMax: 5, Concentration: result.Concentration{Joins: 1},
		},
	}
	diff(t, want, got)
}
