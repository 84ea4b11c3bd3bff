package page_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kvfanin/internal/cli"
	"kvfanin/internal/decision"
	"kvfanin/internal/findings"
	"kvfanin/internal/page"
	"kvfanin/internal/report"
)

// look keeps the pages the tests make, for a person to open.
var look = flag.String("look", "", "also write the pages to this `folder`")

func kept(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	if *look != "" {
		if err := os.WriteFile(filepath.Join(*look, name+".html"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func write(t *testing.T, d *report.Document, o page.Options) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := page.Write(&buf, d, o); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// fixtureComparison is the two traces of the fixture against each other.
func fixtureComparison(t *testing.T) []byte {
	t.Helper()
	a, b := fixture(), fixture()
	a.Traces, b.Traces = a.Traces[:1], b.Traces[1:]
	c, err := report.Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := page.WriteComparison(&buf, c); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestSameBytes holds that a page is the same bytes for the same run, and small.
func TestSameBytes(t *testing.T) {
	a, b := write(t, fixture(), page.Options{}), write(t, fixture(), page.Options{})
	if !bytes.Equal(a, b) {
		t.Error("two pages of one run differ")
	}
	if len(kept(t, "fixture", a)) > 3<<20 {
		t.Errorf("a page of two traces with 60 curves each has %d bytes", len(a))
	}
	if !bytes.Equal(fixtureComparison(t), fixtureComparison(t)) {
		t.Error("two pages of one comparison differ")
	}
	kept(t, "comparison", fixtureComparison(t))
}

var elsewhere = regexp.MustCompile(`(?i)https?:|["'(=]//|@import|url\(|\ssrc=|<link rel="stylesheet|\sstyle="|\son[a-z]+="|fetch\(|XMLHttp|WebSocket|eval\(|new Function`)

// TestAsksForNothing holds that a page names no other file, and nothing that
// its own policy would refuse.
func TestAsksForNothing(t *testing.T) {
	for name, b := range map[string][]byte{"run": write(t, fixture(), page.Options{}), "comparison": fixtureComparison(t)} {
		text := string(b)
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue // a comment of the script
			}
			if m := elsewhere.FindString(line); m != "" {
				t.Errorf("%s: %q in %.200s", name, m, line)
			}
		}
		if !strings.Contains(text, "default-src &#39;none&#39;") {
			t.Errorf("%s: no policy that refuses what is not named", name)
		}
	}
}

// runOf makes a run of a trace and returns its page.
func runOf(t *testing.T, trace string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "t.jsonl")
	if err := os.WriteFile(path, []byte(trace), 0o644); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	command(t, append([]string{"study", path, "-o", run, "--instances", "1,2", "--capacity", "1000", "--window", "10ms,3s"}, args...)...)
	return command(t, "report", run, "-o", "-")
}

func command(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(context.Background(), args, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("kvfanin %s: exit code %d: %s", strings.Join(args, " "), code, &errs)
	}
	return out.String()
}

const (
	oneRequest = `{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
`
	noBlocks = `{"timestamp": 0, "input_length": 0, "output_length": 5, "hash_ids": []}
{"timestamp": 4000, "input_length": 0, "output_length": 5, "hash_ids": []}
`
	noRepeats = `{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
{"timestamp": 2000, "input_length": 1000, "output_length": 5, "hash_ids": [3, 4]}
{"timestamp": 4000, "input_length": 1000, "output_length": 5, "hash_ids": [5, 6]}
`
	oneInstant = `{"timestamp": 7, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
{"timestamp": 7, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
{"timestamp": 7, "input_length": 1000, "output_length": 5, "hash_ids": [1, 3]}
`
	smallTrace = `{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [1, 2]}
{"timestamp": 1000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 7]}
{"timestamp": 1000, "input_length": 1000, "output_length": 5, "hash_ids": [1, 9]}
{"timestamp": 2500, "input_length": 1000, "output_length": 5, "hash_ids": [1, 9]}
{"timestamp": 9000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 9, 10]}
{"timestamp": 9000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 9, 10]}
`
)

var (
	codes     = strings.NewReplacer("<code>", "", "</code>", "")
	notFigure = regexp.MustCompile(`NaN|\bInf\b|%!|&lt;nil&gt;`)
	emptyPart = regexp.MustCompile(`<tbody>\s*</tbody>|<caption><span></span></caption>|<svg[^>]*></svg>|<p></p>|<li></li>|d=""`)
	// What the script fills before it is shown.
	scriptPart = regexp.MustCompile(`(?s)<script>.*?</script>|<div class="read" hidden>.*?</table></div>`)
)

// TestOddTraces holds that a trace with little in it gives a page that says so,
// with no figure that is none and no chart of nothing.
func TestOddTraces(t *testing.T) {
	for _, c := range []struct {
		name, trace string
		args        []string
		says        []string
	}{
		{"one request", oneRequest, []string{"--sensitivity"}, []string{
			"No cold load is joined in any of the", "No block is requested twice", "All requests arrive at one instant", "every curve is 0 throughout",
			"the trace has no rate of its own", "There is no join in any row", "No configuration reaches"}},
		{"one request, no sensitivity", oneRequest, nil, []string{"Run the study with --sensitivity", "No block is requested twice"}},
		{"no blocks", noBlocks, []string{"--sensitivity"}, []string{"no lookup of any of the", "No block is requested twice", "every curve is 0 throughout"}},
		{"no repeats", noRepeats, []string{"--sensitivity"}, []string{"No cold load is joined", "No block is requested twice", "No curve falls"}},
		{"one instant", oneInstant, []string{"--sensitivity"}, []string{
			"all at one instant", "The trace has no two different timestamps", "All requests arrive at one instant", "Every reuse is within one timestamp"}},
		{"small", smallTrace, []string{"--sensitivity"}, []string{"Is coordination worth it?", "Fewer than 30 duplicate cohorts"}},
		{"one lookup, one routing", smallTrace, []string{"--sensitivity", "--lookup", "independent_blocks", "--routing", "round_robin"}, []string{
			"Run the study with --lookup contiguous_prefix,independent_blocks", "it takes both first_block_affinity and round_robin"}},
		{"control", smallTrace, []string{"--control", "sliding_window"}, []string{"Not a measurement"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			html := runOf(t, c.trace, c.args...)
			kept(t, strings.ReplaceAll(c.name, " ", "-"), []byte(html))
			html = report.Plain(codes.Replace(scriptPart.ReplaceAllString(html, "")))
			for _, says := range c.says {
				if !strings.Contains(html, says) {
					t.Errorf("does not say %q", says)
				}
			}
			for _, wrong := range []*regexp.Regexp{notFigure, emptyPart} {
				if at := wrong.FindStringIndex(html); at != nil {
					t.Errorf("%q in …%s…", html[at[0]:at[1]], html[max(0, at[0]-200):min(len(html), at[1]+200)])
				}
			}
		})
	}
}

// TestWithoutSensitivity holds that what was not run is named, with what runs
// it, wherever it would stand.
func TestWithoutSensitivity(t *testing.T) {
	html := runOf(t, smallTrace)
	if n := strings.Count(html, "--sensitivity"); n < 6 {
		t.Errorf("--sensitivity is named %d times, want it in each part that it would fill", n)
	}
	if strings.Contains(html, "<form") {
		t.Error("there is a form without anything to choose")
	}
}

// TestInputs holds that a page starts from the inputs given, and says how the
// load latency came about.
func TestInputs(t *testing.T) {
	html := string(write(t, fixture(), page.Options{Inputs: decision.Inputs{Model: "Llama-3-70B", BandwidthGBPS: 20, FixedMS: 2, TableUS: 3}}))
	for _, says := range []string{
		"W = 10.39 ms comes from the inputs given", `name="load_ms" min="0" step="any" inputmode="decimal" aria-label="W: one load takes, ms" value="10.3886`, `<option value="Llama-3-70B" selected>`,
		`name="table_us" min="0" step="any" inputmode="decimal" aria-label="coordination on every lookup, µs" value="3"`,
	} {
		if !strings.Contains(html, says) {
			t.Errorf("the page does not have %q", says)
		}
	}
	if strings.Contains(html, "an example and not a measurement") {
		t.Error("inputs that were given are called an example")
	}
}

// TestDecisionIsDecide holds that what stands on the page is what Decide gives.
func TestDecisionIsDecide(t *testing.T) {
	d := fixture()
	html := string(write(t, d, page.Options{}))
	for i := range d.Traces {
		trace := &d.Traces[i]
		out, err := decision.Over(trace.Findings, decision.Inputs{LoadMS: 100, TableUS: 10}, func(*findings.Curve) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Readings {
			net := strings.Replace(decision.FormatNumber(r.Value("net_ms_per_s")), "-", "−", 1)
			if !strings.Contains(html, `<td class="n">`+net+`</td>`) {
				t.Errorf("%s: no net of %s (%s, %s)", trace.Source.Name, net, r.Joins, r.Bound)
			}
		}
		if !strings.Contains(html, `<strong data-out="verdict">`+string(out.Verdict)+`</strong>`) {
			t.Errorf("%s: no verdict %q", trace.Source.Name, out.Verdict)
		}
	}
}
