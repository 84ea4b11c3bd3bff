package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"kvfanin/internal/result"
)

// Schema names the layout and meaning of a run directory of this version.
const Schema = schemaFamily + "1"

// schemaFamily starts the schema of every version; by it a directory is known
// to be a run of kvfanin at all.
const schemaFamily = "kvfanin.run/"

// Header is all that is decided before a run starts. It opens the manifest,
// and a run can only be resumed under an equal one.
type Header struct {
	Schema     string       `json:"schema"`  // Schema; Create fills it in
	Version    string       `json:"version"` // of kvfanin
	Parameters Parameters   `json:"parameters"`
	Traces     []TraceEntry `json:"traces"` // in the order they were given
}

// Parameters is what was asked of every trace.
type Parameters struct {
	BlockTokens int    `json:"block_tokens"`
	Warmup      string `json:"warmup"` // share of the last timestamp, as an exact decimal
	result.Grid
	Control string `json:"control,omitempty"` // rule of the model that was broken on purpose; empty in a measurement
	Cohorts string `json:"cohorts"`           // CohortsOff or a result.CohortFormat

	Sensitivity *result.Sensitivity `json:"sensitivity,omitempty"` // what was run beside the grid
}

// CohortsOff is the value of Parameters.Cohorts under which no cohort file is
// written.
const CohortsOff = "off"

// TraceEntry identifies a trace by the bytes it was read from and by its size.
type TraceEntry struct {
	Name              string `json:"name"` // its directory
	SHA256            string `json:"sha256"`
	GitBlob           string `json:"git_blob"`
	Bytes             int64  `json:"bytes"`
	Requests          int64  `json:"requests"`
	Lookups           int64  `json:"lookups"`
	DroppedDuplicates int64  `json:"dropped_duplicates"` // hashes that stood a second time in one request
	Sorted            bool   `json:"sorted"`             // the file was out of order and was sorted by arrival
}

// maxInstances bounds the instances of all configurations together, so that a
// damaged manifest cannot ask for more than memory holds. The study has 2,604
// for each trace.
const maxInstances = 1 << 20

// check returns an error if no run can be laid out for h.
func (h *Header) check() error {
	if err := h.Parameters.check(); err != nil {
		return err
	}
	if len(h.Traces) == 0 {
		return errors.New("no traces")
	}
	if h.instances() > maxInstances {
		return fmt.Errorf("a grid of more than %d instances over all traces and configurations", maxInstances)
	}
	// Some file systems take names for equal that differ in case.
	names := make(map[string]string)
	for _, t := range h.Traces {
		if err := checkName(t.Name); err != nil {
			return fmt.Errorf("trace name %q: %w", t.Name, err)
		}
		if other, ok := names[strings.ToLower(t.Name)]; ok {
			return fmt.Errorf("two traces named %q and %q: their directories would be one", other, t.Name)
		}
		names[strings.ToLower(t.Name)] = t.Name
	}
	return nil
}

// instances returns the number of instances of all configurations of all
// traces, or some number above maxInstances.
func (h *Header) instances() int {
	p := &h.Parameters
	sum := 0
	for _, n := range p.Instances {
		sum += min(n, maxInstances+1) // the list came from memory: no overflow
	}
	for _, n := range []int{len(p.Lookups), len(p.Routings), len(p.CapacitiesBlocks), len(p.WindowsMS), len(h.Traces)} {
		sum = min(sum, maxInstances+1) * n
	}
	return sum
}

func (p *Parameters) check() error {
	if p.Cohorts != CohortsOff && !slices.Contains(result.CohortFormats(), result.CohortFormat(p.Cohorts)) {
		return fmt.Errorf("cohorts %q: no such format", p.Cohorts)
	}
	for _, axis := range []struct {
		name string
		err  error
	}{
		{"lookups", checkWords(p.Lookups)},
		{"routings", checkWords(p.Routings)},
		{"instances", checkAmounts(p.Instances, 1)},
		{"capacities_blocks", checkAmounts(p.CapacitiesBlocks, 0)},
		{"windows_ms", checkAmounts(p.WindowsMS, 0)},
	} {
		if axis.err != nil {
			return fmt.Errorf("%s: %w", axis.name, axis.err)
		}
	}
	if p.Sensitivity != nil {
		if err := p.Sensitivity.Check(&p.Grid); err != nil {
			return fmt.Errorf("sensitivity: %w", err)
		}
	}
	return nil
}

// checkWords holds the values of an axis to what can stand in a file name.
func checkWords(words []string) error {
	for _, w := range words {
		if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fmt.Errorf("%q is not a lower-case word", w)
		}
	}
	return checkDistinct(words)
}

func checkAmounts[T int | int64](amounts []T, least T) error {
	for _, a := range amounts {
		if a < least {
			return fmt.Errorf("%d is below %d", a, least)
		}
	}
	return checkDistinct(amounts)
}

func checkDistinct[T comparable](values []T) error {
	if len(values) == 0 {
		return errors.New("none given")
	}
	seen := make(map[T]bool, len(values))
	for _, v := range values {
		if seen[v] {
			return fmt.Errorf("%v stands twice", v)
		}
		seen[v] = true
	}
	return nil
}

// checkName returns an error if name cannot stand in the rows, or cannot be a
// directory beside the manifest and what a run in the making has.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > 100:
		return errors.New("is longer than 100 bytes")
	case strings.ContainsFunc(name, func(r rune) bool {
		return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	}):
		return errors.New("has more than letters A-Z a-z, digits, '.', '_' and '-': give another with NAME=PATH")
	case strings.HasPrefix(name, "."):
		return errors.New("begins with a dot: give another with NAME=PATH")
	case strings.EqualFold(name, manifestName):
		return errors.New("is that of the manifest: give another with NAME=PATH")
	}
	return nil
}

// encode returns h as it is compared and stored.
func (h *Header) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and integers only
	}
	return b
}

// otherRun is the error that a run was made under another header.
type otherRun struct{ difference string }

func (e otherRun) Error() string {
	return "holds an interrupted run of something else (" + e.difference + "): --force starts afresh, or choose another directory"
}

// sameRun returns an otherRun unless was, an encoded header, is that of is.
func sameRun(was []byte, is *Header) error {
	if bytes.Equal(was, is.encode()) {
		return nil
	}
	var h Header
	if err := json.Unmarshal(was, &h); err != nil {
		return otherRun{"written by another version"}
	}
	return otherRun{difference(&h, is)}
}

// difference names what differs between two headers.
func difference(was, is *Header) string {
	var diff []string
	add := func(what string, was, is any) {
		a, b := fields(was), fields(is)
		keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if !bytes.Equal(a[key], b[key]) {
				diff = append(diff, fmt.Sprintf("%s%s was %s, is %s", what, key, orNothing(a[key]), orNothing(b[key])))
			}
		}
	}
	add("", head{was.Schema, was.Version}, head{is.Schema, is.Version})
	add("", was.Parameters, is.Parameters)
	if a, b := was.names(), is.names(); slices.Equal(a, b) {
		for i := range is.Traces {
			add("trace "+is.Traces[i].Name+": ", was.Traces[i], is.Traces[i])
		}
	} else {
		diff = append(diff, fmt.Sprintf("traces were %s, are %s", strings.Join(a, ", "), strings.Join(b, ", ")))
	}
	return strings.Join(diff, "; ")
}

// head is what every version of a header has.
type head struct {
	Schema  string `json:"schema"`
	Version string `json:"version"`
}

// orNothing returns the text of a value, or says that there is none.
func orNothing(value json.RawMessage) string {
	const most = 80
	switch {
	case value == nil:
		return "not given"
	case len(value) > most:
		return string(value[:most]) + "…"
	}
	return string(value)
}

// fields returns the members of the JSON object that v is written as.
func fields(v any) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		panic(err) // strings and integers only
	}
	return m
}

func (h *Header) names() []string {
	var names []string
	for _, t := range h.Traces {
		names = append(names, t.Name)
	}
	return names
}
