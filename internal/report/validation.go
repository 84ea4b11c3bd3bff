package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	"kvfanin/internal/trace"
)

// Validation writes the problems of traces as they are found: their number
// has no bound.
type Validation interface {
	// Problem writes one problem.
	Problem(trace.Problem)
	// Summary ends a trace, read from file.
	Summary(file string, s trace.Summary)
	// Flush writes what is left and returns the first error of all.
	Flush() error
}

// NewValidation returns a Validation in a format: "json" is a line an object,
// "csv" a line a problem, anything else text.
func NewValidation(w io.Writer, format string) Validation {
	out := bufio.NewWriter(w)
	switch format {
	case "json":
		return &jsonValidation{out, json.NewEncoder(out)}
	case "csv":
		v := &csvValidation{out, csv.NewWriter(out)}
		v.line("file", "line", "field", "kind", "got", "want")
		return v
	default:
		return &textValidation{out}
	}
}

type textValidation struct{ *bufio.Writer }

func (v *textValidation) Problem(p trace.Problem) {
	_, _ = v.WriteString(p.Error() + "\n") // Flush returns the error, here as below
}

func (v *textValidation) Summary(file string, s trace.Summary) {
	var p page
	p.buf.WriteString(file + ": " + plural(s.Records, "request") + ", " + plural(s.Lookups, "lookup"))
	if s.Dropped > 0 {
		p.buf.WriteString(", " + count(s.Dropped) + " hashes repeated within a request and counted once")
	}
	if s.Problems == 0 {
		p.buf.WriteString(": no problem\n")
	} else {
		p.buf.WriteString(": " + plural(s.Problems, "problem") + "\n")
		t := table{left: 1}
		for _, kind := range slices.Sorted(maps.Keys(s.ByKind)) {
			t.row(string(kind), count(s.ByKind[kind]))
		}
		p.table(&t)
	}
	_ = p.writeTo(v)
}

type jsonValidation struct {
	*bufio.Writer
	*json.Encoder
}

func (v *jsonValidation) Problem(p trace.Problem) {
	_ = v.Encode(struct {
		File  string     `json:"file"`
		Line  int64      `json:"line"`
		Field string     `json:"field"`
		Kind  trace.Kind `json:"kind"`
		Got   string     `json:"got"`
		Want  string     `json:"want"`
		Hint  string     `json:"hint,omitempty"`
	}(p))
}

func (v *jsonValidation) Summary(file string, s trace.Summary) {
	_ = v.Encode(struct {
		File     string               `json:"file"`
		Requests int64                `json:"requests"`
		Lookups  int64                `json:"lookups"`
		Dropped  int64                `json:"dropped_duplicates"`
		Problems int64                `json:"problems"`
		ByKind   map[trace.Kind]int64 `json:"problems_by_kind"`
	}{file, s.Records, s.Lookups, s.Dropped, s.Problems, s.ByKind})
}

type csvValidation struct {
	out *bufio.Writer
	csv *csv.Writer
}

func (v *csvValidation) line(fields ...string) { _ = v.csv.Write(fields) }

func (v *csvValidation) Problem(p trace.Problem) {
	v.line(p.File, strconv.FormatInt(p.Line, 10), p.Field, string(p.Kind), p.Got, p.Want)
}

// Summary writes nothing: a line is a problem, and lines can be counted.
func (v *csvValidation) Summary(string, trace.Summary) {}

func (v *csvValidation) Flush() error {
	v.csv.Flush()
	if err := v.csv.Error(); err != nil {
		return err
	}
	return v.out.Flush()
}
