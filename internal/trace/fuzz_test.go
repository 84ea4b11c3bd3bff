package trace

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var seeds = []string{
	"",
	rec(good),
	"\ufeff" + rec(good) + "\r\n" + at(3) + at(2),
	rec(good + `, "x": 1, "t\u0069mestamp": 2`),
	rec(`"timestamp": 0, "input_length": 1500, "output_length": 2, "hash_ids": [7, 18446744073709551615, 7]`),
	rec(`"timestamp": -0, "input_length": 1e3, "output_length": 0.5, "hash_ids": [18446744073709551616, 12345678]`),
	"{" + head + `"hash_ids": [7`,
	"{" + good + "} {",
	"\x00\xff{\n" + `{"hash_ids":[],"output_length":0,"input_length":0,"timestamp":00}`,
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), false, uint8(0))
		f.Add([]byte(s), true, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, sort bool, block uint8) {
		opt := Options{Sort: sort, BlockTokens: int(block)}
		if block == 0 {
			fastLines(t, text, DefaultBlockTokens)
		} else {
			fastLines(t, text, int64(block))
		}
		tr, err := Parse("fuzz", text, opt)
		if err != nil {
			p := asProblem(err)
			if p == nil || p.Line < 1 || p.Line > 1+int64(bytes.Count(text, []byte("\n"))) || p.Kind == "" || p.Field == "" ||
				strings.ContainsFunc(p.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("not a good problem: %v", err)
			}
			return
		}
		if err := check(tr); err != "" {
			t.Fatal(err)
		}
		recs, err := records(text, opt)
		if err != nil {
			t.Fatalf("the second time: %v", err)
		}
		again, err := Parse("fuzz", rewritten(t, recs), opt)
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		same(t, again, tr)
		if again.Source.Sorted != tr.Source.Sorted || tr.Source.Bytes != int64(len(text)) {
			t.Fatalf("got source %+v of %d bytes, written again %+v", tr.Source, len(text), again.Source)
		}
	})
}

// check says what is wrong with a trace's shape, if anything.
func check(t *Trace) string {
	n := t.Requests()
	if n == 0 || len(t.InputTokens) != n || len(t.OutputTokens) != n || len(t.Offset) != n+1 || t.Offset[0] != 0 || t.Offset[n] != int64(t.Lookups()) {
		return "columns do not fit together"
	}
	next := uint32(0)
	for i := range n {
		if i > 0 && t.ArrivalMS[i] < t.ArrivalMS[i-1] {
			return "arrivals decrease"
		}
		in := map[uint32]bool{}
		for _, b := range t.Blocks(i) {
			if in[b] {
				return "a block stands twice in one request"
			}
			in[b] = true
			if b > next {
				return "blocks are not numbered by first appearance"
			}
			if b == next {
				next++
			}
		}
	}
	seen := map[uint64]bool{}
	for _, h := range t.Hash {
		seen[h] = true
	}
	if int(next) != len(t.Hash) || len(seen) != len(t.Hash) {
		return "the hashes do not match the block numbers"
	}
	return ""
}

func FuzzValidate(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, sort bool) {
		if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) || len(text) >= 4 && isZstd(text[:4]) {
			return // Validate would decompress it
		}
		opt := Options{Sort: sort}
		all, s := problems(t, text, opt)
		tr, err := Parse("stdin", text, opt)
		if len(all) == 0 {
			if err != nil {
				t.Fatalf("no problem, but Parse says %v", err)
			}
			if s.Records != int64(tr.Requests()) || s.Lookups != int64(tr.Lookups()) || s.Dropped != tr.Dropped {
				t.Fatalf("summary %+v of a trace with %d requests, %d lookups, %d dropped", s, tr.Requests(), tr.Lookups(), tr.Dropped)
			}
			return
		}
		p := asProblem(err)
		if p == nil {
			t.Fatalf("%d problems, but Parse says %v", len(all), err)
		}
		if diff := cmp.Diff(all[0], *p); diff != "" {
			t.Fatalf("the first problem (-Validate +Parse):\n%s", diff)
		}
		for i := 1; i < len(all); i++ {
			if all[i].Line < all[i-1].Line {
				t.Fatalf("line %d after line %d", all[i].Line, all[i-1].Line)
			}
		}
	})
}
