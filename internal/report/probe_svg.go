package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"kvfanin/internal/probe"
)

// ProbePicture is the timeline of a case as a picture: a lane a request, a lane
// a receive thread, and every Get in both.
type ProbePicture struct {
	Outcome *probe.Outcome
}

// Sizes of the picture, in px.
const (
	svgLeft   = 124 // of the lanes: names stand there
	svgPlot   = 820 // width of the lanes
	svgRight  = 36
	svgTop    = 108
	svgLane   = 26
	svgBar    = 14
	svgGap    = 18 // between requests and threads
	svgBottom = 66
	svgTick   = 68 // least distance of two ticks
)

// svgStyle is the look. A reader's dark background shows through nowhere.
const svgStyle = `
  text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1f2933 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #616e7c; font-size: 11px }
  .wait { fill: #dbe7f3 }
  .get { fill: #d9480f; stroke: #ffffff; stroke-width: 0.75 }
  .first { fill: #1c7ed6; stroke: #ffffff; stroke-width: 0.75 }
  .done { stroke: #2b8a3e; stroke-width: 2.5 }
  .arrival { fill: #1f2933 }
  .grid { stroke: #e4e7eb }
  .release { stroke: #868e96; stroke-dasharray: 4 3 }
`

// Write writes the picture as SVG.
func (p *ProbePicture) Write(w io.Writer) error {
	t := timelineOf(p.Outcome.Result.Events)
	x := newAxis(p.Outcome.Result.Events, t.start)
	height := svgTop + (len(t.lanes)-1)*svgLane + svgGap + svgBottom
	width := svgLeft + svgPlot + svgRight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	title := p.title()
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", escape(title), svgStyle)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	svgText(&b, 20, 28, "title", title)
	svgText(&b, 20, 48, "quiet", p.subtitle())
	p.legend(&b)
	bottom := height - svgBottom + 8
	x.grid(&b, svgTop-8, bottom)
	y := func(lane int) int {
		top := svgTop + (lane-1)*svgLane
		if lane > t.requests {
			top += svgGap
		}
		return top
	}
	for lane, name := range t.lanes {
		if lane > 0 {
			svgText(&b, 20, y(lane)+svgBar-2, "", p.laneName(t, lane, name))
		}
	}
	p.waits(&b, t, x, y)
	for _, s := range t.spans {
		class := "get"
		if s.get == t.spans[0].get {
			class = "first"
		}
		from, to := x.at(s.start), x.at(s.end)
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"><title>Get %d for %s: %s to %s</title></rect>`+"\n",
			class, from, y(s.lane), max(to-from, 2), svgBar, s.get+1, escape(s.request), microseconds(s.start), microseconds(s.end))
	}
	for _, m := range t.marks {
		at := x.at(m.at)
		switch {
		case m.name == probe.EventArrival && m.lane > 0:
			fmt.Fprintf(&b, `<circle class="arrival" cx="%.1f" cy="%d" r="3"/>`+"\n", at, y(m.lane)+svgBar/2)
		case m.name == probe.EventPublication && m.lane > 0:
			fmt.Fprintf(&b, `<line class="done" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", at, at, y(m.lane)-2, y(m.lane)+svgBar+2)
		case m.name == "release":
			fmt.Fprintf(&b, `<line class="release" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", at, at, svgTop-8, bottom)
		}
	}
	svgText(&b, svgLeft, height-18, "quiet", "Time since the first arrival. The axis is stretched where much happens: order and overlap are true, lengths are not.")
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (p *ProbePicture) title() string {
	o := p.Outcome
	end := o.Observed[probe.End]
	return fmt.Sprintf("%s, case %s: %s for %s, %s", o.Case.Target.Name, o.Case.Name,
		plural(o.Case.Parameters.Requests, "request"), sameBlocks(o.Case), plural(end["gets"], "Get"))
}

func (p *ProbePicture) subtitle() string {
	var words []string
	for _, name := range []string{p.Outcome.Case.Target.Environment.Package, "vllm", "mooncake"} {
		if word := name + " " + p.Outcome.Versions[name]; p.Outcome.Versions[name] != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if p.Outcome.Case.HasStore() {
		words = append(words, p.Outcome.Case.Parameters.Store+" store", plural(p.Outcome.Case.Parameters.ReceiveThreads, "receive thread"))
	}
	return strings.Join(words, " · ") + fmt.Sprintf(" · at most %s in flight at once", plural(p.Outcome.Observed[probe.End]["gets_in_flight"], "Get"))
}

func (p *ProbePicture) legend(b *bytes.Buffer) {
	const y = 70
	entry := func(x int, mark, text string) int {
		b.WriteString(mark)
		svgText(b, x+22, y+10, "quiet", text)
		return x + 22 + 6*len(text) + 24
	}
	x := 20
	x = entry(x, fmt.Sprintf(`<circle class="arrival" cx="%d" cy="%d" r="3"/>`, x+8, y+6), "arrival")
	x = entry(x, fmt.Sprintf(`<rect class="wait" x="%d" y="%d" width="16" height="10"/>`, x, y+1), "not finished")
	x = entry(x, fmt.Sprintf(`<rect class="first" x="%d" y="%d" width="16" height="10"/>`, x, y+1), "first Get")
	x = entry(x, fmt.Sprintf(`<rect class="get" x="%d" y="%d" width="16" height="10"/>`, x, y+1), "a further Get")
	x = entry(x, fmt.Sprintf(`<line class="done" x1="%d" x2="%d" y1="%d" y2="%d"/>`, x+8, x+8, y, y+12), "published")
	entry(x, fmt.Sprintf(`<line class="release" x1="%d" x2="%d" y1="%d" y2="%d"/>`, x+8, x+8, y, y+12), "the barrier opens")
	b.WriteString("\n")
}

// waits draws each request from its arrival to its end.
func (p *ProbePicture) waits(b *bytes.Buffer, t *timeline, x *axis, y func(int) int) {
	for lane := 1; lane <= t.requests; lane++ {
		from, to := int64(-1), int64(-1)
		for _, m := range t.marks {
			if m.lane != lane {
				continue
			}
			switch m.name {
			case probe.EventArrival:
				from = m.at
			case probe.EventFinish:
				to = m.at
			}
		}
		if from < 0 {
			continue
		}
		if to < 0 {
			to = t.end
		}
		fmt.Fprintf(b, `<rect class="wait" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n",
			x.at(from), y(lane), max(x.at(to)-x.at(from), 2), svgBar)
	}
}

// axis maps times to px so that their order is kept and close ones are told
// apart: a gap takes room by its logarithm.
type axis struct {
	times []int64
	px    []float64
}

func newAxis(events []probe.Event, start int64) *axis {
	a := &axis{}
	for _, e := range events {
		a.times = append(a.times, e.TimeUS-start)
	}
	slices.Sort(a.times)
	a.times = slices.Compact(a.times)
	total := 0.0
	for i, t := range a.times {
		if i > 0 {
			total += math.Log2(1 + float64(t-a.times[i-1]))
		}
		a.px = append(a.px, total)
	}
	if total == 0 {
		total = 1
	}
	for i := range a.px {
		a.px[i] = svgLeft + a.px[i]/total*svgPlot
	}
	return a
}

// at returns where a time of an event stands.
func (a *axis) at(t int64) float64 {
	i, found := slices.BinarySearch(a.times, t)
	if !found {
		return svgLeft
	}
	return a.px[i]
}

// grid draws ticks that do not touch, each at the time of an event.
func (a *axis) grid(b *bytes.Buffer, top, bottom int) {
	last := math.Inf(-1)
	for i, x := range a.px {
		if x-last < svgTick || x > svgLeft+svgPlot-1.5*svgTick && i != len(a.px)-1 {
			continue
		}
		last = x
		anchor := "middle"
		if i == len(a.px)-1 {
			anchor = "end"
		}
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, x, x, top, bottom)
		fmt.Fprintf(b, `<text class="quiet" text-anchor="%s" x="%.1f" y="%d">%s</text>`+"\n", anchor, x, bottom+16, microseconds(a.times[i]))
	}
}

// microseconds prints a time in ms.
func microseconds(us int64) string { return fmt.Sprintf("%.2f ms", float64(us)/1000) }

// laneName returns a name that fits the left edge.
func (*ProbePicture) laneName(t *timeline, lane int, name string) string {
	const most = 16
	if lane > t.requests {
		return fmt.Sprintf("receive thread %d", lane-t.requests)
	}
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

func svgText(b *bytes.Buffer, x, y int, class, text string) {
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d">%s</text>`+"\n", class, x, y, escape(text))
}

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}
