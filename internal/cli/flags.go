package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
	"kvfanin/internal/study"
	"kvfanin/internal/trace"
)

// list is a flag that holds a comma list of distinct values.
type list[T comparable] struct {
	values *[]T
	kind   string
	parse  func(string) (T, error)
	format func(T) string
	single bool // one value only
}

func (l *list[T]) Type() string { return l.kind }

func (l *list[T]) String() string {
	if l.values == nil {
		return ""
	}
	words := make([]string, len(*l.values))
	for i, v := range *l.values {
		words[i] = l.format(v)
	}
	return strings.Join(words, ",")
}

func (l *list[T]) Set(s string) error {
	var values []T
	seen := map[T]bool{}
	for word := range strings.SplitSeq(s, ",") {
		v, err := l.parse(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		if seen[v] {
			return fmt.Errorf("%s stands twice", l.format(v))
		}
		seen[v] = true
		values = append(values, v)
	}
	if l.single && len(values) > 1 {
		return fmt.Errorf("want one value")
	}
	*l.values = values
	return nil
}

// gridFlags defines the axes of the grid on a verb, with the values in grid
// as their defaults; single allows one value an axis.
func gridFlags(flags *pflag.FlagSet, grid *result.Grid, single bool) {
	axisFlags(flags, grid, single)
	windowFlag(flags, grid, single)
}

// axisFlags defines those of the axes that are no window.
func axisFlags(flags *pflag.FlagSet, grid *result.Grid, single bool) {
	kind, all := axisKind(single), study.DefaultGrid()
	name := func(s string) string { return s }
	flags.Var(&list[string]{&grid.Lookups, kind, func(s string) (string, error) {
		_, err := fanin.LookupByName(s)
		return s, err
	}, name, single}, "lookup", "lookup rule: "+strings.Join(all.Lookups, ", "))
	flags.Var(&list[string]{&grid.Routings, kind, func(s string) (string, error) {
		policy, err := route.ByName(s)
		if err == nil && policy.Drawn {
			err = fmt.Errorf("%s: one draw of it is no measurement; study --sensitivity runs several beside the grid", s)
		}
		return s, err
	}, name, single}, "routing", "routing policy: "+strings.Join(routings(), ", "))
	flags.Var(&list[int]{&grid.Instances, kind, parseAmount(maxInstances), strconv.Itoa, single},
		"instances", "serving instances")
	flags.Var(&list[int]{&grid.CapacitiesBlocks, kind, parseAmount(math.MaxInt), strconv.Itoa, single},
		"capacity", "cache of each instance, in blocks")
}

// routings returns the routings that can be asked for.
func routings() (names []string) {
	for _, p := range route.Policies {
		if !p.Drawn {
			names = append(names, p.Name)
		}
	}
	return names
}

// windowFlag defines --window.
func windowFlag(flags *pflag.FlagSet, grid *result.Grid, single bool) {
	flags.Var(&list[int64]{&grid.WindowsMS, axisKind(single), parseWindow, formatWindow, single},
		"window", "load window, with its unit: 10ms, 3s")
}

func axisKind(single bool) string {
	if single {
		return "value"
	}
	return "list"
}

// maxInstances bounds what one configuration may ask for: each instance costs
// memory and rows even where no request comes.
const maxInstances = 1 << 16

func parseAmount(most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > most {
			return 0, fmt.Errorf("%q: want a whole number from 1 to %d", s, most)
		}
		return n, nil
	}
}

// amount is a flag that holds a whole number above 0.
type amount struct{ value *int }

func (a amount) Type() string { return "int" }

func (a amount) String() string {
	if a.value == nil {
		return ""
	}
	return strconv.Itoa(*a.value)
}

func (a amount) Set(s string) (err error) {
	*a.value, err = parseAmount(math.MaxInt)(s)
	return err
}

func parseWindow(s string) (int64, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d%time.Millisecond != 0 {
		return 0, fmt.Errorf("%q: want a number of whole milliseconds above 0 with its unit, such as 10ms or 3s", s)
	}
	return d.Milliseconds(), nil
}

func formatWindow(ms int64) string {
	if ms%1000 == 0 {
		return strconv.FormatInt(ms/1000, 10) + "s"
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// share is a flag that holds a study.Share.
type share struct{ *study.Share }

func (s share) Type() string { return "share" }

func (s share) Set(text string) (err error) {
	*s.Share, err = study.ParseShare(text)
	return err
}

// choice is a flag that holds one of a few words.
type choice struct {
	value *string
	words []string
}

func (c choice) Type() string   { return "word" }
func (c choice) String() string { return *c.value }

func (c choice) Set(s string) error {
	for _, w := range c.words {
		if s == w {
			*c.value = s
			return nil
		}
	}
	return fmt.Errorf("%q: there are %s", s, strings.Join(c.words, ", "))
}

// choiceFlag defines a flag that takes one of words, the first by default.
func choiceFlag(flags *pflag.FlagSet, name, usage string, words ...string) *string {
	value := words[0]
	flags.Var(choice{&value, words}, name, usage+": "+strings.Join(words, ", "))
	return &value
}

// sensitivityFlags defines --sensitivity and what goes with it.
func sensitivityFlags(flags *pflag.FlagSet) func(*result.Grid) (*result.Sensitivity, error) {
	s := study.DefaultSensitivity()
	on := flags.Bool("sensitivity", false, "also run other readings of equal timestamps, other routings, a dense curve and its thresholds")
	flags.Var(amount{&s.Seeds}, "seeds", "with --sensitivity: `draws` of whatever is drawn")
	flags.Var(&list[float64]{&s.ThresholdShares, "list", parseThreshold, formatThreshold, false},
		"threshold", "with --sensitivity: redundancies to find the window of, as shares such as 0.01")
	return func(grid *result.Grid) (*result.Sensitivity, error) {
		if !*on {
			for _, name := range []string{"seeds", "threshold"} {
				if flags.Changed(name) {
					return nil, usageError{fmt.Errorf("--%s goes with --sensitivity", name)}
				}
			}
			return nil, nil
		}
		slices.Sort(s.ThresholdShares)
		s.CurveWindowsMS = study.CurveWindows(s.CurveWindowsMS, grid.WindowsMS)
		if err := s.Check(grid); err != nil {
			return nil, usageError{fmt.Errorf("--sensitivity: %w", err)}
		}
		return &s, nil
	}
}

func parseThreshold(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0 && x <= 1) {
		return 0, fmt.Errorf("%q: want a share above 0, up to 1, such as 0.01", s)
	}
	return x, nil
}

func formatThreshold(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// warmupFlag defines --warmup.
func warmupFlag(flags *pflag.FlagSet) *study.Share {
	s, err := study.ParseShare(study.DefaultWarmup)
	if err != nil {
		panic(err) // a constant
	}
	flags.Var(share{&s}, "warmup", "share of the last timestamp that is warm-up")
	return &s
}

// controlFlag defines --control.
func controlFlag(flags *pflag.FlagSet) func() fanin.Control {
	var words []string
	for _, c := range fanin.Controls {
		words = append(words, c.String())
	}
	word := choiceFlag(flags, "control", "negative control, which breaks a rule of the model on purpose", words...)
	return func() fanin.Control {
		for _, c := range fanin.Controls {
			if c.String() == *word {
				return c
			}
		}
		panic("a choice that is none of its words")
	}
}

// controlName returns the control as it stands in files and tables: nothing in
// a measurement.
func controlName(c fanin.Control) string {
	if c == fanin.NoControl {
		return ""
	}
	return c.String()
}

// traceFlags defines what all verbs that read traces share.
func traceFlags(flags *pflag.FlagSet) *trace.Options {
	var o trace.Options
	blockSizeFlag(flags, &o)
	flags.BoolVar(&o.Sort, "sort", false, "sort a trace that is out of order by arrival, stably")
	return &o
}

// blockSizeFlag defines --block-size.
func blockSizeFlag(flags *pflag.FlagSet, o *trace.Options) {
	o.BlockTokens = trace.DefaultBlockTokens
	flags.Var(amount{&o.BlockTokens}, "block-size", "`tokens` in one block of the trace")
}

// formatFlag defines --format.
func formatFlag(flags *pflag.FlagSet) *string {
	return choiceFlag(flags, "format", "form of the output", "text", "json", "csv")
}
