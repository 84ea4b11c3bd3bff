package route

import (
	"math/rand/v2"

	"kvfanin/internal/trace"
)

// firstBlockAffinity sends requests that begin alike to one instance: the hash
// of the first block mod N, unsigned. A request with no block goes to
// instance 0.
func firstBlockAffinity(t *trace.Trace, instances int, _ int64) []uint32 {
	assigned := make([]uint32, t.Requests())
	for i := range assigned {
		if blocks := t.Blocks(i); len(blocks) > 0 {
			assigned[i] = uint32(t.Hash[blocks[0]] % uint64(instances))
		}
	}
	return assigned
}

// affinityBoundedLoad is affinity that goes on to the next instance, cyclically
// upwards, while one has its share of the requests and a quarter more: request
// i, from 0, goes to the first with fewer than ⌈(1+ε)·(i+1)÷N⌉ so far, ε = 1/4.
//
// After consistent hashing with bounded loads (V. Mirrokni, M. Thorup,
// M. Zadimoghaddam: Consistent Hashing with Bounded Loads, 2016,
// arXiv:1608.01350).
func affinityBoundedLoad(t *trace.Trace, instances int, seed int64) []uint32 {
	assigned := firstBlockAffinity(t, instances, seed)
	requests := make([]int, instances)
	for i, k := range assigned {
		bound := (5*(i+1) + 4*instances - 1) / (4 * instances)
		for requests[k] >= bound {
			k = (k + 1) % uint32(instances)
		}
		requests[k]++
		assigned[i] = k
	}
	return assigned
}

// matchedRun is how many consecutive requests matchedLoad shuffles.
const matchedRun = 64

// matchedLoad is affinity's load without its prefixes: affinity's instances,
// shuffled within each run of 64 consecutive requests. Every instance serves
// as many of every run, but not those that begin alike.
func matchedLoad(t *trace.Trace, instances int, seed int64) []uint32 {
	assigned := firstBlockAffinity(t, instances, seed)
	draw := rand.New(rand.NewPCG(uint64(seed), matchedRun))
	for from := 0; from < len(assigned); from += matchedRun {
		run := assigned[from:min(from+matchedRun, len(assigned))]
		draw.Shuffle(len(run), func(i, j int) { run[i], run[j] = run[j], run[i] })
	}
	return assigned
}
