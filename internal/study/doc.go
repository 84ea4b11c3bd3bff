// Package study replays traces through the model over a grid of lookups,
// routings, instances, capacities and windows.
//
// It owns the concurrency and nothing else: what a request does to a cache is
// the package fanin, who serves it route, where results go rundir. Start with
// Run for a whole study, Simulate for one configuration.
//
// Every trace is dealt out once for each routing and number of instances
// (stream.go). plan.go says which configurations are one experiment, which is
// run once (replay.go) by one of as many workers as asked for (crew.go); where
// cohorts are kept, groups.go says which share a file. What is written depends
// on none of this.
//
// beside.go runs the grid under other readings of the trace (ties.go) and on a
// dense row of windows, threshold.go looks between its points; source.go keeps
// where the joins of a stream come from.
package study
