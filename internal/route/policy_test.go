package route

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kvfanin/internal/trace"
)

func TestAssign(t *testing.T) {
	tr := &trace.Trace{
		ArrivalMS: make([]int64, 5),
		Offset:    []int64{0, 2, 3, 3, 4, 5},
		Block:     []uint32{0, 1, 1, 2, 3},
		Hash:      []uint64{4, 7, math.MaxUint64, 1 << 63},
	}
	for _, test := range []struct {
		policy    string
		instances int
		want      []uint32
	}{
		{"round_robin", 2, []uint32{0, 1, 0, 1, 0}},
		{"round_robin", 8, []uint32{0, 1, 2, 3, 4}},
		{"first_block_affinity", 3, []uint32{1, 1, 0, 0, 2}}, // unsigned: 2⁶⁴-1 mod 3 is 0, 2⁶³ mod 3 is 2
		{"first_block_affinity", 8, []uint32{4, 7, 0, 7, 0}}, // the third has no blocks
		{"first_block_affinity", 1, []uint32{0, 0, 0, 0, 0}},
		// At most ⌈1.25·1/3⌉ = 1, 1, ⌈1.25⌉ = 2, 2, ⌈2.08⌉ = 3 requests each.
		{"affinity_bounded_load", 3, []uint32{1, 2, 0, 0, 2}},
		{"least_loaded", 3, []uint32{0, 1, 2, 2, 1}}, // blocks 2, 1, 0, 1, 1: the third request has none
		{"least_loaded", 1, []uint32{0, 0, 0, 0, 0}},
	} {
		policy, err := ByName(test.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.Assign(tr, test.instances, 0); !slices.Equal(got, test.want) {
			t.Errorf("%s over %d: %v, want %v", test.policy, test.instances, got, test.want)
		}
	}
	const want = `routing "random": there are round_robin, first_block_affinity, affinity_bounded_load, matched_load, least_loaded`
	if _, err := ByName("random"); err == nil || err.Error() != want {
		t.Errorf("an unknown policy: %v", err)
	}
}

// drawTrace draws requests of up to three blocks, of which the first decides.
func drawTrace(t *rapid.T) *trace.Trace {
	tr := &trace.Trace{Offset: []int64{0}, Hash: rapid.SliceOfN(rapid.Uint64(), 1, 20).Draw(t, "hashes")}
	for range rapid.IntRange(0, 300).Draw(t, "requests") {
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			tr.Block = append(tr.Block, uint32(rapid.IntRange(0, len(tr.Hash)-1).Draw(t, "block")))
		}
		tr.ArrivalMS = append(tr.ArrivalMS, 0)
		tr.Offset = append(tr.Offset, int64(len(tr.Block)))
	}
	return tr
}

func counts(assigned []uint32, instances int) []int {
	n := make([]int, instances)
	for _, k := range assigned {
		n[k]++
	}
	return n
}

// TestBoundedLoad holds every prefix of the requests to the bound, and each
// request to its own instance where that is not full.
func TestBoundedLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, n := drawTrace(t), rapid.IntRange(1, 9).Draw(t, "instances")
		own, got := firstBlockAffinity(tr, n, 0), affinityBoundedLoad(tr, n, 0)
		before := make([]int, n)
		for i, k := range got {
			bound := int(math.Ceil(1.25 * float64(i+1) / float64(n)))
			for at := own[i]; at != k; at = (at + 1) % uint32(n) {
				if before[at] < bound {
					t.Fatalf("request %d of instance %d went on past %d, which has %d below %d", i, own[i], at, before[at], bound)
				}
			}
			if before[k]++; before[k] > bound {
				t.Fatalf("instance %d has %d of %d requests, bound %d", k, before[k], i+1, bound)
			}
		}
	})
}

// TestMatchedLoad holds each run of 64 to affinity's requests an instance, the
// same seed to the same draw, and another seed to another.
func TestMatchedLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, n := drawTrace(t), rapid.IntRange(1, 9).Draw(t, "instances")
		seed := rapid.Int64().Draw(t, "seed")
		own, got := firstBlockAffinity(tr, n, 0), matchedLoad(tr, n, seed)
		for from := 0; from < len(own); from += 64 {
			to := min(from+64, len(own))
			if a, b := counts(own[from:to], n), counts(got[from:to], n); !slices.Equal(a, b) {
				t.Fatalf("requests %d to %d: %v an instance, affinity %v", from, to, b, a)
			}
		}
		if !slices.Equal(got, matchedLoad(tr, n, seed)) {
			t.Fatal("one seed, two draws")
		}
	})
	tr := &trace.Trace{ArrivalMS: make([]int64, 64), Offset: []int64{0}}
	for i := range tr.ArrivalMS {
		tr.Hash = append(tr.Hash, uint64(i))
		tr.Block = append(tr.Block, uint32(i))
		tr.Offset = append(tr.Offset, int64(i+1))
	}
	if slices.Equal(matchedLoad(tr, 8, 1), matchedLoad(tr, 8, 2)) {
		t.Error("two seeds, one draw")
	}
	if slices.Equal(matchedLoad(tr, 8, 1), firstBlockAffinity(tr, 8, 0)) {
		t.Error("nothing was shuffled")
	}
}

// TestLeastLoaded compares with a search through all instances.
func TestLeastLoaded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, n := drawTrace(t), rapid.IntRange(1, 9).Draw(t, "instances")
		blocks := make([]int, n)
		for i, k := range leastLoaded(tr, n, 0) {
			if want := slices.Index(blocks, slices.Min(blocks)); int(k) != want {
				t.Fatalf("request %d went to instance %d, want %d of %v", i, k, want, blocks)
			}
			blocks[k] += len(tr.Blocks(i))
		}
	})
}
