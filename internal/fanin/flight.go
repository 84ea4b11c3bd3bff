package fanin

// load is a load in flight, with the cohort that waits for it.
type load struct {
	block  uint32
	leader uint32 // the request whose attempt started it
	fanIn  uint32 // attempts so far, the leader's included
}

// flight is the loads in flight, in the order they started. The window is the
// same for all, so they complete in that order and no heap is needed: a ring
// of loads, and for each request where in it its loads end.
//
// Places count on past the length of the ring and past 32 bits, and are
// compared by their distance.
type flight struct {
	ring []load   // a power of two long
	head uint32   // place of the next load to complete
	tail uint32   // place of the next load to start
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
	ring := make([]load, size)
	for p := f.head; p != f.tail; p++ {
		ring[p&uint32(size-1)] = *f.at(p)
	}
	f.ring = ring
}

// at returns the load at a place.
func (f *flight) at(place uint32) *load { return &f.ring[place&uint32(len(f.ring)-1)] }

// start puts a load into flight and returns its place.
func (f *flight) start(l load) uint32 {
	place := f.tail
	*f.at(place) = l
	f.tail++
	return place
}

// open returns the load of block b that is at place, or nil if it is over. The
// block is compared as well: a place that is old enough comes round again.
func (f *flight) open(b, place uint32) *load {
	if place-f.head < f.tail-f.head {
		if l := f.at(place); l.block == b {
			return l
		}
	}
	return nil
}
