package probe

import (
	"fmt"
	"strings"
)

// Case is parameters, and the counts that are expected of them.
type Case struct {
	Name       string
	Target     *Target
	Parameters Parameters
	Why        string // what it is there to show, in a line

	// Removes says which duplicated resource the path removes, and by what. It
	// stands in the comparison of layers; empty in a case that is no path of its
	// own.
	Removes string
	// Apart says why the model and the stack do not agree in this case. It is
	// empty where they must.
	Apart string

	expect   Expected
	real     Expected            // what is other with a real store
	releases map[string]Expected // what is other in a release
}

// Expected returns the counts expected of the case with these versions
// installed. Those of a release that is not known are the default release's.
func (c *Case) Expected(versions map[string]string) Expected {
	expected := c.expect
	if c.Parameters.Store == StoreReal {
		expected = expected.with(c.real)
	}
	version, _, _ := strings.Cut(versions[c.Target.Environment.Package], "+")
	return expected.with(c.releases[version])
}

// NeedsRealStore reports whether the case is none with the fake store.
func (c *Case) NeedsRealStore() bool { return c.Parameters.Fault == "owner_killed" }

// HasStore reports whether the case can run with either store.
func (c *Case) HasStore() bool { return c.Target.Name == "vllm-mooncake" }

// With returns the case with another store or device, where it has that choice.
func (c *Case) With(store, device string) *Case {
	other := *c
	if store != "" && c.HasStore() {
		other.Parameters.Store = store
	}
	if device != "" {
		other.Parameters.Device = device
	}
	return &other
}

// CaseByName returns the case of that name, or an error that lists those there
// are.
func CaseByName(name string) (*Case, error) {
	names := make([]string, len(Cases))
	for i, c := range Cases {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	return nil, fmt.Errorf("case %q: there are %s", name, strings.Join(names, ", "))
}

// CasesOf returns the cases of a target.
func CasesOf(t *Target) (cases []*Case) {
	for _, c := range Cases {
		if c.Target == t {
			cases = append(cases, c)
		}
	}
	return cases
}

// Custom returns a case of these parameters. It is a named one if that has the
// same, whatever the store and the device; else nothing is expected of it.
func Custom(t *Target, p Parameters) *Case {
	for _, c := range CasesOf(t) {
		same := c.Parameters
		same.Device = p.Device
		if c.HasStore() {
			same.Store = p.Store
		}
		if same == p {
			return c.With(p.Store, p.Device)
		}
	}
	p.fit()
	return &Case{Name: "custom", Target: t, Parameters: p, Why: "parameters given by hand"}
}

// part is one number expected of several counts.
type part struct {
	snapshot string
	is       Range
	names    []string
}

func exactly(snapshot string, n int64, names ...string) part {
	return part{snapshot, Range{n, n}, names}
}

func between(snapshot string, least, most int64, names ...string) part {
	return part{snapshot, Range{least, most}, names}
}

// expect puts parts together; a count that stands twice is the later.
func expect(parts ...part) Expected {
	e := Expected{}
	for _, p := range parts {
		if e[p.snapshot] == nil {
			e[p.snapshot] = map[string]Range{}
		}
		for _, name := range p.names {
			e[p.snapshot][name] = p.is
		}
	}
	return e
}
