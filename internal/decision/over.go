package decision

import (
	"fmt"

	"kvfanin/internal/findings"
)

// Elsewhere is what the same inputs come to in the other configurations that
// were asked for.
type Elsewhere struct {
	Configurations int `json:"configurations"`
	NotJustified   int `json:"not_justified"`
	Justified      int `json:"justified"`
	Undecided      int `json:"undecided"`
}

// Over decides for each curve of a trace that is asked for, at the effective
// window of the inputs. It returns the decision for the one with the largest
// redundancy there, which is the most favourable to coordination (the first of
// equals), and counts the others.
//
// It returns an error if nothing was run beside the grid, if no curve is asked
// for, if the window is beyond the curves, or if the inputs do not do.
func Over(f *findings.Findings, in Inputs, asked func(*findings.Curve) bool) (*Decision, error) {
	if a := f.Why(findings.SensitivityFinding); a != nil {
		return nil, fmt.Errorf("%s: %s: run kvfanin study with %s", f.Trace, a.Reason, a.Flag)
	}
	windowMS, err := in.EffectiveWindowMS(int(f.Profile.BlockTokens))
	if err != nil {
		return nil, err
	}
	var best *Decision
	var largest float64
	var verdicts Elsewhere
	for i := range f.Sensitivity.Curves {
		c := &f.Sensitivity.Curves[i]
		if !asked(c) {
			continue
		}
		traffic, err := TrafficAt(f, c, windowMS)
		if err != nil {
			return nil, err
		}
		d, err := Decide(in, traffic)
		if err != nil {
			return nil, err
		}
		verdicts.add(d.Verdict, 1)
		if best == nil || traffic.Redundancy.Measured > largest {
			best, largest = d, traffic.Redundancy.Measured
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%s: no configuration that was asked for was run", f.Trace)
	}
	verdicts.add(best.Verdict, -1)
	best.Elsewhere = &verdicts
	return best, nil
}

func (e *Elsewhere) add(v Verdict, n int) {
	e.Configurations += n
	switch v {
	case NotJustified:
		e.NotJustified += n
	case Justified:
		e.Justified += n
	default:
		e.Undecided += n
	}
}
