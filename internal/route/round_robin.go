package route

import "kvfanin/internal/trace"

// roundRobin deals requests out in file order: request i to instance i mod N.
func roundRobin(t *trace.Trace, instances int, _ int64) []uint32 {
	assigned := make([]uint32, t.Requests())
	for i := range assigned {
		assigned[i] = uint32(i % instances)
	}
	return assigned
}
