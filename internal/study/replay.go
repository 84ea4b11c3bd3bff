package study

import (
	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
	"kvfanin/internal/trace"
)

// instanceOutcome is what one instance gave.
type instanceOutcome struct {
	tallies   [result.Phases]result.Tally
	relations [result.Phases]result.Relations
	source    *source            // where the reading asks for it
	spans     []result.SpanCount // where the reading has spans
}

// outcomeFor returns an outcome with room for what the stream's reading asks.
func outcomeFor(s *stream) (out instanceOutcome) {
	if s.source {
		out.source = new(source)
	}
	if s.spans != nil {
		out.spans = make([]result.SpanCount, s.spans.count)
	}
	return out
}

// join adds joins under the outcome's window.
func (o *instanceOutcome) join(s *stream, j fanin.Joins, relations result.Relations) {
	phase := s.phase(j.Joiner)
	o.relations[phase].Add(relations)
	if o.source != nil {
		o.source.join(s, j)
	}
	if o.spans != nil && phase == result.Steady {
		n := int64(j.Blocks)
		o.spans[s.spans.at(s.ArrivalMS[j.Joiner])].Add(result.SpanCount{Attempts: n, Joins: n, Extension: relations.Extension})
	}
}

// finish takes the counts of the run and the loads each request started.
func (o *instanceOutcome) finish(s *stream, counts *[fanin.Phases]fanin.Counts, loads []uint32, joined *counter) {
	for phase := range counts {
		o.tallies[phase] = tally(&counts[phase])
	}
	if o.source != nil {
		o.source.finish(s, joined)
	}
	if o.spans == nil {
		return
	}
	for i := s.Steady; i < len(loads); i++ {
		o.spans[s.spans.at(s.ArrivalMS[i])].Attempts += int64(loads[i])
	}
}

// replayer runs streams, one at a time, in memory it keeps.
type replayer struct {
	engine    fanin.Engine
	unbounded fanin.Unbounded
	cohorts   []result.Cohort
	loads     []uint32
	joined    counter
}

// loadsOf returns room for the loads of each request, if they are asked for.
func (r *replayer) loadsOf(s *stream) []uint32 {
	if s.spans == nil {
		return nil
	}
	r.loads = append(r.loads[:0], make([]uint32, len(s.ArrivalMS))...)
	return r.loads
}

// replay runs one configuration on the stream of instance k. Each cohort goes
// to write, in batches that it must not keep, in the order the loads started;
// write may be nil.
func (r *replayer) replay(s *stream, k int, c fanin.Config, write func([]result.Cohort) error) (instanceOutcome, error) {
	out := outcomeFor(s)
	observer := fanin.Observer{
		Joins: func(joins []fanin.Joins) error {
			for _, j := range joins {
				out.join(s, j, s.relate(j))
			}
			return nil
		},
		Loads: r.loadsOf(s),
	}
	if out.source != nil {
		r.joined.clear() // of a run that failed
		r.joined.reset(s.Blocks)
	}
	if write != nil || out.source != nil {
		observer.Duplicates = write == nil
		observer.Cohorts = func(cohorts []fanin.Cohort) error {
			if out.source != nil {
				for _, c := range cohorts {
					if c.FanIn > 1 {
						out.source.cohort(s, c, &r.joined)
					}
				}
			}
			if write == nil {
				return nil
			}
			r.cohorts = r.cohorts[:0]
			for _, c := range cohorts {
				r.cohorts = append(r.cohorts, result.Cohort{
					Instance:      int32(k),
					BlockHash:     s.trace.Hash[s.block[c.Block]],
					LeaderRequest: int64(s.request[c.Leader]),
					StartMS:       s.ArrivalMS[c.Leader],
					FanIn:         int64(c.FanIn),
					Phase:         s.phase(c.Leader),
				})
			}
			return write(r.cohorts)
		}
	}
	counts, err := r.engine.Run(&s.Stream, c, observer)
	if err != nil {
		return instanceOutcome{}, err
	}
	out.finish(s, &counts, observer.Loads, &r.joined)
	return out, nil
}

// replayUnbounded runs a stream whose blocks all fit into the cache under each
// of windows, which ascend.
func (r *replayer) replayUnbounded(s *stream, windows []fanin.Window) []instanceOutcome {
	out := make([]instanceOutcome, len(windows))
	for k := range out {
		out[k] = outcomeFor(s)
	}
	observer := fanin.UnboundedObserver{
		Joins: func(joins []fanin.JoinsFrom) {
			for _, j := range joins {
				relations := s.relate(j.Joins)
				for k := j.Window; k < len(windows); k++ {
					out[k].join(s, j.Joins, relations)
				}
			}
		},
		Loads: r.loadsOf(s),
	}
	if s.source {
		observer.Duplicates = func(cohorts []fanin.CohortUnder) {
			for _, c := range cohorts {
				out[c.Window].source.cohort(s, c.Cohort, nil)
			}
		}
	}
	counts := r.unbounded.Run(&s.Stream, windows, observer)
	for k := range out {
		out[k].finish(s, &counts[k], observer.Loads, nil)
	}
	return out
}

func tally(c *fanin.Counts) result.Tally {
	return result.Tally{
		Counts: result.Counts{
			Requests:      c.Requests,
			Lookups:       c.Lookups(),
			Hits:          c.Hits,
			Attempts:      c.Attempts,
			Cohorts:       c.Cohorts,
			Joins:         c.Joins,
			BoundaryJoins: c.BoundaryJoins,
		},
		FanIn: result.FanInFromCounts(c.FanIn),
	}
}

// replayAll runs one configuration on every instance.
func (r *replayer) replayAll(streams []stream, c fanin.Config, write func([]result.Cohort) error) (*gathering, error) {
	g := newGathering(len(streams))
	for k := range streams {
		out, err := r.replay(&streams[k], k, c, write)
		if err != nil {
			return nil, err
		}
		g.put(k, &out)
	}
	return g, nil
}

// gathering is a configuration, and what its instances have given so far.
type gathering struct {
	instances [][result.Phases]result.Tally
	relations [result.Phases]result.Relations
	sources   []sourceAt
	spans     []result.SpanCount
	missing   int
}

func newGathering(instances int) *gathering {
	return &gathering{instances: make([][result.Phases]result.Tally, instances), missing: instances}
}

// put adds what instance k gave.
func (g *gathering) put(k int, out *instanceOutcome) {
	g.missing--
	g.instances[k] = out.tallies
	for phase := range out.relations {
		g.relations[phase].Add(out.relations[phase])
	}
	if out.source != nil {
		g.sources = append(g.sources, sourceAt{k, out.source})
	}
	if g.spans == nil && out.spans != nil {
		g.spans = make([]result.SpanCount, len(out.spans))
	}
	for i, s := range out.spans {
		g.spans[i].Add(s)
	}
}

// outcome returns what all instances gave together.
func (g *gathering) outcome(rd *reading) *result.Outcome {
	o := &result.Outcome{Instances: g.instances, Relations: g.relations}
	if rd.source {
		var steady result.FanIn
		for k := range g.instances {
			steady = steady.Add(g.instances[k][result.Steady].FanIn)
		}
		o.Concentration = rd.concentrationOf(g.sources, steady)
	}
	return o
}

// Simulate runs one configuration on a trace.
func Simulate(t *trace.Trace, c result.Config, warmup Share, control fanin.Control) (*result.Outcome, error) {
	p := Params{
		Grid: result.Grid{
			Lookups:          []string{c.Lookup},
			Routings:         []string{c.Routing},
			Instances:        []int{c.Instances},
			CapacitiesBlocks: []int{c.CapacityBlocks},
			WindowsMS:        []int64{c.WindowMS},
		},
		Warmup:  warmup,
		Control: control,
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	var outcome *result.Outcome
	rd := asItStands(t, warmup)
	l := newLedger(rd, []result.Config{c}, func(given ...given) error {
		outcome = given[0].Outcome
		return nil
	})
	var r replayer
	err := p.tasks(rd, []bool{true}, l, func(run task) error { return run(&r) }, func() error { return nil })
	return outcome, err
}

// given is what a configuration gave.
type given struct {
	rundir.Given
	spans []result.SpanCount // where the reading has spans
}
