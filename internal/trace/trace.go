package trace

// Trace is a request trace in memory: columns, parsed once and shared
// read-only by everything above. Request i, counted from 0 in file order, has
//
//	arrival     ArrivalMS[i]
//	blocks      Block[Offset[i]:Offset[i+1]], in prefix order
//	block hash  Hash[b] for each block number b
//
// Block numbers are dense and given by first appearance, so an array indexed
// by block needs len(Hash) elements and no map.
type Trace struct {
	Name        string // what tables and directories call it
	BlockTokens int    // tokens in one block

	ArrivalMS    []int64 // arrival time, ms, never decreasing; one a request
	InputTokens  []int64 // prompt length in tokens; one a request
	OutputTokens []int64 // generated tokens; one a request
	Offset       []int64 // where a request's blocks start; requests + 1

	Block []uint32 // block number of each lookup
	Hash  []uint64 // hash of each block number, as in the file

	// Dropped counts hashes that stood a second time in one request and were
	// left out of Block: within a request a hash is looked up once.
	Dropped int64

	Source Source
}

// Source identifies the exact bytes a trace was read from, after
// decompression, so that a plain and a compressed copy are the same source.
type Source struct {
	SHA256  string // lower-case hex
	GitBlob string // git's blob id (SHA-1) of the same bytes, lower-case hex
	Bytes   int64
	Sorted  bool // the file was out of order and was sorted by arrival, stably
}

// Requests returns the number of requests.
func (t *Trace) Requests() int { return len(t.ArrivalMS) }

// Lookups returns the number of (request, block) pairs.
func (t *Trace) Lookups() int { return len(t.Block) }

// Blocks returns the block numbers of request i in prefix order. The slice
// aliases the trace and must not be changed.
func (t *Trace) Blocks(i int) []uint32 { return t.Block[t.Offset[i]:t.Offset[i+1]] }
