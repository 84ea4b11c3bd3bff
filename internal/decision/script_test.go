package decision

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// node runs decide.js with more behind it and reads what it prints. Without
// Node the test is skipped, or fails where everything has to run.
func node(t *testing.T, program string, out any) {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
			t.Fatal("needed here: node")
		}
		t.Skip("needs node")
	}
	cmd := exec.CommandContext(t.Context(), path, "-")
	cmd.Stdin = strings.NewReader(Script + program)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
}

// mirrored is the part of a decision that decide.js returns.
func mirrored(d *Decision, err error) any {
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	values := func(steps []Step) map[string]float64 {
		m := map[string]float64{}
		for _, s := range steps {
			m[s.Name] = s.Value
		}
		return m
	}
	type reading struct {
		Joins string             `json:"joins"`
		Bound string             `json:"bound"`
		Steps map[string]float64 `json:"steps"`
	}
	doc := struct {
		Verdict      Verdict            `json:"verdict"`
		Because      []string           `json:"because"`
		Steps        map[string]float64 `json:"steps"`
		Readings     []reading          `json:"readings"`
		BreakEven    *float64           `json:"break_even_redundancy"`
		BreakEvenWhy string             `json:"break_even_why"`
		Crossings    []Crossing         `json:"crossings"`
		Ownership    []map[string]any   `json:"ownership"`
		Notes        []string           `json:"notes"`
	}{d.Verdict, d.Because, values(d.Steps), nil, d.BreakEven, d.BreakEvenWhy, d.Crossings, nil, d.Notes}
	for _, r := range d.Readings {
		doc.Readings = append(doc.Readings, reading{r.Joins, r.Bound, values(r.Steps)})
	}
	roundTrip(d.Ownership, &doc.Ownership)
	for _, o := range doc.Ownership {
		delete(o, "basis") // words that hang on nothing
	}
	var out any
	roundTrip(doc, &out)
	return out
}

func roundTrip(from, to any) {
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		panic(err)
	}
}

// TestScriptAgrees holds that decide.js gives every number to the last digit,
// and every word, that Decide gives.
func TestScriptAgrees(t *testing.T) {
	type arguments struct {
		Inputs  Inputs  `json:"inputs"`
		Traffic Traffic `json:"traffic"`
	}
	var cases []arguments
	cases = append(cases, arguments{Inputs{LoadMS: 100}, only(plain(), 0)})
	for i := range 2000 {
		cases = append(cases, rapid.Custom(func(t *rapid.T) arguments {
			c := arguments{someInputs(t), someTraffic(t)}
			d := decided(t, c.Inputs, c.Traffic)
			if d.BreakEven != nil && rapid.Bool().Draw(t, "measured") {
				c.Traffic.Thresholds = []Threshold{
					{*d.BreakEven, rapid.Int64Range(0, 5000).Draw(t, "threshold"), rapid.Bool().Draw(t, "without")},
				}
			}
			// At times one thing is amiss, so that refusals agree as well.
			switch rapid.IntRange(0, 20).Draw(t, "amiss") {
			case 0:
				f := rapid.SampledFrom(Fields).Draw(t, "field")
				if f.Number != nil {
					*f.Number(&c.Inputs) = rapid.SampledFrom([]float64{-1, -1e-7, 1e22, 3}).Draw(t, "value")
				} else {
					c.Inputs.Model = "none"
				}
			case 1:
				c.Inputs.RequestsPerS, c.Traffic.RequestsPerS = 0, 0
			case 2:
				c.Traffic.BlockTokens = 0
			case 3:
				c.Inputs.LoadMS, c.Inputs.BandwidthGBPS = 0, 1e-9
			case 4:
				c.Inputs.FixedMS = 1
			}
			return c
		}).Example(i))
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	node(t, "\nconst cases = "+string(text)+`;
console.log(JSON.stringify(cases.map(({ inputs, traffic }) => {
  try {
    return decide(inputs, traffic);
  } catch (e) {
    if (e.constructor !== Error) throw e;
    return { error: e.message };
  }
})));`, &got)
	seen := map[string]int{}
	for i, c := range cases {
		want := mirrored(Decide(c.Inputs, c.Traffic))
		equal(t, want, got[i])
		if t.Failed() {
			t.Fatalf("with %+v", c)
		}
		if m := want.(map[string]any); m["error"] != nil {
			seen["an error"]++
		} else {
			seen[m["verdict"].(string)]++
			for _, c := range m["crossings"].([]any) {
				if c.(map[string]any)["exact"] == true {
					seen["an exact crossing"]++
				}
			}
		}
	}
	for _, kind := range []string{"an error", "an exact crossing", string(NotJustified), string(Justified), string(Undecided)} {
		if seen[kind] < 5 {
			t.Errorf("%s was drawn %d times", kind, seen[kind])
		}
	}
}

// TestScriptFormats holds that both print every number the same, ties of the
// last digit among them.
func TestScriptFormats(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, 1, 0.5, 1.0005, 10.125, 100.25, 1000.5, 2500.5, 0.03125, 999.95, 9999.5, 999999.5, 1e6, 1e-3, 9.9999e-4, 9999500, 9.9995e-5, 1e18}
	for range 3000 {
		x := math.Exp(r.Float64()*80 - 40)
		numbers = append(numbers, x, math.Round(x*16)/16, math.Round(x*1000)/1000)
	}
	type printed struct {
		Number, Negative, Percent, Duration string
	}
	var want []printed
	for _, x := range numbers {
		want = append(want, printed{FormatNumber(x), FormatNumber(-x), FormatPercent(min(x, 1)), FormatDuration(int64(min(x, 1e12)))})
	}
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	var got []printed
	node(t, "\nconst numbers = "+string(text)+`;
console.log(JSON.stringify(numbers.map((x) => ({
  Number: formatNumber(x),
  Negative: formatNumber(-x),
  Percent: formatPercent(Math.min(x, 1)),
  Duration: formatDuration(Math.trunc(Math.min(x, 1e12))),
}))));`, &got)
	for i, x := range numbers {
		if got[i] != want[i] {
			t.Errorf("%v: %+v, in the script %+v", x, want[i], got[i])
		}
	}
}

// TestFormats holds the forms to examples.
func TestFormats(t *testing.T) {
	for want, got := range map[string]string{
		"0":        FormatNumber(0),
		"-12,031":  FormatNumber(-12030.6),
		"85.27":    FormatNumber(85.2711),
		"0.001234": FormatNumber(0.00123449),
		"1.235e-4": FormatNumber(0.00012345001),
		"1.203e7":  FormatNumber(12031000),
		"1e6":      FormatNumber(999999.99 + 0.01),
		"0.006068": FormatPercent(0.00006068),
		"4.48e-6":  FormatPercent(4.48e-8),
		"999 ms":   FormatDuration(999),
		"2.5 s":    FormatDuration(2500),
		"1,000 s":  FormatDuration(1_000_000),
		"327,680":  FormatBytes(327680),
		"100":      FormatNumber(100),
		"0.1":      FormatNumber(0.1),
		"0.01":     FormatNumber(0.01),
		"3.003 s":  FormatDuration(3003),
		"1 s":      FormatDuration(1000),
		"70,272":   FormatBytes(70272),
		"1e-5":     FormatNumber(0.00001),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
