package report

import (
	"encoding/csv"
	"io"
	"strconv"
)

// Plan says what is run of a study, and why not more.
type Plan struct {
	Traces []TracePlan `json:"traces"`
}

// TracePlan is the plan of one trace. Lookups are what is left to run after
// each reason, the first being none.
type TracePlan struct {
	Trace          string `json:"trace"`
	Configurations int    `json:"configurations"`
	Instances      int    `json:"instances"` // of all routings and numbers of instances
	Streams        int    `json:"streams"`   // different ones they serve
	Experiments    int    `json:"experiments"`
	Unbounded      int    `json:"unbounded_experiments"`
	PrefixTree     bool   `json:"prefix_tree"`
	Steps          []Step `json:"steps"`
}

// Step is the lookups left after a reason not to make more.
type Step struct {
	Reason  string `json:"reason"`
	Lookups int64  `json:"lookups"`
}

// JSON writes the plans as one document.
func (p *Plan) JSON(w io.Writer) error { return writeJSON(w, p) }

// CSV writes a line a reason.
func (p *Plan) CSV(w io.Writer) error {
	lines := [][]string{{"trace", "reason", "lookups"}}
	for _, t := range p.Traces {
		for _, s := range t.Steps {
			lines = append(lines, []string{t.Trace, s.Reason, strconv.FormatInt(s.Lookups, 10)})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// Text writes the plans.
func (p *Plan) Text(w io.Writer) error {
	var out page
	for _, t := range p.Traces {
		out.trace(t.Trace)
		out.text("Configurations that are proved to give the same counts are run once, instance by " +
			"instance: those that serve the same requests, under windows for which every arrival " +
			"comes out on the same side of every completion, in caches that hold as many of the " +
			"blocks that will ever be seen. Where all blocks fit nothing is evicted: one pass " +
			"answers every window" + tree(t.PrefixTree) + ".")
		steps := table{left: 1}
		steps.row("run once", "lookups", "left, %")
		for _, s := range t.Steps {
			left := none
			if all := t.Steps[0].Lookups; all > 0 {
				left = strconv.FormatFloat(100*float64(s.Lookups)/float64(all), 'f', 1, 64)
			}
			steps.row(s.Reason, count(s.Lookups), left)
		}
		out.table(&steps)
		totals := table{left: 1}
		totals.row("configurations", count(t.Configurations))
		totals.row("instances, of all routings and numbers", count(t.Instances))
		totals.row("different streams of requests they serve", count(t.Streams))
		totals.row("experiments to run", count(t.Experiments))
		totals.row("of those, all blocks fit", count(t.Unbounded))
		out.table(&totals)
	}
	return out.writeTo(w)
}

func tree(is bool) string {
	if is {
		return " and both lookup rules, since in this trace every block names its whole prefix"
	}
	return ", of independent lookups only: this trace has a block that follows different blocks"
}
