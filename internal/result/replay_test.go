package result

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"pgregory.net/rapid"
)

// request is a request of a tiny trace.
type request struct {
	at     int64
	blocks []uint64 // no block twice
	phase  Phase    // set by replay
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
		if trace[i].phase = Steady; 10*r.at < trace[len(trace)-1].at {
			trace[i].phase = Warmup
		}
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
	o, cohorts := outcomeOf(trace, config)
	s.cohorts[config] = cohorts
	o.Concentration = concentrationOf(trace, cohorts)
	arrived := o.PhaseRows("", config)[Steady].Joins
	o.Concentration.BusiestTimestamps = NewBusiest(9, func(int64) int64 { return min(1, arrived) })
	s.rows.Phases = append(s.rows.Phases, o.PhaseRows(s.facts.Trace, config)...)
	s.rows.Instances = append(s.rows.Instances, o.InstanceRows(s.facts.Trace, config)...)
	s.rows.Relations = append(s.rows.Relations, o.RelationRows(s.facts.Trace, config)...)
	s.rows.FanIns = append(s.rows.FanIns, o.FanInRows(s.facts.Trace, config)...)
	s.rows.Concentrations = append(s.rows.Concentrations, o.ConcentrationRow(s.facts.Trace, config))
}

func outcomeOf(trace []request, config Config) (*Outcome, []Cohort) {
	var o Outcome
	var all []Cohort
	for instance := range config.Instances {
		tally, cohorts := replayInstance(trace, config, instance, &o.Relations)
		o.Instances = append(o.Instances, tally)
		all = append(all, cohorts...)
	}
	return &o, all
}

// concentrationOf works out where the joins of cohorts come from, as far as an
// identity can tell.
func concentrationOf(trace []request, cohorts []Cohort) (c Concentration) {
	var fanIn FanIn
	blocks := make(map[uint64]bool)
	for _, r := range trace {
		if r.phase == Steady {
			for _, b := range r.blocks {
				blocks[b] = true
			}
		}
	}
	for _, d := range cohorts {
		if d.Phase != Steady {
			continue
		}
		fanIn = fanIn.Add(FanIn{{d.FanIn, 1}})
		if d.FanIn == 1 {
			continue
		}
		c.Joins += d.FanIn - 1
		at := slices.Index(trace[d.LeaderRequest].blocks, d.BlockHash)
		c.Largest = append(c.Largest, Largest{StartMS: d.StartMS, Instance: int64(d.Instance), BlockHash: d.BlockHash, Position: int64(at), FanIn: d.FanIn})
		class := min(at, 1) // no request has more than four blocks
		for len(c.Positions) <= class {
			c.Positions = append(c.Positions, []AtDepth{{From: 0, To: 0}, {From: 1, To: 3}}[len(c.Positions)])
		}
		c.Positions[class].Joins += d.FanIn - 1
	}
	c.BusiestCohorts = fanIn.Busiest()
	c.BusiestBlocks = NewBusiest(int64(len(blocks)), func(int64) int64 { return min(1, c.Joins) })
	slices.SortFunc(c.Largest, func(a, b Largest) int {
		return cmp.Or(-cmp.Compare(a.FanIn, b.FanIn), cmp.Compare(a.StartMS, b.StartMS))
	})
	c.Largest = c.Largest[:min(MostLargest, len(c.Largest))]
	return c
}

// runBeside runs what s asks for beside the grid. Which times an arm gives, and
// where a routing sends a request, no identity can tell: they are made up.
func (s *study) runBeside(trace []request, asked *Sensitivity) {
	s.facts.Sensitivity = asked
	under := func(arm Arm) []request {
		moved := slices.Clone(trace)
		for i := range moved {
			if arm.Ties != Simultaneous {
				moved[i].at = 3*moved[i].at + int64(i*i)%2*arm.Seed
			}
		}
		slices.SortStableFunc(moved, func(a, b request) int { return cmp.Compare(a.phase, b.phase) })
		return moved
	}
	rows := func(runs []ArmsRun) (rows []ArmRow, relations []ArmRelationRow, spans []SpanRow) {
		for _, run := range runs {
			for _, c := range run.Grid.Configs() {
				o, _ := outcomeOf(under(run.Arm), c)
				for _, row := range o.PhaseRows(s.facts.Trace, c) {
					rows = append(rows, ArmRow{row, run.Arm})
				}
				for _, row := range o.RelationRows(s.facts.Trace, c) {
					relations = append(relations, ArmRelationRow{row, run.Arm})
				}
				if run.Ties != Simultaneous {
					continue
				}
				last := rows[len(rows)-1]
				for k := range asked.Spans {
					row := SpanRow{Trace: s.facts.Trace, Config: c, Span: k, StartMS: int64(40 * k)}
					if k == 1 {
						row.SpanCount = SpanCount{last.Attempts, last.Joins, o.Relations[Steady].Extension}
					}
					spans = append(spans, row)
				}
			}
		}
		return rows, relations, spans
	}
	b := &s.rows.Beside
	b.Arms, b.ArmRelations, _ = rows(asked.Arms(s.facts.Grid))
	b.Curve, b.CurveRelations, b.Spans = rows(asked.Curve(s.facts.Grid))
	for _, c := range asked.Curve(s.facts.Grid)[0].Grid.Configs() {
		if c.WindowMS != asked.CurveWindowsMS[0] {
			continue
		}
		for _, run := range asked.Curve(s.facts.Grid) {
			for _, measure := range Measures {
				for _, share := range asked.ThresholdShares {
					b.Thresholds = append(b.Thresholds, thresholdOf(under(run.Arm), c, asked.CurveWindowsMS, ThresholdRow{
						Trace: s.facts.Trace, Config: c, Ties: run.Ties, Measure: measure, Share: share,
					}))
				}
			}
		}
	}
}

func thresholdOf(trace []request, c Config, windowsMS []int64, row ThresholdRow) ThresholdRow {
	row.WindowMS = 0
	at := func(windowMS int64) float64 {
		c.WindowMS = windowMS
		o, _ := outcomeOf(trace, c)
		return (&o.PhaseRows("", c)[Steady].Counts).Share(row.Measure, o.Relations[Steady].Extension)
	}
	before := int64(0)
	for _, w := range windowsMS {
		if at(w) < row.Share {
			before = w
			row.Redundancy = max(row.Redundancy, at(w))
			continue
		}
		for w-before > 1 {
			if middle := (w + before) / 2; at(middle) < row.Share {
				before = middle
			} else {
				w = middle
			}
		}
		row.WindowMS, row.Redundancy = w, at(w)
		if before > 0 {
			row.Before = at(before)
		}
		break
	}
	return row
}

func replayInstance(trace []request, config Config, instance int, relations *[Phases]Relations) (tally [Phases]Tally, cohorts []Cohort) {
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
		p := r.phase
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
		trace = append(trace, request{at: at, blocks: rapid.SliceOfNDistinct(rapid.Uint64Range(0, 8), 0, 4, rapid.ID[uint64]).Draw(t, "blocks")})
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
		trace = append(trace, request{at: at, blocks: []uint64{first, 8 + first/2, 16 + uint64(r.IntN(4))}})
	}
	return replay(trace, Grid{
		Lookups:          []string{"contiguous_prefix", "independent_blocks"},
		Routings:         []string{"round_robin", "first_block_affinity"},
		Instances:        []int{1, 2},
		CapacitiesBlocks: []int{6},
		WindowsMS:        []int64{1, 2, 20},
	})
}

// besideStudy is a sample with everything beside its grid, which is small.
func besideStudy() *study {
	var trace []request
	for i := range int64(60) {
		trace = append(trace, request{at: i / 3 * 2, blocks: []uint64{uint64(i*i) % 5, 8 + uint64(i)%3}})
	}
	s := replay(trace, Grid{
		Lookups:          []string{"contiguous_prefix"},
		Routings:         []string{"round_robin"},
		Instances:        []int{2},
		CapacitiesBlocks: []int{3},
		WindowsMS:        []int64{2, 20},
	})
	s.runBeside(trace, &Sensitivity{Seeds: 2, CurveWindowsMS: []int64{2, 9, 20}, Spans: 3, ThresholdShares: []float64{0.2, 0.55, 0.99}})
	return s
}
