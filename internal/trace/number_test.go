package trace

import (
	"testing"

	"pgregory.net/rapid"
)

// The table against a map, through several lives of one table.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few different values, values that share low or high bits, and any.
		hash := rapid.OneOf(
			rapid.Uint64Max(50),
			rapid.Custom(func(t *rapid.T) uint64 { return rapid.Uint64Max(50).Draw(t, "high") << 58 }),
			rapid.Uint64(),
		)
		var n numbering
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			want := map[uint64]uint32{}
			more := rapid.IntRange(0, 3000).Draw(t, "counted") // enough to grow
			drawn := rapid.SliceOfN(hash, 0, 100).Draw(t, "hashes")
			for i := range more {
				drawn = append(drawn, uint64(i)*3)
			}
			for _, h := range drawn {
				block, fresh := n.add(h)
				known, ok := want[h]
				if !ok {
					known = uint32(len(want))
					want[h] = known
				}
				if fresh == ok || block != known || n.hash[block] != h {
					t.Fatalf("hash %d: got block %d, fresh %v; want %d, %v", h, block, fresh, known, !ok)
				}
			}
			n.reset()
			for i, s := range n.slot {
				if s != 0 {
					t.Fatalf("slot %d holds %d after reset", i, s)
				}
			}
		}
	})
}
