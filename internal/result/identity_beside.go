package result

import (
	"fmt"
	"slices"
)

// This file holds the identities of what lies beside the grid, and of where
// joins come from. They are of the sheet, in the list of identities.

func (a Arm) String() string {
	if a.Seed == 0 {
		return a.Ties + " ties"
	}
	return fmt.Sprintf("%s ties, seed %d", a.Ties, a.Seed)
}

// armPlace names a row under an arm.
type armPlace struct {
	place
	Arm
}

func (p *armPlace) String() string { return p.place.String() + ", " + p.Arm.String() }

func (r *ArmRow) armPlace() armPlace         { return armPlace{r.place(), r.Arm} }
func (r *ArmRelationRow) armPlace() armPlace { return armPlace{r.place(), r.Arm} }

// spanPlace names a row of spans.csv.
type spanPlace struct {
	place
	span int
}

func (p *spanPlace) String() string { return fmt.Sprintf("%s, span %d", p.place.String(), p.span) }

func (r *SpanRow) spanPlace() spanPlace {
	return spanPlace{place{r.Trace, r.Config, allInstances, Steady}, r.Span}
}

// thresholdPlace names a row of thresholds.csv.
type thresholdPlace struct {
	trace   string
	config  Config // without its window
	ties    string
	measure string
	share   float64
}

func (p *thresholdPlace) String() string {
	return fmt.Sprintf("%s, %s, %s, %d instances of %d blocks, %s ties, %s, share %v",
		p.trace, p.config.Lookup, p.config.Routing, p.config.Instances, p.config.CapacityBlocks, p.ties, p.measure, p.share)
}

func (r *ThresholdRow) thresholdPlace() thresholdPlace {
	c := r.Config
	c.WindowMS = 0
	return thresholdPlace{r.Trace, c, r.Ties, r.Measure, r.Share}
}

// concentrationPlace names an element of concentration.json.
func (r *ConcentrationRow) place() place { return place{r.Trace, r.Config(), allInstances, Steady} }

// arrangeBeside checks that what lies beside the grid is complete and in order.
func (s *sheet) arrangeBeside() []Violation {
	var concentrations []place
	for _, c := range s.configs {
		concentrations = append(concentrations, place{s.facts.Trace, c, allInstances, Steady})
	}
	found := inOrder(concentrationName, concentrations, s.Concentrations, (*ConcentrationRow).place)
	beside := s.facts.Sensitivity
	if beside == nil {
		return found
	}
	places := func(runs []ArmsRun) (places []armPlace) {
		for _, run := range runs {
			for _, c := range run.Grid.Configs() {
				for p := range Phase(Phases) {
					places = append(places, armPlace{place{s.facts.Trace, c, allInstances, p}, run.Arm})
				}
			}
		}
		return places
	}
	arms, curve := places(beside.Arms(s.facts.Grid)), places(beside.Curve(s.facts.Grid))
	var spans []spanPlace
	var thresholds []thresholdPlace
	s.curve = beside.Curve(s.facts.Grid)[0].Grid.Configs()
	for i, c := range s.curve {
		for k := range beside.Spans {
			spans = append(spans, spanPlace{place{s.facts.Trace, c, allInstances, Steady}, k})
		}
		if i%len(beside.CurveWindowsMS) != 0 {
			continue
		}
		c.WindowMS = 0
		for _, run := range beside.Curve(s.facts.Grid) {
			for _, measure := range Measures {
				for _, share := range beside.ThresholdShares {
					thresholds = append(thresholds, thresholdPlace{s.facts.Trace, c, run.Ties, measure, share})
				}
			}
		}
	}
	return slices.Concat(found,
		inOrder(ArmTable.name, arms, s.Arms, (*ArmRow).armPlace),
		inOrder(ArmRelationTable.name, arms, s.ArmRelations, (*ArmRelationRow).armPlace),
		inOrder(CurveTable.name, curve, s.Curve, (*ArmRow).armPlace),
		inOrder(CurveRelationTable.name, curve, s.CurveRelations, (*ArmRelationRow).armPlace),
		inOrder(SpanTable.name, spans, s.Spans, (*SpanRow).spanPlace),
		inOrder(ThresholdTable.name, thresholds, s.Thresholds, (*ThresholdRow).thresholdPlace),
	)
}

// armTables yields arms.csv, then curve.csv, each with its relations.
func (s *sheet) armTables(do func(file, relationFile string, rows []ArmRow, relations []ArmRelationRow)) {
	do(ArmTable.name, ArmRelationTable.name, s.Arms, s.ArmRelations)
	do(CurveTable.name, CurveRelationTable.name, s.Curve, s.CurveRelations)
}

// checkConcentration holds what concentration.json says of cohorts to their
// fan-ins. Which blocks and timestamps have the joins, the rows do not tell.
func checkConcentration(s *sheet, report report) {
	for c := range s.Concentrations {
		row := &s.Concentrations[c]
		fanIn := s.phaseFanIn[Phases*c+int(Steady)]
		joins := fanIn.Attempts() - fanIn.Cohorts()
		at := row.place()
		wrong := func(format string, args ...any) {
			report(concentrationName, at.String(), format, args...)
		}
		if row.Joins != joins {
			wrong("joins %d ≠ %d from %s", row.Joins, joins, FanInTable.name)
		}
		if want := fanIn.Busiest(); row.BusiestCohorts != want {
			wrong("busiest_cohorts %+v ≠ %+v from %s", row.BusiestCohorts, want, FanInTable.name)
		}
		arrived := s.Phases[Phases*c+int(Steady)].Joins
		checkBusiest(wrong, "busiest_blocks", row.BusiestBlocks, s.Concentrations[0].BusiestBlocks, joins)
		checkBusiest(wrong, "busiest_timestamps", row.BusiestTimestamps, s.Concentrations[0].BusiestTimestamps, arrived)

		var sum int64
		from := int64(0)
		for k, p := range row.Positions {
			if to := int64(1)<<(2*k) - 1; p.From != from || p.To != to {
				wrong("positions %d to %d where those from %d to %d belong", p.From, p.To, from, to)
			}
			from = p.To + 1
			sum += p.Joins
		}
		if n := len(row.Positions); sum != joins || n > 0 && row.Positions[n-1].Joins == 0 {
			wrong("joins at positions %v, of %d", row.Positions, joins)
		}

		if n := min(MostLargest, fanIn.DuplicateCohorts()); int64(len(row.Largest)) != n {
			wrong("%d largest cohorts, want %d", len(row.Largest), n)
			continue
		}
		rank := 0
		for _, e := range slices.Backward(fanIn) {
			for range min(e.Cohorts, int64(len(row.Largest)-rank)) {
				if got := row.Largest[rank]; got.FanIn != e.FanIn {
					wrong("largest cohort %d has fan-in %d ≠ %d from %s", rank, got.FanIn, e.FanIn, FanInTable.name)
				}
				rank++
			}
		}
		for k, l := range row.Largest {
			if k > 0 && l.FanIn == row.Largest[k-1].FanIn && l.StartMS < row.Largest[k-1].StartMS {
				wrong("largest cohort %d starts at %d ms, before the one above it", k, l.StartMS)
			}
			if l.Instance >= int64(row.Instances) || l.Instance < 0 || l.Position < 0 || l.StartMS < 0 {
				wrong("largest cohort %d is %+v", k, l)
			}
		}
	}
}

// checkBusiest holds the busiest hundredth to that of the first row, of which
// it is one of as many, and to the joins there are.
func checkBusiest(wrong func(string, ...any), name string, got, first Busiest, joins int64) {
	want := NewBusiest(got.Of, func(int64) int64 { return got.Joins })
	switch {
	case got.Of != first.Of || got.Count != want.Count:
		wrong("%s are %d of %d, want %d of %d", name, got.Count, got.Of, want.Count, first.Of)
	case got.Joins < 0 || got.Joins > joins || joins > 0 && got.Joins == 0:
		wrong("%s have %d joins of %d", name, got.Joins, joins)
	}
}

// checkArmFigures holds the figures of a row without fan-ins to each other.
func checkArmFigures(s *sheet, report report) {
	s.armTables(func(file, _ string, rows []ArmRow, _ []ArmRelationRow) {
		for i := 0; i < len(rows); i += Phases {
			led := ledAttempts(&rows[i].Figures, &rows[i+1].Figures)
			for p := range Phases {
				f, at := &rows[i+p].Figures, rows[i+p].armPlace()
				if more := led[p] - f.Cohorts; f.DuplicateAttempts-f.DuplicateCohorts != more {
					report(file, at.String(), "duplicate_attempts %d - duplicate_cohorts %d ≠ %d joins on cohorts led in the phase",
						f.DuplicateAttempts, f.DuplicateCohorts, more)
				}
				single := f.Cohorts - f.DuplicateCohorts
				rank := func(percent int64) bool { return (f.Cohorts*percent+99)/100 > single } // a duplicate is there
				switch {
				case f.Cohorts == 0 && (f.FanInP50 != 0 || f.FanInP99 != 0 || f.FanInMax != 0),
					f.Cohorts > 0 && ((f.FanInP50 > 1) != rank(50) || (f.FanInP99 > 1) != rank(99) || (f.FanInMax > 1) != (f.DuplicateCohorts > 0) || f.FanInP50 < 1),
					f.FanInP50 > f.FanInP99, f.FanInP99 > f.FanInMax,
					f.DuplicateCohorts > 0 && f.FanInMax > f.DuplicateAttempts-2*(f.DuplicateCohorts-1),
					f.DuplicateCohorts > 0 && f.FanInMax*f.DuplicateCohorts < f.DuplicateAttempts:
					report(file, at.String(), "fan-ins p50 %d, p99 %d, largest %d cannot be of %d cohorts, %d with %d attempts",
						f.FanInP50, f.FanInP99, f.FanInMax, f.Cohorts, f.DuplicateCohorts, f.DuplicateAttempts)
				}
			}
		}
	})
}

// checkArmLoad holds what the routing decides to be the same in every lookup,
// capacity, window and reading of ties: of a routing of the grid, what
// phases.csv says.
func checkArmLoad(s *sheet, report report) {
	type load struct {
		routing   string
		instances int
		seed      int64
		phase     Phase
	}
	first := make(map[load]float64)
	for i := range s.Phases {
		row := &s.Phases[i]
		first[load{row.Routing, row.Instances, 0, row.Phase}] = row.RequestImbalance
	}
	s.armTables(func(file, _ string, rows []ArmRow, _ []ArmRelationRow) {
		for i := range rows {
			row, at := &rows[i], rows[i].armPlace()
			key := load{row.Routing, row.Instances, row.Seed, row.Phase}
			if row.Ties == Random {
				key.seed = 0 // that of the ties
			}
			want, known := first[key]
			if !known {
				first[key] = row.RequestImbalance
			} else if row.RequestImbalance != want {
				report(file, at.String(), "request_imbalance %v ≠ %v with the same routing and instances", row.RequestImbalance, want)
			}
			for _, n := range additive[:2] {
				if got, want := *n.field(&row.Figures), *n.field(&s.Phases[row.Phase].Figures); got != want {
					report(file, at.String(), "%s %d ≠ %d in %s", n.name, got, want, PhaseTable.name)
				}
			}
		}
	})
}

// checkCurve compares the curve, at the windows of the grid and equal
// timestamps simultaneous, with phases.csv and relations.csv.
func checkCurve(s *sheet, report report) {
	places := make(map[Config]int)
	for c, config := range s.configs {
		places[config] = Phases * c
	}
	for i := range s.Curve {
		row, relation := &s.Curve[i], &s.CurveRelations[i]
		at, inGrid := places[row.Config]
		if !inGrid || row.Ties != Simultaneous {
			continue
		}
		at += int(row.Phase)
		p := row.armPlace()
		if x := &s.Phases[at]; row.PhaseRow != *x {
			report(CurveTable.name, p.String(), "%s in %s", difference(PhaseTable, &row.PhaseRow, x), PhaseTable.name)
		}
		if x := &s.Relations[at]; relation.RelationRow != *x {
			report(CurveRelationTable.name, p.String(), "%s in %s", difference(RelationTable, &relation.RelationRow, x), RelationTable.name)
		}
	}
}

// checkSpans holds the spans of a configuration to its row on the curve, and
// their beginnings to be equally far apart and those of all others.
func checkSpans(s *sheet, report report) {
	if s.facts.Sensitivity == nil {
		return
	}
	count := s.facts.Sensitivity.Spans
	for c := range s.curve {
		rows := s.Spans[c*count:][:count]
		var sum SpanCount
		for k := range rows {
			at := rows[k].spanPlace()
			sum.Add(rows[k].SpanCount)
			if rows[k].StartMS != s.Spans[k].StartMS {
				report(SpanTable.name, at.String(), "start_ms %d ≠ %d of the first configuration", rows[k].StartMS, s.Spans[k].StartMS)
			}
			if c == 0 && k > 1 && rows[k].StartMS-rows[k-1].StartMS != rows[1].StartMS-rows[0].StartMS {
				report(SpanTable.name, at.String(), "start_ms %d: the span before is of another length", rows[k].StartMS)
			}
			if n := rows[k].SpanCount; n.Joins > n.Attempts || n.Extension > n.Joins {
				report(SpanTable.name, at.String(), "attempts %d, joins %d, extension %d", n.Attempts, n.Joins, n.Extension)
			}
		}
		row := &s.Curve[Phases*c+int(Steady)]
		want := SpanCount{row.Attempts, row.Joins, s.CurveRelations[Phases*c+int(Steady)].Extension}
		if sum != want {
			at := row.place()
			report(SpanTable.name, at.String(), "spans sum to %+v ≠ %+v in %s and %s", sum, want, CurveTable.name, CurveRelationTable.name)
		}
	}
}

// Share returns a redundancy by a measure, of a row and the extensions among
// its joins; 0 where there are no attempts.
func (c *Counts) Share(measure string, extensions int64) float64 {
	if measure == WithoutExtensions {
		less := *c
		less.Joins -= extensions
		return less.Redundancy()
	}
	return c.Redundancy()
}

// checkThresholds holds each threshold to lie where the curve crosses its
// share.
func checkThresholds(s *sheet, report report) {
	beside := s.facts.Sensitivity
	if beside == nil {
		return
	}
	windows := beside.CurveWindowsMS
	each := len(Measures) * len(beside.ThresholdShares)
	for i := range s.Thresholds {
		row := &s.Thresholds[i]
		arm, curve := i/each%2, i/(2*each)
		shares := make([]float64, len(windows))
		for w := range windows {
			k := Phases*(arm*len(s.curve)+curve*len(windows)+w) + int(Steady)
			shares[w] = s.Curve[k].Share(row.Measure, s.CurveRelations[k].Extension)
		}
		at := row.thresholdPlace()
		first := slices.IndexFunc(shares, func(x float64) bool { return x >= row.Share })
		if first < 0 {
			if row.WindowMS != 0 || row.Redundancy != slices.Max(shares) || row.Before != 0 {
				report(ThresholdTable.name, at.String(), "window_ms %d, redundancy %v, below %v; the curve reaches %v at most", row.WindowMS, row.Redundancy, row.Before, slices.Max(shares))
			}
			continue
		}
		below, before := int64(0), 0.0
		if first > 0 {
			below, before = windows[first-1], shares[first-1]
		}
		switch {
		case row.WindowMS <= below || row.WindowMS > windows[first]:
			report(ThresholdTable.name, at.String(), "window_ms %d, the curve crosses between %d and %d", row.WindowMS, below, windows[first])
		case row.Before >= row.Share || row.Redundancy < row.Share,
			row.WindowMS == windows[first] && row.Redundancy != shares[first],
			row.WindowMS == below+1 && row.Before != before:
			report(ThresholdTable.name, at.String(), "redundancy %v, below %v: not where %s crosses", row.Redundancy, row.Before, CurveTable.name)
		}
	}
}
