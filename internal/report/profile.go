package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"kvfanin/internal/profile"
)

// Profiles is what traces look like before any model touches them.
type Profiles struct {
	Traces []Profile `json:"traces"`
}

// Profile is what one trace looks like.
type Profile struct {
	Trace   string           `json:"trace"`
	Profile *profile.Profile `json:"profile"`
}

// JSON writes the profiles as one document.
func (ps *Profiles) JSON(w io.Writer) error { return writeJSON(w, ps) }

// Text writes each profile with its three distributions and, for each window,
// the reuses inside it.
func (ps *Profiles) Text(w io.Writer) error {
	var p page
	for _, t := range ps.Traces {
		p.trace(t.Trace)
		p.profile(t.Profile)
		p.distributions(t.Profile)
		p.reuse(&t.Profile.Reuse)
	}
	return p.writeTo(w)
}

// CSV writes a line a figure: trace,figure,value. A figure is named by its
// path in the JSON form, a window by its length, a span by its number from 0;
// one that does not exist is left out.
func (ps *Profiles) CSV(w io.Writer) error {
	var out bytes.Buffer
	out.WriteString("trace,figure,value\n")
	for _, t := range ps.Traces {
		line := func(figure, value string) { out.WriteString(t.Trace + "," + figure + "," + value + "\n") }
		for _, f := range figures(t.Profile) {
			if f.value != nil {
				line(f.name, strconv.FormatInt(*f.value, 10))
			}
		}
		for _, d := range distributions(t.Profile) {
			line(d.name+".count", strconv.FormatInt(d.Count, 10))
			for _, q := range quantiles {
				if d.Quantiles != nil {
					line(d.name+"."+q.name, strconv.FormatInt(q.of(d.Quantiles), 10))
				}
			}
		}
		for _, win := range t.Profile.Reuse.Windows {
			name := fmt.Sprintf("reuse.windows.%d_ms", win.WindowMS)
			line(name+".reuses", strconv.FormatInt(win.Reuses, 10))
			if win.Share != nil {
				line(name+".share", strconv.FormatFloat(*win.Share, 'g', -1, 64))
			}
		}
		if a := t.Profile.Arrivals; a != nil {
			line("arrivals.span_ms", strconv.FormatInt(a.SpanMS, 10))
			for i := range a.Requests {
				line(fmt.Sprintf("arrivals.requests.%d", i), strconv.FormatInt(a.Requests[i], 10))
				line(fmt.Sprintf("arrivals.lookups.%d", i), strconv.FormatInt(a.Lookups[i], 10))
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// figure is a single figure of a profile.
type figure struct {
	name  string // its path in JSON
	label string
	value *int64 // nil if it does not exist
}

func figures(p *profile.Profile) []figure {
	return []figure{
		{"requests", "requests", &p.Requests},
		{"lookups", "lookups (request, block)", &p.Lookups},
		{"distinct_blocks", "distinct blocks", &p.DistinctBlocks},
		{"dropped_duplicates", "hashes dropped, second in a request", &p.DroppedDuplicates},
		{"block_tokens", "block size, tokens", &p.BlockTokens},
		{"input_tokens", "input tokens", &p.InputTokens},
		{"output_tokens", "output tokens", &p.OutputTokens},
		{"first_timestamp_ms", "first timestamp, ms", p.FirstTimestampMS},
		{"last_timestamp_ms", "last timestamp, ms", p.LastTimestampMS},
		{"distinct_timestamps", "distinct timestamps", &p.DistinctTimestamps},
		{"smallest_positive_gap_ms", "smallest positive gap, ms", p.SmallestPositiveGapMS},
		{"median_positive_gap_ms", "median positive gap, ms", p.MedianPositiveGapMS},
		{"median_requests_per_timestamp", "median requests per timestamp", p.MedianRequestsPerTimestamp},
		{"median_positive_reuse_gap_ms", "median positive reuse gap, ms", p.MedianPositiveReuseGapMS},
		{"reuse.reuses", "reuses", &p.Reuse.Reuses},
		{"reuse.zero_gaps", "reuses within one timestamp", &p.Reuse.ZeroGaps},
	}
}

func (p *page) profile(pr *profile.Profile) {
	p.title("Profile")
	p.text("The whole trace as it was read, before any model. A gap lies between successive " +
		"timestamps, a reuse gap between successive requests for one block.")
	t := table{left: 1}
	for _, f := range figures(pr) {
		t.row(f.label, countOrNone(f.value))
	}
	p.table(&t)
}

// distribution is a distribution of a profile.
type distribution struct {
	name  string // its path in JSON
	label [2]string
	*profile.Distribution
}

func distributions(p *profile.Profile) []distribution {
	return []distribution{
		{"positive_gap_ms", [2]string{"positive", "gap, ms"}, &p.PositiveGapMS},
		{"requests_per_timestamp", [2]string{"requests per", "timestamp"}, &p.RequestsPerTimestamp},
		{"reuse.positive_gap_ms", [2]string{"positive", "reuse gap, ms"}, &p.Reuse.PositiveGapMS},
	}
}

var quantiles = []struct {
	name string
	of   func(*profile.Quantiles) int64
}{
	{"min", func(q *profile.Quantiles) int64 { return q.Min }},
	{"p1", func(q *profile.Quantiles) int64 { return q.P1 }},
	{"p5", func(q *profile.Quantiles) int64 { return q.P5 }},
	{"p10", func(q *profile.Quantiles) int64 { return q.P10 }},
	{"p25", func(q *profile.Quantiles) int64 { return q.P25 }},
	{"p50", func(q *profile.Quantiles) int64 { return q.P50 }},
	{"p75", func(q *profile.Quantiles) int64 { return q.P75 }},
	{"p90", func(q *profile.Quantiles) int64 { return q.P90 }},
	{"p95", func(q *profile.Quantiles) int64 { return q.P95 }},
	{"p99", func(q *profile.Quantiles) int64 { return q.P99 }},
	{"max", func(q *profile.Quantiles) int64 { return q.Max }},
}

func (p *page) distributions(pr *profile.Profile) {
	p.title("Distributions")
	p.text("Percentiles are observed values; p50 is the median above.")
	t := table{left: 1}
	heads, units, counts := []string{""}, []string{""}, []string{"values"}
	ds := distributions(pr)
	for _, d := range ds {
		heads, units = append(heads, d.label[0]), append(units, d.label[1])
		counts = append(counts, count(d.Count))
	}
	t.row(heads...)
	t.row(units...)
	t.row(counts...)
	for _, q := range quantiles {
		cells := []string{q.name}
		for _, d := range ds {
			cell := none
			if d.Quantiles != nil {
				cell = count(q.of(d.Quantiles))
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
	}
	p.table(&t)
}

func (p *page) reuse(r *profile.Reuse) {
	p.title("Reuse inside each window")
	if r.Reuses == 0 {
		p.text("No block is requested twice: there is nothing to share under any window.")
		return
	}
	p.text(fmt.Sprintf("Of the %s in the trace, those that come less than one window after the last "+
		"request for the same block. This is the trace alone, both phases, with no cache "+
		"and no instances; a median gap does not show this tail.", plural(r.Reuses, "reuse")))
	t := table{left: 1}
	t.row("window", "reuses", "% of all")
	for _, w := range r.Windows {
		share := none
		if w.Share != nil {
			share = percent(*w.Share)
		}
		t.row(duration(w.WindowMS), count(w.Reuses), share)
	}
	p.table(&t)
}
