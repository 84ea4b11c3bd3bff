package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kvfanin/internal/findings"
)

// ComparisonSchema names the JSON form of a Comparison.
const ComparisonSchema = "kvfanin.comparison/1"

// Comparison is two runs side by side: their tables, figure by figure, with the
// difference, B less A. docs/report.md has its schema.
type Comparison struct {
	Schema string          `json:"schema"`
	A      *Document       `json:"-"`
	B      *Document       `json:"-"`
	Traces []ComparedTrace `json:"traces"`
	OnlyA  []string        `json:"only_in_a"` // traces without a partner
	OnlyB  []string        `json:"only_in_b"`
}

// ComparedTrace is a trace of A beside one of B.
type ComparedTrace struct {
	A      *DocumentTrace  `json:"-"`
	B      *DocumentTrace  `json:"-"`
	Tables []ComparedTable `json:"tables"`
}

// ComparedTable is a table of both.
type ComparedTable struct {
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Caption string        `json:"caption"`
	Rows    []ComparedRow `json:"rows"`
	Absent  []string      `json:"absent"` // why one or both have no such table
}

// ComparedRow is a figure of both.
type ComparedRow struct {
	Row    string       `json:"row"`
	Figure string       `json:"figure"`
	Unit   string       `json:"unit"`
	A      ComparedCell `json:"a"`
	B      ComparedCell `json:"b"`
	// Difference is B less A; nil where one of them is no number.
	Difference *float64 `json:"difference"`
	difference string
}

// ComparedCell is a figure of one run as it is printed and as it was found.
type ComparedCell struct {
	Text  string   `json:"text"`
	Value *float64 `json:"value"` // nil if it is no number
}

// DifferentParameters is the error that two runs cannot be compared.
type DifferentParameters struct{ what []string }

func (e *DifferentParameters) Error() string {
	return "runs of different parameters are not compared: " + strings.Join(e.what, "; ")
}

// NoPartner is the error that no trace of one run has a partner in the other.
type NoPartner struct{ a, b string }

func (e *NoPartner) Error() string {
	return fmt.Sprintf("no trace of one run has the name of one of the other: %s against %s", e.a, e.b)
}

// flagOf is what sets a parameter, by its name in the manifest.
var flagOf = map[string]string{
	"block_tokens":      "--block-size",
	"warmup":            "--warmup",
	"lookups":           "--lookup",
	"routings":          "--routing",
	"instances":         "--instances",
	"capacities_blocks": "--capacity",
	"windows_ms":        "--window",
	"control":           "--control",
	"sensitivity":       "--sensitivity",
}

// Compare sets two runs side by side. Traces are paired by name, or with each
// other if each run has one. It returns a DifferentParameters or a NoPartner
// where that says nothing.
func Compare(a, b *Document) (*Comparison, error) {
	if what := different(a, b); len(what) > 0 {
		return nil, &DifferentParameters{what}
	}
	c := &Comparison{Schema: ComparisonSchema, A: a, B: b, OnlyA: []string{}, OnlyB: []string{}}
	partner := make(map[string]*DocumentTrace)
	for i := range b.Traces {
		partner[b.Traces[i].Source.Name] = &b.Traces[i]
	}
	if len(a.Traces) == 1 && len(b.Traces) == 1 {
		partner = map[string]*DocumentTrace{a.Traces[0].Source.Name: &b.Traces[0]}
	}
	paired := make(map[*DocumentTrace]bool)
	for i := range a.Traces {
		ta := &a.Traces[i]
		tb := partner[ta.Source.Name]
		if tb == nil {
			c.OnlyA = append(c.OnlyA, ta.Source.Name)
			continue
		}
		paired[tb] = true
		c.Traces = append(c.Traces, comparedTrace(ta, tb, a.Parameters.Warmup))
	}
	for i := range b.Traces {
		if !paired[&b.Traces[i]] {
			c.OnlyB = append(c.OnlyB, b.Traces[i].Source.Name)
		}
	}
	if len(c.Traces) == 0 {
		return nil, &NoPartner{a.Names(), b.Names()}
	}
	return c, nil
}

// different names the parameters that differ, with both values. Whether cohorts
// were kept changes no figure.
func different(a, b *Document) (what []string) {
	pa, pb := parametersOf(a), parametersOf(b)
	names := slices.Sorted(maps.Keys(pa))
	for _, name := range slices.Sorted(maps.Keys(pb)) {
		if _, both := pa[name]; !both {
			names = append(names, name)
		}
	}
	value := func(p map[string]json.RawMessage, name string) string {
		const most = 60
		switch text := string(p[name]); {
		case text == "":
			return "none"
		case len(text) > most:
			return text[:most] + "…"
		default:
			return text
		}
	}
	for _, name := range names {
		if name == "cohorts" || bytes.Equal(pa[name], pb[name]) {
			continue
		}
		called := name
		if flag := flagOf[name]; flag != "" {
			called = flag
		}
		what = append(what, fmt.Sprintf("%s is %s and %s", called, value(pa, name), value(pb, name)))
	}
	return what
}

func parametersOf(d *Document) map[string]json.RawMessage {
	b, err := json.Marshal(d.Parameters)
	if err != nil {
		panic(err) // numbers and words only
	}
	var p map[string]json.RawMessage
	if err := json.Unmarshal(b, &p); err != nil {
		panic(err) // it was marshalled just now
	}
	return p
}

func comparedTrace(a, b *DocumentTrace, warmup string) ComparedTrace {
	t := ComparedTrace{A: a, B: b}
	xs, ys := rowsAlike(a.Findings, warmup), rowsAlike(b.Findings, warmup)
	for i := range xs {
		t.Tables = append(t.Tables, comparedTable(xs[i], ys[i]))
	}
	return t
}

// rowsAlike returns the tables whose rows are of the same thing in two runs. The
// largest cohorts and the falls of a curve are not.
func rowsAlike(f *findings.Findings, warmup string) []*Exhibit {
	f = unpooled(f)
	lookups := LookupRules(f)
	if len(lookups.Rows) > 0 {
		lookups.Columns = lookups.Columns[:2] // the two redundancies are of wherever the difference is largest
	}
	return []*Exhibit{
		Redundancies(f, warmup), ThreeShares(f), lookups, AffinityPairs(f), Concentrated(f), TieReadings(f), Uncertainty(f),
		RoutingControls(f), Thresholds(f), Reuses(f), ProfileOf(f),
	}
}

// unpooled returns the findings with a line for each window: which windows are
// one experiment is a matter of the trace, and two may differ in it.
func unpooled(f *findings.Findings) *findings.Findings {
	g := *f
	g.Windows = nil
	for _, w := range f.Windows {
		for _, ms := range w.WindowsMS {
			one := w
			one.WindowsMS = []int64{ms}
			one.Rows /= len(w.WindowsMS)
			one.RowsWithoutAttempts /= len(w.WindowsMS)
			one.RowsP99FanInOver /= len(w.WindowsMS)
			if w.LargestAt != nil {
				at := *w.LargestAt
				at.WindowMS = ms
				one.LargestAt = &at
			}
			g.Windows = append(g.Windows, one)
		}
	}
	g.Concentrated = nil
	for _, c := range f.Concentrated {
		for _, ms := range c.WindowsMS {
			one := c
			one.WindowsMS, one.At.WindowMS = []int64{ms}, ms
			g.Concentrated = append(g.Concentrated, one)
		}
	}
	return &g
}

func comparedTable(x, y *Exhibit) ComparedTable {
	t := ComparedTable{Name: x.Name, Title: x.Title, Caption: x.Caption, Rows: []ComparedRow{}, Absent: []string{}}
	for _, one := range []struct {
		run string
		*Exhibit
	}{{"A", x}, {"B", y}} {
		if one.Instead != "" {
			t.Absent = append(t.Absent, one.run+": "+one.Instead)
		}
	}
	switch {
	case x.Instead != "" && y.Instead != "":
		return t
	case x.Instead != "":
		t.Caption = y.Caption
	}
	columns := x.Columns
	if len(columns) == 0 || x.Instead != "" {
		columns = y.Columns
	}
	in := func(x *Exhibit) (order []string, rows map[string][]Cell) {
		rows = make(map[string][]Cell)
		if x.Instead != "" {
			return nil, rows
		}
		for _, row := range x.Rows {
			key := rowName(x, row)
			order = append(order, key)
			rows[key] = row
		}
		return order, rows
	}
	order, as := in(x)
	others, bs := in(y)
	for _, key := range others {
		if as[key] == nil {
			order = append(order, key)
		}
	}
	for _, key := range order {
		for i, c := range columns {
			if c.Head {
				continue
			}
			label := c.Label
			if c.Group != "" {
				label = c.Group + ": " + label
			}
			t.Rows = append(t.Rows, comparedRow(key, label, cellAt(as[key], i), cellAt(bs[key], i)))
		}
	}
	return t
}

// cellAt returns a cell of a row, none where the row or the cell is not there.
func cellAt(row []Cell, i int) Cell {
	if i >= len(row) {
		return words(none)
	}
	return row[i]
}

func rowName(x *Exhibit, row []Cell) string {
	var names []string
	for i, c := range x.Columns {
		if c.Head {
			names = append(names, row[i].Text)
		}
	}
	return strings.Join(names, ", ")
}

var unitNames = map[Unit]string{Words: "", Share: "share", Number: "count", Ratio: "ratio", Millis: "ms"}

func comparedRow(key, label string, a, b Cell) ComparedRow {
	r := ComparedRow{Row: Plain(key), Figure: Plain(label), difference: none}
	for _, one := range []struct {
		from Cell
		to   *ComparedCell
	}{{a, &r.A}, {b, &r.B}} {
		one.to.Text = strings.TrimPrefix(Plain(one.from.Text), "† ") // the note it points to is not here
		if one.from.Unit != Words {
			one.to.Value = new(one.from.Value)
			r.Unit = unitNames[one.from.Unit]
		}
	}
	if a.Unit == Words || a.Unit != b.Unit {
		if a.Unit == Words && b.Unit == Words && a.Text == b.Text {
			r.difference = "same"
		}
		return r
	}
	d := b.Value - a.Value
	r.Difference = &d
	r.difference = differenceOf(a.Unit, d)
	return r
}

func differenceOf(u Unit, d float64) string {
	if d == 0 {
		return "0"
	}
	var text string
	switch u {
	case Share:
		text = percent(d)
	case Ratio:
		text = strconv.FormatFloat(d, 'f', 2, 64)
	default:
		text = count(int64(d))
	}
	if d > 0 {
		text = "+" + text
	}
	return text
}

// DifferenceText prints the difference: of shares in percentage points.
func (r *ComparedRow) DifferenceText() string { return minus(r.difference) }

// JSON writes the comparison as one document.
func (c *Comparison) JSON(w io.Writer) error {
	type run struct {
		Version string `json:"version"`
		Name    string `json:"trace"`
		SHA256  string `json:"sha256"`
		Answer  Answer `json:"answer"`
	}
	type traces struct {
		A      run             `json:"a"`
		B      run             `json:"b"`
		Tables []ComparedTable `json:"tables"`
	}
	doc := struct {
		*Comparison
		Parameters any      `json:"parameters"`
		Traces     []traces `json:"traces"`
	}{Comparison: c, Parameters: c.A.Parameters}
	of := func(d *Document, t *DocumentTrace) run {
		return run{d.Version, t.Source.Name, t.Source.SHA256, t.Answer}
	}
	for i := range c.Traces {
		t := &c.Traces[i]
		doc.Traces = append(doc.Traces, traces{of(c.A, t.A), of(c.B, t.B), t.Tables})
	}
	return writeJSON(w, doc)
}

// Text writes the comparison, a line a figure.
func (c *Comparison) Text(w io.Writer) error {
	var p page
	p.warn(c.A.Parameters.Control)
	for i := range c.Traces {
		t := &c.Traces[i]
		p.trace(title(t))
		p.text("B less A. A share is in percent of what its table says, a difference of shares in percentage points.")
		for k := range t.Tables {
			one := &t.Tables[k]
			p.title(one.Title)
			for _, a := range one.Absent {
				p.text(a)
			}
			if len(one.Rows) == 0 {
				continue
			}
			p.text(one.Caption + ".")
			p.blank()
			p.figures("", "A", "B", "difference")
			last := ""
			for _, r := range one.Rows {
				if r.Row != last {
					p.line(r.Row)
					last = r.Row
				}
				p.figures(r.Figure, r.A.Text, r.B.Text, r.difference)
			}
		}
	}
	for _, only := range c.Alone() {
		p.text(only)
	}
	return p.writeTo(w)
}

// figures writes a figure of both runs. What is too wide for its place stands
// on lines of its own.
func (p *page) figures(figure, a, b, difference string) {
	const label, cell = 42, 11
	if runes(a) > cell || runes(b) > cell {
		p.line(indent + figure)
		p.line(indent + indent + "A: " + a)
		p.line(indent + indent + "B: " + b)
		return
	}
	if runes(figure) > label {
		p.line(indent + figure)
		figure = ""
	}
	line := indent + figure + strings.Repeat(" ", label-runes(figure))
	for _, text := range []string{a, b, difference} {
		line += strings.Repeat(" ", max(1, cell-runes(text))) + text
	}
	p.line(line)
}

// Alone says which traces have no partner.
func (c *Comparison) Alone() (said []string) {
	for _, one := range []struct {
		run   string
		names []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(one.names) > 0 {
			said = append(said, fmt.Sprintf("Only in %s, and not compared: %s.", one.run, list(one.names)))
		}
	}
	return said
}

func title(t *ComparedTrace) string {
	if t.A.Source.Name == t.B.Source.Name {
		return t.A.Source.Name + ": A against B"
	}
	return t.A.Source.Name + " (A) against " + t.B.Source.Name + " (B)"
}

// Markdown writes the answers of both and the tables that fit a comment.
func (c *Comparison) Markdown(w io.Writer) error {
	var m markdown
	m.line("### kvfanin: two runs side by side")
	if text := c.A.Warning(); text != "" {
		m.line("> **%s**", text)
	}
	for i := range c.Traces {
		t := &c.Traces[i]
		m.line("#### %s", title(t))
		for _, one := range []struct {
			run string
			*DocumentTrace
		}{{"A", t.A}, {"B", t.B}} {
			m.line("- **%s**, `%s`, sha256 `%s`: %s %s %s", one.run, one.Source.Name, abbreviated(one.Source.SHA256), one.Answer.Overlap, one.Answer.Origin, one.Answer.Survives)
		}
		for k := range t.Tables {
			one := &t.Tables[k]
			if len(one.Rows) == 0 || len(one.Rows) > 60 {
				continue
			}
			m.line("**%s.** %s.", one.Title, strings.TrimSuffix(one.Caption, "."))
			m.table(one.Exhibit())
		}
	}
	for _, only := range c.Alone() {
		m.line("%s", only)
	}
	m.line("Difference: B less A, of shares in percentage points. %s", c.A.scope())
	return m.writeTo(w)
}

// abbreviated is the beginning of a checksum, enough to tell files apart.
func abbreviated(sum string) string { return sum[:min(12, len(sum))] }

// Exhibit returns the table as it is laid out.
func (t *ComparedTable) Exhibit() *Exhibit {
	x := &Exhibit{
		Name:    t.Name,
		Title:   t.Title,
		Caption: t.Caption,
		Columns: slices.Concat(heads("row", "figure"), figuresOf("A", "B", "B − A")),
		Notes:   t.Absent,
	}
	if len(t.Rows) == 0 {
		x.Notes, x.Instead = nil, strings.Join(t.Absent, " ")
		if x.Instead == "" {
			x.Instead = "Neither run has a figure to compare."
		}
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		x.Rows = append(x.Rows, []Cell{words(r.Row), words(r.Figure), words(r.A.Text), words(r.B.Text), words(r.DifferenceText())})
	}
	return x
}

// Title says what is beside what.
func (t *ComparedTrace) Title() string { return title(t) }
