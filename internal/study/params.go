package study

import (
	"fmt"
	"math"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
)

// DefaultGrid returns the grid of the published study: 420 configurations.
func DefaultGrid() result.Grid {
	grid := result.Grid{
		Instances:        []int{1, 2, 4, 8, 16},
		CapacitiesBlocks: []int{1_000, 10_000, 100_000},
		WindowsMS:        []int64{10, 30, 100, 300, 1_000, 3_000, 10_000},
	}
	for _, l := range fanin.Lookups {
		grid.Lookups = append(grid.Lookups, l.String())
	}
	for _, p := range route.Policies[:2] {
		grid.Routings = append(grid.Routings, p.Name)
	}
	return grid
}

// DefaultWarmup is the warm-up share of the published study.
const DefaultWarmup = "0.1"

// Params is what a study asks of every trace.
type Params struct {
	Grid    result.Grid
	Warmup  Share
	Control fanin.Control
	Cohorts bool // also write a row a cohort
	// NoCollapse runs every configuration by itself, also those that are
	// proved to be one experiment. It changes no result.
	NoCollapse bool
	// Sensitivity is what is run beside the grid; nil: nothing.
	Sensitivity *result.Sensitivity
}

// check returns an error if there is a configuration the model does not have.
func (p *Params) check() error {
	for _, c := range p.Grid.Configs() {
		if _, err := p.model(c); err != nil {
			return err
		}
		policy, err := route.ByName(c.Routing)
		if err != nil {
			return err
		}
		if policy.Drawn {
			return fmt.Errorf("routing %s: one draw of it is no measurement; --sensitivity runs several beside the grid", c.Routing)
		}
		if c.Instances < 1 {
			return fmt.Errorf("instances %d: want at least 1", c.Instances)
		}
	}
	return nil
}

// model returns the model's form of a configuration.
func (p *Params) model(c result.Config) (fanin.Config, error) {
	lookup, err := fanin.LookupByName(c.Lookup)
	if err != nil {
		return fanin.Config{}, err
	}
	if c.CapacityBlocks < 1 {
		return fanin.Config{}, fmt.Errorf("capacity %d: want at least 1 block", c.CapacityBlocks)
	}
	if c.WindowMS < 1 || c.WindowMS > math.MaxInt64/2 {
		return fanin.Config{}, fmt.Errorf("window %d ms: want at least 1", c.WindowMS)
	}
	return fanin.Config{
		Lookup:   lookup,
		Capacity: c.CapacityBlocks,
		Window:   fanin.Window(c.WindowMS),
		Control:  p.Control,
	}, nil
}
