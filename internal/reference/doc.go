// Package reference is the model once more, in its plainest form: a map for
// each cache, a list for its order, a list of loads in flight that is searched
// from end to end. It is slow and meant to be read beside the rules.
//
// Only tests import it: they hold the engine to it, and they break its rules
// one at a time to show that the published figures would have told.
package reference
