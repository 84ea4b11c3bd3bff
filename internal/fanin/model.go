package fanin

import (
	"fmt"
	"strings"
)

// Lookup is the rule by which a request's blocks are looked up.
type Lookup uint8

const (
	// ContiguousPrefix serves the blocks up to the first that is not cached.
	// That one and every later one are attempts, even one that is cached.
	ContiguousPrefix Lookup = iota
	// IndependentBlocks looks each block up by itself.
	IndependentBlocks
)

// Lookups are the lookup rules in the order of the grid.
var Lookups = []Lookup{ContiguousPrefix, IndependentBlocks}

// String returns the rule's name in files and on the command line.
func (l Lookup) String() string {
	if l == ContiguousPrefix {
		return "contiguous_prefix"
	}
	return "independent_blocks"
}

// LookupByName returns the rule of that name, or an error that lists those
// there are.
func LookupByName(name string) (Lookup, error) {
	names := make([]string, len(Lookups))
	for i, l := range Lookups {
		if l.String() == name {
			return l, nil
		}
		names[i] = l.String()
	}
	return 0, fmt.Errorf("lookup %q: there are %s", name, strings.Join(names, ", "))
}

// Control breaks one rule of the model on purpose. A run under a control is
// no measurement: it shows that the figures would have told.
type Control uint8

const (
	// NoControl is the model.
	NoControl Control = iota
	// InsertOnMiss lets a block enter the cache at the start of its load, which
	// is then over: no attempt can ever join.
	InsertOnMiss
	// SlidingWindow lets each join restart the window of its cohort.
	SlidingWindow
)

// Controls are the controls there are.
var Controls = []Control{NoControl, InsertOnMiss, SlidingWindow}

// String returns the control's name in files and on the command line.
func (c Control) String() string {
	switch c {
	case InsertOnMiss:
		return "insert_on_miss"
	case SlidingWindow:
		return "sliding_window"
	default:
		return "none"
	}
}

// Window is a load window in milliseconds: the time from the start of a load
// to its completion.
type Window int64

// Config is one configuration of an instance.
type Config struct {
	Lookup   Lookup
	Capacity int // of the cache, in blocks; at least 1
	Window   Window
	Control  Control
}

// Stream is the requests that one instance serves, in the order it serves
// them. Request i arrives at ArrivalMS[i] and looks up
// Block[Offset[i]:Offset[i+1]]. It is only read.
type Stream struct {
	ArrivalMS []int64  // never decreasing
	Offset    []int64  // one more than requests
	Block     []uint32 // fewer than 1<<32 - 1 block numbers below Blocks; a request has each at most once
	Blocks    int      // how many block numbers there are; below 1<<32 - 2
	Steady    int      // requests before this one are warm-up, the rest steady
}

// Phases is the number of phases: warm-up is 0, steady is 1.
const Phases = 2

// phase returns the phase of request i.
func (s *Stream) phase(i int) int {
	if i < s.Steady {
		return 0
	}
	return 1
}

// Counts is what happened in one phase. Requests to BoundaryJoins count in the
// phase of the request they belong to, Cohorts and FanIn in the phase of their
// leader.
type Counts struct {
	Requests      int64
	Hits          int64
	Attempts      int64
	Joins         int64
	BoundaryJoins int64 // joins to a cohort that was led in the other phase
	Cohorts       int64
	FanIn         []int64 // FanIn[f] cohorts had fan-in f; nil if there were none
}

// Lookups returns hits and attempts together.
func (c *Counts) Lookups() int64 { return c.Hits + c.Attempts }

// Cohort is all attempts on one block from the start of its load to its
// completion.
type Cohort struct {
	Block  uint32
	Leader uint32 // the request whose attempt started the load
	FanIn  uint32 // attempts, the leader's included
}

// Joins is joins by one request to loads of one earlier request. A pair of
// requests may come in several parts.
type Joins struct {
	Leader uint32
	Joiner uint32
	Blocks uint32
}

// Observer is told what happened beyond the counts, in batches that it must
// not keep. A field may be nil. An error ends the run.
type Observer struct {
	Cohorts    func([]Cohort) error // in the order their loads started
	Duplicates bool                 // Cohorts is told of those with a fan-in above 1 alone
	Joins      func([]Joins) error  // in the order they arrived
	Loads      []uint32             // one a request: is given the loads the request started
}
