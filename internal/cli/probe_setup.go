package cli

import (
	"github.com/spf13/cobra"

	"kvfanin/internal/probe"
)

func newProbeSetup(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Make the Python environment of a target, and check it",
		Long: `Makes a Python environment that holds exactly what the lock of the release
names, each package with its hash, and has it import the whole stack. An
environment that is there already is only checked; one that was interrupted is
made anew. Nothing else on this machine is touched.`,
		Example: `  kvfanin probe setup
  kvfanin probe setup --target lmcache
  kvfanin probe setup --release 0.28.0 --venv /data/vllm-0.28`,
		Args: takes(0, 0, "argument"),
	}
	flags := cmd.Flags()
	targets := probe.Targets[:1:1]
	targetsFlag(flags, &targets, true, "stack to make the environment of")
	var f environmentFlags
	f.define(flags, "Python to make it with, 3.11 or later (default python3)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target := targets[0]
		place, err := f.place(target)
		if err != nil {
			return err
		}
		if place.Ready() {
			e.note("%s is there already; checking it", place.Dir)
		} else if err := e.setup(cmd, place, f.python); err != nil {
			return err
		}
		tell, end := e.status()
		tell("importing the stack")
		versions, missing, err := probe.Check(cmd.Context(), target, &probe.Options{Python: place.Python()})
		end()
		if err != nil {
			return err
		}
		if err := probe.MissingError(missing); err != nil {
			return err
		}
		e.note("ready: %s", probe.VersionLine(versions))
		return nil
	}
	return cmd
}

// setup makes an environment, and says beforehand what that takes.
func (e *env) setup(cmd *cobra.Command, place *probe.Place, python string) error {
	if python == "" {
		python = "python3"
	}
	python, err := findPython(python)
	if err != nil {
		return err
	}
	packages, r := place.Release.Packages(), place.Release
	e.note("%s %s: %s, about %g GB to fetch and %g GB on disk, a minute or some; into %s",
		place.Environment.Name, r.Version, count(packages, "package"), r.DownloadGB, r.DiskGB, place.Dir)
	tell, end := e.status()
	defer end()
	return place.Setup(cmd.Context(), python, tell)
}
