// Package result is the contract between a run and everything that reads one:
// the rows, their columns and units, how they are written as CSV and Parquet,
// and the identities that hold between them.
//
// The tables are in csv.go, the cohort files in cohorts.go, one file of this
// package a format.
//
// It knows neither the engine that counted nor the directory the rows lie in,
// so that a table can be made again from files alone. Start with PhaseRow and
// Tally; the identities are in identity.go, those of what lies beside the grid
// (sensitivity.go) in identity_beside.go.
package result
