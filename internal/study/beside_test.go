package study

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/reference"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
	"kvfanin/internal/trace"
)

// TestSpread works the readings of equal timestamps through by hand.
func TestSpread(t *testing.T) {
	at := func(ms ...int64) *trace.Trace { return &trace.Trace{ArrivalMS: ms} }
	for _, test := range []struct {
		name string
		tr   *trace.Trace
		want []int64
	}{
		{"three in ten ms, then two in the median gap of 40", at(0, 0, 0, 10, 50, 50), []int64{0, 3, 6, 10, 50, 70}},
		{"gaps 10, 40, 90: the median is 40", at(0, 10, 50, 140, 140), []int64{0, 10, 50, 140, 160}},
		{"of two gaps, 10 and 40, element 1", at(0, 10, 50, 50), []int64{0, 10, 50, 70}},
		{"more requests than ms", at(0, 0, 0, 2), []int64{0, 0, 1, 2}},
		{"one instant", at(7, 7, 7), []int64{7, 7, 7}},
		{"nothing", at(), nil},
		{"at the end of time", at(0, math.MaxInt64, math.MaxInt64), []int64{0, math.MaxInt64, math.MaxInt64}},
		{"a gap that does not fit twice", at(0, 0, 0, 0, math.MaxInt64), []int64{0, 1 << 61, 1 << 62, 3 << 61, math.MaxInt64}},
	} {
		got := spread(test.tr, result.Arm{Ties: result.Even})
		if test.name == "a gap that does not fit twice" {
			for i := 1; i < 4; i++ { // ⌊k·(2⁶³-1)÷4⌋ is one less
				test.want[i]--
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if got := spread(test.tr, result.Arm{Ties: result.Simultaneous}); !slices.Equal(got, test.tr.ArrivalMS) {
			t.Errorf("%s: simultaneous gives %v", test.name, got)
		}
	}
}

// TestSpreadAtRandom holds every draw to file order and to its tick, the same
// seed to the same draw, and all of a tick to be drawn.
func TestSpreadAtRandom(t *testing.T) {
	tr := &trace.Trace{}
	for tick := range int64(50) {
		for range 8 {
			tr.ArrivalMS = append(tr.ArrivalMS, tick*10)
		}
	}
	seen := map[int64]bool{}
	for seed := range int64(20) {
		arm := result.Arm{Ties: result.Random, Seed: seed}
		got := spread(tr, arm)
		for i, ms := range got {
			if tick := tr.ArrivalMS[i]; ms < tick || ms >= tick+10 || i > 0 && ms < got[i-1] {
				t.Fatalf("seed %d: request %d of tick %d at %d, after %v", seed, i, tick, ms, got[max(0, i-1)])
			}
			seen[ms%10] = true
		}
		if !slices.Equal(got, spread(tr, arm)) {
			t.Fatal("one seed, two draws")
		}
		if seed > 0 && slices.Equal(got, spread(tr, result.Arm{Ties: result.Random, Seed: seed - 1})) {
			t.Fatal("two seeds, one draw")
		}
	}
	if len(seen) != 10 {
		t.Errorf("of ten ms only %d were drawn", len(seen))
	}
}

// TestCurve holds the windows of the curve to their formula.
func TestCurve(t *testing.T) {
	var want []int64
	for k := range 66 {
		want = append(want, int64(math.Round(math.Pow(10, float64(k)/13))))
	}
	if want = slices.Compact(want); !slices.Equal(curveMS, want) || len(want) < 60 {
		t.Errorf("%d windows %v, want %v", len(curveMS), curveMS, want)
	}
}

// TestBesideIsReference holds all that is run beside a grid to the reference
// model: every row of the arms and the curve, every span, and the thresholds,
// for which every window is tried.
func TestBesideIsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		warmup := rapid.Int64Range(0, 9).Draw(t, "warmup")
		p := Params{Grid: drawGrid(t), Warmup: tenths(t, warmup)}
		p.Sensitivity = &result.Sensitivity{
			Seeds:           2,
			CurveWindowsMS:  CurveWindows([]int64{1, 3, 40}, p.Grid.WindowsMS),
			Spans:           3,
			ThresholdShares: []float64{0.05, 0.25, 0.5},
		}
		if err := p.Sensitivity.Check(&p.Grid); err != nil {
			t.Fatal(err)
		}
		c := newCrew(context.Background(), 1)
		steps := 0
		done := func() { steps++ }
		rd := asItStands(tr, p.Warmup)
		b := newBeside(rd, p)
		if err := b.send(c, done); err != nil {
			t.Fatal(err)
		}
		if err := b.sendThresholds(c, done); err != nil {
			t.Fatal(err)
		}
		if want := p.Steps(1) - len(p.Grid.Configs()); steps != want {
			t.Fatalf("%d steps, foretold are %d", steps, want)
		}

		m := plainModel{trace: tr, steady: rd.steady, known: map[plainKey]*plainOutcome{}}
		row := 0
		for _, run := range p.Sensitivity.Arms(p.Grid) {
			for _, c := range run.Grid.Configs() {
				m.checkRows(t, run.Arm, c, b.rows.Arms[row:row+2], b.rows.ArmRelations[row:row+2])
				row += 2
			}
		}
		if row != len(b.rows.Arms) {
			t.Fatalf("%d rows of arms, want %d", len(b.rows.Arms), row)
		}
		row = 0
		span := 0
		for _, run := range p.Sensitivity.Curve(p.Grid) {
			for _, c := range run.Grid.Configs() {
				m.checkRows(t, run.Arm, c, b.rows.Curve[row:row+2], b.rows.CurveRelations[row:row+2])
				row += 2
				if run.Ties == result.Simultaneous {
					m.checkSpans(t, c, b.rows.Spans[span:span+3])
					span += 3
				}
			}
		}
		if row != len(b.rows.Curve) || span != len(b.rows.Spans) {
			t.Fatalf("%d rows of the curve, want %d; %d spans, want %d", len(b.rows.Curve), row, len(b.rows.Spans), span)
		}
		row = 0
		configs := p.Sensitivity.Curve(p.Grid)[0].Grid.Configs()
		for i := 0; i < len(configs); i += len(p.Sensitivity.CurveWindowsMS) {
			for _, ties := range []string{result.Simultaneous, result.Even} {
				for _, measure := range []string{"all", "without_extensions"} {
					for _, share := range p.Sensitivity.ThresholdShares {
						want := m.threshold(p.Sensitivity.CurveWindowsMS, configs[i], ties, measure, share)
						if diff := cmp.Diff(want, b.rows.Thresholds[row]); diff != "" {
							t.Fatalf("threshold %d (-reference +found):\n%s", row, diff)
						}
						row++
					}
				}
			}
		}
		if row != len(b.rows.Thresholds) {
			t.Fatalf("%d thresholds, want %d", len(b.rows.Thresholds), row)
		}
	})
}

// plainModel runs the reference model under arms and remembers what it gave.
type plainModel struct {
	trace  *trace.Trace
	steady int
	known  map[plainKey]*plainOutcome
}

type plainKey struct {
	result.Arm
	result.Config
}

type plainOutcome struct {
	arrivals  []int64
	assigned  []uint32
	phases    [2]result.Counts
	relations [2]result.Relations
	cohorts   []*reference.Cohort
}

func (m *plainModel) phase(i int) int {
	if i < m.steady {
		return 0
	}
	return 1
}

func (m *plainModel) run(arm result.Arm, c result.Config) *plainOutcome {
	key := plainKey{arm, c}
	if m.known[key] != nil {
		return m.known[key]
	}
	o := &plainOutcome{arrivals: spread(m.trace, arm)}
	policy, err := route.ByName(c.Routing)
	if err != nil {
		panic(err)
	}
	o.assigned = policy.Assign(m.trace, c.Instances, arm.Seed)
	requests := requestsOf(m.trace)
	for i := range requests {
		requests[i].ArrivalMS = o.arrivals[i]
	}
	out := reference.Model{
		Contiguous: c.Lookup == "contiguous_prefix",
		Route:      func(i int, _ reference.Request) int { return int(o.assigned[i]) },
		Instances:  c.Instances,
		Capacity:   c.CapacityBlocks,
		WindowMS:   c.WindowMS,
		SteadyFrom: &m.steady,
	}.Run(requests)
	for _, instance := range out.Counts {
		for phase, n := range instance {
			sum := &o.phases[phase]
			sum.Requests += n.Requests
			sum.Lookups += n.Lookups
			sum.Hits += n.Hits
			sum.Attempts += n.Attempts
			sum.Cohorts += int64(len(n.FanIn))
			sum.Joins += n.Joins
			sum.BoundaryJoins += n.BoundaryJoins
		}
	}
	o.cohorts = out.Cohorts
	for _, cohort := range out.Cohorts {
		for _, j := range cohort.Joiners {
			plainRelation(m.trace, cohort.Leader, j, &o.relations[m.phase(j)])
		}
	}
	m.known[key] = o
	return o
}

// checkRows holds the two rows of a configuration, and their relations, to the
// reference.
func (m *plainModel) checkRows(t *rapid.T, arm result.Arm, c result.Config, rows []result.ArmRow, relations []result.ArmRelationRow) {
	t.Helper()
	want := m.run(arm, c)
	for phase := range 2 {
		row, relation := rows[phase], relations[phase]
		if row.Arm != arm || relation.Arm != arm || row.Config != c || relation.Config != c ||
			row.Phase != result.Phase(phase) || relation.Phase != row.Phase || row.Trace != m.trace.Name {
			t.Fatalf("row of %+v %+v phase %d is %+v", arm, c, phase, row)
		}
		if diff := cmp.Diff(want.phases[phase], row.Counts); diff != "" {
			t.Fatalf("%+v %+v phase %d (-reference +row):\n%s", arm, c, phase, diff)
		}
		if diff := cmp.Diff(want.relations[phase], relation.Relations); diff != "" {
			t.Fatalf("relations of %+v %+v phase %d (-reference +row):\n%s", arm, c, phase, diff)
		}
		var fanIn int64
		for _, cohort := range want.cohorts {
			if m.phase(cohort.Leader) == phase {
				fanIn = max(fanIn, cohort.FanIn)
			}
		}
		requests := make([]int64, c.Instances)
		for i, k := range want.assigned {
			if m.phase(i) == phase {
				requests[k]++
			}
		}
		if row.FanInMax != fanIn || row.RequestImbalance != result.Imbalance(requests) {
			t.Fatalf("%+v %+v phase %d: largest fan-in %d, want %d; imbalance %v, of requests %v", arm, c, phase, row.FanInMax, fanIn, row.RequestImbalance, requests)
		}
	}
}

// checkSpans holds the spans of a configuration to the reference, counted by
// the arrival of each attempt.
func (m *plainModel) checkSpans(t *rapid.T, c result.Config, rows []result.SpanRow) {
	t.Helper()
	o := m.run(result.Arm{Ties: result.Simultaneous}, c)
	first, last := int64(0), int64(0)
	if m.steady < len(o.arrivals) {
		first, last = o.arrivals[m.steady], o.arrivals[len(o.arrivals)-1]
	}
	length := (last-first)/int64(len(rows)) + 1
	want := make([]result.SpanRow, len(rows))
	for i := range want {
		want[i] = result.SpanRow{Trace: m.trace.Name, Config: c, Span: i, StartMS: first + int64(i)*length}
	}
	attempt := func(i int, joins, extension int64) {
		if m.phase(i) == 1 {
			want[(o.arrivals[i]-first)/length].Add(result.SpanCount{Attempts: 1, Joins: joins, Extension: extension})
		}
	}
	for _, cohort := range o.cohorts {
		attempt(cohort.Leader, 0, 0)
		for _, j := range cohort.Joiners {
			var r result.Relations
			plainRelation(m.trace, cohort.Leader, j, &r)
			attempt(j, 1, r.Extension)
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Fatalf("spans of %+v (-reference +rows):\n%s", c, diff)
	}
}

// threshold is the definition: the first point of the curve that reaches the
// share, and between it and the one before what halving finds.
func (m *plainModel) threshold(curveMS []int64, c result.Config, ties, measure string, share float64) result.ThresholdRow {
	redundancy := func(windowMS int64) float64 {
		if windowMS == 0 {
			return 0
		}
		c := c
		c.WindowMS = windowMS
		o := m.run(result.Arm{Ties: ties}, c)
		joins := o.phases[1].Joins
		if measure == "without_extensions" {
			joins -= o.relations[1].Extension
		}
		if joins == 0 {
			return 0
		}
		return float64(joins) / float64(o.phases[1].Attempts)
	}
	row := result.ThresholdRow{Trace: m.trace.Name, Config: c, Ties: ties, Measure: measure, Share: share}
	row.WindowMS = 0
	before := int64(0)
	for _, at := range curveMS {
		if redundancy(at) < share {
			row.Redundancy = max(row.Redundancy, redundancy(at))
			before = at
			continue
		}
		for at > before+1 {
			if middle := (at + before) / 2; redundancy(middle) < share {
				before = middle
			} else {
				at = middle
			}
		}
		row.WindowMS, row.Redundancy, row.Before = at, redundancy(at), redundancy(before)
		break
	}
	return row
}
