package findings

import (
	"math/rand/v2"
	"slices"

	"kvfanin/internal/result"
)

// Curve is the redundancy of one configuration against the effective window.
type Curve struct {
	Lookup         string      `json:"lookup"`
	Routing        string      `json:"routing"`
	Instances      int         `json:"instances"`
	CapacityBlocks int         `json:"capacity_blocks"`
	Points         []Point     `json:"points"`     // ascending
	Thresholds     []Threshold `json:"thresholds"` // by measure, then share
	Falls          []Fall      `json:"falls"`      // of joins ÷ attempts, equal timestamps simultaneous
}

// Point is a point of a curve.
type Point struct {
	WindowMS          int64   `json:"window_ms"` // effective: load window × load factor
	Requests          int64   `json:"requests"`
	Lookups           int64   `json:"lookups"`
	Attempts          int64   `json:"attempts"`
	DuplicateCohorts  int64   `json:"duplicate_cohorts"`
	InGrid            bool    `json:"in_grid"` // a window of the study: also the random readings of ties are in TiesLow and TiesHigh
	All               Measure `json:"all"`
	WithoutExtensions Measure `json:"without_extensions"` // (joins - extensions) ÷ attempts
}

// Measure is a redundancy, and what it may be. All are shares of attempts.
type Measure struct {
	Redundancy   float64 `json:"redundancy_share"` // equal timestamps simultaneous
	TiesLow      float64 `json:"ties_low_share"`   // over the readings of equal timestamps
	TiesHigh     float64 `json:"ties_high_share"`
	IntervalLow  float64 `json:"interval_low_share"` // 95 % of the block bootstrap over time
	IntervalHigh float64 `json:"interval_high_share"`
}

// FewDuplicates is how many duplicate cohorts a figure should have behind it.
const FewDuplicates = 30

// Threshold is where a curve first reaches a share.
type Threshold struct {
	WithoutExtensions bool    `json:"without_extensions"`
	Share             float64 `json:"share"`
	// The shortest window, to the millisecond, that reaches it: equal timestamps
	// simultaneous, and spread evenly. 0 where none of the curve does.
	WindowMS     int64 `json:"window_ms"`
	EvenWindowMS int64 `json:"even_window_ms"`
}

// Fall is a stretch of a curve on which a longer window has less redundancy.
type Fall struct {
	FromMS int64   `json:"from_ms"`
	ToMS   int64   `json:"to_ms"`
	From   float64 `json:"from_share"`
	To     float64 `json:"to_share"`
}

func (b *beside) curves() []Curve {
	windows := len(b.asked.CurveWindowsMS)
	var rows []counted // simultaneous, then even
	var steadyRows []*result.ArmRow
	for i := range b.beside.Curve {
		if r := &b.beside.Curve[i]; r.Phase == result.Steady {
			rows = append(rows, counted{r.Counts, b.beside.CurveRelations[i].Extension, r.RequestImbalance})
			steadyRows = append(steadyRows, r)
		}
	}
	half := len(rows) / 2
	boot := newBootstrap(b.asked.Spans)
	var curves []Curve
	for first := 0; first < half; first += windows {
		at := steadyRows[first].Config
		c := Curve{Lookup: at.Lookup, Routing: at.Routing, Instances: at.Instances, CapacityBlocks: at.CapacityBlocks, Falls: []Fall{}}
		for i := first; i < first+windows; i++ {
			row := steadyRows[i]
			p := Point{
				WindowMS: row.WindowMS, Requests: row.Requests, Lookups: row.Lookups, Attempts: row.Attempts,
				DuplicateCohorts: row.DuplicateCohorts, InGrid: b.of[row.Config] != nil,
			}
			spans := b.beside.Spans[i*b.asked.Spans:][:b.asked.Spans]
			readings := []counted{rows[i], rows[half+i]}
			if p.InGrid {
				for seed := range int64(b.asked.Seeds) {
					readings = append(readings, b.arms[armKey{result.Arm{Ties: result.Random, Seed: seed + 1}, row.Config}])
				}
			}
			for _, measure := range result.Measures {
				m := &p.All
				if measure == result.WithoutExtensions {
					m = &p.WithoutExtensions
				}
				m.Redundancy = readings[0].of(measure)
				m.TiesLow, m.TiesHigh = m.Redundancy, m.Redundancy
				for k := range readings {
					x := readings[k].of(measure)
					m.TiesLow, m.TiesHigh = min(m.TiesLow, x), max(m.TiesHigh, x)
				}
				m.IntervalLow, m.IntervalHigh = boot.interval(spans, measure)
			}
			c.Points = append(c.Points, p)
			if i > first && ratio(&rows[i].Counts).Cmp(ratio(&rows[i-1].Counts)) < 0 {
				c.fall(p.WindowMS, p.All.Redundancy)
			}
		}
		curves = append(curves, c)
	}
	b.thresholds(curves)
	return curves
}

// fall adds the last point, which is below the one before, to the falls.
func (c *Curve) fall(windowMS int64, redundancy float64) {
	before := c.Points[len(c.Points)-2]
	if n := len(c.Falls); n > 0 && c.Falls[n-1].ToMS == before.WindowMS {
		c.Falls[n-1].ToMS, c.Falls[n-1].To = windowMS, redundancy
		return
	}
	c.Falls = append(c.Falls, Fall{before.WindowMS, windowMS, before.All.Redundancy, redundancy})
}

// thresholds adds the thresholds to the curves, which are in the same order.
func (b *beside) thresholds(curves []Curve) {
	each := len(result.Measures) * len(b.asked.ThresholdShares) // under a reading of ties
	for i := range b.beside.Thresholds {
		row := &b.beside.Thresholds[i]
		c := &curves[i/(2*each)]
		if row.Ties == result.Simultaneous {
			c.Thresholds = append(c.Thresholds, Threshold{
				WithoutExtensions: row.Measure == result.WithoutExtensions, Share: row.Share, WindowMS: row.WindowMS,
			})
		} else {
			c.Thresholds[i%each].EvenWindowMS = row.WindowMS
		}
	}
}

// draws is how many times a bootstrap draws.
const draws = 1000

// bootstrap draws spans of time with replacement, as many as there are, again
// and again: a block bootstrap over time, whose blocks are the spans. All
// curves of a trace are drawn by the same draws.
type bootstrap struct {
	times  [draws][]int64 // how often each span is drawn
	ratios []float64
}

func newBootstrap(spans int) *bootstrap {
	b := &bootstrap{ratios: make([]float64, 0, draws)}
	draw := rand.New(rand.NewPCG(1, 0))
	for d := range b.times {
		b.times[d] = make([]int64, spans)
		for range spans {
			b.times[d][draw.IntN(spans)]++
		}
	}
	return b
}

// interval returns the middle 95 % of the redundancies over the draws that have
// an attempt: elements ⌊0.025·n⌋ and n - 1 - ⌊0.025·n⌋ of the n sorted ones. It is 0
// where none has.
func (b *bootstrap) interval(spans []result.SpanRow, measure string) (low, high float64) {
	b.ratios = b.ratios[:0]
	for _, times := range b.times {
		var sum counted
		for i, n := range times {
			s := &spans[i].SpanCount
			sum.Attempts += n * s.Attempts
			sum.Joins += n * s.Joins
			sum.extensions += n * s.Extension
		}
		if sum.Attempts > 0 {
			b.ratios = append(b.ratios, sum.of(measure))
		}
	}
	n := len(b.ratios)
	if n == 0 {
		return 0, 0
	}
	slices.Sort(b.ratios)
	tail := n * 25 / 1000
	return b.ratios[tail], b.ratios[n-1-tail]
}

// rank sorts xs, of which there is at least one, and returns the smallest,
// element ⌊n/2⌋ and the largest.
func rank(xs []float64) (low, middle, high float64) {
	slices.Sort(xs)
	return xs[0], xs[len(xs)/2], xs[len(xs)-1]
}
