package decision

import (
	"encoding/json"
	"fmt"

	"kvfanin/internal/result"
)

// Traffic is what a run says of one configuration at one effective window. All
// figures are of the steady phase.
type Traffic struct {
	Trace  string        `json:"trace"`
	Config result.Config `json:"configuration"` // WindowMS is the effective window the evidence is of

	RequestsPerS       float64 `json:"requests_per_s"` // of the trace as recorded; 0 if it has no extent in time
	LookupsPerRequest  float64 `json:"lookups_per_request"`
	AttemptsPerRequest float64 `json:"attempts_per_request"`
	BlockTokens        int     `json:"block_tokens"`

	Redundancy        Evidence `json:"redundancy"`         // of all joins
	WithoutExtensions Evidence `json:"without_extensions"` // joins that a closed loop may forbid left out

	DuplicateCohorts           int64   `json:"duplicate_cohorts"` // behind Redundancy.Measured
	DuplicateCohortsPerRequest float64 `json:"duplicate_cohorts_per_request"`

	Curve      []Point     `json:"curve"`      // ascending; ties read as simultaneous
	Thresholds []Threshold `json:"thresholds"` // what was measured to the ms
}

// Evidence is joins ÷ attempts with what it hangs on.
type Evidence struct {
	Measured float64 `json:"measured"`
	// Low and High are the ends over all readings of equal timestamps, the
	// windows that lie next to it, and the bootstrap interval.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Why names each of those with its own ends: "ties: 0 % – 0.0061 %".
	Why []string `json:"why"`
}

// Point is the redundancy under one effective window.
type Point struct {
	WindowMS          int64   `json:"window_ms"`
	Redundancy        float64 `json:"redundancy"`
	WithoutExtensions float64 `json:"without_extensions"`
}

// Threshold is the smallest effective window at which the redundancy reaches
// Share, to the ms.
type Threshold struct {
	Share             float64 `json:"share"`
	WindowMS          int64   `json:"window_ms"` // 0: not reached in the range of the curve
	WithoutExtensions bool    `json:"without_extensions"`
}

// Configuration is a result.Config as JSON has it.
type Configuration struct {
	Lookup         string `json:"lookup"`
	Routing        string `json:"routing"`
	Instances      int    `json:"instances"`
	CapacityBlocks int    `json:"capacity_blocks"` // of each instance
	WindowMS       int64  `json:"window_ms"`       // effective
}

// MarshalJSON writes t in the form that decide.js takes.
func (t Traffic) MarshalJSON() ([]byte, error) {
	type plain Traffic
	return json.Marshal(struct {
		plain
		Config Configuration `json:"configuration"`
	}{plain(t), Configuration(t.Config)})
}

// check returns an error that names the first figure that cannot be. It is the
// caller that fills them in, so nothing here is for a user to mend.
func (t *Traffic) check() error {
	finite := func(name string, x float64) error {
		if !(x >= 0 && x <= 1e12) || x > 0 && x < least {
			return fmt.Errorf("%s of %s is %s, want 0 or a number from 1e-12 to 1e12", name, t.Trace, exact(x))
		}
		return nil
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"requests_per_s", t.RequestsPerS},
		{"lookups_per_request", t.LookupsPerRequest},
		{"attempts_per_request", t.AttemptsPerRequest},
		{"duplicate_cohorts_per_request", t.DuplicateCohortsPerRequest},
	} {
		if err := finite(f.name, f.value); err != nil {
			return err
		}
	}
	switch {
	case t.AttemptsPerRequest > t.LookupsPerRequest:
		return fmt.Errorf("%s has more attempts than lookups: %s > %s a request", t.Trace, exact(t.AttemptsPerRequest), exact(t.LookupsPerRequest))
	case t.DuplicateCohortsPerRequest > t.AttemptsPerRequest:
		return fmt.Errorf("%s has more duplicate cohorts than attempts: %s > %s a request", t.Trace, exact(t.DuplicateCohortsPerRequest), exact(t.AttemptsPerRequest))
	case (t.DuplicateCohorts > 0) != (t.DuplicateCohortsPerRequest > 0):
		return fmt.Errorf("%s has %d duplicate cohorts and %s a request", t.Trace, t.DuplicateCohorts, exact(t.DuplicateCohortsPerRequest))
	}
	for _, e := range []struct {
		name string
		Evidence
	}{{"redundancy", t.Redundancy}, {"redundancy without extensions", t.WithoutExtensions}} {
		if !(0 <= e.Low && e.Low <= e.Measured && e.Measured <= e.High && e.High <= 1) {
			return fmt.Errorf("%s of %s is %s from %s to %s, want 0 <= low <= measured <= high <= 1",
				e.name, t.Trace, exact(e.Measured), exact(e.Low), exact(e.High))
		}
	}
	for i, p := range t.Curve {
		if i > 0 && p.WindowMS <= t.Curve[i-1].WindowMS {
			return fmt.Errorf("curve of %s: %d ms after %d ms, want windows that ascend", t.Trace, p.WindowMS, t.Curve[i-1].WindowMS)
		}
		if !(p.Redundancy >= 0 && p.Redundancy <= 1 && p.WithoutExtensions >= 0 && p.WithoutExtensions <= 1) {
			return fmt.Errorf("curve of %s at %d ms: want redundancies from 0 to 1", t.Trace, p.WindowMS)
		}
	}
	return nil
}
