// Package probe drives a real, released serving stack with N equal cold
// requests and records what each of its layers did: how often the store was
// asked, how many loads were queued and submitted, into how many places.
//
// A case is a set of parameters and the counts that are expected of it
// (cases.go: one table). A target is a stack (target.go). The stack runs in a
// Python process, the harness, which lies beside this file, is embedded, and
// decides nothing; the two speak JSON lines (protocol.go). This package owns
// what is around it: the environment (setup.go), processes, deadlines, ports and
// temporary folders (group_unix.go, child.go, store.go, session.go), the verdict
// (expect.go) and the comparison with the model (model.go).
//
// It measures no speed. What is not real in a case, such as the forward pass, is
// in its result.
//
// Start with Run. No process and no file of a run is left when it returns, nor
// when the program is killed.
package probe
