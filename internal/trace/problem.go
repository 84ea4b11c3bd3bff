package trace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kind says which rule a Problem breaks. The values are stable: scripts may
// count by them.
type Kind string

// The rules a trace can break.
const (
	Syntax       Kind = "syntax"         // not one JSON object on a line
	MissingKey   Kind = "missing_key"    // a key of the record is not there
	UnknownKey   Kind = "unknown_key"    // a key that no record has
	DuplicateKey Kind = "duplicate_key"  // a key a second time in one record
	NotAnInteger Kind = "not_an_integer" // a fraction, an exponent, another type
	NotAList     Kind = "not_a_list"     // hash_ids is something else
	Negative     Kind = "negative"       // below zero, or minus zero
	TooLarge     Kind = "too_large"      // an integer beyond its field's range
	HashCount    Kind = "hash_count"     // more or fewer hashes than input_length asks for
	OutOfOrder   Kind = "out_of_order"   // a timestamp below the one before
	LineTooLong  Kind = "line_too_long"  // more than 16 MiB
	TooMany      Kind = "too_many"       // more requests, lookups or distinct blocks than a Trace can number
	Empty        Kind = "empty"          // no record at all
)

// Problem is one place where a trace breaks a rule.
type Problem struct {
	File  string // the path as it was given, or "stdin"
	Line  int64  // counted from 1
	Field string // a key, "hash_ids[3]", or "record" for the line as a whole
	Kind  Kind
	Got   string // what stood there, printable and cut to some 40 characters
	Want  string // what was expected
	Hint  string // what to do about it; often empty
}

// Error returns "FILE:LINE: FIELD: got X, want Y", with "; HINT" where there
// is one, on one line.
func (p *Problem) Error() string {
	s := fmt.Sprintf("%s:%d: %s: got %s, want %s", p.File, p.Line, p.Field, p.Got, p.Want)
	if p.Hint != "" {
		s += "; " + p.Hint
	}
	return s
}

// maxShown bounds what a problem repeats of a file: enough to find the place,
// and nothing that floods a terminal.
const maxShown = 40

// quote shows the start of text from a file as a quoted Go string, so that
// control characters and broken UTF-8 reach no terminal.
func quote(text []byte) string {
	text, more := cut(text)
	return strconv.Quote(string(text)) + more
}

// literal shows a JSON value as it stands in the file if it is plain ASCII,
// and quoted if it is not.
func literal(text []byte) string {
	short, more := cut(text)
	if strings.IndexFunc(string(short), func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
		return quote(text)
	}
	return string(short) + more
}

// cut shortens text to maxShown bytes, not inside of a character.
func cut(text []byte) (short []byte, more string) {
	if len(text) <= maxShown {
		return text, ""
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], "…"
}

// quoteEnd shows the end of text as quote shows its start.
func quoteEnd(text []byte) string {
	if len(text) <= maxShown {
		return quote(text)
	}
	text = text[len(text)-maxShown:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return "…" + strconv.Quote(string(text))
}
