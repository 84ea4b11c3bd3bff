// Package generate makes a trace from a seed: the one a study runs over when
// it is given none, and one for any size that no public trace has.
//
// It models who asks what and when. Requests arrive as a Poisson process. Some
// stand alone, some bring a long document nobody asks about again, and the rest
// ask about one of a set of documents in use, each of which is asked about
// several times, sometimes as a follow-up that extends the prompt before, and
// is then replaced by a new one. Its defaults are shaped like the synthetic
// trace that was published with Mooncake: size, arrivals, blocks a request, and
// the gaps after which blocks come back.
//
// It does not model load over the day, bursts, or a user who waits for an
// answer before the next turn: a follow-up may arrive at once. Documents in
// use are equally popular, so its reuse gaps have a shorter upper tail than
// those of the published trace.
//
// The same parameters give the same bytes on every machine and with every Go
// version: all arithmetic is on integers and the only thing taken from
// math/rand is the PCG-DXSM sequence, whose algorithm is fixed.
//
// Start with Params, then Write.
package generate
