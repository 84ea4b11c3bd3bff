package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kvfanin/internal/probe"
	"kvfanin/internal/report"
)

func newProbeRun(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run equal cold requests through a real stack, and count",
		Long: `Without --case it runs the requests that the flags describe through vLLM with
Mooncake, by default the case held, and prints what each layer did. With --case
it runs named cases and compares their counts with those expected, or with
those of a file (--expect), such as --format json wrote for another branch. The
exit code is 3 where they differ.

Python takes some 20 s to import a stack; all cases of a target share that.`,
		Example: `  kvfanin probe run
  kvfanin probe run --requests 30 --receive-threads 4 --store real
  kvfanin probe run --case held --svg held.svg --trace-out held.json
  kvfanin probe run --case all --target vllm-mooncake,lmcache,offloading
  kvfanin probe run --case all --python .venv/bin/python --expect main.json`,
		Args: takes(0, 0, "argument"),
	}
	flags := cmd.Flags()
	r := probeRun{env: e, flags: flags, targets: probe.Targets[:1:1], parameters: probe.Defaults()}
	targetsFlag(flags, &r.targets, false, "stacks")
	flags.StringVar(&r.name, "case", "", "`name` of a case (see probe cases), or all")
	p := &r.parameters
	flags.IntVar(&p.Requests, "requests", p.Requests, "equal requests")
	flags.IntVar(&p.SharedBlocks, "shared-blocks", p.SharedBlocks, "blocks that they have in common")
	flags.IntVar(&p.ReceiveThreads, "receive-threads", p.ReceiveThreads, "threads that take loads from the receive queue")
	r.store = choiceFlag(flags, "store", "store", probe.StoreFake, probe.StoreReal)
	r.engine = choiceFlag(flags, "engine", "engine", probe.EngineStepped, probe.EngineFull)
	flags.BoolVar(&p.AsyncLookup, "async-lookup", false, "let the connector look up beside the scheduler")
	stagger := flags.Duration("stagger", 0, "`time` between arrivals")
	r.device = choiceFlag(flags, "device", "device; cuda is untested", probe.DeviceCPU, probe.DeviceCUDA)
	r.environment.define(flags, "Python `interpreter` of an environment of your own")
	r.patience = patienceFlag(flags)
	flags.StringVar(&r.expect, "expect", "", "`file` of counts to compare with")
	flags.StringVar(&r.trace, "trace-out", "", "`file` for the timeline, as Chrome and Perfetto read it")
	flags.StringVar(&r.svg, "svg", "", "`file` for a picture of the timeline of one case")
	format := formatFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p.StaggerMS = float64(*stagger) / float64(time.Millisecond)
		cases, left, err := r.cases()
		if err != nil {
			return usageError{err}
		}
		if r.svg != "" && len(cases) > 1 {
			return usageError{fmt.Errorf("--svg %s: a picture shows one case, and there are %d: name one with --case", r.svg, len(cases))}
		}
		for _, path := range []string{r.trace, r.svg} { // better now than after the run
			if path == "" {
				continue
			}
			if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
				return fmt.Errorf("%s: there is no folder %s to write it into", path, filepath.Dir(path))
			}
		}
		return r.run(cmd.Context(), cases, left, *format)
	}
	return cmd
}

// probeRun is a call of kvfanin probe run.
type probeRun struct {
	*env
	flags       *pflag.FlagSet
	targets     []*probe.Target
	name        string // of a case, or all
	parameters  probe.Parameters
	store       *string
	engine      *string
	device      *string
	environment environmentFlags
	patience    *time.Duration
	expect      string
	trace       string
	svg         string
}

// cases returns the cases to run, and what is left out and why.
func (r *probeRun) cases() (cases []*probe.Case, left []string, err error) {
	r.parameters.Store, r.parameters.Engine, r.parameters.Device = *r.store, *r.engine, *r.device
	if r.name == "" && (len(r.targets) > 1 || r.targets[0] != probe.Targets[0]) {
		r.name = "all" // only vLLM with Mooncake has parameters
	}
	if r.name == "" {
		if err := r.parameters.Validate(); err != nil {
			return nil, nil, err
		}
		return []*probe.Case{probe.Custom(r.targets[0], r.parameters)}, nil, nil
	}
	for _, flag := range []string{"requests", "shared-blocks", "receive-threads", "engine", "async-lookup", "stagger"} {
		if r.flags.Changed(flag) {
			return nil, nil, fmt.Errorf("--%s: a case has parameters of its own: leave --case and --target out, or this", flag)
		}
	}
	store := ""
	if r.flags.Changed("store") {
		store = *r.store
	}
	if r.name != "all" {
		c, err := probe.CaseByName(r.name)
		if err != nil {
			return nil, nil, err
		}
		if r.flags.Changed("target") && (len(r.targets) > 1 || r.targets[0] != c.Target) {
			return nil, nil, fmt.Errorf("--case %s: it is one of --target %s", c.Name, c.Target.Name)
		}
		if store == probe.StoreFake && c.NeedsRealStore() {
			return nil, nil, fmt.Errorf("--case %s: it needs --store real", c.Name)
		}
		return []*probe.Case{c.With(store, *r.device)}, nil, nil
	}
	for _, t := range r.targets {
		for _, c := range probe.CasesOf(t) {
			if store == probe.StoreFake && c.NeedsRealStore() {
				left = append(left, c.Name+", which needs --store real")
				continue
			}
			cases = append(cases, c.With(store, *r.device))
		}
	}
	return cases, left, nil
}

// run runs the cases, prints what they showed, and fails if that is not what
// was expected.
func (r *probeRun) run(ctx context.Context, cases []*probe.Case, left []string, format string) error {
	if err := r.expected(cases); err != nil {
		return err
	}
	options, err := r.options(cases)
	if err != nil {
		return err
	}
	result := report.Probe{Left: left}
	tell, end := r.status()
	for len(cases) > 0 {
		environment, n := cases[0].Target.Environment, 0
		for n < len(cases) && cases[n].Target.Environment == environment {
			n++
		}
		o := options[environment]
		o.Stage = tell
		var outcomes []*probe.Outcome
		outcomes, err = probe.Run(ctx, cases[:n], o)
		result.Outcomes = append(result.Outcomes, outcomes...)
		if err != nil {
			break
		}
		cases = cases[n:]
	}
	end()
	if err != nil && (len(result.Outcomes) == 0 || ctx.Err() != nil) {
		return err
	}
	if err := errors.Join(err, r.print(format, &result)); err != nil {
		return err
	}
	if err := r.timelines(ctx, &result); err != nil {
		return err
	}
	return verdict(&result)
}

// expected has the cases compared with the counts of a file.
func (r *probeRun) expected(cases []*probe.Case) error {
	if r.expect == "" {
		return nil
	}
	file, err := probe.ReadExpectFile(r.expect)
	if err != nil {
		return err
	}
	for i, c := range cases {
		if cases[i], err = file.Apply(c); err != nil {
			return err
		}
	}
	return nil
}

// options returns how to run the cases of each environment.
func (r *probeRun) options(cases []*probe.Case) (map[*probe.Environment]*probe.Options, error) {
	all := map[*probe.Environment]*probe.Options{}
	for _, c := range cases {
		if all[c.Target.Environment] != nil {
			continue
		}
		if len(all) > 0 && (r.environment.python != "" || r.environment.venv != "" || r.environment.release != "") {
			return nil, usageError{fmt.Errorf("--python, --venv and --release are of one environment, and these targets run in several: run them one by one")}
		}
		o, err := r.environment.options(c.Target)
		if err != nil {
			return nil, err
		}
		o.Patience = *r.patience
		all[c.Target.Environment] = o
	}
	return all, nil
}

// timelines writes the files of the timeline that were asked for.
func (r *probeRun) timelines(ctx context.Context, result *report.Probe) error {
	if r.trace != "" {
		trace := report.ProbeTrace{Outcomes: result.Outcomes}
		if err := r.file(ctx, r.trace, trace.JSON); err != nil {
			return err
		}
	}
	if r.svg != "" && result.Outcomes[0].Result != nil {
		picture := report.ProbePicture{Outcome: result.Outcomes[0]}
		return r.file(ctx, r.svg, picture.Write)
	}
	return nil
}

// file writes a file in full or not at all.
func (r *probeRun) file(ctx context.Context, path string, write func(io.Writer) error) error {
	out, err := newOutput(ctx, r.stdout, path)
	if err != nil {
		return err
	}
	defer out.abandon()
	if err := write(out); err != nil {
		return out.failed(err)
	}
	return out.publish()
}

// verdict returns the error that cases failed or differ.
func verdict(result *report.Probe) error {
	var failed, differ []string
	for _, o := range result.Outcomes {
		switch {
		case o.Err != nil:
			failed = append(failed, o.Case.Name)
		case len(o.Differences) > 0:
			differ = append(differ, o.Case.Name)
		}
	}
	switch {
	case len(failed) == 1 && len(result.Outcomes) == 1:
		return result.Outcomes[0].Err
	case len(failed) > 0:
		return fmt.Errorf("%s of %d could not be run: %s", count(len(failed), "case"), len(result.Outcomes), strings.Join(failed, ", "))
	case len(differ) > 0:
		return checkError{fmt.Errorf("%s of %d not as expected: %s", count(len(differ), "case"), len(result.Outcomes), strings.Join(differ, ", "))}
	}
	return nil
}
