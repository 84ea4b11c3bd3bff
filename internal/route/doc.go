// Package route says which instance serves each request of a trace.
//
// A policy sees the trace, the number of instances and what it has assigned
// itself, and nothing of their state: neither what they have cached nor what they
// still have to do. Start with Policies; a new policy is a new file and a line
// there.
package route
