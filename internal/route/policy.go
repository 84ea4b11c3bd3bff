package route

import (
	"fmt"
	"strings"

	"kvfanin/internal/trace"
)

// Policy is a routing policy.
type Policy struct {
	// Name is what files and the command line call it.
	Name string
	// Drawn says that the policy depends on its seed: what it gives is one draw
	// of many, and no measurement by itself.
	Drawn bool
	// Assign returns the instance, from 0 to instances - 1, of each request. Where
	// nothing is drawn the seed is not looked at.
	Assign func(t *trace.Trace, instances int, seed int64) []uint32
}

// Policies are the policies there are: those of the published study in the
// order of its grid, then those that tell its load from its prefixes.
var Policies = []Policy{
	{"round_robin", false, roundRobin},
	{"first_block_affinity", false, firstBlockAffinity},
	{"affinity_bounded_load", false, affinityBoundedLoad},
	{"matched_load", true, matchedLoad},
	{"least_loaded", false, leastLoaded},
}

// ByName returns the policy of that name, or an error that lists those there
// are.
func ByName(name string) (Policy, error) {
	names := make([]string, len(Policies))
	for i, p := range Policies {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Policy{}, fmt.Errorf("routing %q: there are %s", name, strings.Join(names, ", "))
}
