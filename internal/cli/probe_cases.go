package cli

import (
	"github.com/spf13/cobra"

	"kvfanin/internal/probe"
	"kvfanin/internal/report"
)

func newProbeCases(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cases",
		Short: "The cases there are, and what is expected of them",
		Long: `Lists the cases that kvfanin probe run --case takes. With --format json each
has its parameters and the counts that are expected of it.`,
		Args: takes(0, 0, "argument"),
	}
	flags := cmd.Flags()
	targets := probe.Targets
	targetsFlag(flags, &targets, false, "stacks whose cases to list")
	format := formatFlag(flags)
	cmd.RunE = func(*cobra.Command, []string) error {
		var cases report.ProbeCases
		for _, t := range targets {
			cases.Cases = append(cases.Cases, probe.CasesOf(t)...)
		}
		return e.print(*format, &cases)
	}
	return cmd
}
