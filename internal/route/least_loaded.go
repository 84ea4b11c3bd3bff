package route

import "kvfanin/internal/trace"

// leastLoaded sends each request to the instance with the fewest blocks so far,
// the first of equals.
func leastLoaded(t *trace.Trace, instances int, _ int64) []uint32 {
	assigned := make([]uint32, t.Requests())
	// A heap, the least loaded first: its order decides, and only the first ever
	// changes.
	type load struct {
		blocks   int
		instance uint32
	}
	heap := make([]load, instances)
	for k := range heap {
		heap[k].instance = uint32(k)
	}
	less := func(a, b load) bool {
		return a.blocks < b.blocks || a.blocks == b.blocks && a.instance < b.instance
	}
	for i := range assigned {
		assigned[i] = heap[0].instance
		heap[0].blocks += len(t.Blocks(i))
		for at := 0; ; {
			child := 2*at + 1
			if child+1 < len(heap) && less(heap[child+1], heap[child]) {
				child++
			}
			if child >= len(heap) || !less(heap[child], heap[at]) {
				break
			}
			heap[at], heap[child] = heap[child], heap[at]
			at = child
		}
	}
	return assigned
}
