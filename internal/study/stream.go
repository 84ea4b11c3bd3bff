package study

import (
	"slices"

	"kvfanin/internal/fanin"
	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

// reading is a trace as it is run: as it stands, or under an arm.
type reading struct {
	trace  *trace.Trace // under an arm its arrivals may be others
	steady int          // the first request in the steady phase, of the trace as it stands
	seed   int64        // of a routing that is drawn
	source bool         // it is the trace as it stands: also find where joins come from
	spans  *spans       // count by them; may be nil

	// Different ones in the steady phase, of a source.
	steadyBlocks, steadyTimestamps int64
}

// asItStands is the reading of a study.
func asItStands(t *trace.Trace, warmup Share) *reading {
	rd := &reading{trace: t, steady: SteadyFrom(t, warmup), source: true}
	seen := make([]bool, len(t.Hash))
	for _, b := range t.Block[t.Offset[rd.steady]:] {
		if !seen[b] {
			seen[b] = true
			rd.steadyBlocks++
		}
	}
	for i := rd.steady; i < t.Requests(); i++ {
		if i == rd.steady || t.ArrivalMS[i] != t.ArrivalMS[i-1] {
			rd.steadyTimestamps++
		}
	}
	return rd
}

// stream is the requests of a trace that one instance serves, and the way back
// from its numbers to the trace's.
type stream struct {
	fanin.Stream
	*reading
	request []uint32 // index in the trace of each request of the stream
	block   []uint32 // block number in the trace of each block of the stream
}

// phase returns the phase of request i of the stream.
func (s *stream) phase(i uint32) result.Phase {
	if int(i) < s.Steady {
		return result.Warmup
	}
	return result.Steady
}

// split deals a trace out to its instances. assigned gives the instance of
// each request; only the streams of wanted instances are made, the others stay empty. Blocks are
// numbered anew in each stream, by first appearance, so that the engine's
// arrays are as small as the stream allows.
func split(rd *reading, assigned []uint32, wanted []bool) []stream {
	if len(wanted) == 1 {
		return []stream{whole(rd)}
	}
	t := rd.trace
	streams := make([]stream, len(wanted))
	requests, lookups := make([]int, len(wanted)), make([]int, len(wanted))
	for i, k := range assigned {
		requests[k]++
		lookups[k] += len(t.Blocks(i))
	}
	for k := range streams {
		s := &streams[k]
		s.reading = rd
		s.Offset = []int64{0}
		if wanted[k] {
			s.ArrivalMS = make([]int64, 0, requests[k])
			s.Offset = slices.Grow(s.Offset, requests[k])
			s.Block = make([]uint32, 0, lookups[k])
			s.request = make([]uint32, 0, requests[k])
		}
	}
	for i, k := range assigned {
		if !wanted[k] {
			continue
		}
		s := &streams[k]
		if i < rd.steady {
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

// whole returns a trace as the stream of one instance that serves all. It is
// the trace's own columns: there too blocks are numbered by first appearance.
func whole(rd *reading) stream {
	t := rd.trace
	s := stream{
		Stream:  columnsOf(t, rd.steady),
		reading: rd,
		request: make([]uint32, t.Requests()),
		block:   make([]uint32, len(t.Hash)),
	}
	for i := range s.request {
		s.request[i] = uint32(i)
	}
	for b := range s.block {
		s.block[b] = uint32(b)
	}
	return s
}

// columnsOf returns a trace's own columns.
func columnsOf(t *trace.Trace, steady int) fanin.Stream {
	return fanin.Stream{ArrivalMS: t.ArrivalMS, Offset: t.Offset, Block: t.Block, Blocks: len(t.Hash), Steady: steady}
}

// every returns n times true.
func every(n int) []bool { return slices.Repeat([]bool{true}, n) }
