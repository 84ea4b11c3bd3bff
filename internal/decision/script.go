package decision

import _ "embed"

// Script is decide.js: plain functions, of which decide and those whose names
// begin with format are meant to be called.
//
//go:embed decide.js
var Script string
