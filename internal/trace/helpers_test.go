package trace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// sharedFile returns the path of a file that lies beside the module and is no
// part of it. Without the file the test is skipped, or fails where everything
// has to run.
func sharedFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
			t.Fatalf("KVFANIN_REQUIRE_ALL=1 and ../shared/%s is missing", name)
		}
		t.Skipf("needs ../shared/%s", name)
	}
	return path
}

// rec is a record line in the usual spelling.
func rec(members string) string { return "{" + members + "}\n" }

// records returns the records of a text as they stand there, before a Trace
// drops repeated hashes, and the first problem.
func records(text []byte, opt Options) ([]Record, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	var all []Record
	err = formats[0].read(newLines(bytes.NewReader(text)), "t.jsonl", opt, func(_ int64, r *Record) error {
		c := *r
		c.Hashes = append([]uint64{}, r.Hashes...)
		all = append(all, c)
		return nil
	}, func(p *Problem) error { return p })
	return all, err
}

// rewritten returns records as the writer spells them.
func rewritten(t rapid.TB, all []Record) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for i := range all {
		if err := w.Write(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// problems returns all that Validate reports of a text.
func problems(t rapid.TB, text []byte, opt Options) ([]Problem, Summary) {
	t.Helper()
	opt.Stdin = bytes.NewReader(text)
	var all []Problem
	s, err := Validate(context.Background(), Ref{Name: "t", Path: "-"}, opt, func(p Problem) { all = append(all, p) })
	if err != nil {
		t.Fatal(err)
	}
	return all, s
}

func mustParse(t testing.TB, text string, opt Options) *Trace {
	t.Helper()
	tr, err := Parse("t.jsonl", []byte(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// same fails unless two traces are equal but for the bytes they came from.
func same(t rapid.TB, got, want *Trace) {
	t.Helper()
	g, w := *got, *want
	g.Source, w.Source = Source{}, Source{}
	g.Name, w.Name = "", ""
	if diff := cmp.Diff(w, g, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("traces differ (-want +got):\n%s", diff)
	}
}

// asProblem returns err as a Problem; nil if it is none.
func asProblem(err error) *Problem {
	p, _ := errors.AsType[*Problem](err)
	return p
}
