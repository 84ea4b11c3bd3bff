package study

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"kvfanin/internal/reference"
	"kvfanin/internal/result"
)

// TestMutants breaks the rules of the model one at a time and shows that
// figures of the study would have told: with each, the redundancy or the
// largest fan-in of a row, as printed, comes out otherwise than the engine and
// the unbroken reference have it.
func TestMutants(t *testing.T) {
	mutants := []reference.Break{
		reference.InsertOnMiss,
		reference.JoinsProlong,
		reference.NoRefreshAtCompletion,
		reference.NoRefreshAtHit,
		reference.ArrivalsBeforeCompletion,
		reference.CachedSuffixHits,
		reference.WarmupByCount,
		reference.SharedCohorts,
	}
	config := func(instances, capacity int, windowMS int64) result.Config {
		return result.Config{
			Lookup: "contiguous_prefix", Routing: "round_robin",
			Instances: instances, CapacityBlocks: capacity, WindowMS: windowMS,
		}
	}
	configs := []result.Config{
		config(1, 1_000, 1_000),
		config(1, 1_000, 3_000),
		config(1, 1_000, 10_000),
		config(1, 10_000, 10_000),
		config(4, 1_000, 1_000),
	}
	caught := map[reference.Break]string{}
	for _, name := range []string{"conversation", "synthetic"} {
		tr := publicTrace(t, name)
		requests := requestsOf(tr)
		warmup, err := ParseShare(DefaultWarmup)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range configs {
			outcome, err := Simulate(tr, c, warmup, 0)
			if err != nil {
				t.Fatal(err)
			}
			row := outcome.PhaseRows(name, c)[result.Steady]
			want := printed(row.Joins, row.Attempts, row.FanInMax)
			if got := broken(requests, c, reference.Nothing); got != want {
				t.Errorf("%s %+v: engine has %s, reference %s", name, c, want, got)
			}
			for _, m := range mutants {
				if caught[m] != "" {
					continue
				}
				if got := broken(requests, c, m); got != want {
					caught[m] = fmt.Sprintf("%s %+v: %s instead of %s", name, c, got, want)
				}
			}
		}
	}
	for _, m := range mutants {
		if caught[m] == "" {
			t.Errorf("no figure tells that %s", m)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(caught)) {
		t.Logf("%s: %s", m, caught[m])
	}
}

// broken returns the figures of the reference model with a rule broken.
func broken(requests []reference.Request, c result.Config, rule reference.Break) string {
	out := reference.Model{
		Contiguous:   c.Lookup == "contiguous_prefix",
		Route:        routeOf(c.Routing, c.Instances),
		Instances:    c.Instances,
		Capacity:     c.CapacityBlocks,
		WindowMS:     c.WindowMS,
		WarmupTenths: 1,
		Break:        rule,
	}.Run(requests)
	var joins, attempts, largest int64
	for _, counts := range out.Counts {
		joins += counts[1].Joins
		attempts += counts[1].Attempts
		for _, f := range counts[1].FanIn {
			largest = max(largest, f)
		}
	}
	return printed(joins, attempts, largest)
}

func printed(joins, attempts, largest int64) string {
	return fmt.Sprintf("redundancy %.6f %%, largest fan-in %d", 100*float64(joins)/float64(attempts), largest)
}
