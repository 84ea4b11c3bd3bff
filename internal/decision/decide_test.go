package decision

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/result"
)

// amounts draws a number up to max: often none, a small or a round one.
func amounts(most float64) *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Just(0.0),
		rapid.Float64Range(most/1e4, most),
		rapid.Map(rapid.IntRange(0, 10), func(n int) float64 { return most * float64(n) / 10 }),
		rapid.Map(rapid.IntRange(0, 1000), func(n int) float64 { return most * float64(n) / 1000 }),
	)
}

// someInputs draws inputs that Check lets pass.
func someInputs(t *rapid.T) Inputs {
	in := Inputs{
		RequestsPerS: amounts(1000).Draw(t, "requests_per_s"), LoadFactor: amounts(100).Draw(t, "load_factor"),
		LoadCostMS: amounts(1000).Draw(t, "load_cost_ms"),
		TableUS:    amounts(50).Draw(t, "table_us"), LockUS: amounts(50).Draw(t, "lock_us"), WaitUS: amounts(50).Draw(t, "wait_us"),
		FailureShare: amounts(0.1).Draw(t, "owner_failure_share"), FailureMS: amounts(100).Draw(t, "owner_failure_ms"),
		TimeoutShare: amounts(0.1).Draw(t, "timeout_share"), TimeoutMS: amounts(100).Draw(t, "timeout_ms"),
		SlowOwnerShare: amounts(1).Draw(t, "slow_owner_share"), SlowOwnerMS: amounts(1000).Draw(t, "slow_owner_extra_ms"),
		DeadlineMS: amounts(1000).Draw(t, "deadline_ms"),
	}
	some := func(most float64, name string) float64 { return 0.001 + amounts(most).Draw(t, name) }
	size := rapid.IntRange(0, 3).Draw(t, "size")
	switch size {
	case 1:
		in.Model = rapid.SampledFrom(Models).Draw(t, "model").Name
	case 2:
		in.BytesPerToken = some(1e6, "bytes_per_token")
	case 3:
		in.BytesPerBlock = some(1e9, "bytes_per_block")
	}
	if size == 0 || rapid.Bool().Draw(t, "latency given") {
		in.LoadMS = some(1000, "load_ms")
	} else {
		in.BandwidthGBPS, in.FixedMS = some(100, "bandwidth_gb_per_s"), amounts(100).Draw(t, "fixed_ms")
	}
	return in
}

// someTraffic draws traffic with a rate of its own.
func someTraffic(t *rapid.T) Traffic {
	evidence := func(name string) Evidence {
		shares := []float64{amounts(1).Draw(t, name), amounts(1).Draw(t, name), amounts(1).Draw(t, name)}
		slices.Sort(shares)
		return Evidence{Low: shares[0], Measured: shares[1], High: shares[2],
			Why: rapid.SliceOfN(rapid.SampledFrom([]string{"ties", "interval", "neighbouring windows"}), 0, 2).Draw(t, "why")}
	}
	traffic := Traffic{
		Trace:             "trace",
		Config:            result.Config{Lookup: "contiguous_prefix", Routing: "round_robin", Instances: 4, CapacityBlocks: 1000, WindowMS: rapid.Int64Range(1, 5000).Draw(t, "window")},
		RequestsPerS:      0.001 + amounts(1000).Draw(t, "rate"),
		LookupsPerRequest: amounts(1000).Draw(t, "lookups"),
		BlockTokens:       rapid.SampledFrom([]int{16, 64, 512}).Draw(t, "block"),
		Redundancy:        evidence("redundancy"), WithoutExtensions: evidence("without"),
	}
	traffic.AttemptsPerRequest = traffic.LookupsPerRequest * amounts(1).Draw(t, "attempts")
	traffic.DuplicateCohortsPerRequest = traffic.AttemptsPerRequest * amounts(0.5).Draw(t, "duplicates")
	if traffic.DuplicateCohortsPerRequest > 0 {
		traffic.DuplicateCohorts = rapid.SampledFrom([]int64{1, 29, 30, 31, 100, 1000}).Draw(t, "duplicate cohorts")
	}
	for _, ms := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 100_000), 0, 6, rapid.ID).Draw(t, "curve") {
		traffic.Curve = append(traffic.Curve, Point{ms, amounts(1).Draw(t, "point"), amounts(1).Draw(t, "point")})
	}
	slices.SortFunc(traffic.Curve, func(a, b Point) int { return int(a.WindowMS - b.WindowMS) })
	return traffic
}

func decided(t *rapid.T, in Inputs, traffic Traffic) *Decision {
	t.Helper()
	d, err := Decide(in, traffic)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// only makes r all there is to know about the redundancy.
func only(traffic Traffic, r float64) Traffic {
	traffic.Redundancy = Evidence{Measured: r, Low: r, High: r}
	traffic.WithoutExtensions = traffic.Redundancy
	return traffic
}

// near says that x is 0 but for the rounding of what it is the sum of.
func near(x float64, d *Decision) bool {
	aLoad := d.Value("owner_ms_per_load") + d.Value("follower_ms_per_join") + d.Value("lost_ms_per_join")
	for _, in := range d.Inputs {
		if in.Name == "load_cost_ms" {
			aLoad += *in.Value
		}
	}
	return math.Abs(x) <= 1e-12*(d.Value("coordination_ms_per_s")+d.Value("cold_loads_per_s")*aLoad)
}

// TestBreakEven holds that the net is 0 at the break-even, and that where there
// is none, no redundancy has a net above 0.
func TestBreakEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		d := decided(t, in, traffic)
		if d.BreakEven != nil {
			d := decided(t, in, only(traffic, *d.BreakEven))
			if net := d.Readings[0].Value("net_ms_per_s"); !near(net, d) {
				t.Errorf("net %v at the break-even of %v", net, *d.BreakEven)
			}
			return
		}
		for _, r := range []float64{0, rapid.Float64Range(0, 1).Draw(t, "r"), 1} {
			d := decided(t, in, only(traffic, r))
			if net := d.Readings[0].Value("net_ms_per_s"); net > 0 && !near(net, d) {
				t.Errorf("net %v at %v and no break-even: %s", net, r, d.BreakEvenWhy)
			}
		}
	})
}

// TestScale holds that all costs times 2^k scale every cost and leave the
// break-even: a power of two, so that it is exact.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		d := decided(t, in, traffic)
		k := math.Ldexp(1, rapid.IntRange(-8, 8).Draw(t, "k"))
		scaled := in
		for i := range Fields {
			if f := &Fields[i]; f.Unit == "ms" || f.Unit == "us" {
				*f.Number(&scaled) *= k
			}
		}
		scaled.BandwidthGBPS /= k
		e := decided(t, scaled, traffic)
		for i := range d.Readings {
			for j, s := range d.Readings[i].Steps {
				want := s.Value
				if s.Unit == "ms/s" {
					want *= k
				}
				if got := e.Readings[i].Steps[j].Value; got != want {
					t.Errorf("%s is %v, times %v it is %v", s.Name, s.Value, k, got)
				}
			}
		}
		if (d.BreakEven == nil) != (e.BreakEven == nil) || d.BreakEven != nil && *d.BreakEven != *e.BreakEven {
			t.Errorf("break-even %v, times %v it is %v", d.BreakEven, k, e.BreakEven)
		}
		if d.Verdict != e.Verdict {
			t.Errorf("%s, times %v it is %s", d.Verdict, k, e.Verdict)
		}
	})
}

// TestCostsCost holds that a higher cost of coordination never raises the net
// nor lowers the break-even, and that a load worth more does the opposite.
func TestCostsCost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		in.LoadCostMS += 1 // given, so that it can be raised by itself
		raised := in
		name := rapid.SampledFrom([]string{"table_us", "lock_us", "wait_us", "owner_failure_share", "owner_failure_ms", "timeout_share", "timeout_ms", "slow_owner_share", "load_cost_ms"}).Draw(t, "raised")
		for i := range Fields {
			if f := &Fields[i]; f.Name == name {
				x := f.Number(&raised)
				*x = min(f.Max, *x+rapid.Float64Range(0.001, 1).Draw(t, "by"))
			}
		}
		better := name == "load_cost_ms"
		d, e := decided(t, in, traffic), decided(t, raised, traffic)
		for i := range d.Readings {
			before, after := d.Readings[i].Value("net_ms_per_s"), e.Readings[i].Value("net_ms_per_s")
			if better {
				before, after = after, before
			}
			if after > before && !near(after-before, d) {
				t.Errorf("%s raised: the net goes from %v to %v", name, before, after)
			}
		}
		if b, c := d.BreakEven, e.BreakEven; b != nil && c != nil && !better && *c < *b-1e-12 {
			t.Errorf("%s raised: the break-even goes from %v to %v", name, *b, *c)
		}
	})
}

// TestVerdictIsOfTheNets holds that a verdict never contradicts the nets: where
// it is clear, those of all readings have one sign.
func TestVerdictIsOfTheNets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		d := decided(t, in, traffic)
		wins, loses := 0, 0
		for i := range d.Readings {
			r := &d.Readings[i]
			switch net := r.Value("net_ms_per_s"); {
			case near(net, d):
			case net > 0:
				wins++
			default:
				loses++
			}
		}
		switch {
		case d.Verdict == Justified && loses > 0, d.Verdict == NotJustified && wins > 0:
			t.Errorf("%s with %d readings that win and %d that lose", d.Verdict, wins, loses)
		case d.Verdict == Justified && (traffic.DuplicateCohorts < 30 || *d.BreakEven == 0):
			t.Errorf("justified by %d duplicate cohorts against a break-even of %v", traffic.DuplicateCohorts, *d.BreakEven)
		case d.Verdict == Undecided && (wins == 6 && traffic.DuplicateCohorts >= 30 && *d.BreakEven > 0 || loses == 6):
			t.Errorf("undecided with %d readings that win and %d that lose", wins, loses)
		}
		if len(d.Because) == 0 || d.Scope == "" {
			t.Error("a verdict without its reason and scope")
		}
	})
}

// TestTraceable holds that every number is finite and is made from inputs and
// steps that stand before it, and that its formula names those and no others.
func TestTraceable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		d := decided(t, in, traffic)
		known := map[string]bool{}
		for _, i := range d.Inputs {
			known[i.Name] = true
			if i.Value != nil && (math.IsNaN(*i.Value) || math.IsInf(*i.Value, 0)) {
				t.Errorf("%s is %v", i.Name, *i.Value)
			}
		}
		check := func(s Step) {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				t.Errorf("%s is %v", s.Name, s.Value)
			}
			for _, from := range s.From {
				if !known[from] {
					t.Errorf("%s is made from %s, which is neither an input nor a step before it", s.Name, from)
				}
				if !strings.Contains(s.Formula, from) && from != "model" {
					t.Errorf("%s is made from %s, which its formula leaves out: %s", s.Name, from, s.Formula)
				}
			}
			for word := range strings.FieldsSeq(strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(s.Formula)) {
				if known[word] && !slices.Contains(s.From, word) {
					t.Errorf("%s names %s in its formula and not in what it is made from", s.Name, word)
				}
			}
			known[s.Name] = true
		}
		for _, s := range d.Steps {
			check(s)
		}
		for _, r := range d.Readings {
			for _, s := range r.Steps {
				delete(known, s.Name)
			}
			for _, s := range r.Steps {
				check(s)
			}
		}
	})
}

// TestOwnership holds the designs to what must be so of any of them.
func TestOwnership(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, traffic := someInputs(t), someTraffic(t)
		d := decided(t, in, traffic)
		joins, cohorts, attempts := d.Readings[0].Value("joins_per_s"), d.Readings[0].Value("cohorts_per_s"), d.Value("cold_loads_per_s")
		for _, o := range d.Ownership {
			gets := cohorts
			if o.Design == "today" {
				gets = attempts
			}
			if o.GetsPerS != gets {
				t.Errorf("%s: %v Gets/s, want %v", o.Design, o.GetsPerS, gets)
			}
			if known := len(in.sizes()) > 0; known != (o.BytesPerS != nil) {
				t.Errorf("%s: bytes are known: %v", o.Design, known)
			}
			waits := o.Design == "get_layer" || o.Design == "park" || o.Design == "attach"
			want := 0.0
			if waits {
				want = joins * in.SlowOwnerShare * in.SlowOwnerMS
			}
			if o.WaitMSPerS != want {
				t.Errorf("%s: followers wait %v ms/s, want %v", o.Design, o.WaitMSPerS, want)
			}
			if left := o.WaitMSPerS - o.DeadlineMSPerS; left < -1e-9*o.WaitMSPerS {
				t.Errorf("%s: a deadline gives back %v of %v", o.Design, o.DeadlineMSPerS, o.WaitMSPerS)
			}
			for _, x := range []float64{o.LookupsPerS, o.LoadSpecsPerS, o.QueueEntriesPerS, o.GPUBlocksPerS, o.CopiesPerS, o.PrefillsPerS, o.DeadlineGetsPerS} {
				if !(x >= 0 && x <= 2*attempts) {
					t.Errorf("%s: a rate of %v at %v attempts/s", o.Design, x, attempts)
				}
			}
		}
	})
}

// TestOwnershipOfEight holds the rows to the observation they are from: one
// cohort of eight on one block.
func TestOwnershipOfEight(t *testing.T) {
	d, err := Decide(Inputs{LoadMS: 100, BytesPerBlock: 7}, Traffic{
		RequestsPerS: 8, LookupsPerRequest: 1, AttemptsPerRequest: 1, BlockTokens: 512,
		Redundancy: Evidence{Measured: 7.0 / 8, Low: 7.0 / 8, High: 7.0 / 8}, DuplicateCohorts: 1, DuplicateCohortsPerRequest: 1.0 / 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][7]float64{ // lookups, specs, queue, Gets, destinations, copies, prefills
		"today":     {8, 8, 8, 8, 8, 0, 0},
		"get_layer": {8, 8, 8, 1, 8, 7, 0},
		"park":      {8, 1, 1, 1, 1, 0, 0},
		"recompute": {7, 1, 1, 1, 2, 0, 1},
		"attach":    {1, 1, 1, 1, 1, 0, 0},
	}
	for _, o := range d.Ownership {
		got := [7]float64{o.LookupsPerS, o.LoadSpecsPerS, o.QueueEntriesPerS, o.GetsPerS, o.GPUBlocksPerS, o.CopiesPerS, o.PrefillsPerS}
		if got != want[o.Design] || *o.BytesPerS != 7*want[o.Design][3] {
			t.Errorf("%s: %v and %v bytes, want %v", o.Design, got, *o.BytesPerS, want[o.Design])
		}
	}
	if len(d.Ownership) != len(want) {
		t.Errorf("%d designs, want %d", len(d.Ownership), len(want))
	}
}

// plain is traffic with nothing special about it.
func plain() Traffic {
	return Traffic{
		Trace: "trace", RequestsPerS: 10, LookupsPerRequest: 20, AttemptsPerRequest: 5, BlockTokens: 512,
		Redundancy: Evidence{0.2, 0.1, 0.3, nil}, WithoutExtensions: Evidence{0.2, 0.1, 0.3, nil},
		DuplicateCohorts: 100, DuplicateCohortsPerRequest: 0.5,
		Curve: []Point{{1, 0, 0}, {100, 0.2, 0.1}, {1000, 0.5, 0.2}},
	}
}

// TestEdges decides where something is nothing, or just at an edge.
func TestEdges(t *testing.T) {
	cheap := Inputs{LoadMS: 100, TableUS: 1}
	for _, c := range []struct {
		name    string
		in      Inputs
		change  func(*Traffic)
		verdict Verdict
		says    string // in a reason, a note or the refusal; not, after !
	}{
		{"no attempts", cheap, func(t *Traffic) { t.AttemptsPerRequest, t.DuplicateCohorts, t.DuplicateCohortsPerRequest = 0, 0, 0 },
			NotJustified, "no cold load"},
		{"no lookups", cheap, func(t *Traffic) {
			t.LookupsPerRequest, t.AttemptsPerRequest, t.DuplicateCohorts, t.DuplicateCohortsPerRequest = 0, 0, 0, 0
		}, NotJustified, "no cold load"},
		{"no joins", cheap, func(t *Traffic) { *t = only(*t, 0) }, NotJustified, "is not above"},
		{"no joins and no costs", Inputs{LoadMS: 100}, func(t *Traffic) { *t = only(*t, 0) }, NotJustified, "is not above"},
		{"no costs", Inputs{LoadMS: 100}, nil, Undecided, "No cost of coordination was given, and no system has none"},
		{"no costs, and a note", Inputs{LoadMS: 100}, nil, Undecided, "coordination costs nothing"},
		{"no rate", cheap, func(t *Traffic) { t.RequestsPerS = 0 }, "", "give requests_per_s"},
		{"no rate of the trace", Inputs{LoadMS: 100, TableUS: 1, RequestsPerS: 1}, func(t *Traffic) { t.RequestsPerS = 0 }, Justified, "is above"},
		{"all join", cheap, func(t *Traffic) { *t = only(*t, 1) }, Justified, "is above"},
		{"dearer than any load", Inputs{LoadMS: 1, TableUS: 1e6}, nil, NotJustified, "even if every attempt joined"},
		{"followers lose all", Inputs{LoadMS: 10, SlowOwnerShare: 1, SlowOwnerMS: 11}, nil, NotJustified, "a join costs its followers"},
		{"at the break-even", Inputs{LoadMS: 100, TableUS: 5000}, func(t *Traffic) { *t = only(*t, 0.2) }, Undecided, "spans"},
		{"extensions decide", Inputs{LoadMS: 100, TableUS: 1250}, func(t *Traffic) { t.WithoutExtensions = Evidence{0.01, 0, 0.02, nil} },
			Undecided, "with them it is justified, without them not justified"},
		{"without extensions it spans", Inputs{LoadMS: 100, TableUS: 1250}, func(t *Traffic) { t.WithoutExtensions = Evidence{0.05, 0, 0.1, nil} },
			Undecided, "with them it is justified, without them undecided"},
		{"few cohorts", cheap, func(t *Traffic) { t.DuplicateCohorts = 29 }, Undecided, "Fewer than 30 duplicate cohorts stand behind the redundancy: 29"},
		{"cohorts enough", cheap, func(t *Traffic) { t.DuplicateCohorts = 30 }, Justified, "!Fewer"},
		{"another window", cheap, func(t *Traffic) { t.Config.WindowMS = 101 }, Justified, "a window of 101 ms; W_eff is 100 ms"},
		{"a share without a cost", Inputs{LoadMS: 1, TimeoutShare: 0.1}, nil, Undecided, "timeout_share has no effect"},
		{"a cost without a share", Inputs{LoadMS: 1, SlowOwnerMS: 5}, nil, Undecided, "slow_owner_extra_ms has no effect"},
		{"a deadline too late", Inputs{LoadMS: 100, SlowOwnerShare: 0.1, SlowOwnerMS: 5, DeadlineMS: 5}, nil, Undecided, "deadline_ms has no effect"},
		{"no tokens in a block", Inputs{BytesPerToken: 1, BandwidthGBPS: 1}, func(t *Traffic) { t.BlockTokens = 0 }, "", "give bytes_per_block"},
		{"ages for a load", Inputs{BytesPerBlock: 1e15, BandwidthGBPS: 1e-9}, nil, "", "bandwidth_gb_per_s is 1e-9, want more"},
		{"more attempts than lookups", cheap, func(t *Traffic) { t.AttemptsPerRequest = 21 }, "", "more attempts than lookups"},
		{"more duplicate cohorts than attempts", cheap, func(t *Traffic) { t.DuplicateCohortsPerRequest = 6 }, "", "more duplicate cohorts than attempts"},
		{"a rate of cohorts left out", cheap, func(t *Traffic) { t.DuplicateCohortsPerRequest = 0 }, "", "100 duplicate cohorts and 0 a request"},
		{"a range that is none", cheap, func(t *Traffic) { t.Redundancy.Low = 0.25 }, "", "low <= measured <= high"},
		{"a share that is none", cheap, func(t *Traffic) { t.WithoutExtensions.High = math.NaN() }, "", "redundancy without extensions"},
		{"a rate that is none", cheap, func(t *Traffic) { t.RequestsPerS = math.NaN() }, "", "requests_per_s of trace is NaN"},
		{"a curve out of order", cheap, func(t *Traffic) { t.Curve[1].WindowMS = 1 }, "", "1 ms after 1 ms"},
		{"a curve beyond all", cheap, func(t *Traffic) { t.Curve[1].Redundancy = 2 }, "", "at 100 ms"},
		{"an input that is none", Inputs{LoadMS: math.NaN()}, nil, "", "load_ms is NaN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			traffic := plain()
			traffic.Config.WindowMS = int64(c.in.LoadMS)
			if c.change != nil {
				c.change(&traffic)
			}
			d, err := Decide(c.in, traffic)
			if c.verdict == "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("error %v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(append(d.Because, d.Notes...), "\n"); d.Verdict != c.verdict || strings.Contains(said, strings.TrimPrefix(c.says, "!")) == strings.HasPrefix(c.says, "!") {
				t.Errorf("%s, want %s; %q, want %q", d.Verdict, c.verdict, said, c.says)
			}
			for _, r := range d.Readings {
				for _, s := range append(r.Steps, d.Steps...) {
					if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
						t.Errorf("%s is %v", s.Name, s.Value)
					}
				}
			}
		})
	}
}

// TestCrossing finds the break-even of 5 % on curves: W is 100 ms.
func TestCrossing(t *testing.T) {
	in := Inputs{LoadMS: 100, TableUS: 1250}
	rising := []Point{{1, 0, 0}, {10, 0.04, 0.01}, {100, 0.06, 0.02}, {1000, 0.2, 0.05}}
	falling := []Point{{10, 0.01, 0.01}, {20, 0.06, 0.01}, {30, 0.04, 0.01}, {40, 0.07, 0.01}, {50, 0.01, 0.01}}
	const command = "kvfanin study ... --sensitivity --threshold 0.05"
	for _, c := range []struct {
		name       string
		curve      []Point
		thresholds []Threshold
		in         Inputs
		want       [2]Crossing // but for Joins
	}{
		{"between two points, and just at one", rising, nil, in, [2]Crossing{
			{Reached: true, AfterMS: 10, WindowMS: 100, AfterFactor: 0.1, LoadFactor: 1, Command: command,
				Text: "Between W_eff = 10 ms and 100 ms, which is s = 0.1 to 1 at this W."},
			{Reached: true, AfterMS: 100, WindowMS: 1000, AfterFactor: 1, LoadFactor: 10, Command: command,
				Text: "Between W_eff = 100 ms and 1 s, which is s = 1 to 10 at this W."},
		}},
		{"measured for one", rising, []Threshold{{0.05, 77, false}, {0.06, 99, true}}, in, [2]Crossing{
			{Reached: true, Exact: true, AfterMS: 77, WindowMS: 77, AfterFactor: 0.77, LoadFactor: 0.77,
				Text: "At W_eff = 77 ms, which is s = 0.77 at this W; measured to the ms."},
			{Reached: true, AfterMS: 100, WindowMS: 1000, AfterFactor: 1, LoadFactor: 10, Command: command,
				Text: "Between W_eff = 100 ms and 1 s, which is s = 1 to 10 at this W."},
		}},
		{"falls, and measured not to be reached", falling, []Threshold{{0.05, 0, true}}, in, [2]Crossing{
			{Reached: true, AfterMS: 10, WindowMS: 20, AfterFactor: 0.1, LoadFactor: 0.2, FallsMS: []int64{30, 50}, Command: command,
				Text: "Between W_eff = 10 ms and 20 ms, which is s = 0.1 to 0.2 at this W. The curve is below it again at 30 ms, 50 ms."},
			{Text: "Never within the range run (10 ms to 50 ms)."},
		}},
		{"from the first point on", rising[2:], nil, in, [2]Crossing{
			{Reached: true, WindowMS: 100, LoadFactor: 1, Text: "At W_eff = 100 ms already, the smallest window run, which is s = 1 at this W."},
			{Reached: true, AfterMS: 100, WindowMS: 1000, AfterFactor: 1, LoadFactor: 10, Command: command,
				Text: "Between W_eff = 100 ms and 1 s, which is s = 1 to 10 at this W."},
		}},
		{"no curve", nil, nil, in, [2]Crossing{
			{Text: "Not known: no curve was run.", Command: "kvfanin study ... --sensitivity"},
			{Text: "Not known: no curve was run.", Command: "kvfanin study ... --sensitivity"},
		}},
		{"nothing to pay: reached where there is a join", rising, nil, Inputs{LoadMS: 100}, [2]Crossing{
			{Reached: true, AfterMS: 1, WindowMS: 10, AfterFactor: 0.01, LoadFactor: 0.1, Text: "Between W_eff = 1 ms and 10 ms, which is s = 0.01 to 0.1 at this W."},
			{Reached: true, AfterMS: 1, WindowMS: 10, AfterFactor: 0.01, LoadFactor: 0.1, Text: "Between W_eff = 1 ms and 10 ms, which is s = 0.01 to 0.1 at this W."},
		}},
		{"no break-even", rising, nil, Inputs{LoadMS: 1, TableUS: 1e6}, [2]Crossing{
			{Text: "Never: there is no break-even."},
			{Text: "Never: there is no break-even."},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			traffic := plain()
			traffic.Curve, traffic.Thresholds = c.curve, c.thresholds
			d, err := Decide(c.in, traffic)
			if err != nil {
				t.Fatal(err)
			}
			for i, joins := range []string{AllJoins, WithoutExtensions} {
				want := c.want[i]
				want.Joins = joins
				if want.FallsMS == nil {
					want.FallsMS = []int64{}
				}
				equal(t, want, d.Crossings[i])
			}
		})
	}
}
