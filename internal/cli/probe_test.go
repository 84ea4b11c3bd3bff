//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvfanin/internal/probe/fake"
)

// TestProbeEnds ends a probe from outside while its harness hangs, by a signal
// that can be handled and by one that cannot: no process and no folder is left.
func TestProbeEnds(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			// A side for writing, so that the pipe has one before the first process.
			hold, err := os.OpenFile(pipe, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			read, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = hold.Close(), read.Close() }()

			cmd := exec.Command("kvfanin", "probe", "run", "--python", "python", "--store", "real")
			cmd.Env = append(os.Environ(), fake.Behaviour+"=hung with children", fake.Pipe+"="+pipe)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			folder := ""
			lines := bufio.NewReader(read)
			for range 4 { // harness, master, owner, and a child of the harness
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				_, folder, _ = strings.Cut(strings.TrimSpace(line), " ")
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it ended as if nothing had been")
			}
			if signal == os.Interrupt && (cmd.ProcessState.ExitCode() != exitFailed || stderr.String() != "kvfanin: interrupted\n") {
				t.Errorf("exit code %d, stderr %q", cmd.ProcessState.ExitCode(), stderr.String())
			}
			// The pipe ends when the last process that has it is gone.
			_ = hold.Close()
			if _, err := io.ReadAll(lines); err != nil {
				t.Error(err)
			}
			// Who removes the folder is waited for by nobody once kvfanin is killed.
			for {
				if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
					break
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// TestProbeSchema holds what --format json writes against the schema in docs.
func TestProbeSchema(t *testing.T) {
	var schema any
	b, err := os.ReadFile("../../docs/probe.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	for _, behaviour := range []string{"good", "differs end gets", "dies in get_fails", "error"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Setenv(fake.Behaviour, behaviour)
			_, stdout, stderr := call("probe", "run", "--python", "python", "--case", "all", "--store", "fake", "--format", "json")
			var doc any
			if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			for _, problem := range violations(schema.(map[string]any), doc, "") {
				t.Error(problem)
			}
			if t.Failed() {
				return
			}
			doc.(map[string]any)["surprise"] = 1
			if len(violations(schema.(map[string]any), doc, "")) == 0 {
				t.Error("the schema lets anything through")
			}
		})
	}
}

// violations checks a value against the part of JSON Schema that the schema
// uses.
func violations(schema map[string]any, value any, at string) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, at+": "+fmt.Sprintf(format, args...)) }
	for keyword, rule := range schema {
		switch keyword {
		case "$schema", "$id", "title", "description":
		case "type":
			if types, ok := rule.([]any); ok && !slices.ContainsFunc(types, func(t any) bool { return isType(t.(string), value) }) ||
				!ok && !isType(rule.(string), value) {
				say("%v is no %v", value, rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), value) {
				say("%v is none of %v", value, rule)
			}
		case "const":
			if rule != value {
				say("%v is not %v", value, rule)
			}
		case "items":
			items, _ := value.([]any)
			for i, item := range items {
				problems = append(problems, violations(rule.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "minItems":
			if items, ok := value.([]any); ok && len(items) < int(rule.(float64)) {
				say("has %d items", len(items))
			}
		case "maxItems":
			if items, ok := value.([]any); ok && len(items) > int(rule.(float64)) {
				say("has %d items", len(items))
			}
		case "required":
			object, ok := value.(map[string]any)
			for _, name := range rule.([]any) {
				if _, there := object[name.(string)]; ok && !there {
					say("has no %v", name)
				}
			}
		case "properties":
			for name, of := range rule.(map[string]any) {
				if v, there := member(value, name); there {
					problems = append(problems, violations(of.(map[string]any), v, at+"."+name)...)
				}
			}
		case "additionalProperties":
			object, _ := value.(map[string]any)
			named, _ := schema["properties"].(map[string]any)
			for name, v := range object {
				if _, known := named[name]; known {
					continue
				}
				if of, ok := rule.(map[string]any); ok {
					problems = append(problems, violations(of, v, at+"."+name)...)
				} else {
					say("has %s, which is not in the schema", name)
				}
			}
		default:
			say("the schema has %s, which this test does not know", keyword)
		}
	}
	return problems
}

func member(value any, name string) (any, bool) {
	object, _ := value.(map[string]any)
	v, there := object[name]
	return v, there
}

func isType(name string, value any) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == float64(int64(v))
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}
