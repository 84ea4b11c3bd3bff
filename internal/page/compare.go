package page

import (
	"html/template"
	"io"
	"strings"

	"kvfanin/internal/findings"
	"kvfanin/internal/report"
)

// comparison is a page of two runs before it is laid out.
type comparison struct {
	frame
	Warning string
	Runs    []comparedRun
	Grid    string
	Traces  []comparedTrace
	Alone   []string
}

// comparedRun is one of the two runs.
type comparedRun struct {
	Letter  string
	Version string
	Sources []sourceView
}

type comparedTrace struct {
	ID, Title string
	Answers   []comparedAnswer
	Chart     template.HTML
	Legend    template.HTML
	Caption   string
	Exhibits  []exhibit
}

type comparedAnswer struct {
	Title string
	report.Answer
}

// foldOver is how many rows of a comparison stand open.
const foldOver = 60

// WriteComparison writes the page of two runs.
func WriteComparison(w io.Writer, c *report.Comparison) error {
	v := comparison{
		frame:   frameOf("kvfanin: "+c.A.Names()+" against "+c.B.Names(), ""),
		Warning: c.A.Warning(),
		Grid:    c.A.Grid(),
		Alone:   c.Alone(),
	}
	for _, one := range []struct {
		letter string
		*report.Document
	}{{"A", c.A}, {"B", c.B}} {
		r := runOf(one.Document)
		v.Runs = append(v.Runs, comparedRun{one.letter, r.Version, r.Sources})
	}
	for i := range c.Traces {
		v.Traces = append(v.Traces, comparedTraceOf(&c.Traces[i]))
	}
	return execute(w, "compare", &v)
}

func comparedTraceOf(t *report.ComparedTrace) comparedTrace {
	id := t.A.Source.Name
	v := comparedTrace{ID: id, Title: t.Title()}
	for _, one := range []struct {
		letter string
		*report.DocumentTrace
	}{{"A", t.A}, {"B", t.B}} {
		v.Answers = append(v.Answers, comparedAnswer{one.letter + ": " + one.Source.Name, report.AnswerOf(one.Findings)})
	}
	v.compareCurves(t.A.Findings, t.B.Findings)
	for i := range t.Tables {
		x := exhibitOf(id, t.Tables[i].Exhibit())
		x.Groups = groupsOf(&t.Tables[i])
		if len(x.Rows) > foldOver {
			x.Folded = report.Plural(len(x.Rows), "figure")
		}
		v.Exhibits = append(v.Exhibits, x)
	}
	return v
}

// rowGroup is the figures of one row of a table, in both runs.
type rowGroup struct {
	Row  string
	Rows []report.ComparedRow
}

func groupsOf(t *report.ComparedTable) (groups []rowGroup) {
	for _, r := range t.Rows {
		if n := len(groups); n == 0 || groups[n-1].Row != r.Row {
			groups = append(groups, rowGroup{Row: r.Row})
		}
		g := &groups[len(groups)-1]
		g.Rows = append(g.Rows, r)
	}
	return groups
}

// compareCurves draws one curve of each run: the configuration in which that of
// A is largest.
func (v *comparedTrace) compareCurves(a, b *findings.Findings) {
	if a.Sensitivity == nil || b.Sensitivity == nil || len(a.Sensitivity.Curves) == 0 {
		return
	}
	instances, capacity := largest(a)
	one, other := choose(a, instances, capacity), choose(b, instances, capacity)
	if len(one.curves) == 0 || len(other.curves) == 0 {
		return
	}
	pair := chosen{instances: instances, capacity: capacity, curves: []*findings.Curve{one.curves[0], other.curves[0]}, gapMS: one.gapMS,
		classes: []string{"a solid", "b solid"}}
	if pair.gapMS == nil || other.gapMS != nil && *other.gapMS < *pair.gapMS {
		pair.gapMS = other.gapMS
	}
	c := pair.curves[0]
	v.Chart = both(func(s size) template.HTML { return drawCurve(s, pair, curveLabel) })
	v.Legend = keys(key{"line a solid", "A: " + strings.TrimPrefix(v.Answers[0].Title, "A: ")}, key{"line b solid", "B: " + strings.TrimPrefix(v.Answers[1].Title, "B: ")},
		key{"band a", "down to the redundancy without extensions"}, key{"study", "load window of the study"}, key{"one", gapLabel(pair.gapMS) + ", in both"})
	v.Caption = c.Lookup + ", " + c.Routing + ", " + curveCaption(pair)
}
