package report

import (
	"fmt"

	"kvfanin/internal/findings"
	"kvfanin/internal/result"
)

// Answer is what a run says of a trace in three statements, each with the
// figures it rests on and where they hold.
type Answer struct {
	Overlap  string `json:"overlap"`  // is there concurrent overlap?
	Origin   string `json:"origin"`   // where does it come from?
	Survives string `json:"survives"` // is it there when the trace is read otherwise?
}

// degrees are the words for a largest redundancy, and below which share each
// is said. docs/report.md has them.
var degrees = []struct {
	word  string
	below float64
}{
	{"Next to none", 0.001},
	{"Little", 0.01},
	{"Some", 0.1},
	{"Much", 2},
}

// AnswerOf returns the answer that findings give.
func AnswerOf(f *findings.Findings) Answer {
	top := topOf(f)
	if top == nil {
		why := "No cold load is joined in any of the " + plural(f.Rows, "configuration") + " run, in the steady phase"
		switch {
		case len(f.Windows) == 0:
			why = "This run cannot say: it has no row of the steady phase"
		case idle(f) == f.Rows:
			why = "None: in the steady phase no lookup of any of the " + plural(f.Rows, "configuration") + " run starts a cold load"
		default:
			why = "None. " + why
		}
		return Answer{
			Overlap:  why + ".",
			Origin:   "There is no join to trace to its origin.",
			Survives: "Nothing is there that another reading of the trace could take away.",
		}
	}
	return Answer{Overlap: overlap(f, top), Origin: origin(f, top), Survives: survives(f, top)}
}

// topOf returns the line with the largest redundancy, the last of equals; nil
// if there is no join.
func topOf(f *findings.Findings) (top *findings.Window) {
	for i := range f.Windows {
		if w := &f.Windows[i]; w.LargestAt != nil && (top == nil || w.LargestRedundancy >= top.LargestRedundancy) {
			top = w
		}
	}
	return top
}

func idle(f *findings.Findings) (rows int) {
	for _, w := range f.Windows {
		rows += w.RowsWithoutAttempts
	}
	return rows
}

func overlap(f *findings.Findings, top *findings.Window) string {
	word := ""
	for _, d := range degrees {
		if top.LargestRedundancy < d.below {
			word = d.word
			break
		}
	}
	text := fmt.Sprintf("%s. In the steady phase, under a load window of %s, at most %s of the cold load attempts find their block "+
		"already on its way (%s; the median of %s is %s)", word, together(durations(top.WindowsMS)), inPercent(top.LargestRedundancy),
		inWords(top.LargestAt), plural(top.Rows, "row"), inPercent(top.MedianRedundancy))
	if low := &f.Windows[0]; low != top {
		text += fmt.Sprintf("; under %s it is at most %s", together(durations(low.WindowsMS)), inPercent(low.LargestRedundancy))
	}
	if text += "."; scarce(f, top) {
		text += fmt.Sprintf(" Fewer than %d duplicate cohorts stand behind that figure.", findings.FewDuplicates)
	}
	return text
}

// scarce says whether few duplicate cohorts stand behind the largest redundancy
// of a line. There are no more of them than joins.
func scarce(f *findings.Findings, line *findings.Window) bool {
	if p := pointAt(f, line.LargestAt); p != nil {
		return p.DuplicateCohorts < findings.FewDuplicates
	}
	c := concentrated(f, line, findings.LargestRedundancy)
	return c != nil && c.Joins < findings.FewDuplicates
}

func origin(f *findings.Findings, top *findings.Window) string {
	c := concentrated(f, top, findings.LargestRedundancy)
	switch {
	case c == nil:
		return "This run does not say where the joins come from."
	case c.Joins == 0:
		return "The joins there are on loads that were led in warm-up; where joins come from is kept for loads led in the steady phase."
	}
	text := fmt.Sprintf("Of the %s there, %s fall to the busiest 1 %% of blocks and %s to the busiest 1 %% of timestamps",
		plural(c.Joins, "join"), inPercent(fraction(c.BusiestBlocks.Joins, c.Joins)), inPercent(fraction(c.BusiestTimestamps.Joins, c.Joins)))
	if n := len(c.Positions); n > 0 {
		p := busiestPosition(c.Positions)
		text += fmt.Sprintf("; %s are to %s", inPercent(fraction(p.Joins, c.Joins)), positions(p))
	}
	if len(c.Largest) > 0 {
		l := &c.Largest[0]
		text += fmt.Sprintf(". The largest cohort there is %s on one block, %s", plural(l.FanIn, "attempt"), nth(l.Position))
	}
	return text + "."
}

func survives(f *findings.Findings, top *findings.Window) string {
	left := "at most " + inPercent(top.LargestWithoutExtensions) + " is"
	switch top.LargestWithoutExtensions {
	case 0:
		left = "nothing is"
	case top.LargestRedundancy:
		left = "all is"
	}
	text := fmt.Sprintf("Without the joins that may be the next turn of a conversation (extensions), which a closed loop cannot "+
		"overlap, %s left of the %s", left, inPercent(top.LargestRedundancy))
	s := f.Sensitivity
	if s == nil {
		return text + ". What other readings of equal timestamps and routings under the same load leave, this run does not say: kvfanin study --sensitivity runs them."
	}
	last := func(w *findings.Window) int64 { return w.WindowsMS[len(w.WindowsMS)-1] }
	if t := tiesAt(s, last(top)); f.Profile.DistinctTimestamps == 1 {
		text += ". All requests share one timestamp, and there is no other to spread them towards"
	} else if t != nil {
		text += fmt.Sprintf(". With equal timestamps spread over their tick it is %s", spread(t))
		if low := &f.Windows[0]; low != top && low.LargestRedundancy > 0 {
			if t := tiesAt(s, last(low)); t != nil {
				text += fmt.Sprintf("; under %s, %s instead of %s", together(duration(t.WindowMS)), spread(t), inPercent(t.Simultaneous.Largest))
			}
		}
	}
	return text + "." + routingBriefly(s.Routing)
}

// tiesAt returns the readings of a window, nil if there are none.
func tiesAt(s *findings.Sensitivity, windowMS int64) *findings.Ties {
	for i := range s.Ties {
		if s.Ties[i].WindowMS == windowMS {
			return &s.Ties[i]
		}
	}
	return nil
}

// spread is the range over the readings that spread equal timestamps.
func spread(t *findings.Ties) string {
	return fromTo(min(t.Even.Largest, t.RandomLow.Largest), max(t.Even.Largest, t.RandomHigh.Largest))
}

// routingBriefly is the statement on routing in a sentence, empty without one.
func routingBriefly(r *findings.Routing) string {
	if r == nil || r.Rows == 0 {
		return ""
	}
	const difference = " Of the mean difference of affinity to round robin, "
	load, prefix := r.Unclear()
	switch {
	case load && prefix:
		return difference + "what is uneven load and what the prefixes cannot be told by these draws."
	case load:
		return difference + "what can be told by these draws is the prefixes."
	case prefix:
		return difference + "what can be told by these draws is uneven load."
	case r.Load == 0 && r.Prefix == 0:
		return " Affinity makes no difference to round robin."
	case r.Prefix == 0:
		return " All of the mean difference of affinity to round robin is uneven load."
	case r.Load == 0:
		return " All of the mean difference of affinity to round robin is the prefixes."
	case r.Load*r.Prefix > 0:
		total := r.Load + r.Prefix
		return fmt.Sprintf(" Of the mean difference of affinity to round robin, %s is uneven load and %s the prefixes.",
			inPercent(r.Load/total), inPercent(r.Prefix/total))
	case (r.Load > 0) == (r.AffinityLessRoundRobin > 0):
		return " The mean difference of affinity to round robin is that of uneven load, and the prefixes work against it."
	default:
		return " The mean difference of affinity to round robin is that of the prefixes, and uneven load works against it."
	}
}

// fraction is a ÷ b, 0 without b.
func fraction(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// concentrated returns where the joins of a line come from, in the row picked
// for that reason; nil without one.
func concentrated(f *findings.Findings, line *findings.Window, why string) *findings.Concentrated {
	for i := range f.Concentrated {
		if c := &f.Concentrated[i]; c.Why == why && c.WindowsMS[0] == line.WindowsMS[0] {
			return c
		}
	}
	return nil
}

// pointAt returns the point of a configuration on its curve, nil without one.
func pointAt(f *findings.Findings, at *findings.Config) *findings.Point {
	if at == nil || f.Sensitivity == nil {
		return nil
	}
	for i := range f.Sensitivity.Curves {
		c := &f.Sensitivity.Curves[i]
		if c.Lookup != at.Lookup || c.Routing != at.Routing || c.Instances != at.Instances || c.CapacityBlocks != at.CapacityBlocks {
			continue
		}
		for k := range c.Points {
			if c.Points[k].WindowMS == at.WindowMS {
				return &c.Points[k]
			}
		}
	}
	return nil
}

func busiestPosition(all []result.AtDepth) result.AtDepth {
	best := all[0]
	for _, p := range all {
		if p.Joins > best.Joins {
			best = p
		}
	}
	return best
}

// positions says which blocks of a prompt a range of positions is. The first
// block is position 0 in files and 1 in words.
func positions(p result.AtDepth) string {
	switch {
	case p.To == 0:
		return "the first block of a prompt"
	case p.From == p.To:
		return together("block " + count(p.From+1) + " of a prompt")
	default:
		return "blocks " + together(count(p.From+1)+" to "+count(p.To+1)) + " of a prompt"
	}
}

func nth(position int64) string {
	if position == 0 {
		return "the first of its prompt"
	}
	return "number " + count(position+1) + " of its prompt"
}
