package report

import (
	"io"

	"kvfanin/internal/findings"
	"kvfanin/internal/result"
)

// Simulation is one configuration run over one trace.
type Simulation struct {
	Trace   string
	Config  result.Config
	Control string // as in Study
	Warmup  string // as in Study
	Outcome *result.Outcome
}

// CSV writes the two rows in the form of phases.csv.
func (s *Simulation) CSV(w io.Writer) error { return result.PhaseTable.Write(w, s.rows()) }

func (s *Simulation) rows() []result.PhaseRow { return s.Outcome.PhaseRows(s.Trace, s.Config) }

// fanIn returns the fan-in of the cohorts of each phase, over all instances.
func (s *Simulation) fanIn() (both [result.Phases]result.FanIn) {
	for k := range s.Outcome.Instances {
		for phase := range both {
			both[phase] = both[phase].Add(s.Outcome.Instances[k][phase].FanIn)
		}
	}
	return both
}

// JSON writes both phases with their fan-in and relations as one document.
func (s *Simulation) JSON(w io.Writer) error {
	type fanIn struct {
		FanIn   int64 `json:"fanin"`
		Cohorts int64 `json:"cohorts"`
	}
	type relations struct {
		Repeat    int64 `json:"repeat"`
		Extension int64 `json:"extension"`
		Branch    int64 `json:"branch"`
	}
	type phase struct {
		Phase             string    `json:"phase"`
		Requests          int64     `json:"requests"`
		Lookups           int64     `json:"lookups"`
		Hits              int64     `json:"hits"`
		Attempts          int64     `json:"attempts"`
		Cohorts           int64     `json:"cohorts"`
		Joins             int64     `json:"joins"`
		BoundaryJoins     int64     `json:"boundary_joins"`
		DuplicateCohorts  int64     `json:"duplicate_cohorts"`
		DuplicateAttempts int64     `json:"duplicate_attempts"`
		Redundancy        float64   `json:"redundancy_share"`
		WithoutExtensions float64   `json:"redundancy_without_extensions_share"`
		FanInP50          int64     `json:"fanin_p50"`
		FanInP99          int64     `json:"fanin_p99"`
		FanInMax          int64     `json:"fanin_max"`
		RequestImbalance  float64   `json:"request_imbalance"`
		Joined            relations `json:"joins_by_relation"`
		FanIn             []fanIn   `json:"cohorts_by_fanin"`
	}
	doc := struct {
		Trace         string          `json:"trace"`
		Control       string          `json:"control,omitempty"`
		Warmup        string          `json:"warmup,omitempty"`
		Configuration findings.Config `json:"configuration"`
		Phases        []phase         `json:"phases"`
	}{s.Trace, s.Control, s.Warmup, findings.Config(s.Config), nil}
	distribution := s.fanIn()
	for i, r := range s.rows() {
		p := phase{
			Phase:    r.Phase.String(),
			Requests: r.Requests, Lookups: r.Lookups, Hits: r.Hits, Attempts: r.Attempts,
			Cohorts: r.Cohorts, Joins: r.Joins, BoundaryJoins: r.BoundaryJoins,
			DuplicateCohorts: r.DuplicateCohorts, DuplicateAttempts: r.DuplicateAttempts,
			Redundancy:        r.Redundancy(),
			WithoutExtensions: r.Share(result.WithoutExtensions, s.Outcome.Relations[i].Extension),
			FanInP50:          r.FanInP50, FanInP99: r.FanInP99, FanInMax: r.FanInMax,
			RequestImbalance: r.RequestImbalance,
			Joined:           relations(s.Outcome.Relations[i]),
			FanIn:            []fanIn{},
		}
		for _, e := range distribution[i] {
			p.FanIn = append(p.FanIn, fanIn(e))
		}
		doc.Phases = append(doc.Phases, p)
	}
	return writeJSON(w, doc)
}

// Text writes both phases side by side.
func (s *Simulation) Text(w io.Writer) error {
	var p page
	p.warn(s.Control)
	p.trace(s.Trace)
	p.setting(s)

	p.title("Counts")
	p.text("An attempt is a lookup that starts a cold load or waits for one. All attempts on one " +
		"load are a cohort: the first leads, the others join, and together they are its " +
		"fan-in. Redundancy is joins ÷ attempts: an upper bound of what an ideal " +
		"single-flight would remove, and not a share of time. Cohorts and fan-in count " +
		"in the phase of the leader, all else in that of the arriving request.")
	p.counts(s)

	p.title("Joins by relation to the request that leads")
	p.text("repeat: the same prompt. extension: it holds the leader's prompt and has room " +
		"for its answer, so it may be the next turn, which a real user sends only later. " +
		"branch: any other shared head.")
	p.relations(s)

	p.title("Cohorts by fan-in")
	p.fanIn(s)
	return p.writeTo(w)
}

func (p *page) setting(s *Simulation) {
	t := table{left: 2}
	t.row("lookup", s.Config.Lookup)
	t.row("routing", s.Config.Routing)
	t.row("instances", count(s.Config.Instances))
	t.row("capacity", plural(s.Config.CapacityBlocks, "block")+" per instance")
	t.row("window", duration(s.Config.WindowMS))
	if s.Warmup != "" {
		t.row("warm-up", "requests before "+s.Warmup+" of the last timestamp")
	}
	p.table(&t)
}

// phaseTable is a table with a column a phase.
func phaseTable(first string) table {
	t := table{left: 1}
	t.row(first, "warm-up", "steady")
	return t
}

func (p *page) counts(s *Simulation) {
	rows := s.rows()
	t := phaseTable("")
	both := func(label string, figure func(*result.PhaseRow) string) {
		t.row(label, figure(&rows[result.Warmup]), figure(&rows[result.Steady]))
	}
	integer := func(label string, n func(*result.PhaseRow) int64) {
		both(label, func(r *result.PhaseRow) string { return count(n(r)) })
	}
	// What is drawn from cohorts or attempts does not exist without them.
	rank := func(label string, n func(*result.PhaseRow) int64) {
		both(label, func(r *result.PhaseRow) string {
			if r.Cohorts == 0 {
				return none
			}
			return count(n(r))
		})
	}
	integer("requests", func(r *result.PhaseRow) int64 { return r.Requests })
	integer("lookups", func(r *result.PhaseRow) int64 { return r.Lookups })
	integer("hits", func(r *result.PhaseRow) int64 { return r.Hits })
	integer("attempts", func(r *result.PhaseRow) int64 { return r.Attempts })
	integer("cohorts", func(r *result.PhaseRow) int64 { return r.Cohorts })
	integer("joins", func(r *result.PhaseRow) int64 { return r.Joins })
	integer("boundary joins (led in the other phase)", func(r *result.PhaseRow) int64 { return r.BoundaryJoins })
	integer("duplicate cohorts (fan-in above 1)", func(r *result.PhaseRow) int64 { return r.DuplicateCohorts })
	integer("duplicate attempts (in those)", func(r *result.PhaseRow) int64 { return r.DuplicateAttempts })
	redundancy := func(label, measure string) {
		both(label, func(r *result.PhaseRow) string {
			if r.Attempts == 0 {
				return none
			}
			return percent(r.Share(measure, s.Outcome.Relations[r.Phase].Extension))
		})
	}
	redundancy("redundancy, %", result.All)
	redundancy("  without extensions (see below), %", result.WithoutExtensions)
	rank("fan-in p50", func(r *result.PhaseRow) int64 { return r.FanInP50 })
	rank("fan-in p99", func(r *result.PhaseRow) int64 { return r.FanInP99 })
	rank("fan-in max", func(r *result.PhaseRow) int64 { return r.FanInMax })
	both("request imbalance (most ÷ mean)", func(r *result.PhaseRow) string { return imbalance(r.RequestImbalance) })
	p.table(&t)
}

func (p *page) relations(s *Simulation) {
	r := &s.Outcome.Relations
	t := phaseTable("")
	t.row("repeat", count(r[result.Warmup].Repeat), count(r[result.Steady].Repeat))
	t.row("extension", count(r[result.Warmup].Extension), count(r[result.Steady].Extension))
	t.row("branch", count(r[result.Warmup].Branch), count(r[result.Steady].Branch))
	p.table(&t)
}

// fanIn writes the distribution of fan-in. Above exactly it is drawn together
// in ranges that double, so that a trace of many ties stays readable.
func (p *page) fanIn(s *Simulation) {
	const exactly = 8
	t := phaseTable("fan-in")
	distribution := s.fanIn()
	most := max(distribution[result.Warmup].Max(), distribution[result.Steady].Max())
	if most == 0 {
		p.text("There is no cohort: nothing was loaded.")
		return
	}
	for low, high := int64(1), int64(1); low <= most; low, high = high+1, next(high, exactly) {
		warmup, steady := between(distribution[result.Warmup], low, high), between(distribution[result.Steady], low, high)
		if warmup+steady == 0 {
			continue
		}
		label := count(low)
		if high > low {
			label += " – " + count(high)
		}
		t.row(label, count(warmup), count(steady))
	}
	p.table(&t)
}

// next returns the upper end of the range after the one that ends at high.
func next(high, exactly int64) int64 {
	if high < exactly {
		return high + 1
	}
	return 2 * high
}

func between(h result.FanIn, low, high int64) (cohorts int64) {
	for _, e := range h {
		if low <= e.FanIn && e.FanIn <= high {
			cohorts += e.Cohorts
		}
	}
	return cohorts
}
