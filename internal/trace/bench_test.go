package trace

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"

	"kvfanin/internal/bound"
)

// BenchmarkParse measures the reading of a public trace, or of one generated
// here where it does not lie beside the checkout. Beside it run what it is made
// of (its identity; the scan, in which records are checked and not kept; the
// columns, a parse without the identity) and two passes over the text, one that
// finds newlines and one that turns digits into numbers. Identity and columns go
// on side by side, so where there is a second core a parse takes as long as the
// slower one.
func BenchmarkParse(b *testing.B) {
	text, missing := os.ReadFile("../../../shared/traces/conversation_trace.jsonl")
	if missing != nil {
		b.Logf("over a generated trace: %v", missing)
		text = generated(4000, 30)
	}
	check := func(err error) {
		if err != nil {
			b.Error(err)
		}
	}
	stop := func(p *Problem) error { return p }
	var sum uint64
	ns := bound.Compare(b, "byte", float64(len(text)),
		func() {
			_, err := Parse("bench", text, Options{})
			check(err)
		},
		bound.Thing{Name: "newlines", Run: func() {
			for rest := text; len(rest) > 0; {
				rest = rest[bytes.IndexByte(rest, '\n')+1:]
			}
		}},
		bound.Thing{Name: "digits", Run: func() {
			var v uint64
			for _, c := range text {
				if d := c - '0'; d < 10 {
					v = v*10 + uint64(d)
				} else {
					sum += v
					v = 0
				}
			}
		}},
		bound.Thing{Name: "identity", Run: func() {
			id := newIdentity("bench", int64(len(text)))
			_, err := id.Write(text)
			id.stop()
			check(err)
		}},
		bound.Thing{Name: "scan", Run: func() {
			l := newLines(bytes.NewReader(text))
			check(formats[0].read(l, "bench", Options{BlockTokens: 512}, func(int64, *Record) error { return nil }, stop))
		}},
		bound.Thing{Name: "columns", Run: func() {
			l := newLines(bytes.NewReader(text))
			check(formats[0].read(l, "bench", Options{BlockTokens: 512}, newBuilder("bench", l, int64(len(text))).add, stop))
		}},
		bound.Thing{Name: "validate", Run: func() {
			_, err := Validate(context.Background(), Ref{"bench", "-"}, Options{Stdin: bytes.NewReader(text)}, func(Problem) {})
			check(err)
		}},
	)
	b.ReportMetric(1e3/ns, "MB/s")
}

// generated is a trace of so many requests and blocks a request, half of the
// blocks shared with the request before.
func generated(requests, blocks int) []byte {
	var out []byte
	for i := range requests {
		out = append(out, `{"timestamp": `...)
		out = strconv.AppendInt(out, int64(i)*7, 10)
		out = append(out, `, "input_length": `...)
		out = strconv.AppendInt(out, int64(blocks*DefaultBlockTokens-100), 10)
		out = append(out, `, "output_length": 500, "hash_ids": [`...)
		for k := range blocks {
			if k > 0 {
				out = append(out, ", "...)
			}
			out = strconv.AppendInt(out, int64(i*blocks/2+k), 10)
		}
		out = append(out, "]}\n"...)
	}
	return out
}
