package result

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is one kind of CSV file of a run: its name and its columns. Rows are
// written and read in the order of the slice; the first line names the
// columns, every line ends in "\n" and no value is quoted.
type Table[R any] struct {
	name    string
	columns []column[R]
}

// The tables of a run. A new column is a new line here.
var (
	// PhaseTable is phases.csv.
	PhaseTable = &Table[PhaseRow]{"phases.csv", slices.Concat(
		cols(word("trace", func(r *PhaseRow) *string { return &r.Trace })),
		part(configColumns, func(r *PhaseRow) *Config { return &r.Config }),
		cols(phase("phase", func(r *PhaseRow) *Phase { return &r.Phase })),
		part(figureColumns, func(r *PhaseRow) *Figures { return &r.Figures }),
		cols(number("request_imbalance", func(r *PhaseRow) *float64 { return &r.RequestImbalance })),
	)}

	// InstanceTable is instances.csv.
	InstanceTable = &Table[InstanceRow]{"instances.csv", slices.Concat(
		cols(word("trace", func(r *InstanceRow) *string { return &r.Trace })),
		part(configColumns, func(r *InstanceRow) *Config { return &r.Config }),
		cols(
			integer("instance", func(r *InstanceRow) *int { return &r.Instance }),
			phase("phase", func(r *InstanceRow) *Phase { return &r.Phase }),
		),
		part(figureColumns, func(r *InstanceRow) *Figures { return &r.Figures }),
	)}

	// RelationTable is relations.csv.
	RelationTable = &Table[RelationRow]{"relations.csv", slices.Concat(
		cols(word("trace", func(r *RelationRow) *string { return &r.Trace })),
		part(configColumns, func(r *RelationRow) *Config { return &r.Config }),
		cols(phase("phase", func(r *RelationRow) *Phase { return &r.Phase })),
		relationColumns,
	)}

	// FanInTable is fanin.csv.
	FanInTable = &Table[FanInRow]{"fanin.csv", slices.Concat(
		cols(word("trace", func(r *FanInRow) *string { return &r.Trace })),
		part(configColumns, func(r *FanInRow) *Config { return &r.Config }),
		cols(
			integer("instance", func(r *FanInRow) *int { return &r.Instance }),
			phase("phase", func(r *FanInRow) *Phase { return &r.Phase }),
			integer("fanin", func(r *FanInRow) *int64 { return &r.FanIn }),
			integer("cohorts", func(r *FanInRow) *int64 { return &r.Cohorts }),
		),
	)}

	// ArmTable is arms.csv, and CurveTable curve.csv.
	ArmTable   = armTable("arms.csv")
	CurveTable = armTable("curve.csv")

	// ArmRelationTable is arm_relations.csv, and CurveRelationTable
	// curve_relations.csv.
	ArmRelationTable   = armRelationTable("arm_relations.csv")
	CurveRelationTable = armRelationTable("curve_relations.csv")

	// SpanTable is spans.csv.
	SpanTable = &Table[SpanRow]{"spans.csv", slices.Concat(
		cols(word("trace", func(r *SpanRow) *string { return &r.Trace })),
		part(configColumns, func(r *SpanRow) *Config { return &r.Config }),
		cols(
			integer("span", func(r *SpanRow) *int { return &r.Span }),
			integer("start_ms", func(r *SpanRow) *int64 { return &r.StartMS }),
			integer("attempts", func(r *SpanRow) *int64 { return &r.Attempts }),
			integer("joins", func(r *SpanRow) *int64 { return &r.Joins }),
			integer("extension", func(r *SpanRow) *int64 { return &r.Extension }),
		),
	)}

	// ThresholdTable is thresholds.csv.
	ThresholdTable = &Table[ThresholdRow]{"thresholds.csv", slices.Concat(
		cols(word("trace", func(r *ThresholdRow) *string { return &r.Trace })),
		part(wayColumns, func(r *ThresholdRow) *Config { return &r.Config }),
		cols(word("ties", func(r *ThresholdRow) *string { return &r.Ties })),
		part(sizeColumns, func(r *ThresholdRow) *Config { return &r.Config }),
		cols(
			word("measure", func(r *ThresholdRow) *string { return &r.Measure }),
			number("share", func(r *ThresholdRow) *float64 { return &r.Share }),
			integer("window_ms", func(r *ThresholdRow) *int64 { return &r.WindowMS }),
			number("redundancy", func(r *ThresholdRow) *float64 { return &r.Redundancy }),
			number("redundancy_1ms_below", func(r *ThresholdRow) *float64 { return &r.Before }),
		),
	)}
)

var (
	configColumns = slices.Concat(wayColumns, sizeColumns,
		cols(integer("window_ms", func(c *Config) *int64 { return &c.WindowMS })))
	wayColumns = cols(
		word("lookup", func(c *Config) *string { return &c.Lookup }),
		word("routing", func(c *Config) *string { return &c.Routing }),
	)
	sizeColumns = cols(
		integer("instances", func(c *Config) *int { return &c.Instances }),
		integer("capacity_blocks", func(c *Config) *int { return &c.CapacityBlocks }),
	)
	relationColumns = cols(
		integer("attempts", func(r *RelationRow) *int64 { return &r.Attempts }),
		integer("joins", func(r *RelationRow) *int64 { return &r.Joins }),
		integer("repeat", func(r *RelationRow) *int64 { return &r.Repeat }),
		integer("extension", func(r *RelationRow) *int64 { return &r.Extension }),
		integer("branch", func(r *RelationRow) *int64 { return &r.Branch }),
	)
)

// armConfigColumns are the columns of a configuration with those of an arm
// after its routing.
func armConfigColumns[R any](config func(*R) *Config, arm func(*R) *Arm) []column[R] {
	return slices.Concat(
		part(wayColumns, config),
		part(cols(
			word("ties", func(a *Arm) *string { return &a.Ties }),
			integer("seed", func(a *Arm) *int64 { return &a.Seed }),
		), arm),
		part(configColumns[len(wayColumns):], config),
	)
}

// armTable is a table of phase rows under arms.
func armTable(name string) *Table[ArmRow] {
	return &Table[ArmRow]{name, slices.Concat(
		cols(word("trace", func(r *ArmRow) *string { return &r.Trace })),
		armConfigColumns(func(r *ArmRow) *Config { return &r.Config }, func(r *ArmRow) *Arm { return &r.Arm }),
		cols(phase("phase", func(r *ArmRow) *Phase { return &r.Phase })),
		part(figureColumns, func(r *ArmRow) *Figures { return &r.Figures }),
		cols(number("request_imbalance", func(r *ArmRow) *float64 { return &r.RequestImbalance })),
	)}
}

// armRelationTable is a table of relation rows under arms.
func armRelationTable(name string) *Table[ArmRelationRow] {
	return &Table[ArmRelationRow]{name, slices.Concat(
		cols(word("trace", func(r *ArmRelationRow) *string { return &r.Trace })),
		armConfigColumns(func(r *ArmRelationRow) *Config { return &r.Config }, func(r *ArmRelationRow) *Arm { return &r.Arm }),
		cols(phase("phase", func(r *ArmRelationRow) *Phase { return &r.Phase })),
		part(relationColumns, func(r *ArmRelationRow) *RelationRow { return &r.RelationRow }),
	)}
}

var figureColumns = slices.Concat(
	integers(additive),
	cols(number("redundancy", func(f *Figures) *float64 { return &f.PrintedRedundancy })),
	integers(percentiles),
)

// count is a named count among the figures of a row. The identities go over
// the same lists as the columns, so that a new column is not left unchecked.
type count struct {
	name  string
	field func(*Figures) *int64
}

// additive are the counts that sum over instances.
var additive = []count{
	{"requests", func(f *Figures) *int64 { return &f.Requests }},
	{"lookups", func(f *Figures) *int64 { return &f.Lookups }},
	{"hits", func(f *Figures) *int64 { return &f.Hits }},
	{"attempts", func(f *Figures) *int64 { return &f.Attempts }},
	{"cohorts", func(f *Figures) *int64 { return &f.Cohorts }},
	{"joins", func(f *Figures) *int64 { return &f.Joins }},
	{"boundary_joins", func(f *Figures) *int64 { return &f.BoundaryJoins }},
	{"duplicate_cohorts", func(f *Figures) *int64 { return &f.DuplicateCohorts }},
	{"duplicate_attempts", func(f *Figures) *int64 { return &f.DuplicateAttempts }},
}

// percentiles are the nearest ranks of fan-in.
var percentiles = []count{
	{"fanin_p50", func(f *Figures) *int64 { return &f.FanInP50 }},
	{"fanin_p99", func(f *Figures) *int64 { return &f.FanInP99 }},
	{"fanin_max", func(f *Figures) *int64 { return &f.FanInMax }},
}

// Name returns the name of the file, without a directory.
func (t *Table[R]) Name() string { return t.name }

// Write writes the header and the rows. It fails, besides where w fails, on a
// value that Read would refuse: a negative count, a number that is not finite,
// a name with a character outside [A-Za-z0-9._-].
func (t *Table[R]) Write(w io.Writer, rows []R) error {
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := out.WriteString(strings.Join(names(t.columns), ",") + "\n"); err != nil {
		return err
	}
	var line []byte
	for i := range rows {
		var err error
		if line, err = appendRow(line[:0], t.columns, &rows[i]); err != nil {
			return fmt.Errorf("row %d, %w", i+1, err)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Read reads what Write wrote, and nothing else: the header must be the
// table's, and every value must stand as Write would write it, so that equal
// rows are equal bytes. An error names the line (the header is line 1), the
// column and what stood there.
func (t *Table[R]) Read(r io.Reader) ([]R, error) {
	in := newLineReader(r)
	if err := in.readHeader(names(t.columns)); err != nil {
		return nil, err
	}
	var rows []R
	// Each row is parsed over a copy of the one before, whose equal strings it
	// then shares: a file of many rows holds few different names.
	var row R
	for {
		line, err := in.next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if err := parseRow(line, t.columns, &row); err != nil {
			return nil, fmt.Errorf("line %d%w", in.line, err)
		}
		rows = append(rows, row)
	}
}

// column is one column of rows R: how its value is written and how it is read
// back. parse says in its error only what is wanted; the caller says where.
type column[R any] struct {
	name   string
	append func(b []byte, r *R) ([]byte, error)
	parse  func(text []byte, r *R) error
}

func cols[R any](c ...column[R]) []column[R] { return c }

// part makes columns of F columns of R, which holds an F.
func part[R, F any](inner []column[F], field func(*R) *F) []column[R] {
	var outer []column[R]
	for _, c := range inner {
		outer = append(outer, column[R]{
			name:   c.name,
			append: func(b []byte, r *R) ([]byte, error) { return c.append(b, field(r)) },
			parse:  func(text []byte, r *R) error { return c.parse(text, field(r)) },
		})
	}
	return outer
}

func integers(counts []count) []column[Figures] {
	var c []column[Figures]
	for _, n := range counts {
		c = append(c, integer(n.name, n.field))
	}
	return c
}

var (
	errInteger  = errors.New("want a non-negative integer without leading zeros")
	errTooLarge = errors.New("want a smaller integer")
	errNumber   = errors.New("want a non-negative number in its shortest form")
	errWord     = errors.New("want a name of A-Z a-z 0-9 . _ -")
	errPhase    = errors.New("want warmup or steady")
)

// integer is a column of non-negative integers.
func integer[R any, I int | int32 | int64 | uint64](name string, field func(*R) *I) column[R] {
	return column[R]{
		name: name,
		append: func(b []byte, r *R) ([]byte, error) {
			v := *field(r)
			if v < 0 {
				return strconv.AppendInt(b, int64(v), 10), errInteger
			}
			return strconv.AppendUint(b, uint64(v), 10), nil
		},
		parse: func(text []byte, r *R) error {
			u, err := parseUint(text)
			if err != nil {
				return err
			}
			v := I(u)
			if v < 0 || uint64(v) != u {
				return errTooLarge
			}
			*field(r) = v
			return nil
		},
	}
}

// parseUint reads a decimal as strconv writes it: digits, no sign, no leading
// zero. Cohort files have many, hence not strconv and a comparison afterwards.
func parseUint(text []byte) (uint64, error) {
	if len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return 0, errInteger
	}
	var u uint64
	for _, c := range text {
		d := uint64(c - '0')
		if d > 9 {
			return 0, errInteger
		}
		if u > (math.MaxUint64-d)/10 {
			return 0, errTooLarge
		}
		u = 10*u + d
	}
	return u, nil
}

// number is a column of finite non-negative numbers in the shortest form that
// reads back to the same value.
func number[R any](name string, field func(*R) *float64) column[R] {
	return column[R]{
		name: name,
		append: func(b []byte, r *R) ([]byte, error) {
			v := *field(r)
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
			if !isNumber(v) {
				return b, errNumber
			}
			return b, nil
		},
		parse: func(text []byte, r *R) error {
			v, err := strconv.ParseFloat(string(text), 64)
			if err != nil || !isNumber(v) {
				return errNumber
			}
			var shortest [32]byte
			if !bytes.Equal(strconv.AppendFloat(shortest[:0], v, 'g', -1, 64), text) {
				return errNumber
			}
			*field(r) = v
			return nil
		},
	}
}

// isNumber says no to -0 as well: it equals 0 and would be a second way to
// write it.
func isNumber(v float64) bool { return v >= 0 && !math.IsInf(v, 1) && !math.Signbit(v) }

// word is a column of names, which need no quotes.
func word[R any](name string, field func(*R) *string) column[R] {
	return column[R]{
		name: name,
		append: func(b []byte, r *R) ([]byte, error) {
			start := len(b)
			b = append(b, *field(r)...)
			return b, checkWord(b[start:])
		},
		parse: func(text []byte, r *R) error {
			if p := field(r); string(text) != *p {
				*p = string(text)
			}
			return checkWord(text)
		},
	}
}

func checkWord(text []byte) error {
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return errWord
		}
	}
	if len(text) == 0 {
		return errWord
	}
	return nil
}

// phase is a column of phases.
func phase[R any](name string, field func(*R) *Phase) column[R] {
	return column[R]{
		name: name,
		append: func(b []byte, r *R) ([]byte, error) {
			p := *field(r)
			if p >= Phases {
				return strconv.AppendUint(b, uint64(p), 10), errPhase
			}
			return append(b, p.String()...), nil
		},
		parse: func(text []byte, r *R) (err error) {
			*field(r), err = parsePhase(text)
			return err
		},
	}
}

func parsePhase(text []byte) (Phase, error) {
	for p := range Phase(Phases) {
		if string(text) == p.String() {
			return p, nil
		}
	}
	return 0, errPhase
}

func names[R any](columns []column[R]) []string {
	var list []string
	for _, c := range columns {
		list = append(list, c.name)
	}
	return list
}

// appendRow appends the values of r, separated by commas. Its error begins
// with the column.
func appendRow[R any](b []byte, columns []column[R], r *R) ([]byte, error) {
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		start := len(b)
		var err error
		if b, err = c.append(b, r); err != nil {
			return b, fmt.Errorf("column %s: %q: %w", c.name, clip(b[start:]), err)
		}
	}
	return b, nil
}

// parseRow reads a line, without its end, into r. Its error is to be appended
// to the place of the line.
func parseRow[R any](line []byte, columns []column[R], r *R) error {
	if n := bytes.Count(line, []byte{','}) + 1; n != len(columns) {
		return fmt.Errorf(": %d fields in %q, want %d", n, clip(line), len(columns))
	}
	for _, c := range columns {
		text, rest, _ := bytes.Cut(line, []byte{','})
		if err := c.parse(text, r); err != nil {
			return fmt.Errorf(", column %s: %q: %w", c.name, clip(text), err)
		}
		line = rest
	}
	return nil
}

// clip shortens what is quoted in an error: a file may hold anything.
func clip(text []byte) string {
	const most = 100
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// lineReader reads lines of bounded length that each end in "\n".
type lineReader struct {
	in   *bufio.Reader
	line int // number of the line read last, from 1
}

const maxLine = 1 << 16

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, maxLine)}
}

// next returns the next line without its end, valid until the call after it,
// or io.EOF after the last one.
func (l *lineReader) next() ([]byte, error) {
	text, err := l.in.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return nil, io.EOF
	}
	l.line++
	switch err {
	case nil:
		return text[:len(text)-1], nil
	case io.EOF:
		return nil, fmt.Errorf("line %d: %q does not end in a newline", l.line, clip(text))
	case bufio.ErrBufferFull:
		return nil, fmt.Errorf("line %d: longer than %d bytes", l.line, maxLine)
	default:
		return nil, fmt.Errorf("line %d: %w", l.line, err)
	}
}

// readHeader reads the first line, which must name the columns.
func (l *lineReader) readHeader(want []string) error {
	text, err := l.next()
	if err == io.EOF {
		return errors.New("line 1: no header: the file is empty")
	}
	if err != nil {
		return err
	}
	got := bytes.Split(text, []byte{','})
	for i, name := range want {
		if i == len(got) {
			return fmt.Errorf("line 1: %d columns, want %d: %s is missing", len(got), len(want), name)
		}
		if string(got[i]) != name {
			return fmt.Errorf("line 1: column %d is %q, want %s", i+1, clip(got[i]), name)
		}
	}
	if len(got) > len(want) {
		return fmt.Errorf("line 1: %d columns, want %d", len(got), len(want))
	}
	return nil
}
