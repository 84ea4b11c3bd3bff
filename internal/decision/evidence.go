package decision

import (
	"fmt"
	"slices"

	"kvfanin/internal/findings"
	"kvfanin/internal/result"
)

// TrafficAt returns what the findings of a trace say of one of its curves at an
// effective window, in ms. A window that was not measured lies between two that
// were: the nearer of them, by ratio, is the one measured, and both are in the
// range. Below the shortest window of the curve, a window of nothing, under
// which nothing joins, is the other.
//
// It returns an error if the window is beyond the curve.
func TrafficAt(f *findings.Findings, c *findings.Curve, windowMS float64) (Traffic, error) {
	points := c.Points
	last := len(points) - 1
	if windowMS > float64(points[last].WindowMS) {
		return Traffic{}, fmt.Errorf("the effective window of %s is beyond the curve, which ends at %s: run kvfanin study with --sensitivity and a --window as long",
			FormatNumber(windowMS)+" ms", FormatDuration(points[last].WindowMS))
	}
	above := slices.IndexFunc(points, func(p findings.Point) bool { return float64(p.WindowMS) >= windowMS })
	below := above - 1
	at := above
	if float64(points[above].WindowMS) == windowMS {
		below = above
	} else if below >= 0 && windowMS*windowMS < float64(points[below].WindowMS)*float64(points[above].WindowMS) {
		at = below
	}
	p := &points[at]
	t := Traffic{
		Trace: f.Trace,
		Config: result.Config{
			Lookup: c.Lookup, Routing: c.Routing, Instances: c.Instances, CapacityBlocks: c.CapacityBlocks, WindowMS: p.WindowMS,
		},
		RequestsPerS:      f.SteadyRequestsPerS(),
		BlockTokens:       int(f.Profile.BlockTokens),
		DuplicateCohorts:  p.DuplicateCohorts,
		Redundancy:        evidenceAt(points, below, above, at, func(p *findings.Point) *findings.Measure { return &p.All }),
		WithoutExtensions: evidenceAt(points, below, above, at, func(p *findings.Point) *findings.Measure { return &p.WithoutExtensions }),
		Curve:             []Point{},
		Thresholds:        []Threshold{},
	}
	if n := float64(p.Requests); n > 0 {
		t.LookupsPerRequest = float64(p.Lookups) / n
		t.AttemptsPerRequest = float64(p.Attempts) / n
		t.DuplicateCohortsPerRequest = float64(p.DuplicateCohorts) / n
	}
	for i := range points {
		t.Curve = append(t.Curve, Point{points[i].WindowMS, points[i].All.Redundancy, points[i].WithoutExtensions.Redundancy})
	}
	for _, h := range c.Thresholds {
		t.Thresholds = append(t.Thresholds, Threshold{h.Share, h.WindowMS, h.WithoutExtensions})
	}
	return t, nil
}

// evidenceAt draws together what is measured at the points below and above, of
// which at is the nearer. Below the first point there is none: below is -1.
func evidenceAt(points []findings.Point, below, above, at int, of func(*findings.Point) *findings.Measure) Evidence {
	e := Evidence{Measured: of(&points[at]).Redundancy}
	e.Low, e.High = e.Measured, e.Measured
	span := func(why string, ends func(*findings.Measure) (low, high float64)) {
		low, high := ends(of(&points[above]))
		if below < 0 {
			low = 0
		} else {
			l, h := ends(of(&points[below]))
			low, high = min(low, l), max(high, h)
		}
		e.Why = append(e.Why, fmt.Sprintf("%s: %s %% – %s %%", why, FormatPercent(low), FormatPercent(high)))
		e.Low, e.High = min(e.Low, low), max(e.High, high)
	}
	ties := "equal timestamps"
	if !points[above].InGrid || below >= 0 && !points[below].InGrid {
		ties += ", at once or even" // where the random readings were not run
	}
	span(ties, func(m *findings.Measure) (float64, float64) { return m.TiesLow, m.TiesHigh })
	span("95 % over time", func(m *findings.Measure) (float64, float64) { return m.IntervalLow, m.IntervalHigh })
	if below != above {
		from := "0 ms"
		if below >= 0 {
			from = FormatDuration(points[below].WindowMS)
		}
		span("measured at "+from+" and "+FormatDuration(points[above].WindowMS), func(m *findings.Measure) (float64, float64) { return m.Redundancy, m.Redundancy })
	}
	return e
}
