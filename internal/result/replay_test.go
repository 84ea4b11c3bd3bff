package result

import (
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// request is a request of a tiny trace.
type request struct {
	at     int64
	blocks []uint64 // no block twice
}

// study is what a run over a tiny trace gives.
type study struct {
	rows    Rows
	facts   Facts
	cohorts map[Config][]Cohort
}

// replay runs a tiny trace through the model, written from its rules with maps
// and without a thought for speed. It is here so that the identities are held
// against rows that were counted, not against rows made to satisfy them.
func replay(trace []request, grid Grid) *study {
	s := &study{facts: Facts{Trace: "tiny", Grid: grid, Requests: int64(len(trace))}, cohorts: make(map[Config][]Cohort)}
	for i, r := range trace {
		s.facts.Lookups += int64(len(r.blocks))
		if i > 0 && r.at > trace[i-1].at {
			if gap := r.at - trace[i-1].at; s.facts.SmallestGapMS == 0 || gap < s.facts.SmallestGapMS {
				s.facts.SmallestGapMS = gap
			}
		}
	}
	for _, config := range grid.Configs() {
		s.run(trace, config)
	}
	return s
}

func (s *study) run(trace []request, config Config) {
	var o Outcome
	for instance := range config.Instances {
		tally, cohorts := replayInstance(trace, config, instance, &o.Relations)
		o.Instances = append(o.Instances, tally)
		s.cohorts[config] = append(s.cohorts[config], cohorts...)
	}
	s.rows.Phases = append(s.rows.Phases, o.PhaseRows(s.facts.Trace, config)...)
	s.rows.Instances = append(s.rows.Instances, o.InstanceRows(s.facts.Trace, config)...)
	s.rows.Relations = append(s.rows.Relations, o.RelationRows(s.facts.Trace, config)...)
	s.rows.FanIns = append(s.rows.FanIns, o.FanInRows(s.facts.Trace, config)...)
}

func replayInstance(trace []request, config Config, instance int, relations *[Phases]Relations) (tally [Phases]Tally, cohorts []Cohort) {
	last := trace[len(trace)-1].at
	var cache []uint64           // least recently used first
	open := make(map[uint64]int) // index of the cohort of a block in flight
	completed := 0               // cohorts complete in the order they start
	touch := func(block uint64) {
		cache = slices.DeleteFunc(cache, func(b uint64) bool { return b == block })
		cache = append(cache, block)
		if len(cache) > config.CapacityBlocks {
			cache = cache[1:]
		}
	}
	for i, r := range trace {
		to := uint64(i)
		if config.Routing == "first_block_affinity" {
			to = 0
			if len(r.blocks) > 0 {
				to = r.blocks[0]
			}
		}
		if to%uint64(config.Instances) != uint64(instance) {
			continue
		}
		for completed < len(cohorts) && cohorts[completed].StartMS+config.WindowMS <= r.at {
			delete(open, cohorts[completed].BlockHash)
			touch(cohorts[completed].BlockHash)
			completed++
		}
		p := Steady
		if 10*r.at < last {
			p = Warmup
		}
		tally[p].Requests++
		missed := false // so that the rest of a prefix is of no use
		for _, block := range r.blocks {
			tally[p].Lookups++
			if slices.Contains(cache, block) && (!missed || config.Lookup == "independent_blocks") {
				tally[p].Hits++
				touch(block)
				continue
			}
			missed = true
			tally[p].Attempts++
			at, loading := open[block]
			if !loading {
				open[block] = len(cohorts)
				cohorts = append(cohorts, Cohort{int32(instance), block, int64(i), r.at, 1, p})
				tally[p].Cohorts++
				continue
			}
			cohorts[at].FanIn++
			tally[p].Joins++
			if cohorts[at].Phase != p {
				tally[p].BoundaryJoins++
			}
			// Which relation a join has is decided by the requests alone.
			switch (cohorts[at].LeaderRequest + int64(i)) % 3 {
			case 0:
				relations[p].Repeat++
			case 1:
				relations[p].Extension++
			case 2:
				relations[p].Branch++
			}
		}
	}
	for _, c := range cohorts {
		tally[c.Phase].FanIn = tally[c.Phase].FanIn.Add(FanIn{{c.FanIn, 1}})
	}
	return tally, cohorts
}

// drawTrace draws a trace with many ties and few blocks.
func drawTrace(t *rapid.T) []request {
	var trace []request
	var at int64
	for range rapid.IntRange(1, 40).Draw(t, "requests") {
		at += rapid.SampledFrom([]int64{0, 0, 0, 2, 3, 7, 30}).Draw(t, "gap")
		trace = append(trace, request{at, rapid.SliceOfNDistinct(rapid.Uint64Range(0, 8), 0, 4, rapid.ID[uint64]).Draw(t, "blocks")})
	}
	return trace
}

// sampleStudy is a study that has everything: ties, hits, joins of each
// relation, over the boundary of the phases and of cohorts of every size up to
// three, windows below and above the smallest gap.
func sampleStudy() *study {
	r := rand.New(rand.NewPCG(3, 1))
	var trace []request
	var at int64
	for range 160 {
		at += []int64{0, 0, 0, 2, 3, 5}[r.IntN(6)]
		first := uint64(r.IntN(8))
		trace = append(trace, request{at, []uint64{first, 8 + first/2, 16 + uint64(r.IntN(4))}})
	}
	return replay(trace, Grid{
		Lookups:          []string{"contiguous_prefix", "independent_blocks"},
		Routings:         []string{"round_robin", "first_block_affinity"},
		Instances:        []int{1, 2},
		CapacitiesBlocks: []int{6},
		WindowsMS:        []int64{1, 2, 20},
	})
}
