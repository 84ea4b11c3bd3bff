package findings

import (
	"iter"
	"math/big"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
)

// Findings is what the rows of one trace say, all of it over the steady phase.
// A share lies between 0 and 1; none is in percent. A finding that the rows
// do not allow is null, and Absent says why.
type Findings struct {
	Trace   string           `json:"trace"`
	Phase   string           `json:"phase"`   // always steady
	Rows    int              `json:"rows"`    // of the steady phase, one a configuration
	Profile *profile.Profile `json:"profile"` // of the whole trace; the reuses inside each window are in it

	Windows  []Window  `json:"redundancy_by_window"` // ascending
	Lookups  *Lookups  `json:"lookup_difference"`
	Affinity *Affinity `json:"affinity_vs_round_robin"`

	Concentrated []Concentrated            `json:"concentration"` // by line of Windows
	All          []result.ConcentrationRow `json:"-"`             // of every row

	Sensitivity *Sensitivity `json:"sensitivity"`
	Absent      []*Absence   `json:"absent"`
}

// The findings by their names in JSON.
const (
	RedundancyByWindow   = "redundancy_by_window"
	LookupDifference     = "lookup_difference"
	AffinityVsRoundRobin = "affinity_vs_round_robin"
)

// Absence says why a finding is not there.
type Absence struct {
	Finding string `json:"finding"` // its name
	Reason  string `json:"reason"`
	// Flag is what to run the study with to get it, or empty if no flag helps.
	Flag string `json:"flag,omitempty"`
}

// Config is a result.Config as findings write it. What does not apply is
// empty: a comparison of two lookups has no Lookup.
type Config struct {
	Lookup         string `json:"lookup,omitempty"`
	Routing        string `json:"routing,omitempty"`
	Instances      int    `json:"instances"`
	CapacityBlocks int    `json:"capacity_blocks"` // of each instance
	WindowMS       int64  `json:"window_ms"`
}

// Of returns the findings of a trace: of those of rows that are the trace's
// and in the steady phase, in the order of the grid, and of its profile. asked
// is what was run beside the grid, nil if nothing was. Where several rows share
// a largest value the first of them is named.
func Of(trace string, rows *result.Rows, p *profile.Profile, asked *result.Sensitivity) *Findings {
	s := steady{
		of:             make(map[result.Config]*result.PhaseRow),
		relations:      make(map[result.Config]*result.RelationRow),
		fanIns:         make(map[fanInKey]int64),
		concentrations: rows.Concentrations,
		beside:         &rows.Beside,
	}
	for i := range rows.Phases {
		if r := &rows.Phases[i]; r.Trace == trace && r.Phase == result.Steady {
			s.rows = append(s.rows, r)
			s.of[r.Config] = r
		}
	}
	for i := range rows.Relations {
		if r := &rows.Relations[i]; r.Trace == trace && r.Phase == result.Steady {
			s.relations[r.Config] = r
		}
	}
	for i := range rows.FanIns {
		if r := &rows.FanIns[i]; r.Trace == trace && r.Phase == result.Steady {
			s.fanIns[fanInKey{r.Config, r.FanIn}] += r.Cohorts
		}
	}
	f := &Findings{
		Trace:   trace,
		Phase:   result.Steady.String(),
		Rows:    len(s.rows),
		Profile: p,
		Absent:  []*Absence{},
		All:     rows.Concentrations,
	}
	var absent [4]*Absence
	f.Windows, absent[0] = windowsOf(&s, p.SmallestPositiveGapMS)
	f.Lookups, absent[1] = lookupsOf(&s)
	f.Affinity, absent[2] = affinityOf(&s)
	f.Concentrated = concentratedOf(&s, f.Windows)
	f.Sensitivity, absent[3] = sensitivityOf(&s, asked)
	for _, a := range absent {
		if a != nil {
			f.Absent = append(f.Absent, a)
		}
	}
	return f
}

// SteadyRequestsPerS returns the rate of requests over the steady phase, 0 where
// that has no extent in time or nothing was run beside the grid.
func (f *Findings) SteadyRequestsPerS() float64 {
	s := f.Sensitivity
	if s == nil || len(s.Curves) == 0 || f.Profile.LastTimestampMS == nil {
		return 0
	}
	ms := *f.Profile.LastTimestampMS - s.StartMS
	if ms <= 0 {
		return 0
	}
	return float64(s.Curves[0].Points[0].Requests) / (float64(ms) / 1000)
}

// Why returns why the finding of that name is absent, nil if it is not.
func (f *Findings) Why(finding string) *Absence {
	for _, a := range f.Absent {
		if a.Finding == finding {
			return a
		}
	}
	return nil
}

// steady is the rows of a trace in the steady phase.
type steady struct {
	rows           []*result.PhaseRow
	of             map[result.Config]*result.PhaseRow
	relations      map[result.Config]*result.RelationRow
	fanIns         map[fanInKey]int64 // cohorts of a fan-in
	concentrations []result.ConcentrationRow
	beside         *result.Beside
}

type fanInKey struct {
	result.Config
	fanIn int64
}

// extensions returns the joins of a row that may be the next turn of a
// conversation.
func (s *steady) extensions(c result.Config) int64 {
	if r := s.relations[c]; r != nil {
		return r.Extension
	}
	return 0
}

const noRows = "there is no row of this trace in the steady phase"

// axis is a part of a configuration that has names.
type axis struct {
	flag string // on the command line
	name func(*result.Config) *string
}

var (
	lookupAxis  = axis{"--lookup", func(c *result.Config) *string { return &c.Lookup }}
	routingAxis = axis{"--routing", func(c *result.Config) *string { return &c.Routing }}
)

// pairs yields, for each row that has the name a, it and the row that has b
// and is otherwise the same.
func (s *steady) pairs(x axis, a, b string) iter.Seq2[*result.PhaseRow, *result.PhaseRow] {
	return func(yield func(*result.PhaseRow, *result.PhaseRow) bool) {
		for _, row := range s.rows {
			other := row.Config
			if name := x.name(&other); *name == a {
				*name = b
			} else {
				continue
			}
			if s.of[other] != nil && !yield(row, s.of[other]) {
				return
			}
		}
	}
}

// unpaired says why there are no pairs of a and b.
func (s *steady) unpaired(finding string, x axis, a, b string) *Absence {
	absence := &Absence{Finding: finding}
	var hasA, hasB bool
	for _, row := range s.rows {
		name := *x.name(&row.Config)
		hasA, hasB = hasA || name == a, hasB || name == b
	}
	switch {
	case len(s.rows) == 0:
		absence.Reason = noRows
		return absence
	case hasA && hasB:
		absence.Reason = "no two rows differ in nothing but " + a + " and " + b
		return absence
	case hasA:
		absence.Reason = b + " was not run"
	case hasB:
		absence.Reason = a + " was not run"
	default:
		absence.Reason = "neither " + a + " nor " + b + " was run"
	}
	absence.Flag = x.flag + " " + a + "," + b
	return absence
}

// ratio returns joins ÷ attempts exactly, 0 where there are no attempts.
func ratio(c *result.Counts) *big.Rat {
	if c.Attempts == 0 {
		return new(big.Rat)
	}
	return big.NewRat(c.Joins, c.Attempts)
}

// float returns the float64 nearest to x.
func float(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}
