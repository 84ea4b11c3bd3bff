package page

import (
	"encoding/json"

	"kvfanin/internal/findings"
	"kvfanin/internal/report"
)

// data is what the script has of a run: the curves. Shares stand once in
// Values, and curves hold their places in it, as most of them occur often.
type data struct {
	BlockTokens int         `json:"block_tokens"`
	Values      []float64   `json:"values"`
	Traces      []traceData `json:"traces"`
}

type traceData struct {
	Name  string `json:"name"`
	GapMS *int64 `json:"gap"`
	// Of the steady phase, in every configuration.
	Requests     int64       `json:"requests"`
	RequestsPerS float64     `json:"requests_per_s"`
	Windows      []int64     `json:"windows"` // of every curve
	InGrid       []int       `json:"grid"`    // places in Windows
	Curves       []curveData `json:"curves"`
}

// curveData is a curve, a value a point in each list. The measures are those of
// findings.Measure in its order, first of all joins, then without extensions.
type curveData struct {
	Lookup    string    `json:"lookup"`
	Routing   string    `json:"routing"`
	Instances int       `json:"instances"`
	Capacity  int       `json:"capacity"`
	Lookups   []int64   `json:"lookups"`
	Attempts  []int64   `json:"attempts"`
	Duplicate []int64   `json:"duplicate"`
	Measures  [10][]int `json:"measures"`

	Thresholds []findings.Threshold `json:"thresholds"`
}

func dataOf(d *report.Document) ([]byte, error) {
	all := data{BlockTokens: d.Parameters.BlockTokens, Values: []float64{}, Traces: []traceData{}}
	places := make(map[float64]int)
	place := func(x float64) int {
		at, ok := places[x]
		if !ok {
			at = len(all.Values)
			places[x] = at
			all.Values = append(all.Values, x)
		}
		return at
	}
	place(0)
	for i := range d.Traces {
		f := d.Traces[i].Findings
		t := traceData{Name: d.Traces[i].Source.Name, GapMS: f.Profile.SmallestPositiveGapMS, RequestsPerS: f.SteadyRequestsPerS(), Windows: []int64{}, InGrid: []int{}, Curves: []curveData{}}
		if s := f.Sensitivity; s != nil && len(s.Curves) > 0 {
			for k := range s.Curves[0].Points {
				p := &s.Curves[0].Points[k]
				t.Requests = p.Requests
				t.Windows = append(t.Windows, p.WindowMS)
				if p.InGrid {
					t.InGrid = append(t.InGrid, k)
				}
			}
			for k := range s.Curves {
				t.Curves = append(t.Curves, curveDataOf(&s.Curves[k], place))
			}
		}
		all.Traces = append(all.Traces, t)
	}
	return json.Marshal(all)
}

func curveDataOf(c *findings.Curve, place func(float64) int) curveData {
	one := curveData{Lookup: c.Lookup, Routing: c.Routing, Instances: c.Instances, Capacity: c.CapacityBlocks, Thresholds: c.Thresholds}
	for i := range c.Points {
		p := &c.Points[i]
		one.Lookups = append(one.Lookups, p.Lookups)
		one.Attempts = append(one.Attempts, p.Attempts)
		one.Duplicate = append(one.Duplicate, p.DuplicateCohorts)
		for k, m := range []*findings.Measure{&p.All, &p.WithoutExtensions} {
			for j, x := range []float64{m.Redundancy, m.TiesLow, m.TiesHigh, m.IntervalLow, m.IntervalHigh} {
				one.Measures[5*k+j] = append(one.Measures[5*k+j], place(x))
			}
		}
	}
	return one
}
