package page

import (
	"fmt"
	"html/template"
	"math/big"
	"strconv"
	"strings"

	"kvfanin/internal/findings"
	"kvfanin/internal/report"
)

// view is a page before it is laid out.
type view struct {
	frame
	Run      runView
	Traces   []traceView
	Warning  string
	Commands []string
	Data     template.JS // for the script
}

// runView is what was run.
type runView struct {
	Names, Version, Grid, Warmup, Block string
	Sources                             []sourceView
}

type sourceView struct {
	Name, Requests, Lookups, Short, SHA256, Note string
}

// traceView is all that is shown of one trace.
type traceView struct {
	ID, Name string
	Facts    string
	Answer   report.Answer
	Curve    *curveView
	NoCurve  string // stands in place of the curve
	Sections []section
}

type section struct {
	ID, Title string
	Exhibits  []exhibit
	Decision  *decisionView
}

// exhibit is one of a report with its charts.
type exhibit struct {
	*report.Exhibit
	ID      string
	Chart   template.HTML
	Legend  template.HTML
	Caption string // of the chart
	Folded  string // the table stands folded behind these words
	OnPaper bool   // it is unfolded when it is printed
	Grouped bool   // its head has two rows
	Wide    bool   // its box can be scrolled
	Sparks  *sparks
	Groups  []rowGroup // of a comparison
}

// Head returns the upper row of a head: groups, and columns of no group over
// both rows.
func (x exhibit) Head() (cells []headCell) {
	for i := 0; i < len(x.Columns); i++ {
		c := x.Columns[i]
		cell := headCell{Label: c.Label, Text: c.Text, Span: 1, Rows: 1}
		if x.Grouped && c.Group == "" {
			cell.Rows = 2
		}
		if c.Group != "" {
			cell.Label, cell.Group = c.Group, true
			for ; i+1 < len(x.Columns) && x.Columns[i+1].Group == c.Group; i++ {
				cell.Span++
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

type headCell struct {
	Label      string
	Text       bool
	Group      bool
	Span, Rows int
}

// exhibitOf prepares an exhibit of a trace.
func exhibitOf(prefix string, x *report.Exhibit) exhibit {
	e := exhibit{Exhibit: x, ID: prefix + "-" + x.Name}
	for _, c := range x.Columns {
		e.Grouped = e.Grouped || c.Group != ""
	}
	e.Wide = len(x.Columns) > 4
	return e
}

// sparks is the table of all configurations.
type sparks struct {
	Top        string
	Capacities []string
	Rows       []sparkRow
}

type sparkRow struct {
	Instances string
	Cells     []sparkCell
}

type sparkCell struct {
	Chart template.HTML
	Most  string
}

func viewOf(d *report.Document, o Options) (*view, error) {
	v := &view{
		frame:    frameOf("kvfanin: "+d.Names(), script),
		Run:      runOf(d),
		Warning:  d.Warning(),
		Commands: d.Commands(),
	}
	data, err := dataOf(d)
	if err != nil {
		return nil, err
	}
	v.Data = template.JS(data)
	for i := range d.Traces {
		v.Traces = append(v.Traces, traceOf(d, &d.Traces[i], o))
	}
	return v, nil
}

func runOf(d *report.Document) runView {
	p := &d.Parameters
	r := runView{
		Names:   d.Names(),
		Version: d.Version,
		Grid:    d.Grid(),
		Warmup:  "requests before " + p.Warmup + " of the last timestamp",
		Block:   report.Plural(p.BlockTokens, "token"),
	}
	for i := range d.Traces {
		s := &d.Traces[i].Source
		one := sourceView{Name: s.Name, Requests: report.Plural(s.Requests, "request"), Lookups: report.Plural(s.Lookups, "lookup"), SHA256: s.SHA256}
		one.Short = one.SHA256[:min(12, len(one.SHA256))]
		if s.Sorted {
			one.Note = "was out of order and is sorted by arrival"
		}
		r.Sources = append(r.Sources, one)
	}
	return r
}

func traceOf(d *report.Document, t *report.DocumentTrace, o Options) traceView {
	f := t.Findings
	id := t.Source.Name
	v := traceView{ID: id, Name: t.Source.Name, Answer: report.AnswerOf(f), Facts: facts(f)}
	s := f.Sensitivity
	switch {
	case s == nil || len(s.Curves) == 0 || len(s.Curves[0].Points) == 0:
		v.NoCurve = report.Thresholds(f).Instead
	case flatCurves(s):
		points := s.Curves[0].Points
		v.NoCurve = fmt.Sprintf("No configuration has a join under any effective window from %s to %s: every curve is 0 throughout.",
			report.Duration(points[0].WindowMS), report.Duration(points[len(points)-1].WindowMS))
	default:
		v.Curve = curveOf(id, f)
	}
	one := func(x *report.Exhibit) exhibit { return exhibitOf(id, x) }

	study := section{ID: id + "-study", Title: "The study"}
	study.Exhibits = []exhibit{one(report.Redundancies(f, d.Parameters.Warmup)), one(report.ThreeShares(f)), one(report.LookupRules(f)), one(report.AffinityPairs(f))}
	if v.Curve != nil {
		study.Exhibits = append(study.Exhibits, sparksOf(id, f))
	}

	origin := section{ID: id + "-origin", Title: "Where it comes from"}
	origin.Exhibits = []exhibit{one(report.Concentrated(f)), one(report.Depths(f)), one(report.LargestCohorts(f))}

	holds := section{ID: id + "-holds", Title: "Does it hold?"}
	holds.Exhibits = []exhibit{tiesOf(id, f), one(report.Uncertainty(f)), routingOf(id, f)}

	thresholds := section{ID: id + "-when", Title: "When would it be more?"}
	when := one(report.Thresholds(f))
	if len(when.Rows) > 0 {
		when.OnPaper = true
		when.Folded = report.Plural(len(when.Rows), "configuration")
	}
	thresholds.Exhibits = []exhibit{when, one(report.Falls(f))}

	traffic := section{ID: id + "-trace", Title: "The trace"}
	profile := one(report.ProfileOf(f))
	traffic.Exhibits = []exhibit{reuseOf(id, f), arrivalsOf(id, d.Parameters.Warmup, f), profile}

	v.Sections = []section{study, origin, holds, thresholds}
	if dv := decisionOf(id, d, t, o); dv != nil {
		v.Sections = append(v.Sections, section{ID: id + "-decision", Title: "Is coordination worth it?", Decision: dv})
	}
	v.Sections = append(v.Sections, traffic)
	return v
}

// facts is the trace in one line.
func facts(f *findings.Findings) string {
	p := f.Profile
	text := report.Plural(p.Requests, "request") + ", " + report.Plural(p.Lookups, "lookup") + " of " + report.Plural(p.DistinctBlocks, "distinct block")
	if p.FirstTimestampMS != nil && p.LastTimestampMS != nil {
		if span := *p.LastTimestampMS - *p.FirstTimestampMS; span > 0 {
			text += ", over " + report.Duration((span+500)/1000*1000)
		} else {
			text += ", all at one instant"
		}
	}
	if p.SmallestPositiveGapMS != nil {
		text += "; its timestamps are at least " + report.Count(*p.SmallestPositiveGapMS) + " ms apart"
	}
	return text + "."
}

func tiesOf(id string, f *findings.Findings) exhibit {
	x := exhibitOf(id, report.TieReadings(f))
	if f.Sensitivity == nil {
		return x
	}
	for _, t := range f.Sensitivity.Ties {
		if t.Simultaneous.Largest > 0 {
			x.Chart = both(func(s size) template.HTML { return drawTies(s, f.Sensitivity.Ties) })
			x.Legend = keys(key{"dot a", "simultaneous"}, key{"diamond b", "even"}, key{"range b", "random, least to most"}, key{"middle", "random, the middle"})
			x.Caption = "What each reading makes of the largest redundancy of a window. Each row is its own scale: the figures are in the table."
			break
		}
	}
	return x
}

func routingOf(id string, f *findings.Findings) exhibit {
	x := exhibitOf(id, report.RoutingControls(f))
	if x.Instead == "" {
		r := f.Sensitivity.Routing
		if r.AffinityLessRoundRobin != 0 || r.Load != 0 || r.Prefix != 0 {
			x.Chart = both(func(s size) template.HTML { return drawParts(s, r) })
			x.Caption = "Mean over " + report.Plural(r.Rows, "row") + " of redundancy under affinity less under round robin, and its two parts."
		}
	}
	return x
}

func reuseOf(id string, f *findings.Findings) exhibit {
	r := &f.Profile.Reuse
	x := exhibitOf(id, report.Reuses(f))
	if r.Reuses > 0 && r.PositiveGapMS.Quantiles != nil {
		x.Chart = both(func(s size) template.HTML { return drawReuse(flat(s, 300), r) })
		x.Legend = keys(key{"line a", "all gaps, through their percentiles and the windows"}, key{"dot b", "a load window of the study, counted exactly"})
		x.Caption = "The line starts at the share of reuses within one timestamp."
	} else if r.Reuses > 0 {
		x.Notes = append(x.Notes, "Every reuse is within one timestamp: there is no positive gap to draw.")
	}
	return x
}

func arrivalsOf(id, warmup string, f *findings.Findings) exhibit {
	x := exhibitOf(id, &report.Exhibit{Name: "arrivals", Title: "Arrivals over time"})
	p := f.Profile
	a := p.Arrivals
	switch {
	case p.FirstTimestampMS == nil || a == nil:
		x.Instead = "The trace has no request."
		return x
	case *p.FirstTimestampMS == *p.LastTimestampMS:
		x.Instead = "All requests arrive at one instant: there is nothing to draw over time."
		return x
	}
	steady := 0.0
	if share, ok := new(big.Rat).SetString(warmup); ok {
		steady, _ = share.Float64()
		steady *= float64(*p.LastTimestampMS)
	}
	start := *p.FirstTimestampMS
	x.Chart = both(func(s size) template.HTML { return drawArrivals(flat(s, 340), a, start, steady) })
	x.Caption = fmt.Sprintf("%s of %s. The line is the end of the warm-up.", report.Plural(len(a.Requests), "span"), report.Duration(a.SpanMS))
	x.Columns = []report.Column{{Label: "from, s", Head: true, Text: true}, {Label: "requests"}, {Label: "lookups"}}
	for i := range a.Requests {
		from := float64(start+int64(i)*a.SpanMS) / 1000
		x.Rows = append(x.Rows, []report.Cell{
			{Text: strconv.FormatFloat(from, 'f', 1, 64), Bar: -1},
			{Text: report.Count(a.Requests[i]), Bar: -1}, {Text: report.Count(a.Lookups[i]), Bar: -1}})
	}
	x.Exhibit.Caption = "Requests and lookups that arrived in each span"
	x.Folded = "The figures of the chart"
	return x
}

// sparksOf is the curves of all configurations at a glance.
func sparksOf(id string, f *findings.Findings) exhibit {
	x := exhibitOf(id, &report.Exhibit{
		Name:  "curves",
		Title: "All configurations at a glance",
		Lead: []string{"Each panel is the curve of one number of instances and one capacity, all lookups and routings in it, on one scale for all panels. " +
			"The figure under a panel is its largest redundancy under any effective window run."},
	})
	instances, capacities := axesOf(f.Sensitivity)
	top := 0.0
	most := func(c chosen) (m float64) {
		for _, one := range c.curves {
			for i := range one.Points {
				m = max(m, one.Points[i].All.Redundancy)
			}
		}
		return m
	}
	for i := range f.Sensitivity.Curves {
		top = max(top, most(chosen{curves: []*findings.Curve{&f.Sensitivity.Curves[i]}}))
	}
	x.Sparks = &sparks{Top: report.Roughly(top)}
	for _, c := range capacities {
		x.Sparks.Capacities = append(x.Sparks.Capacities, report.Count(c))
	}
	for _, k := range instances {
		row := sparkRow{Instances: report.Plural(k, "instance")}
		for _, capacity := range capacities {
			c := choose(f, k, capacity)
			if len(c.curves) == 0 {
				row.Cells = append(row.Cells, sparkCell{})
				continue
			}
			row.Cells = append(row.Cells, sparkCell{spark(c, top), report.Roughly(most(c))})
		}
		x.Sparks.Rows = append(x.Sparks.Rows, row)
	}
	return x
}

// flatCurves says whether there is no join on any curve.
func flatCurves(s *findings.Sensitivity) bool {
	for i := range s.Curves {
		for k := range s.Curves[i].Points {
			if s.Curves[i].Points[k].All.Redundancy > 0 {
				return false
			}
		}
	}
	return true
}

// curveView is the first figure of a trace.
type curveView struct {
	ID                    string
	Chart                 template.HTML
	Legend                template.HTML
	Caption, Coincide     string
	Table                 exhibit
	Instances, Capacities []option
	Lookups, Routings     []string
}

type option struct {
	Value, Label string
	Selected     bool
}

func curveOf(id string, f *findings.Findings) *curveView {
	instances, capacity := largest(f)
	c := choose(f, instances, capacity)
	v := &curveView{
		ID:       id + "-curve",
		Caption:  curveCaption(c),
		Coincide: c.coincide(),
		Legend:   curveKeys(c),
		Chart:    both(func(s size) template.HTML { return drawCurve(s, c, curveLabel) }),
		Table:    exhibitOf(id, report.CurveTable(f, instances, capacity)),
	}
	v.Table.Folded = "The figures of the curve"
	v.Lookups, v.Routings = wordsOf(f.Sensitivity)
	all, caps := axesOf(f.Sensitivity)
	for _, k := range all {
		v.Instances = append(v.Instances, option{strconv.Itoa(k), report.Count(k), k == instances})
	}
	for _, k := range caps {
		v.Capacities = append(v.Capacities, option{strconv.Itoa(k), report.Count(k), k == capacity})
	}
	return v
}

const curveLabel = "Redundancy against effective window"

// key is an entry of a legend: what it looks like and what it means.
type key struct{ class, text string }

func keys(all ...key) template.HTML {
	var d drawing
	d.put(`<ul class="keys">`)
	for _, k := range all {
		d.put(`<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true">`)
		switch kind, rest, _ := strings.Cut(k.class, " "); kind {
		case "line":
			d.put(`<path class="line `, rest, `" d="M0 6L26 6"/>`)
		case "dot":
			d.put(`<circle class="dot `, rest, `" cx="13" cy="6" r="4"/>`)
		case "diamond":
			d.put(`<path class="diamond `, rest, `" d="M13 0l6 6l-6 6l-6 -6Z"/>`)
		case "study", "gap", "middle":
			d.put(`<path class="`, kind, `" d="M13 0L13 12"/>`)
		default:
			d.put(`<rect class="`, k.class, `" x="0" y="1" width="26" height="10"/>`)
		}
		d.put(`</svg>`, template.HTMLEscapeString(k.text), `</li>`)
	}
	d.put(`</ul>`)
	return template.HTML(d.String())
}

func curveKeys(c chosen) template.HTML {
	var all []key
	seen := make(map[string]bool)
	add := func(class, text string) {
		if !seen[text] {
			seen[text] = true
			all = append(all, key{class, text})
		}
	}
	for _, one := range c.curves {
		add("line "+routingClass(one.Routing)+" solid", one.Routing)
	}
	for _, one := range c.curves {
		add("line ink "+lookupClass(one.Lookup), one.Lookup)
	}
	add("band a", "down to the redundancy without extensions")
	add("study", "load window of the study")
	add("one", gapLabel(c.gapMS))
	return keys(all...)
}
