// Package route says which instance serves each request of a trace.
//
// A policy sees the trace and the number of instances and nothing of their
// state: neither what they have cached nor how busy they are. Start with
// Policies; a new policy is a new file and a line there.
package route
