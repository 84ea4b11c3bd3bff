package trace

import "math/bits"

// numbering gives 64-bit hashes dense block numbers, by first appearance. It
// is an open-addressing table of block numbers, compared through hash: 4 bytes
// a slot and at most half of the slots taken, so 16 bytes and a little for
// each block there is room for, with the hash itself.
type numbering struct {
	hash []uint64 // of each block number
	slot []uint32 // block number + 1; 0 is free; whole lines of them
}

// slotLine is the slots in a cache line.
const slotLine = 16

// add returns the block number of h and whether h is new.
func (n *numbering) add(h uint64) (block uint32, fresh bool) {
	if len(n.hash) == cap(n.hash) {
		n.reserve(max(2*len(n.hash), 1<<9))
	}
	for i := n.home(h); ; i++ {
		if i >= uint64(len(n.slot)) {
			i = 0
		}
		s := &n.slot[i]
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

// home is the slot where the search for h starts. Sixteen successive numbers
// share a line, since most traces use counters for hashes and those of a prompt
// are near each other. Multiplication by an odd number near 2^64/φ spreads the
// lines, and real hashes as well.
func (n *numbering) home(h uint64) uint64 {
	line, _ := bits.Mul64(h/slotLine*0x9E3779B97F4A7C15, uint64(len(n.slot)/slotLine))
	return line*slotLine + h%slotLine
}

// reserve makes room for a number of hashes in all, so that add need not.
func (n *numbering) reserve(hashes int) {
	if hashes <= cap(n.hash) {
		return
	}
	n.hash = resized(n.hash, hashes)
	n.slot = nil // hash is enough to build the new one; let the old one go first
	n.slot = make([]uint32, (2*hashes/slotLine+1)*slotLine)
	for b, h := range n.hash {
		i := n.home(h)
		for n.slot[i] != 0 {
			if i++; i == uint64(len(n.slot)) {
				i = 0
			}
		}
		n.slot[i] = uint32(b + 1)
	}
}

// reset forgets all hashes, in time proportional to their number.
func (n *numbering) reset() {
	for b, h := range n.hash {
		i := n.home(h)
		for n.slot[i] != uint32(b+1) { // past slots that are free by now
			if i++; i == uint64(len(n.slot)) {
				i = 0
			}
		}
		n.slot[i] = 0
	}
	n.hash = n.hash[:0]
}
