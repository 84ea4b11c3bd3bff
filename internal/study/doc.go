// Package study replays traces through the model over a grid of lookups,
// routings, instances, capacities and windows.
//
// It owns the concurrency and nothing else: what a request does to a cache is
// the package fanin, who serves it route, where results go rundir. Start with
// Run for a whole study, Simulate for one configuration.
//
// Every trace is dealt out once for each routing and number of instances
// (stream.go); the configurations that share this are run one after another
// (replay.go) by as many workers as asked for (run.go). What is written does
// not depend on their number.
package study
