package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// repeat reads a text n times over.
type repeat struct {
	text string
	n    int
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.n > 0 {
		k := copy(p[n:], r.text[r.at:])
		n += k
		if r.at += k; r.at == len(r.text) {
			r.at = 0
			r.n--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// allocated returns the bytes that f allocates, all that is freed again
// included: a bound of its memory that no garbage collector can blur.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// However long the text, validation allocates the same: nothing a line.
func TestValidateIsBounded(t *testing.T) {
	line := rec(`"timestamp": 5, "input_length": 2048, "output_length": 9, "hash_ids": [1, 2, 3, 18446744073709551615]`)
	run := func(stdin io.Reader, records int64) uint64 {
		return allocated(func() {
			s, err := Validate(context.Background(), Ref{Name: "x", Path: "-"}, Options{Stdin: stdin}, func(p Problem) { t.Fatal(p.Error()) })
			if err != nil || s.Records != records || s.Lookups != 4*records {
				t.Fatalf("got %+v, %v", s, err)
			}
		})
	}
	few := run(&repeat{text: line, n: 1000}, 1000)
	many := run(&repeat{text: line, n: 300000}, 300000)
	if many > few+64<<10 || many > 1<<20 {
		t.Errorf("got %d bytes allocated for 1,000 lines and %d for 300,000", few, many)
	}
}

// A bomb: a few KiB that become 64 MiB, of many lines or of one.
func TestBombs(t *testing.T) {
	bombs := map[string][]byte{}
	for what, unit := range map[string]string{"blank lines": strings.Repeat(" ", 99) + "\n", "one line": "0"} {
		text := bytes.Repeat([]byte(unit), (64<<20)/len(unit))
		bombs["gzip of "+what], bombs["zstd of "+what] = gzipped(t, text), zstded(t, text)
	}
	for name, data := range bombs {
		t.Run(name, func(t *testing.T) {
			var s Summary
			got := allocated(func() {
				var err error
				s, err = Validate(context.Background(), Ref{Name: "x", Path: "-"}, Options{Stdin: bytes.NewReader(data)}, func(Problem) {})
				if err != nil {
					t.Fatal(err)
				}
			})
			if s.Problems != 1 {
				t.Errorf("got %+v, want one problem", s)
			}
			if got > 48<<20 {
				t.Errorf("got %d bytes allocated", got)
			}
		})
	}
}

// A line of 64 MiB is one problem; the lines around it are read.
func TestLongLine(t *testing.T) {
	const size = 64 << 20
	want := fmt.Sprintf(`got a line of %d bytes that starts with "{\"timestamp\": 0{\"timestamp\": 0{\"timestam"…, want at most 16777216`, size)
	unit := `{"timestamp": 0`
	for _, end := range []string{"\n" + at(7), "\n", ""} {
		text := func() io.Reader {
			return io.MultiReader(strings.NewReader(at(0)), &repeat{text: unit, n: size / len(unit)}, strings.NewReader(unit[:size%len(unit)]+end))
		}
		got := allocated(func() {
			var all []Problem
			s, err := Validate(context.Background(), Ref{Name: "x", Path: "-"}, Options{Stdin: text()}, func(p Problem) { all = append(all, p) })
			if err != nil || len(all) != 1 || all[0].Kind != LineTooLong || all[0].Error() != "stdin:2: record: "+want {
				t.Errorf("got %v, %v\nwant stdin:2: record: %s", all, err, want)
			}
			if records := int64(1 + strings.Count(end, "{")); s.Records != records {
				t.Errorf("got %+v, want %d records", s, records)
			}
		})
		if got > 24<<20 {
			t.Errorf("got %d bytes allocated for one line of %d", got, size)
		}
	}
	if _, err := Load(context.Background(), Ref{Name: "x", Path: "-"}, Options{Stdin: &repeat{text: unit, n: size / len(unit)}}); asProblem(err) == nil || asProblem(err).Kind != LineTooLong {
		t.Errorf("Load: got %v", err)
	}
}

// The longest line there may be is read, and one byte more is refused.
func TestLineLimit(t *testing.T) {
	line := strings.TrimSuffix(at(3), "\n")
	for _, end := range []string{"\n", ""} {
		for extra, want := range map[int]int64{0: 0, 1: 1} {
			text := at(1) + line + strings.Repeat(" ", maxLine-len(line)+extra) + end
			p, s := problems(t, []byte(text), Options{})
			if s.ByKind[LineTooLong] != want || s.Problems != want || s.Records != 2-want {
				t.Errorf("%d bytes, end %q: got %v", maxLine+extra, end, p)
			}
		}
	}
}

// Lines of every length, in reads of every size: none is lost, split or joined.
func TestLines(t *testing.T) {
	var want []string
	for i := range 600 {
		want = append(want, strings.Repeat("x", i*i%5000), "", strings.Repeat("y", i))
	}
	want = append(want, strings.Repeat("z", 3<<20), "end")
	text := strings.Join(want, "\n")
	for _, size := range []int{1 << 10, 4099, 1 << 20} {
		rest := text
		l := newLines(readerFunc(func(p []byte) (int, error) {
			n := copy(p[:min(len(p), size)], rest)
			if rest = rest[n:]; rest == "" {
				return n, io.EOF
			}
			return n, nil
		}))
		for i, w := range want {
			got, err := l.next()
			if err != nil || string(got) != w || l.no != int64(i+1) {
				t.Fatalf("reads of %d: line %d: got %d bytes, %v; want %d", size, l.no, len(got), err, len(w))
			}
			if got = got[:len(got)+linePad]; got[len(w)] != '\n' {
				t.Fatalf("reads of %d: line %d is not followed by a newline", size, l.no)
			}
		}
		if got, err := l.next(); err != io.EOF {
			t.Fatalf("got %q, %v at the end", got, err)
		}
	}
}

// Parsing allocates for its columns alone, which grow by a factor: ten times
// the lines are a few more allocations, not ten times as many.
func TestParseAllocations(t *testing.T) {
	run := func(requests int) float64 {
		text := generated(requests, 8)
		return testing.AllocsPerRun(1, func() {
			if _, err := Parse("x", text, Options{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := run(2000), run(20000); many > few+100 {
		t.Errorf("got %v allocations for 2,000 lines and %v for 20,000", few, many)
	}
}

// What a trace holds at the end, and what was allocated on the way to it, all
// that is freed again included: no more than 12 bytes a lookup and 32 a
// distinct block.
func TestParseMemory(t *testing.T) {
	text := generated(200000, 16) // 3.2 million lookups, half as many blocks
	var tr *Trace
	var err error
	got := allocated(func() { tr, err = Parse("x", text, Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	held := 8*(cap(tr.ArrivalMS)+cap(tr.InputTokens)+cap(tr.OutputTokens)+cap(tr.Offset)+cap(tr.Hash)) + 4*cap(tr.Block)
	need := 8*4*tr.Requests() + 4*tr.Lookups() + 8*len(tr.Hash)
	if held > need*5/4 {
		t.Errorf("the trace holds %d bytes, needs %d", held, need)
	}
	if most := 12*tr.Lookups() + 32*len(tr.Hash); got > uint64(most) {
		t.Errorf("got %d bytes allocated, want at most %d", got, most)
	}
}

// A long prompt of one block over and over, at the start of what claims to be a
// long text, is no reason to expect as many blocks.
func TestRepeatedHashesTakeNoRoom(t *testing.T) {
	const hashes = 1 << 20
	line := rec(`"timestamp": 0, "input_length": ` + strconv.Itoa(hashes) + `, "output_length": 0, "hash_ids": [` +
		strings.Repeat("0,", hashes-1) + `0]`)
	got := allocated(func() {
		_, err := read(strings.NewReader(line+line), "x", "x", 1<<40, Options{BlockTokens: 1})
		if err == nil || !strings.Contains(err.Error(), "changed while it was read") {
			t.Errorf("got error %v", err)
		}
	})
	if most := uint64(hashes * 100); got > most {
		t.Errorf("got %d bytes allocated, want at most %d", got, most)
	}
}
