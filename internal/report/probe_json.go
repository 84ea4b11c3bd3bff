package report

import (
	"io"

	"kvfanin/internal/probe"
)

// probeSchema is the version of what JSON writes. docs/probe.schema.json is its
// schema.
const probeSchema = 1

// JSON writes all cases as one document, which `probe run --expect` reads. The
// timeline is not in it: it is a file of its own.
func (p *Probe) JSON(w io.Writer) error {
	type difference struct {
		Snapshot string      `json:"snapshot"`
		Count    string      `json:"count"`
		Expected probe.Range `json:"expected"`
		Got      *int64      `json:"got"`
	}
	type model struct {
		Attempts     int64  `json:"attempts"`
		Cohorts      int64  `json:"cohorts"`
		FanInMax     int64  `json:"fanin_max"`
		Loads        int64  `json:"loads"`
		Blocks       int64  `json:"blocks_loaded"`
		MostOfOne    int64  `json:"loads_of_one_block_max"`
		Agrees       bool   `json:"agrees"`
		MayDifferFor string `json:"may_differ_because,omitempty"`
	}
	type outcome struct {
		Case        string            `json:"case"`
		Target      string            `json:"target"`
		Why         string            `json:"why"`
		Versions    map[string]string `json:"versions"`
		Tried       bool              `json:"release_was_tried"`
		Parameters  probe.Parameters  `json:"parameters"`
		Verdict     string            `json:"verdict"`
		Counts      probe.Counts      `json:"counts"`
		Expected    probe.Expected    `json:"expected"`
		Differences []difference      `json:"differences"`
		Model       *model            `json:"model"`
		NotReal     []string          `json:"not_real"`
		Notes       []string          `json:"notes"`
		Error       string            `json:"error,omitempty"`
		Detail      string            `json:"error_detail,omitempty"`
	}
	doc := struct {
		Schema int       `json:"schema"`
		Holds  bool      `json:"holds"`
		Cases  []outcome `json:"cases"`
		NotRun []string  `json:"not_run"`
	}{probeSchema, true, []outcome{}, append([]string{}, p.Left...)}
	for _, o := range p.Outcomes {
		one := outcome{
			Case:        o.Case.Name,
			Target:      o.Case.Target.Name,
			Why:         o.Case.Why,
			Versions:    o.Versions,
			Tried:       o.Tried,
			Parameters:  o.Case.Parameters,
			Verdict:     "holds",
			Counts:      o.Observed,
			Expected:    o.Expected,
			Differences: []difference{},
			NotReal:     []string{},
			Notes:       []string{},
			Detail:      o.Detail,
		}
		if one.Counts == nil {
			one.Counts = probe.Counts{}
		}
		if one.Expected == nil {
			one.Expected = probe.Expected{}
		}
		switch {
		case o.Err != nil:
			one.Verdict, one.Error = "failed", o.Err.Error()
		case len(o.Differences) > 0:
			one.Verdict = "differs"
		case len(o.Expected) == 0:
			one.Verdict = "not_compared"
		}
		doc.Holds = doc.Holds && o.Holds()
		for _, d := range o.Differences {
			one.Differences = append(one.Differences, difference{d.Snapshot, d.Count, d.Want, d.Got})
		}
		if o.Result != nil {
			one.NotReal = append(one.NotReal, o.Result.NotReal...)
			one.Notes = append(one.Notes, o.Result.Notes...)
		}
		if m := o.Model; m != nil {
			one.Model = &model{m.Attempts, m.Cohorts, m.FanIn, m.Loads, m.Blocks, m.Most, m.Agrees(), o.Case.Apart}
		}
		doc.Cases = append(doc.Cases, one)
	}
	return writeJSON(w, doc)
}
