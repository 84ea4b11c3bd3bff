package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"kvfanin/internal/generate"
	"kvfanin/internal/trace"
)

// parseRefs reads the traces named on the command line.
func parseRefs(args []string) ([]trace.Ref, error) {
	refs := make([]trace.Ref, len(args))
	for i, arg := range args {
		ref, err := trace.ParseRef(arg)
		if err != nil {
			return nil, usageError{err}
		}
		for _, other := range refs[:i] {
			if strings.EqualFold(other.Name, ref.Name) {
				return nil, usageError{fmt.Errorf("two traces are named %s: give one another name with NAME=PATH", ref.Name)}
			}
			if other.Path == "-" && ref.Path == "-" {
				return nil, usageError{fmt.Errorf("stdin can be read once only")}
			}
		}
		refs[i] = ref
	}
	return refs, nil
}

// load reads the traces. A trace that breaks a rule is a check that did not
// hold.
func (e *env) load(ctx context.Context, refs []trace.Ref, o trace.Options) ([]*trace.Trace, error) {
	o.Stdin = e.stdin
	boundGarbage(fileBytes(refs))
	traces, errs := make([]*trace.Trace, len(refs)), make([]error, len(refs))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, ref := range refs {
		group.Go(func() error {
			traces[i], errs[i] = trace.Load(ctx, ref, o)
			return nil
		})
	}
	_ = group.Wait() // they are in errs
	for i, t := range traces {
		if errs[i] != nil {
			return nil, traceError(errs[i])
		}
		if t.Source.Sorted {
			e.note("%s was out of order and is sorted by arrival", t.Name)
		}
	}
	boundGarbage(textBytes(traces))
	return traces, nil
}

// traceError gives a trace that breaks a rule its exit code.
func traceError(err error) error {
	if problem := (*trace.Problem)(nil); errors.As(err, &problem) {
		return checkError{err}
	}
	return err
}

// builtIn returns the generated trace that a study runs over when it is given
// none: the bytes of `trace generate` with its defaults.
func builtIn(o trace.Options) (*trace.Trace, error) {
	p := generate.Default()
	p.BlockTokens = int64(o.BlockTokens)
	var text bytes.Buffer
	if err := generate.Write(&text, p); err != nil {
		return nil, usageError{err}
	}
	return trace.Parse("generated", text.Bytes(), o)
}
