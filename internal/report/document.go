package report

import (
	"io"
	"strconv"
	"strings"

	"kvfanin/internal/findings"
	"kvfanin/internal/rundir"
)

// DocumentSchema names the JSON form of a Document.
const DocumentSchema = "kvfanin.report/1"

// Document is what a finished run says, with what was run: the value behind
// the page, its Markdown and its JSON. docs/report.md has its schema.
type Document struct {
	Schema     string            `json:"schema"`
	Version    string            `json:"version"` // of kvfanin, that made the run
	Parameters rundir.Parameters `json:"parameters"`
	Traces     []DocumentTrace   `json:"traces"`

	study *Study
}

// DocumentTrace is one trace of a Document.
type DocumentTrace struct {
	Source   rundir.TraceEntry  `json:"source"`
	Answer   Answer             `json:"answer"`
	Findings *findings.Findings `json:"findings"`
}

// DocumentOf returns the document of a finished run.
func DocumentOf(run *rundir.Run) *Document {
	return NewDocument(run.Manifest.Header, StudyOf(run))
}

// NewDocument returns the document of a study, which has the traces of the
// header.
func NewDocument(h rundir.Header, study *Study) *Document {
	d := &Document{Schema: DocumentSchema, Version: h.Version, Parameters: h.Parameters, study: study}
	for i, f := range study.Traces {
		a := AnswerOf(f)
		d.Traces = append(d.Traces, DocumentTrace{
			Source:   h.Traces[i],
			Answer:   Answer{Plain(a.Overlap), Plain(a.Origin), Plain(a.Survives)},
			Findings: f,
		})
	}
	return d
}

// JSON writes the document.
func (d *Document) JSON(w io.Writer) error { return writeJSON(w, d) }

// Text writes the tables of the study, as kvfanin study prints them.
func (d *Document) Text(w io.Writer) error { return d.study.Text(w) }

// Warning says that a run under a control is no measurement; empty if it is one.
func (d *Document) Warning() string { return notMeasured(d.Parameters.Control) }

func notMeasured(control string) string {
	if !broken(control) {
		return ""
	}
	return "Not a measurement: the model was broken on purpose (" + control + ")."
}

// Names returns the names of the traces as a sentence has them.
func (d *Document) Names() string {
	var names []string
	for i := range d.Traces {
		names = append(names, d.Traces[i].Source.Name)
	}
	return list(names)
}

// Grid says what grid was run, in words.
func (d *Document) Grid() string {
	g := &d.Parameters.Grid
	return plural(len(g.Configs()), "configuration") + ": " + strings.Join([]string{
		"lookup " + strings.Join(g.Lookups, ", "),
		"routing " + strings.Join(g.Routings, ", "),
		"instances " + joined(g.Instances, count[int]),
		"blocks each " + joined(g.CapacitiesBlocks, count[int]),
		"load windows " + joined(g.WindowsMS, func(ms int64) string { return together(duration(ms)) }),
	}, "; ")
}

func joined[T any](values []T, text func(T) string) string {
	var all []string
	for _, v := range values {
		all = append(all, text(v))
	}
	return strings.Join(all, " · ")
}

// Commands returns the commands that make the run and this document again. The
// place of a trace is not known, only what it must hash to.
func (d *Document) Commands() []string {
	p := &d.Parameters
	study := []string{"kvfanin study"}
	for i := range d.Traces {
		t := &d.Traces[i].Source
		study = append(study, t.Name+"=TRACE"+map[bool]string{true: strconv.Itoa(i + 1)}[len(d.Traces) > 1])
	}
	list := func(flag string, values ...string) { study = append(study, flag+" "+strings.Join(values, ",")) }
	list("--lookup", p.Lookups...)
	list("--routing", p.Routings...)
	list("--instances", each(p.Instances, strconv.Itoa)...)
	list("--capacity", each(p.CapacitiesBlocks, strconv.Itoa)...)
	list("--window", each(p.WindowsMS, func(ms int64) string { return strconv.FormatInt(ms, 10) + "ms" })...)
	list("--warmup", p.Warmup)
	list("--block-size", strconv.Itoa(p.BlockTokens))
	if broken(p.Control) {
		list("--control", p.Control)
	}
	if p.Cohorts != rundir.CohortsOff {
		list("--cohorts", p.Cohorts)
	}
	for i := range d.Traces {
		if d.Traces[i].Source.Sorted {
			study = append(study, "--sort")
			break
		}
	}
	if s := p.Sensitivity; s != nil {
		study = append(study, "--sensitivity")
		list("--seeds", strconv.Itoa(s.Seeds))
		list("--threshold", each(s.ThresholdShares, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })...)
	}
	study = append(study, "-o run")
	return []string{strings.Join(study, " "), "kvfanin verify run", "kvfanin report run"}
}

func each[T any](values []T, text func(T) string) (all []string) {
	for _, v := range values {
		all = append(all, text(v))
	}
	return all
}
