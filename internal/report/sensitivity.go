package report

import (
	"fmt"

	"kvfanin/internal/findings"
)

// sensitivity writes how far the figures hold when what the model takes for
// granted is read otherwise.
func (p *page) sensitivity(f *findings.Findings) {
	p.title("Other readings of equal timestamps")
	if p.absent(f.Why(findings.SensitivityFinding)) {
		return
	}
	s := f.Sensitivity
	p.text(fmt.Sprintf("The largest redundancy of the grid, in percent, when the requests of one timestamp "+
		"came at once (as above), evenly over the time to the next, or at random in it (over %s: "+
		"smallest, middle, largest). Spreading also brings requests of neighbouring timestamps "+
		"closer, so that it can raise a figure as well.", plural(s.Seeds, "draw")))
	t := table{left: 1}
	t.row("", "", "", "random,", "random,", "random,")
	t.row("window", "at once", "even", "smallest", "middle", "largest")
	for i := range s.Ties {
		tie := &s.Ties[i]
		t.row(duration(tie.WindowMS), percent(tie.Simultaneous.Largest), percent(tie.Even.Largest),
			percent(tie.RandomLow.Largest), percent(tie.RandomMedian.Largest), percent(tie.RandomHigh.Largest))
	}
	p.table(&t)
	p.routing(s.Routing)
	p.curve(f)
}

func (p *page) routing(r *findings.Routing) {
	if r == nil {
		return
	}
	p.title("Routing with load held constant")
	p.text(r.Statement)
	t := table{left: 2}
	t.row("", "", "", "a is", "", "a is", "imbalance", "imbalance")
	t.row("a", "b", "pairs", "higher", "equal", "lower", "of a", "of b")
	for _, pair := range r.Pairs {
		t.row(short(pair.A), short(pair.B), count(pair.Pairs), count(pair.Higher), count(pair.Equal), count(pair.Lower),
			imbalance(pair.AImbalance), imbalance(pair.BImbalance))
	}
	p.table(&t)
}

// short is a routing's name where there is little room.
func short(routing string) string {
	switch routing {
	case findings.FirstBlockAffinity:
		return "affinity"
	case "affinity_bounded_load":
		return "bounded_load"
	}
	return routing
}

// curve writes the thresholds of the curve that goes highest.
func (p *page) curve(f *findings.Findings) {
	highest, top := -1, 0.0
	for i, c := range f.Sensitivity.Curves {
		for _, point := range c.Points {
			if point.All.Redundancy > top {
				highest, top = i, point.All.Redundancy
			}
		}
	}
	p.title("The curve")
	if highest < 0 {
		p.text("No configuration has a join under any window of the curve.")
		return
	}
	c := &f.Sensitivity.Curves[highest]
	p.text(fmt.Sprintf("Redundancy in percent of attempts against the effective window (load window × load factor), "+
		"in the configuration where it goes highest: %s, %s, %s × %s. 95 %% is a bootstrap over %s of %s; ties is over the "+
		"readings of equal timestamps.", c.Lookup, c.Routing, count(c.Instances), count(c.CapacityBlocks), plural(f.Sensitivity.Spans, "span"), duration(f.Sensitivity.SpanMS)))
	t := table{left: 1}
	t.row("", "", "95 %,", "95 %,", "ties,", "ties,", "without")
	t.row("window", "redundancy", "low", "high", "low", "high", "extensions")
	few, last := false, c.Points[len(c.Points)-1]
	for i, point := range c.Points {
		if !point.InGrid && i != len(c.Points)-1 {
			continue
		}
		few = few || point.DuplicateCohorts < findings.FewDuplicates
		t.row(duration(point.WindowMS), percent(point.All.Redundancy), percent(point.All.IntervalLow), percent(point.All.IntervalHigh),
			percent(point.All.TiesLow), percent(point.All.TiesHigh), percent(point.WithoutExtensions.Redundancy))
	}
	p.table(&t)
	if !last.InGrid {
		p.text("Random readings are run at the windows of the grid alone: at " + together(duration(last.WindowMS)) + " ties are at once and even.")
	}
	if few {
		p.text(fmt.Sprintf("Fewer than %d duplicate cohorts stand behind some of these figures, and an interval over so few says little.", findings.FewDuplicates))
	}
	reach := func(ms int64) string {
		if ms == 0 {
			return "never"
		}
		return duration(ms)
	}
	p.text(fmt.Sprintf("The shortest window that reaches a share, to the millisecond; never is not up to %s:", duration(last.WindowMS)))
	h := table{left: 0}
	h.row("", "", "", "without ext.,", "without ext.,")
	h.row("share, %", "at once", "even", "at once", "even")
	n := len(c.Thresholds) / 2 // by measure, then share
	for i := range n {
		all, without := c.Thresholds[i], c.Thresholds[n+i]
		h.row(percent(all.Share), reach(all.WindowMS), reach(all.EvenWindowMS), reach(without.WindowMS), reach(without.EvenWindowMS))
	}
	p.table(&h)
	for _, fall := range c.Falls {
		p.text(fmt.Sprintf("It falls from %s %% at %s to %s %% at %s.", percent(fall.From), duration(fall.FromMS), percent(fall.To), duration(fall.ToMS)))
	}
}
