package decision

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
)

// sample is a trace with two curves of two points: at 100 ms and at 400 ms, of
// which 200 ms is the middle by ratio.
func sample() *findings.Findings {
	point := func(windowMS int64, joins float64) findings.Point {
		return findings.Point{
			WindowMS: windowMS, InGrid: windowMS == 400, Requests: 50, Lookups: 200, Attempts: 100, DuplicateCohorts: 40,
			All:               findings.Measure{Redundancy: joins, TiesLow: joins / 2, TiesHigh: joins, IntervalLow: joins - 0.01, IntervalHigh: joins + 0.01},
			WithoutExtensions: findings.Measure{Redundancy: joins / 4, TiesLow: joins / 4, TiesHigh: joins / 4, IntervalLow: joins / 4, IntervalHigh: joins / 4},
		}
	}
	last := int64(21_000)
	return &findings.Findings{
		Trace:   "t",
		Profile: &profile.Profile{BlockTokens: 512, LastTimestampMS: &last},
		Sensitivity: &findings.Sensitivity{StartMS: 1000, Curves: []findings.Curve{
			{
				Lookup: "contiguous_prefix", Routing: "round_robin", Instances: 1, CapacityBlocks: 10,
				Points:     []findings.Point{point(100, 0.1), point(400, 0.2)},
				Thresholds: []findings.Threshold{{Share: 0.15, WindowMS: 222}, {WithoutExtensions: true, Share: 0.15}},
			},
			{
				Lookup: "contiguous_prefix", Routing: "round_robin", Instances: 2, CapacityBlocks: 10,
				Points: []findings.Point{point(100, 0.05), point(400, 0.3)},
			},
		}},
	}
}

// TestTrafficAt works out by hand what two measured points say of windows at
// them, between them, below both and beyond.
func TestTrafficAt(t *testing.T) {
	f := sample()
	for _, test := range []struct {
		windowMS float64
		at       int64
		want     Evidence
	}{
		{400, 400, Evidence{0.2, 0.1, 0.21, []string{"equal timestamps: 10.000000 % – 20.000000 %", "95 % over time: 19.000000 % – 21.000000 %"}}},
		{199, 100, Evidence{0.1, 0.05, 0.21, []string{
			"equal timestamps, at once or even: 5.000000 % – 20.000000 %", "95 % over time: 9.000000 % – 21.000000 %", "measured at 100 ms and 400 ms: 10.000000 % – 20.000000 %",
		}}},
		{200, 400, Evidence{0.2, 0.05, 0.21, []string{
			"equal timestamps, at once or even: 5.000000 % – 20.000000 %", "95 % over time: 9.000000 % – 21.000000 %", "measured at 100 ms and 400 ms: 10.000000 % – 20.000000 %",
		}}},
		{0.5, 100, Evidence{0.1, 0, 0.11, []string{
			"equal timestamps, at once or even: 0.000000 % – 10.000000 %", "95 % over time: 0.000000 % – 11.000000 %", "measured at 0 ms and 100 ms: 0.000000 % – 10.000000 %",
		}}},
	} {
		got, err := TrafficAt(f, &f.Sensitivity.Curves[0], test.windowMS)
		if err != nil {
			t.Fatal(err)
		}
		if got.Config.WindowMS != test.at {
			t.Errorf("%v ms: evidence of %d ms, want %d", test.windowMS, got.Config.WindowMS, test.at)
		}
		if d := gocmp.Diff(test.want, got.Redundancy, cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%v ms (-want +got):\n%s", test.windowMS, d)
		}
		if w := got.WithoutExtensions; w.Measured != test.want.Measured/4 {
			t.Errorf("%v ms: without extensions %v, want %v", test.windowMS, w.Measured, test.want.Measured/4)
		}
		// 50 requests in the 20 s from the start of the spans to the last.
		if got.RequestsPerS != 2.5 || got.LookupsPerRequest != 4 || got.AttemptsPerRequest != 2 || got.DuplicateCohortsPerRequest != 0.8 {
			t.Errorf("%v ms: %v requests/s, %v lookups, %v attempts, %v duplicate cohorts a request", test.windowMS, got.RequestsPerS, got.LookupsPerRequest, got.AttemptsPerRequest, got.DuplicateCohortsPerRequest)
		}
		if len(got.Curve) != 2 || len(got.Thresholds) != 2 || got.Thresholds[0] != (Threshold{0.15, 222, false}) {
			t.Errorf("curve %+v, thresholds %+v", got.Curve, got.Thresholds)
		}
	}
	if _, err := TrafficAt(f, &f.Sensitivity.Curves[0], 401); err == nil || !strings.Contains(err.Error(), "401 ms is beyond the curve, which ends at 400 ms") {
		t.Errorf("beyond the curve: %v", err)
	}
}

// TestOver holds the configuration that is worked through to be the one with
// most redundancy of those asked for, and the others to be counted.
func TestOver(t *testing.T) {
	f := sample()
	all := func(*findings.Curve) bool { return true }
	in := Inputs{LoadMS: 100, TableUS: 1}
	d, err := Over(f, in, all)
	if err != nil {
		t.Fatal(err)
	}
	if d.Configuration.Instances != 1 || d.Elsewhere == nil || *d.Elsewhere != (Elsewhere{Configurations: 1, Justified: 1}) || d.Verdict != Justified {
		t.Errorf("at 100 ms: %s in %+v, elsewhere %+v", d.Verdict, d.Configuration, d.Elsewhere)
	}
	in.LoadMS = 400
	if d, err = Over(f, in, all); err != nil || d.Configuration.Instances != 2 {
		t.Errorf("at 400 ms: %+v, %v", d.Configuration, err)
	}
	if d, err = Over(f, in, func(c *findings.Curve) bool { return c.Instances == 1 }); err != nil || d.Configuration.Instances != 1 || d.Elsewhere.Configurations != 0 {
		t.Errorf("of one instance: %+v, %v", d.Configuration, err)
	}
	if _, err = Over(f, in, func(*findings.Curve) bool { return false }); err == nil {
		t.Error("no configuration, and no error")
	}
	f.Absent = []*findings.Absence{{Finding: findings.SensitivityFinding, Reason: "nothing was run", Flag: "--sensitivity"}}
	if _, err = Over(f, in, all); err == nil || err.Error() != "t: nothing was run: run kvfanin study with --sensitivity" {
		t.Errorf("a plain run: %v", err)
	}
}
