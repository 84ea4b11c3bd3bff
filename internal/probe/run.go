package probe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Options are how to run.
type Options struct {
	Python    string        // interpreter of the environment
	OwnPython bool          // it is the user's own: PYTHONPATH holds there
	Patience  time.Duration // for one case, the imports before the first included; 0 is DefaultPatience
	Stage     func(string)  // told where a run is; may be nil
}

// filled returns the options with the defaults of what was left out.
func (o *Options) filled() *Options {
	filled := *o
	if filled.Patience == 0 {
		filled.Patience = DefaultPatience
	}
	if filled.Stage == nil {
		filled.Stage = func(string) {}
	}
	return &filled
}

// DefaultPatience is long beside what a case takes on a slow machine: 20 s of
// imports, and 60 s of a transfer that Mooncake gives up.
const DefaultPatience = 5 * time.Minute

// Outcome is a case that was run.
type Outcome struct {
	Case        *Case
	Versions    map[string]string // of what ran; nil if it never started
	Tried       bool              // the release is one that the expected counts were seen on
	Result      *Result           // nil if there is an error
	Observed    Counts            // what the result comes to, by snapshot and name; nil if there is an error
	Expected    Expected          // what it was compared with; nil if with nothing
	Differences []Difference
	Model       *Model // nil where the case has no arrivals
	Err         error  // why there is no result
	Detail      string // of the error: a traceback
}

// Holds reports whether the case could be run and gave what was expected.
func (o *Outcome) Holds() bool { return o.Err == nil && len(o.Differences) == 0 }

// Run runs cases of one environment, those of a target in one process, and
// returns what each showed, in their order. A case that fails is an outcome with
// an error, and the others go on, in a new process if it took the first with it.
// The error is of the context, or of a stack that does not start.
func Run(ctx context.Context, cases []*Case, o *Options) (outcomes []*Outcome, err error) {
	r := runner{options: o.filled()}
	defer func() { err = errors.Join(err, r.close(err == nil)) }()
	for _, c := range cases {
		outcome, err := r.run(ctx, c)
		if err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// runner keeps the session of the last case for the next.
type runner struct {
	options *Options
	target  *Target
	session *session
}

func (r *runner) close(well bool) error {
	if r.session == nil {
		return nil
	}
	err := r.session.close(well)
	r.session = nil
	return err
}

func (r *runner) run(ctx context.Context, c *Case) (*Outcome, error) {
	if r.target != c.Target {
		if err := r.close(true); err != nil {
			return nil, err
		}
		r.target = c.Target
	}
	if r.session == nil {
		r.options.Stage(c.Target.Name + ": starting Python")
		s, err := openSession(ctx, c.Target, r.options, false)
		if err != nil {
			return nil, err
		}
		r.session = s
		if err := MissingError(s.hello.Missing); err != nil {
			return nil, err
		}
	}
	outcome := &Outcome{
		Case:     c,
		Versions: r.session.hello.Versions,
		Tried:    c.Target.Environment.tried(r.session.hello.Versions),
		Expected: c.Expected(r.session.hello.Versions),
	}
	result, err := r.session.run(ctx, "case "+c.Name, &c.Parameters, func(stage string) {
		r.options.Stage(c.Target.Name + " " + c.Name + ": " + stage)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		outcome.Err = err
		var stays *caseError
		if errors.As(err, &stays) {
			outcome.Detail = stays.detail
			return outcome, nil
		}
		return outcome, r.close(false) // the next case has a new process
	}
	outcome.Result = result
	outcome.Model = compareWithModel(c, result.Events)
	outcome.Observed = observe(result, outcome.Model)
	outcome.Differences = outcome.Expected.compare(outcome.Observed)
	return outcome, nil
}

// MissingError returns the error that names what an environment lacks, or nil.
func MissingError(missing []Missing) error {
	if len(missing) == 0 {
		return nil
	}
	words := make([]string, len(missing))
	for i, m := range missing {
		words[i] = m.String()
	}
	return errors.New(strings.Join(words, "; "))
}

// sortedNames returns the keys of a map in their order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
