package fanin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kvfanin/internal/bound"
	"kvfanin/internal/generate"
	"kvfanin/internal/trace"
)

// benchmarkWindows are the windows each thing is measured under, one after the
// other: a step of the conversation trace lies between them.
var benchmarkWindows = []Window{1_000, 10_000}

// benchmarkStream is a whole trace as one instance serves it: the public
// conversation trace, or a generated one where it does not lie beside the
// checkout.
func benchmarkStream(b *testing.B) (*Stream, *bound.Columns) {
	b.Helper()
	const path = "../../../shared/traces/conversation_trace.jsonl"
	var t *trace.Trace
	var err error
	if _, missing := os.Stat(path); missing == nil {
		t, err = trace.Load(context.Background(), trace.Ref{Name: "conversation", Path: path}, trace.Options{})
	} else {
		b.Logf("over the generated trace: %v", missing)
		var text bytes.Buffer
		if err := generate.Write(&text, generate.Default()); err != nil {
			b.Fatal(err)
		}
		t, err = trace.Parse("generated", text.Bytes(), trace.Options{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return streamsOf(t)
}

// BenchmarkEngine measures a lookup of the engine beside the bounds, as a study
// asks for it: with an observer of joins.
func BenchmarkEngine(b *testing.B) {
	s, columns := benchmarkStream(b)
	for _, lookup := range Lookups {
		for _, capacity := range []int{1_000, 10_000, 100_000} {
			for threads := 1; threads <= 2; threads++ {
				b.Run(fmt.Sprintf("%v/C=%d/threads=%d", lookup, capacity, threads), func(b *testing.B) {
					thing := func(t *thread) {
						for _, w := range benchmarkWindows {
							c := Config{Lookup: lookup, Capacity: capacity, Window: w}
							_, err := t.engine.Run(s, c, Observer{Joins: func([]Joins) error { return nil }})
							if err != nil {
								b.Error(err)
							}
						}
					}
					compare(b, columns, lookup == ContiguousPrefix, capacity, benchmarkWindows, threads, thing)
				})
			}
		}
	}
}

// BenchmarkGrowth measures a lookup of the engine as traces grow, beside the
// bounds, over generated traces of 1, 11 and 110 million lookups.
func BenchmarkGrowth(b *testing.B) {
	for _, requests := range []int{35_500, 355_000, 3_550_000} {
		p := generate.Default()
		p.Requests = requests
		path := filepath.Join(b.TempDir(), "t.jsonl")
		file, err := os.Create(path)
		if err == nil {
			err = errors.Join(generate.Write(file, p), file.Close())
		}
		if err != nil {
			b.Fatal(err)
		}
		t, err := trace.Load(context.Background(), trace.Ref{Name: "generated", Path: path}, trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		s, columns := streamsOf(t)
		for _, capacity := range []int{1_000, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("lookups=%dM/C=%d", t.Lookups()/1_000_000, capacity), func(b *testing.B) {
				windows := []Window{1_000}
				compare(b, columns, true, capacity, windows, 1, func(t *thread) {
					c := Config{Lookup: ContiguousPrefix, Capacity: capacity, Window: windows[0]}
					if _, err := t.engine.Run(s, c, Observer{}); err != nil {
						b.Error(err)
					}
				})
			})
		}
	}
}

// streamsOf returns a whole trace as one instance serves it, for the engine and
// for the bounds.
func streamsOf(t *trace.Trace) (*Stream, *bound.Columns) {
	s := &Stream{ArrivalMS: t.ArrivalMS, Offset: t.Offset, Block: t.Block, Blocks: len(t.Hash), Steady: t.Requests() / 10}
	return s, &bound.Columns{ArrivalMS: s.ArrivalMS, Offset: s.Offset, Block: s.Block, Blocks: s.Blocks}
}

// BenchmarkUnbounded measures a lookup under one of the windows of the study,
// which one pass answers together. The bounds run once for each.
func BenchmarkUnbounded(b *testing.B) {
	s, columns := benchmarkStream(b)
	windows := []Window{10, 3_000, 10_000} // those of the study that differ on that trace
	for threads := 1; threads <= 2; threads++ {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			thing := func(t *thread) { t.unbounded.Run(s, windows, UnboundedObserver{Joins: func([]JoinsFrom) {}}) }
			compare(b, columns, false, s.Blocks, windows, threads, thing)
		})
	}
}

// thread is the memory of one thread. What two of them write must not share a
// cache line, or they would wait for each other.
type thread struct {
	engine    Engine
	unbounded Unbounded
	access    bound.Access
	lru       bound.LRU
	cohorts   bound.Cohorts
	_         [128]byte
}

// compare compares thing, on so many threads at once, with the bounds under each
// window.
func compare(b *testing.B, c *bound.Columns, contiguous bool, capacity int, windows []Window, threads int, thing func(*thread)) {
	b.Helper()
	memory := make([]thread, threads)
	on := func(f func(*thread)) func() {
		return func() { bound.Threads(threads, func(k int) { f(&memory[k]) }) }
	}
	each := func(f func(t *thread, w Window)) func() {
		return on(func(t *thread) {
			for _, w := range windows {
				f(t, w)
			}
		})
	}
	bound.Compare(b, "lookup", float64(threads*len(windows)*len(c.Block)), on(thing),
		bound.Thing{Name: "access", Run: each(func(t *thread, _ Window) { t.access.Run(c) })},
		bound.Thing{Name: "lru", Run: each(func(t *thread, _ Window) { t.lru.Run(c, capacity) })},
		bound.Thing{Name: "cohorts", Run: each(func(t *thread, w Window) { t.cohorts.Run(c, capacity, int64(w), contiguous) })},
	)
}
