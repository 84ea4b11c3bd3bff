package trace

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"
)

// BenchmarkParse reports MB/s of each layer, above the bounds they can be held
// against in the same run: one pass that only finds newlines, and one that
// only turns digits into numbers, a digit at a time.
func BenchmarkParse(b *testing.B) {
	benchmarkText(b, generated(4000, 30))
}

// BenchmarkConversation is BenchmarkParse on a public trace.
func BenchmarkConversation(b *testing.B) {
	text, err := os.ReadFile(sharedFile(b, "traces/conversation_trace.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkText(b, text)
}

func benchmarkText(b *testing.B, text []byte) {
	run := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("bound/newlines", func() error {
		for rest := text; len(rest) > 0; {
			rest = rest[bytes.IndexByte(rest, '\n')+1:]
		}
		return nil
	})
	var sum uint64
	run("bound/digits", func() error {
		var v uint64
		for _, c := range text {
			if d := c - '0'; d < 10 {
				v = v*10 + uint64(d)
			} else {
				sum += v
				v = 0
			}
		}
		return nil
	})
	run("bound/identity", func() error {
		id := newIdentity("bench", int64(len(text)))
		_, err := id.Write(text)
		id.stop()
		return err
	})
	// Records are scanned and checked; nothing is kept.
	run("scan", func() error {
		return formats[0].read(newLines(bytes.NewReader(text)), "bench", Options{BlockTokens: 512},
			func(int64, *Record) error { return nil }, func(p *Problem) error { return p })
	})
	// The parse without the identity. The two go on side by side, so where there
	// is a second core the parse takes as long as the slower one.
	run("columns", func() error {
		l := newLines(bytes.NewReader(text))
		return formats[0].read(l, "bench", Options{BlockTokens: 512},
			newBuilder("bench", l, int64(len(text))).add, func(p *Problem) error { return p })
	})
	run("validate", func() error {
		_, err := Validate(context.Background(), Ref{"bench", "-"}, Options{Stdin: bytes.NewReader(text)}, func(Problem) {})
		return err
	})
	run("parse", func() error {
		_, err := Parse("bench", text, Options{})
		return err
	})
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
