package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"kvfanin/internal/probe"
)

func newProbe(e *env) *cobra.Command {
	group := &cobra.Command{
		Use:   "probe",
		Short: "What a real serving stack does with N equal cold requests",
		Long: `Runs a real, released serving stack on this machine's CPU, without weights:
holds the first Get of a cold block at a barrier while equal requests arrive,
lets it go, and counts what each layer did.

  kvfanin probe setup           the Python environment, once
  kvfanin probe run             8 requests, one block: the table
  kvfanin probe run --case all  every case, against the counts expected of it`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.AddCommand(newProbeSetup(e), newProbeRun(e), newProbeCases(e))
	return group
}

// targets is a flag that holds a comma list of targets.
func targetsFlag(flags *pflag.FlagSet, targets *[]*probe.Target, single bool, usage string) {
	var names []string
	for _, t := range probe.Targets {
		names = append(names, t.Name)
	}
	flags.Var(&list[*probe.Target]{targets, axisKind(single), probe.TargetByName,
		func(t *probe.Target) string { return t.Name }, single}, "target", usage+": "+strings.Join(names, ", "))
}

// environmentFlags say in which Python a target runs.
type environmentFlags struct {
	python  string
	venv    string
	release string
}

func (f *environmentFlags) define(flags *pflag.FlagSet, python string) {
	flags.StringVar(&f.python, "python", "", python)
	flags.StringVar(&f.venv, "venv", "", "`folder` of the environment (default one among the user's caches)")
	flags.StringVar(&f.release, "release", "", "`version` of the stack, one that there is a lock for (default the newest)")
}

// place returns where the environment of a target is.
func (f *environmentFlags) place(t *probe.Target) (*probe.Place, error) {
	release, err := t.Environment.Release(f.release)
	if err != nil {
		return nil, usageError{err}
	}
	return probe.PlaceOf(t.Environment, release, f.venv)
}

// options returns how to run a target: in the user's own Python, or in the
// environment that setup made.
func (f *environmentFlags) options(t *probe.Target) (*probe.Options, error) {
	if f.python != "" {
		if f.venv != "" || f.release != "" {
			return nil, usageError{fmt.Errorf("--python %s: it is an environment of your own: --venv and --release are of one that setup makes", f.python)}
		}
		python, err := findPython(f.python)
		return &probe.Options{Python: python, OwnPython: true}, err
	}
	place, err := f.place(t)
	if err != nil {
		return nil, err
	}
	if !place.Ready() {
		return nil, fmt.Errorf("%s: the environment is not there: make it with %s, or name your own with --python", place.Dir, f.setupCommand(t))
	}
	return &probe.Options{Python: place.Python()}, nil
}

// setupCommand returns the command that makes the environment of a target.
func (f *environmentFlags) setupCommand(t *probe.Target) string {
	command := "kvfanin probe setup --target " + t.Environment.Name
	if f.release != "" {
		command += " --release " + f.release
	}
	if f.venv != "" {
		command += " --venv " + f.venv
	}
	return command
}

// findPython returns the absolute path of an interpreter. Links stay as they
// are: a virtual environment is known by its own.
func findPython(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("--python %s: %w: want the path of a Python interpreter", name, exec.ErrNotFound)
	}
	return filepath.Abs(path)
}

// patienceFlag defines --deadline.
func patienceFlag(flags *pflag.FlagSet) *time.Duration {
	return flags.Duration("deadline", probe.DefaultPatience, "longest `time` for one case, with the imports before the first")
}

// status shows on a terminal what goes on, in one line that the next replaces,
// and nothing elsewhere. The second function takes it away.
func (e *env) status() (tell func(string), end func()) {
	file, ok := e.stderr.(*os.File)
	if e.quiet || !ok || !term.IsTerminal(int(file.Fd())) {
		return func(string) {}, func() {}
	}
	const most = 79
	tell = func(text string) {
		if r := []rune(text); len(r) > most {
			text = string(r[:most-1]) + "…"
		}
		_, _ = fmt.Fprintf(file, "\r\x1b[K%s", text)
	}
	return tell, func() { _, _ = fmt.Fprint(file, "\r\x1b[K") }
}
