package cli

import (
	"github.com/spf13/cobra"

	"kvfanin/internal/fanin"
	"kvfanin/internal/report"
	"kvfanin/internal/result"
	"kvfanin/internal/study"
)

func newSimulate(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate TRACE",
		Short: "One configuration, both phases",
		Example: `  kvfanin simulate conversation_trace.jsonl --window 3s
  kvfanin simulate - --routing first_block_affinity --instances 8 < t.jsonl`,
		Args: takes(1, 1, "TRACE"),
	}
	flags := cmd.Flags()
	grid := result.Grid{
		Lookups:          []string{fanin.ContiguousPrefix.String()},
		Routings:         []string{"round_robin"},
		Instances:        []int{1},
		CapacitiesBlocks: []int{1000},
		WindowsMS:        []int64{1000},
	}
	gridFlags(flags, &grid, true)
	warmup := warmupFlag(flags)
	control := controlFlag(flags)
	options := traceFlags(flags)
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
		t, config := traces[0], grid.Configs()[0]
		outcome, err := study.Simulate(t, config, *warmup, control())
		if err != nil {
			return err
		}
		return e.print(*format, &report.Simulation{
			Trace:   t.Name,
			Config:  config,
			Control: controlName(control()),
			Warmup:  warmup.String(),
			Outcome: outcome,
		})
	}
	return cmd
}
