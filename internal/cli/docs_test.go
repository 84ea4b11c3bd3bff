package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs runs the sessions in the documents: in each console block the lines
// after "$ " are run, in one folder for a document, and what stands below each
// must be printed, line by line; "..." stands for any number of lines.
func TestDocs(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, "../../README.md")
	sessions := 0
	for _, document := range documents {
		b, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(document), func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, block := range strings.Split(string(b), "```console\n")[1:] {
				session, _, _ := strings.Cut(block, "```")
				for _, part := range strings.Split("\n"+session, "\n$ ")[1:] {
					command, want, _ := strings.Cut(part, "\n")
					words := strings.Fields(command)
					if words[0] != "kvfanin" {
						t.Errorf("%q is not a command of this program", command)
						continue
					}
					sessions++
					_, stdout, stderr := call(words[1:]...)
					if got := stdout + stderr; !matches(lines(want), lines(got)) {
						t.Errorf("%s\n--- the document has\n%s\n--- printed is\n%s", command, want, got)
					}
				}
			}
		})
	}
	if sessions == 0 {
		t.Error("no document has a session")
	}
}

func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// matches says whether got is want, in which "..." stands for any lines.
func matches(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "...":
		for skip := range len(got) + 1 {
			if matches(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	default:
		return len(got) > 0 && want[0] == got[0] && matches(want[1:], got[1:])
	}
}
