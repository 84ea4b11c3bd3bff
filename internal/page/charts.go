package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
	"kvfanin/internal/report"
)

// both draws a chart for a wide screen and for a narrow one.
func both(draw func(size) template.HTML) template.HTML {
	return draw(wide) + draw(narrow)
}

// flat is a size of less height.
func flat(s size, h float64) size {
	s.h = h
	return s
}

// spark is a curve chart without words, for the table of all configurations.
func spark(c chosen, top float64) template.HTML {
	const w, h = 160.0, 64.0
	var d drawing
	s := size{class: "spark", w: w, h: h, top: 2, bottom: 2}
	d.put(`<svg class="spark" viewBox="0 0 160 64" preserveAspectRatio="none" aria-hidden="true">`)
	first := c.curves[0].Points
	least, most := first[0].WindowMS, first[len(first)-1].WindowMS
	x := logScale(float64(least), float64(most), 0, w)
	y := func(share float64) float64 {
		if top == 0 {
			return s.y0()
		}
		return s.y0() - share/top*(s.y0()-s.y1())
	}
	if gap := s.gap(c, least, most, x); gap > 0 {
		d.rect("one", 0, 0, gap, h)
	}
	d.line("rule", 0, s.y0(), w, s.y0())
	for k, one := range c.curves {
		var line strings.Builder
		last := ""
		for i := range one.Points {
			p := &one.Points[i]
			at := n(y(p.All.Redundancy))
			if at == last && i+1 < len(one.Points) && n(y(one.Points[i+1].All.Redundancy)) == at {
				continue // flat: its two ends are enough
			}
			last = at
			line.WriteString(step(line.Len()) + n(x(float64(p.WindowMS))) + " " + at)
		}
		d.put(`<path class="line `, c.class(k), `" d="`, line.String(), `"/>`)
	}
	return d.close()
}

// drawReuse draws the share of reuses whose gap is below x, with the windows of
// the study on it.
func drawReuse(s size, r *profile.Reuse) template.HTML {
	q := r.PositiveGapMS.Quantiles
	positive := float64(r.PositiveGapMS.Count) / float64(r.Reuses)
	zero := float64(r.ZeroGaps) / float64(r.Reuses)
	type at struct{ ms, share float64 }
	var points []at
	for _, one := range []struct {
		share float64
		ms    int64
	}{{0, q.Min}, {.01, q.P1}, {.05, q.P5}, {.10, q.P10}, {.25, q.P25}, {.50, q.P50}, {.75, q.P75}, {.90, q.P90}, {.95, q.P95}, {.99, q.P99}, {1, q.Max}} {
		points = append(points, at{float64(one.ms), zero + positive*one.share})
	}
	least, most := float64(q.Min), float64(q.Max)
	for _, w := range r.Windows {
		least, most = min(least, float64(w.WindowMS)), max(most, float64(w.WindowMS))
		if w.Share != nil {
			points = append(points, at{float64(w.WindowMS), *w.Share})
		}
	}
	slices.SortFunc(points, func(a, b at) int { return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.share, b.share)) })
	least, most = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)))
	if least == most {
		most = 10 * least
	}
	var d drawing
	d.open(&s, "Share of reuses by their gap, cumulative, with the load windows of the study")
	x := logScale(least, most, s.x0(), s.x1())
	y := func(share float64) float64 { return s.y0() - share*(s.y0()-s.y1()) }
	for _, p := range []int{0, 25, 50, 75, 100} {
		d.line("rule", s.x0(), y(float64(p)/100), s.x1(), y(float64(p)/100))
		d.text("t e", s.x0()-7, y(float64(p)/100)+4, fmt.Sprint(p))
	}
	every := int64(1) // label each decade, or as many as there is room for
	for math.Log10(most/least)/float64(every)*58 > s.x1()-s.x0() {
		every++
	}
	for i, ms := range decades(int64(least), int64(most)) {
		d.line("tick", x(float64(ms)), s.y0(), x(float64(ms)), s.y0()+5)
		if int64(i)%every == 0 {
			anchor := "t m"
			if float64(ms) == most {
				anchor = "t e"
			}
			d.text(anchor, x(float64(ms)), s.y0()+19, briefly(ms))
		}
	}
	for _, w := range r.Windows {
		d.line("study", x(float64(w.WindowMS)), s.y1(), x(float64(w.WindowMS)), s.y0())
	}
	d.text("t s", s.x0()-s.left+4, 16, "reuses with a gap below, % of all reuses")
	d.text("t m", (s.x0()+s.x1())/2, s.h-14, "gap since the last request for the block, logarithmic")
	var line strings.Builder
	line.WriteString("M" + n(s.x0()) + " " + n(y(zero)))
	for _, p := range points {
		line.WriteString("L" + n(x(p.ms)) + " " + n(y(p.share)))
	}
	d.put(`<path class="line a solid" d="`, line.String(), `"/>`)
	for _, w := range r.Windows {
		if w.Share != nil {
			d.put(`<circle class="dot b" cx="`, n(x(float64(w.WindowMS))), `" cy="`, n(y(*w.Share)), `" r="3"/>`)
		}
	}
	return d.close()
}

// briefly prints a decade of ms in the largest unit it is whole in.
func briefly(ms int64) string {
	switch {
	case ms < 1000:
		return fmt.Sprintf("%d ms", ms)
	case ms < 1_000_000:
		return fmt.Sprintf("%d s", ms/1000)
	default:
		return report.Count(ms/1000) + " s"
	}
}

// drawArrivals draws what arrived over time, requests above lookups, with the
// end of the warm-up.
func drawArrivals(s size, a *profile.Arrivals, startMS int64, steadyMS float64) template.HTML {
	var d drawing
	d.open(&s, "Requests and lookups over the time of the trace")
	width := (s.x1() - s.x0()) / float64(len(a.Requests))
	gap := 44.0
	height := (s.y0() - s.y1() - gap) / 2
	panel := func(top float64, class, label string, counts []int64) {
		t := ticksTo(float64(slices.Max(counts)))
		bottom := top + height
		for i := range t.number + 1 {
			if i != 0 && i != t.number {
				continue
			}
			at := bottom - float64(i)/float64(t.number)*height
			d.line("rule", s.x0(), at, s.x1(), at)
			d.text("t e", s.x0()-7, at+4, report.Count(int64(t.end()*float64(i)/float64(t.number)+0.5)))
		}
		d.text("t s", s.x0()-s.left+4, top-16, label)
		for i, v := range counts {
			if v > 0 {
				h := max(float64(v)/t.end()*height, 0.6)
				d.rect("bar "+class, s.x0()+float64(i)*width+width*0.08, bottom-h, width*0.84, h)
			}
		}
	}
	panel(s.y1(), "a", "requests a span", a.Requests)
	panel(s.y1()+height+gap, "b", "lookups a span", a.Lookups)
	length := float64(a.SpanMS) * float64(len(a.Requests))
	at := func(ms float64) float64 { return s.x0() + (ms-float64(startMS))/length*(s.x1()-s.x0()) }
	if w := at(steadyMS); w > s.x0() && w < s.x1() {
		d.line("gap", w, s.y1(), w, s.y0())
		d.text("t s", w+4, s.y1()-5, "steady →")
	}
	for i := range 5 {
		v := float64(startMS) + length*float64(i)/4
		anchor := "m"
		if i == 4 {
			anchor = "e"
		}
		d.line("tick", at(v), s.y0(), at(v), s.y0()+5)
		d.text("t "+anchor, at(v), s.y0()+19, report.Count(int64(v/1000+0.5))+" s")
	}
	d.text("t m", (s.x0()+s.x1())/2, s.h-14, "time of the trace")
	return d.close()
}

// bar is a bar in a cell, of a share.
func bar(share float64) template.HTML {
	var d drawing
	d.put(`<svg class="cellbar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">`)
	d.rect("track", 0, 0, 100, 8)
	if share > 0 {
		d.rect("bar a", 0, 0, min(100, max(100*share, 0.8)), 8)
	}
	return d.close()
}

// drawTies draws, for each line of tie readings, what is left of the
// simultaneous figure: its own scale for each, as they are orders apart.
func drawTies(s size, ties []findings.Ties) template.HTML {
	rows := 0
	for i := range ties {
		if ties[i].Simultaneous.Largest > 0 {
			rows++
		}
	}
	const each = 30.0
	s.left, s.right, s.top, s.bottom = 62, 24, 12, 44
	s.h = s.top + s.bottom + each*float64(rows)
	var d drawing
	d.open(&s, "What each reading of equal timestamps leaves of the simultaneous figure")
	most := 1.0
	for i := range ties {
		if t := &ties[i]; t.Simultaneous.Largest > 0 {
			most = max(most, t.Even.Largest/t.Simultaneous.Largest, t.RandomHigh.Largest/t.Simultaneous.Largest)
		}
	}
	axis := ticksTo(most * 100)
	x := func(share float64) float64 { return s.x0() + share*100/axis.end()*(s.x1()-s.x0()) }
	for i := range axis.number + 1 {
		at := float64(i) * axis.step / 100
		d.line("rule", x(at), s.y1(), x(at), s.y0())
		d.text("t m", x(at), s.y0()+17, axis.label(i))
	}
	d.text("t m", (s.x0()+s.x1())/2, s.h-8, "% of the simultaneous figure of the window")
	row := 0
	for i := range ties {
		t := &ties[i]
		full := t.Simultaneous.Largest
		if full == 0 {
			continue
		}
		y := s.y1() + each*(float64(row)+0.5)
		row++
		d.text("t e", s.x0()-8, y+4, report.Duration(t.WindowMS))
		low, high := t.RandomLow.Largest/full, t.RandomHigh.Largest/full
		d.rect("range b", x(low), y-4, max(x(high)-x(low), 2), 8)
		d.line("middle", x(t.RandomMedian.Largest/full), y-6, x(t.RandomMedian.Largest/full), y+6)
		d.put(`<path class="diamond b" d="M`, n(x(t.Even.Largest/full)), ` `, n(y-6), `l6 6l-6 6l-6 -6Z"/>`)
		d.put(`<circle class="dot a" cx="`, n(x(1)), `" cy="`, n(y), `" r="4.5"/>`)
	}
	return d.close()
}

// drawParts draws the mean difference of affinity and round robin in its two
// parts.
func drawParts(s size, r *findings.Routing) template.HTML {
	s.left, s.right, s.top, s.bottom, s.h = 150, 28, 12, 44, 150
	if s.class == "narrow" {
		s.left = 112
	}
	most := max(abs(r.AffinityLessRoundRobin), abs(r.Load), abs(r.Prefix)) * 100
	t := ticksTo(most)
	var d drawing
	d.open(&s, "Mean difference of affinity and round robin, and what of it is load and what is prefix")
	end := t.end()
	x := func(percent float64) float64 { return (s.x0()+s.x1())/2 + percent/end*(s.x1()-s.x0())/2 }
	for i := -t.number; i <= t.number; i++ {
		d.line("rule", x(float64(i)*t.step), s.y1(), x(float64(i)*t.step), s.y0())
	}
	for _, one := range []struct {
		sign string
		at   int
	}{{"−", -t.number}, {"", 0}, {"+", t.number}} {
		label := strings.TrimPrefix(t.label(one.at), "-")
		d.text("t m", x(float64(one.at)*t.step), s.y0()+17, one.sign+label)
	}
	d.line("axis", x(0), s.y1(), x(0), s.y0())
	d.text("t m", (s.x0()+s.x1())/2, s.h-8, "mean difference, percentage points")
	names := []string{"affinity − round robin", "of that: uneven load", "of that: prefix"}
	if s.class == "narrow" {
		names = []string{"affinity − r. robin", "uneven load", "prefix"}
	}
	each := (s.y0() - s.y1()) / 3
	for i, v := range []float64{r.AffinityLessRoundRobin, r.Load, r.Prefix} {
		y := s.y1() + each*(float64(i)+0.5)
		class := "b"
		if i == 0 {
			class = "a"
		}
		d.text("t e", s.x0()-8, y+4, names[i])
		d.rect("bar "+class, min(x(0), x(100*v)), y-6, max(abs(x(100*v)-x(0)), 1), 12)
	}
	return d.close()
}
