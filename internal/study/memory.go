package study

import (
	"kvfanin/internal/route"
	"kvfanin/internal/trace"
)

const mib = 1 << 20

// Memory is what a study needs at its peak at most, in bytes.
type Memory struct {
	Shared int64 // however many workers there are
	Worker int64 // and for each of them
}

// Workers returns how many of jobs workers a limit in bytes has room for, at
// least one.
func (m Memory) Workers(limit int64, jobs int) int {
	return int(max(1, min(int64(jobs), (limit-m.Shared)/m.Worker)))
}

// MemoryOf adds up the arrays of a study, with l lookups, d distinct blocks and
// r requests. Shared are
//
//	4·l + 8·d + 32·r       a trace, of all
//	2·(4·l + 5·b + 20·r)   two deals of a trace to several instances, as the next
//	                       is made while the last runs; b ≤ l blocks of all
//	                       streams of a deal together, with room to grow
//	4·r·g                  who serves a request in each of the grid's g deals
//	12·d + 16·r            numbering the streams, and the profile
//
// and a worker has, for the largest stream,
//
//	36·d                     what is known of a block, in both kinds of run, and its joins
//	4·min(8·min(c, d), l)    the log of a cache of c blocks
//	8·r                      what was found of a request
//	32 MiB                   to write cohorts, if it does
//
// each and an eighth for what is not collected yet; shared is also 32 MiB for
// the program and the rows. Not in it are 16 bytes for each block that is joined, in
// each configuration that waits for an instance: of a real trace few are.
func MemoryOf(traces []*trace.Trace, p Params) (Memory, error) {
	m := Memory{Worker: mib}
	var capacity, columns, most int64 // most of one trace beside the columns of all
	for _, c := range p.Grid.CapacitiesBlocks {
		capacity = max(capacity, int64(c))
	}
	for _, t := range traces {
		l, d, r := int64(t.Lookups()), int64(len(t.Hash)), int64(t.Requests())
		columns += 4*l + 8*d + 32*r
		var several, blocks, deals int64
		for _, instances := range p.Grid.Instances {
			for _, routing := range p.Grid.Routings {
				policy, err := route.ByName(routing)
				if err != nil {
					return Memory{}, err
				}
				largest, all := sizes(t, policy.Assign(t, instances, 0), instances)
				deals++
				if instances > 1 { // one instance has the trace's own columns
					several++
					blocks = max(blocks, all)
				}
				log := min(8*min(capacity, largest.blocks), largest.lookups)
				m.Worker = max(m.Worker, 36*largest.blocks+4*log+8*largest.requests)
			}
		}
		most = max(most, min(2, several)*(4*l+5*blocks+20*r)+4*r*deals+12*d+16*r)
	}
	if p.Cohorts {
		m.Worker += 32 * mib
	}
	m.Shared = (columns+most)*9/8 + 32*mib
	m.Worker = m.Worker * 9 / 8
	return m, nil
}

// size is how much an instance serves.
type size struct{ requests, lookups, blocks int64 }

// sizes returns the largest stream of a deal, each figure by itself, and a
// bound of the blocks of all streams together.
func sizes(t *trace.Trace, assigned []uint32, instances int) (largest size, blocks int64) {
	all := make([]size, instances)
	for i, k := range assigned {
		all[k].requests++
		all[k].lookups += int64(len(t.Blocks(i)))
	}
	for _, s := range all {
		s.blocks = min(s.lookups, int64(len(t.Hash)))
		blocks += s.blocks
		largest = size{max(largest.requests, s.requests), max(largest.lookups, s.lookups), max(largest.blocks, s.blocks)}
	}
	return largest, blocks
}
