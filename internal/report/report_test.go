package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// golden holds what write writes against a file of testdata. What is in the
// file was read by a person once; that it is right, and not only the same as
// ever, is for the tests beside it.
func golden(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	got := written(t, write)
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-want +got); if this is meant, run go test with -update:\n%s", path, d)
	}
	return got
}

// tb is a test, or a check of rapid.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func written(t tb, write func(io.Writer) error) string {
	t.Helper()
	var once, twice bytes.Buffer
	for _, buf := range []*bytes.Buffer{&once, &twice} {
		if err := write(buf); err != nil {
			t.Fatal(err)
		}
	}
	if once.String() != twice.String() {
		t.Errorf("written twice it differs:\n%s\n%s", &once, &twice)
	}
	return once.String()
}

// page80 checks what holds of any text: its width, its characters, no figure
// that is none, no space at the end of a line.
func page80(t tb, text string) {
	t.Helper()
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.HasPrefix(text, "\n") || strings.Contains(text, "\n\n\n") {
		t.Errorf("empty lines are amiss:\n%s", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("space at the end: %q", line)
		}
		for _, r := range line {
			if (r < ' ' || r > '~') && !strings.ContainsRune("÷×–", r) {
				t.Errorf("character %q in %q", r, line)
			}
		}
		if notNumber.MatchString(line) {
			t.Errorf("not a number in %q", line)
		}
	}
}

var notNumber = regexp.MustCompile(`NaN|Inf\b|%!`)

var wide = regexp.MustCompile(` {2,}`)

// tables returns the cells of every line of a text that is part of a table,
// by section.
func tables(text string) map[string][][]string {
	cells := make(map[string][][]string)
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, indent) {
			if line != "" && !strings.HasPrefix(line, "=") {
				section = line
			}
			continue
		}
		if row := wide.Split(strings.TrimSpace(line), -1); len(row) > 1 {
			cells[section] = append(cells[section], row)
		}
	}
	return cells
}

// tailOf cuts the heads off a table.
func tailOf(rows [][]string, heads int) [][]string {
	if len(rows) < heads {
		return nil
	}
	return rows[heads:]
}

const testTrace = `
{"timestamp": 0, "input_length": 30, "output_length": 5, "hash_ids": [1, 2, 3]}
{"timestamp": 0, "input_length": 25, "output_length": 5, "hash_ids": [1, 2, 4]}
{"timestamp": 0, "input_length": 25, "output_length": 5, "hash_ids": [1, 2, 2]}
{"timestamp": 2500, "input_length": 40, "output_length": 7, "hash_ids": [1, 2, 3, 5]}
{"timestamp": 5500, "input_length": 10, "output_length": 0, "hash_ids": [1]}
{"timestamp": 1205500, "input_length": 20, "output_length": 1, "hash_ids": [1, 9]}
`

var testGrid = result.Grid{
	Lookups:          []string{findings.ContiguousPrefix, findings.IndependentBlocks},
	Routings:         []string{findings.RoundRobin, findings.FirstBlockAffinity},
	Instances:        []int{1, 16},
	CapacitiesBlocks: []int{1_000, 100_000},
	WindowsMS:        []int64{10, 1_000, 2_500, 3_000, 10_000},
}

func testProfile(t *testing.T, text string) *profile.Profile {
	t.Helper()
	tr, err := trace.Parse("test", []byte(text), trace.Options{BlockTokens: 10})
	if err != nil {
		t.Fatal(err)
	}
	return profile.Of(tr, testGrid.WindowsMS)
}

// testOutcome makes counts up that obey the identities and differ between
// configurations.
func testOutcome(c result.Config) *result.Outcome {
	o := &result.Outcome{Instances: make([][result.Phases]result.Tally, c.Instances)}
	shared := c.WindowMS/1_000 + int64(c.CapacityBlocks/50_000)
	if c.Lookup == findings.IndependentBlocks {
		shared *= 3
	}
	if c.Routing == findings.FirstBlockAffinity && c.Instances > 1 {
		switch {
		case c.CapacityBlocks == 1_000 && c.WindowMS >= 3_000:
			shared += 5
		case c.CapacityBlocks == 100_000 && c.WindowMS == 10_000:
			shared--
		}
	}
	single := int64(123_456)
	if c.WindowMS == 10_000 {
		single = 1_200
	}
	for k := range o.Instances {
		for phase := range o.Instances[k] {
			requests := int64(2_000)
			if c.Routing == findings.FirstBlockAffinity && k == 0 {
				requests *= int64(c.Instances)
			}
			fanIn := result.FanIn{{FanIn: 1, Cohorts: single - int64(100*phase)}}
			if n := shared + int64(c.Instances/16); n > 0 {
				fanIn = append(fanIn, result.FanInCount{FanIn: 2, Cohorts: n}, result.FanInCount{FanIn: 9 + int64(phase), Cohorts: 1})
			}
			o.Instances[k][phase] = result.Tally{
				Counts: result.Counts{
					Requests: requests, Hits: 1_234_567, Attempts: fanIn.Attempts(), Lookups: 1_234_567 + fanIn.Attempts(),
					Cohorts: fanIn.Cohorts(), Joins: fanIn.Attempts() - fanIn.Cohorts(),
				},
				FanIn: fanIn,
			}
			o.Relations[phase].Repeat += int64(k)
			rest := o.Instances[k][phase].Joins - int64(k)
			o.Relations[phase].Extension += max(0, rest) / 3
			o.Relations[phase].Branch += rest - max(0, rest)/3
		}
	}
	return o
}

func testStudy(t *testing.T, control string) *Study {
	t.Helper()
	s := &Study{Control: control, Warmup: "0.1"}
	p := testProfile(t, testTrace)
	for _, name := range []string{"first", "second"} {
		var rows []result.PhaseRow
		for _, c := range testGrid.Configs() {
			rows = append(rows, testOutcome(c).PhaseRows(name, c)...)
		}
		s.Traces = append(s.Traces, findings.Of(name, &result.Rows{Phases: rows}, p, nil))
		s.Phases = append(s.Phases, rows...)
	}
	return s
}

func TestStudy(t *testing.T) {
	s := testStudy(t, "none")
	text := golden(t, "study.txt", s.Text)
	page80(t, text)
	golden(t, "study.json", s.JSON)

	first, second, _ := strings.Cut(text, "\nsecond\n")
	if strings.TrimPrefix(first, "first\n=====\n") != strings.TrimPrefix(second, "======\n") {
		t.Error("two traces with equal rows have different tables")
	}

	var csv bytes.Buffer
	if err := s.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	back, err := result.PhaseTable.Read(&csv)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(s.Phases, back); d != "" {
		t.Errorf("rows read back from CSV (-want +got):\n%s", d)
	}
}

// TestStudyFigures recomputes each figure of the study's tables from the rows
// of the first trace.
func TestStudyFigures(t *testing.T) {
	s := testStudy(t, "")
	text, _, _ := strings.Cut(written(t, s.Text), "\nsecond\n")
	got := tables(text)

	var steady []result.PhaseRow
	for _, r := range s.Phases {
		if r.Trace == "first" && r.Phase == result.Steady {
			steady = append(steady, r)
		}
	}
	inPercent := func(r result.PhaseRow) float64 { return 100 * float64(r.Joins) / float64(r.Attempts) }

	var want [][]string
	var places [][]string
	for _, line := range []struct {
		label string
		from  int64
		to    int64
	}{{"10 ms – 2.5 s", 10, 2_500}, {"3 s", 3_000, 3_000}, {"10 s", 10_000, 10_000}} {
		var shares []float64
		var fanIn int64
		over := 0
		for _, r := range steady {
			if r.WindowMS >= line.from && r.WindowMS <= line.to {
				shares = append(shares, inPercent(r))
				fanIn = max(fanIn, r.FanInMax)
				if r.FanInP99 > 1 {
					over++
				}
			}
		}
		largest := slices.Max(shares)
		for _, r := range steady {
			if r.WindowMS >= line.from && r.WindowMS <= line.to && inPercent(r) == largest {
				places = append(places, []string{line.label, r.Lookup, r.Routing, grouped(t, fmt.Sprintf("%d × %d", r.Instances, r.CapacityBlocks))})
				break
			}
		}
		slices.Sort(shares)
		n := len(shares)
		want = append(want, []string{
			line.label, strconv.Itoa(n), fmt.Sprintf("%.6f", (shares[n/2-1]+shares[n/2])/2),
			fmt.Sprintf("%.6f", largest), strconv.FormatInt(fanIn, 10), strconv.Itoa(over),
		})
	}
	same(t, "redundancy", slices.Concat(want, places), tailOf(got["Redundancy by window"], 2))

	most := 0.0
	for _, a := range steady {
		for _, b := range steady {
			b.Lookup = a.Lookup
			if a.Config == b.Config {
				most = max(most, math.Abs(inPercent(a)-inPercent(b))/100)
			}
		}
	}
	digits, _, _ := strings.Cut(fmt.Sprintf("%.2e", most), "e")
	if d := got["Lookup rules"][0][1]; !strings.HasPrefix(d, digits+"e-") && d != fmt.Sprintf("%.6f", most) {
		t.Errorf("largest difference %s, want %g", d, most)
	}

	compared := map[string][3]int{} // by instances: higher, equal, lower
	for _, a := range steady {
		for _, b := range steady {
			if a.Routing != findings.FirstBlockAffinity || b.Routing != findings.RoundRobin {
				continue
			}
			b.Routing = a.Routing
			if a.Config != b.Config {
				continue
			}
			for _, n := range []string{strconv.Itoa(a.Instances), "all"} {
				c := compared[n]
				switch {
				case inPercent(a) > inPercent(b):
					c[0]++
				case inPercent(a) == inPercent(b):
					c[1]++
				default:
					c[2]++
				}
				compared[n] = c
			}
		}
	}
	want = nil
	for _, n := range []string{"1", "16", "all"} {
		c := compared[n]
		affinity := "1.00"
		if n != "1" {
			affinity = fmt.Sprintf("%.2f", 16*16./31) // the requests of testOutcome
		}
		want = append(want, []string{n, strconv.Itoa(c[0] + c[1] + c[2]), strconv.Itoa(c[0]), strconv.Itoa(c[1]), strconv.Itoa(c[2]), affinity, "1.00"})
	}
	same(t, "affinity", want, tailOf(got["Affinity against round robin"], 2))
	if all := compared["all"]; all[0] == all[2] || all[0]*all[1]*all[2] == 0 {
		t.Errorf("higher, equal, lower are %v: the columns cannot be told apart", all)
	}

	// Of test trace's gaps: 0 0 0 0 between the first three; 2500 2500 2500
	// (blocks 1, 2, 3); 3000 (1); 1,200,000 (1). Of 9, 4 are 0.
	same(t, "reuse", [][]string{
		{"10 ms", "4", fmt.Sprintf("%.6f", 400./9)},
		{"1 s", "4", fmt.Sprintf("%.6f", 400./9)},
		{"2.5 s", "4", fmt.Sprintf("%.6f", 400./9)},
		{"3 s", "7", fmt.Sprintf("%.6f", 700./9)},
		{"10 s", "8", fmt.Sprintf("%.6f", 800./9)},
	}, tailOf(got["Reuse inside each window"], 1))

	same(t, "profile", [][]string{
		{"requests", "6"},
		{"lookups (request, block)", "15"},
		{"distinct blocks", "6"},
		{"hashes dropped, second in a request", "1"},
		{"block size, tokens", "10"},
		{"input tokens", "150"},
		{"output tokens", "23"},
		{"first timestamp, ms", "0"},
		{"last timestamp, ms", "1,205,500"},
		{"distinct timestamps", "4"},
		{"smallest positive gap, ms", "2,500"},
		{"median positive gap, ms", "3,000"},
		{"median requests per timestamp", "1"},
		{"median positive reuse gap, ms", "2,500"},
		{"reuses", "9"},
		{"reuses within one timestamp", "4"},
	}, got["Profile"])
}

// grouped groups the digits of each number of text by thousands, another way
// than count does.
func grouped(t *testing.T, text string) string {
	t.Helper()
	thousands := regexp.MustCompile(`(\d)(\d{3})($|[ ,])`)
	for thousands.MatchString(text) {
		text = thousands.ReplaceAllString(text, "$1,$2$3")
	}
	return text
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestControl sees to it that nobody takes a broken model for a measurement.
func TestControl(t *testing.T) {
	const warning = "*** NOT A MEASUREMENT: model broken on purpose (insert_on_miss) ***"
	broken := testStudy(t, "insert_on_miss")
	text := written(t, broken.Text)
	page80(t, text)
	if line, _, _ := strings.Cut(text, "\n"); line != warning {
		t.Errorf("first line is %q", line)
	}
	if n := strings.Count(text, warning); n != len(broken.Traces) {
		t.Errorf("%d warnings for %d traces", n, len(broken.Traces))
	}
	// Apart from that it is the same text.
	if got := strings.ReplaceAll(text, warning+"\n\n", ""); got != written(t, testStudy(t, "none").Text) {
		t.Error("the control changes more than the warning")
	}

	c := testGrid.Configs()[0]
	s := Simulation{Trace: "first", Config: c, Control: "insert_on_miss", Outcome: testOutcome(c)}
	if text := written(t, s.Text); !strings.HasPrefix(text, warning+"\n") {
		t.Errorf("simulation begins with %.80q", text)
	}
	for name, write := range map[string]func(io.Writer) error{"study": broken.JSON, "simulation": s.JSON} {
		var doc struct{ Control string }
		if err := json.Unmarshal([]byte(written(t, write)), &doc); err != nil || doc.Control != "insert_on_miss" {
			t.Errorf("%s: JSON has control %q, %v", name, doc.Control, err)
		}
	}
}

// TestStudyOfAlmostNothing is one configuration over one request.
func TestStudyOfAlmostNothing(t *testing.T) {
	p := testProfile(t, `{"timestamp": 0, "input_length": 5, "output_length": 0, "hash_ids": [1]}`)
	c := result.Config{Lookup: findings.ContiguousPrefix, Routing: findings.RoundRobin, Instances: 1, CapacityBlocks: 1, WindowMS: 10}
	o := &result.Outcome{Instances: make([][result.Phases]result.Tally, 1)}
	s := &Study{Traces: []*findings.Findings{findings.Of("tiny", &result.Rows{Phases: o.PhaseRows("tiny", c)}, p, nil)}}
	page80(t, golden(t, "study_tiny.txt", s.Text))
	golden(t, "study_tiny.json", s.JSON)

	none := &Study{Traces: []*findings.Findings{findings.Of("none", &result.Rows{}, p, nil)}}
	text := written(t, none.Text)
	page80(t, text)
	if n := strings.Count(text, "Not shown: there is no row of this trace in the steady phase."); n != 3 {
		t.Errorf("%d findings say that they have no rows, want 3:\n%s", n, text)
	}

	sim := Simulation{Trace: "tiny", Config: c, Warmup: "0.1", Outcome: o}
	text = golden(t, "simulation_tiny.txt", sim.Text)
	page80(t, text)
	for _, row := range tables(text)["Counts"] {
		for _, ratio := range []string{"redundancy, %", "fan-in", "request imbalance"} {
			if strings.HasPrefix(row[0], ratio) && (row[1] != "-" || row[2] != "-") {
				t.Errorf("%v: there is nothing to make a figure of", row)
			}
		}
	}
}

func TestProfiles(t *testing.T) {
	p := testProfile(t, testTrace)
	ps := &Profiles{Traces: []Profile{{"first", p}, {"one", testProfile(t, `{"timestamp": 7, "input_length": 0, "output_length": 0, "hash_ids": []}`)}}}
	text := golden(t, "profile.txt", ps.Text)
	page80(t, text)
	golden(t, "profile.json", ps.JSON)
	golden(t, "profile.csv", ps.CSV)

	// The gaps are 2500, 3000 and 1,200,000, the timestamps have 3, 1, 1 and 1
	// requests, the positive reuse gaps are 2500 three times, 3000, 1,200,000.
	first, _, _ := strings.Cut(text, "\none\n")
	same(t, "distributions", [][]string{
		{"values", "3", "4", "5"},
		{"min", "2,500", "1", "2,500"},
		{"p1", "2,500", "1", "2,500"},
		{"p5", "2,500", "1", "2,500"},
		{"p10", "2,500", "1", "2,500"},
		{"p25", "2,500", "1", "2,500"},
		{"p50", "3,000", "1", "2,500"},
		{"p75", "1,200,000", "3", "3,000"},
		{"p90", "1,200,000", "3", "1,200,000"},
		{"p95", "1,200,000", "3", "1,200,000"},
		{"p99", "1,200,000", "3", "1,200,000"},
		{"max", "1,200,000", "3", "1,200,000"},
	}, tailOf(tables(first)["Distributions"], 2))
}

// TestProfileFiguresInCSV finds every number of the JSON form in the CSV form,
// under its path, so that a new figure is not forgotten there.
func TestProfileFiguresInCSV(t *testing.T) {
	p := testProfile(t, testTrace)
	p.PositiveGapMS.Quantiles = &profile.Quantiles{Min: 1, P1: 2, P5: 3, P10: 4, P25: 5, P50: 6, P75: 7, P90: 8, P95: 9, P99: 10, Max: 11}
	ps := &Profiles{Traces: []Profile{{"first", p}}}
	got := make(map[string]string)
	for line := range strings.Lines(written(t, ps.CSV)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != 3 || got[f[1]] != "" {
			t.Fatalf("line %q", line)
		}
		got[f[1]] = f[2]
	}
	delete(got, "figure")

	d := json.NewDecoder(strings.NewReader(written(t, ps.JSON)))
	d.UseNumber()
	var doc struct {
		Traces []struct{ Profile map[string]any }
	}
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	var flatten func(path string, v any)
	flatten = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				flatten(strings.TrimPrefix(path+"."+key, "."), value)
			}
		case []any:
			for i, element := range v {
				w, isWindow := element.(map[string]any)
				if !isWindow {
					flatten(fmt.Sprintf("%s.%d", path, i), element)
					continue
				}
				ms := w["window_ms"].(json.Number)
				delete(w, "window_ms")
				flatten(path+"."+ms.String()+"_ms", w)
			}
		case json.Number:
			want[path] = v.String()
		default:
			t.Errorf("%s is %v", path, v)
		}
	}
	flatten("", doc.Traces[0].Profile)
	same(t, "figures", want, got)
}

func TestSimulation(t *testing.T) {
	c := result.Config{Lookup: findings.IndependentBlocks, Routing: findings.FirstBlockAffinity, Instances: 16, CapacityBlocks: 100_000, WindowMS: 10_000}
	s := &Simulation{Trace: "first", Config: c, Warmup: "0.1", Outcome: testOutcome(c)}
	text := golden(t, "simulation.txt", s.Text)
	page80(t, text)
	golden(t, "simulation.json", s.JSON)

	var csv bytes.Buffer
	if err := s.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	rows, err := result.PhaseTable.Read(&csv)
	if err != nil {
		t.Fatal(err)
	}
	w, st := rows[0], rows[1]
	if w.Phase != result.Warmup || st.Phase != result.Steady || w.Config != c {
		t.Fatalf("rows of %v %v", w, st)
	}
	both := func(label string, figure func(result.PhaseRow) string) []string {
		return []string{label, figure(w), figure(st)}
	}
	integer := func(label string, n func(result.PhaseRow) int64) []string {
		return both(label, func(r result.PhaseRow) string { return grouped(t, strconv.FormatInt(n(r), 10)) })
	}
	got := tables(text)
	same(t, "counts", [][]string{
		integer("requests", func(r result.PhaseRow) int64 { return r.Requests }),
		integer("lookups", func(r result.PhaseRow) int64 { return r.Lookups }),
		integer("hits", func(r result.PhaseRow) int64 { return r.Hits }),
		integer("attempts", func(r result.PhaseRow) int64 { return r.Attempts }),
		integer("cohorts", func(r result.PhaseRow) int64 { return r.Cohorts }),
		integer("joins", func(r result.PhaseRow) int64 { return r.Joins }),
		integer("boundary joins (led in the other phase)", func(r result.PhaseRow) int64 { return r.BoundaryJoins }),
		integer("duplicate cohorts (fan-in above 1)", func(r result.PhaseRow) int64 { return r.DuplicateCohorts }),
		integer("duplicate attempts (in those)", func(r result.PhaseRow) int64 { return r.DuplicateAttempts }),
		both("redundancy, %", func(r result.PhaseRow) string { return fmt.Sprintf("%.6f", 100*r.PrintedRedundancy) }),
		both("without extensions (see below), %", func(r result.PhaseRow) string {
			joins := r.Joins - s.Outcome.Relations[r.Phase].Extension
			return fmt.Sprintf("%.6f", 100*float64(joins)/float64(r.Attempts))
		}),
		integer("fan-in p50", func(r result.PhaseRow) int64 { return r.FanInP50 }),
		integer("fan-in p99", func(r result.PhaseRow) int64 { return r.FanInP99 }),
		integer("fan-in max", func(r result.PhaseRow) int64 { return r.FanInMax }),
		both("request imbalance (most ÷ mean)", func(r result.PhaseRow) string { return fmt.Sprintf("%.2f", r.RequestImbalance) }),
	}, tailOf(got["Counts"], 1))

	// The three relations are all joins, the ranges of fan-in all cohorts, in
	// either column.
	sums := func(section string) (sum [2]int64) {
		for _, row := range tailOf(got[section], 1) {
			for i := range sum {
				n, err := strconv.ParseInt(strings.ReplaceAll(row[i+1], ",", ""), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum[i] += n
			}
		}
		return sum
	}
	same(t, "joins by relation", [2]int64{w.Joins, st.Joins}, sums("Joins by relation to the request that leads"))
	same(t, "cohorts by fan-in", [2]int64{w.Cohorts, st.Cohorts}, sums("Cohorts by fan-in"))
}

// TestAnyPage holds pages of random studies and simulations, with numbers
// from none to many digits, to what holds of any page.
func TestAnyPage(t *testing.T) {
	digits := rapid.Custom(func(t *rapid.T) int64 {
		top := int64(1)
		for range rapid.IntRange(0, 12).Draw(t, "digits") {
			top *= 10
		}
		return rapid.Int64Range(0, top).Draw(t, "number")
	})
	rapid.Check(t, func(t *rapid.T) {
		var rows []result.PhaseRow
		var s Simulation
		for range rapid.IntRange(1, 5).Draw(t, "configurations") {
			c := result.Config{
				Lookup:         rapid.SampledFrom(testGrid.Lookups).Draw(t, "lookup"),
				Routing:        rapid.SampledFrom(testGrid.Routings).Draw(t, "routing"),
				Instances:      rapid.IntRange(1, 2).Draw(t, "instances"),
				CapacityBlocks: rapid.SampledFrom([]int{1, 1000, 10_000_000}).Draw(t, "capacity"),
				WindowMS:       rapid.Int64Range(1, 200_000).Draw(t, "window"),
			}
			o := &result.Outcome{Instances: make([][result.Phases]result.Tally, c.Instances)}
			for k := range o.Instances {
				for phase := range o.Instances[k] {
					tally := &o.Instances[k][phase]
					tally.Requests, tally.Hits = digits.Draw(t, "requests"), digits.Draw(t, "hits")
					if rapid.Bool().Draw(t, "attempts") {
						tally.FanIn = result.FanIn{
							{FanIn: 1, Cohorts: digits.Draw(t, "single")},
							{FanIn: rapid.Int64Range(2, 1000).Draw(t, "fan-in"), Cohorts: digits.Draw(t, "shared")},
						}
					}
					tally.Attempts, tally.Cohorts = tally.FanIn.Attempts(), tally.FanIn.Cohorts()
					tally.Joins = tally.Attempts - tally.Cohorts
				}
			}
			rows = append(rows, o.PhaseRows("t", c)...)
			s = Simulation{Trace: "t", Config: c, Outcome: o}
		}
		gap := digits.Draw(t, "gap")
		p := &profile.Profile{Requests: gap, Lookups: digits.Draw(t, "lookups"), Reuse: profile.Reuse{Reuses: digits.Draw(t, "reuses")}}
		if gap > 0 {
			p.SmallestPositiveGapMS = &gap
			p.PositiveGapMS = profile.Distribution{Count: gap, Quantiles: &profile.Quantiles{Min: gap, Max: gap * 100}}
		}
		page80(t, written(t, (&Study{Warmup: "0.1", Traces: []*findings.Findings{findings.Of("t", &result.Rows{Phases: rows}, p, nil)}}).Text))
		page80(t, written(t, (&Profiles{Traces: []Profile{{"t", p}}}).Text))
		page80(t, written(t, s.Text))
		written(t, s.JSON)
	})
}

// TestWidest sets the widest names there are beside large numbers: columns
// move closer, and none is cut.
func TestWidest(t *testing.T) {
	var rows []result.PhaseRow
	for _, windowMS := range []int64{10, 199_999} {
		c := result.Config{
			Lookup: findings.IndependentBlocks, Routing: findings.FirstBlockAffinity,
			Instances: 16, CapacityBlocks: 10_000_000, WindowMS: windowMS,
		}
		rows = append(rows, testOutcome(c).PhaseRows("t", c)...)
	}
	s := Study{Traces: []*findings.Findings{findings.Of("t", &result.Rows{Phases: rows}, testProfile(t, `{"timestamp": 0, "input_length": 0, "output_length": 0, "hash_ids": []}`), nil)}}
	text := written(t, s.Text)
	page80(t, text)
	if row := "  10 ms – 199.999 s  independent_blocks  first_block_affinity  16 × 10,000,000\n"; !strings.Contains(text, row) {
		t.Errorf("no line %q in\n%s", row, text)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{"0", count(0)}, {"999", count(999)}, {"1,000", count(1000)}, {"12,031", count(12031)},
		{"-1,234,567", count(-1234567)}, {"9,223,372,036,854,775,807", count(int64(math.MaxInt64))},
		{"-9,223,372,036,854,775,808", count(int64(math.MinInt64))}, {"100", count(100)}, {"-100", count(-100)},
		// As the study was published.
		{"0.000493", percent(0.000004928038392264008)}, {"8.816033", percent(0.08816033)}, {"0.000000", percent(0)}, {"100.000000", percent(1)},
		{"4.48e-6", difference(0.0000044770428367506)}, {"4.11e-6", difference(0.00000411)}, {"0.001269", difference(0.0012689898)},
		{"0", difference(0)}, {"0.000100", difference(1e-4)}, {"9.99e-5", difference(9.99e-5)}, {"1.00e-12", difference(1e-12)}, {"1.000000", difference(1)},
		{"16.0", imbalance(16)}, {"1.19", imbalance(1.1878)}, {"7.41", imbalance(7.4096)}, {"1.00", imbalance(1)},
		{"9.99", imbalance(9.9949)}, {"10.0", imbalance(9.996)}, {"99.9", imbalance(99.94)}, {"100", imbalance(99.96)}, {"1,024", imbalance(1024)}, {"-", imbalance(0)},
		{"10 ms", duration(10)}, {"1 s", duration(1000)}, {"1.5 s", duration(1500)}, {"999 ms", duration(999)}, {"2.997 s", duration(2997)}, {"1.05 s", duration(1050)}, {"1,000.001 s", duration(1_000_001)}, {"0 ms", duration(0)}, {"3,600 s", duration(3_600_000)},
		{"10 ms – 1 s", durations([]int64{10, 30, 1000})}, {"3 s", durations([]int64{3000})},
		{"1 row", plural(1, "row")}, {"0 rows", plural(0, "row")}, {"2,000 rows", plural(2000, "row")},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestErrors has every format pass on what the writer says.
func TestErrors(t *testing.T) {
	s := testStudy(t, "")
	c := testGrid.Configs()[0]
	sim := Simulation{Trace: "first", Config: c, Outcome: testOutcome(c)}
	ps := Profiles{Traces: []Profile{{"first", testProfile(t, testTrace)}}}
	for i, write := range []func(io.Writer) error{s.Text, s.JSON, s.CSV, sim.Text, sim.JSON, sim.CSV, ps.Text, ps.JSON, ps.CSV} {
		if err := write(full{}); !errors.Is(err, errFull) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }
