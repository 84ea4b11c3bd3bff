// Package cli is the command line: one file a verb, each flags, wiring and
// messages. It counts nothing and formats no result; what a command prints is
// made by the package report, what it writes by rundir or trace.
//
// Results go to stdout and are the same bytes on every run; everything else
// goes to stderr. Start with Main.
package cli
