package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"kvfanin/internal/findings"
	"kvfanin/internal/report"
)

// chosen is what a curve chart shows: all lookups and routings of one number of
// instances of one capacity.
type chosen struct {
	instances, capacity int
	curves              []*findings.Curve
	gapMS               *int64   // the smallest positive gap of the trace
	classes             []string // of curves that are not told apart by their configuration
	mark                *mark    // nil for none
	log                 bool     // redundancy on a logarithmic scale, on which 0 has no place
}

// mark is what a decision puts on a chart.
type mark struct {
	window    float64  // effective
	breakEven *float64 // a share; nil for none
}

// class returns how the i-th curve is drawn: its colour is its routing, its
// dash its lookup.
func (c *chosen) class(i int) string {
	if c.classes != nil {
		return c.classes[i]
	}
	return routingClass(c.curves[i].Routing) + " " + lookupClass(c.curves[i].Lookup)
}

// choose returns the curves of a configuration's instances and capacity.
func choose(f *findings.Findings, instances, capacity int) chosen {
	c := chosen{instances: instances, capacity: capacity, gapMS: f.Profile.SmallestPositiveGapMS}
	for i := range f.Sensitivity.Curves {
		if one := &f.Sensitivity.Curves[i]; one.Instances == instances && one.CapacityBlocks == capacity && len(one.Points) > 0 {
			c.curves = append(c.curves, one)
		}
	}
	return c
}

// largest returns the instances and the capacity to show first: where the
// redundancy under a window of the study is largest, of several instances if
// any were run, since with one all routings are one line.
func largest(f *findings.Findings) (instances, capacity int) {
	best, several := -1.0, false
	for i := range f.Sensitivity.Curves {
		c := &f.Sensitivity.Curves[i]
		most := 0.0
		for k := range c.Points {
			if c.Points[k].InGrid {
				most = max(most, c.Points[k].All.Redundancy)
			}
		}
		if more := c.Instances > 1; more && !several || more == several && most > best {
			best, several, instances, capacity = most, more, c.Instances, c.CapacityBlocks
		}
	}
	return instances, capacity
}

func routingClass(routing string) string {
	if routing == findings.RoundRobin {
		return "a"
	}
	return "b"
}

func lookupClass(lookup string) string {
	if lookup == findings.IndependentBlocks {
		return "dash"
	}
	return "solid"
}

// decades are the marks of the axis of effective windows.
func decades(least, most int64) (ms []int64) {
	for d := int64(1); d <= most; d *= 10 {
		if d >= least {
			ms = append(ms, d)
		}
	}
	return ms
}

// drawCurve draws redundancy against effective window. drawCurve in page.js
// does the same, statement by statement.
func drawCurve(s size, c chosen, label string) template.HTML {
	var d drawing
	d.open(&s, label)
	first := c.curves[0].Points
	least, most := first[0].WindowMS, first[len(first)-1].WindowMS
	top, bottom := 0.0, math.Inf(1)
	for _, one := range c.curves {
		for i := range one.Points {
			v := one.Points[i].All.Redundancy * 100
			top = max(top, v)
			if v > 0 {
				bottom = min(bottom, v)
			}
		}
	}
	x := logScale(float64(least), float64(most), s.x0(), s.x1())

	// What is left of the smallest gap is one experiment.
	if gap := s.gap(c, least, most, x); gap > s.x0() {
		d.rect("one", s.x0(), s.y1(), gap-s.x0(), s.y0()-s.y1())
		d.line("gap", gap, s.y1(), gap, s.y0())
		if gap-s.x0() > 150 {
			d.text("t e halo", gap-5, s.y1()+14, gapLabel(c.gapMS))
		}
	}
	y := c.scale(s, &d, top, bottom)
	for _, ms := range decades(least, most) {
		d.line("tick", x(float64(ms)), s.y0(), x(float64(ms)), s.y0()+5)
		anchor := "t m"
		if ms == most {
			anchor = "t e"
		}
		d.text(anchor, x(float64(ms)), s.y0()+19, report.Duration(ms))
	}
	for i := range first {
		if p := &first[i]; p.InGrid {
			d.line("study", x(float64(p.WindowMS)), s.y1(), x(float64(p.WindowMS)), s.y0())
		}
	}
	measure := "redundancy, % of cold load attempts (joins ÷ attempts)"
	if c.log {
		measure = "redundancy, % of cold load attempts, logarithmic"
	}
	d.text("t s", s.x0()-s.left+4, 16, measure)
	d.text("t m", (s.x0()+s.x1())/2, s.h-22, "effective window W_eff = W × s, logarithmic")
	d.text("t m", (s.x0()+s.x1())/2, s.h-6, "(load window × load factor)")

	if m := c.mark; m != nil {
		d.line("cursor", x(within(m.window, least, most)), s.y1(), x(within(m.window, least, most)), s.y0())
		if m.breakEven != nil {
			if at, ok := y(*m.breakEven * 100); ok && at >= s.y1() && at <= s.y0() {
				d.line("even", s.x0(), at, s.x1(), at)
			}
		}
	}
	// down is where a share is drawn, at the bottom if it has no place.
	down := func(share float64) float64 {
		if at, ok := y(share * 100); ok {
			return min(at, s.y0())
		}
		return s.y0()
	}
	for k, one := range c.curves {
		var band strings.Builder
		for i := range one.Points {
			p := &one.Points[i]
			band.WriteString(step(i) + n(x(float64(p.WindowMS))) + " " + n(down(p.All.Redundancy)))
		}
		for i := len(one.Points) - 1; i >= 0; i-- {
			p := &one.Points[i]
			band.WriteString("L" + n(x(float64(p.WindowMS))) + " " + n(down(p.WithoutExtensions.Redundancy)))
		}
		d.put(`<path class="band `, c.class(k), `" d="`, band.String(), `Z"/>`)
	}
	for k, one := range c.curves {
		var line strings.Builder
		open := 0
		for i := range one.Points {
			p := &one.Points[i]
			at, ok := y(p.All.Redundancy * 100)
			if !ok {
				open = 0
				continue
			}
			line.WriteString(step(open) + n(x(float64(p.WindowMS))) + " " + n(at))
			open++
		}
		d.put(`<path class="line `, c.class(k), `" d="`, line.String(), `"/>`)
	}
	for k, one := range c.curves {
		for i := range one.Points {
			p := &one.Points[i]
			if at, ok := y(p.All.Redundancy * 100); ok && p.InGrid {
				d.put(`<circle class="dot `, c.class(k), `" cx="`, n(x(float64(p.WindowMS))), `" cy="`, n(at), `" r="2.6"/>`)
			}
		}
	}
	return d.close()
}

// scale draws the axis of redundancy and returns where a percentage lies on it,
// if it has a place.
func (c *chosen) scale(s size, d *drawing, top, bottom float64) func(percent float64) (float64, bool) {
	rule := func(at float64, label string) {
		d.line("rule", s.x0(), at, s.x1(), at)
		d.text("t e", s.x0()-7, at+4, label)
	}
	if !c.log || top == 0 {
		t := ticksTo(top)
		y := func(percent float64) (float64, bool) { return s.y0() - percent/t.end()*(s.y0()-s.y1()), true }
		for i := range t.number + 1 {
			at, _ := y(float64(i) * t.step)
			rule(at, t.label(i))
		}
		return y
	}
	// The break-even is taken in where it is not orders away.
	if m := c.mark; m != nil && m.breakEven != nil {
		if even := *m.breakEven * 100; even > bottom/1000 && even < top*1000 {
			top, bottom = max(top, even), min(bottom, even)
		}
	}
	from := math.Floor(math.Log10(bottom) + 1e-9)
	to := max(from+1, math.Ceil(math.Log10(top)-1e-9))
	y := func(percent float64) (float64, bool) {
		if percent <= 0 {
			return 0, false
		}
		return s.y0() - (math.Log10(percent)-from)/(to-from)*(s.y0()-s.y1()), true
	}
	for e := from; e <= to; e++ {
		at, _ := y(math.Pow(10, e))
		rule(at, strconv.FormatFloat(math.Pow(10, e), 'f', int(max(0, -e)), 64))
	}
	return y
}

// within returns the window of a chart that is nearest to ms.
func within(ms float64, least, most int64) float64 {
	return min(max(ms, float64(least)), float64(most))
}

// step is the command of a path to its i-th point.
func step(i int) string {
	if i == 0 {
		return "M"
	}
	return "L"
}

// gap returns where the smallest gap lies on a chart, all of it where the trace
// has none.
func (s *size) gap(c chosen, least, most int64, x func(float64) float64) float64 {
	switch {
	case c.gapMS == nil || *c.gapMS >= most:
		return s.x1()
	case *c.gapMS <= least:
		return s.x0()
	}
	return x(float64(*c.gapMS))
}

func gapLabel(gapMS *int64) string {
	if gapMS == nil {
		return "one experiment"
	}
	return "one experiment: up to " + report.Count(*gapMS) + " ms"
}

// curveCaption says what a curve chart shows, and of what nothing can be seen.
func curveCaption(c chosen) string {
	return fmt.Sprintf("%s of %s blocks each, steady phase, equal timestamps simultaneous.", report.Plural(c.instances, "instance"), report.Count(c.capacity))
}

// apart returns the largest difference of two curves of a chart that differ in
// nothing but the named axis, in shares; negative if there are no two.
func (c *chosen) apart(other func(a, b *findings.Curve) bool) float64 {
	most := -1.0
	for i, a := range c.curves {
		for _, b := range c.curves[i+1:] {
			if !other(a, b) || len(a.Points) != len(b.Points) {
				continue
			}
			for k := range a.Points {
				most = max(most, abs(a.Points[k].All.Redundancy-b.Points[k].All.Redundancy))
			}
		}
	}
	return most
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

// coincide says where lines of the chart cannot be told apart.
func (c *chosen) coincide() string {
	var said []string
	one := func(what string, apart float64) {
		switch {
		case apart < 0:
		case apart == 0:
			said = append(said, "The two "+what+" are one and the same line.")
		default:
			said = append(said, "The two "+what+" are never more than "+report.Roughly(apart)+" points apart.")
		}
	}
	one("lookups", c.apart(func(a, b *findings.Curve) bool { return a.Routing == b.Routing && a.Lookup != b.Lookup }))
	one("routings", c.apart(func(a, b *findings.Curve) bool { return a.Lookup == b.Lookup && a.Routing != b.Routing }))
	return strings.Join(said, " ")
}

// wordsOf returns the lookups and the routings of the curves.
func wordsOf(s *findings.Sensitivity) (lookups, routings []string) {
	return distinct(s, func(c *findings.Curve) string { return c.Lookup }),
		distinct(s, func(c *findings.Curve) string { return c.Routing })
}

// axesOf returns the numbers of instances and the capacities of the curves.
func axesOf(s *findings.Sensitivity) (instances, capacities []int) {
	return distinct(s, func(c *findings.Curve) int { return c.Instances }),
		distinct(s, func(c *findings.Curve) int { return c.CapacityBlocks })
}

// distinct returns the different values of the curves, in their order.
func distinct[T comparable](s *findings.Sensitivity, of func(*findings.Curve) T) (values []T) {
	for i := range s.Curves {
		if v := of(&s.Curves[i]); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
