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
		e.cache.reserve(len(blocks))
		var hits int
		if c.Lookup == ContiguousPrefix {
			hits = e.cache.hitPrefix(blocks)
			for _, b := range blocks[hits:] {
				e.attempt(i, b)
			}
		} else {
			for _, b := range blocks {
				if e.cache.record[b].used != 0 {
					e.cache.use(b)
					hits++
				} else {
					e.attempt(i, b)
				}
			}
		}
		e.flight.end[i] = e.flight.tail
		counts := &e.counts[e.stream.phase(i)]
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

// attempt makes request i join the open cohort of block b, or lead a new one.
func (e *Engine) attempt(i int, b uint32) {
	r := &e.cache.record[b]
	if l := e.flight.open(b, r.load); l != nil {
		e.join(i, l)
		return
	}
	l := load{block: b, leader: uint32(i), fanIn: 1}
	r.load = e.flight.start(l)
	if e.config.Control == InsertOnMiss { // the load is over, and takes no place
		e.cache.enter(&e.flight, r.load, e.flight.tail)
		e.close(&l)
		e.flight.tail = r.load
	}
}

func (e *Engine) join(i int, l *load) {
	l.fanIn++
	phase := e.stream.phase(i)
	e.counts[phase].Joins++
	if e.stream.phase(int(l.leader)) != phase {
		e.counts[phase].BoundaryJoins++
	}
	if e.observer.Joins != nil {
		e.tellJoin(l.leader, uint32(i))
	}
	if e.config.Control == SlidingWindow {
		// The load starts again, and its older place is over.
		e.cache.record[l.block].load = e.flight.start(*l)
		l.fanIn = 0
	}
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
	f := &e.flight
	first, end := f.head, f.end[i]
	if first == end {
		return
	}
	f.head = end
	alone := e.cache.enter(f, first, end)
	if alone && e.observer.Cohorts == nil {
		e.counts[e.stream.phase(i)].Cohorts += int64(end - first)
		return
	}
	for place := first; place != end; place++ {
		if l := f.at(place); l.fanIn > 0 { // else it was started again
			e.close(l)
		}
	}
}

// close ends the cohort of a load that is over.
func (e *Engine) close(l *load) {
	phase := e.stream.phase(int(l.leader))
	e.counts[phase].Cohorts++
	if l.fanIn > 1 {
		h := e.fanIn[phase]
		for len(h) <= int(l.fanIn) {
			h = append(h, 0)
		}
		h[l.fanIn]++
		e.fanIn[phase] = h
	}
	if e.observer.Cohorts != nil {
		if len(e.cohorts) == batch {
			e.tell()
		}
		e.cohorts = append(e.cohorts, Cohort{Block: l.block, Leader: l.leader, FanIn: l.fanIn})
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
	e.cohorts, e.joins, e.err = e.cohorts[:0], e.joins[:0], nil
}

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
