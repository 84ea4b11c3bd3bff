package study

import (
	"slices"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/route"
)

// This file says which configurations are one experiment. It can be proved
// before anything is run: an instance gives the same counts in two
// configurations if it serves the same requests, if every comparison of an
// arrival with a completion comes out the same, and if as many blocks fit into
// its cache of those it will ever see. See docs/adr/0008.

// plan is the experiments of one trace.
type plan struct {
	*reading
	params  *Params
	configs []result.Config
	wanted  []bool // of each configuration: it is to be run
	tree    bool   // every block of the trace names its whole prefix
	deals   []deal
	members map[member][]member // of each origin: all that serve the same requests, itself included
}

// deal is a trace under one routing and number of instances.
type deal struct {
	routing   string
	instances int
	assigned  []uint32
	origin    []member // of each instance: the first in the plan that serves the same requests
}

// has reports whether a configuration is of the deal.
func (d *deal) has(c result.Config) bool {
	return d.routing == c.Routing && d.instances == c.Instances
}

// member is an instance of a deal.
type member struct{ deal, instance int }

// user is an instance of a configuration.
type user struct{ config, instance int }

// experiment is a stream under one lookup and capacity, and under one window
// unless unbounded.
type experiment struct {
	stream    *stream
	unbounded bool // all blocks fit into the cache: all windows in one run
	lookup    fanin.Lookup
	capacity  int
	control   fanin.Control
	windows   []fanin.Window // ascending
	users     [][]user       // of each window: who takes what it gives
}

// newPlan deals a trace out under every routing and number of instances,
// those of few instances first, since theirs are the long streams.
func newPlan(rd *reading, p *Params, wanted []bool) (*plan, error) {
	pl := &plan{reading: rd, params: p, configs: p.Grid.Configs(), wanted: wanted}
	columns := columnsOf(rd.trace, rd.steady)
	pl.tree = columns.IsPrefixTree()
	for _, instances := range slices.Sorted(slices.Values(p.Grid.Instances)) {
		for _, routing := range p.Grid.Routings {
			policy, err := route.ByName(routing)
			if err != nil {
				return nil, err
			}
			pl.deals = append(pl.deals, deal{routing: routing, instances: instances, assigned: policy.Assign(rd.trace, instances, rd.seed)})
		}
	}
	pl.findOrigins()
	return pl, nil
}

// findOrigins finds the instances that serve the same requests.
func (pl *plan) findOrigins() {
	type mark struct{ requests, hash uint64 }
	known := map[mark][]member{}
	pl.members = map[member][]member{}
	for d := range pl.deals {
		dl := &pl.deals[d]
		marks := make([]mark, dl.instances)
		for i, k := range dl.assigned {
			m := &marks[k]
			m.requests++
			m.hash = (m.hash ^ uint64(i)) * 0x9E3779B97F4A7C15
		}
		for k, mark := range marks {
			self := member{d, k}
			origin := self
			at := slices.IndexFunc(known[mark], func(m member) bool { return mark.requests == 0 || pl.same(m, self) })
			if at >= 0 {
				origin = known[mark][at]
			} else {
				known[mark] = append(known[mark], self)
			}
			dl.origin = append(dl.origin, origin)
			pl.members[origin] = append(pl.members[origin], self)
		}
	}
}

// same reports whether two instances serve the same requests.
func (pl *plan) same(a, b member) bool {
	other := pl.deals[b.deal].assigned
	for i, k := range pl.deals[a.deal].assigned {
		if (int(k) == a.instance) != (int(other[i]) == b.instance) {
			return false
		}
	}
	return true
}

// split makes the streams of a deal that came up in no deal before.
func (pl *plan) split(d int) []stream {
	dl := &pl.deals[d]
	fresh := make([]bool, dl.instances)
	for k, origin := range dl.origin {
		fresh[k] = origin == member{d, k}
	}
	if !slices.Contains(fresh, true) {
		return nil
	}
	return split(pl.reading, dl.assigned, fresh)
}

// experiments returns what is to be run of the streams that come up first in
// deal d, for all who use them.
func (pl *plan) experiments(d int) []experiment {
	var list []experiment
	streams := pl.split(d)
	for k := range streams {
		if members := pl.members[member{d, k}]; members != nil {
			list = append(list, pl.experimentsOf(&streams[k], members)...)
		}
	}
	return list
}

func (pl *plan) experimentsOf(s *stream, members []member) []experiment {
	grid := &pl.params.Grid
	windows := slices.Sorted(slices.Values(grid.WindowsMS))
	class, leaders := windowClasses(s.ArrivalMS, windows)

	type kind struct {
		lookup    fanin.Lookup
		capacity  int
		unbounded bool
	}
	var kinds []kind
	at := map[kind][]experiment{} // one a window class; of unbounded, one with all
	for i, c := range pl.configs {
		if !pl.wanted[i] {
			continue
		}
		model, err := pl.params.model(c)
		if err != nil {
			panic(err) // the parameters were checked before the plan was made
		}
		var users []user
		for _, m := range members {
			if pl.deals[m.deal].has(c) {
				users = append(users, user{i, m.instance})
			}
		}
		if len(users) == 0 {
			continue
		}
		k := kind{lookup: model.Lookup, capacity: min(c.CapacityBlocks, s.Blocks)}
		if k.capacity == s.Blocks && pl.params.Control == fanin.NoControl && (k.lookup == fanin.IndependentBlocks || pl.tree) {
			k = kind{unbounded: true}
		}
		if at[k] == nil {
			kinds = append(kinds, k)
			e := experiment{stream: s, unbounded: k.unbounded, lookup: k.lookup, capacity: max(k.capacity, 1), control: pl.params.Control}
			if k.unbounded {
				e.windows, e.users = leaders, make([][]user, len(leaders))
				at[k] = []experiment{e}
			} else {
				for w := range leaders {
					e.windows, e.users = leaders[w:w+1], make([][]user, 1)
					at[k] = append(at[k], e)
				}
			}
		}
		w := class[slices.Index(windows, c.WindowMS)]
		if k.unbounded {
			at[k][0].users[w] = append(at[k][0].users[w], users...)
		} else {
			at[k][w].users[0] = append(at[k][w].users[0], users...)
		}
	}
	var list []experiment
	for _, k := range kinds {
		for _, e := range at[k] {
			if slices.ContainsFunc(e.users, func(u []user) bool { return len(u) > 0 }) {
				list = append(list, e)
			}
		}
	}
	return list
}

// windowClasses puts ascending windows into classes under which a run over the
// arrivals makes the same comparisons: an arrival comes before a completion if
// it is less than a window after an earlier arrival, and no two arrivals are
// apart by as much as one window of a class and less than another. class gives
// the class of each window, leaders the shortest window of each class.
func windowClasses(arrivalMS []int64, windowsMS []int64) (class []int, leaders []fanin.Window) {
	for i, w := range windowsMS {
		if i == 0 || someApart(arrivalMS, windowsMS[i-1], w) {
			leaders = append(leaders, fanin.Window(w))
		}
		class = append(class, len(leaders)-1)
	}
	return class, leaders
}

// someApart reports whether two arrivals are at least from and less than to
// apart, in ms.
func someApart(arrivalMS []int64, from, to int64) bool {
	first := 0 // the earliest that is less than to before
	for _, now := range arrivalMS {
		for now-arrivalMS[first] >= to {
			first++
		}
		if now-arrivalMS[first] >= from {
			return true
		}
	}
	return false
}
