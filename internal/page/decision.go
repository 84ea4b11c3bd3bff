package page

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"kvfanin/internal/decision"
	"kvfanin/internal/findings"
	"kvfanin/internal/report"
)

// example is what the sliders start from where no inputs are given. The page
// says that it is an example.
var example = decision.Inputs{LoadMS: 100, TableUS: 10}

// decisionView is the decision with its inputs.
type decisionView struct {
	ID      string
	Instead string
	Example bool
	Note    string // how the load latency came about

	Axes     []axisView
	Sliders  []inputView
	More     []inputView
	Models   []option
	Decision *decision.Decision
	Window   string // the effective window
	Config   string
	// What the other configurations come to.
	Elsewhere string
	Chart     template.HTML
	Bounds    []boundView
	Steps     []stepView
	Readings  []readingView
	Owners    []ownerView
	Verdicts  *verdicts
}

// axisView is a choice of the configuration.
type axisView struct {
	Name, Label string
	Options     []option
}

// inputView is an input of a decision that is a number.
type inputView struct {
	Name, Label, Unit, About, Default string
	Value                             string
	Slider                            bool
	// The slider moves over powers of ten, a hundred steps each.
	Least, Most, At string
}

type boundView struct{ Joins, Bound string }

type stepView struct{ Name, Formula, Value, Unit string }

type readingView struct {
	Name, Label, Formula, Unit string
	Values                     []string
}

type ownerView struct {
	Name, Label string
	Values      []string
}

// sliders are the inputs that have one, and the powers of ten it goes over.
var sliders = []struct {
	name, label string
	least, most int
}{
	{"load_ms", "W: one load takes", 0, 5},
	{"load_factor", "s: the load is offered, times", -1, 3},
	{"table_us", "coordination on every lookup", -1, 5},
	{"load_cost_ms", "one avoided load is worth", -1, 5},
}

func decisionOf(prefix string, d *report.Document, t *report.DocumentTrace, o Options) *decisionView {
	v := &decisionView{ID: prefix + "-decide"}
	f := t.Findings
	if s := f.Sensitivity; s == nil || len(s.Curves) == 0 || len(s.Curves[0].Points) == 0 {
		v.Instead = report.Thresholds(f).Instead
		return v
	}
	in := o.Inputs
	if in == (decision.Inputs{}) {
		in, v.Example = example, true
	}
	in, v.Note = direct(in, d.Parameters.BlockTokens)
	out, err := decision.Over(f, in, everyCurve)
	if err != nil {
		v.Instead = "Not shown: " + err.Error() + "."
		return v
	}
	window := out.Value("effective_window_ms")
	curve := curveAt(f.Sensitivity, &out.Configuration)
	v.Config, v.Elsewhere = configOf(curve), elsewhere(out.Elsewhere)
	v.Decision, v.Window = out, decision.FormatNumber(window)+" ms"
	v.axes(f, curve)
	v.inputs(&in)
	v.results(out)
	v.Verdicts = verdictsOf(f)
	if flatCurves(f.Sensitivity) {
		return v
	}
	mark := &mark{window: window, breakEven: out.BreakEven}
	v.Chart = both(func(s size) template.HTML {
		return drawCurve(flat(s, 320), chosen{curves: []*findings.Curve{curve}, gapMS: f.Profile.SmallestPositiveGapMS, mark: mark, log: true}, curveLabel)
	})
	return v
}

// direct returns inputs that say how long a load takes outright, as the slider
// does, and how that came about.
func direct(in decision.Inputs, blockTokens int) (decision.Inputs, string) {
	if in.LoadMS > 0 {
		return in, ""
	}
	plain := in
	plain.LoadFactor = 1
	ms, err := plain.EffectiveWindowMS(blockTokens)
	if err != nil {
		return in, "" // Decide says why
	}
	note := fmt.Sprintf("W = %s ms comes from the inputs given: a block's bytes at %s GB/s and %s ms fixed.",
		decision.FormatNumber(ms), decision.FormatNumber(in.BandwidthGBPS), decision.FormatNumber(in.FixedMS))
	in.LoadMS, in.BandwidthGBPS, in.FixedMS = ms, 0, 0
	return in, note
}

func (v *decisionView) axes(f *findings.Findings, at *findings.Curve) {
	lookups, routings := wordsOf(f.Sensitivity)
	words := func(name string, values []string, at string) {
		a := axisView{Name: name, Label: name}
		for _, w := range values {
			a.Options = append(a.Options, option{w, w, w == at})
		}
		v.Axes = append(v.Axes, a)
	}
	numbers := func(name, label string, values []int, at int) {
		a := axisView{Name: name, Label: label}
		for _, n := range values {
			a.Options = append(a.Options, option{strconv.Itoa(n), report.Count(n), n == at})
		}
		v.Axes = append(v.Axes, a)
	}
	instances, capacities := axesOf(f.Sensitivity)
	words("lookup", lookups, at.Lookup)
	words("routing", routings, at.Routing)
	numbers("instances", "instances", instances, at.Instances)
	numbers("capacity", "blocks each", capacities, at.CapacityBlocks)
}

// inputs makes the fields of the form. The bandwidth and the fixed part of a
// load are not among them: the page takes W itself.
func (v *decisionView) inputs(in *decision.Inputs) {
	more := map[string]inputView{}
	var order []string
	for i := range decision.Fields {
		field := &decision.Fields[i]
		if field.Name == "bandwidth_gb_per_s" || field.Name == "fixed_ms" || field.Number == nil {
			continue
		}
		one := inputView{Name: field.Name, Label: field.Name, Unit: unitOf(field.Unit), About: field.About, Default: field.Default}
		if x := *field.Number(in); x != 0 {
			one.Value = strconv.FormatFloat(x, 'f', -1, 64)
		}
		more[field.Name] = one
		order = append(order, field.Name)
	}
	for _, s := range sliders {
		one := more[s.name]
		one.Label, one.Slider = s.label, true
		one.Least, one.Most = strconv.Itoa(100*s.least), strconv.Itoa(100*s.most)
		v.Sliders = append(v.Sliders, one)
		delete(more, s.name)
	}
	for _, name := range order {
		if one, ok := more[name]; ok {
			v.More = append(v.More, one)
		}
	}
	v.Models = append(v.Models, option{"", "none", in.Model == ""})
	for _, m := range decision.Models {
		v.Models = append(v.Models, option{m.Name, m.Name, m.Name == in.Model})
	}
}

// results lays a decision out.
func (v *decisionView) results(out *decision.Decision) {
	for _, s := range out.Steps {
		v.Steps = append(v.Steps, stepView{s.Name, s.Formula, inUnit(s.Value, s.Unit), unitOf(s.Unit)})
	}
	for i := range out.Readings {
		r := &out.Readings[i]
		joins := "all joins"
		if r.Joins == decision.WithoutExtensions {
			joins = "without extensions"
		}
		v.Bounds = append(v.Bounds, boundView{joins, r.Bound})
	}
	for i, s := range out.Readings[0].Steps {
		row := readingView{Name: s.Name, Label: strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(s.Name, "_", " "), " ms per s"), " per s"), Formula: s.Formula, Unit: s.Unit}
		format := decision.FormatNumber
		if s.Name == "redundancy" {
			format, row.Unit = decision.FormatPercent, "%"
		}
		for k := range out.Readings {
			row.Values = append(row.Values, signedNumber(format(out.Readings[k].Steps[i].Value)))
		}
		v.Readings = append(v.Readings, row)
		if s.Name == "avoidable_ms_per_s" {
			v.Readings = append(v.Readings, coordination(out))
		}
	}
	row := func(name, label string, of func(*decision.Ownership) float64) {
		r := ownerView{Name: name, Label: label}
		for i := range out.Ownership {
			r.Values = append(r.Values, decision.FormatNumber(of(&out.Ownership[i])))
		}
		v.Owners = append(v.Owners, r)
	}
	row("lookups_per_s", "lookups at the store, 1/s", func(o *decision.Ownership) float64 { return o.LookupsPerS })
	row("load_specs_per_s", "load specs, 1/s", func(o *decision.Ownership) float64 { return o.LoadSpecsPerS })
	row("queue_entries_per_s", "queue entries, 1/s", func(o *decision.Ownership) float64 { return o.QueueEntriesPerS })
	row("gets_per_s", "Gets, 1/s", func(o *decision.Ownership) float64 { return o.GetsPerS })
	bytes := ownerView{Name: "bytes_per_s", Label: "bytes, B/s"}
	for i := range out.Ownership {
		text := "-"
		if b := out.Ownership[i].BytesPerS; b != nil {
			text = decision.FormatNumber(*b)
		}
		bytes.Values = append(bytes.Values, text)
	}
	v.Owners = append(v.Owners, bytes)
	row("gpu_blocks_per_s", "GPU blocks, 1/s", func(o *decision.Ownership) float64 { return o.GPUBlocksPerS })
	row("copies_per_s", "copies in the worker, 1/s", func(o *decision.Ownership) float64 { return o.CopiesPerS })
	row("prefills_per_s", "prefills, 1/s", func(o *decision.Ownership) float64 { return o.PrefillsPerS })
	row("wait_ms_per_s", "risk: waiting for slow owners, ms/s", func(o *decision.Ownership) float64 { return o.WaitMSPerS })
	row("deadline_ms_per_s", "of that a deadline gives back, ms/s", func(o *decision.Ownership) float64 { return o.DeadlineMSPerS })
	row("deadline_gets_per_s", "for Gets that come back, 1/s", func(o *decision.Ownership) float64 { return o.DeadlineGetsPerS })
}

// coordination is the step that is the same in every reading, as one of them.
func coordination(out *decision.Decision) readingView {
	const name = "coordination_ms_per_s"
	row := readingView{Name: name, Label: "coordination", Formula: "the same for every redundancy", Unit: "ms/s"}
	for range out.Readings {
		row.Values = append(row.Values, decision.FormatNumber(out.Value(name)))
	}
	return row
}

func inUnit(x float64, unit string) string {
	if unit == "B" {
		return decision.FormatBytes(x)
	}
	return decision.FormatNumber(x)
}

// unitOf prints a unit.
func unitOf(unit string) string {
	if unit == "us" {
		return "µs"
	}
	return unit
}

// signedNumber puts the sign of a number where a hyphen stands for it.
func signedNumber(text string) string {
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		return "−" + rest
	}
	return text
}

// verdicts is the decision over the windows of the study and some costs of
// coordination: what can be read without moving a slider.
type verdicts struct {
	CostUS []string
	Rows   []verdictRow
}

type verdictRow struct {
	Window, Config, Redundancy string
	Cells                      []verdictCell
}

type verdictCell struct{ Class, Word, BreakEven string }

var verdictUS = []float64{1, 10, 100, 1000}

func everyCurve(*findings.Curve) bool { return true }

func curveAt(s *findings.Sensitivity, at *decision.Configuration) *findings.Curve {
	for i := range s.Curves {
		if c := &s.Curves[i]; c.Lookup == at.Lookup && c.Routing == at.Routing && c.Instances == at.Instances && c.CapacityBlocks == at.CapacityBlocks {
			return c
		}
	}
	panic("a decision on no curve")
}

func configOf(c *findings.Curve) string {
	return fmt.Sprintf("%s, %s, %s of %s blocks each", c.Lookup, c.Routing, report.Plural(c.Instances, "instance"), report.Count(c.CapacityBlocks))
}

// elsewhere says what the other configurations come to. elsewhere in page.js
// says the same.
func elsewhere(e *decision.Elsewhere) string {
	if e.Configurations == 0 {
		return "It is the only configuration run."
	}
	return fmt.Sprintf("It has the largest redundancy at that window of all configurations run. Of the %s %d come out not justified, %d undecided, %d justified.",
		report.Plural(e.Configurations, "other"), e.NotJustified, e.Undecided, e.Justified)
}

func verdictsOf(f *findings.Findings) *verdicts {
	v := &verdicts{}
	for _, us := range verdictUS {
		v.CostUS = append(v.CostUS, decision.FormatNumber(us))
	}
	for _, p := range f.Sensitivity.Curves[0].Points {
		if !p.InGrid {
			continue
		}
		row := verdictRow{Window: report.Duration(p.WindowMS)}
		for _, us := range verdictUS {
			out, err := decision.Over(f, decision.Inputs{LoadMS: float64(p.WindowMS), TableUS: us}, everyCurve)
			if err != nil {
				return nil // the decision above says why
			}
			all := out.Readings[:3] // measured, low, high
			row.Config = fmt.Sprintf("%s, %s, %s × %s", out.Configuration.Lookup, out.Configuration.Routing, report.Count(out.Configuration.Instances), report.Count(out.Configuration.CapacityBlocks))
			row.Redundancy = decision.FormatPercent(all[1].Value("redundancy")) + " – " + decision.FormatPercent(all[2].Value("redundancy"))
			cell := verdictCell{BreakEven: "never"}
			if out.BreakEven != nil {
				cell.BreakEven = report.Roughly(*out.BreakEven) + " %"
			}
			switch out.Verdict {
			case decision.Justified:
				cell.Class, cell.Word = "yes", "justified"
			case decision.Undecided:
				cell.Class, cell.Word = "open", "undecided"
			default:
				cell.Class, cell.Word = "no", "not justified"
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
