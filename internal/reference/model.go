package reference

import (
	"container/list"
	"slices"
)

// Request is one request of a trace.
type Request struct {
	ArrivalMS int64
	Hashes    []uint64 // of its blocks, in prefix order
}

// Break names a rule of the model that is switched off.
type Break string

// The rules that can be broken; Nothing is the model.
const (
	Nothing                  Break = ""
	InsertOnMiss             Break = "a block enters the cache at the start of its load"
	JoinsProlong             Break = "a join restarts the window"
	NoRefreshAtCompletion    Break = "a load of a block that is cached does not refresh it"
	NoRefreshAtHit           Break = "a hit does not refresh its block"
	ArrivalsBeforeCompletion Break = "arrivals come before completions at the same time"
	CachedSuffixHits         Break = "a cached block after the first that is not is a hit"
	WarmupByCount            Break = "warm-up is the first tenth of the requests"
	SharedCohorts            Break = "instances share their open cohorts"
)

// Model is a configuration of the whole model.
type Model struct {
	Contiguous bool                       // the lookup is contiguous_prefix, else independent_blocks
	Route      func(i int, r Request) int // the instance of request i
	Instances  int
	Capacity   int // blocks an instance
	WindowMS   int64
	// WarmupTenths is the warm-up share in tenths of the last timestamp.
	WarmupTenths int64
	SteadyFrom   *int // the first request in the steady phase; nil: WarmupTenths says
	Break        Break
}

// Counts is what one instance counted in one phase.
type Counts struct {
	Requests, Lookups, Hits, Attempts, Joins, BoundaryJoins int64
	FanIn                                                   []int64 // of each cohort, in the order they closed
}

// Cohort is a cohort that has closed.
type Cohort struct {
	Instance int
	Hash     uint64
	Leader   int // index of the request
	StartMS  int64
	FanIn    int64
	Steady   bool
	Joiners  []int // requests that joined, in order
}

// Outcome is what the model gives: Counts[instance][phase], where phase 0 is
// warm-up and 1 steady, and all cohorts in the order they started.
type Outcome struct {
	Counts  [][2]Counts
	Cohorts []*Cohort
}

type instance struct {
	order  *list.List // hashes, most recently used first
	cached map[uint64]*list.Element
	open   map[uint64]*load
}

type load struct {
	*Cohort
	at  *instance
	due int64
}

// Run replays a trace, whose requests have never decreasing arrival times.
func (m Model) Run(requests []Request) Outcome {
	instances := make([]*instance, m.Instances)
	shared := map[uint64]*load{}
	for k := range instances {
		instances[k] = &instance{list.New(), map[uint64]*list.Element{}, map[uint64]*load{}}
		if m.Break == SharedCohorts {
			instances[k].open = shared
		}
	}
	out := Outcome{Counts: make([][2]Counts, m.Instances)}
	var inFlight []*load // in the order their windows began

	complete := func(isDue func(*load) bool) {
		var due, rest []*load
		for _, l := range inFlight {
			if isDue(l) {
				due = append(due, l)
			} else {
				rest = append(rest, l)
			}
		}
		inFlight = rest
		slices.SortStableFunc(due, func(a, b *load) int { return int(a.due - b.due) })
		for _, l := range due {
			delete(l.at.open, l.Hash)
			if m.Break != InsertOnMiss {
				m.enter(l.at, l.Hash)
			}
			c := &out.Counts[l.Instance][phase(l.Steady)]
			c.FanIn = append(c.FanIn, l.FanIn)
		}
	}

	for i, r := range requests {
		complete(func(l *load) bool {
			if m.Break == ArrivalsBeforeCompletion {
				return l.due < r.ArrivalMS
			}
			return l.due <= r.ArrivalMS || m.Break == InsertOnMiss
		})
		k := m.Route(i, r)
		at := instances[k]
		steady := m.steady(requests, i)
		c := &out.Counts[k][phase(steady)]
		c.Requests++
		missed := false
		var seen []uint64
		for _, h := range r.Hashes {
			if slices.Contains(seen, h) {
				continue // a hash counts once in a request
			}
			seen = append(seen, h)
			c.Lookups++
			element, cached := at.cached[h]
			available := cached
			if m.Contiguous && missed && m.Break != CachedSuffixHits {
				available = false
			}
			if available {
				c.Hits++
				if m.Break != NoRefreshAtHit {
					at.order.MoveToFront(element)
				}
				continue
			}
			missed = true
			c.Attempts++
			if l := at.open[h]; l != nil {
				c.Joins++
				l.FanIn++
				l.Joiners = append(l.Joiners, i)
				if l.Steady != steady {
					c.BoundaryJoins++
				}
				if m.Break == JoinsProlong { // as if the load had begun now
					l.due = r.ArrivalMS + m.WindowMS
					inFlight = append(slices.DeleteFunc(inFlight, func(o *load) bool { return o == l }), l)
				}
				continue
			}
			l := &load{
				Cohort: &Cohort{Instance: k, Hash: h, Leader: i, StartMS: r.ArrivalMS, FanIn: 1, Steady: steady},
				at:     at,
				due:    r.ArrivalMS + m.WindowMS,
			}
			inFlight = append(inFlight, l)
			out.Cohorts = append(out.Cohorts, l.Cohort)
			at.open[h] = l
			if m.Break == InsertOnMiss {
				m.enter(at, h)
			}
		}
	}
	complete(func(*load) bool { return true })
	return out
}

// enter puts a block at the most recently used end of an instance's cache.
func (m Model) enter(at *instance, h uint64) {
	if element, cached := at.cached[h]; cached {
		if m.Break != NoRefreshAtCompletion {
			at.order.MoveToFront(element)
		}
		return
	}
	at.cached[h] = at.order.PushFront(h)
	if at.order.Len() > m.Capacity {
		oldest := at.order.Back()
		delete(at.cached, at.order.Remove(oldest).(uint64))
	}
}

func (m Model) steady(requests []Request, i int) bool {
	if m.SteadyFrom != nil {
		return i >= *m.SteadyFrom
	}
	if m.Break == WarmupByCount {
		return 10*int64(i) >= m.WarmupTenths*int64(len(requests))
	}
	last := requests[len(requests)-1].ArrivalMS
	return 10*requests[i].ArrivalMS >= m.WarmupTenths*last
}

func phase(steady bool) int {
	if steady {
		return 1
	}
	return 0
}
