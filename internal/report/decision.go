package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"kvfanin/internal/decision"
)

// Decisions is whether coordination is worth its cost, for one configuration
// of each trace.
type Decisions struct {
	// Control names the rule of the model that was broken on purpose; empty or
	// "none" if there is none. Text and JSON tell; CSV has no place for it.
	Control   string               `json:"control,omitempty"`
	Decisions []*decision.Decision `json:"decisions"`
}

// JSON writes the decisions as one document: docs/decision.md has its schema.
func (ds *Decisions) JSON(w io.Writer) error { return writeJSON(w, ds) }

// CSV writes a line for each input and each step, with what it is made from.
func (ds *Decisions) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	// What Write cannot do it does not do again, and Error tells.
	_ = out.Write([]string{"trace", "lookup", "routing", "instances", "capacity_blocks", "window_ms",
		"joins", "bound", "name", "value", "unit", "formula", "from"})
	for _, d := range ds.Decisions {
		c := d.Configuration
		line := func(joins, bound, name, value, unit, formula, from string) {
			_ = out.Write([]string{d.Trace, c.Lookup, c.Routing, strconv.Itoa(c.Instances), strconv.Itoa(c.CapacityBlocks),
				strconv.FormatInt(c.WindowMS, 10), joins, bound, name, value, unit, formula, from})
		}
		for _, in := range d.Inputs {
			value := in.Word
			if in.Value != nil {
				value = shortest(*in.Value)
			}
			line("", "", in.Name, value, in.Unit, "", string(in.Origin))
		}
		for _, s := range d.Steps {
			line("", "", s.Name, shortest(s.Value), s.Unit, s.Formula, strings.Join(s.From, " "))
		}
		for _, r := range d.Readings {
			for _, s := range r.Steps {
				line(r.Joins, r.Bound, s.Name, shortest(s.Value), s.Unit, s.Formula, strings.Join(s.From, " "))
			}
		}
	}
	out.Flush()
	return out.Error()
}

func shortest(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Text writes the verdicts, each with its scope and all it comes from.
func (ds *Decisions) Text(w io.Writer) error {
	var p page
	for _, d := range ds.Decisions {
		p.warn(ds.Control)
		p.trace(d.Trace)
		p.verdict(d)
		p.inputs(d)
		p.steps(d)
		p.breakEven(d)
		p.ownership(d)
		p.notes(d)
	}
	return p.writeTo(w)
}

func (p *page) verdict(d *decision.Decision) {
	c := d.Configuration
	p.title("Is coordination worth it: " + string(d.Verdict))
	p.text(d.Scope)
	p.text("Configuration: " + c.Lookup + ", " + c.Routing + ", " + together(plural(c.Instances, "instance")) + ", " +
		together(plural(c.CapacityBlocks, "block")+" each") + ", measured at an effective window of " + together(duration(c.WindowMS)) + "; steady phase.")
	if o := d.Elsewhere; o != nil && o.Configurations > 0 {
		p.text("It has the largest redundancy at that window of the configurations asked for. Of the " + plural(o.Configurations, "other") + " " +
			count(o.NotJustified) + " come out not justified, " + count(o.Undecided) + " undecided, " + count(o.Justified) + " justified.")
	}
	for _, why := range d.Because {
		p.text(why)
	}
}

func (p *page) inputs(d *decision.Decision) {
	p.title("Inputs")
	t := table{left: 2}
	var sources []string
	for _, in := range d.Inputs {
		origin, value := string(in.Origin), in.Word
		if in.Value != nil {
			value = inUnit(*in.Value, in.Unit)
		}
		switch {
		case in.Origin == decision.Default && in.Value != nil && *in.Value == 0:
			origin = "not given"
			if in.Source == "none" {
				value = none
			}
		case in.Source != "":
			sources = append(sources, in.Name+": "+in.Source+".")
		}
		t.row(in.Name, origin, value, in.Unit)
	}
	p.table(&t)
	for _, source := range sources {
		p.text(source)
	}
}

// inUnit prints a value in its unit: bytes in full, so that they can be
// compared with a model's.
func inUnit(x float64, unit string) string {
	if unit == "B" {
		return decision.FormatBytes(x)
	}
	return decision.FormatNumber(x)
}

func (p *page) steps(d *decision.Decision) {
	p.title("Steps")
	p.text("A rate is in 1/s, a cost in ms of somebody's time for each second of traffic. " +
		"Every name is an input or a step above it.")
	p.blank()
	for _, s := range d.Steps {
		value := inUnit(s.Value, s.Unit)
		p.line(s.Name + strings.Repeat(" ", max(1, width-2*runes(indent)-runes(s.Name)-runes(value)-5)) + value + " " + s.Unit)
		p.formula(s.Formula)
	}
	p.readings(d, decision.AllJoins, "All joins")
	p.readings(d, decision.WithoutExtensions, "Without extensions, the joins that a closed loop may forbid")
	p.blank()
	for _, s := range d.Readings[0].Steps {
		p.line(s.Name)
		p.formula(s.Formula)
	}
}

// formula writes how the number above it comes about.
func (p *page) formula(text string) {
	line := indent + "="
	for word := range strings.SplitSeq(text, " ") {
		if runes(indent)+runes(line)+1+runes(word) > width {
			p.line(line)
			line = indent + " "
		}
		line += " " + word
	}
	p.line(line)
}

// readings writes the steps that depend on the redundancy.
func (p *page) readings(d *decision.Decision, joins, title string) {
	p.title(title)
	var readings []*decision.Reading
	head := []string{"", ""}
	for i := range d.Readings {
		if r := &d.Readings[i]; r.Joins == joins {
			readings = append(readings, r)
			head = append(head, r.Bound)
		}
	}
	t := table{left: 2}
	t.row(head...)
	for i, s := range readings[0].Steps {
		unit, format := s.Unit, decision.FormatNumber
		if s.Name == "redundancy" {
			unit, format = "%", decision.FormatPercent
		}
		row := []string{s.Name, unit}
		for _, r := range readings {
			row = append(row, format(r.Steps[i].Value))
		}
		t.row(row...)
	}
	p.table(&t)
}

func (p *page) breakEven(d *decision.Decision) {
	p.title("Break-even")
	if d.BreakEven == nil {
		p.text("It never breaks even: " + d.BreakEvenWhy + ".")
		return
	}
	p.text("At a redundancy of " + together(decision.FormatPercent(*d.BreakEven)+" %") + " nothing is won or lost. " +
		"Where the trace reaches it, equal timestamps read as simultaneous:")
	for _, c := range d.Crossings {
		name := "All joins: "
		if c.Joins == decision.WithoutExtensions {
			name = "Without extensions: "
		}
		p.text(name + c.Text)
		if c.Command != "" {
			p.line("To find out:")
			p.line(indent + c.Command)
		}
	}
	p.text("Attempts a request and the cost of a load are held as they are at the effective window above.")
}

func (p *page) ownership(d *decision.Decision) {
	p.title("What each ownership design would leave, and what it risks")
	p.text("Today's rates for this trace, all joins as measured, and how much more or less each design would do. " +
		"They are of blocks: where one lookup or Get serves several blocks of a request they are upper bounds. " +
		"Each column generalises one observation to any fan-in f: 8 requests for one block, the first Get held, " +
		"vLLM 0.32.0 with each design built on it.")
	t := table{left: 1}
	row := func(name string, value func(*decision.Ownership) string) {
		cells := []string{name}
		for i := range d.Ownership {
			cells = append(cells, value(&d.Ownership[i]))
		}
		t.row(cells...)
	}
	today := &d.Ownership[0]
	rate := func(name string, value func(*decision.Ownership) float64) {
		row(name, func(o *decision.Ownership) string {
			change := value(o) - value(today)
			switch {
			case o == today:
				return decision.FormatNumber(value(o))
			case change > 0:
				return "+" + decision.FormatNumber(change)
			default:
				return decision.FormatNumber(change)
			}
		})
	}
	row("", func(o *decision.Ownership) string { return o.Design })
	rate("lookups, 1/s", func(o *decision.Ownership) float64 { return o.LookupsPerS })
	rate("load specs, 1/s", func(o *decision.Ownership) float64 { return o.LoadSpecsPerS })
	rate("queue entries, 1/s", func(o *decision.Ownership) float64 { return o.QueueEntriesPerS })
	rate("Gets, 1/s", func(o *decision.Ownership) float64 { return o.GetsPerS })
	if today.BytesPerS != nil {
		rate("bytes, B/s", func(o *decision.Ownership) float64 { return *o.BytesPerS })
	}
	rate("GPU blocks, 1/s", func(o *decision.Ownership) float64 { return o.GPUBlocksPerS })
	rate("copies, 1/s", func(o *decision.Ownership) float64 { return o.CopiesPerS })
	rate("prefills, 1/s", func(o *decision.Ownership) float64 { return o.PrefillsPerS })
	rate("slow owners, ms/s", func(o *decision.Ownership) float64 { return o.WaitMSPerS })
	rate("a deadline, ms/s", func(o *decision.Ownership) float64 { return -o.DeadlineMSPerS })
	rate("and its Gets, 1/s", func(o *decision.Ownership) float64 { return o.DeadlineGetsPerS })
	p.table(&t)
	for i := range d.Ownership {
		p.text(d.Ownership[i].Design + ". " + d.Ownership[i].Basis)
	}
}

func (p *page) notes(d *decision.Decision) {
	if len(d.Notes) == 0 {
		return
	}
	p.title("Notes")
	for _, note := range d.Notes {
		p.text(note)
	}
}
