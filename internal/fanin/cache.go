package fanin

// record is all that is known of one block at one instance: its place in the
// LRU list and its open cohort. Sixteen bytes, four to a cache line, since a
// lookup that misses the caches of the machine should miss them once.
type record struct {
	next   uint32 // towards the least recently used end; absent if not cached
	prev   uint32 // towards the most recently used end
	leader uint32 // of the open cohort
	fanIn  uint32 // attempts in the open cohort so far; 0 if none is open
}

const absent = ^uint32(0)

// cache is the records of an instance's blocks, and an LRU list that runs
// through those that are cached. One more record, the last, closes the list
// to a ring: its next is the most recently used block, its prev the least.
type cache struct {
	record []record
	size   int
	limit  int
}

// reset empties the cache, for block numbers below blocks.
func (c *cache) reset(blocks, capacity int) {
	if cap(c.record) <= blocks {
		c.record = make([]record, blocks+1)
	}
	c.record = c.record[:blocks+1]
	for i := range c.record {
		c.record[i] = record{next: absent}
	}
	end := uint32(blocks)
	c.record[end] = record{next: end, prev: end}
	c.size, c.limit = 0, capacity
}

// holds reports whether block b is cached.
func (c *cache) holds(b uint32) bool { return c.record[b].next != absent }

// touch moves a cached block to the most recently used end.
func (c *cache) touch(b uint32) {
	r := &c.record[b]
	c.record[r.prev].next = r.next
	c.record[r.next].prev = r.prev
	c.front(b, r)
}

// enter puts block b, whose record is r, at the most recently used end,
// whether it was cached or not. The least recently used block is evicted to
// make room.
func (c *cache) enter(b uint32, r *record) {
	if r.next != absent {
		c.touch(b)
		return
	}
	if c.size < c.limit {
		c.size++
	} else {
		c.evict()
	}
	c.front(b, r)
}

func (c *cache) front(b uint32, r *record) {
	end := uint32(len(c.record) - 1)
	ring := &c.record[end]
	r.prev, r.next = end, ring.next
	c.record[ring.next].prev = b
	ring.next = b
}

func (c *cache) evict() {
	end := uint32(len(c.record) - 1)
	ring := &c.record[end]
	last := &c.record[ring.prev]
	ring.prev = last.prev
	c.record[last.prev].next = end
	last.next = absent
}
