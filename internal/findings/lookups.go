package findings

import "math/big"

// The lookup rules that are compared.
const (
	ContiguousPrefix  = "contiguous_prefix"
	IndependentBlocks = "independent_blocks"
)

// Lookups compares the two lookup rules over the pairs of rows that are the
// same in routing, instances, capacity and window.
type Lookups struct {
	Pairs int `json:"pairs"`
	// LargestDifference is the largest |difference| of two redundancies.
	LargestDifference float64 `json:"largest_difference_share"`
	// At is where that is; nil where all pairs are equal.
	At             *Config `json:"at"`
	PairsAtLargest int     `json:"pairs_at_largest_difference"`
	// The two redundancies there; 0 where At is nil.
	ContiguousPrefix  float64 `json:"contiguous_prefix_redundancy_share"`
	IndependentBlocks float64 `json:"independent_blocks_redundancy_share"`
}

func lookupsOf(s *steady) (*Lookups, *Absence) {
	var l Lookups
	largest := new(big.Rat)
	for a, b := range s.pairs(lookupAxis, ContiguousPrefix, IndependentBlocks) {
		l.Pairs++
		ra, rb := ratio(&a.Counts), ratio(&b.Counts)
		difference := new(big.Rat).Sub(ra, rb)
		difference.Abs(difference)
		switch difference.Cmp(largest) {
		case 1:
			at := Config(a.Config)
			at.Lookup = ""
			largest, l.At, l.PairsAtLargest = difference, &at, 1
			l.ContiguousPrefix, l.IndependentBlocks = float(ra), float(rb)
		case 0:
			l.PairsAtLargest++
		}
	}
	if l.Pairs == 0 {
		return nil, s.unpaired(LookupDifference, lookupAxis, ContiguousPrefix, IndependentBlocks)
	}
	l.LargestDifference = float(largest)
	return &l, nil
}
