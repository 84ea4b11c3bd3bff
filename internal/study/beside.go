package study

import (
	"slices"

	"kvfanin/internal/result"
)

// This file runs what lies beside the grid: it under other readings of equal
// timestamps and with other routings, and on a dense row of windows.

// DefaultSensitivity returns what is run beside a grid unless something else
// is asked for: 20 draws, and a curve from 1 ms to 100 s with 13 windows to a
// power of ten, as far as they differ by a millisecond.
func DefaultSensitivity() result.Sensitivity {
	return result.Sensitivity{
		Seeds:           20,
		CurveWindowsMS:  slices.Clone(curveMS),
		Spans:           30,
		ThresholdShares: []float64{0.0001, 0.001, 0.01, 0.05, 0.1},
	}
}

// curveMS is 10^(k/13) ms from 1 ms to 100 s, rounded, each once. It is written
// out because a power need not be the same on every processor.
var curveMS = []int64{
	1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35, 41, 49, 59, 70, 84,
	100, 119, 143, 170, 203, 242, 289, 346, 412, 492, 588, 702, 838,
	1_000, 1_194, 1_425, 1_701, 2_031, 2_424, 2_894, 3_455, 4_125, 4_924, 5_878, 7_017, 8_377,
	10_000, 11_938, 14_251, 17_013, 20_309, 24_245, 28_943, 34_551, 41_246, 49_239, 58_780, 70_170, 83_768,
	100_000,
}

// CurveWindows adds the windows of a grid to those of a curve.
func CurveWindows(curve, grid []int64) []int64 {
	all := slices.Sorted(slices.Values(slices.Concat(curve, grid)))
	return slices.Compact(all)
}

// Steps returns how often Run calls done for so many traces.
func (p *Params) Steps(traces int) int {
	n := len(p.Grid.Configs())
	if s := p.Sensitivity; s != nil {
		for _, run := range slices.Concat(s.Arms(p.Grid), s.Curve(p.Grid)) {
			n += len(run.Grid.Configs())
		}
		n += len(s.Curve(p.Grid)) * len(p.Grid.Configs()) / len(p.Grid.WindowsMS)
	}
	return traces * n
}

// beside is what is run of a trace beside its grid, and what it gives.
type beside struct {
	reading *reading
	params  Params
	rows    *result.Beside
	curve   []*armRun
}

// armRun is one arm over a grid, and the rows it gives.
type armRun struct {
	result.ArmsRun
	reading   *reading        // of the curve, for its thresholds; of an arm it is not kept, as it has all arrivals again
	rows      []result.ArmRow // two a configuration
	relations []result.ArmRelationRow
	spans     []result.SpanRow // where the reading has spans
}

func newBeside(rd *reading, p Params) *beside {
	p.Cohorts = false
	return &beside{reading: rd, params: p, rows: &result.Beside{}}
}

// send sends the arms and the curve. Their rows are there when all is run.
func (b *beside) send(c *crew, done func()) error {
	s := b.params.Sensitivity
	var arms []*armRun
	arms, b.rows.Arms, b.rows.ArmRelations = b.runs(s.Arms(b.params.Grid))
	b.curve, b.rows.Curve, b.rows.CurveRelations = b.runs(s.Curve(b.params.Grid))
	simultaneous := b.curve[0]
	b.rows.Spans = make([]result.SpanRow, s.Spans*len(simultaneous.Grid.Configs()))
	simultaneous.spans = b.rows.Spans
	for _, run := range arms {
		if err := run.send(b.reading.under(run.Arm), c, b.params, done); err != nil {
			return err
		}
	}
	for _, run := range b.curve {
		run.reading = b.reading.under(run.Arm)
		if run == simultaneous {
			run.reading.spans = b.reading.spansOf(s.Spans)
		}
		if err := run.send(run.reading, c, b.params, done); err != nil {
			return err
		}
	}
	return nil
}

// runs makes room for the rows of all runs, one after another.
func (b *beside) runs(arms []result.ArmsRun) (runs []*armRun, rows []result.ArmRow, relations []result.ArmRelationRow) {
	n := 0
	for _, arm := range arms {
		n += result.Phases * len(arm.Grid.Configs())
	}
	rows, relations = make([]result.ArmRow, n), make([]result.ArmRelationRow, n)
	n = 0
	for _, arm := range arms {
		end := n + result.Phases*len(arm.Grid.Configs())
		runs = append(runs, &armRun{
			ArmsRun: arm, rows: rows[n:end], relations: relations[n:end],
		})
		n = end
	}
	return runs, rows, relations
}

// send sends all configurations of the run over a reading.
func (a *armRun) send(rd *reading, c *crew, p Params, done func()) error {
	p.Grid = a.Grid
	configs := p.Grid.Configs()
	name := rd.trace.Name
	l := newLedger(rd, configs, func(all ...given) error {
		for _, g := range all {
			at := result.Phases * g.Config
			for i, row := range g.Outcome.PhaseRows(name, configs[g.Config]) {
				a.rows[at+i] = result.ArmRow{PhaseRow: row, Arm: a.Arm}
			}
			for i, row := range g.Outcome.RelationRows(name, configs[g.Config]) {
				a.relations[at+i] = result.ArmRelationRow{RelationRow: row, Arm: a.Arm}
			}
			if s := rd.spans; s != nil {
				copy(a.spans[s.count*g.Config:], s.rows(name, configs[g.Config], g.spans))
			}
			done()
		}
		return nil
	})
	return p.tasks(rd, every(len(configs)), l, c.send, c.endDeal)
}
