//go:build unix

package probe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvfanin/internal/probe"
)

// TestExpectFile reads files of counts, good and bad.
func TestExpectFile(t *testing.T) {
	c := caseOf(t, "held")
	for _, test := range []struct{ name, text, err string }{
		{"exact", `{"cases":[{"case":"held","counts":{"end":{"gets":8}}}]}`, ""},
		{"range", `{"cases":[{"case":"held","counts":{"end":{"gets":[1,9]}}}]}`, ""},
		{"depends on time", `{"cases":[{"case":"held","counts":{"end":{"gets":8,"steps":1,"lookup_polls":1}}}]}`, ""},
		{"differs", `{"cases":[{"case":"held","counts":{"end":{"gets":7}}}]}`, "end gets 7"},
		{"a count there is none of", `{"cases":[{"case":"held","counts":{"end":{"coffees":7}}}]}`, "end coffees 7"},
		{"another case", `{"cases":[{"case":"threads","counts":{}}]}`, "there are no counts of case held in it"},
		{"snapshot", `{"cases":[{"case":"held","counts":{"after":{"gets":7}}}]}`, `case held has counts of "after"`},
		{"no case", `{}`, "there is no case in it"},
		{"not JSON", `gets: 8`, "want what kvfanin probe run --format json writes"},
		{"not a count", `{"cases":[{"case":"held","counts":{"end":{"gets":"8"}}}]}`, "want a whole number"},
		{"range from most to least", `{"cases":[{"case":"held","counts":{"end":{"gets":[9,1]}}}]}`, "from the least to the most"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "counts.json")
			if err := os.WriteFile(path, []byte(test.text), 0o666); err != nil {
				t.Fatal(err)
			}
			got := ""
			file, err := probe.ReadExpectFile(path)
			var expecting *probe.Case
			if err == nil {
				expecting, err = file.Apply(c)
			}
			if err != nil {
				got = err.Error()
				if !strings.Contains(got, path) {
					t.Errorf("%s does not name the file", got)
				}
			} else {
				outcomes, err := probe.Run(t.Context(), []*probe.Case{expecting}, fakePython(t, "good"))
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range outcomes[0].Differences {
					got += d.Snapshot + " " + d.Count + " " + d.Want.String()
				}
			}
			if test.err == "" && got != "" || !strings.Contains(got, test.err) {
				t.Errorf("%q, want %q", got, test.err)
			}
		})
	}
}

// TestKnownToVary has a recorded count vary as far as the table says it may.
func TestKnownToVary(t *testing.T) {
	varies := 0
	for _, c := range probe.Cases {
		for snapshot, names := range c.Expected(nil) {
			for name, want := range names {
				if want.Min == want.Max {
					continue
				}
				varies++
				file := probe.ExpectFile{Cases: []probe.ExpectCase{{Case: c.Name, Counts: probe.Expected{
					snapshot: {name: {Min: want.Max, Max: want.Max}},
				}}}}
				other, err := file.Apply(c)
				if err != nil {
					t.Fatal(err)
				}
				if got := other.Expected(nil)[snapshot][name]; got != want {
					t.Errorf("%s: %s %s recorded as %d may be %v, want %v", c.Name, snapshot, name, want.Max, got, want)
				}
			}
		}
	}
	if varies == 0 {
		t.Error("no count of the table varies")
	}
}
