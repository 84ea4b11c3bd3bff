package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kvfanin/internal/findings"
)

// few is how many duplicate cohorts must stand behind a figure so that it is
// shown without a mark.
const few = findings.FewDuplicates

// instead says why a finding is absent, empty if it is not.
func instead(a *findings.Absence) string {
	if a == nil {
		return ""
	}
	text := "Not shown: " + a.Reason + "."
	if a.Flag != "" {
		text += " Run the study with " + together(a.Flag) + "."
	}
	return text
}

// withoutSensitivity stands where a run has no arms and no curve.
func withoutSensitivity(f *findings.Findings) string {
	if f.Sensitivity != nil {
		return ""
	}
	if a := f.Why(findings.SensitivityFinding); a != nil && a.Reason != "" {
		return instead(a)
	}
	return "Not run: kvfanin study --sensitivity runs it."
}

// Redundancies is the redundancy by window.
func Redundancies(f *findings.Findings, warmup string) *Exhibit {
	x := &Exhibit{
		Name:  "redundancy",
		Title: "Redundancy by window",
		Lead: []string{"Redundancy is joins ÷ attempts: of the lookups that start a cold load, or join one in flight, the share " +
			"that joins. An ideal single-flight would save those loads and no more: an upper bound, and no share of time or bytes."},
		Caption: "Percent of cold load attempts, over the configurations of each load window, steady phase" + since(warmup),
		Columns: slices.Concat(heads("window"), figuresOf("rows", "median, %", "largest, %", "largest without extensions, %", "largest fan-in", "rows, p99 fan-in > 1")),
		Instead: instead(f.Why(findings.RedundancyByWindow)),
	}
	for i := range f.Windows {
		w := &f.Windows[i]
		x.Rows = append(x.Rows, []Cell{words(together(durations(w.WindowsMS))), number(w.Rows), share(w.MedianRedundancy), share(w.LargestRedundancy),
			share(w.LargestWithoutExtensions), number(w.LargestFanIn), number(w.RowsP99FanInOver)})
		if len(w.WindowsMS) > 1 {
			x.Notes = append(x.Notes, oneExperiment(w.WindowsMS, f.Profile))
		}
	}
	switch n := idle(f); n {
	case 0:
	case f.Rows:
		x.Notes = append(x.Notes, "No row has an attempt: every redundancy is 0 by definition.")
	default:
		x.Notes = append(x.Notes, fmt.Sprintf("%s of %s have no attempt: their redundancy is 0 by definition.", count(n), plural(f.Rows, "row")))
	}
	if text := FanInBeside(f); text != "" {
		x.Notes = append(x.Notes, text)
	}
	return x
}

// FanInBeside explains a largest fan-in beside a redundancy: a large one is one
// block that many wanted at once, and says nothing of how often that happens.
func FanInBeside(f *findings.Findings) string {
	top := topOf(f)
	if top == nil || top.LargestFanIn < 3 {
		return ""
	}
	text := fmt.Sprintf("The largest fan-in under %s is %s: a load of one block that %s wanted at once. The redundancy there is at most %s%s",
		together(durations(top.WindowsMS)), count(top.LargestFanIn), plural(top.LargestFanIn, "request"), inPercent(top.LargestRedundancy),
		oneIn(top.LargestRedundancy))
	if c := concentrated(f, top, findings.LargestFanIn); c != nil && c.Joins > 0 {
		cohorts := "That one cohort is"
		if c.CohortsAtMax > 1 {
			cohorts = "The " + plural(c.CohortsAtMax, "cohort") + " of that size are"
		}
		text += fmt.Sprintf(". %s %s of the %s on loads led in the steady phase of its configuration (%s), whose redundancy is %s",
			cohorts, count(max(1, c.CohortsAtMax)*(c.FanInMax-1)), plural(c.Joins, "join"), inWords(&c.At), inPercent(c.Shares.Redundancy))
		if c.BoundaryJoins > 0 {
			text += fmt.Sprintf("; %s more are on loads led in warm-up", count(c.BoundaryJoins))
		}
	}
	return text + ". A fan-in says how crowded one load was, the redundancy how common that is."
}

// ThreeShares is the three shares where the redundancy is largest.
func ThreeShares(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:  "shares",
		Title: "Three shares, three questions",
		Lead: []string{"Of the loads that started, which did more than one request want (duplicate cohorts ÷ cohorts)? Of the attempts, " +
			"which met another on the same block (duplicate attempts ÷ attempts)? Of the attempts, which would an ideal " +
			"single-flight remove (joins ÷ attempts)? They are never merged."},
		Caption: "Percent, at the configuration with the largest redundancy of each window (the first of equals), steady phase",
		Columns: slices.Concat(heads("window"), setting(),
			figuresOf("duplicate cohorts ÷ cohorts, %", "duplicate attempts ÷ attempts, %", "joins ÷ attempts, %")),
		Instead: instead(f.Why(findings.RedundancyByWindow)),
	}
	for i := range f.Windows {
		w := &f.Windows[i]
		if w.LargestAt == nil {
			continue
		}
		s := &w.SharesAtLargest
		x.Rows = append(x.Rows, []Cell{words(together(durations(w.WindowsMS))), words(settingOf(w.LargestAt)),
			share(s.DuplicateCohorts), share(s.DuplicateAttempts), share(s.Redundancy)})
	}
	if len(x.Rows) == 0 && x.Instead == "" {
		x.Instead = "There is no join in any row: all three shares are 0 in every configuration."
	}
	return x
}

// LookupRules is the difference of the two lookup rules.
func LookupRules(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:    "lookups",
		Title:   "Lookup rules",
		Caption: "contiguous_prefix against independent_blocks, where their redundancies differ most",
		Columns: slices.Concat(heads("pairs of rows"), figuresOf("largest difference, share of attempts", "contiguous_prefix, %", "independent_blocks, %")),
		Instead: instead(f.Why(findings.LookupDifference)),
	}
	l := f.Lookups
	if l == nil {
		return x
	}
	if l.At == nil {
		x.Instead = "The two lookup rules give the same redundancy in each of " + plural(l.Pairs, "pair") + " of rows that are equal in all else."
		return x
	}
	x.Rows = [][]Cell{{words("all " + count(l.Pairs)), {Text: difference(l.LargestDifference), Unit: Share, Value: l.LargestDifference, Bar: -1},
		share(l.ContiguousPrefix), share(l.IndependentBlocks)}}
	x.Notes = []string{fmt.Sprintf("Reached at %s, window %s.", inWords(l.At), together(duration(l.At.WindowMS)))}
	return x
}

// AffinityPairs is affinity against round robin as in the published study.
func AffinityPairs(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:  "affinity",
		Title: "Affinity against round robin",
		Lead: []string{"Pairs of rows that are equal in lookup, instances, capacity and window. This is the published comparison: " +
			"it does not tell what comes from the prefix and what from uneven load."},
		Caption: "Pairs by whether first_block_affinity has the higher redundancy; imbalance is most requests on one instance ÷ mean, largest of the rows",
		Columns: slices.Concat(heads("instances"), figuresOf("pairs", "higher", "equal", "lower"),
			under("request imbalance", "affinity", "round robin")),
		Instead: instead(f.Why(findings.AffinityVsRoundRobin)),
	}
	if f.Affinity == nil {
		return x
	}
	row := func(name string, c *findings.Comparison) {
		x.Rows = append(x.Rows, []Cell{words(name), number(c.Pairs), number(c.Higher), number(c.Equal), number(c.Lower),
			ratio(c.AffinityImbalance), ratio(c.RoundRobinImbalance)})
	}
	for i := range f.Affinity.ByInstances {
		at := &f.Affinity.ByInstances[i]
		row(count(at.Instances), &at.Comparison)
	}
	row("all", &f.Affinity.Comparison)
	return x
}

// Concentrated says how much of the joins falls to the busiest few.
func Concentrated(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:  "concentration",
		Title: "Where the joins come from",
		Lead: []string{"The share of all joins that falls to the busiest hundredth of the cohorts, of the blocks asked for and " +
			"of the timestamps of the phase. If joins came evenly from everywhere each would be near 1 %."},
		Caption: "Percent of joins, at the row of each window with the largest redundancy and at that with the largest fan-in (the first of equals), steady phase",
		Columns: slices.Concat(heads("window", "most"), setting(), figuresOf("joins", "redundancy, %", "largest fan-in"),
			under("share of the busiest 1 %, %", "of cohorts", "of blocks", "of timestamps")),
	}
	scarce := false
	for i := range f.Concentrated {
		c := &f.Concentrated[i]
		if c.Joins == 0 {
			continue
		}
		why := "redundancy"
		if c.Why == findings.LargestFanIn {
			if i > 0 && f.Concentrated[i-1].WindowsMS[0] == c.WindowsMS[0] && f.Concentrated[i-1].FanInMax == c.FanInMax {
				continue // the row above has it as well
			}
			why = "fan-in"
		}
		scarce = scarce || c.BusiestCohorts.Joins == c.Joins
		x.Rows = append(x.Rows, []Cell{words(together(durations(c.WindowsMS))), words(why), words(settingOf(&c.At)), number(c.Joins),
			share(c.Shares.Redundancy), number(c.FanInMax),
			shareOf(c.BusiestCohorts.Joins, c.Joins), shareOf(c.BusiestBlocks.Joins, c.Joins), shareOf(c.BusiestTimestamps.Joins, c.Joins)})
	}
	switch {
	case len(x.Rows) == 0:
		x.Instead = noOrigin(f, "There is no join in any row: nothing is concentrated anywhere.")
	case scarce:
		x.Notes = []string{together("100.0 %") + " of cohorts: fewer than one load in a hundred is joined at all."}
	}
	return x
}

// noOrigin says why it is not shown where joins come from: because there are
// none, or because it was not found out.
func noOrigin(f *findings.Findings, none string) string {
	if topOf(f) == nil {
		return none
	}
	return "Not shown: the rows do not say where their joins come from."
}

// picked is the row of the window with the largest redundancy that was picked
// for that reason, and what it is.
func picked(f *findings.Findings, why string) (*findings.Concentrated, string) {
	top := topOf(f)
	if top == nil {
		return nil, ""
	}
	c := concentrated(f, top, why)
	if c == nil || c.Joins == 0 {
		return nil, ""
	}
	return c, fmt.Sprintf("%s, window %s, steady phase", inWords(&c.At), together(duration(c.At.WindowMS)))
}

// Depths is where in a prompt the joins are.
func Depths(f *findings.Findings) *Exhibit {
	c, at := picked(f, findings.LargestRedundancy)
	x := &Exhibit{
		Name:    "positions",
		Title:   "Where in the prompt",
		Caption: "Joins by the position of their block in the prompt that led the load: " + at,
		Columns: slices.Concat(heads("block of the prompt"), figuresOf("joins", "of all joins, %")),
	}
	if c == nil || len(c.Positions) == 0 {
		x.Caption, x.Instead = "", noOrigin(f, "No join, so no position of one.")
		return x
	}
	for _, p := range c.Positions {
		label := count(p.From + 1)
		if p.To > p.From {
			label += " – " + count(p.To+1)
		}
		x.Rows = append(x.Rows, []Cell{words(together(label)), number(p.Joins), shareOf(p.Joins, c.Joins)})
	}
	return x
}

// LargestCohorts is the ten largest.
func LargestCohorts(f *findings.Findings) *Exhibit {
	c, at := picked(f, findings.LargestFanIn)
	x := &Exhibit{
		Name:    "cohorts",
		Title:   "The largest cohorts",
		Caption: "Ten at most, by fan-in: " + at,
		Columns: slices.Concat(heads("block hash"), figuresOf("started, s", "instance", "block of the prompt", "fan-in")),
	}
	if c == nil || len(c.Largest) == 0 {
		x.Caption, x.Instead = "", noOrigin(f, "No load is joined, so no cohort is larger than another.")
		return x
	}
	blocks := make(map[uint64]bool)
	for _, l := range c.Largest {
		blocks[l.BlockHash] = true
		x.Rows = append(x.Rows, []Cell{words(strconv.FormatUint(l.BlockHash, 10)),
			{Text: seconds(l.StartMS), Unit: Millis, Value: float64(l.StartMS), Bar: -1},
			number(l.Instance), number(l.Position + 1), number(l.FanIn)})
	}
	if n := len(c.Largest); len(blocks) < n {
		x.Notes = []string{fmt.Sprintf("These %s are of %s.", plural(n, "cohort"), plural(len(blocks), "block"))}
	}
	return x
}

// seconds prints ms in seconds with all digits: 1,205.500.
func seconds(ms int64) string { return count(ms/1000) + fmt.Sprintf(".%03d", ms%1000) }

// TieReadings is the redundancy when equal timestamps are read otherwise.
func TieReadings(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:  "ties",
		Title: "Equal timestamps read otherwise",
		Lead: []string{"A trace that steps by its ticks does not say how far apart the requests of one tick came. Simultaneous takes " +
			"them as they stand, which favours joins; even spreads them over the time to the next tick in file order; random draws " +
			"their places in it, and may bring requests of two ticks closer together. A figure that depends on ties is the range over the readings."},
		Instead: withoutSensitivity(f),
	}
	s := f.Sensitivity
	if s == nil {
		return x
	}
	x.Caption = fmt.Sprintf("Largest redundancy over the rows of each window under each reading, percent of cold load attempts, steady phase; random: the least, the middle and the most of %s",
		plural(s.Seeds, "draw"))
	x.Columns = slices.Concat(heads("window"), figuresOf("rows", "simultaneous, %", "even, %"), under("random, %", "least", "middle", "most"),
		under("without extensions, %", "simultaneous", "least spread", "most spread"))
	for i := range s.Ties {
		t := &s.Ties[i]
		low := min(t.Even.LargestWithoutExtensions, t.RandomLow.LargestWithoutExtensions)
		high := max(t.Even.LargestWithoutExtensions, t.RandomHigh.LargestWithoutExtensions)
		x.Rows = append(x.Rows, []Cell{words(together(duration(t.WindowMS))), number(t.Rows), share(t.Simultaneous.Largest), share(t.Even.Largest),
			share(t.RandomLow.Largest), share(t.RandomMedian.Largest), share(t.RandomHigh.Largest), share(t.Simultaneous.LargestWithoutExtensions), share(low), share(high)})
	}
	if len(x.Rows) == 0 {
		x.Instead = "There is no row of another reading."
	}
	return x
}

// Uncertainty is what stands behind the largest redundancies.
func Uncertainty(f *findings.Findings) *Exhibit {
	x := &Exhibit{Name: "uncertainty", Title: "How sure the largest figures are", Instead: withoutSensitivity(f)}
	s := f.Sensitivity
	if s == nil {
		return x
	}
	x.Lead = []string{fmt.Sprintf("The interval is 95 %% of a block bootstrap over time: the steady phase is cut into %s of %s, which are drawn "+
		"anew with replacement. It covers when in this trace joins happen, and nothing of another trace.", plural(s.Spans, "span"), together(duration(s.SpanMS)))}
	x.Caption = "At the configuration with the largest redundancy of each window, percent of cold load attempts, steady phase"
	x.Columns = slices.Concat(heads("window"), setting(), figuresOf("redundancy, %"), under("95 % interval, %", "from", "to"),
		under("readings of ties, %", "least", "most"), figuresOf("duplicate cohorts"))
	scarce := false
	for i := range f.Windows {
		w := &f.Windows[i]
		p := pointAt(f, w.LargestAt)
		if p == nil {
			continue
		}
		m := &p.All
		tiesLow, tiesHigh := m.TiesLow, m.TiesHigh
		for _, window := range w.WindowsMS { // one experiment where equal timestamps are simultaneous, and else not
			at := *w.LargestAt
			at.WindowMS = window
			if q := pointAt(f, &at); q != nil {
				tiesLow, tiesHigh = min(tiesLow, q.All.TiesLow), max(tiesHigh, q.All.TiesHigh)
			}
		}
		behind := number(p.DuplicateCohorts)
		if p.DuplicateCohorts < few {
			behind.Text, scarce = "† "+behind.Text, true
		}
		x.Rows = append(x.Rows, []Cell{words(together(durations(w.WindowsMS))), words(settingOf(w.LargestAt)), share(m.Redundancy),
			share(m.IntervalLow), share(m.IntervalHigh), share(tiesLow), share(tiesHigh), behind})
	}
	if len(x.Rows) == 0 {
		x.Lead, x.Instead = nil, "There is no join in any row, so no interval around one."
	}
	if scarce {
		x.Notes = []string{fmt.Sprintf("† Fewer than %d duplicate cohorts stand behind the figure: a handful of events decides it.", few)}
	}
	return x
}

// RoutingControls is routing with load held constant.
func RoutingControls(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:  "routing",
		Title: "Routing with load held constant",
		Lead: []string{"Affinity puts equal prefixes on one instance, and uneven load with them. matched_load gives each instance as many requests " +
			"as affinity does, in every 64 that follow one another, with no tie to the prefix; affinity_bounded_load caps an instance at " +
			"(1 + ε) times the mean; least_loaded goes where fewest blocks went."},
		Instead: withoutSensitivity(f),
	}
	if f.Sensitivity == nil {
		return x
	}
	r := f.Sensitivity.Routing
	if r == nil || len(r.Pairs) == 0 {
		x.Instead = "Not shown: it takes both first_block_affinity and round_robin, at two instances and more."
		return x
	}
	x.Caption = fmt.Sprintf("Pairs of rows equal in lookup, instances (2 and more), capacity and window, by whether the first routing has the higher "+
		"redundancy; a drawn routing stands once for each of %s; imbalance is most requests on one instance ÷ mean, largest of the rows", plural(f.Sensitivity.Seeds, "draw"))
	x.Columns = slices.Concat(heads("routing", "against"), figuresOf("pairs", "higher", "equal", "lower", "mean difference, %"),
		under("request imbalance", "first", "second"))
	for i := range r.Pairs {
		p := &r.Pairs[i]
		x.Rows = append(x.Rows, []Cell{words(p.A), words(p.B), number(p.Pairs), number(p.Higher), number(p.Equal), number(p.Lower),
			signed(p.MeanDifference), ratio(p.AImbalance), ratio(p.BImbalance)})
	}
	x.Notes = []string{r.Statement}
	return x
}

// signed is a difference of shares with its sign.
func signed(x float64) Cell {
	c := share(x)
	if c.Text = strings.TrimPrefix(c.Text, "-"); x != 0 && strings.Trim(c.Text, "0.") == "" {
		c.Text = strconv.FormatFloat(100*max(x, -x), 'e', 1, 64) // six decimals show none of it
	}
	switch {
	case x > 0:
		c.Text = "+" + c.Text
	case x < 0:
		c.Text = minus("-" + c.Text)
	}
	return c
}

// Thresholds is where each curve first reaches a share.
func Thresholds(f *findings.Findings) *Exhibit {
	x := &Exhibit{Name: "thresholds", Title: "The window at which a share is reached", Instead: withoutSensitivity(f)}
	s := f.Sensitivity
	if s == nil {
		return x
	}
	if len(s.Curves) == 0 || len(s.Curves[0].Thresholds) == 0 || len(s.Curves[0].Points) == 0 {
		x.Instead = "The run was asked for no threshold."
		return x
	}
	points := s.Curves[0].Points
	least, most := points[0].WindowMS, points[len(points)-1].WindowMS
	x.Lead = []string{fmt.Sprintf("The shortest effective window, found to the millisecond, at which a configuration first reaches a share of its "+
		"attempts: equal timestamps simultaneous (at once), and spread evenly (even). A dash: not between %s and %s.", together(duration(least)), together(duration(most)))}
	x.Caption = "Effective window, ms, steady phase"
	x.Columns = heads("lookup", "routing", "instances", "blocks each")
	for _, t := range s.Curves[0].Thresholds {
		group := shortPercent(t.Share) + ", all joins"
		if t.WithoutExtensions {
			group = shortPercent(t.Share) + ", without extensions"
		}
		x.Columns = append(x.Columns, under(group, "at once", "even")...)
	}
	reached := false
	for i := range s.Curves {
		c := &s.Curves[i]
		cells := []Cell{words(c.Lookup), words(c.Routing), words(count(c.Instances)), words(count(c.CapacityBlocks))}
		for _, t := range c.Thresholds {
			reached = reached || t.WindowMS > 0 || t.EvenWindowMS > 0
			cells = append(cells, millis(t.WindowMS), millis(t.EvenWindowMS))
		}
		x.Rows = append(x.Rows, cells)
	}
	if !reached {
		t := s.Curves[0].Thresholds[0]
		x.Lead, x.Rows = nil, nil
		x.Instead = fmt.Sprintf("No configuration reaches %s, the least share asked for, under any effective window between %s and %s.",
			together(shortPercent(t.Share)), together(duration(least)), together(duration(most)))
	}
	return x
}

// shortPercent prints a share that was asked for: 0.1 %, 5 %.
func shortPercent(share float64) string {
	return strconv.FormatFloat(share*100, 'g', 6, 64) + " %"
}

// mostFalls is how many falls are shown, the deepest.
const mostFalls = 20

// Falls is where a longer window has less redundancy.
func Falls(f *findings.Findings) *Exhibit {
	x := &Exhibit{Name: "falls", Title: "Where a longer window has less", Instead: withoutSensitivity(f)}
	if f.Sensitivity == nil {
		return x
	}
	x.Lead = []string{"Redundancy need not rise with the window everywhere: a longer load changes what is cached when. Where a curve falls, " +
		"a threshold beyond the fall may be crossed more than once."}
	x.Caption = "Stretches over which a curve falls, equal timestamps simultaneous, steady phase"
	x.Columns = slices.Concat(heads("configuration", "effective window"), figuresOf("from, %", "to, %", "fall, %"))
	type fall struct {
		of string
		findings.Fall
	}
	var all []fall
	for i := range f.Sensitivity.Curves {
		c := &f.Sensitivity.Curves[i]
		at := findings.Config{Lookup: c.Lookup, Routing: c.Routing, Instances: c.Instances, CapacityBlocks: c.CapacityBlocks}
		for _, one := range c.Falls {
			all = append(all, fall{settingOf(&at), one})
		}
	}
	if len(all) == 0 {
		x.Lead, x.Instead = nil, "No curve falls: on this trace a longer window never has less redundancy."
		return x
	}
	slices.SortStableFunc(all, func(a, b fall) int {
		switch x, y := a.From-a.To, b.From-b.To; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, one := range all[:min(len(all), mostFalls)] {
		x.Rows = append(x.Rows, []Cell{words(one.of), words(together(duration(one.FromMS) + " – " + duration(one.ToMS))),
			share(one.From), share(one.To), signed(one.To - one.From)})
	}
	if len(all) > mostFalls {
		x.Notes = []string{fmt.Sprintf("The %d deepest of %s.", mostFalls, plural(len(all), "fall"))}
	}
	return x
}

// Reuses is the reuse inside each window.
func Reuses(f *findings.Findings) *Exhibit {
	r := &f.Profile.Reuse
	x := &Exhibit{
		Name:  "reuse",
		Title: "After how long blocks come back",
		Lead: []string{"The trace alone, both phases, with no cache and no instances. A reuse is a lookup of a block that an earlier request " +
			"looked up, its gap the time since then. What comes back within one window would find the block in flight, had its last " +
			"appearance started a load."},
		Caption: "Reuses with a gap below each window",
		Notes:   []string{"There are " + plural(r.Reuses, "reuse") + ", " + count(r.ZeroGaps) + " of them within one timestamp."},
		Columns: slices.Concat(heads("window"), figuresOf("reuses", "of all, %")),
	}
	if r.Reuses == 0 {
		x.Lead, x.Notes, x.Instead = nil, nil, "No block is requested twice: there is nothing to share under any window."
		return x
	}
	for _, w := range r.Windows {
		of := words(none)
		if w.Share != nil {
			of = share(*w.Share)
		}
		x.Rows = append(x.Rows, []Cell{words(together(duration(w.WindowMS))), number(w.Reuses), of})
	}
	return x
}

// ProfileOf is the single figures of the trace.
func ProfileOf(f *findings.Findings) *Exhibit {
	x := &Exhibit{
		Name:    "profile",
		Title:   "The trace in figures",
		Caption: "The whole trace as it was read, before any model",
		Columns: slices.Concat(heads("figure"), figuresOf("value")),
	}
	for _, one := range figures(f.Profile) {
		cell := words(none)
		if one.value != nil {
			cell = number(*one.value)
		}
		x.Rows = append(x.Rows, []Cell{words(one.label), cell})
	}
	return x
}

// CurveTable is the curve of a number of instances and a capacity in figures.
func CurveTable(f *findings.Findings, instances, capacity int) *Exhibit {
	x := &Exhibit{
		Name:    "points",
		Title:   "The curve in figures",
		Caption: fmt.Sprintf("Percent of cold load attempts, %s of %s blocks each, steady phase", plural(instances, "instance"), count(capacity)),
		Columns: heads("effective window, ms"),
	}
	var curves []*findings.Curve
	for i := range f.Sensitivity.Curves {
		if c := &f.Sensitivity.Curves[i]; c.Instances == instances && c.CapacityBlocks == capacity {
			curves = append(curves, c)
			x.Columns = append(x.Columns, under(c.Lookup+", "+c.Routing, "all joins", "without extensions")...)
		}
	}
	for k := range curves[0].Points {
		cells := []Cell{words(count(curves[0].Points[k].WindowMS))}
		for _, c := range curves {
			cells = append(cells, share(c.Points[k].All.Redundancy), share(c.Points[k].WithoutExtensions.Redundancy))
		}
		x.Rows = append(x.Rows, cells)
	}
	return x
}
