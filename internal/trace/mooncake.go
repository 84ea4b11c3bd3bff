package trace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Mooncake trace is JSONL, one request a line:
//
//	{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]}
//
// with arrival in ms, lengths in tokens, and one hash for each block of the
// prompt, a last partial one included.
var mooncakeKeys = []string{"timestamp", "input_length", "output_length", "hash_ids"}

const allKeys = "timestamp, input_length, output_length, hash_ids"

// maxInteger bounds times and lengths, so that the sum of two never overflows.
const maxInteger = 1<<62 - 1

// mooncake reads the lines of one file. Each line is first given to fast,
// which knows the usual spelling and gives up when in doubt about anything at
// all; then slow decides, and is the one place that makes problems.
type mooncake struct {
	file  string
	block int64
	sort  bool

	line     int64
	last     int64 // the last timestamp that could be read
	lastLine int64 // and its line

	rec    Record
	report func(*Problem) error
	good   bool  // no problem on this line so far
	stop   error // what report returned
}

func readMooncake(l *lines, file string, opt Options, record func(int64, *Record) error, report func(*Problem) error) error {
	m := &mooncake{file: file, block: int64(opt.BlockTokens), sort: opt.Sort, report: report}
	empty := true
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		m.line, m.good = l.no, true
		switch {
		case l.long > 0:
			m.problem("record", LineTooLong, fmt.Sprintf("a line of %d bytes that starts with %s", l.long, quote(line)),
				fmt.Sprintf("at most %d", maxLine))
		case m.fast(line[:len(line)+linePad], len(line)):
		default:
			if m.line == 1 {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if len(bytes.TrimLeft(line, " \t\r")) == 0 {
				continue
			}
			m.slow(line)
		}
		empty = false
		if m.good {
			m.stop = record(m.line, &m.rec)
		}
		if m.stop != nil {
			return m.stop
		}
	}
	if empty {
		m.line = 1
		m.problem("record", Empty, "no record in the whole file", "at least one")
	}
	return m.stop
}

// fast reads a line with the four keys in the usual order and any JSON
// spacing into m.rec. It returns false when in doubt, and then means nothing
// by it. The line is b[:n]; behind it come a newline and more bytes, so that
// no step needs to look for the end.
func (m *mooncake) fast(b []byte, n int) bool {
	i := space(b, 0)
	if b[i] != '{' {
		return false
	}
	i = space(b, i+1)
	var ts, in, out uint64
	var ok bool
	if i, ok = key(b, i, `"timestamp"`); !ok {
		return false
	}
	if ts, i, ok = member(b, i); !ok {
		return false
	}
	if i, ok = key(b, i, `"input_length"`); !ok {
		return false
	}
	if in, i, ok = member(b, i); !ok {
		return false
	}
	if i, ok = key(b, i, `"output_length"`); !ok {
		return false
	}
	if out, i, ok = member(b, i); !ok {
		return false
	}
	if i, ok = key(b, i, `"hash_ids"`); !ok || b[i] != '[' {
		return false
	}
	hashes, i, ok := list(b, i+1, m.rec.Hashes[:0])
	if !ok || b[i] != '}' || space(b, i+1) != n {
		return false
	}
	if ts|in|out > maxInteger || int64(len(hashes)) != blocks(int64(in), m.block) || int64(ts) < m.last && !m.sort {
		return false
	}
	m.rec = Record{TimestampMS: int64(ts), InputTokens: int64(in), OutputTokens: int64(out), Hashes: hashes}
	m.last, m.lastLine = int64(ts), m.line
	return true
}

// blocks returns how many blocks a prompt has.
func blocks(input, block int64) int64 {
	n := input / block
	if input%block != 0 {
		n++
	}
	return n
}

// space returns the first i that is no JSON white space (within a line).
func space(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' {
		i++
	}
	return i
}

// key passes a key and its colon at b[i:].
func key(b []byte, i int, quoted string) (int, bool) {
	if len(b)-i < len(quoted) || string(b[i:i+len(quoted)]) != quoted {
		return i, false
	}
	i = space(b, i+len(quoted))
	if b[i] != ':' {
		return i, false
	}
	return space(b, i+1), true
}

// member passes a number and a comma at b[i:].
func member(b []byte, i int) (uint64, int, bool) {
	v, i, ok := number(b, i)
	if !ok {
		return 0, i, false
	}
	i = space(b, i)
	if b[i] != ',' {
		return 0, i, false
	}
	return v, space(b, i+1), true
}

// list passes a list of numbers at b[i:], its opening bracket already passed,
// and appends them to hashes.
func list(b []byte, i int, hashes []uint64) ([]uint64, int, bool) {
	i = space(b, i)
	if b[i] == ']' {
		return hashes, space(b, i+1), true
	}
	for {
		// Numbers of up to seven digits, most of them in a trace, in one go.
		w := binary.LittleEndian.Uint64(b[i:])
		if d := digits(w); d < 8 {
			if d == 0 || d > 1 && b[i] == '0' {
				return nil, i, false
			}
			hashes = append(hashes, decimal(w<<(64-8*d)))
			i += d
		} else {
			h, end, ok := number(b, i)
			if !ok {
				return nil, i, false
			}
			hashes = append(hashes, h)
			i = end
		}
		if b[i] != ',' {
			i = space(b, i)
			if b[i] == ']' {
				return hashes, space(b, i+1), true
			}
			if b[i] != ',' {
				return nil, i, false
			}
		}
		i++
		if b[i] == ' ' { // one, as in the public traces, without a call
			i++
		}
		i = space(b, i)
	}
}

// number passes the digits at b[i:]. It is false if there are none, if a
// zero leads, or if the value is beyond uint64.
func number(b []byte, i int) (v uint64, end int, ok bool) {
	first := i
	for {
		w := binary.LittleEndian.Uint64(b[i:])
		d := digits(w)
		if d == 0 {
			break
		}
		hi, lo := bits.Mul64(v, pow10[d])
		var carry uint64
		v, carry = bits.Add64(lo, decimal(w<<(64-8*d)), 0)
		if hi|carry != 0 {
			return 0, i, false
		}
		i += d
		if d < 8 {
			break
		}
	}
	return v, i, i > first && (b[first] != '0' || i == first+1)
}

var pow10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// digits returns how many of the eight characters in w, the first in the low
// byte, are digits before one that is not.
func digits(w uint64) int {
	const ones = 0x0101010101010101
	x := w ^ '0'*ones // digits become 0 to 9
	// The addition sets the high bit of a byte above 9. It may carry into the
	// next byte, but only out of one that is no digit itself.
	return bits.TrailingZeros64((x+(0x80-10)*ones|x)&(0x80*ones)) >> 3
}

// decimal returns the value of the digits in w, the last of them in the high
// byte; bytes below the first digit are zero or '0'. Three multiplications add
// up neighbours: digits to pairs, pairs to fours, fours to eight.
func decimal(w uint64) uint64 {
	w &= 0x0f0f0f0f0f0f0f0f
	w = w*10 + w>>8
	return ((w&0x000000ff000000ff)*(100+1000000<<32) + (w>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
}

// problem reports a problem on the current line.
func (m *mooncake) problem(field string, kind Kind, got, want string) {
	m.hinted(field, kind, got, want, "")
}

func (m *mooncake) hinted(field string, kind Kind, got, want, hint string) {
	m.good = false
	if m.stop == nil {
		m.stop = m.report(&Problem{File: m.file, Line: m.line, Field: field, Kind: kind, Got: got, Want: want, Hint: hint})
	}
}

// slow reads any line into m.rec, or reports every problem that it has as far
// as it is JSON.
func (m *mooncake) slow(line []byte) {
	if start := bytes.TrimLeft(line, " \t\r"); start[0] != '{' {
		m.problem("record", Syntax, quote(start), "a JSON object")
		return
	}
	if i := invalidUTF8(line); i >= 0 { // the decoder would mend it silently
		m.problem("record", Syntax, fmt.Sprintf("%s at byte %d", quote(line[i:]), i+1), "text in UTF-8")
		return
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := m.object(dec, line); err != nil {
		m.syntax(line, err)
		return
	}
	if rest := bytes.TrimLeft(line[dec.InputOffset():], " \t\r"); len(rest) > 0 {
		m.problem("record", Syntax, quote(rest)+" behind the record", "one JSON object on the line")
	}
}

// invalidUTF8 returns where text stops being UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// object reads the object in line. Its errors are those of JSON syntax.
func (m *mooncake) object(dec *json.Decoder, line []byte) error {
	if _, err := dec.Token(); err != nil { // {
		return err
	}
	var seen, valid [4]bool // in the order of mooncakeKeys; valid if the value is good
	var value json.RawMessage
	count := 0 // hashes, good and bad
	m.rec.Hashes = m.rec.Hashes[:0]
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder lets no other key pass
		k := slices.Index(mooncakeKeys, name)
		if name == "hash_ids" && !seen[k] && opensList(line[dec.InputOffset():]) {
			if count, err = m.hashes(dec); err != nil {
				return err
			}
			seen[k], valid[k] = true, true
			continue
		}
		if err := dec.Decode(&value); err != nil {
			return err
		}
		switch {
		case k < 0:
			m.problem(quote([]byte(name)), UnknownKey, "an unknown key", "only "+allKeys)
		case seen[k]:
			m.problem(name, DuplicateKey, literal(value)+" for the key a second time", "each key once")
		case name == "hash_ids":
			m.problem(name, NotAList, literal(value), "a list of hashes")
		default:
			var v uint64
			if v, valid[k] = m.integer(name, value, maxInteger); !valid[k] {
				break
			}
			switch name {
			case "timestamp":
				m.rec.TimestampMS = int64(v)
				m.arrival()
			case "input_length":
				m.rec.InputTokens = int64(v)
			case "output_length":
				m.rec.OutputTokens = int64(v)
			}
		}
		if k >= 0 {
			seen[k] = true
		}
	}
	if _, err := dec.Token(); err != nil { // }
		return err
	}
	for k, name := range mooncakeKeys {
		if !seen[k] {
			m.problem(name, MissingKey, "no such key", "all of "+allKeys)
		}
	}
	if want := blocks(m.rec.InputTokens, m.block); valid[1] && valid[3] && int64(count) != want {
		m.hinted("hash_ids", HashCount, fmt.Sprintf("length %d", count),
			fmt.Sprintf("%d = ceil(input_length %d / block %d)", want, m.rec.InputTokens, m.block),
			"--block-size gives another block")
	}
	return nil
}

// opensList tells if a value that starts a list comes, after a colon.
func opensList(rest []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(rest, ": \t\r"), []byte("["))
}

// hashes reads the list of hashes into m.rec and returns the number of its
// elements, good and bad.
func (m *mooncake) hashes(dec *json.Decoder) (count int, err error) {
	if _, err := dec.Token(); err != nil { // [
		return 0, err
	}
	var value json.RawMessage
	for ; dec.More(); count++ {
		if err := dec.Decode(&value); err != nil {
			return count, err
		}
		h, ok := m.integer("hash_ids["+strconv.Itoa(count)+"]", value, math.MaxUint64)
		if ok {
			m.rec.Hashes = append(m.rec.Hashes, h)
		}
	}
	_, err = dec.Token() // ]
	return count, err
}

// integer reads the JSON value of a field as an integer of at most most.
func (m *mooncake) integer(field string, value []byte, most uint64) (uint64, bool) {
	plain := bytes.TrimPrefix(value, []byte("-"))
	for _, c := range plain {
		if c < '0' || c > '9' {
			m.problem(field, NotAnInteger, literal(value), "an integer, without fraction or exponent")
			return 0, false
		}
	}
	if len(plain) < len(value) {
		m.problem(field, Negative, literal(value), "at least 0")
		return 0, false
	}
	v, err := strconv.ParseUint(string(value), 10, 64)
	if err == nil && v <= most {
		return v, true
	}
	want := fmt.Sprintf("at most %d", most)
	if most == maxInteger {
		want += ", so that sums of two stay in 64 bits"
	}
	m.problem(field, TooLarge, literal(value), want)
	return 0, false
}

// arrival holds a timestamp that could be read against the one before.
func (m *mooncake) arrival() {
	if ts := m.rec.TimestampMS; ts < m.last && !m.sort {
		m.hinted("timestamp", OutOfOrder, strconv.FormatInt(ts, 10),
			fmt.Sprintf("at least %d, as on line %d", m.last, m.lastLine), "--sort accepts it")
	}
	m.last, m.lastLine = m.rec.TimestampMS, m.line
}

// syntax reports where a line stops being JSON.
func (m *mooncake) syntax(line []byte, err error) {
	// The decoder's offsets are not to be relied on once tokens and values are
	// mixed; those of a scan from the start are.
	var bad *json.SyntaxError
	if !errors.As(json.Unmarshal(line, new(json.RawMessage)), &bad) {
		m.problem("record", Syntax, err.Error(), "one JSON object")
		return
	}
	at := max(int(bad.Offset)-1, 0)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		m.problem("record", Syntax, "the end of the line after "+quoteEnd(line), "the rest of the record")
		return
	}
	m.problem("record", Syntax, fmt.Sprintf("%s at byte %d", quote(line[at:]), at+1), "valid JSON")
}

// Writer writes a Mooncake trace, byte for byte in the spelling of the public
// ones.
type Writer struct {
	w   *bufio.Writer
	buf []byte
}

// NewWriter returns a Writer to w. Call Flush at the end.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10)}
}

// Write writes one record. It is an error if a number of it is negative or
// more than a reader accepts; order and the number of hashes are the caller's.
func (w *Writer) Write(r *Record) error {
	for _, v := range []int64{r.TimestampMS, r.InputTokens, r.OutputTokens} {
		if v < 0 || v > maxInteger {
			return fmt.Errorf("record to write: got %d, want 0 to %d", v, int64(maxInteger))
		}
	}
	b := w.buf[:0]
	b = append(b, `{"timestamp": `...)
	b = strconv.AppendInt(b, r.TimestampMS, 10)
	b = append(b, `, "input_length": `...)
	b = strconv.AppendInt(b, r.InputTokens, 10)
	b = append(b, `, "output_length": `...)
	b = strconv.AppendInt(b, r.OutputTokens, 10)
	b = append(b, `, "hash_ids": [`...)
	for i, h := range r.Hashes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendUint(b, h, 10)
	}
	b = append(b, "]}\n"...)
	w.buf = b
	_, err := w.w.Write(b)
	return err
}

// Flush writes what is still buffered.
func (w *Writer) Flush() error { return w.w.Flush() }
