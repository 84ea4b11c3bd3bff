// Package report writes what is found, for people and for scripts: as plain
// text, Markdown, JSON or CSV.
//
// The text is at most 80 columns wide (a long trace name apart), the same
// bytes for the same input, and says beside each table under which conditions
// its figures hold. Figures are printed as the published study prints them
// (number.go). Nothing is computed here beyond that: statements come from the
// package findings, counts from the package result.
//
// Start with Study, Profiles and Simulation, each a value with the methods
// Text, JSON and CSV. How a page and its tables are laid out is in page.go. A
// Document is all that a run says, for the page and Markdown: three statements
// (answer.go) and tables that know no form (exhibit.go), of which Comparison
// sets two side by side. Probe is what a real stack did.
package report
