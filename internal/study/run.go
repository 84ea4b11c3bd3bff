package study

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"kvfanin/internal/fanin"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
	"kvfanin/internal/trace"
)

// Run runs the grid over each trace with a number of workers and commits every
// configuration to w, apart from those that are already there. It stops early
// when ctx is done or a configuration cannot be committed, and returns why.
// done is called, by several goroutines, after each configuration.
func Run(ctx context.Context, traces []*trace.Trace, p Params, jobs int, w *rundir.Writer, done func()) error {
	if err := p.check(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	c := newCrew(ctx, jobs)
	group.Go(func() error {
		defer c.close()
		for i, t := range traces {
			configs := p.Grid.Configs()
			wanted := make([]bool, len(configs))
			for c := range configs {
				wanted[c] = !w.Done(i, c)
			}
			l := newLedger(configs, func(given ...rundir.Given) error {
				if err := w.Commit(i, given...); err != nil {
					return err
				}
				for range given {
					done()
				}
				return nil
			})
			if p.Cohorts {
				l.cohorts = func(configs []int) (*rundir.CohortFile, error) { return w.Cohorts(i, configs...) }
			}
			if err := p.tasks(t, wanted, l, c.send, c.endDeal); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		for i, t := range traces {
			if err := w.Profile(i, profile.Of(t, p.Grid.WindowsMS)); err != nil {
				return err
			}
		}
		return nil
	})
	for range jobs {
		group.Go(c.work)
	}
	return group.Wait()
}

// tasks gives everything that has to be run of a trace to send: what it takes
// for the configurations that are wanted. It calls endDeal after each deal.
func (p *Params) tasks(t *trace.Trace, wanted []bool, l *ledger, send func(task) error, endDeal func() error) error {
	pl, err := newPlan(t, p, wanted)
	if err != nil {
		return err
	}
	for d := range pl.deals {
		switch {
		case p.Cohorts:
			err = pl.sendGroups(d, l, send)
		case p.NoCollapse:
			err = pl.sendConfigurations(d, l, send)
		default:
			err = pl.sendExperiments(d, l, send)
		}
		if err == nil {
			err = endDeal()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendExperiments sends what comes up first in deal d, each experiment once.
func (pl *plan) sendExperiments(d int, l *ledger, send func(task) error) error {
	for _, e := range pl.experiments(d) {
		err := send(func(r *replayer) error {
			outs, err := e.run(r)
			if err != nil {
				return err
			}
			for w := range outs {
				if err := l.deliver(e.users[w], &outs[w]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run returns what the experiment gives under each of its windows.
func (e *experiment) run(r *replayer) ([]instanceOutcome, error) {
	if e.unbounded {
		return r.replayUnbounded(e.stream, e.windows), nil
	}
	c := fanin.Config{Lookup: e.lookup, Capacity: e.capacity, Window: e.windows[0], Control: e.control}
	out, err := r.replay(e.stream, 0, c, nil)
	return []instanceOutcome{out}, err
}

// sendConfigurations sends every configuration of deal d by itself.
func (pl *plan) sendConfigurations(d int, l *ledger, send func(task) error) error {
	streams := split(pl.trace, pl.deals[d].assigned, all(pl.deals[d].instances), pl.steady)
	for i, c := range pl.configs {
		if !pl.wanted[i] || !pl.deals[d].has(c) {
			continue
		}
		err := send(func(r *replayer) error {
			o, err := pl.runAll(r, streams, i, nil)
			if err != nil {
				return err
			}
			return l.commit(rundir.Given{Config: i, Outcome: o})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendGroups sends the groups of deal d and of those alike, each with its
// cohort file.
func (pl *plan) sendGroups(d int, l *ledger, send func(task) error) error {
	alike := pl.alike(d)
	if alike[0] < d {
		return nil // it went with the first
	}
	streams := split(pl.trace, pl.deals[d].assigned, all(pl.deals[d].instances), pl.steady)
	for _, group := range pl.groups(alike, streams) {
		if !pl.wanted[group[0]] {
			continue // it was committed, and the others with it
		}
		if err := send(func(r *replayer) error { return pl.runGroup(r, streams, group, l) }); err != nil {
			return err
		}
	}
	return nil
}

// runGroup runs the first configuration of a group, keeps its cohorts, and
// gives all what it gave; without collapse it runs the others as well.
func (pl *plan) runGroup(r *replayer, streams []stream, group []int, l *ledger) error {
	file, err := l.cohorts(group)
	if err != nil {
		return err
	}
	defer file.Close()
	first, err := pl.runAll(r, streams, group[0], file.Write)
	if err != nil {
		return err
	}
	if err := file.Finish(); err != nil {
		return err
	}
	var given []rundir.Given
	for _, i := range group {
		o := newOutcome(pl.configs[i].Instances)
		copy(o.Instances, first.Instances)
		o.Relations = first.Relations
		if pl.params.NoCollapse && i != group[0] {
			d := slices.IndexFunc(pl.deals, func(d deal) bool { return d.has(pl.configs[i]) })
			own := split(pl.trace, pl.deals[d].assigned, all(pl.deals[d].instances), pl.steady)
			if o, err = pl.runAll(r, own, i, nil); err != nil {
				return err
			}
		}
		given = append(given, rundir.Given{Config: i, Outcome: o})
	}
	return l.commit(given...)
}

// runAll runs a configuration on every instance.
func (pl *plan) runAll(r *replayer, streams []stream, config int, write func([]result.Cohort) error) (*result.Outcome, error) {
	model, err := pl.params.model(pl.configs[config])
	if err != nil {
		return nil, err
	}
	return r.replayAll(streams, model, write)
}

// ledger keeps what the configurations of one trace have given so far, and
// commits each that has all.
type ledger struct {
	commit  func(...rundir.Given) error
	cohorts func(configs []int) (*rundir.CohortFile, error) // nil: none are kept

	mu       sync.Mutex
	outcomes []*result.Outcome
	missing  []int // instances of each configuration
}

func newLedger(configs []result.Config, commit func(...rundir.Given) error) *ledger {
	l := &ledger{commit: commit}
	for _, c := range configs {
		l.outcomes = append(l.outcomes, newOutcome(c.Instances))
		l.missing = append(l.missing, c.Instances)
	}
	return l
}

// deliver gives all users what their instances have given.
func (l *ledger) deliver(users []user, out *instanceOutcome) error {
	var complete []rundir.Given
	l.mu.Lock()
	for _, u := range users {
		put(l.outcomes[u.config], u.instance, out)
		if l.missing[u.config]--; l.missing[u.config] == 0 {
			complete = append(complete, rundir.Given{Config: u.config, Outcome: l.outcomes[u.config]})
		}
	}
	l.mu.Unlock()
	for _, g := range complete {
		if err := l.commit(g); err != nil {
			return err
		}
	}
	return nil
}
