package result

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever the trace, what the model counts has no violation: an identity that
// is not one would be found here.
func TestIdentitiesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := replay(drawTrace(t), Grid{
			Lookups:          []string{"contiguous_prefix", "independent_blocks"},
			Routings:         []string{"round_robin", "first_block_affinity"},
			Instances:        []int{1, 3},
			CapacitiesBlocks: []int{1, 4},
			WindowsMS:        []int64{1, 2, 3, 12},
		})
		for _, v := range s.rows.Violations(&s.facts) {
			t.Errorf("%v", v)
		}
		for config, rows := range s.rows.ByConfig() {
			for _, v := range s.checkCohorts(config, s.cohorts[config], rows) {
				t.Errorf("%v", v)
			}
		}
	})
}

func (s *study) checkCohorts(config Config, cohorts []Cohort, rows Rows) []Violation {
	check := NewCohortCheck(config, s.facts.Requests)
	// In two calls, as from a file read in batches.
	check.Add(cohorts[:len(cohorts)/2])
	check.Add(cohorts[len(cohorts)/2:])
	return check.Violations("cohorts", rows)
}

// TestIdentitiesBeside holds what the model counts beside a grid to have no
// violation.
func TestIdentitiesBeside(t *testing.T) {
	s := besideStudy()
	for _, v := range s.rows.Violations(&s.facts) {
		t.Errorf("%v", v)
	}
	reached, never := 0, 0
	for _, r := range s.rows.Thresholds {
		if r.WindowMS > 0 {
			reached++
		} else {
			never++
		}
	}
	if reached == 0 || never == 0 {
		t.Errorf("%d thresholds are reached, %d never", reached, never)
	}
}

// The sample has what the tests below take for granted.
func TestSampleStudy(t *testing.T) {
	s := sampleStudy()
	var sum Figures
	var relations Relations
	for i, r := range s.rows.Phases {
		for _, n := range slices.Concat(additive, percentiles) {
			*n.field(&sum) += *n.field(&r.Figures)
		}
		relations.Repeat += s.rows.Relations[i].Repeat
		relations.Extension += s.rows.Relations[i].Extension
		relations.Branch += s.rows.Relations[i].Branch
	}
	for _, n := range additive {
		if *n.field(&sum) == 0 {
			t.Errorf("no %s", n.name)
		}
	}
	if relations.Repeat == 0 || relations.Extension == 0 || relations.Branch == 0 {
		t.Errorf("relations %+v", relations)
	}
	if s.facts.SmallestGapMS != 2 {
		t.Errorf("smallest gap %d", s.facts.SmallestGapMS)
	}
	if v := s.rows.Violations(&s.facts); v != nil {
		t.Errorf("violations %v", v)
	}
}

// TestEditsAreFound edits every value of every row of every table, one at a
// time, and holds that some violation names the file and the row. No column of
// any table is an exception. Each identity must find some of the edits.
func TestEditsAreFound(t *testing.T) {
	seen := make(map[string]bool)
	t.Run("phases", func(t *testing.T) {
		editAll(t, PhaseTable, func(r *Rows) *[]PhaseRow { return &r.Phases }, (*PhaseRow).place, seen)
	})
	t.Run("instances", func(t *testing.T) {
		editAll(t, InstanceTable, func(r *Rows) *[]InstanceRow { return &r.Instances }, (*InstanceRow).place, seen)
	})
	t.Run("relations", func(t *testing.T) {
		editAll(t, RelationTable, func(r *Rows) *[]RelationRow { return &r.Relations }, (*RelationRow).place, seen)
	})
	t.Run("fanin", func(t *testing.T) {
		editAll(t, FanInTable, func(r *Rows) *[]FanInRow { return &r.FanIns }, (*FanInRow).place, seen)
	})
	t.Run("concentration", func(t *testing.T) { editConcentrations(t, seen) })
	beside := func(name string, edit func(t *testing.T, s *study)) {
		t.Run(name, func(t *testing.T) { edit(t, besideStudy()) })
	}
	beside("arms", func(t *testing.T, s *study) {
		editRows(t, s, ArmTable, s.rows.Arms, seen, "fanin_p50", "fanin_p99", "fanin_max")
	})
	beside("arm relations", func(t *testing.T, s *study) {
		editRows(t, s, ArmRelationTable, s.rows.ArmRelations, seen)
	})
	beside("curve", func(t *testing.T, s *study) {
		editRows(t, s, CurveTable, s.rows.Curve, seen, "fanin_p50", "fanin_p99", "fanin_max")
	})
	beside("curve relations", func(t *testing.T, s *study) {
		editRows(t, s, CurveRelationTable, s.rows.CurveRelations, seen)
	})
	beside("spans", func(t *testing.T, s *study) {
		editRows(t, s, SpanTable, s.rows.Spans, seen)
	})
	beside("thresholds", func(t *testing.T, s *study) {
		editRows(t, s, ThresholdTable, s.rows.Thresholds, seen, "redundancy", "redundancy_1ms_below", "window_ms")
	})
	for _, name := range Identities() {
		if !seen[name] {
			t.Errorf("no edit breaks %q", name)
		}
	}
}

func editAll[R comparable](t *testing.T, table *Table[R], of func(*Rows) *[]R, placeOf func(*R) place, seen map[string]bool) {
	s := sampleStudy()
	rows := *of(&s.rows)
	for i := range rows {
		original := rows[i]
		for _, c := range table.columns {
			text, err := c.append(nil, &original)
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for _, edit := range edits(string(text)) {
				if c.parse([]byte(edit), &rows[i]) != nil {
					continue
				}
				taken++
				was, is := placeOf(&original), placeOf(&rows[i])
				found := false
				for _, v := range s.rows.Violations(&s.facts) {
					seen[v.Identity] = true
					// A row out of order is named, or the row that stands after it.
					found = found || v.File == table.name &&
						(namesRow(v.Row, was) || namesRow(v.Row, is) || strings.HasSuffix(v.Detail, "is out of order after "+is.String()))
				}
				if !found {
					t.Errorf("%s, column %s: %s for %s is not found", was.String(), c.name, edit, text)
				}
				rows[i] = original
			}
			if taken == 0 {
				t.Errorf("column %s takes none of %q", c.name, edits(string(text)))
			}
		}
	}
}

// editRows edits every value of some rows, and holds that some violation names
// the file. What cannot be told from the other rows is excepted: of its edits
// some must still be found.
func editRows[R any](t *testing.T, s *study, table *Table[R], rows []R, seen map[string]bool, excepted ...string) {
	t.Helper()
	found := make(map[string]int)
	for i := range rows {
		original := rows[i]
		for _, c := range table.columns {
			text, err := c.append(nil, &original)
			if err != nil {
				t.Fatal(err)
			}
			for _, edit := range edits(string(text)) {
				if c.parse([]byte(edit), &rows[i]) != nil {
					continue
				}
				named := false
				for _, v := range s.rows.Violations(&s.facts) {
					seen[v.Identity] = true
					named = named || v.File == table.name
				}
				if named {
					found[c.name]++
				} else if !slices.Contains(excepted, c.name) {
					t.Errorf("row %d, column %s: %s for %s is not found", i, c.name, edit, text)
				}
				rows[i] = original
			}
		}
	}
	for _, c := range table.columns {
		if found[c.name] == 0 {
			t.Errorf("no edit of column %s is found", c.name)
		}
	}
}

// editConcentrations edits every value of concentration.json that other files
// tell of.
func editConcentrations(t *testing.T, seen map[string]bool) {
	s := sampleStudy()
	if v := s.rows.Violations(&s.facts); v != nil {
		t.Fatalf("violations %v", v)
	}
	for i := range s.rows.Concentrations {
		row := &s.rows.Concentrations[i]
		if len(row.Largest) == 0 {
			continue
		}
		for name, edit := range map[string]func(){
			"trace":                    func() { row.Trace = "other" },
			"lookup":                   func() { row.Lookup = "other" },
			"window_ms":                func() { row.WindowMS++ },
			"joins":                    func() { row.Joins++ },
			"busiest_cohorts of":       func() { row.BusiestCohorts.Of++ },
			"busiest_cohorts count":    func() { row.BusiestCohorts.Count++ },
			"busiest_cohorts joins":    func() { row.BusiestCohorts.Joins++ },
			"busiest_blocks count":     func() { row.BusiestBlocks.Count++ },
			"busiest_blocks joins":     func() { row.BusiestBlocks.Joins = row.Joins + 1 },
			"busiest_timestamps count": func() { row.BusiestTimestamps.Count++ },
			"busiest_timestamps joins": func() { row.BusiestTimestamps.Joins = 1 << 40 },
			"positions from":           func() { row.Positions[0].From++ },
			"positions to":             func() { row.Positions[0].To++ },
			"positions joins":          func() { row.Positions[0].Joins++ },
			"largest one less":         func() { row.Largest = row.Largest[1:] },
			"largest fan-in":           func() { row.Largest[0].FanIn++ },
			"largest instance":         func() { row.Largest[0].Instance = int64(row.Instances) },
			"largest position":         func() { row.Largest[0].Position = -1 },
		} {
			original := *row
			row.Positions, row.Largest = slices.Clone(row.Positions), slices.Clone(row.Largest)
			edit()
			named := false
			for _, v := range s.rows.Violations(&s.facts) {
				seen[v.Identity] = true
				named = named || v.File == "concentration.json"
			}
			if !named {
				t.Errorf("element %d: %s is not found", i, name)
			}
			*row = original
		}
	}
}

// edits returns other values for one that stands as text. A column may not take
// all of them.
func edits(text string) []string {
	switch text {
	case "warmup":
		return []string{"steady"}
	case "steady":
		return []string{"warmup"}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return []string{text + "x"}
	}
	list := []string{
		strconv.FormatFloat(math.Nextafter(f, 2*f+1), 'g', -1, 64),
		strconv.FormatFloat(f+1, 'g', -1, 64),
		strconv.FormatInt(math.MaxInt64, 10),
	}
	if f >= 1 {
		list = append(list, strconv.FormatFloat(f-1, 'g', -1, 64))
	}
	return list
}

// namesRow says whether a violation's row is the one at p, the sum over
// instances it is part of, or either of them in both phases.
func namesRow(row string, p place) bool {
	sum := p
	sum.instance = allInstances
	both := p
	both.phase = Warmup
	bothSum := sum
	bothSum.phase = Warmup
	return row == p.String() || row == sum.String() ||
		row == both.String()+" and steady" || row == bothSum.String()+" and steady"
}

// A row less, a row twice and two rows in the other order are found by name in
// each table. In fanin.csv a row less is no gap: a fan-in need not occur.
func TestLostAndDoubledRowsAreFound(t *testing.T) {
	t.Run("phases", func(t *testing.T) {
		disturbAll(t, PhaseTable, func(r *Rows) *[]PhaseRow { return &r.Phases }, (*PhaseRow).place)
	})
	t.Run("instances", func(t *testing.T) {
		disturbAll(t, InstanceTable, func(r *Rows) *[]InstanceRow { return &r.Instances }, (*InstanceRow).place)
	})
	t.Run("relations", func(t *testing.T) {
		disturbAll(t, RelationTable, func(r *Rows) *[]RelationRow { return &r.Relations }, (*RelationRow).place)
	})
	t.Run("fanin", func(t *testing.T) {
		disturbAll(t, FanInTable, func(r *Rows) *[]FanInRow { return &r.FanIns }, (*FanInRow).place)
	})
}

func disturbAll[R any](t *testing.T, table *Table[R], of func(*Rows) *[]R, placeOf func(*R) place) {
	s := sampleStudy()
	rows := of(&s.rows)
	original := *rows
	expect := func(what string, p place, disturbed []R) {
		t.Helper()
		*rows = disturbed
		for _, v := range s.rows.Violations(&s.facts) {
			if v.File == table.name && namesRow(v.Row, p) {
				return
			}
		}
		t.Errorf("%s: %s is not found", p.String(), what)
	}
	for i := range original {
		p := placeOf(&original[i])
		expect("a missing row", p, slices.Delete(slices.Clone(original), i, i+1))
		expect("a double row", p, slices.Insert(slices.Clone(original), i, original[i]))
		if i > 0 {
			swapped := slices.Clone(original)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			*rows = swapped
			if v := s.rows.Violations(&s.facts); len(v) == 0 || v[0].File != table.name {
				t.Errorf("%s: swapped with the row before it gives %v", p.String(), v)
			}
		}
	}
}

// A fan-in of no cohort, or of no attempt, adds nothing to any sum: it is found
// as a row that should not be there.
func TestEmptyFanInsAreFound(t *testing.T) {
	for _, empty := range []FanInCount{{0, 0}, {0, 1}, {2, 0}} {
		s := sampleStudy()
		at := s.rows.FanIns[0]
		if s.rows.FanIns[1].place() != at.place() {
			t.Fatalf("one fan-in at %+v", at)
		}
		rest := s.rows.FanIns[1:]
		at.FanInCount = empty
		if empty.FanIn < s.rows.FanIns[0].FanIn {
			rest = s.rows.FanIns
		} else if rest[0].FanIn <= empty.FanIn {
			rest = rest[1:]
		}
		i := len(s.rows.FanIns) - len(rest)
		s.rows.FanIns = slices.Insert(s.rows.FanIns, i, at)
		if v := s.rows.Violations(&s.facts); len(v) == 0 || v[0].File != "fanin.csv" || v[0].Identity != completeness {
			t.Errorf("%+v: violations %v", empty, v)
		}
	}
}

// Two edits that make up for each other in every sum are found where another
// configuration must have counted the same.
func TestCompensatedEditsAreFound(t *testing.T) {
	s := sampleStudy()
	// The first configuration is one instance with a window under the gap.
	r := &s.rows.Relations[1]
	if r.Repeat == 0 {
		t.Fatalf("no repeat in %+v", r)
	}
	r.Repeat--
	r.Branch++
	found := s.rows.Violations(&s.facts)
	if len(found) == 0 || found[0].File != "relations.csv" {
		t.Errorf("relations: violations %v", found)
	}

	s = sampleStudy()
	config := s.facts.Grid.Configs()[2] // one instance, the long window
	if config.WindowMS != 20 || config.Instances != 1 {
		t.Fatalf("configuration %+v", config)
	}
	var at []*FanInRow // of fan-in 1, 2, 3, 4 and so on
	for i := range s.rows.FanIns {
		if r := &s.rows.FanIns[i]; r.Config == config && r.Phase == Steady {
			at = append(at, r)
		}
	}
	if len(at) < 5 || at[3].FanIn != 4 || at[2].Cohorts < 2 {
		t.Fatalf("fan-ins %+v", at)
	}
	// Two cohorts of 3 are now one of 2 and one of 4.
	at[1].Cohorts++
	at[2].Cohorts -= 2
	at[3].Cohorts++
	found = s.rows.Violations(&s.facts)
	if len(found) == 0 || found[len(found)-1].File != "fanin.csv" {
		t.Errorf("fan-ins: violations %v", found)
	}
}

// The facts are held against the rows, not the rows against each other alone.
func TestFactsAreHeld(t *testing.T) {
	for name, edit := range map[string]func(*Facts){
		"requests": func(f *Facts) { f.Requests++ },
		"lookups":  func(f *Facts) { f.Lookups-- },
		"trace":    func(f *Facts) { f.Trace = "other" },
		// At 20 ms the windows of 1, 2 and 20 ms would be one experiment.
		"gap":    func(f *Facts) { f.SmallestGapMS = 20 },
		"no gap": func(f *Facts) { f.SmallestGapMS = 0 },
		"grid":   func(f *Facts) { f.Grid.WindowsMS = []int64{1, 2} },
	} {
		s := sampleStudy()
		edit(&s.facts)
		if len(s.rows.Violations(&s.facts)) == 0 {
			t.Errorf("%s: no violation", name)
		}
	}
}

// The words of a violation, once: a person finds the row by them.
func TestViolationWords(t *testing.T) {
	s := sampleStudy()
	s.rows.Instances[1].Hits++
	var got []string
	for _, v := range s.rows.Violations(&s.facts) {
		got = append(got, v.String())
	}
	row := s.rows.Instances[1]
	const at = "tiny, contiguous_prefix, round_robin, 1 instances of 6 blocks, window 1 ms, steady"
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	want := []string{
		"instances.csv: " + at + ", instance 0: lookups = hits + attempts: lookups " + n(row.Lookups) + " ≠ hits " + n(row.Hits) + " + attempts " + n(row.Attempts),
		"instances.csv: " + at + ": instances sum to their phase row: hits of the instances sum to " + n(row.Hits) + " ≠ " + n(row.Hits-1) + " in phases.csv",
	}
	if d := cmp.Diff(want, got[:2]); d != "" {
		t.Error(d)
	}
	// Every other row that must be equal to this one is told from it.
	for _, v := range got[2:] {
		if !strings.HasPrefix(v, "instances.csv: ") || !strings.Contains(v, "hits ") {
			t.Errorf("besides: %s", v)
		}
	}

	s = sampleStudy()
	s.rows.Phases = slices.Delete(s.rows.Phases, 1, 2)
	s.rows.Relations[0].WindowMS = 7
	got = nil
	for _, v := range s.rows.Violations(&s.facts) {
		got = append(got, v.String())
	}
	want = []string{
		"phases.csv: " + at + ": each row once, in the order of the grid: the row is missing",
		"relations.csv: tiny, contiguous_prefix, round_robin, 1 instances of 6 blocks, window 7 ms, warmup: each row once, in the order of the grid: line 2 is not of the grid",
		"relations.csv: tiny, contiguous_prefix, round_robin, 1 instances of 6 blocks, window 1 ms, warmup: each row once, in the order of the grid: the row is missing",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestByConfig(t *testing.T) {
	s := sampleStudy()
	split := s.rows.ByConfig()
	again := Rows{Concentrations: s.rows.Concentrations} // which it leaves out
	for _, c := range s.facts.Grid.Configs() {
		r := split[c]
		again.Phases = append(again.Phases, r.Phases...)
		again.Instances = append(again.Instances, r.Instances...)
		again.Relations = append(again.Relations, r.Relations...)
		again.FanIns = append(again.FanIns, r.FanIns...)
	}
	if d := cmp.Diff(s.rows, again); d != "" {
		t.Error(d)
	}
}
