package page_test

import (
	"math"
	"slices"

	"kvfanin/internal/findings"
	"kvfanin/internal/profile"
	"kvfanin/internal/report"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
)

// The fixture is findings made by hand that look like those of the two public
// traces: 60 curves of 73 points each, with every part of a page in them.

var fixtureGrid = result.Grid{
	Lookups:          []string{findings.ContiguousPrefix, findings.IndependentBlocks},
	Routings:         []string{findings.RoundRobin, findings.FirstBlockAffinity},
	Instances:        []int{1, 2, 4, 8, 16},
	CapacitiesBlocks: []int{1_000, 10_000, 100_000},
	WindowsMS:        []int64{10, 30, 100, 300, 1_000, 3_000, 10_000},
}

func fixture() *report.Document {
	h := rundir.Header{
		Schema:     rundir.Schema,
		Version:    "0.1.0",
		Parameters: rundir.Parameters{BlockTokens: 512, Warmup: "0.1", Grid: fixtureGrid, Cohorts: rundir.CohortsOff},
		Traces: []rundir.TraceEntry{
			{Name: "conversation", SHA256: "b8cbb061a85206d729d91cdc2981f43c9e0d99209dce588d3af5f7934408b9df", Requests: 12_031, Lookups: 288_500},
			{Name: "synthetic", SHA256: "bd070915a98fc0ed264d7cfef2ce746002eb3076a695ec31ba2674c0111ec131", Requests: 3_993, Lookups: 121_877},
		},
	}
	study := &report.Study{Warmup: "0.1", Traces: []*findings.Findings{
		fixtureTrace(h.Traces[0], shape{gap: 2_997, at10: 0.00109, ext: 0.6, fanin: 49, step: true}),
		fixtureTrace(h.Traces[1], shape{gap: 1, at10: 0.088, ext: 0.1, fanin: 4}),
	}}
	return report.NewDocument(h, study)
}

// shape is what makes one trace of the fixture differ from another.
type shape struct {
	gap   int64
	at10  float64 // largest redundancy under 10 s
	ext   float64 // share of extensions under 10 s
	fanin int64
	step  bool // the trace steps by gap
}

// redundancy is one of the shape, and what extensions leave of it.
func (s shape) redundancy(c result.Config) (all, without float64) {
	w := float64(c.WindowMS)
	if s.step && c.WindowMS <= s.gap {
		w = 700
	}
	x := s.at10 * math.Pow(w/10_000, 0.95) * (1 - 0.05*float64(len(c.Lookup)-17)) / (1 + w/400_000)
	x *= math.Pow(float64(c.CapacityBlocks)/1000, -0.12)
	if c.Routing == findings.RoundRobin {
		x /= math.Pow(float64(c.Instances), 0.7)
	} else {
		x /= math.Pow(float64(c.Instances), 0.2)
	}
	x = max(x, 0)
	return x, x * (1 - s.ext*min(1, w/12_000))
}

func fixtureTrace(t rundir.TraceEntry, s shape) *findings.Findings {
	q := func(least, p50, most int64) profile.Distribution {
		return profile.Distribution{Count: 1000, Quantiles: &profile.Quantiles{Min: least, P1: least, P5: least, P10: least + (p50-least)/9, P25: least + (p50-least)/3,
			P50: p50, P75: p50 + (most-p50)/30, P90: p50 + (most-p50)/8, P95: p50 + (most-p50)/5, P99: p50 + (most-p50)/2, Max: most}}
	}
	f := &findings.Findings{
		Trace: t.Name, Phase: "steady", Rows: 420, Absent: []*findings.Absence{},
		Profile: &profile.Profile{
			Requests: t.Requests, Lookups: t.Lookups, DistinctBlocks: t.Lookups * 6 / 10, BlockTokens: 512,
			InputTokens: 144_000_000, OutputTokens: 4_100_000,
			FirstTimestampMS: new(int64(0)), LastTimestampMS: new(int64(3_536_999)), DistinctTimestamps: 1_180,
			SmallestPositiveGapMS: &s.gap, MedianPositiveGapMS: new(int64(3_000)), MedianRequestsPerTimestamp: new(int64(10)),
			MedianPositiveReuseGapMS: new(int64(132_000)),
			PositiveGapMS:            q(s.gap, 3_000, 9_000),
			RequestsPerTimestamp:     q(1, 10, 49),
			Reuse: profile.Reuse{Reuses: t.Lookups * 4 / 10, ZeroGaps: t.Lookups / 900,
				PositiveGapMS: q(s.gap, 132_000, 3_500_000)},
		},
		Lookups: &findings.Lookups{Pairs: 210, LargestDifference: 4.48e-6, At: &findings.Config{Routing: findings.FirstBlockAffinity, Instances: 2, CapacityBlocks: 10_000, WindowMS: 10_000},
			PairsAtLargest: 1, ContiguousPrefix: 0.0010899, IndependentBlocks: 0.0010854},
	}
	f.Profile.Reuse.PositiveGapMS.Count = f.Profile.Reuse.Reuses - f.Profile.Reuse.ZeroGaps
	for _, w := range fixtureGrid.WindowsMS {
		n := f.Profile.Reuse.ZeroGaps
		if w > s.gap {
			n += w * 3 / 2
		}
		share := float64(n) / float64(f.Profile.Reuse.Reuses)
		f.Profile.Reuse.Windows = append(f.Profile.Reuse.Windows, profile.Window{WindowMS: w, Reuses: n, Share: &share})
	}
	f.Affinity = &findings.Affinity{Comparison: findings.Comparison{Pairs: 210, Higher: 168, Equal: 42, AffinityImbalance: 15.99, RoundRobinImbalance: 1.001}}
	for i, n := range fixtureGrid.Instances {
		c := findings.Comparison{Pairs: 42, Higher: 42, AffinityImbalance: math.Pow(2, float64(i)) * 0.99, RoundRobinImbalance: 1.001}
		if n == 1 {
			c = findings.Comparison{Pairs: 42, Equal: 42, AffinityImbalance: 1, RoundRobinImbalance: 1}
		}
		f.Affinity.ByInstances = append(f.Affinity.ByInstances, findings.AtInstances{Instances: n, Comparison: c})
	}

	lines := [][]int64{}
	for _, w := range fixtureGrid.WindowsMS {
		if w <= s.gap && len(lines) > 0 && lines[len(lines)-1][0] <= s.gap {
			lines[len(lines)-1] = append(lines[len(lines)-1], w)
			continue
		}
		lines = append(lines, []int64{w})
	}
	for _, ws := range lines {
		at := findings.Config{Lookup: findings.ContiguousPrefix, Routing: findings.RoundRobin, Instances: 1, CapacityBlocks: 1_000, WindowMS: ws[0]}
		all, without := s.redundancy(result.Config(at))
		f.Windows = append(f.Windows, findings.Window{
			WindowsMS: ws, Rows: 60 * len(ws), MedianRedundancy: all / 4, LargestRedundancy: all, LargestAt: &at, RowsAtLargest: 1,
			LargestFanIn: max(2, s.fanin*ws[len(ws)-1]/10_000), SharesAtLargest: findings.Shares{DuplicateCohorts: all * 0.8, DuplicateAttempts: all * 1.7, Redundancy: all},
			LargestWithoutExtensions: without,
		})
	}
	for i := range f.Windows {
		w := &f.Windows[i]
		joins := int64(w.LargestRedundancy * float64(t.Lookups) * 0.85)
		one := findings.Concentrated{WindowsMS: w.WindowsMS, At: *w.LargestAt, Shares: w.SharesAtLargest, FanInMax: w.LargestFanIn}
		one.Joins = joins
		one.BusiestCohorts = result.Busiest{Of: 240_000, Count: 2_400, Joins: joins}
		one.BusiestBlocks = result.Busiest{Of: 170_000, Count: 1_700, Joins: joins * 9 / 10}
		one.BusiestTimestamps = result.Busiest{Of: 1_060, Count: 11, Joins: joins * 4 / 10}
		one.Positions = []result.AtDepth{{From: 0, To: 0, Joins: joins / 2}, {From: 1, To: 3, Joins: joins / 3}, {From: 4, To: 15, Joins: joins - joins/2 - joins/3}}
		for k := range int64(10) {
			one.Largest = append(one.Largest, result.Largest{StartMS: 351_000 + 183_000*k, BlockHash: 46 + uint64(k/4)*1_000_003, Position: k / 4, FanIn: max(2, w.LargestFanIn-k*5)})
		}
		for _, why := range []string{findings.LargestRedundancy, findings.LargestFanIn} {
			one.Why = why
			f.Concentrated = append(f.Concentrated, one)
		}
	}
	f.Profile.Arrivals = &profile.Arrivals{SpanMS: 29_475}
	for i := range int64(120) {
		n := int64(100 + 30*math.Sin(float64(i)/9))
		f.Profile.Arrivals.Requests = append(f.Profile.Arrivals.Requests, n)
		f.Profile.Arrivals.Lookups = append(f.Profile.Arrivals.Lookups, n*(20+i%7))
	}
	f.Sensitivity = fixtureSensitivity(f, s)
	return f
}

// fixtureWindows are 73 windows from 1 ms to 100 s, those of the grid among them.
func fixtureWindows() (ms []int64) {
	for i := range 69 {
		ms = append(ms, int64(math.Round(math.Pow(10, 5*float64(i)/68))))
	}
	ms = append(ms, fixtureGrid.WindowsMS...)
	slices.Sort(ms)
	ms = slices.Compact(ms)
	for next := int64(20_500); len(ms) < 73; next += 7_000 {
		ms = append(ms, next)
		slices.Sort(ms)
		ms = slices.Compact(ms)
	}
	return ms
}

func fixtureSensitivity(f *findings.Findings, s shape) *findings.Sensitivity {
	out := &findings.Sensitivity{Seeds: 20, StartMS: 353_700, SpanMS: 106_101, Spans: 30}
	for _, ms := range fixtureGrid.WindowsMS {
		all, without := s.redundancy(result.Config{Lookup: findings.ContiguousPrefix, Routing: findings.RoundRobin, Instances: 1, CapacityBlocks: 1_000, WindowMS: ms})
		keep := 0.93
		if s.step && ms < s.gap {
			keep = 0.06 * float64(ms) / 1000
		}
		at := func(k float64) findings.MedianLargest {
			return findings.MedianLargest{Median: all * k / 4, Largest: all * k, LargestWithoutExtensions: without * k}
		}
		out.Ties = append(out.Ties, findings.Ties{WindowMS: ms, Rows: 60, Simultaneous: at(1), Even: at(keep / 2), RandomLow: at(keep * 0.8), RandomMedian: at(keep * 0.9), RandomHigh: at(keep)})
	}
	windows := fixtureWindows()
	configs := result.Grid{Lookups: fixtureGrid.Lookups, Routings: fixtureGrid.Routings, Instances: fixtureGrid.Instances, CapacitiesBlocks: fixtureGrid.CapacitiesBlocks, WindowsMS: []int64{0}}
	for _, c := range configs.Configs() {
		curve := findings.Curve{Lookup: c.Lookup, Routing: c.Routing, Instances: c.Instances, CapacityBlocks: c.CapacityBlocks}
		for _, w := range windows {
			c.WindowMS = w
			all, without := s.redundancy(c)
			attempts := f.Profile.Lookups * 85 / 100
			joins, rest := math.Floor(all*float64(attempts)), math.Floor(without*float64(attempts))
			measure := func(joins float64) findings.Measure {
				r := joins / float64(attempts)
				return findings.Measure{Redundancy: r, TiesLow: math.Floor(joins*0.4) / float64(attempts), TiesHigh: r, IntervalLow: r * 0.71, IntervalHigh: r * 1.33}
			}
			curve.Points = append(curve.Points, findings.Point{WindowMS: w, Lookups: f.Profile.Lookups * 9 / 10, Attempts: attempts,
				DuplicateCohorts: int64(joins * 0.8), Requests: f.Profile.Requests * 9 / 10, InGrid: slices.Contains(fixtureGrid.WindowsMS, w), All: measure(joins), WithoutExtensions: measure(rest)})
		}
		for _, without := range []bool{false, true} {
			for _, share := range []float64{0.001, 0.01, 0.05, 0.1} {
				t := findings.Threshold{WithoutExtensions: without, Share: share}
				for _, p := range curve.Points {
					r := p.All.Redundancy
					if without {
						r = p.WithoutExtensions.Redundancy
					}
					if r >= share {
						t.WindowMS, t.EvenWindowMS = p.WindowMS, p.WindowMS+7
						break
					}
				}
				curve.Thresholds = append(curve.Thresholds, t)
			}
		}
		if c.Instances == 4 {
			curve.Falls = []findings.Fall{{FromMS: 41_000, ToMS: 44_000, From: 0.0221, To: 0.0219}}
		}
		out.Curves = append(out.Curves, curve)
	}
	pair := func(a, b string, n int, mean float64) findings.RoutingPair {
		return findings.RoutingPair{A: a, B: b, Pairs: n, Higher: n * 3 / 4, Equal: n / 5, Lower: n - n*3/4 - n/5, MeanDifference: mean, AImbalance: 15.9, BImbalance: 1.25}
	}
	out.Routing = &findings.Routing{
		Pairs: []findings.RoutingPair{
			pair(findings.FirstBlockAffinity, findings.RoundRobin, 168, 0.000241),
			pair(result.MatchedLoad, findings.RoundRobin, 3360, 0.00009),
			pair(findings.FirstBlockAffinity, result.MatchedLoad, 3360, 0.000151),
			pair(result.AffinityBoundedLoad, findings.RoundRobin, 168, 0.00011),
			pair(result.LeastLoaded, findings.RoundRobin, 168, -0.000012),
		},
		Rows: 168, AffinityLessRoundRobin: 0.000241, Load: 0.00009, Prefix: 0.000151,
		Statement: "Of the 0.0241 points that affinity has more than round robin, 0.0090 are uneven load and 0.0151 the prefix. Over 168 rows of two instances and more.",
	}
	return out
}
