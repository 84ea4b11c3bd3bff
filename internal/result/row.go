package result

// Phase says which part of a trace a count belongs to. Warm-up is every
// request that arrives before the warm-up share of the last timestamp, steady
// the rest; the state of the caches carries over.
type Phase uint8

// The two phases, in the order of the rows.
const (
	Warmup Phase = iota
	Steady
	Phases = 2
)

// String returns the phase as it stands in a file.
func (p Phase) String() string {
	if p == Warmup {
		return "warmup"
	}
	return "steady"
}

// Config is one configuration of the grid: what is varied between runs of the
// same trace. It is comparable and can key a map.
type Config struct {
	Lookup         string // contiguous_prefix, independent_blocks
	Routing        string // round_robin, first_block_affinity
	Instances      int
	CapacityBlocks int   // of each instance
	WindowMS       int64 // load window
}

// Counts is what one phase counted, for one instance or summed over all.
//
// Lookups, hits, attempts, joins and boundary joins belong to the phase of the
// arriving request, cohorts to the phase of their leader.
type Counts struct {
	Requests      int64
	Lookups       int64
	Hits          int64
	Attempts      int64
	Cohorts       int64
	Joins         int64
	BoundaryJoins int64 // joins to a cohort led in the other phase
}

// Redundancy returns joins ÷ attempts, the share of attempts that an ideal
// single-flight would remove; 0 where there are no attempts.
func (c *Counts) Redundancy() float64 {
	if c.Attempts == 0 {
		return 0
	}
	return float64(c.Joins) / float64(c.Attempts)
}

// Tally is Counts with the fan-in of every cohort behind them: what a run
// gives, and what sums over instances without loss.
type Tally struct {
	Counts
	FanIn FanIn // the cohorts led in the phase
}

// Add adds u to t.
func (t *Tally) Add(u *Tally) {
	t.Requests += u.Requests
	t.Lookups += u.Lookups
	t.Hits += u.Hits
	t.Attempts += u.Attempts
	t.Cohorts += u.Cohorts
	t.Joins += u.Joins
	t.BoundaryJoins += u.BoundaryJoins
	t.FanIn = t.FanIn.Add(u.FanIn)
}

// Figures are the counts of a row as it is printed, with the distribution of
// fan-in drawn together.
type Figures struct {
	Counts
	DuplicateCohorts  int64 // cohorts with a fan-in above 1
	DuplicateAttempts int64 // attempts in those
	FanInP50          int64 // nearest rank over cohorts; 0 without cohorts
	FanInP99          int64
	FanInMax          int64
	// PrintedRedundancy is Redundancy as it stands in the file. It is kept as
	// read, so that a wrong one is found by its identity and not lost.
	PrintedRedundancy float64
}

// Figures returns the tally as it is printed.
func (t *Tally) Figures() Figures {
	return Figures{
		Counts:            t.Counts,
		DuplicateCohorts:  t.FanIn.DuplicateCohorts(),
		DuplicateAttempts: t.FanIn.DuplicateAttempts(),
		FanInP50:          t.FanIn.Percentile(50),
		FanInP99:          t.FanIn.Percentile(99),
		FanInMax:          t.FanIn.Max(),
		PrintedRedundancy: t.Redundancy(),
	}
}

// PhaseRow is a row of phases.csv: one configuration, one phase, all
// instances together.
type PhaseRow struct {
	Trace string
	Config
	Phase Phase
	Figures
	// RequestImbalance is the most requests on one instance ÷ the mean per
	// instance, over the requests of the phase; 0 where there are none.
	RequestImbalance float64
}

// InstanceRow is a row of instances.csv: one configuration, instance, phase.
type InstanceRow struct {
	Trace string
	Config
	Instance int
	Phase    Phase
	Figures
}

// Relations counts joins by their relation to the request that leads.
type Relations struct {
	Repeat    int64 // same input length, same hashes
	Extension int64 // perhaps the next turn: it holds the leader's prompt and has room for its answer
	Branch    int64 // anything else: a shared head
}

// Add adds s to r.
func (r *Relations) Add(s Relations) {
	r.Repeat += s.Repeat
	r.Extension += s.Extension
	r.Branch += s.Branch
}

// RelationRow is a row of relations.csv: one configuration, one phase (of the
// joining request).
type RelationRow struct {
	Trace string
	Config
	Phase    Phase
	Attempts int64
	Joins    int64
	Relations
}

// FanInRow is a row of fanin.csv: how many cohorts, led at one instance in one
// phase, have one fan-in.
type FanInRow struct {
	Trace string
	Config
	Instance int
	Phase    Phase
	FanInCount
}

// Imbalance returns the most requests on one instance ÷ the mean per instance;
// 0 without requests. requests has one element an instance.
func Imbalance(requests []int64) float64 {
	var most, sum int64
	for _, n := range requests {
		most = max(most, n)
		sum += n
	}
	if sum == 0 {
		return 0
	}
	return float64(most) * float64(len(requests)) / float64(sum)
}

// Cohort is a row of a cohort file: all attempts on one block at one instance
// from the load's start until its completion. The configuration it belongs to
// is that of its file and stands in each row as well.
type Cohort struct {
	Instance      int32
	BlockHash     uint64
	LeaderRequest int64 // index of the leading request in the trace, from 0
	StartMS       int64
	FanIn         int64
	Phase         Phase // of the leader
}
