package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kvfanin/internal/probe"
)

// Probe is what a real stack did in one case or several.
type Probe struct {
	Outcomes []*probe.Outcome
	Left     []string // cases that were not run, each with the reason
}

// probeCounts are the counts of the harness in the order of the path of a load,
// as a person reads them.
var probeCounts = []struct{ name, label string }{
	{"lookups", "lookups: does the store have it?"},
	{"lookup_polls", "polls of the connector, as it came"},
	{"load_specs", "load specs"},
	{"queue_entries", "entries in the receive queue"},
	{"gets", "Gets submitted"},
	{"gets_in_flight", "Gets in flight at once, at most"},
	{"destinations", "destination addresses of Gets"},
	{"block_ids", "device blocks allocated"},
	{"staging_allocations", "staging allocations"},
	{"bytes", "bytes from the store"},
	{"receives_done", "receives completed"},
	{"publications", "blocks published"},
	{"cached_copies", "copies in the prefix cache"},
	{"waiting", "requests waiting for the store"},
	{"parked", "requests told to ask again"},
	{"finished", "requests finished"},
	{"errors", "requests failed"},
	{"aborted", "requests aborted"},
	{"barrier_timeouts", "barrier timeouts"},
	{"steps", "scheduler steps, as it came"},
}

// Text writes a page on a case, or a table of several.
func (p *Probe) Text(w io.Writer) error {
	var pg page
	if len(p.Outcomes) == 1 && len(p.Left) == 0 {
		pg.probeCase(p.Outcomes[0])
	} else {
		pg.probeCases(p)
	}
	return pg.writeTo(w)
}

// probeCase writes all that is known of one case.
func (p *page) probeCase(o *probe.Outcome) {
	p.trace(o.Case.Target.Name + ", case " + o.Case.Name)
	p.text(o.Case.Why + ".")
	p.probeSetting(o)
	if o.Err != nil {
		p.title("It could not be run")
		p.text(strings.Join(strings.Fields(o.Err.Error()), " "))
		return
	}
	p.title("What each layer did")
	p.probeTable(o)
	for _, text := range probeRemarks(o) {
		p.text(text)
	}
	if o.Model != nil {
		p.title("The model over the same arrivals")
		p.text("Attempts that the model counts, and the loads that the stack made of them. The " +
			"model's window is from the first arrival to the first publication.")
		t := table{left: 1}
		t.row("", "model", "stack")
		t.row("attempts; loads of a block", count(o.Model.Attempts), count(o.Model.Loads))
		t.row("cohorts; different blocks loaded", count(o.Model.Cohorts), count(o.Model.Blocks))
		t.row("fan-in; loads of one block, at most", count(o.Model.FanIn), count(o.Model.Most))
		p.table(&t)
		p.text(modelVerdict(o))
	}
	if len(o.Result.NotReal) > 0 {
		p.title("Not real here")
		p.items(o.Result.NotReal)
	}
	if len(o.Result.Notes) > 0 {
		p.title("Notes")
		p.items(o.Result.Notes)
	}
	p.probeVerdict(o)
}

// items writes a list.
func (p *page) items(texts []string) {
	p.blank()
	for _, text := range texts {
		p.item(text)
	}
}

// item writes one of a list.
func (p *page) item(text string) {
	line := "- "
	for word := range strings.FieldsSeq(text) {
		if line != "- " && runes(indent)+runes(line)+1+runes(word) > width {
			p.line(line)
			line = "  " + word
			continue
		}
		if line != "- " {
			line += " "
		}
		line += word
	}
	p.line(line)
}

func (p *page) probeSetting(o *probe.Outcome) {
	c := o.Case.Parameters
	t := table{left: 2}
	row := func(name, value string) { t.row(name, value) }
	row("requests", count(c.Requests)+", for "+sameBlocks(o.Case))
	if o.Case.HasStore() {
		row("receive threads", count(c.ReceiveThreads))
		row("store", map[string]string{
			probe.StoreFake: "fake: an object in the same process",
			probe.StoreReal: "real: mooncake_master and the object's owner, on the loopback",
		}[c.Store])
		row("engine", map[string]string{
			probe.EngineStepped: "stepped: the real scheduler, stepped by hand",
			probe.EngineFull:    "full: the whole engine, with random weights",
		}[c.Engine])
	}
	if c.Mode != "" {
		row("path", c.Mode)
	}
	names := []string{o.Case.Target.Environment.Package}
	for _, name := range slices.Sorted(maps.Keys(o.Versions)) {
		if name != names[0] {
			names = append(names, name)
		}
	}
	for i, name := range names {
		label := ""
		if i == 0 {
			label = "versions"
		}
		if version := o.Versions[name]; version != "" {
			row(label, name+" "+version)
		}
	}
	p.table(&t)
	if o.Versions != nil && !o.Tried {
		p.text("This release is none of those the expected counts were seen on: it was tried all the same.")
	}
	if c.Device == probe.DeviceCUDA {
		p.text("--device cuda was never tried by those who wrote it: there was no GPU.")
	}
}

// sameBlocks says what the requests of a case want.
func sameBlocks(c *probe.Case) string {
	if c.Parameters.SharedBlocks == 1 {
		return "the same block"
	}
	return "the same " + plural(c.Parameters.SharedBlocks, "block")
}

// probeTable writes the counts of a case, a column a snapshot.
func (p *page) probeTable(o *probe.Outcome) {
	t := table{left: 1}
	t.row("", "held", "end", "one more")
	known := map[string]bool{}
	row := func(name, label string) {
		cells := []string{label}
		there := false
		for _, snapshot := range []string{probe.Held, probe.End, probe.Late} {
			n, ok := o.Observed[snapshot][name]
			there = there || ok
			switch {
			case !ok:
				cells = append(cells, none)
			case snapshot == probe.Late:
				cells = append(cells, "+"+count(n))
			default:
				cells = append(cells, count(n))
			}
		}
		if there {
			t.row(cells...)
		}
	}
	for _, c := range probeCounts {
		known[c.name] = true
		row(c.name, c.label)
	}
	others := map[string]bool{}
	for _, snapshot := range []string{probe.Held, probe.End, probe.Late} {
		for name := range o.Observed[snapshot] {
			if !known[name] {
				others[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		row(name, name)
	}
	p.table(&t)
	p.text("held: the first Get waits at a barrier, and all others have got as far as they " +
		"get. end: it has been released, and all have ended. one more: what a further equal " +
		"request adds after the publication.")
}

// probeRemarks says of a case what its table does not.
func probeRemarks(o *probe.Outcome) (texts []string) {
	end := o.Observed[probe.End]
	if threads, gets := o.Case.Parameters.ReceiveThreads, end["gets"]; o.Case.HasStore() && gets > 1 {
		if threads == 1 {
			texts = append(texts, fmt.Sprintf("With one receive thread the Gets are submitted one after another, and "+
				"%d was in flight: %d Gets are work that was submitted, not %d at once.", end["gets_in_flight"], gets, gets))
		} else {
			texts = append(texts, fmt.Sprintf("With %d receive threads %d Gets were in flight at once.", threads, end["gets_in_flight"]))
		}
	}
	once := "Each request finished once."
	if !o.Result.EachFinishedOnce {
		once = "NOT every request finished once."
	}
	if reasons := o.Result.FinishReasons; len(reasons) > 0 {
		var words []string
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			words = append(words, fmt.Sprintf("%s %d", reason, reasons[reason]))
		}
		once += " Reasons to finish: " + strings.Join(words, ", ") + "."
	}
	texts = append(texts, once)
	if right := o.Result.BlocksRight; right != nil {
		texts = append(texts, fmt.Sprintf("Blocks that hold the bytes of the object at the end: %d.", *right))
	}
	if t := o.Result.Tokens; t != nil {
		texts = append(texts, fmt.Sprintf("Held against a run without a store, %d of %d requests gave the same tokens.", t.Equal, t.Compared))
	}
	if codes := failedGets(o); codes != "" {
		texts = append(texts, "Results of the store that are no bytes: "+codes+".")
	}
	return texts
}

// failedGets lists negative codes: 8 × -704.
func failedGets(o *probe.Outcome) string {
	by := map[int64]int{}
	var codes []int64
	for _, code := range o.Result.GetCodes {
		if code < 0 {
			if by[code] == 0 {
				codes = append(codes, code)
			}
			by[code]++
		}
	}
	slices.Sort(codes)
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = together(fmt.Sprintf("%d × %d", by[code], code))
	}
	return strings.Join(words, ", ")
}

// modelVerdict says whether model and stack agree, and why they may not.
func modelVerdict(o *probe.Outcome) string {
	switch {
	case o.Model.Agrees():
		text := "They agree: every attempt of the model was a load of the stack."
		if o.Observed[probe.End]["publications"] > 0 && o.Observed[probe.Late]["lookups"] > 0 {
			text += " (A request after the publication is a hit in both, and still costs the stack a lookup at the store.)"
		}
		return text
	case o.Case.Apart != "":
		return "They do not agree, and need not: " + o.Case.Apart + "."
	default:
		return "They do NOT agree, and no reason is known."
	}
}

// probeVerdict says whether the counts are those expected.
func (p *page) probeVerdict(o *probe.Outcome) {
	switch {
	case len(o.Expected) == 0:
		p.title("Nothing was expected of these parameters: no case has them")
	case len(o.Differences) == 0:
		p.title("As expected")
	default:
		p.title("NOT as expected")
		p.differences([]*probe.Outcome{o})
	}
}

// differences writes what is not as expected.
func (p *page) differences(outcomes []*probe.Outcome) {
	t := table{left: 3}
	t.row("case", "when", "count", "expected", "got")
	for _, o := range outcomes {
		for _, d := range o.Differences {
			t.row(o.Case.Name, d.Snapshot, d.Count, d.Want.String(), countOrNone(d.Got))
		}
	}
	p.table(&t)
}

// probeCases writes a line a case, and what can be said of them together.
func (p *page) probeCases(all *Probe) {
	p.trace("Cases")
	p.probeVersions(all.Outcomes)
	t := table{left: 2}
	t.row("case", "store", "lookups", "specs", "queue", "Gets", "at once", "places", "")
	for _, o := range all.Outcomes {
		verdict := "ok"
		switch {
		case o.Err != nil:
			verdict = "FAILED"
		case len(o.Differences) > 0:
			verdict = "DIFFERS"
		case len(o.Expected) == 0:
			verdict = "seen"
		}
		cells := []string{o.Case.Name, none}
		if o.Case.HasStore() {
			cells[1] = o.Case.Parameters.Store
		}
		for _, name := range []string{"lookups", "load_specs", "queue_entries", "gets", "gets_in_flight", "destinations"} {
			n, ok := o.Observed[probe.End][name]
			if !ok {
				cells = append(cells, none)
				continue
			}
			cells = append(cells, count(n))
		}
		t.row(append(cells, verdict)...)
	}
	p.table(&t)
	p.text("At the end of each case: lookups at the store, load specs, entries in the receive " +
		"queue (in LMCache: retrieves), Gets submitted to the store or cold tier, the most at once, and " +
		"different addresses they wrote to.")
	for _, left := range all.Left {
		p.text("Not run: " + left + ".")
	}
	var failed, differ []*probe.Outcome
	for _, o := range all.Outcomes {
		if o.Err != nil {
			failed = append(failed, o)
		} else if len(o.Differences) > 0 {
			differ = append(differ, o)
		}
	}
	if len(failed) > 0 {
		p.title("Cases that could not be run")
		p.blank()
		for _, o := range failed {
			p.item(o.Case.Name + ": " + o.Err.Error())
		}
	}
	if len(differ) > 0 {
		p.title("What is not as expected")
		p.differences(differ)
	}
	p.probeModels(all.Outcomes)
	p.layers(all.Outcomes)
	p.designs(all.Outcomes)
	p.remarks("Not real here", all.Outcomes, func(r *probe.Result) []string { return r.NotReal })
	p.remarks("Notes", all.Outcomes, func(r *probe.Result) []string { return r.Notes })
}

// probeVersions writes what ran, a line a target.
func (p *page) probeVersions(outcomes []*probe.Outcome) {
	told := map[string]bool{}
	for _, o := range outcomes {
		name := o.Case.Target.Name
		if told[name] || o.Versions == nil {
			continue
		}
		told[name] = true
		var words []string
		for _, what := range slices.Sorted(maps.Keys(o.Versions)) {
			words = append(words, together(what+" "+o.Versions[what]))
		}
		text := name + ": " + strings.Join(words, ", ") + "."
		if !o.Tried {
			text += " This release is none of those the expected counts were seen on."
		}
		p.text(text)
	}
}

// probeModels writes the model beside the stack, a line a case.
func (p *page) probeModels(outcomes []*probe.Outcome) {
	t := table{left: 1}
	t.row("case", "attempts", "loads", "cohorts", "blocks", "fan-in", "most loads", "")
	apart := map[string][]string{}
	var reasons []string
	for _, o := range outcomes {
		m := o.Model
		if m == nil {
			continue
		}
		verdict := "agree"
		if !m.Agrees() {
			verdict = "apart"
			reason := o.Case.Apart
			if reason == "" {
				reason = "no reason is known"
			}
			if apart[reason] == nil {
				reasons = append(reasons, reason)
			}
			apart[reason] = append(apart[reason], o.Case.Name)
		}
		t.row(o.Case.Name, count(m.Attempts), count(m.Loads), count(m.Cohorts), count(m.Blocks), count(m.FanIn), count(m.Most), verdict)
	}
	if len(t.rows) == 1 {
		return
	}
	p.title("The model over the same arrivals")
	p.text("Pairs of model and stack: attempts and loads of a block; cohorts and different " +
		"blocks loaded; fan-in and loads of one block, at most.")
	p.table(&t)
	for _, reason := range reasons {
		p.text("Apart in " + strings.Join(apart[reason], ", ") + ": " + reason + ".")
	}
}

// remarks writes what is said of several cases once, with the cases it is said of.
func (p *page) remarks(title string, outcomes []*probe.Outcome, of func(*probe.Result) []string) {
	cases := map[string][]string{}
	var texts []string
	for _, o := range outcomes {
		if o.Result == nil {
			continue
		}
		for _, text := range of(o.Result) {
			if cases[text] == nil {
				texts = append(texts, text)
			}
			cases[text] = append(cases[text], o.Case.Name)
		}
	}
	if len(texts) == 0 {
		return
	}
	p.title(title)
	p.blank()
	for _, text := range texts {
		where := strings.Join(cases[text], ", ")
		if len(cases[text]) == len(outcomes) {
			where = "all"
		}
		p.item(text + " (" + where + ")")
	}
}

// CSV writes a line a count, with what was expected of it.
func (p *Probe) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"target", "case", "store", "snapshot", "count", "got", "least", "most", "holds"}}
	for _, o := range p.Outcomes {
		store := ""
		if o.Case.HasStore() {
			store = o.Case.Parameters.Store
		}
		for _, snapshot := range probe.Snapshots {
			names := map[string]bool{}
			for name := range o.Observed[snapshot] {
				names[name] = true
			}
			if o.Err == nil {
				for name := range o.Expected[snapshot] {
					names[name] = true
				}
			}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				line := []string{o.Case.Target.Name, o.Case.Name, store, snapshot, name, "", "", "", ""}
				n, there := o.Observed[snapshot][name]
				if there {
					line[5] = strconv.FormatInt(n, 10)
				}
				if want, ok := o.Expected[snapshot][name]; ok {
					line[6], line[7] = strconv.FormatInt(want.Min, 10), strconv.FormatInt(want.Max, 10)
					line[8] = strconv.FormatBool(there && want.Min <= n && n <= want.Max)
				}
				lines = append(lines, line)
			}
		}
	}
	return out.WriteAll(lines)
}
