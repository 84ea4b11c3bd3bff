package fanin

// Unbounded runs the model, under several windows at once, for an instance
// whose cache holds every block of its stream. Nothing is evicted then, so a
// block is cached from the completion of its first load on and has one cohort:
// a lookup is answered by one record, without an order of use, and a window
// differs from another only in when it closes that cohort.
//
// It is IndependentBlocks, and on a stream that IsPrefixTree ContiguousPrefix
// as well. There the two are one: whatever is cached, so are the blocks before
// it, because the request that first wanted it wanted them too, not later.
//
// The zero value is ready; used again it reuses its memory. It is not safe for
// concurrent use.
type Unbounded struct {
	record  []only
	windows []Window
	landing []int // for each window, the first request whose loads are in flight
	totals  [Phases]total
	fanIn   [][Phases][]int64 // for each window, cohorts with a fan-in above 1
	joins   []JoinsFrom
}

// only is a block's one cohort.
type only struct {
	leader uint32 // request that leads, plus 1; 0 before the first lookup
	fanIn  uint32 // attempts so far, under the windows that are not closed
	closed uint32 // so many of the windows, the shortest first, are over
}

// total is what windows have in common in a phase, and where they part.
type total struct {
	requests int64
	lookups  int64
	cohorts  int64
	joins    []int64 // joins under this window and the longer ones
	boundary []int64 // of these, boundary joins
}

// JoinsFrom is joins under one window and every longer one.
type JoinsFrom struct {
	Joins
	Window int // index of the shortest
}

// Run serves the stream's requests in order under each of windows, which must
// ascend, and returns what happened under each in each phase. tell is given the
// joins in batches that it must not keep.
func (u *Unbounded) Run(s *Stream, windows []Window, tell func([]JoinsFrom)) [][Phases]Counts {
	u.reset(s, windows)
	for i, now := range s.ArrivalMS {
		for k, w := range windows {
			for u.landing[k] < i && s.ArrivalMS[u.landing[k]]+int64(w) <= now {
				u.landing[k]++
			}
		}
		blocks := s.Block[s.Offset[i]:s.Offset[i+1]]
		phase := s.phase(i)
		t := &u.totals[phase]
		t.requests++
		t.lookups += int64(len(blocks))
		for _, b := range blocks {
			r := &u.record[b]
			if r.leader == 0 {
				*r = only{leader: uint32(i) + 1, fanIn: 1}
				t.cohorts++
			} else if int(r.closed) < len(windows) {
				u.again(s, i, phase, r)
			}
		}
		if len(u.joins) >= batch {
			tell(u.joins)
			u.joins = u.joins[:0]
		}
	}
	for i := range u.record {
		if r := &u.record[i]; r.fanIn > 1 {
			u.close(s, r, len(windows))
		}
	}
	if len(u.joins) > 0 {
		tell(u.joins)
	}
	return u.result()
}

// again looks a block up that is not cached under all windows.
func (u *Unbounded) again(s *Stream, i, phase int, r *only) {
	leader := int(r.leader) - 1
	over := int(r.closed)
	for over < len(u.windows) && leader < u.landing[over] {
		over++
	}
	u.close(s, r, over)
	if over == len(u.windows) {
		return
	}
	r.fanIn++
	t := &u.totals[phase]
	t.joins[over]++
	if s.phase(leader) != phase {
		t.boundary[over]++
	}
	j := JoinsFrom{Joins{Leader: uint32(leader), Joiner: uint32(i), Blocks: 1}, over}
	if n := len(u.joins); n > 0 {
		if last := &u.joins[n-1]; last.Leader == j.Leader && last.Joiner == j.Joiner && last.Window == over {
			last.Blocks++
			return
		}
	}
	u.joins = append(u.joins, j)
}

// close closes a cohort under its windows up to over.
func (u *Unbounded) close(s *Stream, r *only, over int) {
	for ; int(r.closed) < over; r.closed++ {
		if r.fanIn > 1 {
			h := &u.fanIn[r.closed][s.phase(int(r.leader)-1)]
			for len(*h) <= int(r.fanIn) {
				*h = append(*h, 0)
			}
			(*h)[r.fanIn]++
		}
	}
}

func (u *Unbounded) reset(s *Stream, windows []Window) {
	u.record = sized(u.record, s.Blocks)
	clear(u.record)
	u.windows = windows
	u.landing = make([]int, len(windows))
	u.fanIn = make([][Phases][]int64, len(windows))
	for phase := range u.totals {
		u.totals[phase] = total{joins: make([]int64, len(windows)), boundary: make([]int64, len(windows))}
	}
	u.joins = u.joins[:0]
}

func (u *Unbounded) result() [][Phases]Counts {
	counts := make([][Phases]Counts, len(u.windows))
	for phase := range u.totals {
		t := &u.totals[phase]
		var joins, boundary int64
		for k := range counts {
			joins += t.joins[k]
			boundary += t.boundary[k]
			attempts := t.cohorts + joins
			counts[k][phase] = Counts{
				Requests:      t.requests,
				Hits:          t.lookups - attempts,
				Attempts:      attempts,
				Joins:         joins,
				BoundaryJoins: boundary,
				Cohorts:       t.cohorts,
				FanIn:         withSingles(u.fanIn[k][phase], t.cohorts),
			}
		}
	}
	return counts
}

// IsPrefixTree reports whether each block stands after one and the same block
// in all requests, or first in all. Hashes that name a whole prefix are so.
func (s *Stream) IsPrefixTree() bool {
	const first = 1                    // 0 is a block not seen yet
	before := make([]uint32, s.Blocks) // the block before, plus 2
	for i := range s.ArrivalMS {
		parent := uint32(first)
		for _, b := range s.Block[s.Offset[i]:s.Offset[i+1]] {
			if before[b] != 0 && before[b] != parent {
				return false
			}
			before[b] = parent
			parent = b + 2
		}
	}
	return true
}
