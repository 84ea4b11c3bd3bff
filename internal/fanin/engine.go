package fanin

// Engine runs the model. The zero value is ready; used again it reuses its
// memory. It is not safe for concurrent use.
type Engine struct {
	stream *Stream
	config Config

	cache  cache
	flight flight
	counts [Phases]Counts
	fanIn  [Phases][]int64 // cohorts with a fan-in above 1, by fan-in

	// attempted is the request that last attempted each block: what
	// SlidingWindow needs, and nil without it.
	attempted []uint32

	observer Observer
	cohorts  []Cohort // seen, not yet told
	joins    []Joins
	err      error // of the observer
}

// batch is how many cohorts or joins an observer is told of at once.
const batch = 4096

// Run serves the stream's requests in order and returns what happened in each
// phase. It returns an error only if the observer did.
func (e *Engine) Run(s *Stream, c Config, o Observer) ([Phases]Counts, error) {
	e.reset(s, c, o)
	window := int64(c.Window)
	landing := 0 // the first request whose loads are still in flight
	for i, now := range s.ArrivalMS {
		// Completions come before arrivals, also at the same time.
		for landing < i && s.ArrivalMS[landing]+window <= now {
			e.complete(landing)
			landing++
		}
		blocks := s.Block[s.Offset[i]:s.Offset[i+1]]
		e.flight.reserve(len(blocks))
		hits := 0
		if c.Lookup == ContiguousPrefix {
			for hits < len(blocks) && e.cache.holds(blocks[hits]) {
				e.cache.touch(blocks[hits])
				hits++
			}
			for _, b := range blocks[hits:] {
				e.attempt(i, b)
			}
		} else {
			for _, b := range blocks {
				if e.cache.holds(b) {
					e.cache.touch(b)
					hits++
				} else {
					e.attempt(i, b)
				}
			}
		}
		e.flight.end[i] = e.flight.tail
		counts := &e.counts[e.phase(i)]
		counts.Requests++
		counts.Hits += int64(hits)
		counts.Attempts += int64(len(blocks) - hits)
		if e.err != nil {
			return [Phases]Counts{}, e.err
		}
	}
	// Cohorts still open at the end close at their time and count.
	for ; landing < len(s.ArrivalMS); landing++ {
		e.complete(landing)
	}
	e.tell()
	if e.err != nil {
		return [Phases]Counts{}, e.err
	}
	return e.result(), nil
}

func (e *Engine) phase(request int) int {
	if request < e.stream.Steady {
		return 0
	}
	return 1
}

// attempt makes request i join the open cohort of block b, or lead a new one.
func (e *Engine) attempt(i int, b uint32) {
	r := &e.cache.record[b]
	if r.fanIn > 0 {
		e.join(i, b, r)
		return
	}
	r.leader, r.fanIn = uint32(i), 1
	if e.config.Control == InsertOnMiss {
		e.close(b, r)
		return
	}
	e.start(i, b)
}

// start puts the load of block b into flight, begun at the arrival of
// request i.
func (e *Engine) start(i int, b uint32) {
	e.flight.start(b)
	if e.config.Control == SlidingWindow {
		e.attempted[b] = uint32(i)
	}
}

func (e *Engine) join(i int, b uint32, r *record) {
	r.fanIn++
	phase := e.phase(i)
	e.counts[phase].Joins++
	if e.phase(int(r.leader)) != phase {
		e.counts[phase].BoundaryJoins++
	}
	if e.config.Control == SlidingWindow {
		e.start(i, b)
	}
	if e.observer.Joins == nil {
		return
	}
	if n := len(e.joins); n > 0 && e.joins[n-1].Leader == r.leader && e.joins[n-1].Joiner == uint32(i) {
		e.joins[n-1].Blocks++
		return
	}
	if len(e.joins) == batch {
		e.tell()
	}
	e.joins = append(e.joins, Joins{Leader: r.leader, Joiner: uint32(i), Blocks: 1})
}

// complete ends the loads that request i started, in the order it did.
func (e *Engine) complete(i int) {
	f := &e.flight
	for ; f.head != f.end[i]; f.head++ {
		b := f.ring[f.head&uint32(len(f.ring)-1)]
		if e.config.Control == SlidingWindow && e.attempted[b] != uint32(i) {
			continue // a later join restarted the window
		}
		e.close(b, &e.cache.record[b])
	}
}

// close ends the cohort of block b, which is now cached.
func (e *Engine) close(b uint32, r *record) {
	fanIn := r.fanIn
	r.fanIn = 0
	e.cache.enter(b, r)
	phase := e.phase(int(r.leader))
	e.counts[phase].Cohorts++
	if fanIn > 1 {
		h := e.fanIn[phase]
		for len(h) <= int(fanIn) {
			h = append(h, 0)
		}
		h[fanIn]++
		e.fanIn[phase] = h
	}
	if e.observer.Cohorts != nil {
		if len(e.cohorts) == batch {
			e.tell()
		}
		e.cohorts = append(e.cohorts, Cohort{Block: b, Leader: r.leader, FanIn: fanIn})
	}
}

// tell hands the observer what it has not been told of. Once it has returned
// an error it is not called again.
func (e *Engine) tell() {
	if len(e.cohorts) > 0 && e.err == nil {
		e.err = e.observer.Cohorts(e.cohorts)
	}
	if len(e.joins) > 0 && e.err == nil {
		e.err = e.observer.Joins(e.joins)
	}
	e.cohorts, e.joins = e.cohorts[:0], e.joins[:0]
}

func (e *Engine) reset(s *Stream, c Config, o Observer) {
	e.stream, e.config, e.observer = s, c, o
	e.cache.reset(s.Blocks, c.Capacity)
	e.flight.reset(len(s.ArrivalMS))
	e.counts = [Phases]Counts{}
	for phase := range e.fanIn {
		e.fanIn[phase] = e.fanIn[phase][:0]
	}
	e.attempted = nil
	if c.Control == SlidingWindow {
		e.attempted = make([]uint32, s.Blocks)
	}
	e.cohorts, e.joins, e.err = e.cohorts[:0], e.joins[:0], nil
}

// result returns the counts with their own copy of the fan-in, to which the
// cohorts without joins are added.
func (e *Engine) result() [Phases]Counts {
	counts := e.counts
	for phase := range counts {
		c := &counts[phase]
		if c.Cohorts == 0 {
			continue
		}
		c.FanIn = append([]int64{0, 0}, e.fanIn[phase][min(2, len(e.fanIn[phase])):]...)
		c.FanIn[1] = c.Cohorts
		for _, cohorts := range c.FanIn[2:] {
			c.FanIn[1] -= cohorts
		}
	}
	return counts
}
