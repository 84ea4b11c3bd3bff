package study

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"kvfanin/internal/rundir"
	"kvfanin/internal/trace"
)

// small returns a trace of a few requests, and a writer of its study.
func small(t *testing.T) (*trace.Trace, Params, *rundir.Writer) {
	t.Helper()
	tr, err := trace.Parse("small", []byte(
		`{"timestamp": 0, "input_length": 2, "output_length": 0, "hash_ids": [1, 2]}`+"\n"+
			`{"timestamp": 7, "input_length": 2, "output_length": 0, "hash_ids": [1, 3]}`+"\n"),
		trace.Options{BlockTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	warmup, err := ParseShare(DefaultWarmup)
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Grid: DefaultGrid(), Warmup: warmup}
	w, err := rundir.Create(filepath.Join(t.TempDir(), "run"), rundir.Header{
		Parameters: rundir.Parameters{BlockTokens: 1, Warmup: DefaultWarmup, Grid: p.Grid, Cohorts: rundir.CohortsOff},
		Traces:     []rundir.TraceEntry{{Name: "small", Requests: 2, Lookups: 4}},
	}, rundir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return tr, p, w
}

// TestRunStops holds that a study ends, with the reason, when a configuration
// cannot be committed and when its context is over: no worker is waited for
// that has nothing to do, however many there are.
func TestRunStops(t *testing.T) {
	for _, jobs := range []int{1, 2, 9} {
		tr, p, w := small(t)
		w.Close() // nothing can be written any more
		if err := Run(context.Background(), []*trace.Trace{tr}, p, jobs, w, func() {}); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("%d workers, a run that cannot be written: %v", jobs, err)
		}

		tr, p, w = small(t)
		ctx, cancel := context.WithCancel(context.Background())
		if err := Run(ctx, []*trace.Trace{tr}, p, jobs, w, cancel); !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers, a context that ends at the first configuration: %v", jobs, err)
		}
	}
}

// TestRunCommitsAll holds that any number of workers commits every
// configuration, and says so of each.
func TestRunCommitsAll(t *testing.T) {
	for _, jobs := range []int{1, 2, 9} {
		tr, p, w := small(t)
		done := make(chan struct{}, 1000)
		if err := Run(context.Background(), []*trace.Trace{tr}, p, jobs, w, func() { done <- struct{}{} }); err != nil {
			t.Fatal(err)
		}
		if want := len(p.Grid.Configs()); len(done) != want {
			t.Errorf("%d workers: %d configurations done, want %d", jobs, len(done), want)
		}
		if err := w.Publish(); err != nil {
			t.Errorf("%d workers: %v", jobs, err)
		}
	}
}
