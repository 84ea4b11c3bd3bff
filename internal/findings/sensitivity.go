package findings

import (
	"fmt"

	"kvfanin/internal/result"
)

// Sensitivity is how far the figures of a trace hold when what the model takes
// for granted is read otherwise. A run without --sensitivity has none.
type Sensitivity struct {
	Seeds   int      `json:"seeds"`    // draws of whatever is drawn
	Spans   int      `json:"spans"`    // of the steady phase, from which the intervals are drawn
	StartMS int64    `json:"start_ms"` // where the first begins
	SpanMS  int64    `json:"span_ms"`  // their length
	Ties    []Ties   `json:"ties"`     // one a window of the grid, ascending
	Curves  []Curve  `json:"curves"`   // by lookup, routing, instances, capacity, in the order of the grid
	Routing *Routing `json:"routing"`  // nil where affinity or round robin was not run at two instances or more
}

// SensitivityFinding is the name of the finding in JSON.
const SensitivityFinding = "sensitivity"

// sensitivityOf returns what the rows beside the grid say.
func sensitivityOf(s *steady, asked *result.Sensitivity) (*Sensitivity, *Absence) {
	if asked == nil {
		return nil, &Absence{
			Finding: SensitivityFinding,
			Reason:  "other readings of equal timestamps, other routings and the curve were not run",
			Flag:    "--sensitivity",
		}
	}
	if len(s.rows) == 0 {
		return nil, &Absence{Finding: SensitivityFinding, Reason: noRows}
	}
	b := &beside{steady: s, asked: asked, arms: make(map[armKey]counted)}
	for i := range s.beside.Arms {
		if r := &s.beside.Arms[i]; r.Phase == result.Steady {
			b.arms[armKey{r.Arm, r.Config}] = counted{r.Counts, s.beside.ArmRelations[i].Extension, r.RequestImbalance}
		}
	}
	found := &Sensitivity{
		Seeds:   asked.Seeds,
		Spans:   asked.Spans,
		Ties:    b.ties(),
		Curves:  b.curves(),
		Routing: b.routing(),
	}
	if spans := s.beside.Spans; len(spans) > 1 {
		found.StartMS, found.SpanMS = spans[0].StartMS, spans[1].StartMS-spans[0].StartMS
	}
	return found, nil
}

// beside is the rows beside the grid, in the steady phase.
type beside struct {
	*steady
	asked *result.Sensitivity
	arms  map[armKey]counted
}

type armKey struct {
	result.Arm
	result.Config
}

// counted is what a row counted, its extensions and its imbalance.
type counted struct {
	result.Counts
	extensions int64
	imbalance  float64
}

// of returns the redundancy by a measure.
func (s *counted) of(measure string) float64 { return s.Share(measure, s.extensions) }

// grid returns the row of the grid itself.
func (b *beside) grid(c result.Config) counted {
	row := b.of[c]
	return counted{row.Counts, b.extensions(c), row.RequestImbalance}
}

// Ties is the redundancy under one window when equal timestamps are read
// otherwise, over all rows of the grid with that window.
type Ties struct {
	WindowMS     int64         `json:"window_ms"`
	Rows         int           `json:"rows"` // under each reading, and each seed
	Simultaneous MedianLargest `json:"simultaneous"`
	Even         MedianLargest `json:"even"`
	// Of the random readings, each figure by itself: the smallest over the seeds,
	// element ⌊n/2⌋ and the largest.
	RandomLow    MedianLargest `json:"random_low"`
	RandomMedian MedianLargest `json:"random_median"`
	RandomHigh   MedianLargest `json:"random_high"`
}

// MedianLargest is the median and the largest redundancy of some rows.
type MedianLargest struct {
	Median                   float64 `json:"median_redundancy_share"`
	Largest                  float64 `json:"largest_redundancy_share"`
	LargestWithoutExtensions float64 `json:"largest_redundancy_without_extensions_share"`
}

// Low returns the smallest of the largest redundancies over all readings.
func (t *Ties) Low() float64 {
	return min(t.Simultaneous.Largest, t.Even.Largest, t.RandomLow.Largest)
}

// High returns the largest of the largest redundancies over all readings.
func (t *Ties) High() float64 {
	return max(t.Simultaneous.Largest, t.Even.Largest, t.RandomHigh.Largest)
}

func (b *beside) ties() []Ties {
	windowsMS, byWindow := b.byWindow()
	var all []Ties
	for _, window := range windowsMS {
		rows := byWindow[window]
		under := func(arm *result.Arm) MedianLargest {
			var shares []counted
			for _, row := range rows {
				if arm == nil {
					shares = append(shares, b.grid(row.Config))
				} else {
					shares = append(shares, b.arms[armKey{*arm, row.Config}])
				}
			}
			return medianLargest(shares)
		}
		t := Ties{
			WindowMS:     window,
			Rows:         len(rows),
			Simultaneous: under(nil),
			Even:         under(&result.Arm{Ties: result.Even}),
		}
		var draws []MedianLargest
		for seed := range int64(b.asked.Seeds) {
			draws = append(draws, under(&result.Arm{Ties: result.Random, Seed: seed + 1}))
		}
		t.RandomLow, t.RandomMedian, t.RandomHigh = ranks(draws)
		all = append(all, t)
	}
	return all
}

func medianLargest(shares []counted) MedianLargest {
	var m MedianLargest
	var all []float64
	for i := range shares {
		all = append(all, shares[i].of(result.All))
		m.LargestWithoutExtensions = max(m.LargestWithoutExtensions, shares[i].of(result.WithoutExtensions))
	}
	_, _, m.Largest = rank(all)
	m.Median = (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	return m
}

// ranks returns the smallest, the middle and the largest of each figure.
func ranks(draws []MedianLargest) (low, middle, high MedianLargest) {
	for _, field := range []func(*MedianLargest) *float64{
		func(m *MedianLargest) *float64 { return &m.Median },
		func(m *MedianLargest) *float64 { return &m.Largest },
		func(m *MedianLargest) *float64 { return &m.LargestWithoutExtensions },
	} {
		var all []float64
		for i := range draws {
			all = append(all, *field(&draws[i]))
		}
		*field(&low), *field(&middle), *field(&high) = rank(all)
	}
	return low, middle, high
}

// Routing compares routings with load held constant, over the steady rows that
// are the same in lookup, instances (two or more), capacity and window.
type Routing struct {
	Pairs []RoutingPair `json:"pairs"`
	Rows  int           `json:"rows"` // of affinity and of round robin
	// Means over those rows of the redundancy of affinity less that of round robin,
	// and its two parts: of matched_load (its mean over the draws) less round robin,
	// which is what the uneven load does without the prefixes, and of affinity less
	// matched_load, which is what the prefixes do at the same load.
	AffinityLessRoundRobin float64 `json:"affinity_less_round_robin_share"`
	Load                   float64 `json:"load_share"`
	Prefix                 float64 `json:"prefix_share"`
	// The smallest and the largest Load of a single draw: Prefix is as wide.
	LoadLow   float64 `json:"load_low_share"`
	LoadHigh  float64 `json:"load_high_share"`
	Statement string  `json:"statement"` // the same in words
}

// RoutingPair counts pairs of rows by which of two routings has the higher
// redundancy. A drawn routing stands once for each draw.
type RoutingPair struct {
	A              string  `json:"a"`
	B              string  `json:"b"`
	Pairs          int     `json:"pairs"`
	Higher         int     `json:"higher"` // A has the higher redundancy
	Equal          int     `json:"equal"`
	Lower          int     `json:"lower"`
	MeanDifference float64 `json:"mean_difference_share"` // A less B
	AImbalance     float64 `json:"a_largest_request_imbalance"`
	BImbalance     float64 `json:"b_largest_request_imbalance"`
}

// under returns a routing's rows for a configuration, one a draw.
func (b *beside) under(routing string, c result.Config) (rows []counted) {
	c.Routing = routing
	if b.of[c] != nil {
		return []counted{b.grid(c)}
	}
	if row, ok := b.arms[armKey{result.Arm{Ties: result.Simultaneous}, c}]; ok {
		return []counted{row}
	}
	for seed := range int64(b.asked.Seeds) {
		if row, ok := b.arms[armKey{result.Arm{Ties: result.Simultaneous, Seed: seed + 1}, c}]; ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func (b *beside) routing() *Routing {
	var configs []result.Config // without routing
	for affinity := range b.pairs(routingAxis, FirstBlockAffinity, RoundRobin) {
		if affinity.Instances > 1 {
			configs = append(configs, affinity.Config)
		}
	}
	if len(configs) == 0 {
		return nil
	}
	r := &Routing{Rows: len(configs)}
	for _, names := range [][2]string{
		{FirstBlockAffinity, RoundRobin},
		{FirstBlockAffinity, result.MatchedLoad},
		{result.MatchedLoad, RoundRobin},
		{FirstBlockAffinity, result.AffinityBoundedLoad},
		{result.AffinityBoundedLoad, RoundRobin},
		{result.LeastLoaded, RoundRobin},
	} {
		pair := RoutingPair{A: names[0], B: names[1]}
		for _, c := range configs {
			for _, x := range b.under(pair.A, c) {
				for _, y := range b.under(pair.B, c) {
					pair.add(&x, &y)
				}
			}
		}
		pair.MeanDifference /= float64(pair.Pairs)
		r.Pairs = append(r.Pairs, pair)
	}
	r.AffinityLessRoundRobin = r.Pairs[0].MeanDifference
	r.Prefix = r.Pairs[1].MeanDifference
	r.Load = r.Pairs[2].MeanDifference
	r.LoadLow, r.LoadHigh = b.loads(configs)
	r.Statement = r.words()
	return r
}

// loads returns the smallest and the largest over the draws of the mean of
// matched_load less round robin.
func (b *beside) loads(configs []result.Config) (low, high float64) {
	var means []float64
	for draw := range b.asked.Seeds {
		var sum float64
		for _, c := range configs {
			matched, roundRobin := b.under(result.MatchedLoad, c)[draw], b.under(RoundRobin, c)[0]
			sum += matched.of(result.All) - roundRobin.of(result.All)
		}
		means = append(means, sum/float64(len(configs)))
	}
	low, _, high = rank(means)
	return low, high
}

func (p *RoutingPair) add(a, b *counted) {
	p.Pairs++
	switch ratio(&a.Counts).Cmp(ratio(&b.Counts)) {
	case 1:
		p.Higher++
	case 0:
		p.Equal++
	default:
		p.Lower++
	}
	p.MeanDifference += a.of(result.All) - b.of(result.All)
	p.AImbalance = max(p.AImbalance, a.imbalance)
	p.BImbalance = max(p.BImbalance, b.imbalance)
}

// Unclear says which parts lie on both sides of nothing over the draws. The
// prefix is the whole less the load, and as far from it as a draw may be.
func (r *Routing) Unclear() (load, prefix bool) {
	if r.LoadLow == r.LoadHigh {
		return false, false // every draw is the same
	}
	return r.LoadLow <= 0 && r.LoadHigh >= 0, r.AffinityLessRoundRobin-r.LoadHigh <= 0 && r.AffinityLessRoundRobin-r.LoadLow >= 0
}

// words says which part of the difference is load and which is prefix.
func (r *Routing) words() string {
	points := func(x float64) string {
		if x < 0 {
			x = -x
		}
		return fmt.Sprintf("%.6f points", 100*x)
	}
	direction := func(x float64) string {
		switch {
		case x > 0:
			return points(x) + " higher than"
		case x < 0:
			return points(x) + " lower than"
		}
		return "the same as"
	}
	text := fmt.Sprintf("Over %d rows of two or more instances the redundancy of first_block_affinity, in percent of attempts, is on average %s that of round_robin. "+
		"With its load but not its prefixes (matched_load) it is %s round_robin; with its prefixes at that load, %s matched_load. ",
		r.Rows, direction(r.AffinityLessRoundRobin), direction(r.Load), direction(r.Prefix))
	total, load, prefix := r.AffinityLessRoundRobin, r.Load, r.Prefix
	if r.LoadLow != r.LoadHigh {
		text += fmt.Sprintf("A single draw of matched_load is %+.6f to %+.6f points from round_robin. ", 100*r.LoadLow, 100*r.LoadHigh)
	}
	loadUnclear, prefixUnclear := r.Unclear()
	switch {
	case loadUnclear && prefixUnclear:
		return text + "Neither part can be told from nothing by these draws."
	case loadUnclear:
		return text + "The part of the load cannot be told from nothing by these draws: what can be told is prefix."
	case load == 0 && prefix == 0:
		return text + "Neither load nor prefix makes a difference here."
	case prefixUnclear:
		return text + "The part of the prefixes cannot be told from nothing by these draws: what can be told is load."
	case load == 0:
		return text + "All of it is prefix."
	case prefix == 0:
		return text + "All of it is load."
	case (load > 0) == (prefix > 0):
		return text + fmt.Sprintf("Both go the same way: %.0f %% of it is load, %.0f %% prefix.", 100*load/total, 100*prefix/total)
	case (load > 0) == (total > 0):
		return text + "They go opposite ways: the direction is that of the load, and the prefixes work against it."
	default:
		return text + "They go opposite ways: the direction is that of the prefixes, and the load works against it."
	}
}

// Shares are three shares that answer three questions, and are never merged.
type Shares struct {
	DuplicateCohorts  float64 `json:"duplicate_cohorts_share"`  // duplicate cohorts ÷ cohorts: how often is a load wanted twice?
	DuplicateAttempts float64 `json:"duplicate_attempts_share"` // duplicate attempts ÷ attempts: how many attempts meet another?
	Redundancy        float64 `json:"redundancy_share"`         // joins ÷ attempts: how many would an ideal single-flight save?
}
