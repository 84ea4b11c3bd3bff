package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"kvfanin/internal/report"
	"kvfanin/internal/rundir"
)

func newVerify(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Re-check a finished run from its files",
		Long: `Checks a run directory from its files alone: that exactly the files of the
manifest are there, with their size, rows and SHA-256; that every table and
stream reads to its end; that every identity of the model holds; and that
cohort files add up to their rows. Each thing that is wrong is named by itself,
with its file. The exit code is 3 if there is any.`,
		Args: takes(1, 1, "DIR"),
	}
	format := formatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v := report.Verification{Dir: args[0]}
		var err error
		v.Summary, err = rundir.Verify(cmd.Context(), args[0], func(f rundir.Finding) {
			v.Findings = append(v.Findings, f)
		})
		if err != nil {
			return err
		}
		if err := e.print(*format, &v); err != nil {
			return err
		}
		if len(v.Findings) > 0 {
			return checkError{fmt.Errorf("%s does not verify: %s", args[0], count(len(v.Findings), "finding"))}
		}
		return nil
	}
	return cmd
}
