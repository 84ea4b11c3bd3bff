package study

import (
	"slices"

	"kvfanin/internal/trace"
)

// Explanation says what the plan of a trace saves, and why. Each number of
// lookups is what is left to run after one more reason.
type Explanation struct {
	Trace          string
	Configurations int
	Instances      int  // of all routings and numbers of instances
	Streams        int  // different ones they serve
	Experiments    int  // that are run
	Unbounded      int  // of those, with room for all blocks: all windows in one pass
	PrefixTree     bool // every block names its whole prefix, so that both lookups are one there

	Lookups         int64 // of every configuration by itself
	AfterRequests   int64 // instances that serve the same requests are run once
	AfterWindows    int64 // and windows that make the same comparisons
	AfterCapacities int64 // and capacities that hold all blocks
	AfterUnbounded  int64 // and with those, all windows and both lookups in one pass
}

// Explain returns what the plan of a trace saves. It runs nothing.
func Explain(t *trace.Trace, p Params) (*Explanation, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	pl, err := newPlan(asItStands(t, p.Warmup), &p, every(len(p.Grid.Configs())))
	if err != nil {
		return nil, err
	}
	x := &Explanation{Trace: t.Name, Configurations: len(pl.configs), PrefixTree: pl.tree}
	grid := &p.Grid
	windows := slices.Sorted(slices.Values(grid.WindowsMS))
	for d := range pl.deals {
		x.Instances += pl.deals[d].instances
		// A lookup and a capacity under every window, for each pair of them.
		x.Lookups += int64(len(grid.Lookups) * len(grid.CapacitiesBlocks) * len(windows) * t.Lookups())
		var last *stream
		for _, e := range pl.experiments(d) {
			x.Experiments++
			x.AfterUnbounded += int64(len(e.stream.Block))
			if e.unbounded {
				x.Unbounded++
			}
			if e.stream == last {
				continue
			}
			last = e.stream
			x.Streams++
			class, _ := windowClasses(last.ArrivalMS, windows)
			var held []int
			for _, c := range grid.CapacitiesBlocks {
				if c = min(c, last.Blocks); !slices.Contains(held, c) {
					held = append(held, c)
				}
			}
			lookups := int64(len(grid.Lookups) * len(last.Block))
			x.AfterRequests += lookups * int64(len(grid.CapacitiesBlocks)*len(windows))
			x.AfterWindows += lookups * int64(len(grid.CapacitiesBlocks)*(slices.Max(class)+1))
			x.AfterCapacities += lookups * int64(len(held)*(slices.Max(class)+1))
		}
	}
	return x, nil
}
