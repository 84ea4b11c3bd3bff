package fanin

// flight is the loads in flight, in the order they started. The window is the
// same for all, so they complete in that order and no heap is needed: a ring
// of blocks, and for each request where in it its loads end.
type flight struct {
	ring []uint32 // a power of two long; positions count on and are masked
	head uint32   // the next load to complete
	tail uint32   // where the next load will stand
	end  []uint32 // of each request that has been served: tail after it
}

func (f *flight) reset(requests int) {
	f.head, f.tail = 0, 0
	if cap(f.end) < requests {
		f.end = make([]uint32, requests)
	}
	f.end = f.end[:requests]
}

// reserve makes room for n more loads. Once a request is enough: of its blocks
// none is looked up twice.
func (f *flight) reserve(n int) {
	need := int(f.tail-f.head) + n
	if need <= len(f.ring) {
		return
	}
	size := 1
	for size < need {
		size *= 2
	}
	ring := make([]uint32, size)
	for p := f.head; p != f.tail; p++ {
		ring[p&uint32(size-1)] = f.ring[p&uint32(len(f.ring)-1)]
	}
	f.ring = ring
}

func (f *flight) start(b uint32) {
	f.ring[f.tail&uint32(len(f.ring)-1)] = b
	f.tail++
}
