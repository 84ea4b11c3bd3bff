package decision

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestWorked holds Decide to cases that were worked out by hand: each file
// opens with the arithmetic.
func TestWorked(t *testing.T) {
	datadriven.Walk(t, "testdata/worked", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			in, traffic := parseCase(t, td)
			d, err := Decide(in, traffic)
			if err != nil {
				return err.Error()
			}
			return show(d)
		})
	})
}

// parseCase reads a case: traffic in the arguments and in the lines before the
// inputs, of which the rest is the TOML.
func parseCase(t *testing.T, td *datadriven.TestData) (Inputs, Traffic) {
	t.Helper()
	traffic := Traffic{Trace: "trace"}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, arg := range td.CmdArgs {
		x := number(arg.Vals[0])
		switch arg.Key {
		case "requests":
			traffic.RequestsPerS = x
		case "lookups":
			traffic.LookupsPerRequest = x
		case "attempts":
			traffic.AttemptsPerRequest = x
		case "block":
			traffic.BlockTokens = int(x)
		case "window":
			traffic.Config.WindowMS = int64(x)
		case "duplicates":
			traffic.DuplicateCohorts = int64(x)
		case "duplicates-per-request":
			traffic.DuplicateCohortsPerRequest = x
		default:
			t.Fatalf("no argument %s", arg.Key)
		}
	}
	evidence := func(value string) Evidence {
		words := strings.SplitN(value, " ", 4)
		e := Evidence{Measured: number(words[0]), Low: number(words[1]), High: number(words[2])}
		if len(words) > 3 {
			e.Why = []string{words[3]}
		}
		return e
	}
	var toml strings.Builder
	for line := range strings.SplitSeq(td.Input, "\n") {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Join(strings.Fields(value), " ")
		switch strings.TrimSpace(key) {
		case "redundancy":
			traffic.Redundancy = evidence(value)
		case "without":
			traffic.WithoutExtensions = evidence(value)
		case "curve":
			for point := range strings.FieldsSeq(value) {
				p := strings.Split(point, ":")
				traffic.Curve = append(traffic.Curve, Point{int64(number(p[0])), number(p[1]), number(p[2])})
			}
		case "threshold":
			p := strings.Split(value, ":")
			traffic.Thresholds = append(traffic.Thresholds, Threshold{number(p[0]), int64(number(p[1])), p[2] != AllJoins})
		default:
			toml.WriteString(line + "\n")
		}
	}
	in, err := ReadInputs(strings.NewReader(toml.String()), "inputs")
	if err != nil {
		t.Fatal(err)
	}
	return in, traffic
}

// show prints all of a decision that is a figure or hangs on one.
func show(d *Decision) string {
	var b strings.Builder
	for _, s := range d.Steps {
		b.WriteString(strings.TrimSpace(s.Name+" "+FormatNumber(s.Value)+" "+s.Unit) + "\n")
	}
	for i := 0; i < len(d.Readings); i += 3 {
		fmt.Fprintf(&b, "%s: measured, low, high\n", d.Readings[i].Joins)
		for j, s := range d.Readings[i].Steps {
			fmt.Fprintf(&b, "  %s", s.Name)
			for _, r := range d.Readings[i : i+3] {
				b.WriteString(" " + FormatNumber(r.Steps[j].Value))
			}
			b.WriteString("\n")
		}
	}
	if d.BreakEven == nil {
		fmt.Fprintf(&b, "no break-even: %s\n", d.BreakEvenWhy)
	}
	fmt.Fprintf(&b, "verdict: %s\n", d.Verdict)
	for _, why := range d.Because {
		b.WriteString("  " + why + "\n")
	}
	for _, c := range d.Crossings {
		fmt.Fprintf(&b, "crossing, %s: %s %s\n", c.Joins, c.Text, c.Command)
	}
	b.WriteString("ownership: lookups specs queue gets bytes blocks copies prefills, wait deadline gets\n")
	for _, o := range d.Ownership {
		bytes := "-"
		if o.BytesPerS != nil {
			bytes = FormatNumber(*o.BytesPerS)
		}
		b.WriteString("  " + o.Design)
		for _, x := range []float64{o.LookupsPerS, o.LoadSpecsPerS, o.QueueEntriesPerS, o.GetsPerS} {
			b.WriteString(" " + FormatNumber(x))
		}
		b.WriteString(" " + bytes)
		for _, x := range []float64{o.GPUBlocksPerS, o.CopiesPerS, o.PrefillsPerS, o.WaitMSPerS, o.DeadlineMSPerS, o.DeadlineGetsPerS} {
			b.WriteString(" " + FormatNumber(x))
		}
		b.WriteString("\n")
	}
	for _, note := range d.Notes {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}
