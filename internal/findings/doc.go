// Package findings turns the rows of one trace into the statements of the
// study: how much redundancy each load window leaves, whether the two lookup
// rules differ, what affinity routing costs and brings.
//
// It counts nothing anew and knows no cache, no clock and no engine: rows and
// a profile go in, so that a table can be made again from a run directory.
// Nor does it round or lay anything out; that is the package report. What the
// rows cannot answer is absent, with the reason (Absence).
//
// Redundancies are ordered and subtracted as exact fractions and only then
// become floats, so that no verdict hangs on a rounding.
//
// Start with Of and Findings. Each finding is a file: windows.go, lookups.go,
// affinity.go; a new one is a new file and a line in Of.
package findings
