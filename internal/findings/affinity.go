package findings

import (
	"cmp"
	"slices"

	"kvfanin/internal/result"
)

// The routings that are compared.
const (
	FirstBlockAffinity = "first_block_affinity"
	RoundRobin         = "round_robin"
)

// Affinity compares first-block affinity with round robin over the pairs of
// rows that are the same in lookup, instances, capacity and window.
type Affinity struct {
	Comparison
	ByInstances []AtInstances `json:"by_instances"` // ascending
}

// AtInstances is the comparison over the pairs with one number of instances.
type AtInstances struct {
	Instances int `json:"instances"`
	Comparison
}

// Comparison counts pairs by how the redundancy of affinity compares with that
// of round robin, exactly, and holds beside it what either does to the load.
type Comparison struct {
	Pairs  int `json:"pairs"`
	Higher int `json:"higher"` // affinity has the higher redundancy
	Equal  int `json:"equal"`
	Lower  int `json:"lower"`
	// The largest request imbalance: most requests on one instance ÷ mean per
	// instance. 1 is even; at N instances, N is all requests on one of them.
	AffinityImbalance   float64 `json:"first_block_affinity_largest_request_imbalance"`
	RoundRobinImbalance float64 `json:"round_robin_largest_request_imbalance"`
}

func affinityOf(s *steady) (*Affinity, *Absence) {
	var all Affinity
	at := make(map[int]*AtInstances)
	for affinity, roundRobin := range s.pairs(routingAxis, FirstBlockAffinity, RoundRobin) {
		n := affinity.Instances
		if at[n] == nil {
			at[n] = &AtInstances{Instances: n}
		}
		all.add(affinity, roundRobin)
		at[n].add(affinity, roundRobin)
	}
	if all.Pairs == 0 {
		return nil, s.unpaired(AffinityVsRoundRobin, routingAxis, FirstBlockAffinity, RoundRobin)
	}
	for _, c := range at {
		all.ByInstances = append(all.ByInstances, *c)
	}
	slices.SortFunc(all.ByInstances, func(a, b AtInstances) int { return cmp.Compare(a.Instances, b.Instances) })
	return &all, nil
}

func (c *Comparison) add(affinity, roundRobin *result.PhaseRow) {
	c.Pairs++
	switch ratio(&affinity.Counts).Cmp(ratio(&roundRobin.Counts)) {
	case 1:
		c.Higher++
	case 0:
		c.Equal++
	default:
		c.Lower++
	}
	c.AffinityImbalance = max(c.AffinityImbalance, affinity.RequestImbalance)
	c.RoundRobinImbalance = max(c.RoundRobinImbalance, roundRobin.RequestImbalance)
}
