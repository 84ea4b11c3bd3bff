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
}

// replayer runs streams, one at a time, in memory it keeps.
type replayer struct {
	engine    fanin.Engine
	unbounded fanin.Unbounded
	cohorts   []result.Cohort
}

// replay runs one configuration on the stream of instance k. Each cohort goes
// to write, in batches that it must not keep, in the order the loads started;
// write may be nil.
func (r *replayer) replay(s *stream, k int, c fanin.Config, write func([]result.Cohort) error) (instanceOutcome, error) {
	var out instanceOutcome
	observer := fanin.Observer{Joins: func(joins []fanin.Joins) error {
		for _, j := range joins {
			out.relations[s.phase(j.Joiner)].Add(s.relate(j))
		}
		return nil
	}}
	if write != nil {
		observer.Cohorts = func(cohorts []fanin.Cohort) error {
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
	for phase := range counts {
		out.tallies[phase] = tally(&counts[phase])
	}
	return out, nil
}

// replayUnbounded runs a stream whose blocks all fit into the cache under each
// of windows, which ascend.
func (r *replayer) replayUnbounded(s *stream, windows []fanin.Window) []instanceOutcome {
	out := make([]instanceOutcome, len(windows))
	counts := r.unbounded.Run(&s.Stream, windows, func(joins []fanin.JoinsFrom) {
		for _, j := range joins {
			relations := s.relate(j.Joins)
			for k := j.Window; k < len(windows); k++ {
				out[k].relations[s.phase(j.Joiner)].Add(relations)
			}
		}
	})
	for k := range out {
		for phase := range counts[k] {
			out[k].tallies[phase] = tally(&counts[k][phase])
		}
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
func (r *replayer) replayAll(streams []stream, c fanin.Config, write func([]result.Cohort) error) (*result.Outcome, error) {
	outcome := newOutcome(len(streams))
	for k := range streams {
		out, err := r.replay(&streams[k], k, c, write)
		if err != nil {
			return nil, err
		}
		put(outcome, k, &out)
	}
	return outcome, nil
}

func newOutcome(instances int) *result.Outcome {
	return &result.Outcome{Instances: make([][result.Phases]result.Tally, instances)}
}

// put makes what instance k gave part of an outcome.
func put(o *result.Outcome, k int, out *instanceOutcome) {
	o.Instances[k] = out.tallies
	for phase := range out.relations {
		o.Relations[phase].Add(out.relations[phase])
	}
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
	l := newLedger([]result.Config{c}, func(given ...rundir.Given) error {
		outcome = given[0].Outcome
		return nil
	})
	var r replayer
	err := p.tasks(t, []bool{true}, l, func(run task) error { return run(&r) }, func() error { return nil })
	return outcome, err
}
