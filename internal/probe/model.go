package probe

import (
	"math"
	"slices"

	"kvfanin/internal/fanin"
)

// Model is the model of the package fanin over the arrivals of a case, beside
// what the stack did for them. Its window is from the first arrival to the first
// publication, or where there is none to the first end of a request: how long a
// load was in flight for who came after.
type Model struct {
	Attempts int64 // lookups of a block that is not there: each starts a load or could wait for one
	Cohorts  int64 // loads that would have done
	FanIn    int64 // most attempts that one load would have served

	Loads  int64 // blocks that the stack asked the store for, each time
	Blocks int64 // different ones among them
	Most   int64 // most loads of one block
}

// Agrees reports whether the stack made a load of every attempt, and of nothing
// else.
func (m *Model) Agrees() bool {
	return m.Attempts == m.Loads && m.Cohorts == m.Blocks && m.FanIn == m.Most
}

// never is later than all that happens.
const never = math.MaxInt64 / 2

// compareWithModel runs the model over the arrivals among events. There is none
// without arrivals.
func compareWithModel(c *Case, events []Event) *Model {
	var arrivals []int64
	published, finished := int64(never), int64(never)
	loads := map[string]int64{}
	for _, e := range events {
		switch e.What {
		case EventArrival:
			arrivals = append(arrivals, e.TimeUS)
		case EventGetStart:
			for _, key := range e.Keys {
				loads[key]++
			}
		case EventPublication:
			published = min(published, e.TimeUS)
		case EventFinish:
			finished = min(finished, e.TimeUS)
		}
	}
	if len(arrivals) == 0 {
		return nil
	}
	slices.Sort(arrivals)
	if published == never {
		published = finished
	}
	m := &Model{Blocks: int64(len(loads))}
	for _, n := range loads {
		m.Loads += n
		m.Most = max(m.Most, n)
	}
	// The model's time has whole units; that they are microseconds here changes
	// no count.
	window := fanin.Window(max(1, published-arrivals[0]))
	stream := equalRequests(arrivals, c.Parameters.SharedBlocks)
	var engine fanin.Engine
	counts, err := engine.Run(stream, fanin.Config{
		Lookup:   fanin.ContiguousPrefix,
		Capacity: stream.Blocks,
		Window:   window,
	}, fanin.Observer{Cohorts: func(cohorts []fanin.Cohort) error {
		for _, cohort := range cohorts {
			m.FanIn = max(m.FanIn, int64(cohort.FanIn))
		}
		return nil
	}})
	if err != nil {
		panic(err) // the observer returns none
	}
	for phase := range counts {
		m.Attempts += counts[phase].Attempts
		m.Cohorts += counts[phase].Cohorts
	}
	return m
}

// equalRequests returns requests for the same blocks, one an arrival.
func equalRequests(arrivals []int64, blocks int) *fanin.Stream {
	s := &fanin.Stream{ArrivalMS: arrivals, Offset: []int64{0}, Blocks: blocks}
	for range arrivals {
		for b := range blocks {
			s.Block = append(s.Block, uint32(b))
		}
		s.Offset = append(s.Offset, int64(len(s.Block)))
	}
	return s
}
