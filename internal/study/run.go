package study

import (
	"cmp"
	"context"
	"math"
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
// configuration to w, apart from those that are already there; then what is run
// beside it. It stops early when ctx is done or a configuration cannot be
// committed, and returns why. done is called, by several goroutines, so often
// as Steps says.
func Run(ctx context.Context, traces []*trace.Trace, p Params, jobs int, w *rundir.Writer, done func()) error {
	if err := p.check(); err != nil {
		return err
	}
	beside := make([]*beside, len(traces))
	err := work(ctx, jobs, func(c *crew) error {
		for i, t := range traces {
			rd := asItStands(t, p.Warmup)
			if err := p.sendGrid(c, rd, i, w, done); err != nil {
				return err
			}
			if p.Sensitivity == nil || w.Complete() {
				continue
			}
			beside[i] = newBeside(rd, p)
			if err := beside[i].send(c, done); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for i, t := range traces {
			if err := w.Profile(i, profile.Of(t, p.Grid.WindowsMS)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || p.Sensitivity == nil || w.Complete() {
		return err
	}
	// Thresholds are looked for between points of the curve.
	err = work(ctx, jobs, func(c *crew) error {
		for _, b := range beside {
			if err := b.sendThresholds(c, done); err != nil {
				return err
			}
		}
		return nil
	})
	for i, b := range beside {
		if err == nil {
			err = w.Beside(i, b.rows)
		}
	}
	return err
}

// work lets a crew do what send gives it, and other things meanwhile.
func work(ctx context.Context, jobs int, send func(*crew) error, others ...func() error) error {
	group, ctx := errgroup.WithContext(ctx)
	c := newCrew(ctx, jobs)
	group.Go(func() error {
		defer c.close()
		return send(c)
	})
	for _, other := range others {
		group.Go(other)
	}
	for range jobs {
		group.Go(c.work)
	}
	return group.Wait()
}

// sendGrid sends what the grid takes that is not there, and commits it as
// trace i of w.
func (p *Params) sendGrid(c *crew, rd *reading, i int, w *rundir.Writer, done func()) error {
	configs := p.Grid.Configs()
	wanted := make([]bool, len(configs))
	for c := range configs {
		wanted[c] = !w.Done(i, c)
	}
	l := newLedger(rd, configs, func(all ...given) error {
		var commit []rundir.Given
		for _, g := range all {
			commit = append(commit, g.Given)
		}
		if err := w.Commit(i, commit...); err != nil {
			return err
		}
		for range all {
			done()
		}
		return nil
	})
	if p.Cohorts {
		l.cohorts = func(configs []int) (*rundir.CohortFile, error) { return w.Cohorts(i, configs...) }
	}
	return p.tasks(rd, wanted, l, c.send, c.endDeal)
}

// tasks gives everything that has to be run of a reading to send: what it takes
// for the configurations that are wanted. It calls endDeal after each deal.
func (p *Params) tasks(rd *reading, wanted []bool, l *ledger, send func(task) error, endDeal func() error) error {
	pl, err := newPlan(rd, p, wanted)
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
// Those of one lookup, capacity and window follow one another over all
// streams, so that few configurations wait for an instance at a time.
func (pl *plan) sendExperiments(d int, l *ledger, send func(task) error) error {
	experiments := pl.experiments(d)
	slices.SortStableFunc(experiments, func(a, b experiment) int { return cmp.Compare(a.config(), b.config()) })
	for _, e := range experiments {
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

// config returns the first configuration that takes from the experiment.
func (e *experiment) config() int {
	first := math.MaxInt
	for _, users := range e.users {
		for _, u := range users {
			first = min(first, u.config)
		}
	}
	return first
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
	streams := split(pl.reading, pl.deals[d].assigned, every(pl.deals[d].instances))
	for i, c := range pl.configs {
		if !pl.wanted[i] || !pl.deals[d].has(c) {
			continue
		}
		err := send(func(r *replayer) error {
			g, err := pl.runAll(r, streams, i, nil)
			if err != nil {
				return err
			}
			return l.commit(l.given(i, g))
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
	streams := split(pl.reading, pl.deals[d].assigned, every(pl.deals[d].instances))
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
	var all []given
	for _, i := range group {
		g := *first
		g.instances = make([][result.Phases]result.Tally, pl.configs[i].Instances)
		copy(g.instances, first.instances)
		if pl.params.NoCollapse && i != group[0] {
			d := slices.IndexFunc(pl.deals, func(d deal) bool { return d.has(pl.configs[i]) })
			own := split(pl.reading, pl.deals[d].assigned, every(pl.deals[d].instances))
			alone, err := pl.runAll(r, own, i, nil)
			if err != nil {
				return err
			}
			g = *alone
		}
		all = append(all, l.given(i, &g))
	}
	return l.commit(all...)
}

// runAll runs a configuration on every instance.
func (pl *plan) runAll(r *replayer, streams []stream, config int, write func([]result.Cohort) error) (*gathering, error) {
	model, err := pl.params.model(pl.configs[config])
	if err != nil {
		return nil, err
	}
	return r.replayAll(streams, model, write)
}

// ledger keeps what the configurations of one reading have given so far, and
// commits each that has all.
type ledger struct {
	reading *reading
	commit  func(...given) error
	cohorts func(configs []int) (*rundir.CohortFile, error) // nil: none are kept

	mu        sync.Mutex
	instances []int        // of each configuration
	gathering []*gathering // nil before the first instance and after the last
}

func newLedger(rd *reading, configs []result.Config, commit func(...given) error) *ledger {
	l := &ledger{reading: rd, commit: commit, gathering: make([]*gathering, len(configs))}
	for _, c := range configs {
		l.instances = append(l.instances, c.Instances)
	}
	return l
}

// deliver gives all users what their instances have given.
func (l *ledger) deliver(users []user, out *instanceOutcome) error {
	type whole struct {
		config int
		*gathering
	}
	var complete []whole
	l.mu.Lock()
	for _, u := range users {
		g := l.gathering[u.config]
		if g == nil {
			g = newGathering(l.instances[u.config])
			l.gathering[u.config] = g
		}
		if g.put(u.instance, out); g.missing == 0 {
			complete = append(complete, whole{u.config, g})
			l.gathering[u.config] = nil
		}
	}
	l.mu.Unlock()
	for _, c := range complete {
		if err := l.commit(l.given(c.config, c.gathering)); err != nil {
			return err
		}
	}
	return nil
}

// given returns what a configuration gave.
func (l *ledger) given(config int, g *gathering) given {
	return given{rundir.Given{Config: config, Outcome: g.outcome(l.reading)}, g.spans}
}
