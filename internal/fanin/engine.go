package fanin

import "slices"

// Engine runs the model. The zero value is ready; used again it reuses its
// memory. It is not safe for concurrent use.
//
// A load has no record of its own: it is the lookup that began it, counted from
// 1 through the stream. The window is the same for all, so loads complete in the
// order they began, which is that of the stream itself, and no queue is needed.
// A block knows its last load; whether that is still in flight is seen from its
// number.
type Engine struct {
	stream *Stream
	config Config

	cache   cache
	landing int       // the first request whose loads are still in flight
	served  []served  // requests
	waiting []waiting // of each block, while others wait for its load; else zero
	counts  [Phases]Counts
	fanIn   [Phases][]int64 // cohorts with a fan-in above 1, by fan-in

	observer Observer
	cohorts  []Cohort // seen, not yet told
	joins    []Joins
	err      error // of the observer
}

// served is what the completion of a request's loads needs.
type served struct {
	hits   uint32 // blocks before the first attempt
	joined bool   // others wait for some of its loads
}

// waiting is those who wait for a load, but for its leader.
type waiting struct {
	joins  uint32
	leader uint32 // request
}

// batch is how many cohorts or joins an observer is told of at once.
const batch = 4096

// Run serves the stream's requests in order and returns what happened in each
// phase. It returns an error only if the observer did.
func (e *Engine) Run(s *Stream, c Config, o Observer) ([Phases]Counts, error) {
	e.reset(s, c, o)
	defer e.release()
	window := int64(c.Window)
	if c.Control == InsertOnMiss {
		window = 0 // nothing is in flight when the next request arrives
	}
	for i, now := range s.ArrivalMS {
		// Completions come before arrivals, also at the same time.
		for e.landing < i && s.ArrivalMS[e.landing]+window <= now {
			e.complete(e.landing)
			e.landing++
		}
		counts := &e.counts[s.phase(i)]
		joins := counts.Joins
		hits := e.serve(i)
		if o.Loads != nil {
			o.Loads[i] = uint32(s.Offset[i+1] - s.Offset[i] - int64(hits) - (counts.Joins - joins))
		}
		counts.Requests++
		counts.Hits += int64(hits)
		counts.Attempts += s.Offset[i+1] - s.Offset[i] - int64(hits)
		if e.err != nil {
			clear(e.waiting)
			return [Phases]Counts{}, e.err
		}
	}
	// Cohorts still open at the end close at their time and count.
	for ; e.landing < len(s.ArrivalMS); e.landing++ {
		e.complete(e.landing)
	}
	e.tell()
	if e.err != nil {
		return [Phases]Counts{}, e.err
	}
	return e.result(), nil
}

// serve looks the blocks of request i up and returns how many were hits.
func (e *Engine) serve(i int) (hits int) {
	blocks := e.stream.Block[e.stream.Offset[i]:e.stream.Offset[i+1]]
	e.cache.reserve(len(blocks))
	hits = e.cache.hitPrefix(blocks)
	e.served[i] = served{hits: uint32(hits)}
	blocks = blocks[hits:]
	lookup := uint32(e.stream.Offset[i]) + uint32(hits) + 1
	inFlight := uint32(e.stream.Offset[e.landing]) + 1 // this load and later ones
	independent, insert := e.config.Lookup == IndependentBlocks, e.config.Control == InsertOnMiss
	record := e.cache.record
	if !independent && !insert { // most lookups of a study: a loop with less to ask is a tenth faster
		for _, b := range blocks {
			if r := &record[b]; r.load < inFlight {
				r.load = lookup
			} else {
				e.join(i, b, lookup)
			}
			lookup++
		}
		return hits
	}
	for k, b := range blocks {
		switch r := &record[b]; {
		case r.used != 0 && independent:
			e.cache.use(b)
			hits++
		case r.load >= inFlight:
			e.join(i, b, lookup)
		default:
			r.load = lookup
			if insert {
				e.cache.enter(blocks[k:k+1], lookup)
			}
		}
		lookup++
	}
	return hits
}

// join makes lookup, by request i, join the open cohort of block b.
func (e *Engine) join(i int, b, lookup uint32) {
	s, r, w := e.stream, &e.cache.record[b], &e.waiting[b]
	if w.joins == 0 {
		w.leader = uint32(e.requestOf(r.load))
	}
	w.joins++
	e.served[w.leader].joined = true
	phase := s.phase(i)
	e.counts[phase].Joins++
	if s.phase(int(w.leader)) != phase {
		e.counts[phase].BoundaryJoins++
	}
	if e.observer.Joins != nil {
		e.tellJoin(w.leader, uint32(i))
	}
	if e.config.Control == SlidingWindow {
		// The load starts again, and is that of this lookup.
		r.load = lookup
		e.served[i].joined = true
	}
}

// requestOf returns the request of a lookup, one of those in flight.
func (e *Engine) requestOf(lookup uint32) int {
	next, _ := slices.BinarySearch(e.stream.Offset[e.landing:], int64(lookup))
	return e.landing + next - 1
}

func (e *Engine) tellJoin(leader, joiner uint32) {
	if n := len(e.joins); n > 0 && e.joins[n-1].Leader == leader && e.joins[n-1].Joiner == joiner {
		e.joins[n-1].Blocks++
		return
	}
	if len(e.joins) == batch {
		e.tell()
	}
	e.joins = append(e.joins, Joins{Leader: leader, Joiner: joiner, Blocks: 1})
}

// complete ends the loads that request i started, in the order it did.
func (e *Engine) complete(i int) {
	s, r := e.stream, e.served[i]
	first := s.Offset[i] + int64(r.hits)
	blocks := s.Block[first:s.Offset[i+1]]
	lookup := uint32(first) + 1
	if e.config.Control != InsertOnMiss {
		e.cache.reserve(len(blocks))
		loads := e.cache.enter(blocks, lookup)
		if !r.joined && (e.observer.Cohorts == nil || e.observer.Duplicates) {
			e.counts[s.phase(i)].Cohorts += int64(loads)
			return
		}
	}
	for _, b := range blocks {
		if e.cache.record[b].load == lookup {
			e.close(i, b)
		}
		lookup++
	}
}

// close ends the cohort of block b, whose load request i started.
func (e *Engine) close(i int, b uint32) {
	c := Cohort{Block: b, Leader: uint32(i), FanIn: 1}
	if w := &e.waiting[b]; w.joins > 0 {
		c.Leader, c.FanIn = w.leader, w.joins+1
		*w = waiting{}
	}
	phase := e.stream.phase(int(c.Leader))
	e.counts[phase].Cohorts++
	if c.FanIn > 1 {
		h := e.fanIn[phase]
		for len(h) <= int(c.FanIn) {
			h = append(h, 0)
		}
		h[c.FanIn]++
		e.fanIn[phase] = h
	}
	if e.observer.Cohorts != nil && (c.FanIn > 1 || !e.observer.Duplicates) {
		if len(e.cohorts) == batch {
			e.tell()
		}
		e.cohorts = append(e.cohorts, c)
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
	e.cache.reset(s.Blocks, len(s.Block), c.Capacity)
	e.landing = 0
	e.served = sized(e.served, len(s.ArrivalMS))
	e.waiting = sized(e.waiting, s.Blocks)
	e.counts = [Phases]Counts{}
	for phase := range e.fanIn {
		e.fanIn[phase] = e.fanIn[phase][:0]
	}
	e.cohorts, e.joins, e.err = e.cohorts[:0], e.joins[:0], nil
}

// release lets go of what belongs to the caller.
func (e *Engine) release() { e.stream, e.observer = nil, Observer{} }

// result returns the counts with their own copy of the fan-in, to which the
// cohorts without joins are added.
func (e *Engine) result() [Phases]Counts {
	counts := e.counts
	for phase := range counts {
		counts[phase].FanIn = withSingles(e.fanIn[phase], counts[phase].Cohorts)
	}
	return counts
}

// withSingles returns the distribution of cohorts over their fan-in, of which
// above has those with more than one attempt. It shares no memory with it.
func withSingles(above []int64, cohorts int64) []int64 {
	if cohorts == 0 {
		return nil
	}
	all := append([]int64{0, cohorts}, above[min(2, len(above)):]...)
	for _, n := range all[2:] {
		all[1] -= n
	}
	return all
}
