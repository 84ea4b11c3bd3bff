package route

import "kvfanin/internal/trace"

// firstBlockAffinity sends requests that begin alike to one instance: the hash
// of the first block mod N, unsigned. A request with no block goes to
// instance 0.
func firstBlockAffinity(t *trace.Trace, instances int) []uint32 {
	assigned := make([]uint32, t.Requests())
	for i := range assigned {
		if blocks := t.Blocks(i); len(blocks) > 0 {
			assigned[i] = uint32(t.Hash[blocks[0]] % uint64(instances))
		}
	}
	return assigned
}
