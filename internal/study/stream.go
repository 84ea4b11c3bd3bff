package study

import (
	"kvfanin/internal/fanin"
	"kvfanin/internal/trace"
)

// stream is the requests of a trace that one instance serves, and the way back
// from its numbers to the trace's.
type stream struct {
	fanin.Stream
	request []uint32 // index in the trace of each request of the stream
	block   []uint32 // block number in the trace of each block of the stream
}

// split deals a trace out to its instances. assigned gives the instance of
// each request, steady the first request of the trace in the steady phase.
// Blocks are numbered anew in each stream, by first appearance, so that the
// engine's arrays are as small as the stream allows.
func split(t *trace.Trace, assigned []uint32, instances, steady int) []stream {
	streams := make([]stream, instances)
	requests, lookups := make([]int, instances), make([]int, instances)
	for i, k := range assigned {
		requests[k]++
		lookups[k] += len(t.Blocks(i))
	}
	for k := range streams {
		s := &streams[k]
		s.ArrivalMS = make([]int64, 0, requests[k])
		s.Offset = append(make([]int64, 0, requests[k]+1), 0)
		s.Block = make([]uint32, 0, lookups[k])
		s.request = make([]uint32, 0, requests[k])
	}
	for i, k := range assigned {
		s := &streams[k]
		if i < steady {
			s.Steady++
		}
		s.ArrivalMS = append(s.ArrivalMS, t.ArrivalMS[i])
		s.Block = append(s.Block, t.Blocks(i)...)
		s.Offset = append(s.Offset, int64(len(s.Block)))
		s.request = append(s.request, uint32(i))
	}
	number := make([]uint32, len(t.Hash)) // in the stream at hand, from 1; 0 is none yet
	for k := range streams {
		s := &streams[k]
		for l, b := range s.Block {
			if number[b] == 0 {
				s.block = append(s.block, b)
				number[b] = uint32(len(s.block))
			}
			s.Block[l] = number[b] - 1
		}
		s.Blocks = len(s.block)
		for _, b := range s.block {
			number[b] = 0
		}
	}
	return streams
}
