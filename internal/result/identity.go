package result

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
)

// Violation is one place where an identity does not hold.
type Violation struct {
	Identity string // its name, one of Identities, or one of a CohortCheck
	File     string // "phases.csv", ...: the file whose row is named
	Row      string // configuration, phase and instance in words
	Detail   string // the figures, such as "lookups 12 ≠ hits 3 + attempts 8"
}

// String returns the violation as one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", v.File, v.Row, v.Identity, v.Detail)
}

// Rows are the rows of one trace, in the order of their files.
type Rows struct {
	Phases    []PhaseRow
	Instances []InstanceRow
	Relations []RelationRow
	FanIns    []FanInRow

	Concentrations []ConcentrationRow
	Beside         // of a run with Sensitivity, else empty
}

// Facts are what the rows of a trace must agree with and do not say.
type Facts struct {
	Trace    string // name
	Grid     Grid
	Requests int64
	Lookups  int64
	// SmallestGapMS is the smallest positive time between successive arrivals;
	// 0 where all arrive at one time.
	SmallestGapMS int64
	Sensitivity   *Sensitivity // nil: nothing was run beside the grid
}

// completeness comes first: the other identities find their rows by place.
const completeness = "each row once, in the order of the grid"

// identities are the others, in the order they are checked.
var identities = []struct {
	name  string
	check func(s *sheet, report report)
}{
	{"lookups = hits + attempts", checkLookups},
	{"attempts - joins = cohorts", checkCohorts},
	{"redundancy = joins / attempts", checkRedundancy},
	{"no warm-up request joins a steady cohort", checkBoundary},
	{"fanin.csv counts every cohort", checkFanInCohorts},
	{"fan-ins sum to the attempts of both phases", checkFanInSum},
	{"fan-ins sum to the attempts of each phase, less joins over the boundary", checkFanInPhaseSum},
	{"duplicates and percentiles follow from the fan-ins", checkFanInFigures},
	{"instances sum to their phase row", checkInstanceSum},
	{"request_imbalance = most requests / mean requests of an instance", checkImbalance},
	{"relations have the attempts and joins of their phase row", checkRelationTotals},
	{"joins = repeat + extension + branch", checkRelationSum},
	{"requests and lookups of both phases are the trace's", checkTraceTotals},
	{"requests and lookups do not depend on lookup, capacity and window", checkLoad},
	{"at one instance every routing counts the same", checkOneInstance},
	{"every window up to the smallest gap counts the same", checkShortWindows},
	{"concentration.json agrees with the fan-ins", checkConcentration},
	{"duplicates and fan-ins of an arm can be", checkArmFigures},
	{"the load of an arm does not depend on lookup, capacity, window and ties", checkArmLoad},
	{"the curve goes through the grid", checkCurve},
	{"spans sum to their row of the curve", checkSpans},
	{"thresholds lie where the curve crosses them", checkThresholds},
}

// Identities returns the names of the identities over the rows of a trace, in
// the order they are checked.
func Identities() []string {
	names := []string{completeness}
	for _, id := range identities {
		names = append(names, id.name)
	}
	return names
}

// Violations checks every identity and returns what does not hold, in the
// order of Identities and then of the rows. Where rows are missing, doubled,
// out of order or not of the grid, that alone is returned: nothing else can be
// compared.
//
// An identity between two files is reported under one of them and names the
// other: either may be the wrong one. The choice is such that every column of
// every file is in an identity that is reported under that file.
func (r *Rows) Violations(f *Facts) []Violation {
	s, found := arrange(r, f)
	if len(found) > 0 {
		return found
	}
	for _, id := range identities {
		id.check(s, func(file, row, format string, args ...any) {
			found = append(found, Violation{id.name, file, row, fmt.Sprintf(format, args...)})
		})
	}
	return found
}

// report takes one violation of the identity under check.
type report func(file, row, format string, args ...any)

// ByConfig splits the rows of the four tables of the grid by configuration,
// sharing their memory. The rows of each configuration must stand together, as
// they do where no row is out of order.
func (r *Rows) ByConfig() map[Config]Rows {
	split := make(map[Config]Rows)
	for c, rows := range runs(r.Phases, func(r *PhaseRow) Config { return r.Config }) {
		part := split[c]
		part.Phases = rows
		split[c] = part
	}
	for c, rows := range runs(r.Instances, func(r *InstanceRow) Config { return r.Config }) {
		part := split[c]
		part.Instances = rows
		split[c] = part
	}
	for c, rows := range runs(r.Relations, func(r *RelationRow) Config { return r.Config }) {
		part := split[c]
		part.Relations = rows
		split[c] = part
	}
	for c, rows := range runs(r.FanIns, func(r *FanInRow) Config { return r.Config }) {
		part := split[c]
		part.FanIns = rows
		split[c] = part
	}
	return split
}

// runs yields the stretches of rows with one key.
func runs[R any, K comparable](rows []R, key func(*R) K) iter.Seq2[K, []R] {
	return func(yield func(K, []R) bool) {
		for start := 0; start < len(rows); {
			k, end := key(&rows[start]), start+1
			for end < len(rows) && key(&rows[end]) == k {
				end++
			}
			if !yield(k, rows[start:end:end]) {
				return
			}
			start = end
		}
	}
}

// place names a row: what stands in its key columns.
type place struct {
	trace string
	Config
	instance int // allInstances in a row that sums them
	phase    Phase
}

const allInstances = -1

func (p *place) String() string {
	s := fmt.Sprintf("%s, %s, %s, %d instances of %d blocks, window %d ms, %s",
		p.trace, p.Lookup, p.Routing, p.Instances, p.CapacityBlocks, p.WindowMS, p.phase)
	if p.instance != allInstances {
		s += fmt.Sprintf(", instance %d", p.instance)
	}
	return s
}

func (r *PhaseRow) place() place    { return place{r.Trace, r.Config, allInstances, r.Phase} }
func (r *InstanceRow) place() place { return place{r.Trace, r.Config, r.Instance, r.Phase} }
func (r *RelationRow) place() place { return place{r.Trace, r.Config, allInstances, r.Phase} }
func (r *FanInRow) place() place    { return place{r.Trace, r.Config, r.Instance, r.Phase} }

// sheet is the rows of a trace, known to be complete and in order: element
// 2c+p of phases, relations and phaseFanIn is configuration c in phase p; of
// instances and fanIn, element first[c] + 2i + p is instance i of it.
type sheet struct {
	*Rows
	facts      *Facts
	configs    []Config
	first      []int
	fanIn      []FanIn
	phaseFanIn []FanIn
	curve      []Config // of the curve, under each of its arms
}

// arrange checks that the rows are complete and in order, and makes the sheet.
func arrange(r *Rows, f *Facts) (*sheet, []Violation) {
	s := &sheet{Rows: r, facts: f, configs: f.Grid.Configs()}
	var perPhase, perInstance []place
	for _, c := range s.configs {
		s.first = append(s.first, len(perInstance))
		for p := range Phase(Phases) {
			perPhase = append(perPhase, place{f.Trace, c, allInstances, p})
		}
		for i := range c.Instances {
			for p := range Phase(Phases) {
				perInstance = append(perInstance, place{f.Trace, c, i, p})
			}
		}
	}
	found := slices.Concat(
		inOrder(PhaseTable.name, perPhase, r.Phases, (*PhaseRow).place),
		inOrder(InstanceTable.name, perInstance, r.Instances, (*InstanceRow).place),
		inOrder(RelationTable.name, perPhase, r.Relations, (*RelationRow).place),
	)
	var disorder []Violation
	s.fanIn, disorder = collectFanIn(perInstance, r.FanIns)
	found = append(append(found, disorder...), s.arrangeBeside()...)
	if len(found) > 0 {
		return nil, found
	}
	for c := range s.configs {
		for p := range Phase(Phases) {
			var sum FanIn
			for i := range s.configs[c].Instances {
				sum = sum.Add(s.fanIn[s.at(c, i, p)])
			}
			s.phaseFanIn = append(s.phaseFanIn, sum)
		}
	}
	return s, nil
}

// at returns the index of an instance row.
func (s *sheet) at(config, instance int, p Phase) int {
	return s.first[config] + Phases*instance + int(p)
}

// line returns the line of row i in its file; the header is line 1.
func line(i int) int { return i + 2 }

// inOrder reports what keeps the places of rows from being those of want.
func inOrder[R any, P comparable, Q interface {
	*P
	fmt.Stringer
}](file string, want []P, rows []R, placeOf func(*R) P) []Violation {
	inPlace := len(rows) == len(want)
	for i := 0; inPlace && i < len(rows); i++ {
		inPlace = placeOf(&rows[i]) == want[i]
	}
	if inPlace {
		return nil
	}
	var found []Violation
	index := indexOf(want)
	seen := make([]bool, len(want))
	last := -1
	for i := range rows {
		p := placeOf(&rows[i])
		at, known := index[p]
		detail := ""
		switch {
		case !known:
			detail = "is not of the grid"
		case seen[at]:
			detail = "stands a second time"
		case at < last:
			detail = "is out of order after " + Q(&want[last]).String()
		}
		if detail != "" {
			found = append(found, Violation{completeness, file, Q(&p).String(), fmt.Sprintf("line %d %s", line(i), detail)})
		}
		if known {
			seen[at] = true
			last = max(last, at)
		}
	}
	for at := range want {
		if !seen[at] {
			found = append(found, Violation{completeness, file, Q(&want[at]).String(), "the row is missing"})
		}
	}
	return found
}

func indexOf[P comparable](places []P) map[P]int {
	index := make(map[P]int, len(places))
	for i, p := range places {
		index[p] = i
	}
	return index
}

// collectFanIn returns the distribution at each of the places, and reports
// rows that are not in the order of the places and then of their fan-in. A
// fan-in that does not occur has no row, so that none can be found missing
// here: the sums find it.
func collectFanIn(places []place, rows []FanInRow) ([]FanIn, []Violation) {
	var found []Violation
	index := indexOf(places)
	fanIn := make([]FanIn, len(places))
	all := make(FanIn, len(rows))
	last := -1
	done := 0
	for p, stretch := range runs(rows, (*FanInRow).place) {
		complain := func(i int, detail string) {
			found = append(found, Violation{completeness, FanInTable.name, p.String(), fmt.Sprintf("line %d %s", line(done+i), detail)})
		}
		at, known := index[p]
		switch {
		case !known:
			complain(0, "is not of the grid")
		case at < last:
			complain(0, "is out of order after "+places[last].String())
		default:
			last = at
			fanIn[at] = all[done : done+len(stretch) : done+len(stretch)]
		}
		for i := range stretch {
			all[done+i] = stretch[i].FanInCount
			switch {
			case stretch[i].FanIn < 1 || stretch[i].Cohorts < 1:
				complain(i, fmt.Sprintf("has fan-in %d of %d cohorts: both are at least 1", stretch[i].FanIn, stretch[i].Cohorts))
			case i > 0 && stretch[i].FanIn <= stretch[i-1].FanIn:
				complain(i, fmt.Sprintf("has fan-in %d after %d", stretch[i].FanIn, stretch[i-1].FanIn))
			}
		}
		done += len(stretch)
	}
	return fanIn, found
}

// pair is what one configuration counted in both phases, at one instance or at
// all of them.
type pair struct {
	file      string // of the figures
	fanInFile string // to report a disagreement with the fan-ins under
	place     place  // in warm-up
	arm       *Arm   // nil: of the grid
	figures   [Phases]*Figures
	fanIn     [Phases]FanIn
}

// row says in words which row the pair's phase p is.
func (q *pair) row(p Phase) string {
	at := q.place
	at.phase = p
	if q.arm != nil {
		return (&armPlace{at, *q.arm}).String()
	}
	return at.String()
}

// pairs yields all phase rows, then all instance rows.
func (s *sheet) pairs() iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		for i := 0; i < len(s.Phases); i += Phases {
			r, h := s.Phases[i:i+Phases], s.phaseFanIn[i:i+Phases]
			if !yield(&pair{PhaseTable.name, PhaseTable.name, r[0].place(), nil,
				[Phases]*Figures{&r[0].Figures, &r[1].Figures}, [Phases]FanIn(h)}) {
				return
			}
		}
		for i := 0; i < len(s.Instances); i += Phases {
			r, h := s.Instances[i:i+Phases], s.fanIn[i:i+Phases]
			if !yield(&pair{InstanceTable.name, FanInTable.name, r[0].place(), nil,
				[Phases]*Figures{&r[0].Figures, &r[1].Figures}, [Phases]FanIn(h)}) {
				return
			}
		}
	}
}

// figures yields what every row of two phases counted, those beside the grid
// included.
func (s *sheet) figures() iter.Seq[*pair] {
	return func(yield func(*pair) bool) {
		for q := range s.pairs() {
			if !yield(q) {
				return
			}
		}
		done := false
		s.armTables(func(file, _ string, rows []ArmRow, _ []ArmRelationRow) {
			for i := 0; i < len(rows) && !done; i += Phases {
				arm := rows[i].Arm
				done = !yield(&pair{file: file, place: rows[i].place(), arm: &arm, figures: [Phases]*Figures{&rows[i].Figures, &rows[i+1].Figures}})
			}
		})
	}
}

func checkLookups(s *sheet, report report) {
	for q := range s.figures() {
		for p, f := range q.figures {
			if f.Lookups != f.Hits+f.Attempts {
				report(q.file, q.row(Phase(p)), "lookups %d ≠ hits %d + attempts %d", f.Lookups, f.Hits, f.Attempts)
			}
		}
	}
}

func checkCohorts(s *sheet, report report) {
	for q := range s.figures() {
		for p, f := range q.figures {
			if f.Attempts-f.Joins != f.Cohorts {
				report(q.file, q.row(Phase(p)), "attempts %d - joins %d ≠ cohorts %d", f.Attempts, f.Joins, f.Cohorts)
			}
		}
	}
}

func checkRedundancy(s *sheet, report report) {
	for q := range s.figures() {
		for p, f := range q.figures {
			if f.PrintedRedundancy != f.Redundancy() {
				report(q.file, q.row(Phase(p)), "redundancy %v ≠ joins %d / attempts %d = %v", f.PrintedRedundancy, f.Joins, f.Attempts, f.Redundancy())
			}
		}
	}
}

func checkBoundary(s *sheet, report report) {
	for q := range s.figures() {
		if n := q.figures[Warmup].BoundaryJoins; n != 0 {
			report(q.file, q.row(Warmup), "boundary_joins %d ≠ 0", n)
		}
	}
}

func checkFanInCohorts(s *sheet, report report) {
	for q := range s.pairs() {
		for p, f := range q.figures {
			if n := q.fanIn[p].Cohorts(); n != f.Cohorts {
				report(q.fanInFile, q.row(Phase(p)), "%d cohorts in %s ≠ cohorts %d of %s", n, FanInTable.name, f.Cohorts, q.file)
			}
		}
	}
}

func checkFanInSum(s *sheet, report report) {
	for q := range s.pairs() {
		fanIns := q.fanIn[Warmup].Attempts() + q.fanIn[Steady].Attempts()
		attempts := q.figures[Warmup].Attempts + q.figures[Steady].Attempts
		if fanIns != attempts {
			report(q.fanInFile, q.row(Warmup)+" and steady", "fan-ins of %s sum to %d ≠ attempts %d of %s", FanInTable.name, fanIns, attempts, q.file)
		}
	}
}

func checkFanInPhaseSum(s *sheet, report report) {
	for q := range s.pairs() {
		led := ledAttempts(q.figures[Warmup], q.figures[Steady])
		for p := range Phase(Phases) {
			if n := q.fanIn[p].Attempts(); n != led[p] {
				report(q.fanInFile, q.row(p), "fan-ins of %s sum to %d ≠ %d attempts on cohorts led in the phase by %s", FanInTable.name, n, led[p], q.file)
			}
		}
	}
}

// ledAttempts returns the attempts on the cohorts led in each phase. Attempts
// count in the phase of the arriving request; a boundary join is one on a
// cohort of the other phase.
func ledAttempts(warmup, steady *Figures) [Phases]int64 {
	return [Phases]int64{
		Warmup: warmup.Attempts - warmup.BoundaryJoins + steady.BoundaryJoins,
		Steady: steady.Attempts - steady.BoundaryJoins + warmup.BoundaryJoins,
	}
}

func checkFanInFigures(s *sheet, report report) {
	derived := append([]count{
		{"duplicate_cohorts", func(f *Figures) *int64 { return &f.DuplicateCohorts }},
		{"duplicate_attempts", func(f *Figures) *int64 { return &f.DuplicateAttempts }},
	}, percentiles...)
	for q := range s.pairs() {
		for p, f := range q.figures {
			want := (&Tally{FanIn: q.fanIn[p]}).Figures()
			for _, n := range derived {
				if got := *n.field(f); got != *n.field(&want) {
					report(q.file, q.row(Phase(p)), "%s %d ≠ %d from %s", n.name, got, *n.field(&want), FanInTable.name)
				}
			}
		}
	}
}

func checkInstanceSum(s *sheet, report report) {
	for i := range s.Phases {
		row := &s.Phases[i]
		for _, n := range additive {
			var sum int64
			for j := range row.Instances {
				sum += *n.field(&s.Instances[s.at(i/Phases, j, row.Phase)].Figures)
			}
			if want := *n.field(&row.Figures); sum != want {
				at := row.place()
				report(InstanceTable.name, at.String(), "%s of the instances sum to %d ≠ %d in %s", n.name, sum, want, PhaseTable.name)
			}
		}
	}
}

func checkImbalance(s *sheet, report report) {
	for i := range s.Phases {
		row := &s.Phases[i]
		var requests []int64
		for j := range row.Instances {
			requests = append(requests, s.Instances[s.at(i/Phases, j, row.Phase)].Requests)
		}
		if want := Imbalance(requests); row.RequestImbalance != want {
			at := row.place()
			report(PhaseTable.name, at.String(), "request_imbalance %v ≠ %v from %s", row.RequestImbalance, want, InstanceTable.name)
		}
	}
}

// relationRows yields every row of relations with the figures it is of.
func (s *sheet) relationRows(do func(file, countFile, row string, relations *RelationRow, counts *Counts)) {
	for i := range s.Relations {
		at := s.Relations[i].place()
		do(RelationTable.name, PhaseTable.name, at.String(), &s.Relations[i], &s.Phases[i].Counts)
	}
	s.armTables(func(file, relationFile string, rows []ArmRow, relations []ArmRelationRow) {
		for i := range rows {
			at := relations[i].armPlace()
			do(relationFile, file, at.String(), &relations[i].RelationRow, &rows[i].Counts)
		}
	})
}

func checkRelationTotals(s *sheet, report report) {
	s.relationRows(func(file, countFile, at string, row *RelationRow, counts *Counts) {
		if row.Attempts != counts.Attempts {
			report(file, at, "attempts %d ≠ %d in %s", row.Attempts, counts.Attempts, countFile)
		}
		if row.Joins != counts.Joins {
			report(file, at, "joins %d ≠ %d in %s", row.Joins, counts.Joins, countFile)
		}
	})
}

func checkRelationSum(s *sheet, report report) {
	s.relationRows(func(file, _, at string, row *RelationRow, _ *Counts) {
		if row.Joins != row.Repeat+row.Extension+row.Branch {
			report(file, at, "joins %d ≠ repeat %d + extension %d + branch %d", row.Joins, row.Repeat, row.Extension, row.Branch)
		}
	})
}

func checkTraceTotals(s *sheet, report report) {
	for i := 0; i < len(s.Phases); i += Phases {
		warmup, steady := &s.Phases[i], &s.Phases[i+1]
		at := warmup.place()
		if n := warmup.Requests + steady.Requests; n != s.facts.Requests {
			report(PhaseTable.name, at.String()+" and steady", "requests %d ≠ %d of the trace", n, s.facts.Requests)
		}
		if n := warmup.Lookups + steady.Lookups; n != s.facts.Lookups {
			report(PhaseTable.name, at.String()+" and steady", "lookups %d ≠ %d of the trace", n, s.facts.Lookups)
		}
	}
}

// checkLoad compares what the trace decides with the first row that has it: a
// phase's requests and lookups in all configurations, an instance's in all of
// the same routing and number of instances.
func checkLoad(s *sheet, report report) {
	compare := func(file string, row, first place, got, want *Figures) {
		for _, n := range additive[:2] {
			if *n.field(got) != *n.field(want) {
				report(file, row.String(), "%s %d ≠ %d at %s", n.name, *n.field(got), *n.field(want), first.String())
			}
		}
	}
	for i := range s.Phases {
		row, first := &s.Phases[i], &s.Phases[i%Phases]
		compare(PhaseTable.name, row.place(), first.place(), &row.Figures, &first.Figures)
	}
	type load struct {
		routing   string
		instances int
		instance  int
		phase     Phase
	}
	firsts := make(map[load]*InstanceRow)
	for i := range s.Instances {
		row := &s.Instances[i]
		key := load{row.Routing, row.Instances, row.Instance, row.Phase}
		first := firsts[key]
		if first == nil {
			firsts[key] = row
			continue
		}
		compare(InstanceTable.name, row.place(), first.place(), &row.Figures, &first.Figures)
	}
}

// checkOneInstance compares each configuration of one instance with the first
// of another routing: there is nowhere else to go.
func checkOneInstance(s *sheet, report report) {
	firsts := make(map[Config]int)
	for c, config := range s.configs {
		if config.Instances != 1 {
			continue
		}
		config.Routing = ""
		if first, ok := firsts[config]; ok {
			s.compare(c, first, report)
		} else {
			firsts[config] = c
		}
	}
}

// checkShortWindows compares each window up to the smallest gap with the first
// such: a load that ends before the next arrival, or at it, ends before any
// lookup could tell how long it took. Without a gap that holds of every
// window. A window of 0 is an experiment of its own: nothing can be joined.
func checkShortWindows(s *sheet, report report) {
	firsts := make(map[Config]int)
	for c, config := range s.configs {
		gap := s.facts.SmallestGapMS
		if config.WindowMS == 0 || gap > 0 && config.WindowMS > gap {
			continue
		}
		config.WindowMS = 0
		if first, ok := firsts[config]; ok {
			s.compare(c, first, report)
		} else {
			firsts[config] = c
		}
	}
}

// compare reports every figure in which configuration c differs from
// configuration d, of as many instances.
func (s *sheet) compare(c, d int, report report) {
	for p := range Phase(Phases) {
		i, j := Phases*c+int(p), Phases*d+int(p)
		x, y := &s.Phases[i], &s.Phases[j]
		at, other := x.place(), y.place()
		if x.Figures != y.Figures || x.RequestImbalance != y.RequestImbalance {
			report(PhaseTable.name, at.String(), "%s at %s", difference(PhaseTable, x, y), other.String())
		}
		if u, v := &s.Relations[i], &s.Relations[j]; u.Relations != v.Relations {
			report(RelationTable.name, at.String(), "%s at %s", difference(RelationTable, u, v), other.String())
		}
		for instance := range s.configs[c].Instances {
			i, j := s.at(c, instance, p), s.at(d, instance, p)
			x, y := &s.Instances[i], &s.Instances[j]
			at, other := x.place(), y.place()
			if x.Figures != y.Figures {
				report(InstanceTable.name, at.String(), "%s at %s", difference(InstanceTable, x, y), other.String())
			}
			if !slices.Equal(s.fanIn[i], s.fanIn[j]) {
				report(FanInTable.name, at.String(), "fan-ins %v ≠ %v at %s", s.fanIn[i], s.fanIn[j], other.String())
			}
		}
	}
}

// difference names the columns after the phase in which two rows differ, with
// both values.
func difference[R any](t *Table[R], x, y *R) string {
	var text []byte
	after := slices.IndexFunc(t.columns, func(c column[R]) bool { return c.name == "phase" }) + 1
	for _, c := range t.columns[after:] {
		// A value that cannot be written is still shown as it is.
		u, _ := c.append(nil, x)
		v, _ := c.append(nil, y)
		if !bytes.Equal(u, v) {
			if len(text) > 0 {
				text = append(text, ", "...)
			}
			text = fmt.Appendf(text, "%s %s ≠ %s", c.name, u, v)
		}
	}
	return string(text)
}
