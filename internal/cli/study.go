package cli

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kvfanin/internal/report"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
	"kvfanin/internal/study"
	"kvfanin/internal/trace"
)

func newStudy(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study [TRACE...]",
		Short: "The whole grid over each trace, with evidence, in a run directory",
		Long: `Replays each trace through every configuration of the grid, writes a run
directory that kvfanin verify can check, and prints the tables of the published
study. Without a trace it runs over a generated one (see trace generate).

The directory is complete or not there: work goes on in DIR.partial.`,
		Example: `  kvfanin study
  kvfanin study conversation_trace.jsonl synthetic_trace.jsonl -o run
  kvfanin study chat=/data/monday.jsonl.zst --window 50ms,200ms --capacity 6000`,
		Args: takes(0, math.MaxInt, "TRACE"),
	}
	flags := cmd.Flags()
	s := studyVerb{env: e, grid: study.DefaultGrid()}
	gridFlags(flags, &s.grid, false)
	warmup := warmupFlag(flags)
	control := controlFlag(flags)
	options := traceFlags(flags)
	flags.StringVarP(&s.dir, "output", "o", "kvfanin-run", "run `directory`")
	cohorts := choiceFlag(flags, "cohorts", "also write a row a cohort", "off", "parquet", "csv.gz")
	flags.IntVar(&s.jobs, "jobs", 0, "`workers` (default all cores)")
	flags.Var(&s.limit, "memory-limit", "most memory to take, such as 500MB or 2GiB: fewer workers rather than more")
	flags.BoolVar(&s.create.Resume, "resume", false, "go on with an interrupted run")
	flags.BoolVar(&s.create.Force, "force", false, "replace a run directory that is there")
	explain := flags.Bool("explain", false, "print what would be run, and why not more; run nothing")
	beside := sensitivityFlags(flags)
	noCollapse := flags.Bool("no-collapse", false, "run every configuration by itself; changes no result")
	format := formatFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		s.cohorts, s.format = *cohorts, *format
		s.params = study.Params{
			Grid:       s.grid,
			Warmup:     *warmup,
			Control:    control(),
			Cohorts:    *cohorts != rundir.CohortsOff,
			NoCollapse: *noCollapse,
		}
		if s.params.Sensitivity, err = beside(&s.grid); err != nil {
			return err
		}
		if s.limit > 0 {
			debug.SetMemoryLimit(int64(s.limit))
		}
		traces, err := s.traces(cmd.Context(), args, *options)
		if err != nil {
			return err
		}
		if *explain {
			return s.explain(traces)
		}
		return s.run(cmd.Context(), traces, *options)
	}
	return cmd
}

// studyVerb is a call of kvfanin study.
type studyVerb struct {
	*env
	grid    result.Grid
	params  study.Params
	dir     string
	cohorts string
	format  string
	jobs    int
	limit   size
	create  rundir.Options
}

// traces reads the traces named, or makes the built-in one if none are.
func (s *studyVerb) traces(ctx context.Context, args []string, options trace.Options) ([]*trace.Trace, error) {
	refs, err := parseRefs(args)
	if err != nil {
		return nil, err
	}
	if len(refs) == 0 {
		t, err := builtIn(options)
		return []*trace.Trace{t}, err
	}
	return s.load(ctx, refs, options)
}

// explain prints the plan of each trace.
func (s *studyVerb) explain(traces []*trace.Trace) error {
	var plan report.Plan
	for _, t := range traces {
		x, err := study.Explain(t, s.params)
		if err != nil {
			return err
		}
		plan.Traces = append(plan.Traces, report.TracePlan{
			Trace:          x.Trace,
			Configurations: x.Configurations,
			Instances:      x.Instances,
			Streams:        x.Streams,
			Experiments:    x.Experiments,
			Unbounded:      x.Unbounded,
			PrefixTree:     x.PrefixTree,
			Steps: []report.Step{
				{Reason: "nothing: every configuration by itself", Lookups: x.Lookups},
				{Reason: "instances that serve the same requests", Lookups: x.AfterRequests},
				{Reason: "windows that make the same comparisons", Lookups: x.AfterWindows},
				{Reason: "capacities that hold all blocks", Lookups: x.AfterCapacities},
				{Reason: "all windows and lookups where all fit", Lookups: x.AfterUnbounded},
			},
		})
	}
	return s.print(s.format, &plan)
}

func (s *studyVerb) run(ctx context.Context, traces []*trace.Trace, options trace.Options) error {
	if s.jobs < 0 {
		return usageError{fmt.Errorf("--jobs %d: want at least 1", s.jobs)}
	}
	if s.jobs == 0 {
		s.jobs = runtime.GOMAXPROCS(0)
	}
	if err := s.fit(traces); err != nil {
		return err
	}
	w, err := rundir.Create(s.dir, s.header(traces, options), s.create)
	if err != nil {
		return err
	}
	defer w.Close()
	progress := s.progress(s.params.Steps(len(traces)))
	err = study.Run(ctx, traces, s.params, s.jobs, w, progress.done)
	progress.end()
	if err == nil {
		err = w.Publish()
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; what is done of the grid lies in %s.partial, and --resume goes on from there", ctx.Err(), s.dir)
	}
	if err != nil {
		return err
	}
	run, err := w.Run()
	if err != nil {
		return err
	}
	if err := s.print(s.format, report.StudyOf(run)); err != nil {
		return err
	}
	s.note("the run is in %s; kvfanin verify %s re-checks it from its files", s.dir, s.dir)
	return nil
}

// fit lowers the number of workers to what the memory limit has room for.
func (s *studyVerb) fit(traces []*trace.Trace) error {
	if s.limit == 0 {
		return nil
	}
	m, err := study.MemoryOf(traces, s.params)
	if err != nil {
		return err
	}
	jobs := m.Workers(int64(s.limit), s.jobs)
	switch one := m.Shared + m.Worker; {
	case one > int64(s.limit):
		debug.SetMemoryLimit(one) // below it the collector would run without end, and free nothing
		s.note("--memory-limit %s: one worker may need %d MiB; going on with one", &s.limit, one/mib+1)
	case jobs < s.jobs:
		s.note("--memory-limit %s: %s of %d, as each may need %d MiB beside %d MiB they share",
			&s.limit, count(jobs, "worker"), s.jobs, m.Worker/mib+1, m.Shared/mib+1)
	}
	s.jobs = jobs
	return nil
}

func (s *studyVerb) header(traces []*trace.Trace, o trace.Options) rundir.Header {
	h := rundir.Header{
		Version: Version,
		Parameters: rundir.Parameters{
			BlockTokens: o.BlockTokens,
			Warmup:      s.params.Warmup.String(),
			Grid:        s.grid,
			Control:     controlName(s.params.Control),
			Cohorts:     s.cohorts,
			Sensitivity: s.params.Sensitivity,
		},
	}
	for _, t := range traces {
		h.Traces = append(h.Traces, rundir.TraceEntry{
			Name:              t.Name,
			SHA256:            t.Source.SHA256,
			GitBlob:           t.Source.GitBlob,
			Bytes:             t.Source.Bytes,
			Requests:          int64(t.Requests()),
			Lookups:           int64(t.Lookups()),
			DroppedDuplicates: t.Dropped,
			Sorted:            t.Source.Sorted,
		})
	}
	return h
}
