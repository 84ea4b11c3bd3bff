package fanin

// record is all that is known of one block at one instance. Eight bytes, eight
// to a cache line, since a lookup that misses the caches of the machine should
// miss them once.
type record struct {
	used uint32 // last place in the order of use, 0 if the block is not cached
	load uint32 // its last load: the lookup that began it, from 1; 0 before the first
}

// cache is an LRU cache. The order of use is a log: using a block writes it at
// the end, and its older places no longer count. The least recently used block
// is therefore the first in the log that stands in its last place. Compared
// with a linked list, a use touches one record and not three.
type cache struct {
	record []record // of each block
	log    []uint32 // blocks in the order of use; place 0 is not used
	next   uint32   // the place of the next use
	oldest uint32   // no block has its last place before this
	size   int
	limit  int
}

// reset empties the cache, for block numbers below blocks and so many lookups.
// There is at most one use for each lookup.
func (c *cache) reset(blocks, lookups, capacity int) {
	c.record = sized(c.record, blocks)
	clear(c.record)
	c.size, c.limit = 0, min(capacity, blocks)
	places := min(8*c.limit, lookups) + 64
	c.log = sized(c.log, places)
	c.next, c.oldest = 1, 1
}

// sized returns memory for n elements, that of s if it is enough. It is let go
// of if it is many times too much: after a long stream come short ones.
func sized[E any](s []E, n int) []E {
	if cap(s) < n || cap(s) > 8*n+1<<16 {
		return make([]E, n)
	}
	return s[:n]
}

// reserve makes room in the log for n more uses, by moving the last places to
// its front. No more than limit of them are there, so this is rare enough to
// cost next to nothing a use.
func (c *cache) reserve(n int) {
	if int(c.next)+n <= len(c.log) {
		return
	}
	next := uint32(1)
	for place := c.oldest; place < c.next; place++ {
		b := c.log[place]
		if r := &c.record[b]; r.used == place {
			r.used = next
			c.log[next] = b
			next++
		}
	}
	c.next, c.oldest = next, 1
	if more := int(next) + n - len(c.log); more > 0 {
		c.log = append(c.log, make([]uint32, more)...)
	}
}

// use makes block b, which is cached or for which there is room, the most
// recently used. The log has room for it.
func (c *cache) use(b uint32) {
	c.log[c.next] = b
	c.record[b].used = c.next
	c.next++
}

// enter puts the blocks of loads that are over at the most recently used end,
// whether they were cached or not, and evicts the least recently used to make
// room. Of blocks, which were looked up one after the other from lookup on, it
// is those whose load is still that of this lookup; their number is returned.
// The log has room for them.
func (c *cache) enter(blocks []uint32, lookup uint32) (loads int) {
	record, log := c.record, c.log
	next, oldest := c.next, c.oldest
	free := c.limit - c.size
	for _, b := range blocks {
		if r := &record[b]; r.load == lookup {
			switch {
			case r.used != 0: // it only moves
			case free > 0:
				free--
			default:
				for { // until the block that stands there stands nowhere later
					last := &record[log[oldest]]
					oldest++
					if last.used == oldest-1 {
						last.used = 0
						break
					}
				}
			}
			r.used = next
			log[next] = b
			next++
		}
		lookup++
	}
	loads = int(next - c.next)
	c.size = c.limit - free
	c.next, c.oldest = next, oldest
	return loads
}

// hitPrefix uses the blocks up to the first that is not cached and returns
// their number.
func (c *cache) hitPrefix(blocks []uint32) int {
	record, log, next := c.record, c.log, c.next
	n := 0
	for _, b := range blocks {
		r := &record[b]
		if r.used == 0 {
			break
		}
		log[next] = b
		r.used = next
		next++
		n++
	}
	c.next = next
	return n
}
