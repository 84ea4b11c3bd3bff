package report

import (
	"fmt"
	"io"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
)

// Study is a grid run over traces.
type Study struct {
	// Control names the rule of the model that was broken on purpose; empty or
	// "none" if there is none. Text and JSON tell; CSV has no place for it.
	Control string `json:"control,omitempty"`
	// Warmup is the warm-up share of the last timestamp, as it was given.
	Warmup string               `json:"warmup,omitempty"`
	Traces []*findings.Findings `json:"traces"`
	Phases []result.PhaseRow    `json:"-"` // of all traces, for CSV
}

// StudyOf returns what a finished run says.
func StudyOf(run *rundir.Run) *Study {
	s := &Study{Control: run.Manifest.Parameters.Control, Warmup: run.Manifest.Parameters.Warmup}
	for i := range run.Traces {
		t := &run.Traces[i]
		s.Traces = append(s.Traces, findings.Of(t.Name, &t.Rows, t.Profile, run.Manifest.Parameters.Sensitivity))
		s.Phases = append(s.Phases, t.Phases...)
	}
	return s
}

// JSON writes the findings of all traces as one document.
func (s *Study) JSON(w io.Writer) error { return writeJSON(w, s) }

// CSV writes the rows in the form of phases.csv.
func (s *Study) CSV(w io.Writer) error { return result.PhaseTable.Write(w, s.Phases) }

// Text writes the tables of the study, trace by trace.
func (s *Study) Text(w io.Writer) error {
	var p page
	for _, f := range s.Traces {
		p.warn(s.Control)
		p.trace(f.Trace)
		p.profile(f.Profile)
		p.windows(f, s.Warmup)
		p.shares(f)
		p.concentration(f)
		p.lookups(f)
		p.affinity(f)
		p.sensitivity(f)
		p.reuse(&f.Profile.Reuse)
	}
	return p.writeTo(w)
}

func (p *page) windows(f *findings.Findings, warmup string) {
	p.title("Redundancy by window")
	if p.absent(f.Why(findings.RedundancyByWindow)) {
		return
	}
	p.text("Redundancy is joins ÷ attempts: of the lookups that start a cold load, or join one " +
		"in flight, the share that joins. An ideal single-flight would save those loads and " +
		"no more: an upper bound, and not a share of time or bytes. A load takes one window. " +
		"A row is one configuration in the steady phase" + since(warmup) + ". Equal " +
		"timestamps count as simultaneous, which favours joins. The median of an even " +
		"number of rows is the mean of the middle two.")

	t := table{left: 1}
	t.row("", "", "median", "largest", "largest", "rows, p99")
	t.row("window", "rows", "%", "%", "fan-in", "fan-in > 1")
	for _, line := range f.Windows {
		t.row(durations(line.WindowsMS), count(line.Rows), percent(line.MedianRedundancy),
			percent(line.LargestRedundancy), count(line.LargestFanIn), count(line.RowsP99FanInOver))
	}
	p.table(&t)

	for _, line := range f.Windows {
		if len(line.WindowsMS) > 1 {
			p.text(oneExperiment(line.WindowsMS, f.Profile))
		}
	}
	idle := 0
	for _, line := range f.Windows {
		idle += line.RowsWithoutAttempts
	}
	switch idle {
	case 0:
	case f.Rows:
		p.text("No row has an attempt: every redundancy is 0 by definition.")
	default:
		p.text(fmt.Sprintf("%s of %s have no attempt: their redundancy is 0 by definition.", count(idle), plural(f.Rows, "row")))
	}
	p.largest(f.Windows)
}

// oneExperiment says why windows stand in one line.
func oneExperiment(windowsMS []int64, pr *profile.Profile) string {
	text := fmt.Sprintf("%s: %d windows, one experiment, so each of its results stands in %d rows. ",
		together(durations(windowsMS)), len(windowsMS), len(windowsMS))
	if pr.SmallestPositiveGapMS == nil {
		return text + "The trace has no two different timestamps, so all attempts on a block meet one load under any window."
	}
	return text + "None exceeds the smallest gap between timestamps, " +
		together(count(*pr.SmallestPositiveGapMS)+" ms") + ": a load is complete when the next " +
		"timestamp comes, and only requests with equal timestamps share one."
}

// largest says where the redundancy is largest.
func (p *page) largest(lines []findings.Window) {
	t := table{left: 4}
	joins := false
	for _, line := range lines {
		if at := line.LargestAt; at != nil {
			joins = true
			t.row(durations(line.WindowsMS), at.Lookup, at.Routing, place(at))
		} else {
			t.row(durations(line.WindowsMS), "no join in any row")
		}
	}
	if !joins {
		p.text("There is no join in any row.")
		return
	}
	p.text("Largest reached at (instances × blocks per instance; the first of equals):")
	p.table(&t)
}

func place(c *findings.Config) string {
	return count(c.Instances) + " × " + count(c.CapacityBlocks)
}

func (p *page) lookups(f *findings.Findings) {
	p.title("Lookup rules")
	if p.absent(f.Why(findings.LookupDifference)) {
		return
	}
	l := f.Lookups
	p.text(fmt.Sprintf("%s against %s over %s of steady-phase rows that are equal in all else. "+
		"The difference of two redundancies is a share of attempts (1 is all), not percent.",
		findings.ContiguousPrefix, findings.IndependentBlocks, plural(l.Pairs, "pair")))
	t := table{left: 2}
	t.row("largest difference", difference(l.LargestDifference))
	if at := l.At; at != nil {
		t.row("reached at", fmt.Sprintf("%s, %s, window %s", at.Routing, place(at), duration(at.WindowMS)))
		t.row(findings.ContiguousPrefix, percent(l.ContiguousPrefix)+" %")
		t.row(findings.IndependentBlocks, percent(l.IndependentBlocks)+" %")
	}
	p.table(&t)
}

func (p *page) affinity(f *findings.Findings) {
	p.title("Affinity against round robin")
	if p.absent(f.Why(findings.AffinityVsRoundRobin)) {
		return
	}
	p.text("Pairs of steady-phase rows equal in lookup, instances, capacity and window, by " +
		"whether the redundancy of first_block_affinity is higher than that of round_robin. " +
		"Fractions are compared exactly; windows that are one experiment count each. " +
		"Imbalance is the most requests on one instance ÷ the mean per instance, the " +
		"largest of the rows: 1 is even, N at N instances is one instance serving all.")
	t := table{left: 1}
	t.row("", "", "", "", "", "imbalance", "imbalance")
	t.row("instances", "pairs", "higher", "equal", "lower", "affinity", "round robin")
	row := func(name string, c *findings.Comparison) {
		t.row(name, count(c.Pairs), count(c.Higher), count(c.Equal), count(c.Lower),
			imbalance(c.AffinityImbalance), imbalance(c.RoundRobinImbalance))
	}
	for i := range f.Affinity.ByInstances {
		at := &f.Affinity.ByInstances[i]
		row(count(at.Instances), &at.Comparison)
	}
	row("all", &f.Affinity.Comparison)
	p.table(&t)
}

// absent writes why a finding is absent, if it is.
func (p *page) absent(a *findings.Absence) bool {
	if a == nil {
		return false
	}
	text := "Not shown: " + a.Reason + "."
	if a.Flag != "" {
		text += " Run the study with " + together(a.Flag) + "."
	}
	p.text(text)
	return true
}
