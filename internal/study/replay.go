package study

import (
	"fmt"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
	"kvfanin/internal/trace"
)

// routed is a trace dealt out to a number of instances under one policy: what
// all configurations that differ in lookup, capacity or window share.
type routed struct {
	trace   *trace.Trace
	streams []stream
}

// deal deals a trace out to its instances under a policy.
func deal(t *trace.Trace, policy route.Policy, instances, steady int) *routed {
	return &routed{t, split(t, policy.Assign(t, instances), instances, steady)}
}

// Simulate runs one configuration on a trace.
func Simulate(t *trace.Trace, c result.Config, warmup Share, control fanin.Control) (result.Outcome, error) {
	p := Params{Warmup: warmup, Control: control}
	model, err := p.model(c)
	if err != nil {
		return result.Outcome{}, err
	}
	policy, err := route.ByName(c.Routing)
	if err != nil {
		return result.Outcome{}, err
	}
	if c.Instances < 1 {
		return result.Outcome{}, fmt.Errorf("instances %d: want at least 1", c.Instances)
	}
	return new(replayer).replay(deal(t, policy, c.Instances, SteadyFrom(t, warmup)), model, nil)
}

// replayer runs configurations, one at a time, in memory it keeps.
type replayer struct {
	engine  fanin.Engine
	cohorts []result.Cohort
}

// replay runs one configuration over every instance. Each cohort goes to
// write, in batches that it must not keep, instance by instance and in the
// order the loads started; write may be nil.
func (r *replayer) replay(in *routed, c fanin.Config, write func([]result.Cohort) error) (result.Outcome, error) {
	outcome := result.Outcome{Instances: make([][result.Phases]result.Tally, len(in.streams))}
	for k := range in.streams {
		s := &in.streams[k]
		observer := fanin.Observer{Joins: func(joins []fanin.Joins) error {
			for _, j := range joins {
				relations := &outcome.Relations[s.phase(j.Joiner)]
				relate(in.trace, int(s.request[j.Leader]), int(s.request[j.Joiner]), int64(j.Blocks), relations)
			}
			return nil
		}}
		if write != nil {
			observer.Cohorts = func(cohorts []fanin.Cohort) error {
				r.cohorts = r.cohorts[:0]
				for _, c := range cohorts {
					r.cohorts = append(r.cohorts, result.Cohort{
						Instance:      int32(k),
						BlockHash:     in.trace.Hash[s.block[c.Block]],
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
			return result.Outcome{}, err
		}
		for phase := range counts {
			outcome.Instances[k][phase] = tally(&counts[phase])
		}
	}
	return outcome, nil
}

// phase returns the phase of request i of the stream.
func (s *stream) phase(i uint32) result.Phase {
	if int(i) < s.Steady {
		return result.Warmup
	}
	return result.Steady
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
