package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
)

func testDocument(t *testing.T) *Document {
	t.Helper()
	h := rundir.Header{Version: "0.1.0", Parameters: rundir.Parameters{BlockTokens: 10, Warmup: "0.1", Grid: testGrid, Cohorts: rundir.CohortsOff}}
	for _, name := range []string{"first", "second"} {
		h.Traces = append(h.Traces, rundir.TraceEntry{Name: name, SHA256: strings.Repeat("0123456789abcdef", 4), Requests: 6, Lookups: 15})
	}
	return NewDocument(h, testStudy(t, ""))
}

// markdownHolds checks what holds of any Markdown: its tables are tables, its
// characters plain, its figures figures.
func markdownHolds(t tb, text string) {
	t.Helper()
	if strings.Contains(text, noBreak) || notNumber.MatchString(text) || strings.Contains(text, "\n\n\n") {
		t.Errorf("a no-break space, no number or empty lines in\n%s", text)
	}
	cells := 0
	for line := range strings.Lines(text) {
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			cells = 0
		case cells == 0:
			cells = n
		case n != cells:
			t.Errorf("%d bars in a table with %d: %s", n, cells, line)
		}
	}
}

func TestMarkdown(t *testing.T) {
	d := testDocument(t)
	markdownHolds(t, golden(t, "document.md", d.Markdown))
	d.Parameters.Control = "sliding_window"
	if text := written(t, d.Markdown); !strings.Contains(text, "Not a measurement") {
		t.Errorf("a broken model is not told:\n%s", text)
	}
}

func TestDocumentJSON(t *testing.T) {
	text := written(t, testDocument(t).JSON)
	var back struct {
		Schema     string
		Version    string
		Parameters map[string]any
		Traces     []struct {
			Source   map[string]any
			Answer   map[string]string
			Findings map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &back); err != nil {
		t.Fatal(err)
	}
	if back.Schema != DocumentSchema || back.Version != "0.1.0" || back.Parameters["warmup"] != "0.1" || len(back.Traces) != 2 {
		t.Errorf("%+v", back)
	}
	for _, trace := range back.Traces {
		for _, question := range []string{"overlap", "origin", "survives"} {
			if a := trace.Answer[question]; a == "" || strings.Contains(a, noBreak) {
				t.Errorf("the answer on %s is %q", question, a)
			}
		}
		if trace.Findings["redundancy_by_window"] == nil || trace.Source["sha256"] == "" {
			t.Errorf("%+v", trace)
		}
	}
}

// TestAnswer holds that an answer says what its numbers say.
func TestAnswer(t *testing.T) {
	at := func(ms int64) *findings.Config {
		return &findings.Config{Lookup: findings.ContiguousPrefix, Routing: findings.RoundRobin, Instances: 1, CapacityBlocks: 1000, WindowMS: ms}
	}
	window := func(ms int64, largest, without float64) findings.Window {
		w := findings.Window{WindowsMS: []int64{ms}, Rows: 60, MedianRedundancy: largest / 2, LargestRedundancy: largest, LargestWithoutExtensions: without}
		if largest > 0 {
			w.LargestAt = at(ms)
		}
		return w
	}
	concentration := findings.Concentrated{WindowsMS: []int64{10_000}, Why: findings.LargestRedundancy, At: *at(10_000)}
	concentration.Joins = 200
	concentration.BusiestBlocks = result.Busiest{Of: 500, Count: 5, Joins: 150}
	concentration.BusiestTimestamps = result.Busiest{Of: 400, Count: 4, Joins: 50}
	concentration.Positions = []result.AtDepth{{From: 0, To: 0, Joins: 120}, {From: 1, To: 3, Joins: 80}}
	concentration.Largest = []result.Largest{{FanIn: 49, Position: 0}}
	arms := func(load, prefix float64) *findings.Sensitivity {
		tie := func(x float64) findings.MedianLargest { return findings.MedianLargest{Largest: x} }
		return &findings.Sensitivity{
			Ties: []findings.Ties{
				{WindowMS: 10, Simultaneous: tie(0.00006), Even: tie(0), RandomLow: tie(0), RandomHigh: tie(0.000006)},
				{WindowMS: 10_000, Simultaneous: tie(0.00109), Even: tie(0.0009), RandomLow: tie(0.0008), RandomHigh: tie(0.0011)},
			},
			Curves: []findings.Curve{{Lookup: findings.ContiguousPrefix, Routing: findings.RoundRobin, Instances: 1, CapacityBlocks: 1000,
				Points: []findings.Point{{WindowMS: 10_000, DuplicateCohorts: 29}}}},
			Routing: &findings.Routing{Rows: 4, Load: load, Prefix: prefix, AffinityLessRoundRobin: load + prefix},
		}
	}
	for _, c := range []struct {
		name string
		f    findings.Findings
		want map[string][]string // of each statement, what it has
	}{
		{"no rows", findings.Findings{}, map[string][]string{"overlap": {"has no row of the steady phase"}}},
		{"no attempts", findings.Findings{Rows: 60, Windows: []findings.Window{{WindowsMS: []int64{10}, Rows: 60, RowsWithoutAttempts: 60}}},
			map[string][]string{"overlap": {"None: in the steady phase no lookup"}}},
		{"no joins", findings.Findings{Rows: 60, Windows: []findings.Window{window(10, 0, 0)}},
			map[string][]string{"overlap": {"None. No cold load is joined in any of the 60 configurations run"}, "origin": {"no join"}, "survives": {"Nothing is there"}}},
		{"next to none", findings.Findings{Windows: []findings.Window{window(10, 0.0009, 0.0009)}}, map[string][]string{"overlap": {"Next to none. ", "0.0900 %"}}},
		{"little", findings.Findings{Windows: []findings.Window{window(10, 0.00006, 0.00006), window(10_000, 0.00109, 0.0004)}, Concentrated: []findings.Concentrated{concentration}},
			map[string][]string{
				"overlap": {"Little. ", "under a load window of 10 s, at most 0.109 %", "the median of 60 rows is 0.0545 %", "under 10 ms it is at most 0.00600 %", "contiguous_prefix, round_robin, 1 instance of 1,000 blocks"},
				"origin":  {"Of the 200 joins there, 75.0 % fall to the busiest 1 % of blocks and 25.0 %", "60.0 % are to the first block", "49 attempts on one block"},
				"survives": {"at most 0.0400 % is left of the 0.109 %",
					"this run does not say: kvfanin study --sensitivity runs them"},
			}},
		{"with arms", findings.Findings{Windows: []findings.Window{window(10, 0.00006, 0.00006), window(10_000, 0.00109, 0)}, Sensitivity: arms(0.001, 0.003)},
			map[string][]string{
				"overlap":  {"Fewer than 30 duplicate cohorts stand behind that figure."},
				"survives": {"nothing is left of the 0.109 %", "it is 0.0800 to 0.110 %; under 10 ms, 0 to 0.000600 % instead of 0.00600 %", "25.0 % is uneven load and 75.0 % the prefixes"},
			}},
		{"one timestamp", findings.Findings{Windows: []findings.Window{window(10_000, 0.9, 0)}, Sensitivity: arms(0.001, 0), Profile: &profile.Profile{DistinctTimestamps: 1}},
			map[string][]string{"survives": {"All requests share one timestamp, and there is no other to spread them towards"}}},
		{"led in warm-up", findings.Findings{Windows: []findings.Window{window(10_000, 0.00109, 0)}, Concentrated: []findings.Concentrated{{WindowsMS: []int64{10_000}, Why: findings.LargestRedundancy}}},
			map[string][]string{"origin": {"on loads that were led in warm-up"}}},
		{"load alone", findings.Findings{Windows: []findings.Window{window(10_000, 0.00109, 0)}, Sensitivity: arms(0.001, 0)}, map[string][]string{"survives": {"All of the mean difference of affinity to round robin is uneven load."}}},
		{"prefix alone", findings.Findings{Windows: []findings.Window{window(10_000, 0.00109, 0)}, Sensitivity: arms(0, -0.001)}, map[string][]string{"survives": {"is the prefixes."}}},
		{"against each other", findings.Findings{Windows: []findings.Window{window(10_000, 0.00109, 0)}, Sensitivity: arms(-0.001, 0.003)}, map[string][]string{"survives": {"is that of the prefixes, and uneven load works against it"}}},
		{"against each other, load", findings.Findings{Windows: []findings.Window{window(10_000, 0.00109, 0)}, Sensitivity: arms(0.004, -0.003)}, map[string][]string{"survives": {"is that of uneven load, and the prefixes work against it"}}},
		{"some", findings.Findings{Windows: []findings.Window{window(10, 0.05, 0.05)}}, map[string][]string{"overlap": {"Some. "}}},
		{"much", findings.Findings{Windows: []findings.Window{window(10, 1, 0.05)}}, map[string][]string{"overlap": {"Much. ", "at most 100 %"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.f.Profile == nil {
				c.f.Profile = &profile.Profile{DistinctTimestamps: 9}
			}
			a := AnswerOf(&c.f)
			got := map[string]string{"overlap": Plain(a.Overlap), "origin": Plain(a.Origin), "survives": Plain(a.Survives)}
			for statement, parts := range c.want {
				for _, part := range parts {
					if !strings.Contains(got[statement], part) {
						t.Errorf("%s is %q, want in it %q", statement, got[statement], part)
					}
				}
			}
			for statement, text := range got {
				if notNumber.MatchString(text) || !strings.HasSuffix(text, ".") || strings.Contains(text, "..") || strings.Contains(text, "  ") {
					t.Errorf("%s is %q", statement, text)
				}
			}
		})
	}
}

// TestRoughly holds that a share in three digits is that share.
func TestRoughly(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0", 1: "100", 0.9995: "100", 0.999: "99.9", 0.09996: "10.0", 0.5: "50.0", 0.0881603: "8.82", 0.00108998: "0.109",
		0.00006068: "0.00607", 0.00000493: "0.000493", 1e-8: "0.00000100",
	} {
		if got := roughly(share); got != want {
			t.Errorf("%g is %s, want %s", share, got, want)
		}
	}
	if got := Plain(roughly(3e-11)); got != "3.00 × 10^-9" {
		t.Errorf("3e-11 is %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(1e-8, 1).Draw(t, "share")
		var back float64
		if _, err := fmt.Sscan(roughly(share), &back); err != nil {
			t.Fatal(err)
		}
		if d := back/100 - share; d > share*0.0051 || -d > share*0.0051 {
			t.Errorf("%g is printed as %s %%", share, roughly(share))
		}
	})
}

// exhibits are all tables of a trace.
func exhibits(f *findings.Findings, warmup string) []*Exhibit {
	return []*Exhibit{
		Redundancies(f, warmup), ThreeShares(f), LookupRules(f), AffinityPairs(f),
		Concentrated(f), Depths(f), LargestCohorts(f),
		TieReadings(f), Uncertainty(f),
		RoutingControls(f), Thresholds(f), Falls(f),
		Reuses(f), ProfileOf(f),
	}
}

// TestExhibits holds the shape of every table: as many cells in each row as
// columns, a caption, and something instead where there is no row.
func TestExhibits(t *testing.T) {
	d := testDocument(t)
	all := exhibits(d.Traces[0].Findings, "0.1")
	all = append(all, exhibits(findings.Of("none", &result.Rows{}, testProfile(t, `{"timestamp": 0, "input_length": 0, "output_length": 0, "hash_ids": []}`), nil), "0.1")...)
	for _, x := range all {
		if x.Title == "" || x.Name == "" {
			t.Errorf("%+v has no name", x)
		}
		if x.Instead == "" && (len(x.Rows) == 0 || x.Caption == "") {
			t.Errorf("%s: no rows or no caption, and nothing instead", x.Name)
		}
		for _, row := range x.Rows {
			if len(row) != len(x.Columns) {
				t.Errorf("%s: %d cells under %d columns", x.Name, len(row), len(x.Columns))
			}
			for _, c := range row {
				if c.Text == "" || notNumber.MatchString(c.Text) {
					t.Errorf("%s: a cell %q", x.Name, c.Text)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	a, b := testDocument(t), testDocument(t)
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Traces) != 2 || len(c.OnlyA)+len(c.OnlyB) != 0 {
		t.Fatalf("%d pairs, %q and %q alone", len(c.Traces), c.OnlyA, c.OnlyB)
	}
	figures := 0
	for _, trace := range c.Traces {
		for _, table := range trace.Tables {
			for _, r := range table.Rows {
				figures++
				// 10 ms is one of three windows that are one experiment, of 16 rows each.
				if table.Name == "redundancy" && r.Row == "10 ms" && r.Figure == "rows" && r.A.Text != "16" {
					t.Errorf("a window of one experiment has %s rows", r.A.Text)
				}
				if r.Difference != nil && *r.Difference != 0 || r.A.Text != r.B.Text || r.difference != "0" && r.difference != "same" {
					t.Errorf("%s: %+v of a run and itself", table.Name, r)
				}
			}
		}
	}
	if figures < 100 {
		t.Errorf("%d figures are compared", figures)
	}
	page80(t, written(t, c.Text))
	markdownHolds(t, written(t, c.Markdown))
	if text := written(t, c.JSON); !json.Valid([]byte(text)) || !strings.Contains(text, `"schema": "`+ComparisonSchema+`"`) {
		t.Error(text)
	}

	// A figure that differs, and one that only one run has.
	w := &b.Traces[0].Findings.Windows[len(b.Traces[0].Findings.Windows)-1]
	was := w.LargestRedundancy
	w.LargestRedundancy += 0.25
	b.Traces[0].Findings.Lookups = nil
	b.Traces[0].Findings.Absent = append(b.Traces[0].Findings.Absent, &findings.Absence{Finding: findings.LookupDifference, Reason: "not run"})
	if c, err = Compare(a, b); err != nil {
		t.Fatal(err)
	}
	var largest, lookups []ComparedRow
	for _, table := range c.Traces[0].Tables {
		for _, r := range table.Rows {
			if table.Name == "redundancy" && r.Row == "10 s" && r.Figure == "largest, %" {
				largest = append(largest, r)
			}
			if table.Name == "lookups" {
				lookups = append(lookups, r)
				if len(table.Absent) != 1 || !strings.HasPrefix(table.Absent[0], "B: Not shown: not run") {
					t.Errorf("absent: %q", table.Absent)
				}
			}
		}
	}
	if len(largest) != 1 || *largest[0].Difference != was+0.25-was || largest[0].difference != "+25.000000" || largest[0].Unit != "share" {
		t.Errorf("%+v", largest)
	}
	for _, r := range lookups {
		if r.B.Text != none || r.Difference != nil {
			t.Errorf("%+v", r)
		}
	}
	page80(t, written(t, c.Text))
	markdownHolds(t, written(t, c.Markdown))
}

// TestComparePairs holds who is compared with whom.
func TestComparePairs(t *testing.T) {
	a, b := testDocument(t), testDocument(t)
	b.Traces[1].Source.Name = "third"
	c, err := Compare(a, b)
	if err != nil || len(c.Traces) != 1 || c.Traces[0].Title() != "first: A against B" || c.OnlyA[0] != "second" || c.OnlyB[0] != "third" {
		t.Errorf("%+v, %v", c, err)
	}
	a.Traces, b.Traces = a.Traces[:1], b.Traces[1:]
	if c, err = Compare(a, b); err != nil || c.Traces[0].Title() != "first (A) against third (B)" {
		t.Errorf("one trace each: %+v, %v", c, err)
	}
	a = testDocument(t)
	if _, err = Compare(a, b); !errors.As(err, new(*NoPartner)) || !strings.Contains(err.Error(), "first and second against third") {
		t.Errorf("no partner: %v", err)
	}
}

// TestCompareRefuses holds that every parameter that differs is named as the
// flag that sets it, with both values.
func TestCompareRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*rundir.Parameters)
		want   string
	}{
		{func(p *rundir.Parameters) { p.BlockTokens = 16 }, `--block-size is 10 and 16`},
		{func(p *rundir.Parameters) { p.Warmup = "0.2" }, `--warmup is "0.1" and "0.2"`},
		{func(p *rundir.Parameters) { p.Lookups = p.Lookups[:1] }, `--lookup is ["contiguous_prefix","independent_blocks"] and ["contiguous_prefix"]`},
		{func(p *rundir.Parameters) { p.Routings = p.Routings[1:] }, `--routing is ["round_robin","first_block_affinity"] and ["first_block_affinity"]`},
		{func(p *rundir.Parameters) { p.Instances = []int{1, 2} }, `--instances is [1,16] and [1,2]`},
		{func(p *rundir.Parameters) { p.CapacitiesBlocks = []int{7} }, `--capacity is [1000,100000] and [7]`},
		{func(p *rundir.Parameters) { p.WindowsMS = []int64{7} }, `--window is [10,1000,2500,3000,10000] and [7]`},
		{func(p *rundir.Parameters) { p.Control = "insert_on_miss" }, `--control is none and "insert_on_miss"`},
		{func(p *rundir.Parameters) { p.Sensitivity = &result.Sensitivity{Seeds: 20} }, `--sensitivity is none and {"seeds":20,`},
	} {
		a, b := testDocument(t), testDocument(t)
		c.change(&b.Parameters)
		_, err := Compare(a, b)
		if !errors.As(err, new(*DifferentParameters)) || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), " is ") != 1 {
			t.Errorf("%v, want %s alone", err, c.want)
		}
	}
	a, b := testDocument(t), testDocument(t)
	b.Parameters.Warmup, b.Parameters.BlockTokens = "0.5", 1
	if _, err := Compare(a, b); !regexp.MustCompile(`--block-size is 10 and 1; --warmup is "0.1" and "0.5"$`).MatchString(err.Error()) {
		t.Error(err)
	}
	b = testDocument(t)
	b.Parameters.Cohorts = "parquet"
	if _, err := Compare(a, b); err != nil {
		t.Errorf("whether cohorts were kept changes no figure: %v", err)
	}
}

// TestCommands holds that the commands name every parameter.
func TestCommands(t *testing.T) {
	d := testDocument(t)
	d.Traces[1].Source.Sorted = true
	d.Parameters.Control, d.Parameters.Cohorts = "sliding_window", "parquet"
	d.Parameters.Sensitivity = &result.Sensitivity{Seeds: 3, ThresholdShares: []float64{0.001, 0.5}}
	want := "kvfanin study first=TRACE1 second=TRACE2 --lookup contiguous_prefix,independent_blocks --routing round_robin,first_block_affinity " +
		"--instances 1,16 --capacity 1000,100000 --window 10ms,1000ms,2500ms,3000ms,10000ms --warmup 0.1 --block-size 10 --control sliding_window " +
		"--cohorts parquet --sort --sensitivity --seeds 3 --threshold 0.001,0.5 -o run"
	if got := d.Commands(); got[0] != want || len(got) != 3 {
		t.Errorf("%q\nwant %q", got, want)
	}
}
