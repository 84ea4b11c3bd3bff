package decision

// Ownership is what one design of ownership leaves of the steps of a cold
// load, as rates for this trace, and what it risks. Rates are of blocks: where
// one lookup or Get serves several blocks of a request they are upper bounds.
type Ownership struct {
	Design           string   `json:"design"`
	LookupsPerS      float64  `json:"lookups_per_s"` // at the store
	LoadSpecsPerS    float64  `json:"load_specs_per_s"`
	QueueEntriesPerS float64  `json:"queue_entries_per_s"`
	GetsPerS         float64  `json:"gets_per_s"`
	BytesPerS        *float64 `json:"bytes_per_s"`      // from the store; nil: the size of a block is not known
	GPUBlocksPerS    float64  `json:"gpu_blocks_per_s"` // allocated to load or recompute into
	CopiesPerS       float64  `json:"copies_per_s"`     // of a block, in the worker
	PrefillsPerS     float64  `json:"prefills_per_s"`   // of a block that was in the store
	// WaitMSPerS is followers × extra delay × share of slow owners, without a
	// deadline; DeadlineMSPerS what deadline_ms gives back of it, and
	// DeadlineGetsPerS the Gets that come back in exchange.
	WaitMSPerS       float64 `json:"wait_ms_per_s"`
	DeadlineMSPerS   float64 `json:"deadline_ms_per_s"`
	DeadlineGetsPerS float64 `json:"deadline_gets_per_s"`
	Basis            string  `json:"basis"` // what was seen, and what of the row is more than that
}

// The row of a design for a cohort of fan-in f, as counted once with f = 8 on
// one block while the first Get was held, and here taken for any f. Over all
// cohorts, f sums to the attempts (A), 1 to the cohorts (K), f - 1 to the joins
// (J), and 1 where f > 1 to the duplicate cohorts (D).
func ownership(in *Inputs, t *Traffic, l *load, offered, attempts, joins, cohorts float64) []Ownership {
	duplicates := float64(offered * t.DuplicateCohortsPerRequest)
	waiting := joins * in.SlowOwnerShare
	back, gets := 0.0, 0.0
	if in.DeadlineMS > 0 && in.DeadlineMS < in.SlowOwnerMS {
		back, gets = waiting*(in.SlowOwnerMS-in.DeadlineMS), waiting
	}
	wait := waiting * in.SlowOwnerMS
	row := func(o Ownership) Ownership {
		if l.bytesPerBlock > 0 {
			bytes := o.GetsPerS * l.bytesPerBlock
			o.BytesPerS = &bytes
		}
		return o
	}
	return []Ownership{
		row(Ownership{
			Design: "today", LookupsPerS: attempts, LoadSpecsPerS: attempts, QueueEntriesPerS: attempts, GetsPerS: attempts, GPUBlocksPerS: attempts,
			Basis: "Seen: 8 of each. Taken as f of each.",
		}),
		row(Ownership{
			Design: "get_layer", LookupsPerS: attempts, LoadSpecsPerS: attempts, QueueEntriesPerS: attempts, GetsPerS: cohorts, GPUBlocksPerS: attempts,
			CopiesPerS: joins, WaitMSPerS: wait,
			Basis: "Seen: 8 lookups, specs, queue entries and blocks, 1 Get, 7 copies. Taken as f of each, 1 Get, f - 1 copies. " +
				"With one receive thread it can have no deadline, so none gives anything back.",
		}),
		row(Ownership{
			Design: "park", LookupsPerS: attempts, LoadSpecsPerS: cohorts, QueueEntriesPerS: cohorts, GetsPerS: cohorts, GPUBlocksPerS: cohorts,
			WaitMSPerS: wait, DeadlineMSPerS: back, DeadlineGetsPerS: gets,
			Basis: "Seen: 8 lookups, of which 1 while the Get was held, and 1 of all else. Taken as f lookups and 1 of all else. " +
				"Followers are asked again at every step, which is not counted.",
		}),
		row(Ownership{
			Design: "recompute", LookupsPerS: attempts - duplicates, LoadSpecsPerS: cohorts, QueueEntriesPerS: cohorts, GetsPerS: cohorts,
			GPUBlocksPerS: cohorts + duplicates, PrefillsPerS: duplicates,
			Basis: "Seen: 7 lookups, 1 spec, queue entry and Get, 2 blocks, 1 prefill. Taken as f - 1 lookups, 2 blocks and 1 prefill where f > 1: " +
				"one observation, and the boldest of these rows.",
		}),
		row(Ownership{
			Design: "attach", LookupsPerS: cohorts, LoadSpecsPerS: cohorts, QueueEntriesPerS: cohorts, GetsPerS: cohorts, GPUBlocksPerS: cohorts,
			WaitMSPerS: wait, DeadlineMSPerS: back, DeadlineGetsPerS: gets,
			Basis: "Seen: 1 of each. Taken as 1 of each.",
		}),
	}
}
