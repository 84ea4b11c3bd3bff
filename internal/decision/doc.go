// Package decision says whether coordinating concurrent cold loads is worth
// its cost for the traffic of one trace: what could be avoided, what has to be
// paid for it on every lookup, the redundancy at which both are equal, and
// where the trace reaches it.
//
// It is arithmetic and nothing else: figures of a run (Traffic) and costs a
// person gives (Inputs) go in, and every number that comes out is a Step with
// its formula and what it is made from. It reads no file and knows no engine.
// The formulas, their derivation and what they leave out are in
// docs/decision.md.
//
// All of it exists a second time in decide.js, for a page that recomputes
// while a person moves a slider. The two agree to the last digit: every
// operation is on a float64, in the order that is written down, and never
// fused (each product is rounded before it is added to anything).
//
// Start with Decide. Inputs and their table are in inputs.go, the models in
// models.go, what each ownership design removes in ownership.go.
package decision
