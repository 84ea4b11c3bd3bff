package report

import (
	"encoding/csv"
	"io"

	"kvfanin/internal/probe"
)

// ProbeCases is the cases there are.
type ProbeCases struct {
	Cases []*probe.Case
}

// Text writes a line a case.
func (l *ProbeCases) Text(w io.Writer) error {
	var p page
	var target *probe.Target
	for _, c := range l.Cases {
		if c.Target != target {
			target = c.Target
			p.title(target.Name)
			p.text(target.Title)
			p.blank()
		}
		p.item(c.Name + ": " + c.Why)
	}
	return p.writeTo(w)
}

// JSON writes the cases with their parameters and what is expected of them.
func (l *ProbeCases) JSON(w io.Writer) error {
	type entry struct {
		Case       string           `json:"case"`
		Target     string           `json:"target"`
		Why        string           `json:"why"`
		Removes    string           `json:"removes,omitempty"`
		Apart      string           `json:"may_differ_from_the_model_because,omitempty"`
		Parameters probe.Parameters `json:"parameters"`
		Expected   probe.Expected   `json:"expected"`
	}
	list := make([]entry, len(l.Cases))
	for i, c := range l.Cases {
		list[i] = entry{c.Name, c.Target.Name, c.Why, c.Removes, c.Apart, c.Parameters, c.Expected(nil)}
	}
	return writeJSON(w, struct {
		Cases []entry `json:"cases"`
	}{list})
}

// CSV writes a line a case.
func (l *ProbeCases) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"case", "target", "why"}}
	for _, c := range l.Cases {
		lines = append(lines, []string{c.Name, c.Target.Name, c.Why})
	}
	return out.WriteAll(lines)
}
