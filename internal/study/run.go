package study

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"kvfanin/internal/fanin"
	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
	"kvfanin/internal/rundir"
	"kvfanin/internal/trace"
)

// task is one configuration on one trace.
type task struct {
	trace  int
	config int // index in the grid's configurations
	model  fanin.Config
	routed func() *routed // shared; made by the first task that asks
}

// Run runs the grid over each trace with a number of workers and commits every
// configuration to w, apart from those that are already there. It stops early
// when ctx is done or a configuration cannot be committed, and returns why.
// done is called, by several goroutines, after each configuration.
func Run(ctx context.Context, traces []*trace.Trace, p Params, jobs int, w *rundir.Writer, done func()) error {
	tasks, err := plan(traces, p, w.Done)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs + 1)
	group.Go(func() error {
		for i, t := range traces {
			if err := w.Profile(i, profile.Of(t, p.Grid.WindowsMS)); err != nil {
				return err
			}
		}
		return nil
	})
	var next atomic.Int64
	for range jobs {
		group.Go(func() error {
			var r replayer
			for {
				i := int(next.Add(1)) - 1
				if i >= len(tasks) || ctx.Err() != nil {
					return ctx.Err()
				}
				if err := tasks[i].run(&r, p.Cohorts, w); err != nil {
					return err
				}
				tasks[i] = task{} // what was routed goes with the last task
				done()
			}
		})
	}
	return group.Wait()
}

// plan returns the tasks that are not done, those that share a routing and a
// number of instances one after another.
func plan(traces []*trace.Trace, p Params, isDone func(trace, config int) bool) ([]task, error) {
	type sharing struct {
		routing   string
		instances int
	}
	var order []sharing
	configs := map[sharing][]task{}
	for i, c := range p.Grid.Configs() {
		model, err := p.model(c)
		if err != nil {
			return nil, err
		}
		key := sharing{c.Routing, c.Instances}
		if configs[key] == nil {
			order = append(order, key)
		}
		configs[key] = append(configs[key], task{config: i, model: model})
	}
	var tasks []task
	for i, t := range traces {
		steady := SteadyFrom(t, p.Warmup)
		for _, key := range order {
			policy, err := route.ByName(key.routing)
			if err != nil {
				return nil, err
			}
			routed := sync.OnceValue(func() *routed {
				return deal(t, policy, key.instances, steady)
			})
			for _, task := range configs[key] {
				if isDone(i, task.config) {
					continue
				}
				task.trace, task.routed = i, routed
				tasks = append(tasks, task)
			}
		}
	}
	return tasks, nil
}

// run runs the task and commits what it gave.
func (t *task) run(r *replayer, keepCohorts bool, w *rundir.Writer) error {
	var write func([]result.Cohort) error
	var cohorts *rundir.CohortFile
	if keepCohorts {
		var err error
		if cohorts, err = w.Cohorts(t.trace, t.config); err != nil {
			return err
		}
		defer cohorts.Close()
		write = cohorts.Write
	}
	outcome, err := r.replay(t.routed(), t.model, write)
	if err != nil {
		return err
	}
	if keepCohorts {
		if err := cohorts.Finish(); err != nil {
			return err
		}
	}
	return w.Commit(t.trace, t.config, &outcome)
}
