package study

import (
	"cmp"
	"slices"

	"kvfanin/internal/fanin"
)

// Where cohorts are kept, a file holds those of whole configurations. This file
// says which of them are one experiment on every instance, and so share one.

// alike returns the deals in which the same instances serve the same requests
// as in deal d, and others none.
func (pl *plan) alike(d int) []int {
	var deals []int
	for e := range pl.deals {
		if slices.Equal(pl.deals[d].assigned, pl.deals[e].assigned) {
			deals = append(deals, e)
		}
	}
	return deals
}

// groups returns the configurations of deals that are alike, the first of which
// has these streams, in groups that are one experiment. In a group those with
// fewer instances come first: the instances the others have besides serve
// nothing.
func (pl *plan) groups(alike []int, streams []stream) [][]int {
	windows := slices.Sorted(slices.Values(pl.params.Grid.WindowsMS))
	class := make([]int, len(windows)) // under which all instances compare alike
	blocks := 0                        // distinct ones at the instance that has most
	for k := range streams {
		s := &streams[k]
		blocks = max(blocks, s.Blocks)
		for w := 1; w < len(windows); w++ {
			if someApart(s.ArrivalMS, windows[w-1], windows[w]) {
				class[w] = 1
			}
		}
	}
	for w := 1; w < len(windows); w++ {
		class[w] += class[w-1]
	}

	type kind struct {
		lookup           fanin.Lookup
		capacity, window int
	}
	var order []kind
	members := map[kind][]int{}
	for i, c := range pl.configs {
		if !slices.ContainsFunc(alike, func(e int) bool { return pl.deals[e].has(c) }) {
			continue
		}
		model, err := pl.params.model(c)
		if err != nil {
			panic(err) // the parameters were checked before the plan was made
		}
		k := kind{model.Lookup, min(c.CapacityBlocks, blocks), class[slices.Index(windows, c.WindowMS)]}
		if k.capacity == blocks && pl.tree && pl.params.Control == fanin.NoControl {
			k.lookup = fanin.ContiguousPrefix // and the other is the same
		}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], i)
	}
	var groups [][]int
	for _, k := range order {
		slices.SortStableFunc(members[k], func(a, b int) int {
			return cmp.Compare(pl.configs[a].Instances, pl.configs[b].Instances)
		})
		groups = append(groups, members[k])
	}
	return groups
}
