package route

import (
	"math"
	"slices"
	"testing"

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
	} {
		policy, err := ByName(test.policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.Assign(tr, test.instances); !slices.Equal(got, test.want) {
			t.Errorf("%s over %d: %v, want %v", test.policy, test.instances, got, test.want)
		}
	}
	if _, err := ByName("random"); err == nil || err.Error() != `routing "random": there are round_robin, first_block_affinity` {
		t.Errorf("an unknown policy: %v", err)
	}
}
