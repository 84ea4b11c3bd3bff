package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kvfanin/internal/decision"
	"kvfanin/internal/findings"
	"kvfanin/internal/report"
	"kvfanin/internal/result"
	"kvfanin/internal/rundir"
)

func newDecide(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decide DIR",
		Short: "Is coordination worth it for this traffic at this cost",
		Long: `Weighs what merging loads would save against what coordination costs, for the
traffic of a run made with study --sensitivity. The costs are yours: give them
as flags or in a TOML file, of which --example prints a commented one. Every
number printed can be traced to its inputs, and none is claimed beyond the
trace.

Of the configurations asked for (all, unless said otherwise), the one with the
largest redundancy at the effective window W × s is worked through; the others
are counted.`,
		Example: `  kvfanin decide run --model Llama-3-70B --bandwidth-gb-per-s 20 --table-us 2
  kvfanin decide run --inputs costs.toml --load-factor 4 --instances 8
  kvfanin decide --example > costs.toml`,
		Args: takes(0, 1, "DIR"),
	}
	flags := cmd.Flags()
	example := flags.Bool("example", false, "print a commented file of inputs, and do nothing else")
	file := flags.String("inputs", "", "TOML `file` of inputs; a flag goes before it")
	given := inputFlags(flags)
	var grid result.Grid
	axisFlags(flags, &grid, false)
	format := formatFlag(flags)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if *example {
			_, err := io.WriteString(e.stdout, decision.Example())
			return err
		}
		if len(args) == 0 {
			return usageError{fmt.Errorf("give a DIR: %s", cmd.UseLine())}
		}
		var in decision.Inputs
		if *file != "" {
			f, err := os.Open(*file)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			if in, err = decision.ReadInputs(f, *file); err != nil {
				return usageError{err}
			}
		}
		given(&in)
		if err := in.Check(); err != nil {
			return usageError{fmt.Errorf("%w; see decide --example", err)}
		}
		run, err := rundir.Open(args[0])
		if err != nil {
			return err
		}
		decisions := report.Decisions{Control: run.Manifest.Parameters.Control}
		for _, f := range report.StudyOf(run).Traces {
			d, err := decision.Over(f, in, func(c *findings.Curve) bool {
				return among(grid.Lookups, c.Lookup) && among(grid.Routings, c.Routing) &&
					among(grid.Instances, c.Instances) && among(grid.CapacitiesBlocks, c.CapacityBlocks)
			})
			if err != nil {
				return err
			}
			decisions.Decisions = append(decisions.Decisions, d)
		}
		return e.print(*format, &decisions)
	}
	return cmd
}

// among reports whether a value was asked for: no list asks for all.
func among[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// inputFlags defines a flag for each input, and returns what sets those that
// were given.
func inputFlags(flags *pflag.FlagSet) func(*decision.Inputs) {
	var in decision.Inputs
	var set []func(*decision.Inputs)
	for i := range decision.Fields {
		f := &decision.Fields[i]
		name := strings.ReplaceAll(f.Name, "_", "-")
		usage := f.About
		if f.Unit != "" {
			usage += ", in " + f.Unit
		}
		if f.Word != nil {
			var names []string
			for _, m := range decision.Models {
				names = append(names, m.Name)
			}
			flags.StringVar(f.Word(&in), name, "", usage+": "+strings.Join(names, ", "))
			set = append(set, func(to *decision.Inputs) {
				if flags.Changed(name) {
					*f.Word(to) = *f.Word(&in)
				}
			})
			continue
		}
		flags.Var(quantity{f.Number(&in)}, name, usage)
		set = append(set, func(to *decision.Inputs) {
			if flags.Changed(name) {
				*f.Number(to) = *f.Number(&in)
			}
		})
	}
	return func(to *decision.Inputs) {
		for _, s := range set {
			s(to)
		}
	}
}

// quantity is a flag that holds a number of 0 or more; 0 is not given.
type quantity struct{ value *float64 }

func (q quantity) Type() string { return "number" }

func (q quantity) String() string {
	if q.value == nil || *q.value == 0 {
		return ""
	}
	return strconv.FormatFloat(*q.value, 'g', -1, 64)
}

func (q quantity) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return fmt.Errorf("%q: want a number of 0 or more", s)
	}
	*q.value = x
	return nil
}
