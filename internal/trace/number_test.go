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
			for i, h := range drawn {
				if i%512 == 0 {
					n.reserve(rapid.IntRange(0, 5000).Draw(t, "reserved"))
				}
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

// Whatever hashes are like, they are found near where the search for them
// starts: counters, as in the public traces, multiples, and real hashes.
func TestNumberingSpreads(t *testing.T) {
	const hashes = 100_000
	for name, hash := range map[string]func(i uint64) uint64{
		"counter":          func(i uint64) uint64 { return i },
		"counter from far": func(i uint64) uint64 { return 1<<63 + i },
		"even":             func(i uint64) uint64 { return 2 * i },
		"a line each":      func(i uint64) uint64 { return slotLine * i },
		"high bits":        func(i uint64) uint64 { return i << 40 },
		"hash":             func(i uint64) uint64 { return (i*i + 1) * 0xBF58476D1CE4E5B9 },
	} {
		var n numbering
		n.reserve(hashes)
		for i := range uint64(hashes) {
			n.add(hash(i))
		}
		var away uint64
		for i, s := range n.slot {
			if s != 0 {
				from := n.home(n.hash[s-1])
				away += (uint64(i) + uint64(len(n.slot)) - from) % uint64(len(n.slot))
			}
		}
		if mean := float64(away) / hashes; mean > slotLine/2 {
			t.Errorf("%s: a search passes %.1f slots on average", name, mean)
		}
	}
}
