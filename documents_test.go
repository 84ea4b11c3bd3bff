package kvfanin_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInvariants holds that every test INVARIANTS.md names exists.
func TestInvariants(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := walkSources(func(file string, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		b, err := os.ReadFile(file)
		for _, m := range declared.FindAllSubmatch(b, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("INVARIANTS.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllSubmatch(b, -1)
	if len(named) == 0 {
		t.Error("INVARIANTS.md names no test")
	}
	for _, m := range named {
		if !tests[string(m[1])] {
			t.Errorf("INVARIANTS.md names %s, which does not exist", m[1])
		}
	}
}

// TestLinks holds that what the documents link to in the project is there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	err := walkSources(func(file string, err error) error {
		if err != nil || !strings.HasSuffix(file, ".md") {
			return err
		}
		b, err := os.ReadFile(file)
		for _, m := range link.FindAllSubmatch(b, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), string(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
