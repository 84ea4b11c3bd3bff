package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Version is the version of kvfanin, as it stands in every manifest.
const Version = "0.1.0"

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitCheck  = 3 // a check did not hold
)

// usageError is an error in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// checkError is a check that was asked for and did not hold.
type checkError struct{ error }

func (e checkError) Unwrap() error { return e.error }

// env is what all verbs share.
type env struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	quiet  bool
	config string
}

// note tells the user something that is not a result.
func (e *env) note(format string, args ...any) {
	if !e.quiet {
		_, _ = fmt.Fprintf(e.stderr, "kvfanin: "+format+"\n", args...) // there is nowhere left to say that it failed
	}
}

// Main runs the command line and returns the exit code: 0 done, 1 failed, 2
// usage, 3 a check did not hold. When ctx is done it stops and returns 1.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRoot(e)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	started := false // everything that fails before a verb starts is usage
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := applyConfig(cmd.Flags(), e.config); err != nil {
			return err
		}
		started = true
		return nil
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("interrupted%s", strings.TrimPrefix(err.Error(), ctx.Err().Error()))
	}
	_, _ = fmt.Fprintf(stderr, "kvfanin: %s\n", oneLine(err)) // there is nowhere left to say that it failed
	switch {
	case !started || errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(checkError)):
		return exitCheck
	default:
		return exitFailed
	}
}

// oneLine returns the error's text on one line: errors of other packages may
// have several.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// takes returns the check that a verb gets from least to most arguments.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("give a %s: %s", what, cmd.UseLine())
		case len(args) > most:
			return fmt.Errorf("%q is one %s too many: %s", args[most], what, cmd.UseLine())
		}
		return nil
	}
}

func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "kvfanin",
		Short: "How many cold KV-cache loads could one load have served?",
		Long: `kvfanin measures the fan-in of cold KV-cache loads: how many requests want the
same block at the same instance while its first load is still in flight. That
is what merging such loads ("single-flight") could save at most.

  kvfanin study                 the whole grid over a built-in generated trace
  kvfanin study TRACE           the same over a trace of yours (Mooncake JSONL)
  kvfanin report kvfanin-run    what it found, as a page
  kvfanin decide kvfanin-run    whether merging is worth what it costs
  kvfanin probe run             what a real stack does with equal requests

TRACE is a path, NAME=PATH, or - for stdin; .gz and .zst are recognised by
content. Results go to stdout, everything else to stderr.

Exit codes: 0 done, 1 failed, 2 usage, 3 a check did not hold.`,
		Version:           Version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	// Help fits a terminal of 80 columns.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetVersionTemplate("kvfanin {{.Version}}\n")
	root.PersistentFlags().BoolVar(&e.quiet, "quiet", false, "print results and errors only")
	root.PersistentFlags().StringVar(&e.config, "config", "", "TOML `file` that holds any of the flags by name")
	group := &cobra.Command{
		Use:   "trace",
		Short: "Check, describe or generate a trace",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newValidate(e), newProfile(e), newGenerate(e))
	root.AddCommand(newStudy(e), newSimulate(e), newVerify(e), newReport(e), newDecide(e), newProbe(e), group)
	return root
}
