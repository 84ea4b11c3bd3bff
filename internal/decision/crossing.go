package decision

import "strings"

// Crossing is where a trace's curve first reaches the break-even. The break-even
// is held as it is: attempts a request and the cost of a load are those at the
// effective window that was decided for.
type Crossing struct {
	Joins string `json:"joins"` // AllJoins or WithoutExtensions
	// Reached says that it is reached, and Exact that it was measured to the ms.
	Reached bool `json:"reached"`
	Exact   bool `json:"exact"`
	// It is reached after AfterMS (0: nothing smaller was run) and at WindowMS at
	// the latest; at WindowMS if Exact.
	AfterMS  int64 `json:"after_ms"`
	WindowMS int64 `json:"window_ms"`
	// The same as a load factor, W held.
	AfterFactor float64 `json:"after_load_factor"`
	LoadFactor  float64 `json:"load_factor"`
	// FallsMS are the windows at which the curve is below it again.
	FallsMS []int64 `json:"falls_ms"`
	Text    string  `json:"text"`    // all of it in words
	Command string  `json:"command"` // that would measure it, if one would
}

const study = "kvfanin study ... --sensitivity"

func crossing(t *Traffic, joins string, breakEven *float64, loadMS float64) Crossing {
	c := Crossing{Joins: joins, FallsMS: []int64{}}
	switch {
	case breakEven == nil:
		c.Text = "Never: there is no break-even."
		return c
	case len(t.Curve) == 0:
		c.Command = study
		c.Text = "Not known: no curve was run."
		return c
	}
	reaches := func(p *Point) bool {
		r := p.Redundancy
		if joins == WithoutExtensions {
			r = p.WithoutExtensions
		}
		return r > 0 && r >= *breakEven
	}
	first := -1
	for i := range t.Curve {
		now := reaches(&t.Curve[i])
		if now && first < 0 {
			first = i
		}
		if !now && i > 0 && reaches(&t.Curve[i-1]) {
			c.FallsMS = append(c.FallsMS, t.Curve[i].WindowMS)
		}
	}
	measured := false // to the ms, and not reached perhaps
	for _, m := range t.Thresholds {
		if m.Share == *breakEven && m.WithoutExtensions == (joins == WithoutExtensions) && m.Share > 0 {
			measured = true
			c.AfterMS, c.WindowMS, c.Exact, c.Reached = m.WindowMS, m.WindowMS, m.WindowMS > 0, m.WindowMS > 0
		}
	}
	if !measured && first >= 0 {
		c.Reached = true
		c.WindowMS = t.Curve[first].WindowMS
		if first > 0 {
			c.AfterMS = t.Curve[first-1].WindowMS
		}
	}
	c.AfterFactor = float64(c.AfterMS) / loadMS
	c.LoadFactor = float64(c.WindowMS) / loadMS
	end := t.Curve[len(t.Curve)-1].WindowMS
	switch {
	case !c.Reached:
		c.Text = "Never within the range run (" + FormatDuration(t.Curve[0].WindowMS) + " to " + FormatDuration(end) + ")."
	case c.Exact:
		c.Text = "At W_eff = " + FormatDuration(c.WindowMS) + ", which is s = " + FormatNumber(c.LoadFactor) + " at this W; measured to the ms."
	case c.AfterMS == 0:
		c.Text = "At W_eff = " + FormatDuration(c.WindowMS) + " already, the smallest window run, which is s = " + FormatNumber(c.LoadFactor) + " at this W."
	default:
		c.Text = "Between W_eff = " + FormatDuration(c.AfterMS) + " and " + FormatDuration(c.WindowMS) + ", which is s = " +
			FormatNumber(c.AfterFactor) + " to " + FormatNumber(c.LoadFactor) + " at this W."
		if *breakEven > 0 {
			c.Command = study + " --threshold " + exact(*breakEven)
		}
	}
	if len(c.FallsMS) > 0 {
		var at []string
		for _, ms := range c.FallsMS {
			at = append(at, FormatDuration(ms))
		}
		c.Text += " The curve is below it again at " + strings.Join(at, ", ") + "."
	}
	return c
}
