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
	// Assign returns the instance, from 0 to instances - 1, of each request.
	Assign func(t *trace.Trace, instances int) []uint32
}

// Policies are the policies there are, in the order of the grid.
var Policies = []Policy{
	{"round_robin", roundRobin},
	{"first_block_affinity", firstBlockAffinity},
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
