package report

import (
	"strings"

	"kvfanin/internal/probe"
)

// layerCounts are the counts that the comparison of layers has a column for.
var layerCounts = []struct{ name, label string }{
	{"lookups", "lookups"},
	{"load_specs", "specs"},
	{"queue_entries", "queue"},
	{"gets", "reads"},
	{"staging_allocations", "staging"},
	{"block_ids", "blocks"},
}

// seen returns a count of a case at its end: what this run gave, else what is
// expected of it. A case without such a count has none.
func seen(outcomes []*probe.Outcome, c *probe.Case, name string) string {
	if o := outcomeOf(outcomes, c); o != nil {
		if n, ok := o.Observed[probe.End][name]; ok {
			return count(n)
		}
		return none
	}
	if want, ok := c.Expected(nil)[probe.End][name]; ok {
		if want.Min == want.Max {
			return count(want.Min)
		}
		return count(want.Min) + "–" + count(want.Max)
	}
	return none
}

// outcomeOf returns what this run gave of a case, or nil.
func outcomeOf(outcomes []*probe.Outcome, c *probe.Case) *probe.Outcome {
	for _, o := range outcomes {
		if o.Case.Name == c.Name && o.Err == nil {
			return o
		}
	}
	return nil
}

// source says where the figures of a row are from.
func source(outcomes []*probe.Outcome, c *probe.Case) string {
	if outcomeOf(outcomes, c) != nil {
		return "seen"
	}
	return "expected"
}

// layers writes the paths of all targets side by side.
func (p *page) layers(outcomes []*probe.Outcome) {
	p.title("Layer by layer: which duplicated resource is removed, and by whom")
	t := table{left: 1}
	head := []string{"target and case"}
	for _, c := range layerCounts {
		head = append(head, c.label)
	}
	t.row(append(head, "")...)
	for _, c := range probe.Cases {
		if c.Removes == "" {
			continue
		}
		cells := []string{c.Target.Name + " " + c.Name}
		if strings.HasPrefix(c.Name, c.Target.Name) {
			cells[0] = c.Name
		}
		for _, column := range layerCounts {
			cells = append(cells, seen(outcomes, c, column.name))
		}
		t.row(append(cells, source(outcomes, c))...)
	}
	p.table(&t)
	p.text("For 8 equal cold requests, at the end: lookups at the store or tier, specs that became loadable, " +
		"entries in the receive queue or retrieves, reads of the cold tier, staging buffers, device blocks. " +
		"A row that is expected was not run this time.")
	p.blank()
	for _, c := range probe.Cases {
		if c.Removes != "" {
			p.item(c.Name + ": " + c.Removes)
		}
	}
}

// designs are the ways that are argued about, who owns a load in each, and what
// is said of each: counts for N requests, and the risk. One that a case shows
// has that case, and its figures are not said but counted.
var designs = []struct {
	name   string
	owner  string
	said   []string // lookups, specs, queue, Gets, bytes, blocks
	caseOf string
	risk   string
}{
	{"duplicate (today)", "nobody", nil, "held",
		"wasted reads and memory"},
	{"get-layer single-flight", "the worker, by key", []string{"N", "N", "N", "1", "1", "N"}, "",
		"copies, and still N allocations"},
	{"park followers", "the scheduler, by block hash", []string{"N or 1", "1", "1", "1", "1", "1"}, "",
		"a slow owner holds all; a gate like it was reported at 12 times the time to first token"},
	{"park: OffloadingConnector", "the connector, by block", nil, "offloading",
		"the same, and no wake-up: whoever waits is asked again each step"},
	{"report no hit, recompute", "the scheduler", []string{"N", "1", "1", "1", "1", "N"}, "",
		"prefill is repeated"},
	{"attach by reference count", "the block pool", []string{"N or 1", "1", "1", "1", "1", "1"}, "",
		"pending contents must never be usable; owners fail and are cancelled"},
	{"publish at allocation", "the local prefix cache", nil, "sync",
		"only while loading is synchronous; each request still looks up its own"},
}

// designs writes who could own a load, with what was seen in place of what is
// said where there is a case of it.
func (p *page) designs(outcomes []*probe.Outcome) {
	p.title("Who owns the load of a block that is in flight")
	t := table{left: 1}
	t.row("design", "lookups", "specs", "queue", "Gets", "bytes", "blocks", "")
	for _, d := range designs {
		if d.caseOf == "" {
			t.row(append(append([]string{d.name}, d.said...), "said")...)
			continue
		}
		c, err := probe.CaseByName(d.caseOf)
		if err != nil {
			continue // TestDesigns
		}
		cells := []string{d.name}
		for _, name := range []string{"lookups", "load_specs", "queue_entries", "gets", "bytes", "block_ids"} {
			cells = append(cells, seen(outcomes, c, name))
		}
		t.row(append(cells, source(outcomes, c))...)
	}
	p.table(&t)
	p.text("seen: counted in this run, for 8 requests and one block. expected: counted when the cases were " +
		"written, not in this run. said: of a design that no released stack has, for N requests, in units of one " +
		"block; nothing here ran it.")
	p.blank()
	for _, d := range designs {
		p.item(d.name + ": owned by " + d.owner + "; " + d.risk)
	}
}
