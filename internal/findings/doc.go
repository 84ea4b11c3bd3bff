// Package findings turns the rows of one trace into the statements of the
// study: how much redundancy each load window leaves, whether the two lookup
// rules differ, what affinity routing costs and brings, where joins come from,
// and how far that holds under other readings of the trace.
//
// It counts nothing anew and knows no cache, no clock and no engine: rows and
// a profile go in, so that a table can be made again from a run directory.
// Nor does it round or lay anything out; that is the package report. What the
// rows cannot answer is absent, with the reason (Absence).
//
// Redundancies are ordered as exact fractions, so that no comparison hangs on a
// rounding; means and intervals are floats, summed in the order of the rows.
//
// Start with Of and Findings. Each finding is a file: windows.go, lookups.go,
// affinity.go, concentration.go, and of what lies beside the grid sensitivity.go
// and curve.go; a new one is a new file and a line in Of.
package findings
