package result

import (
	"fmt"
	"slices"
)

// This file holds the rows of what a run does beside its grid, to see how far
// its figures depend on what the model takes for granted.

// Readings of equal timestamps. A trace that steps by seconds does not say in
// which order, or how far apart, the requests of one step came.
const (
	// Simultaneous takes them as they stand: at one time, as published.
	Simultaneous = "simultaneous"
	// Even spreads them evenly, in file order, over the time to the next
	// timestamp.
	Even = "even"
	// Random spreads them over it at random, in file order.
	Random = "random"
)

// Arm says how a row reads its trace, beside its configuration.
type Arm struct {
	Ties string // Simultaneous, Even or Random
	Seed int64  // of what is drawn; 0 where nothing is
}

// ArmRow is a row of arms.csv or of curve.csv: a PhaseRow under an arm.
type ArmRow struct {
	PhaseRow
	Arm
}

// ArmRelationRow is a row of arm_relations.csv or of curve_relations.csv: a
// RelationRow under an arm.
type ArmRelationRow struct {
	RelationRow
	Arm
}

// SpanCount is what a span of time counted.
type SpanCount struct {
	Attempts  int64
	Joins     int64
	Extension int64 // of the joins
}

// Add adds s to c.
func (c *SpanCount) Add(s SpanCount) {
	c.Attempts += s.Attempts
	c.Joins += s.Joins
	c.Extension += s.Extension
}

// SpanRow is a row of spans.csv: one configuration of the curve, one span of
// the steady phase. The spans of a trace are equally long and follow one
// another.
type SpanRow struct {
	Trace string
	Config
	Span    int   // from 0
	StartMS int64 // its first millisecond
	SpanCount
}

// ThresholdRow is a row of thresholds.csv: where the curve of a configuration
// first reaches a share.
type ThresholdRow struct {
	Trace      string
	Config            // WindowMS is the shortest window that reaches the share, 0 if none of the curve does
	Ties       string // of the curve
	Measure    string // of Measures
	Share      float64
	Redundancy float64 // by the measure, at WindowMS; without one, the largest of the curve
	Before     float64 // by the measure, one millisecond below WindowMS
}

// Measures of redundancy.
const (
	// All is joins ÷ attempts.
	All = "all"
	// WithoutExtensions leaves out the joins that a closed loop may forbid:
	// (joins - extensions) ÷ attempts.
	WithoutExtensions = "without_extensions"
)

// Measures are the measures there are.
var Measures = []string{All, WithoutExtensions}

// Beside is the rows of one trace beside its grid, in the order of their files.
type Beside struct {
	Arms           []ArmRow
	ArmRelations   []ArmRelationRow
	Curve          []ArmRow
	CurveRelations []ArmRelationRow
	Spans          []SpanRow
	Thresholds     []ThresholdRow
}

// Sensitivity is what a run was asked to do beside its grid.
type Sensitivity struct {
	Seeds           int       `json:"seeds"`            // of whatever is drawn: 1 to Seeds
	CurveWindowsMS  []int64   `json:"curve_windows_ms"` // ascending; those of the grid are among them
	Spans           int       `json:"spans"`            // of the steady phase
	ThresholdShares []float64 `json:"threshold_shares"` // ascending
}

// maxBesideRows bounds the rows of a trace beside its grid, so that a damaged
// manifest cannot ask for more than memory holds. The study has some 130,000.
const maxBesideRows = 1 << 25

// Check returns an error unless s can be run beside a grid.
func (s *Sensitivity) Check(grid *Grid) error {
	switch {
	case s.Seeds < 1 || s.Seeds > 1000:
		return fmt.Errorf("seeds %d: want 1 to 1000", s.Seeds)
	case s.Spans < 2 || s.Spans > 1000:
		return fmt.Errorf("spans %d: want 2 to 1000", s.Spans)
	case !ascend(s.ThresholdShares) || len(s.ThresholdShares) == 0 || s.ThresholdShares[0] <= 0 || s.ThresholdShares[len(s.ThresholdShares)-1] > 1:
		return fmt.Errorf("threshold_shares %v: want shares above 0, up to 1, ascending", s.ThresholdShares)
	case !ascend(s.CurveWindowsMS) || len(s.CurveWindowsMS) < 2 || s.CurveWindowsMS[0] < 1:
		return fmt.Errorf("curve_windows_ms %v: want two windows or more, of 1 ms or more, ascending", s.CurveWindowsMS)
	}
	for _, w := range grid.WindowsMS {
		if !slices.Contains(s.CurveWindowsMS, w) {
			return fmt.Errorf("curve_windows_ms: %d of the grid is missing", w)
		}
	}
	rows := len(s.CurveWindowsMS) * (s.Spans + 4)
	for _, n := range []int{len(grid.Lookups), len(grid.Routings), len(grid.Instances), len(grid.CapacitiesBlocks)} {
		rows *= min(n, maxBesideRows)
		if rows > maxBesideRows {
			return fmt.Errorf("more than %d rows", maxBesideRows)
		}
	}
	return nil
}

func ascend[T int64 | float64](values []T) bool {
	for i := 1; i < len(values); i++ {
		if values[i-1] < values[i] {
			continue
		}
		return false // NaN too
	}
	return true
}

// ArmsRun is one arm over a grid.
type ArmsRun struct {
	Arm
	Grid Grid
}

// ControlRoutings are the routings that run beside those of the grid, to tell
// what of a routing's effect is load and what is prefix; the second of them is
// drawn.
const (
	AffinityBoundedLoad = "affinity_bounded_load"
	MatchedLoad         = "matched_load"
	LeastLoaded         = "least_loaded"
)

// Arms returns the runs whose rows make arms.csv: the grid under other readings
// of equal timestamps, then with other routings.
func (s *Sensitivity) Arms(grid Grid) []ArmsRun {
	runs := []ArmsRun{{Arm{Even, 0}, grid}}
	for seed := range int64(s.Seeds) {
		runs = append(runs, ArmsRun{Arm{Random, seed + 1}, grid})
	}
	with := func(routing string, seed int64) {
		g := grid
		g.Routings = []string{routing}
		runs = append(runs, ArmsRun{Arm{Simultaneous, seed}, g})
	}
	with(AffinityBoundedLoad, 0)
	for seed := range int64(s.Seeds) {
		with(MatchedLoad, seed+1)
	}
	with(LeastLoaded, 0)
	return runs
}

// Curve returns the runs whose rows make curve.csv: the grid on the dense row of
// windows, under the two readings of equal timestamps in which nothing is drawn.
func (s *Sensitivity) Curve(grid Grid) []ArmsRun {
	grid.WindowsMS = s.CurveWindowsMS
	return []ArmsRun{{Arm{Simultaneous, 0}, grid}, {Arm{Even, 0}, grid}}
}
