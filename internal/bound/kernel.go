package bound

// Columns is a stream of requests, as the engine takes it: request i arrives at
// ArrivalMS[i] and looks up Block[Offset[i]:Offset[i+1]], each below Blocks.
type Columns struct {
	ArrivalMS []int64
	Offset    []int64
	Block     []uint32
	Blocks    int
}

// Access touches one record a lookup. The zero value is ready, as it is of the
// other kernels; used again each reuses its memory.
type Access struct {
	record []uint64 // lookups of each block
}

// Run returns how many lookups were of a block seen before.
func (a *Access) Run(c *Columns) (again int64) {
	a.record = resized(a.record, c.Blocks)
	clear(a.record)
	for _, b := range c.Block {
		if a.record[b] > 0 {
			again++
		}
		a.record[b]++
	}
	return again
}

// none is the neighbour of a block that is not cached.
const none = ^uint32(0)

// node is a block's place in a list of those cached.
type node struct {
	prev, next uint32 // more and less recently used
}

// LRU is an LRU cache that a block enters when it is missed.
type LRU struct {
	node []node // of each block; last the ends of the list
	size int
}

// Run returns how many lookups were hits, with capacity blocks.
func (l *LRU) Run(c *Columns, capacity int) (hits int64) {
	ends := uint32(c.Blocks)
	l.node = resized(l.node, c.Blocks+1)
	for b := range l.node {
		l.node[b].next = none
	}
	l.node[ends] = node{ends, ends}
	l.size = 0
	for _, b := range c.Block {
		switch {
		case l.node[b].next != none:
			hits++
			l.remove(b)
		case l.size < capacity:
			l.size++
		default:
			oldest := l.node[ends].prev
			l.remove(oldest)
			l.node[oldest].next = none
		}
		l.pushFront(b, ends)
	}
	return hits
}

func (l *LRU) remove(b uint32) {
	n := l.node[b]
	l.node[n.prev].next = n.next
	l.node[n.next].prev = n.prev
}

func (l *LRU) pushFront(b, ends uint32) {
	first := l.node[ends].next
	l.node[b] = node{ends, first}
	l.node[first].prev = b
	l.node[ends].next = b
}

// Cohorts is the model: an LRU cache that a block enters when its load is over,
// one window after it began, and the cohort that waits for each load.
type Cohorts struct {
	record []record // of each block; last the ends of the list
	ring   []uint32 // blocks in flight, in the order their loads began; a power of two long
}

// record is a block in the list of those cached and its load, 16 bytes.
type record struct {
	prev, next uint32 // more and less recently used; none if not cached
	leader     uint32 // request that began the load
	fanIn      uint32 // requests that wait for it; 0 if there is none
}

// Tally is what Cohorts counts.
type Tally struct {
	Hits, Attempts, Joins int64
}

// Run runs the model with capacity blocks and a window in ms. contiguous says
// that the blocks of a request after its first miss miss as well.
func (k *Cohorts) Run(c *Columns, capacity int, windowMS int64, contiguous bool) Tally {
	k.record = resized(k.record, c.Blocks+1)
	for b := range k.record {
		k.record[b] = record{next: none}
	}
	ends := uint32(c.Blocks)
	k.record[ends] = record{prev: ends, next: ends}
	records, ring := k.record, k.ring
	var t Tally
	var size int
	var head, tail uint32 // of the ring; they count on past its length
	for i, now := range c.ArrivalMS {
		for head != tail {
			b := ring[head&uint32(len(ring)-1)]
			r := &records[b]
			if c.ArrivalMS[r.leader]+windowMS > now {
				break
			}
			head++
			r.fanIn = 0
			switch {
			case r.next != none:
				remove(records, r)
			case size < capacity:
				size++
			default:
				oldest := &records[records[ends].prev]
				remove(records, oldest)
				oldest.next = none
			}
			pushFront(records, b, ends)
		}
		blocks := c.Block[c.Offset[i]:c.Offset[i+1]]
		if int(tail-head)+len(blocks) > len(ring) {
			ring = grown(ring, head, tail, len(blocks))
			k.ring = ring
		}
		missed := false
		for _, b := range blocks {
			r := &records[b]
			if r.next != none && !missed {
				t.Hits++
				remove(records, r)
				pushFront(records, b, ends)
				continue
			}
			missed = contiguous
			t.Attempts++
			r.fanIn++
			if r.fanIn > 1 {
				t.Joins++
				continue
			}
			r.leader = uint32(i)
			ring[tail&uint32(len(ring)-1)] = b
			tail++
		}
	}
	return t
}

func remove(records []record, r *record) {
	records[r.prev].next = r.next
	records[r.next].prev = r.prev
}

func pushFront(records []record, b, ends uint32) {
	first := records[ends].next
	records[b].prev, records[b].next = ends, first
	records[first].prev = b
	records[ends].next = b
}

// grown returns a longer ring of what is between head and tail, with room for
// more.
func grown(ring []uint32, head, tail uint32, more int) []uint32 {
	size := uint32(1)
	for int(size) < int(tail-head)+more {
		size *= 2
	}
	longer := make([]uint32, size)
	for p := head; p != tail; p++ {
		longer[p&(size-1)] = ring[p&uint32(len(ring)-1)]
	}
	return longer
}

// resized returns a slice of n elements, in the memory of s if that will do.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
