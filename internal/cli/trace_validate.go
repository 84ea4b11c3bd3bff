package cli

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"kvfanin/internal/report"
	"kvfanin/internal/trace"
)

func newValidate(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "validate TRACE...",
		Short: "Every problem of a trace, with line and field, counted by kind",
		Args:  takes(1, math.MaxInt, "TRACE"),
	}
	flags := cmd.Flags()
	var o trace.Options
	blockSizeFlag(flags, &o)
	format := formatFlag(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		refs, err := parseRefs(args)
		if err != nil {
			return err
		}
		o.Stdin = e.stdin
		validation := report.NewValidation(e.stdout, *format)
		var problems int64
		for _, ref := range refs {
			summary, err := trace.Validate(cmd.Context(), ref, o, validation.Problem)
			if err != nil {
				_ = validation.Flush() // the reason to stop says more
				return err
			}
			validation.Summary(ref.Path, summary)
			problems += summary.Problems
		}
		if err := validation.Flush(); err != nil {
			return err
		}
		if problems > 0 {
			return checkError{fmt.Errorf("%s in %s", count(problems, "problem"), count(len(refs), "trace"))}
		}
		return nil
	}
	return cmd
}
