// Package trace holds a request trace in memory and reads and writes the
// files it comes in, one file of this package a format.
//
// A trace says when each request arrived and which KV-cache blocks its prompt
// needs, each block named by a hash of the whole prefix up to its end. It says
// nothing about instances, routing or capacity: those belong to the model.
//
// Start with Trace, then Load. The only format so far is Mooncake's JSONL
// (mooncake.go); a new one is a new file and a line in formats.
//
// Reading is strict. A line that breaks a rule is a Problem with file, line,
// field, what stood there and what was expected. Nothing is skipped and no
// number passes through a float.
package trace
