package fanin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/reference"
)

// model returns the reference model of one instance under c.
func model(c Config) reference.Model {
	return reference.Model{
		Contiguous: c.Lookup == ContiguousPrefix,
		Route:      func(int, reference.Request) int { return 0 },
		Instances:  1,
		Capacity:   c.Capacity,
		WindowMS:   int64(c.Window),
		Break: map[Control]reference.Break{
			NoControl:     reference.Nothing,
			InsertOnMiss:  reference.InsertOnMiss,
			SlidingWindow: reference.JoinsProlong,
		}[c.Control],
		WarmupTenths: 1,
	}
}

// streamOf numbers the blocks of requests by first appearance. Warm-up is the
// first tenth of the last timestamp.
func streamOf(requests []reference.Request) *Stream {
	s := &Stream{Offset: []int64{0}}
	number := map[uint64]uint32{}
	for _, r := range requests {
		if 10*r.ArrivalMS < requests[len(requests)-1].ArrivalMS {
			s.Steady++
		}
		s.ArrivalMS = append(s.ArrivalMS, r.ArrivalMS)
		for _, h := range r.Hashes {
			if _, ok := number[h]; !ok {
				number[h] = uint32(len(number))
			}
			s.Block = append(s.Block, number[h])
		}
		s.Offset = append(s.Offset, int64(len(s.Block)))
	}
	s.Blocks = len(number)
	return s
}

// seen is all that a run tells, in a form in which two runs can be compared.
type seen struct {
	Counts  [Phases]Counts
	Cohorts []Cohort // by leader, then block
	Joins   []Joins  // by leader, then joiner
	Loads   []uint32 // by request
}

// duplicates returns those of cohorts with a fan-in above 1.
func duplicates(cohorts []Cohort) []Cohort {
	return slices.DeleteFunc(slices.Clone(cohorts), func(c Cohort) bool { return c.FanIn == 1 })
}

func (s *seen) sort() {
	slices.SortFunc(s.Cohorts, func(a, b Cohort) int {
		return cmp.Or(cmp.Compare(a.Leader, b.Leader), cmp.Compare(a.Block, b.Block))
	})
	slices.SortFunc(s.Joins, func(a, b Joins) int {
		return cmp.Or(cmp.Compare(a.Leader, b.Leader), cmp.Compare(a.Joiner, b.Joiner))
	})
	for i := len(s.Joins) - 1; i > 0; i-- { // a pair may have been told of in parts
		if a, b := &s.Joins[i-1], s.Joins[i]; a.Leader == b.Leader && a.Joiner == b.Joiner {
			a.Blocks += b.Blocks
			s.Joins = slices.Delete(s.Joins, i, i+1)
		}
	}
}

func run(e *Engine, s *Stream, c Config) seen {
	return runObserved(e, s, c, false)
}

func runObserved(e *Engine, s *Stream, c Config, duplicates bool) seen {
	got := seen{Loads: make([]uint32, len(s.ArrivalMS))}
	counts, err := e.Run(s, c, Observer{
		Cohorts:    func(cohorts []Cohort) error { got.Cohorts = append(got.Cohorts, cohorts...); return nil },
		Duplicates: duplicates,
		Joins:      func(joins []Joins) error { got.Joins = append(got.Joins, joins...); return nil },
		Loads:      got.Loads,
	})
	if err != nil {
		panic(err) // the observer has none
	}
	got.Counts = counts
	got.sort()
	return got
}

// expect returns what the reference model says a run must tell.
func expect(requests []reference.Request, s *Stream, c Config) seen {
	out := model(c).Run(requests)
	want := seen{Loads: make([]uint32, len(requests))}
	for phase, r := range out.Counts[0] {
		counts := Counts{
			Requests: r.Requests, Hits: r.Hits, Attempts: r.Attempts,
			Joins: r.Joins, BoundaryJoins: r.BoundaryJoins, Cohorts: int64(len(r.FanIn)),
		}
		for _, f := range r.FanIn {
			for int64(len(counts.FanIn)) <= f {
				counts.FanIn = append(counts.FanIn, 0)
			}
			counts.FanIn[f]++
		}
		want.Counts[phase] = counts
	}
	number := map[uint64]uint32{}
	l := 0
	for _, r := range requests {
		for _, h := range r.Hashes {
			number[h] = s.Block[l]
			l++
		}
	}
	joins := map[[2]int]uint32{}
	for _, c := range out.Cohorts {
		want.Loads[c.Leader]++
		want.Cohorts = append(want.Cohorts, Cohort{Block: number[c.Hash], Leader: uint32(c.Leader), FanIn: uint32(c.FanIn)})
		for _, j := range c.Joiners {
			joins[[2]int{c.Leader, j}]++
		}
	}
	for pair, blocks := range joins {
		want.Joins = append(want.Joins, Joins{Leader: uint32(pair[0]), Joiner: uint32(pair[1]), Blocks: blocks})
	}
	want.sort()
	return want
}

// drawRequests draws a small trace with many ties in time and many requests
// for the same blocks.
func drawRequests(t *rapid.T) []reference.Request {
	step := rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 3, 5, 9, 10, 11, 30})
	block := rapid.Uint64Range(0, rapid.Uint64Range(0, 12).Draw(t, "blocks"))
	requests := make([]reference.Request, rapid.IntRange(1, 40).Draw(t, "requests"))
	now := int64(0)
	for i := range requests {
		now += step.Draw(t, "step")
		requests[i] = reference.Request{
			ArrivalMS: now,
			Hashes:    rapid.SliceOfNDistinct(block, 0, 6, rapid.ID).Draw(t, "hashes"),
		}
	}
	return requests
}

func drawConfig(t *rapid.T) Config {
	return Config{
		Lookup:   rapid.SampledFrom(Lookups).Draw(t, "lookup"),
		Capacity: rapid.IntRange(1, 14).Draw(t, "capacity"),
		Window:   Window(rapid.SampledFrom([]int64{1, 2, 3, 5, 9, 10, 11, 29, 30, 31, 100}).Draw(t, "window")),
		Control:  rapid.SampledFrom([]Control{NoControl, NoControl, InsertOnMiss, SlidingWindow}).Draw(t, "control"),
	}
}

// TestEngineIsReference holds the engine to the reference model on random
// traces: every count of both phases, every cohort, every join. One engine
// runs them all, so that a run that left something behind would show.
func TestEngineIsReference(t *testing.T) {
	var e Engine
	rapid.Check(t, func(t *rapid.T) {
		requests, c := drawRequests(t), drawConfig(t)
		s := streamOf(requests)
		want := expect(requests, s, c)
		if diff := gocmp.Diff(want, run(&e, s, c)); diff != "" {
			t.Fatalf("engine differs from the reference (-reference +engine):\n%s", diff)
		}
		all := want.Cohorts
		want.Cohorts = append([]Cohort(nil), duplicates(all)...)
		if diff := gocmp.Diff(want, runObserved(&e, s, c, true)); diff != "" {
			t.Fatalf("told of duplicates alone it differs from the reference (-reference +engine):\n%s", diff)
		}
	})
}

// FuzzEngine is the same for the native fuzzer: each byte is a step in time
// or a block.
func FuzzEngine(f *testing.F) {
	f.Add([]byte{0, 1, 2, 129, 1, 2, 3, 137, 1}, uint8(3), uint8(10), uint8(0))
	f.Add([]byte{1, 200, 1, 128, 1, 2, 3, 4, 5, 6, 129, 6, 5, 4}, uint8(2), uint8(1), uint8(5))
	f.Fuzz(func(t *testing.T, text []byte, capacity, window, kind uint8) {
		c := Config{
			Lookup:   Lookups[kind%2],
			Capacity: int(capacity) + 1,
			Window:   Window(window) + 1,
			Control:  Control(kind / 2 % 3),
		}
		requests := []reference.Request{{}}
		for _, b := range text {
			last := &requests[len(requests)-1]
			if b >= 128 { // a new request, up to 127 ms later
				requests = append(requests, reference.Request{ArrivalMS: last.ArrivalMS + int64(b-128)})
			} else if !slices.Contains(last.Hashes, uint64(b)) {
				last.Hashes = append(last.Hashes, uint64(b))
			}
		}
		s := streamOf(requests)
		if diff := gocmp.Diff(expect(requests, s, c), run(&Engine{}, s, c)); diff != "" {
			t.Fatalf("%+v: engine differs from the reference (-reference +engine):\n%s", c, diff)
		}
	})
}

// checkIdentities returns the first identity of the model that counts break.
func checkIdentities(c [Phases]Counts, s *Stream) error {
	var lookups, attempts, fanIn int64
	for phase := range c {
		p := &c[phase]
		if p.Attempts-p.Joins != p.Cohorts {
			return fmt.Errorf("phase %d: attempts %d - joins %d ≠ cohorts %d", phase, p.Attempts, p.Joins, p.Cohorts)
		}
		lookups += p.Lookups()
		attempts += p.Attempts
		var cohorts int64
		for f, n := range p.FanIn {
			cohorts += n
			fanIn += int64(f) * n
		}
		if cohorts != p.Cohorts {
			return fmt.Errorf("phase %d: %d cohorts by fan-in, %d in all", phase, cohorts, p.Cohorts)
		}
	}
	if lookups != int64(len(s.Block)) {
		return fmt.Errorf("hits + attempts %d ≠ lookups %d", lookups, len(s.Block))
	}
	if fanIn != attempts {
		return fmt.Errorf("fan-in sums to %d, attempts are %d", fanIn, attempts)
	}
	return nil
}

func TestIdentities(t *testing.T) {
	var e Engine
	rapid.Check(t, func(t *rapid.T) {
		s := streamOf(drawRequests(t))
		if err := checkIdentities(run(&e, s, drawConfig(t)).Counts, s); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLaws holds what follows from the rules for every trace.
func TestLaws(t *testing.T) {
	type trial struct {
		requests []reference.Request
		s        *Stream
		c        Config
		plain    seen
	}
	var e Engine
	law := func(name string, other func(*rapid.T, *trial) seen) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				tr := &trial{requests: drawRequests(t), c: drawConfig(t)}
				tr.s = streamOf(tr.requests)
				tr.plain = run(&e, tr.s, tr.c)
				if diff := gocmp.Diff(tr.plain, other(t, tr)); diff != "" {
					t.Fatalf("%+v %v:\n%s", tr.c, tr.requests, diff)
				}
			})
		})
	}

	law("scaling time and window changes nothing", func(t *rapid.T, tr *trial) seen {
		factor := rapid.Int64Range(2, 1000).Draw(t, "factor")
		scaled := slices.Clone(tr.requests)
		for i := range scaled {
			scaled[i].ArrivalMS *= factor
		}
		tr.c.Window *= Window(factor)
		return run(&e, streamOf(scaled), tr.c)
	})
	law("renaming blocks changes nothing", func(t *rapid.T, tr *trial) seen {
		names := make([]int, tr.s.Blocks)
		for i := range names {
			names[i] = i
		}
		names = rapid.Permutation(names).Draw(t, "names")
		renamed := *tr.s
		renamed.Block = slices.Clone(tr.s.Block)
		for l, b := range renamed.Block {
			renamed.Block[l] = uint32(names[b])
		}
		got := run(&e, &renamed, tr.c)
		for i := range got.Cohorts {
			got.Cohorts[i].Block = uint32(slices.Index(names, int(got.Cohorts[i].Block)))
		}
		got.sort()
		return got
	})
	law("windows up to the smallest gap are one experiment", func(t *rapid.T, tr *trial) seen {
		gap := int64(1 << 40)
		for i := 1; i < len(tr.s.ArrivalMS); i++ {
			if d := tr.s.ArrivalMS[i] - tr.s.ArrivalMS[i-1]; d > 0 {
				gap = min(gap, d)
			}
		}
		tr.c.Window = Window(gap)
		tr.plain = run(&e, tr.s, tr.c)
		tr.c.Window = Window(rapid.Int64Range(1, gap).Draw(t, "smaller"))
		return run(&e, tr.s, tr.c)
	})
	law("capacity beyond the distinct blocks changes nothing", func(t *rapid.T, tr *trial) seen {
		tr.c.Capacity = max(1, tr.s.Blocks)
		tr.plain = run(&e, tr.s, tr.c)
		tr.c.Capacity += rapid.IntRange(1, 1<<40).Draw(t, "more")
		return run(&e, tr.s, tr.c)
	})
}

// TestObserverError shows that an observer's error ends the run, from either
// call, and that it is not asked again.
func TestObserverError(t *testing.T) {
	full := errors.New("disk full")
	const blocks = batch + 10 // so that a batch is not told of in one piece
	s := &Stream{Offset: []int64{0}, Blocks: 3 * blocks}
	for i := range 6 { // each block is led once and joined once
		s.ArrivalMS = append(s.ArrivalMS, int64(i/2))
		for b := range blocks {
			s.Block = append(s.Block, uint32(i/2*blocks+b))
		}
		s.Offset = append(s.Offset, int64(len(s.Block)))
	}
	c := Config{Capacity: 1, Window: 2} // the error comes while others wait
	calls := 0
	fail := func(int) error { calls++; return full }
	for name, o := range map[string]Observer{
		"cohorts": {Cohorts: func(c []Cohort) error { return fail(len(c)) }},
		"joins":   {Joins: func(j []Joins) error { return fail(len(j)) }},
	} {
		calls = 0
		var e Engine
		counts, err := e.Run(s, c, o)
		if !errors.Is(err, full) {
			t.Errorf("%s: error %v, want the observer's", name, err)
		}
		if calls != 1 {
			t.Errorf("%s: observer called %d times, want once", name, calls)
		}
		if diff := gocmp.Diff([Phases]Counts{}, counts); diff != "" {
			t.Errorf("%s: counts of a run that failed: %s", name, diff)
		}
		if diff := gocmp.Diff(run(new(Engine), s, c), run(&e, s, c)); diff != "" {
			t.Errorf("%s: the run after one that failed (-fresh +used): %s", name, diff)
		}
	}
}

// TestNoAllocation holds that a run allocates nothing for each lookup.
func TestNoAllocation(t *testing.T) {
	stream := func(requests int) *Stream {
		s := &Stream{Offset: []int64{0}, Blocks: 512}
		for i := range requests {
			s.ArrivalMS = append(s.ArrivalMS, int64(i))
			for b := range 16 {
				s.Block = append(s.Block, uint32(i*7+b)%512)
			}
			s.Offset = append(s.Offset, int64(len(s.Block)))
		}
		return s
	}
	for _, lookup := range Lookups {
		var e Engine
		allocations := func(s *Stream) float64 {
			return testing.AllocsPerRun(3, func() {
				_, _ = e.Run(s, Config{Lookup: lookup, Capacity: 64, Window: 10}, Observer{}) // no observer, no error
			})
		}
		long := stream(4000)
		_ = allocations(long)
		if short, long := allocations(stream(40)), allocations(long); long > short+2 {
			t.Errorf("%v: %v allocations for 64,000 lookups, %v for 640", lookup, long, short)
		}
	}
}
