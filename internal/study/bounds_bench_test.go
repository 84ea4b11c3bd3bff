package study

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kvfanin/internal/bound"
	"kvfanin/internal/generate"
	"kvfanin/internal/trace"
)

// BenchmarkPlan holds what the plan costs to what it saves: the time of
// planning alone, streams included, beside the time by which the planned run of
// the whole grid is shorter than a run of every configuration by itself. It is
// one worker, and nothing is written.
func BenchmarkPlan(b *testing.B) {
	for _, name := range []string{"conversation", "synthetic"} {
		b.Run(name, func(b *testing.B) {
			t := benchmarkTrace(b, name)
			var r replayer
			run := func(t task) error { return t(&r) }
			skip := func(task) error { return nil }
			var alone, planned, saved, shares []float64 // ms, but for the last
			for b.Loop() {
				plan := tasksTime(b, t, false, skip)
				whole := tasksTime(b, t, false, run)
				every := tasksTime(b, t, true, run)
				alone, planned = append(alone, plan), append(planned, whole)
				saved, shares = append(saved, every-whole), append(shares, whole/every)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(bound.Median(alone), "plan-ms")
			b.ReportMetric(bound.Median(planned), "planned-run-ms")
			b.ReportMetric(bound.Median(saved), "saved-ms")
			b.ReportMetric(bound.MedianRatio(alone, saved), "x-saved")
			b.ReportMetric(bound.Median(shares), "x-every-configuration")
		})
	}
}

// tasksTime returns how many ms it takes to make all tasks of the whole grid
// and send them.
func tasksTime(b *testing.B, t *trace.Trace, noCollapse bool, send func(task) error) float64 {
	b.Helper()
	warmup, err := ParseShare(DefaultWarmup)
	if err != nil {
		b.Fatal(err)
	}
	p := Params{Grid: DefaultGrid(), Warmup: warmup, NoCollapse: noCollapse}
	configs := p.Grid.Configs()
	rd := asItStands(t, warmup)
	l := newLedger(rd, configs, func(...given) error { return nil })
	start := time.Now()
	if err := p.tasks(rd, every(len(configs)), l, send, func() error { return nil }); err != nil {
		b.Fatal(err)
	}
	return float64(time.Since(start)) / 1e6
}

// benchmarkTrace loads a public trace, or makes one where it does not lie
// beside the checkout.
func benchmarkTrace(b *testing.B, name string) *trace.Trace {
	b.Helper()
	path := filepath.Join(shared, "traces", name+"_trace.jsonl")
	if _, missing := os.Stat(path); missing != nil {
		b.Logf("over the generated trace: %v", missing)
		var text bytes.Buffer
		if err := generate.Write(&text, generate.Default()); err != nil {
			b.Fatal(err)
		}
		t, err := trace.Parse("generated", text.Bytes(), trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	t, err := trace.Load(context.Background(), trace.Ref{Name: name, Path: path}, trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return t
}
