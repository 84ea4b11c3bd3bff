// Package bound has what the engine is measured against: three programs over
// the same columns, each well made and without tricks, and a way to run a thing
// and its bounds in turn, so that a benchmark gives a ratio and not a time.
//
// No lookup can cost less than Access. LRU is what a cache simulator does. The
// whole model as one would write it is Cohorts. It is for tests alone.
package bound
