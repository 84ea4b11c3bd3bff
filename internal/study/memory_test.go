package study

import (
	"testing"

	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

// lined is a trace of 1,000 requests, one a second, each of 3,000 blocks of
// its own: 3 million lookups and as many distinct blocks.
func lined() *trace.Trace {
	const requests, blocks = 1000, 3000
	t := &trace.Trace{Offset: []int64{0}, Hash: make([]uint64, requests*blocks), Block: make([]uint32, requests*blocks)}
	for i := range requests {
		t.ArrivalMS = append(t.ArrivalMS, int64(i)*1000)
		t.Offset = append(t.Offset, int64(i+1)*blocks)
	}
	for b := range t.Hash {
		t.Hash[b], t.Block[b] = uint64(b), uint32(b)
	}
	return t
}

func TestMemoryOf(t *testing.T) {
	const l, r = 3_000_000, 1000 // every lookup is of another block
	const (
		column = 4*l + 8*l + 32*r
		one    = 4*r + 12*l + 16*r
		dealt  = 4*l + 5*l + 20*r
	)
	tr := lined()
	grid := func(instances, capacity int) result.Grid {
		return result.Grid{
			Routings:         []string{"round_robin"},
			Instances:        []int{instances},
			CapacitiesBlocks: []int{10, capacity},
			WindowsMS:        []int64{1},
		}
	}
	both := func(instances int) result.Grid {
		g := grid(instances, 1000)
		g.Routings = append(g.Routings, "first_block_affinity")
		return g
	}
	for _, c := range []struct {
		name    string
		traces  []*trace.Trace
		grid    result.Grid
		cohorts bool
		shared  int64 // before the share for garbage and the constant
		worker  int64 // before the share for garbage
	}{
		{"one instance", []*trace.Trace{tr}, grid(1, 1000), false,
			column + one, 36*l + 32*1000 + 8*r},
		{"two traces", []*trace.Trace{tr, tr}, grid(1, 1000), false,
			2*column + one, 36*l + 32*1000 + 8*r},
		{"a capacity above all blocks", []*trace.Trace{tr}, grid(1, 1e9), false,
			column + one, 40*l + 8*r},
		{"cohorts", []*trace.Trace{tr}, grid(1, 1000), true,
			column + one, 36*l + 32*1000 + 8*r + 32<<20},
		{"four instances", []*trace.Trace{tr}, grid(4, 1000), false,
			column + dealt + one, 36*l/4 + 32*1000 + 8*r/4},
		// The first blocks are multiples of 3,000: all go to instance 0 of four.
		{"two routings", []*trace.Trace{tr}, both(4), false,
			column + 2*dealt + one + 4*r, 36*l + 32*1000 + 8*r},
	} {
		got, err := MemoryOf(c.traces, Params{Grid: c.grid, Cohorts: c.cohorts})
		want := Memory{Shared: c.shared*9/8 + 32<<20, Worker: c.worker * 9 / 8}
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v\nwant %+v", c.name, got, err, want)
		}
	}
}

func TestWorkers(t *testing.T) {
	m := Memory{Shared: 100, Worker: 10}
	for limit, want := range map[int64]int{0: 1, 99: 1, 110: 1, 119: 1, 120: 2, 129: 2, 180: 8, 1 << 40: 8} {
		if got := m.Workers(limit, 8); got != want {
			t.Errorf("limit %d: got %d workers, want %d", limit, got, want)
		}
	}
}
