// Package fanin is the model: the requests of one instance against one
// configuration give counts. It is the package that has to be right.
//
// One instance has an LRU cache of a fixed number of blocks and a table of
// open cohorts. A lookup that does not find its block is an attempt. The first
// attempt on a block starts a load and leads a cohort; attempts on the same
// block before the load completes, one window later, join it. A block enters
// the cache when its load completes, not before.
//
// What it leaves out: transfer time that depends on size or load, queues,
// failures, blocks that hold memory while they load. A count says how many
// loads one load could have served, never how much faster that would be.
//
// The package knows no trace, no file, no clock and no goroutine. Start with
// Engine.Run, which is the rules of the model in their order; the LRU cache is
// in cache.go. Unbounded is what remains of them where nothing is ever evicted.
// The same rules in their plainest form, with maps, are the package reference,
// and testdata has one readable file for each rule.
package fanin
