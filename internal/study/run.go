package study

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"kvfanin/internal/fanin"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
	"kvfanin/internal/trace"
)

// task is work that a worker takes on as a whole.
type task func(*replayer) error

// Run runs the grid over each trace with a number of workers and commits every
// configuration to w, apart from those that are already there. It stops early
// when ctx is done or a configuration cannot be committed, and returns why.
// done is called, by several goroutines, after each configuration.
func Run(ctx context.Context, traces []*trace.Trace, p Params, jobs int, w *rundir.Writer, done func()) error {
	if err := p.check(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	tasks := make(chan task)
	group.Go(func() error {
		defer close(tasks)
		for i, t := range traces {
			configs := p.Grid.Configs()
			wanted := make([]bool, len(configs))
			for c := range configs {
				wanted[c] = !w.Done(i, c)
			}
			l := newLedger(configs, func(config int, o *result.Outcome) error {
				if err := w.Commit(i, config, o); err != nil {
					return err
				}
				done()
				return nil
			})
			if p.Cohorts {
				l.cohorts = func(config int) (*rundir.CohortFile, error) { return w.Cohorts(i, config) }
			}
			if err := p.tasks(t, wanted, l, func(t task) error {
				select {
				case tasks <- t:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}); err != nil {
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
		group.Go(func() error {
			var r replayer
			for t := range tasks {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err := t(&r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// tasks gives everything that has to be run of a trace to send: what it takes
// for the configurations that are wanted.
func (p *Params) tasks(t *trace.Trace, wanted []bool, l *ledger, send func(task) error) error {
	pl, err := newPlan(t, p, wanted)
	if err != nil {
		return err
	}
	for d := range pl.deals {
		if p.Cohorts || p.NoCollapse {
			err = pl.sendConfigurations(d, l, send)
		} else {
			err = pl.sendExperiments(d, l, send)
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
	dl := &pl.deals[d]
	streams := split(pl.trace, dl.assigned, all(dl.instances), pl.steady)
	for i, c := range pl.configs {
		if !pl.wanted[i] || c.Routing != dl.routing || c.Instances != dl.instances {
			continue
		}
		model, err := pl.params.model(c)
		if err != nil {
			return err
		}
		err = send(func(r *replayer) error {
			return l.run(i, func(write func([]result.Cohort) error) (*result.Outcome, error) {
				return r.replayAll(streams, model, write)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ledger keeps what the configurations of one trace have given so far, and
// commits each that has all.
type ledger struct {
	configs []result.Config
	commit  func(config int, o *result.Outcome) error
	cohorts func(config int) (*rundir.CohortFile, error) // nil: none are kept

	mu       sync.Mutex
	outcomes []*result.Outcome
	missing  []int // instances of each configuration
}

func newLedger(configs []result.Config, commit func(int, *result.Outcome) error) *ledger {
	l := &ledger{configs: configs, commit: commit}
	for _, c := range configs {
		l.outcomes = append(l.outcomes, newOutcome(c.Instances))
		l.missing = append(l.missing, c.Instances)
	}
	return l
}

// deliver gives all users what their instances have given.
func (l *ledger) deliver(users []user, out *instanceOutcome) error {
	var complete []int
	l.mu.Lock()
	for _, u := range users {
		put(l.outcomes[u.config], u.instance, out)
		if l.missing[u.config]--; l.missing[u.config] == 0 {
			complete = append(complete, u.config)
		}
	}
	l.mu.Unlock()
	for _, config := range complete {
		if err := l.commit(config, l.outcomes[config]); err != nil {
			return err
		}
	}
	return nil
}

// run runs one whole configuration, with its cohort file if there is one.
func (l *ledger) run(config int, replay func(write func([]result.Cohort) error) (*result.Outcome, error)) error {
	if l.cohorts == nil {
		o, err := replay(nil)
		if err != nil {
			return err
		}
		return l.commit(config, o)
	}
	cohorts, err := l.cohorts(config)
	if err != nil {
		return err
	}
	defer cohorts.Close()
	o, err := replay(cohorts.Write)
	if err != nil {
		return err
	}
	if err := cohorts.Finish(); err != nil {
		return err
	}
	return l.commit(config, o)
}
