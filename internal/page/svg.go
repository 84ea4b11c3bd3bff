package page

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// size is a drawing area in its own units, which are CSS pixels at full size.
// Every chart is drawn twice, and a style sheet shows the one that fits.
type size struct {
	class                    string
	w, h                     float64
	left, right, top, bottom float64 // margins around the plot
}

var (
	wide   = size{"wide", 760, 400, 50, 14, 34, 58}
	narrow = size{"narrow", 358, 330, 46, 8, 34, 56}
)

func (s *size) x0() float64 { return s.left }
func (s *size) x1() float64 { return s.w - s.right }
func (s *size) y0() float64 { return s.h - s.bottom } // the bottom of the plot
func (s *size) y1() float64 { return s.top }

// round1 rounds to a tenth as page.js does.
func round1(x float64) float64 { return math.Floor(x*10+0.5) / 10 }

// n prints a coordinate.
func n(x float64) string { return strconv.FormatFloat(round1(x), 'f', -1, 64) }

// drawing is SVG in the making.
type drawing struct{ strings.Builder }

func (d *drawing) put(parts ...string) {
	for _, p := range parts {
		d.WriteString(p)
	}
}

// open starts an svg. What it shows is said in label; its figure says more.
func (d *drawing) open(s *size, label string) {
	d.put(`<svg class="chart `, s.class, `" viewBox="0 0 `, n(s.w), ` `, n(s.h), `" role="img" aria-label="`, html.EscapeString(label), `">`)
}

func (d *drawing) close() template.HTML {
	d.put(`</svg>`)
	return template.HTML(d.String())
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.put(`<path class="`, class, `" d="M`, n(x1), ` `, n(y1), `L`, n(x2), ` `, n(y2), `"/>`)
}

func (d *drawing) rect(class string, x, y, w, h float64) {
	d.put(`<rect class="`, class, `" x="`, n(x), `" y="`, n(y), `" width="`, n(w), `" height="`, n(h), `"/>`)
}

// text puts text at a place; class has its anchor: s, m or e.
func (d *drawing) text(class string, x, y float64, text string) {
	d.put(`<text class="`, class, `" x="`, n(x), `" y="`, n(y), `">`, html.EscapeString(text), `</text>`)
}

// logScale maps from..to to x0..x1 by the logarithm.
func logScale(from, to, x0, x1 float64) func(float64) float64 {
	a, b := math.Log10(from), math.Log10(to)
	return func(v float64) float64 {
		if b == a {
			return (x0 + x1) / 2
		}
		return x0 + (math.Log10(v)-a)/(b-a)*(x1-x0)
	}
}

// ticks are the marks of a linear axis from 0.
type ticks struct {
	step   float64
	number int // of steps; the axis ends at number × step
	digits int // decimals of a label
}

// ticksTo returns about four steps that reach at least most.
func ticksTo(most float64) ticks {
	if most <= 0 {
		most = 1
	}
	exponent := math.Floor(math.Log10(most / 4))
	step := math.Pow(10, exponent)
	for _, f := range []float64{1, 2, 5, 10} {
		if step = f * math.Pow(10, exponent); math.Ceil(most/step-1e-9) <= 5 {
			break
		}
	}
	digits := int(math.Max(0, -math.Floor(math.Log10(step)+1e-9)))
	return ticks{step, int(math.Max(1, math.Ceil(most/step-1e-9))), digits}
}

func (t ticks) label(i int) string {
	return strconv.FormatFloat(float64(i)*t.step, 'f', t.digits, 64)
}

func (t ticks) end() float64 { return float64(t.number) * t.step }
