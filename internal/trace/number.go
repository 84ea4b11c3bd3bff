package trace

import "math/bits"

// numbering gives 64-bit hashes dense block numbers, by first appearance. It
// is an open-addressing table of block numbers, compared through hash: 4 bytes
// a slot and at most half of the slots taken, so 16 to 24 bytes a block with
// the hash itself.
type numbering struct {
	hash []uint64 // of each block number
	slot []uint32 // block number + 1; 0 is free; a power of two of them

	shift uint // 64 - log2(len(slot))
}

// add returns the block number of h and whether h is new.
func (n *numbering) add(h uint64) (block uint32, fresh bool) {
	if 2*len(n.hash) >= len(n.slot) {
		n.grow()
	}
	mask := uint64(len(n.slot) - 1)
	for i := n.home(h); ; i++ {
		s := &n.slot[i&mask]
		if *s == 0 {
			n.hash = append(n.hash, h)
			*s = uint32(len(n.hash))
			return *s - 1, true
		}
		if n.hash[*s-1] == h {
			return *s - 1, false
		}
	}
}

// home is the slot where the search for h starts. Multiplication by an odd
// number near 2^64/φ spreads counters, which most traces use for hashes, as
// well as real hashes.
func (n *numbering) home(h uint64) uint64 { return h * 0x9E3779B97F4A7C15 >> n.shift }

func (n *numbering) grow() {
	size := max(2*len(n.slot), 1<<10)
	n.slot = nil // hash is enough to build the new one; let the old one go first
	n.slot = make([]uint32, size)
	n.shift = uint(64 - bits.TrailingZeros(uint(size)))
	mask := uint64(size - 1)
	for b, h := range n.hash {
		i := n.home(h)
		for n.slot[i&mask] != 0 {
			i++
		}
		n.slot[i&mask] = uint32(b + 1)
	}
}

// reset forgets all hashes, in time proportional to their number.
func (n *numbering) reset() {
	mask := uint64(len(n.slot) - 1)
	for b, h := range n.hash {
		i := n.home(h)
		for n.slot[i&mask] != uint32(b+1) { // past slots that are free by now
			i++
		}
		n.slot[i&mask] = 0
	}
	n.hash = n.hash[:0]
}
