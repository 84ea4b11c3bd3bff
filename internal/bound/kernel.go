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
	ends   uint32
	size   int
	ring   []uint32 // blocks in flight, in the order their loads began
	head   uint32   // counted on past the length of the ring, as tail
	tail   uint32
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
	k.ends = uint32(c.Blocks)
	k.record[k.ends] = record{prev: k.ends, next: k.ends}
	k.size, k.head, k.tail = 0, 0, 0
	var t Tally
	for i, now := range c.ArrivalMS {
		for k.head != k.tail {
			b := k.ring[k.head%uint32(len(k.ring))]
			r := &k.record[b]
			if c.ArrivalMS[r.leader]+windowMS > now {
				break
			}
			k.head++
			r.fanIn = 0
			k.enter(b, capacity)
		}
		blocks := c.Block[c.Offset[i]:c.Offset[i+1]]
		k.reserve(len(blocks))
		missed := false
		for _, b := range blocks {
			r := &k.record[b]
			if r.next != none && !missed {
				t.Hits++
				k.remove(b)
				k.pushFront(b)
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
			k.ring[k.tail%uint32(len(k.ring))] = b
			k.tail++
		}
	}
	return t
}

// reserve makes room for n more loads.
func (k *Cohorts) reserve(n int) {
	need := int(k.tail-k.head) + n
	if need <= len(k.ring) {
		return
	}
	size := uint32(1) // a power of two, so that counting past 32 bits does no harm
	for int(size) < need {
		size *= 2
	}
	ring := make([]uint32, size)
	for p := k.head; p != k.tail; p++ {
		ring[p%size] = k.ring[p%uint32(len(k.ring))]
	}
	k.ring = ring
}

// enter makes a block the most recently used, cached before or not.
func (k *Cohorts) enter(b uint32, capacity int) {
	switch {
	case k.record[b].next != none:
		k.remove(b)
	case k.size < capacity:
		k.size++
	default:
		oldest := k.record[k.ends].prev
		k.remove(oldest)
		k.record[oldest].next = none
	}
	k.pushFront(b)
}

func (k *Cohorts) remove(b uint32) {
	r := &k.record[b]
	k.record[r.prev].next = r.next
	k.record[r.next].prev = r.prev
}

func (k *Cohorts) pushFront(b uint32) {
	first := k.record[k.ends].next
	k.record[b].prev, k.record[b].next = k.ends, first
	k.record[first].prev = b
	k.record[k.ends].next = b
}

// resized returns a slice of n elements, in the memory of s if that will do.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
