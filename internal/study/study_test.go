package study

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/fanin"
	"kvfanin/internal/reference"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
	"kvfanin/internal/trace"
)

// drawTrace draws a small trace with ties, shared blocks and requests without
// any. Hashes are spread over all of uint64, so that routing sees them.
func drawTrace(t *rapid.T) *trace.Trace {
	tr := &trace.Trace{Name: "drawn", BlockTokens: 2, Offset: []int64{0}}
	hashes := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 10, rapid.ID).Draw(t, "hashes")
	number := map[uint64]uint32{}
	now := int64(0)
	for range rapid.IntRange(1, 40).Draw(t, "requests") {
		now += rapid.SampledFrom([]int64{0, 0, 1, 4, 10, 50}).Draw(t, "step")
		blocks := rapid.SliceOfNDistinct(rapid.SampledFrom(hashes), 0, 5, rapid.ID).Draw(t, "blocks")
		tr.ArrivalMS = append(tr.ArrivalMS, now)
		tr.InputTokens = append(tr.InputTokens, int64(2*len(blocks)))
		tr.OutputTokens = append(tr.OutputTokens, rapid.Int64Range(0, 3).Draw(t, "output"))
		for _, h := range blocks {
			if _, ok := number[h]; !ok {
				number[h] = uint32(len(tr.Hash))
				tr.Hash = append(tr.Hash, h)
			}
			tr.Block = append(tr.Block, number[h])
		}
		tr.Offset = append(tr.Offset, int64(len(tr.Block)))
	}
	return tr
}

func drawConfig(t *rapid.T) result.Config {
	return result.Config{
		Lookup:         rapid.SampledFrom(DefaultGrid().Lookups).Draw(t, "lookup"),
		Routing:        rapid.SampledFrom(DefaultGrid().Routings).Draw(t, "routing"),
		Instances:      rapid.IntRange(1, 5).Draw(t, "instances"),
		CapacityBlocks: rapid.IntRange(1, 12).Draw(t, "capacity"),
		WindowMS:       rapid.SampledFrom([]int64{1, 4, 5, 10, 11, 50, 200}).Draw(t, "window"),
	}
}

// tenths returns a share of so many tenths.
func tenths(t *rapid.T, n int64) Share {
	s, err := ParseShare(fmt.Sprintf("0.%d", n))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplayIsReference holds everything between a trace and its rows, that is
// routing, the streams, the phases and the engine, to the reference model:
// every count of every instance, every cohort with its hash and leader, and
// every join with its relation.
func TestReplayIsReference(t *testing.T) {
	var r replayer
	rapid.Check(t, func(t *rapid.T) {
		tr, c := drawTrace(t), drawConfig(t)
		warmup := rapid.Int64Range(0, 9).Draw(t, "warmup")
		requests := requestsOf(tr)
		want := reference.Model{
			Contiguous:   c.Lookup == "contiguous_prefix",
			Route:        routeOf(c.Routing, c.Instances),
			Instances:    c.Instances,
			Capacity:     c.CapacityBlocks,
			WindowMS:     c.WindowMS,
			WarmupTenths: warmup,
		}.Run(requests)

		share := tenths(t, warmup)
		model, err := (&Params{}).model(c)
		if err != nil {
			t.Fatal(err)
		}
		policy, err := route.ByName(c.Routing)
		if err != nil {
			t.Fatal(err)
		}
		var cohorts []result.Cohort
		rd := asItStands(tr, share)
		streams := split(rd, policy.Assign(tr, c.Instances, 0), every(c.Instances))
		all, err := r.replayAll(streams, model, func(batch []result.Cohort) error {
			cohorts = append(cohorts, batch...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		outcome := all.outcome(rd)

		for k := range want.Counts {
			for phase := range want.Counts[k] {
				w, g := want.Counts[k][phase], outcome.Instances[k][phase]
				wantCounts := result.Counts{
					Requests: w.Requests, Lookups: w.Lookups, Hits: w.Hits, Attempts: w.Attempts,
					Cohorts: int64(len(w.FanIn)), Joins: w.Joins, BoundaryJoins: w.BoundaryJoins,
				}
				if diff := cmp.Diff(wantCounts, g.Counts); diff != "" {
					t.Fatalf("instance %d phase %d (-reference +replay):\n%s", k, phase, diff)
				}
				var fanIn []int64
				for _, e := range g.FanIn {
					fanIn = append(fanIn, slices.Repeat([]int64{e.FanIn}, int(e.Cohorts))...)
				}
				slices.Sort(w.FanIn)
				if !slices.Equal(w.FanIn, fanIn) {
					t.Fatalf("instance %d phase %d: fan-in %v, reference %v", k, phase, fanIn, w.FanIn)
				}
			}
		}

		var wantCohorts []result.Cohort
		var relations [result.Phases]result.Relations
		for _, w := range want.Cohorts {
			phase := result.Warmup
			if w.Steady {
				phase = result.Steady
			}
			wantCohorts = append(wantCohorts, result.Cohort{
				Instance: int32(w.Instance), BlockHash: w.Hash, LeaderRequest: int64(w.Leader),
				StartMS: w.StartMS, FanIn: w.FanIn, Phase: phase,
			})
			for _, j := range w.Joiners {
				p := result.Warmup
				if 10*tr.ArrivalMS[j] >= warmup*tr.ArrivalMS[len(tr.ArrivalMS)-1] {
					p = result.Steady
				}
				plainRelation(tr, w.Leader, j, &relations[p])
			}
		}
		slices.SortStableFunc(wantCohorts, func(a, b result.Cohort) int { return int(a.Instance - b.Instance) })
		if diff := cmp.Diff(wantCohorts, cohorts); diff != "" {
			t.Fatalf("cohorts (-reference +replay):\n%s", diff)
		}
		if diff := cmp.Diff(relations, outcome.Relations); diff != "" {
			t.Fatalf("relations (-reference +replay):\n%s", diff)
		}
		if diff := cmp.Diff(plainConcentration(tr, warmup, want.Cohorts), outcome.Concentration); diff != "" {
			t.Fatalf("concentration (-reference +replay):\n%s", diff)
		}
	})
}

// plainConcentration works out where joins come from by the definition, with
// maps, from all cohorts.
func plainConcentration(tr *trace.Trace, warmup int64, cohorts []*reference.Cohort) result.Concentration {
	steady := func(i int) bool { return 10*tr.ArrivalMS[i] >= warmup*tr.ArrivalMS[len(tr.ArrivalMS)-1] }
	c := result.Concentration{Positions: []result.AtDepth{}, Largest: []result.Largest{}}
	var ofCohorts []int64
	ofBlocks, ofTimes := map[uint64]int64{}, map[int64]int64{}
	for i := range tr.Requests() {
		if steady(i) {
			ofTimes[tr.ArrivalMS[i]] += 0
			for _, b := range tr.Blocks(i) {
				ofBlocks[tr.Hash[b]] += 0
			}
		}
	}
	at := map[int]int64{}
	for _, w := range cohorts {
		for _, j := range w.Joiners {
			if steady(j) {
				ofTimes[tr.ArrivalMS[j]]++
			}
		}
		if !w.Steady {
			continue
		}
		joins := w.FanIn - 1
		c.Joins += joins
		ofCohorts = append(ofCohorts, joins)
		ofBlocks[w.Hash] += joins
		if joins == 0 {
			continue
		}
		position := slices.IndexFunc(tr.Blocks(w.Leader), func(b uint32) bool { return tr.Hash[b] == w.Hash })
		at[position] += joins
		c.Largest = append(c.Largest, result.Largest{
			StartMS: w.StartMS, Instance: int64(w.Instance), BlockHash: w.Hash, Position: int64(position), FanIn: w.FanIn,
		})
	}
	busiest := func(joins []int64) result.Busiest {
		slices.SortFunc(joins, func(a, b int64) int { return int(b - a) })
		b := result.Busiest{Of: int64(len(joins)), Count: (int64(len(joins)) + 99) / 100}
		for _, n := range joins[:b.Count] {
			b.Joins += n
		}
		return b
	}
	c.BusiestCohorts = busiest(ofCohorts)
	c.BusiestBlocks = busiest(slices.Collect(maps.Values(ofBlocks)))
	c.BusiestTimestamps = busiest(slices.Collect(maps.Values(ofTimes)))
	for _, depth := range []result.AtDepth{{From: 0, To: 0}, {From: 1, To: 3}, {From: 4, To: 15}} {
		for position, joins := range at {
			if int64(position) >= depth.From && int64(position) <= depth.To {
				depth.Joins += joins
			}
		}
		c.Positions = append(c.Positions, depth)
	}
	for len(c.Positions) > 0 && c.Positions[len(c.Positions)-1].Joins == 0 {
		c.Positions = c.Positions[:len(c.Positions)-1]
	}
	slices.SortStableFunc(c.Largest, func(a, b result.Largest) int {
		switch {
		case a.FanIn != b.FanIn:
			return int(b.FanIn - a.FanIn)
		case a.StartMS != b.StartMS:
			return int(a.StartMS - b.StartMS)
		case a.BlockHash < b.BlockHash:
			return -1
		case a.BlockHash > b.BlockHash:
			return 1
		default:
			return int(a.Instance - b.Instance)
		}
	})
	c.Largest = c.Largest[:min(10, len(c.Largest))]
	return c
}

// plainRelation counts one join by the definition, over hashes.
func plainRelation(tr *trace.Trace, i, j int, r *result.Relations) {
	hashes := func(k int) (h []uint64) {
		for _, b := range tr.Blocks(k) {
			h = append(h, tr.Hash[b])
		}
		return h
	}
	a, b := hashes(i), hashes(j)
	f := int(tr.InputTokens[i]) / tr.BlockTokens
	switch {
	case tr.InputTokens[i] == tr.InputTokens[j] && slices.Equal(a, b):
		r.Repeat++
	case tr.InputTokens[j] >= tr.InputTokens[i]+tr.OutputTokens[i] && f >= 2 && len(b) >= f && slices.Equal(a[:f], b[:f]):
		r.Extension++
	default:
		r.Branch++
	}
}

// TestRelationsPublished holds the relations of joins to figures worked out
// independently for the public traces: steady, contiguous, round robin, one
// instance, 1,000 blocks.
func TestRelationsPublished(t *testing.T) {
	warmup, err := ParseShare(DefaultWarmup)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		trace    string
		windowMS int64
		result.Relations
	}{
		{"conversation", 1000, result.Relations{Repeat: 1, Extension: 0, Branch: 14}},
		{"conversation", 3000, result.Relations{Repeat: 1, Extension: 0, Branch: 63}},
		{"conversation", 10000, result.Relations{Repeat: 28, Extension: 160, Branch: 80}},
		{"synthetic", 10000, result.Relations{Repeat: 243, Extension: 922, Branch: 7865}},
	} {
		tr := publicTrace(t, want.trace)
		c := result.Config{Lookup: "contiguous_prefix", Routing: "round_robin", Instances: 1, CapacityBlocks: 1000, WindowMS: want.windowMS}
		outcome, err := Simulate(tr, c, warmup, fanin.NoControl)
		if err != nil {
			t.Fatal(err)
		}
		if got := outcome.Relations[result.Steady]; got != want.Relations {
			t.Errorf("%s at %d ms: %+v, published %+v", want.trace, want.windowMS, got, want.Relations)
		}
	}
}

// TestPermutingInstances holds that the instances are interchangeable: dealing
// round robin from another first instance changes which instance counts what,
// and no count.
func TestPermutingInstances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, c := drawTrace(t), drawConfig(t)
		model, err := (&Params{}).model(c)
		if err != nil {
			t.Fatal(err)
		}
		shift := rapid.IntRange(0, c.Instances-1).Draw(t, "shift")
		rd := asItStands(tr, tenths(t, 1))
		assigned := make([]uint32, tr.Requests())
		shifted := make([]uint32, tr.Requests())
		for i := range assigned {
			assigned[i] = uint32(i % c.Instances)
			shifted[i] = uint32((i + shift) % c.Instances)
		}
		var r replayer
		run := func(assigned []uint32) *result.Outcome {
			all, err := r.replayAll(split(rd, assigned, every(c.Instances)), model, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := all.outcome(rd)
			for i := range o.Concentration.Largest { // among equals the instance decides which comes first
				o.Concentration.Largest[i].Instance, o.Concentration.Largest[i].Position = 0, 0
			}
			return o
		}
		plain, other := run(assigned), run(shifted)
		other.Instances = slices.Concat(other.Instances[shift:], other.Instances[:shift])
		if diff := cmp.Diff(plain, other); diff != "" {
			t.Fatalf("after a shift by %d:\n%s", shift, diff)
		}
	})
}

func TestSteadyFrom(t *testing.T) {
	const huge = 1<<62 - 1
	for _, test := range []struct {
		arrivals []int64
		share    string
		want     int
	}{
		{[]int64{0, 9, 10, 100}, "0.1", 2}, // exactly at the boundary is steady
		{[]int64{0, 9, 10, 101}, "0.1", 3}, // 10·10 < 101, which a rounded 10.1 would also say
		{[]int64{0, 9, 10, 99}, "0.1", 2},  // 10·9 < 99
		{[]int64{0, 0, 0}, "0.1", 0},       // nothing is before 0
		{[]int64{5, 6}, "0", 0},
		{[]int64{0, 1, 2}, "0.999999999999999999", 2},
		{[]int64{huge / 10, huge/10 + 1, huge}, "0.1", 1}, // beyond what a float64 tells apart
		{nil, "0.1", 0},
	} {
		s, err := ParseShare(test.share)
		if err != nil {
			t.Fatal(err)
		}
		if got := SteadyFrom(&trace.Trace{ArrivalMS: test.arrivals}, s); got != test.want {
			t.Errorf("share %s of %v: steady from %d, want %d", test.share, test.arrivals, got, test.want)
		}
	}
}

func TestParseShare(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "0.1": "0.1", ".25": "0.25", "0.10": "0.1", "00.5": "0.5", "0.0": "0",
		"1": "", "1.0": "", "-0.1": "", "0.": "", ".": "", "": "", "0,1": "", "1e-1": "", "0.x": "",
		"0.1234567890123456789": "", "NaN": "",
	} {
		s, err := ParseShare(in)
		if got := s.String(); err == nil && got != want {
			t.Errorf("ParseShare(%q) = %s, want %s", in, got, want)
		}
		if (err != nil) != (want == "") {
			t.Errorf("ParseShare(%q): error %v", in, err)
		}
	}
}
