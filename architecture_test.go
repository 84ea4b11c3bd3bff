package kvfanin_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows says which packages of the project each may import: the picture in
// ARCHITECTURE.md as a table. Every arrow points down.
var arrows = map[string][]string{
	"cmd/kvfanin":        {"internal/cli"},
	"internal/cli":       {"internal/decision", "internal/fanin", "internal/findings", "internal/generate", "internal/page", "internal/probe", "internal/profile", "internal/report", "internal/result", "internal/route", "internal/rundir", "internal/study", "internal/trace"},
	"internal/report":    {"internal/decision", "internal/findings", "internal/probe", "internal/profile", "internal/result", "internal/rundir", "internal/trace"},
	"internal/page":      {"internal/decision", "internal/findings", "internal/profile", "internal/report"},
	"internal/decision":  {"internal/findings", "internal/result"},
	"internal/findings":  {"internal/profile", "internal/result"}, // never the engine: tables can be made from files alone
	"internal/study":     {"internal/fanin", "internal/profile", "internal/result", "internal/route", "internal/rundir", "internal/trace"},
	"internal/route":     {"internal/trace"},
	"internal/fanin":     {}, // arrays in, counts out
	"internal/probe":     {"internal/fanin"},
	"internal/rundir":    {"internal/profile", "internal/result"},
	"internal/result":    {},
	"internal/profile":   {"internal/trace"},
	"internal/generate":  {"internal/trace"},
	"internal/trace":     {},
	"internal/reference": {}, // for tests only
	"internal/bound":     {}, // for benchmarks only

	"internal/probe/fake": {"internal/probe"}, // for tests only
}

// walkSources visits what is the project's: not what make put into bin.
func walkSources(visit func(file string, err error) error) error {
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file == "bin" {
			return fs.SkipDir
		}
		return visit(file, err)
	})
}

// TestArrows holds the imports of every package to the table.
func TestArrows(t *testing.T) {
	seen := map[string]bool{}
	err := walkSources(func(file string, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		dir := path.Dir(filepath.ToSlash(file))
		allowed, known := arrows[dir]
		if !known {
			t.Errorf("%s: a package that is not in the table of arrows", dir)
			return nil
		}
		seen[dir] = true
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if to, ours := strings.CutPrefix(name, "kvfanin/"); ours && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s, which is no arrow of the table", file, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range arrows {
		if !seen[dir] {
			t.Errorf("%s is in the table of arrows and has no code", dir)
		}
	}
}
