package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/decision"
	"kvfanin/internal/result"
)

func decided(t tb, in decision.Inputs, traffic decision.Traffic) *decision.Decision {
	t.Helper()
	d, err := decision.Decide(in, traffic)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// someDecisions are one that is undecided by ties, and one without a break-even.
func someDecisions(t tb) *Decisions {
	traffic := decision.Traffic{
		Trace:        "conversation",
		Config:       result.Config{Lookup: "contiguous_prefix", Routing: "round_robin", Instances: 1, CapacityBlocks: 1000, WindowMS: 1000},
		RequestsPerS: 3.4, LookupsPerRequest: 24, AttemptsPerRequest: 20.5, BlockTokens: 512,
		Redundancy:        decision.Evidence{Measured: 6.07e-5, Low: 0, High: 6.07e-5, Why: []string{"ties: 0 % – 0.006070 %", "neighbouring windows: 0.006070 %"}},
		WithoutExtensions: decision.Evidence{Measured: 5.66e-5, Low: 0, High: 5.66e-5, Why: []string{"ties: 0 % – 0.005660 %"}},
		DuplicateCohorts:  14, DuplicateCohortsPerRequest: 0.0012,
		Curve: []decision.Point{{WindowMS: 1}, {WindowMS: 2512}, {WindowMS: 3162, Redundancy: 0.00025, WithoutExtensions: 0.00024}},
	}
	undecided := decided(t, decision.Inputs{
		Model: "Llama-3-70B", BandwidthGBPS: 0.2, FixedMS: 160, TableUS: 2, LockUS: 1, WaitUS: 5,
		FailureShare: 0.00001, FailureMS: 500, SlowOwnerShare: 0.05, SlowOwnerMS: 500, DeadlineMS: 100,
	}, traffic)
	traffic.Trace = "toolagent"
	never := decided(t, decision.Inputs{LoadMS: 10, TableUS: 100_000}, traffic)
	return &Decisions{Decisions: []*decision.Decision{undecided, never}}
}

// TestDecisionGolden holds the page; that its figures are right is for
// TestDecisionFigures and the package decision.
func TestDecisionGolden(t *testing.T) {
	page80(t, golden(t, "decision.txt", someDecisions(t).Text))
}

// TestDecisionFigures holds that every input, step and reading stands in the
// text, in the order that was promised, and that JSON and CSV read back to the
// same values.
func TestDecisionFigures(t *testing.T) {
	ds := someDecisions(t)
	text := written(t, ds.Text)
	for _, d := range ds.Decisions {
		at := strings.Index(text, d.Trace+"\n")
		for _, section := range []string{"Is coordination worth it: " + string(d.Verdict), "\nInputs", "\nSteps", "\nBreak-even", "\nWhat each ownership design", "\nNotes"} {
			next := strings.Index(text[at:], section)
			if next < 0 {
				t.Fatalf("%s: no %q where it should be", d.Trace, section)
			}
			at += next
		}
		lines := strings.Split(text, "\n")
		stands := func(words ...string) {
			if !slices.ContainsFunc(lines, func(line string) bool { return slices.Equal(strings.Fields(line), words) }) {
				t.Errorf("%s: no line of %q", d.Trace, words)
			}
		}
		for _, s := range d.Steps {
			stands(strings.Fields(s.Name + " " + inUnit(s.Value, s.Unit) + " " + s.Unit)...)
		}
		for i, s := range d.Readings[3].Steps {
			if s.Name != "redundancy" {
				stands(s.Name, s.Unit, decision.FormatNumber(s.Value), decision.FormatNumber(d.Readings[4].Steps[i].Value), decision.FormatNumber(d.Readings[5].Steps[i].Value))
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), d.Scope) {
			t.Errorf("%s: without its scope", d.Trace)
		}
	}

	var doc Decisions
	if err := json.Unmarshal([]byte(written(t, ds.JSON)), &doc); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, ds.CSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, row := range rows[1:] {
		if x, err := strconv.ParseFloat(row[9], 64); err == nil {
			values[strings.Join([]string{row[0], row[6], row[7], row[8]}, " ")] = x
		}
	}
	for i, d := range ds.Decisions {
		check := func(joins, bound string, step, again decision.Step) {
			if got := values[strings.Join([]string{d.Trace, joins, bound, step.Name}, " ")]; got != step.Value || again.Value != step.Value {
				t.Errorf("%s is %v, in CSV %v, in JSON %v", step.Name, step.Value, got, again.Value)
			}
		}
		for j, s := range d.Steps {
			check("", "", s, doc.Decisions[i].Steps[j])
		}
		for k, r := range d.Readings {
			for j, s := range r.Steps {
				check(r.Joins, r.Bound, s, doc.Decisions[i].Readings[k].Steps[j])
			}
		}
	}
}

// TestAnyDecisionFits holds that the page has its 80 columns at any size of
// its numbers.
func TestAnyDecisionFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Custom(func(t *rapid.T) float64 {
			x := 1.0
			for range rapid.IntRange(0, 8).Draw(t, "power") {
				x *= 9.87654321
			}
			return x
		})
		share := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-6, 1)).Draw(t, "redundancy")
		e := decision.Evidence{Measured: share, Low: share / 3, High: share}
		in := decision.Inputs{
			LoadMS: size.Draw(t, "load"), BytesPerBlock: 1e6 * size.Draw(t, "bytes"), TableUS: size.Draw(t, "table"),
			FailureShare: share, FailureMS: size.Draw(t, "failure"), SlowOwnerShare: share / 7, SlowOwnerMS: size.Draw(t, "slow"),
			DeadlineMS: size.Draw(t, "deadline"), LoadFactor: 1 / size.Draw(t, "factor"),
		}
		traffic := decision.Traffic{
			Trace: "trace", RequestsPerS: size.Draw(t, "requests"), LookupsPerRequest: 987.654321, AttemptsPerRequest: 0.123456789, BlockTokens: 512,
			Config:     result.Config{Lookup: "independent_blocks", Routing: "affinity_bounded_load", Instances: 65536, CapacityBlocks: 100_000_000, WindowMS: 123_456_789},
			Redundancy: e, WithoutExtensions: e,
			Curve: []decision.Point{{WindowMS: 1}, {WindowMS: 99_999, Redundancy: 1, WithoutExtensions: 0.5}},
		}
		ds := Decisions{Control: "insert_on_miss", Decisions: []*decision.Decision{decided(t, in, traffic)}}
		text := written(t, ds.Text)
		page80(t, text)
		if !strings.HasPrefix(text, "*** NOT A MEASUREMENT") {
			t.Error("a run under a control does not say so")
		}
		var buf bytes.Buffer
		if err := ds.JSON(&buf); err != nil || !json.Valid(buf.Bytes()) {
			t.Errorf("JSON: %v", err)
		}
	})
}
