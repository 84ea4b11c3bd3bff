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

	observer UnboundedObserver
	joins    []JoinsFrom // seen, not yet told
	cohorts  []CohortUnder
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

// CohortUnder is a cohort with a fan-in above 1 under one window.
type CohortUnder struct {
	Cohort
	Window int // index
}

// UnboundedObserver is told what happened beyond the counts, in batches that
// it must not keep. A field may be nil.
type UnboundedObserver struct {
	Joins      func([]JoinsFrom)
	Duplicates func([]CohortUnder) // in no order
	Loads      []uint32            // one a request: is given the loads the request started, the same under all windows
}

// Run serves the stream's requests in order under each of windows, which must
// ascend, and returns what happened under each in each phase.
func (u *Unbounded) Run(s *Stream, windows []Window, o UnboundedObserver) [][Phases]Counts {
	u.reset(s, windows, o)
	defer func() { u.observer = UnboundedObserver{} }() // it belongs to the caller
	for i, now := range s.ArrivalMS {
		for k, w := range windows {
			for u.landing[k] < i && s.ArrivalMS[u.landing[k]]+int64(w) <= now {
				u.landing[k]++
			}
		}
		blocks := s.Block[s.Offset[i]:s.Offset[i+1]]
		phase := s.phase(i)
		t := &u.totals[phase]
		cohorts := t.cohorts
		t.requests++
		t.lookups += int64(len(blocks))
		for _, b := range blocks {
			r := &u.record[b]
			if r.leader == 0 {
				*r = only{leader: uint32(i) + 1, fanIn: 1}
				t.cohorts++
			} else if int(r.closed) < len(windows) {
				u.again(s, i, phase, b)
			}
		}
		if o.Loads != nil {
			o.Loads[i] = uint32(t.cohorts - cohorts)
		}
		if max(len(u.joins), len(u.cohorts)) >= batch {
			u.tell()
		}
	}
	for b := range u.record {
		if u.record[b].fanIn > 1 {
			u.close(s, uint32(b), len(windows))
			if len(u.cohorts) >= batch {
				u.tell()
			}
		}
	}
	u.tell()
	return u.result()
}

// tell hands the observer what it has not been told of.
func (u *Unbounded) tell() {
	if len(u.joins) > 0 && u.observer.Joins != nil {
		u.observer.Joins(u.joins)
	}
	if len(u.cohorts) > 0 {
		u.observer.Duplicates(u.cohorts)
	}
	u.joins, u.cohorts = u.joins[:0], u.cohorts[:0]
}

// again looks a block up that is not cached under all windows.
func (u *Unbounded) again(s *Stream, i, phase int, b uint32) {
	r := &u.record[b]
	leader := int(r.leader) - 1
	over := int(r.closed)
	for over < len(u.windows) && leader < u.landing[over] {
		over++
	}
	u.close(s, b, over)
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

// close closes the cohort of block b under its windows up to over.
func (u *Unbounded) close(s *Stream, b uint32, over int) {
	r := &u.record[b]
	for ; int(r.closed) < over; r.closed++ {
		if r.fanIn > 1 {
			h := &u.fanIn[r.closed][s.phase(int(r.leader)-1)]
			for len(*h) <= int(r.fanIn) {
				*h = append(*h, 0)
			}
			(*h)[r.fanIn]++
			if u.observer.Duplicates != nil {
				u.cohorts = append(u.cohorts, CohortUnder{Cohort{Block: b, Leader: r.leader - 1, FanIn: r.fanIn}, int(r.closed)})
			}
		}
	}
}

func (u *Unbounded) reset(s *Stream, windows []Window, o UnboundedObserver) {
	u.observer = o
	u.record = sized(u.record, s.Blocks)
	clear(u.record)
	u.windows = windows
	u.landing = make([]int, len(windows))
	u.fanIn = make([][Phases][]int64, len(windows))
	for phase := range u.totals {
		u.totals[phase] = total{joins: make([]int64, len(windows)), boundary: make([]int64, len(windows))}
	}
	u.joins, u.cohorts = u.joins[:0], u.cohorts[:0]
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
