package cli

import (
	"math"

	"github.com/spf13/cobra"

	"kvfanin/internal/profile"
	"kvfanin/internal/report"
	"kvfanin/internal/study"
)

func newProfile(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile TRACE...",
		Short: "What a trace looks like: arrivals, ties, reuse",
		Args:  takes(1, math.MaxInt, "TRACE"),
	}
	flags := cmd.Flags()
	grid := study.DefaultGrid()
	options := traceFlags(flags)
	windowFlag(flags, &grid, false)
	format := formatFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		refs, err := parseRefs(args)
		if err != nil {
			return err
		}
		traces, err := e.load(cmd.Context(), refs, *options)
		if err != nil {
			return err
		}
		var profiles report.Profiles
		for _, t := range traces {
			profiles.Traces = append(profiles.Traces, report.Profile{Trace: t.Name, Profile: profile.Of(t, grid.WindowsMS)})
		}
		return e.print(*format, &profiles)
	}
	return cmd
}
