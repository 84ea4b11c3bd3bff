package bound

import (
	"container/list"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/reference"
)

// drawColumns draws a small stream with many ties in time and many requests
// for the same blocks, and the same for the reference model.
func drawColumns(t *rapid.T) (*Columns, []reference.Request) {
	step := rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 5, 10, 11, 30})
	c := &Columns{Offset: []int64{0}, Blocks: rapid.IntRange(1, 12).Draw(t, "blocks")}
	requests := make([]reference.Request, rapid.IntRange(1, 40).Draw(t, "requests"))
	now := int64(0)
	for i := range requests {
		now += step.Draw(t, "step")
		hashes := rapid.SliceOfNDistinct(rapid.Uint64Range(0, uint64(c.Blocks-1)), 0, min(6, c.Blocks), rapid.ID).Draw(t, "hashes")
		requests[i] = reference.Request{ArrivalMS: now, Hashes: hashes}
		c.ArrivalMS = append(c.ArrivalMS, now)
		for _, h := range hashes {
			c.Block = append(c.Block, uint32(h))
		}
		c.Offset = append(c.Offset, int64(len(c.Block)))
	}
	return c, requests
}

// TestCohortsIsReference holds the bound to the model: one that did less would
// make the engine look slow, one that did more would flatter it.
func TestCohortsIsReference(t *testing.T) {
	var k Cohorts // one for all, so that what a run left behind would show
	rapid.Check(t, func(t *rapid.T) {
		c, requests := drawColumns(t)
		m := reference.Model{
			Contiguous: rapid.Bool().Draw(t, "contiguous"),
			Route:      func(int, reference.Request) int { return 0 },
			Instances:  1,
			Capacity:   rapid.IntRange(1, 14).Draw(t, "capacity"),
			WindowMS:   rapid.SampledFrom([]int64{1, 2, 5, 10, 11, 30, 100}).Draw(t, "window"),
		}
		var want Tally
		for _, counts := range m.Run(requests).Counts[0] {
			want.Hits += counts.Hits
			want.Attempts += counts.Attempts
			want.Joins += counts.Joins
		}
		if got := k.Run(c, m.Capacity, m.WindowMS, m.Contiguous); got != want {
			t.Fatalf("%+v: got %+v, want %+v", m, got, want)
		}
	})
}

// TestLRUIsAMapAndAList holds LRU to the textbook form, and Access to an LRU
// cache that holds everything.
func TestLRUIsAMapAndAList(t *testing.T) {
	var l LRU
	var a Access
	rapid.Check(t, func(t *rapid.T) {
		c, _ := drawColumns(t)
		capacity := rapid.IntRange(1, 14).Draw(t, "capacity")
		if got, want := l.Run(c, capacity), plainLRU(c.Block, capacity); got != want {
			t.Fatalf("capacity %d: %d hits, want %d", capacity, got, want)
		}
		if got, want := a.Run(c), plainLRU(c.Block, c.Blocks); got != want {
			t.Fatalf("%d lookups again, want %d", got, want)
		}
	})
}

func plainLRU(blocks []uint32, capacity int) (hits int64) {
	order := list.New() // most recently used first
	cached := map[uint32]*list.Element{}
	for _, b := range blocks {
		if e := cached[b]; e != nil {
			hits++
			order.MoveToFront(e)
			continue
		}
		cached[b] = order.PushFront(b)
		if order.Len() > capacity {
			delete(cached, order.Remove(order.Back()).(uint32))
		}
	}
	return hits
}

func TestMedianRatio(t *testing.T) {
	if got := MedianRatio([]float64{2, 9, 4}, []float64{1, 3, 1}); got != 3 {
		t.Errorf("median of 2, 3, 4 is %v", got)
	}
	if got := Median(nil); got != 0 {
		t.Errorf("median of nothing is %v", got)
	}
}

// loop is a benchmark of so many rounds.
type loop struct {
	rounds int
	metric map[string]float64
}

func (l *loop) Helper()                             {}
func (l *loop) Loop() bool                          { l.rounds--; return l.rounds >= 0 }
func (l *loop) ReportMetric(n float64, unit string) { l.metric[unit] = n }

// TestCompare holds that everything is run once in every round, each in turn
// first, and reported.
func TestCompare(t *testing.T) {
	var order []string
	thing := func(name string) Thing {
		return Thing{name, func() { order = append(order, name) }}
	}
	b := &loop{rounds: 2, metric: map[string]float64{}}
	Compare(b, "row", 1, thing("thing").Run, thing("one access"), thing("copy"))
	want := []string{"thing", "one access", "copy", "thing", "one access", "copy", "one access", "copy", "thing"}
	if !slices.Equal(order, want) {
		t.Errorf("ran %q, want %q", order, want)
	}
	for _, unit := range []string{"ns/op", "ns/row", "one-access-ns/row", "copy-ns/row", "x-one-access", "x-copy"} {
		if _, ok := b.metric[unit]; !ok {
			t.Errorf("%s is not reported", unit)
		}
	}
}
