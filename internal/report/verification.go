package report

import (
	"encoding/csv"
	"fmt"
	"io"

	"kvfanin/internal/rundir"
)

// Verification is what a check of a run directory found.
type Verification struct {
	Dir      string
	Summary  rundir.Summary
	Findings []rundir.Finding
}

// Text writes a line a finding, and what was looked at.
func (v *Verification) Text(w io.Writer) error {
	var p page
	for _, f := range v.Findings {
		p.buf.WriteString(f.String() + "\n")
	}
	s := &v.Summary
	verdict := "verified: the manifest, every file and every identity holds"
	if s.Findings > 0 {
		verdict = "NOT verified: " + plural(s.Findings, "finding")
	}
	fmt.Fprintf(&p.buf, "%s: %s\n", v.Dir, verdict)
	p.line(fmt.Sprintf("%s, %s, %s rows, %s bytes looked at",
		plural(s.Traces, "trace"), plural(s.Files, "file"), count(s.Rows), count(s.Bytes)))
	return p.writeTo(w)
}

// JSON writes the findings and what was looked at as one document.
func (v *Verification) JSON(w io.Writer) error {
	type finding struct {
		File   string `json:"file"`
		Check  string `json:"check"`
		Detail string `json:"detail"`
	}
	list := make([]finding, len(v.Findings))
	for i, f := range v.Findings {
		list[i] = finding{f.File, f.Check, f.Detail}
	}
	return writeJSON(w, struct {
		Verified bool      `json:"verified"`
		Traces   int       `json:"traces"`
		Files    int       `json:"files"`
		Rows     int64     `json:"rows"`
		Bytes    int64     `json:"bytes"`
		Findings []finding `json:"findings"`
	}{v.Summary.Findings == 0, v.Summary.Traces, v.Summary.Files, v.Summary.Rows, v.Summary.Bytes, list})
}

// CSV writes a line a finding.
func (v *Verification) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"file", "check", "detail"}}
	for _, f := range v.Findings {
		lines = append(lines, []string{f.File, f.Check, f.Detail})
	}
	return out.WriteAll(lines)
}
