// Package profile says what a trace looks like before any model touches it:
// how large it is, how its requests are spread over time, and after how long
// a block comes back.
//
// It models nothing: no cache, no instance, no window of load. It counts what
// is in the file. That is what makes it worth reading first: the smallest
// positive gap bounds the windows that are one and the same experiment, and
// the lower tail of the reuse gaps bounds what any of them can find.
//
// Start with Of and Profile. The definition of every percentile, and of the
// medians, is at Distribution.
package profile
