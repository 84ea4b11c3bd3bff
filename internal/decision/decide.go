package decision

import (
	"errors"
	"fmt"
	"strings"
)

// Decision is whether coordination is worth it, with everything it came from.
type Decision struct {
	Trace         string        `json:"trace"`
	Configuration Configuration `json:"configuration"`

	Verdict Verdict  `json:"verdict"`
	Because []string `json:"because"`
	Scope   string   `json:"scope"`

	Inputs []Input `json:"inputs"`
	Steps  []Step  `json:"steps"` // that do not depend on the redundancy
	// Readings are six: all joins, then without extensions; each as measured,
	// low and high.
	Readings []Reading `json:"readings"`

	// BreakEven is the redundancy at which nothing is won or lost; nil where
	// there is none, and BreakEvenWhy says why.
	BreakEven    *float64    `json:"break_even_redundancy"`
	BreakEvenWhy string      `json:"break_even_why,omitempty"`
	Crossings    []Crossing  `json:"crossings"` // all joins, then without extensions
	Ownership    []Ownership `json:"ownership"`
	Notes        []string    `json:"notes"`

	Elsewhere *Elsewhere `json:"elsewhere,omitempty"` // of Over
}

// Verdict is the answer.
type Verdict string

// The verdicts.
const (
	NotJustified Verdict = "not justified by this trace"
	Justified    Verdict = "justified by this trace: run a system benchmark"
	Undecided    Verdict = "undecided"
)

// scope stands beside every verdict.
const scope = "This holds for this trace, this configuration, and the model's instances and routing, replayed open-loop. " +
	"It is no claim on time to first token or throughput."

// Input is one number or word that went in.
type Input struct {
	Name   string   `json:"name"`
	Value  *float64 `json:"value"` // nil if it is a word
	Word   string   `json:"word,omitempty"`
	Unit   string   `json:"unit"`
	Origin Origin   `json:"origin"`
	Source string   `json:"source,omitempty"` // where a default or a preset is from
}

// Origin says where an input is from.
type Origin string

// The origins.
const (
	Given   Origin = "given"
	Trace   Origin = "trace"
	Default Origin = "default"
)

// Step is one number with its formula. From names the inputs and steps that
// stand in it.
type Step struct {
	Name    string   `json:"name"`
	Formula string   `json:"formula"`
	Value   float64  `json:"value"`
	Unit    string   `json:"unit"`
	From    []string `json:"from"`
}

// Reading is what one reading of the redundancy comes to.
type Reading struct {
	Joins string `json:"joins"` // AllJoins or WithoutExtensions
	Bound string `json:"bound"` // measured, low or high
	Steps []Step `json:"steps"`
}

// Which joins a reading counts.
const (
	AllJoins          = "all"
	WithoutExtensions = "without_extensions"
)

// Value returns a step of the reading by its name.
func (r *Reading) Value(name string) float64 { return valueOf(r.Steps, name) }

// Value returns a step by its name: one that does not depend on the redundancy.
func (d *Decision) Value(name string) float64 { return valueOf(d.Steps, name) }

func valueOf(steps []Step, name string) float64 {
	for i := range steps {
		if steps[i].Name == name {
			return steps[i].Value
		}
	}
	panic("no step " + name)
}

// load is what the inputs say of one load.
type load struct {
	ms            float64
	bytesPerBlock float64 // 0: not known
	steps         []Step
}

// load works out the load latency of checked inputs.
func (in *Inputs) load(blockTokens int) (l load, err error) {
	perToken := in.BytesPerToken
	if m := modelByName(in.Model); m != nil {
		perToken = m.BytesPerToken()
		l.steps = append(l.steps, Step{"bytes_per_token", m.Formula(), perToken, "B", []string{"model"}})
	}
	l.bytesPerBlock = in.BytesPerBlock
	if perToken > 0 {
		if blockTokens <= 0 {
			return l, fmt.Errorf("the trace's blocks have %d tokens: give bytes_per_block", blockTokens)
		}
		l.bytesPerBlock = perToken * float64(blockTokens)
		l.steps = append(l.steps, Step{"bytes_per_block", "bytes_per_token × block_tokens", l.bytesPerBlock, "B", []string{"bytes_per_token", "block_tokens"}})
	}
	if in.LoadMS > 0 {
		l.ms = in.LoadMS
		return l, nil
	}
	transfer := l.bytesPerBlock / (in.BandwidthGBPS * 1e6)
	l.ms = transfer + in.FixedMS
	if !(l.ms <= maxMS) {
		return l, fmt.Errorf("a load would take %s ms: bandwidth_gb_per_s is %s, want more", FormatNumber(l.ms), exact(in.BandwidthGBPS))
	}
	l.steps = append(l.steps, Step{"load_ms", "bytes_per_block ÷ (bandwidth_gb_per_s × 1e6) + fixed_ms", l.ms, "ms",
		[]string{"bytes_per_block", "bandwidth_gb_per_s", "fixed_ms"}})
	return l, nil
}

// costs are the steps that the readings are made from.
type costs struct {
	coldLoads, coordination      float64 // 1/s, ms/s
	loadCost                     float64 // ms a load avoided
	perLoad, perJoin, lostByJoin float64 // ms
}

// Decide works the inputs through for one configuration of one trace. It
// returns an error where an input cannot be used or a rate is missing.
func Decide(in Inputs, t Traffic) (*Decision, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	l, err := in.load(t.BlockTokens)
	if err != nil {
		return nil, err
	}
	requests := in.RequestsPerS
	if requests == 0 {
		requests = t.RequestsPerS
	}
	if requests == 0 {
		return nil, errors.New("requests_per_s is not given and the trace has no rate of its own (all requests of the steady phase share one timestamp): give requests_per_s")
	}
	d := &Decision{
		Trace:         t.Trace,
		Configuration: Configuration(t.Config),
		Scope:         scope,
		Inputs:        inputsOf(&in, &t, &l),
		Steps:         l.steps,
	}
	// A product that is added to something is converted explicitly: without that
	// a compiler may fuse the two and round once less than decide.js does.
	step := func(name, formula, unit string, value float64, from ...string) float64 {
		d.Steps = append(d.Steps, Step{name, formula, value, unit, from})
		return value
	}
	s := in.factor()
	window := step("effective_window_ms", "load_ms × load_factor", "ms", l.ms*s, "load_ms", "load_factor")
	offered := step("offered_requests_per_s", "requests_per_s × load_factor", "1/s", requests*s, "requests_per_s", "load_factor")
	lookups := step("lookups_per_s", "offered_requests_per_s × lookups_per_request", "1/s", offered*t.LookupsPerRequest,
		"offered_requests_per_s", "lookups_per_request")
	var c costs
	c.coldLoads = step("cold_loads_per_s", "offered_requests_per_s × attempts_per_request", "1/s", float64(offered*t.AttemptsPerRequest),
		"offered_requests_per_s", "attempts_per_request")
	c.loadCost = in.LoadCostMS
	if c.loadCost == 0 {
		c.loadCost = l.ms
	}
	us := step("coordination_us_per_lookup", "table_us + lock_us + wait_us", "us", in.TableUS+in.LockUS+in.WaitUS, "table_us", "lock_us", "wait_us")
	c.coordination = step("coordination_ms_per_s", "lookups_per_s × coordination_us_per_lookup ÷ 1000", "ms/s", lookups*us/1000,
		"lookups_per_s", "coordination_us_per_lookup")
	failure := float64(in.FailureShare * in.FailureMS)
	timeout := float64(in.TimeoutShare * in.TimeoutMS)
	c.perLoad = step("owner_ms_per_load", "owner_failure_share × owner_failure_ms + timeout_share × timeout_ms", "ms", failure+timeout,
		"owner_failure_share", "owner_failure_ms", "timeout_share", "timeout_ms")
	wait, lost := in.SlowOwnerMS, 0.0
	if in.DeadlineMS > 0 && in.DeadlineMS < wait {
		wait, lost = in.DeadlineMS, float64(in.SlowOwnerShare*c.loadCost)
	}
	step("follower_wait_ms", "the smaller of slow_owner_extra_ms and deadline_ms (if there is one)", "ms", wait, "slow_owner_extra_ms", "deadline_ms")
	c.perJoin = step("follower_ms_per_join", "slow_owner_share × follower_wait_ms", "ms", float64(in.SlowOwnerShare*wait), "slow_owner_share", "follower_wait_ms")
	c.lostByJoin = step("lost_ms_per_join", "slow_owner_share × load_cost_ms if deadline_ms < slow_owner_extra_ms, else 0", "ms", lost,
		"slow_owner_share", "load_cost_ms", "deadline_ms", "slow_owner_extra_ms")

	for _, e := range evidence(&t) {
		for _, b := range []struct {
			name       string
			redundancy float64
		}{{"measured", e.Measured}, {"low", e.Low}, {"high", e.High}} {
			d.Readings = append(d.Readings, Reading{e.joins, b.name, c.reading(b.redundancy)})
		}
	}
	d.breakEven(&t, &c, us, step)
	d.judge(&t)
	for _, e := range evidence(&t) {
		d.Crossings = append(d.Crossings, crossing(&t, e.joins, d.BreakEven, l.ms))
	}
	d.Ownership = ownership(&in, &t, &l, offered, c.coldLoads, d.Readings[0].Value("joins_per_s"), d.Readings[0].Value("cohorts_per_s"))
	d.Notes = notes(&in, &t, &l, us, window)
	return d, nil
}

// of is a reading of the evidence with the name of the joins it counts.
type of struct {
	joins string
	Evidence
}

func evidence(t *Traffic) []of {
	return []of{{AllJoins, t.Redundancy}, {WithoutExtensions, t.WithoutExtensions}}
}

// reading works out the costs at one redundancy.
func (c *costs) reading(redundancy float64) []Step {
	joins := float64(c.coldLoads * redundancy)
	cohorts := c.coldLoads - joins
	avoidable := float64(joins * c.loadCost)
	owners := float64(cohorts * c.perLoad)
	followers := float64(joins * c.perJoin)
	lost := float64(joins * c.lostByJoin)
	net := avoidable - c.coordination - owners - followers - lost
	return []Step{
		{"redundancy", "joins ÷ attempts", redundancy, "", []string{}},
		{"joins_per_s", "cold_loads_per_s × redundancy", joins, "1/s", []string{"cold_loads_per_s", "redundancy"}},
		{"cohorts_per_s", "cold_loads_per_s - joins_per_s", cohorts, "1/s", []string{"cold_loads_per_s", "joins_per_s"}},
		{"avoidable_ms_per_s", "joins_per_s × load_cost_ms", avoidable, "ms/s", []string{"joins_per_s", "load_cost_ms"}},
		{"owners_ms_per_s", "cohorts_per_s × owner_ms_per_load", owners, "ms/s", []string{"cohorts_per_s", "owner_ms_per_load"}},
		{"followers_ms_per_s", "joins_per_s × follower_ms_per_join", followers, "ms/s", []string{"joins_per_s", "follower_ms_per_join"}},
		{"lost_ms_per_s", "joins_per_s × lost_ms_per_join", lost, "ms/s", []string{"joins_per_s", "lost_ms_per_join"}},
		{"net_ms_per_s", "avoidable_ms_per_s - coordination_ms_per_s - owners_ms_per_s - followers_ms_per_s - lost_ms_per_s", net, "ms/s",
			[]string{"avoidable_ms_per_s", "coordination_ms_per_s", "owners_ms_per_s", "followers_ms_per_s", "lost_ms_per_s"}},
	}
}

// breakEven finds the redundancy at which the net is 0. With A attempts a
// second the net is A·(r·gain − price): each attempt pays the price, each join
// gains (docs/decision.md derives it). So it does not hang on the rate.
func (d *Decision) breakEven(t *Traffic, c *costs, us float64, step func(name, formula, unit string, value float64, from ...string) float64) {
	if t.AttemptsPerRequest == 0 {
		d.BreakEvenWhy = "the trace has no cold load in this configuration, so there is nothing to avoid"
		return
	}
	onLookups := t.LookupsPerRequest / t.AttemptsPerRequest * us / 1000
	price := step("price_ms_per_attempt", "lookups_per_request ÷ attempts_per_request × coordination_us_per_lookup ÷ 1000 + owner_ms_per_load", "ms",
		onLookups+c.perLoad, "lookups_per_request", "attempts_per_request", "coordination_us_per_lookup", "owner_ms_per_load")
	gain := step("gain_ms_per_join", "load_cost_ms + owner_ms_per_load - follower_ms_per_join - lost_ms_per_join", "ms",
		c.loadCost+c.perLoad-c.perJoin-c.lostByJoin, "load_cost_ms", "owner_ms_per_load", "follower_ms_per_join", "lost_ms_per_join")
	if gain <= 0 {
		d.BreakEvenWhy = "a join costs its followers as much as the load it avoids, or more"
		return
	}
	r := price / gain
	if r > 1 {
		d.BreakEvenWhy = "even if every attempt joined, the loads avoided would not pay for the coordination"
		return
	}
	step("break_even_redundancy", "price_ms_per_attempt ÷ gain_ms_per_join", "", r, "price_ms_per_attempt", "gain_ms_per_join")
	d.BreakEven = &r
}

// judge finds the verdict: that of all joins and that of the joins without
// extensions, if they are the same.
func (d *Decision) judge(t *Traffic) {
	if d.BreakEven == nil {
		d.Verdict = NotJustified
		d.Because = []string{"It never breaks even: " + d.BreakEvenWhy + "."}
		return
	}
	verdicts := make([]Verdict, 0, 2)
	for _, e := range evidence(t) {
		v, how := verdictOf(&e.Evidence, *d.BreakEven)
		verdicts = append(verdicts, v)
		text := sentence(e.joins) + ": redundancy " + FormatPercent(e.Measured) + " % (" + FormatPercent(e.Low) + " % – " + FormatPercent(e.High) + " %) " +
			how + " the break-even of " + FormatPercent(*d.BreakEven) + " %."
		if v == Undecided && len(e.Why) > 0 {
			text += " The range is over " + strings.Join(e.Why, "; ") + "."
		}
		d.Because = append(d.Because, text)
	}
	d.Verdict = verdicts[0]
	if verdicts[0] != verdicts[1] {
		d.Verdict = Undecided
		d.Because = append(d.Because, "Extensions decide: with them it is "+short(verdicts[0])+", without them "+short(verdicts[1])+
			". A closed loop may forbid those joins, and an open-loop replay cannot tell.")
	}
	if d.Verdict != Justified {
		return
	}
	if t.DuplicateCohorts < fewCohorts {
		d.Verdict = Undecided
		d.Because = append(d.Because, "That is over "+exact(float64(t.DuplicateCohorts))+" duplicate cohorts, and fewer than 30 justify nothing.")
	}
	if *d.BreakEven == 0 {
		d.Verdict = Undecided
		d.Because = append(d.Because, "No cost of coordination was given, and no system has none.")
	}
}

// verdictOf compares evidence with a break-even. Without any join there is
// nothing to win, even where nothing is to be paid.
func verdictOf(e *Evidence, breakEven float64) (Verdict, string) {
	switch {
	case e.High < breakEven || e.High == 0:
		return NotJustified, "is not above"
	case e.Low > breakEven:
		return Justified, "is above"
	default:
		return Undecided, "spans"
	}
}

func sentence(joins string) string {
	if joins == AllJoins {
		return "All joins"
	}
	return "Without extensions"
}

func short(v Verdict) string {
	name, _, _ := strings.Cut(string(v), " by this trace")
	return name
}

// inputsOf lists what goes in, with what stands in for what is not given.
func inputsOf(in *Inputs, t *Traffic, l *load) []Input {
	var list []Input
	number := func(name, unit string, value float64, origin Origin, source string) {
		list = append(list, Input{Name: name, Value: &value, Unit: unit, Origin: origin, Source: source})
	}
	for i := range Fields {
		f := &Fields[i]
		if f.Word != nil {
			if m := modelByName(*f.Word(in)); m != nil {
				list = append(list, Input{Name: f.Name, Word: m.Name, Origin: Given, Source: m.Source})
			}
			continue
		}
		x := *f.Number(in)
		switch {
		case x > 0:
			number(f.Name, f.Unit, x, Given, "")
		case f.Name == "requests_per_s":
			number(f.Name, f.Unit, t.RequestsPerS, Trace, "")
		case f.Name == "load_factor":
			number(f.Name, f.Unit, 1, Default, f.Default)
		case f.Name == "load_cost_ms":
			number(f.Name, f.Unit, l.ms, Default, f.Default)
		case f.Name == "fixed_ms" && in.LoadMS > 0:
		case f.Name == "load_ms", f.Name == "bandwidth_gb_per_s", strings.HasPrefix(f.Name, "bytes_per_"):
			// The other way to say it was taken, or it is worked out in a step.
		case f.Name == "deadline_ms":
			number(f.Name, f.Unit, 0, Default, "none")
		default:
			number(f.Name, f.Unit, 0, Default, "not given")
		}
	}
	number("lookups_per_request", "", t.LookupsPerRequest, Trace, "")
	number("attempts_per_request", "", t.AttemptsPerRequest, Trace, "")
	number("duplicate_cohorts_per_request", "", t.DuplicateCohortsPerRequest, Trace, "")
	number("block_tokens", "", float64(t.BlockTokens), Trace, "")
	return list
}

// fewCohorts is the number of duplicate cohorts under which a note is made, and
// nothing is justified.
const fewCohorts = 30

// notes says what a reader has to know beside the verdict. Nothing that goes
// in is without effect in silence.
func notes(in *Inputs, t *Traffic, l *load, us, window float64) []string {
	list := []string{}
	note := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	note(t.AttemptsPerRequest > 1, "A load is of one block here, and a request has "+FormatNumber(t.AttemptsPerRequest)+" of them on average. Where one Get serves several blocks, load_cost_ms is to be a block's part of it.")
	note(us == 0, "table_us, lock_us and wait_us are 0 or not given: coordination costs nothing on any lookup here, which no system has.")
	note(t.DuplicateCohorts < fewCohorts, "Fewer than 30 duplicate cohorts stand behind the redundancy: "+exact(float64(t.DuplicateCohorts))+".")
	note(float64(t.Config.WindowMS) != window, "The evidence is of a window of "+FormatDuration(t.Config.WindowMS)+"; W_eff is "+FormatNumber(window)+" ms.")
	for _, pair := range []struct {
		share, ms         float64
		shareName, msName string
	}{
		{in.FailureShare, in.FailureMS, "owner_failure_share", "owner_failure_ms"},
		{in.TimeoutShare, in.TimeoutMS, "timeout_share", "timeout_ms"},
		{in.SlowOwnerShare, in.SlowOwnerMS, "slow_owner_share", "slow_owner_extra_ms"},
	} {
		note(pair.share > 0 && pair.ms == 0, pair.shareName+" has no effect: "+pair.msName+" is 0 or not given.")
		note(pair.ms > 0 && pair.share == 0, pair.msName+" has no effect: "+pair.shareName+" is 0 or not given.")
	}
	note(in.DeadlineMS > 0 && in.DeadlineMS >= in.SlowOwnerMS, "deadline_ms has no effect: no follower waits that long.")
	note(l.bytesPerBlock == 0, "Bytes are not known: give model, bytes_per_token or bytes_per_block to see them.")
	return list
}
