//go:build unix

package probe_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kvfanin/internal/probe"
	"kvfanin/internal/probe/fake"
)

// TestMain lets the test binary be the programs of the fake.
func TestMain(m *testing.M) {
	if slices.Contains(fake.Names, filepath.Base(os.Args[0])) {
		fake.Main()
	}
	os.Exit(m.Run())
}

// fakePython returns an interpreter whose harness behaves so.
func fakePython(t *testing.T, behaviour string) *probe.Options {
	t.Helper()
	t.Setenv(fake.Behaviour, behaviour)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range fake.Names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return &probe.Options{Python: filepath.Join(dir, "python")}
}

// crowd is the processes of the fake: it is told of each.
type crowd struct {
	t    *testing.T
	read *bufio.Reader
	hold *os.File // a side for writing, so that the pipe has one before the first process
}

// newCrowd must be called before the processes start.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(fake.Pipe, path)
	hold, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	read, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = hold.Close(), read.Close() })
	return &crowd{t, bufio.NewReader(read), hold}
}

func folderOf(line string) string {
	_, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
	return folder
}

// await returns the folder of the next process that starts.
func (c *crowd) await() string {
	c.t.Helper()
	line, err := c.read.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return folderOf(line)
}

// gone waits until all processes have ended, and returns their folders.
func (c *crowd) gone() (folders []string) {
	c.t.Helper()
	_ = c.hold.Close()
	rest, err := io.ReadAll(c.read)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(rest)) {
		folders = append(folders, folderOf(line))
	}
	return folders
}

func caseOf(t *testing.T, name string) *probe.Case {
	t.Helper()
	c, err := probe.CaseByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRun runs every case of every target, with each store it can have, on a
// stack that does what is expected.
func TestRun(t *testing.T) {
	for _, target := range probe.Targets {
		var cases []*probe.Case
		for _, c := range probe.CasesOf(target) {
			cases = append(cases, c)
			if c.HasStore() {
				cases = append(cases, c.With(probe.StoreReal, ""))
			}
		}
		t.Run(target.Name, func(t *testing.T) {
			crowd := newCrowd(t)
			outcomes, err := probe.Run(t.Context(), cases, fakePython(t, "good"))
			if err != nil {
				t.Fatal(err)
			}
			if len(outcomes) != len(cases) {
				t.Fatalf("%d outcomes of %d cases", len(outcomes), len(cases))
			}
			for i, o := range outcomes {
				if o.Case != cases[i] || !o.Holds() || !o.Tried {
					t.Errorf("%s: %v %v, tried %t", cases[i].Name, o.Err, o.Differences, o.Tried)
				}
				if len(o.Expected) == 0 {
					t.Errorf("%s: nothing is expected", cases[i].Name)
				}
			}
			for _, folder := range crowd.gone() {
				if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is still there (%v)", folder, err)
				}
			}
		})
	}
}

// TestIllHarness has the harness, the master or the owner be ill in every way:
// there is a message that says what, where, and the last lines of the log, and
// nothing is left behind.
func TestIllHarness(t *testing.T) {
	const log = "; its last lines: "
	tests := []struct {
		behaviour string
		store     string
		want      []string
	}{
		{"dead at start", "", []string{"the harness ended (exit status 1) at its start" + log, "No module named 'vllm'"}},
		{"hung at start", "", []string{"the harness is not done after ", "at its start"}},
		{"garbage at start", "", []string{`the harness wrote a line that is no message of this protocol: "INFO 11-29 vllm starting" at its start`}},
		{"other version", "", []string{"the harness speaks protocol 2, and this program 1"}},
		{"other target", "", []string{`the harness is one of "another", and "vllm-mooncake" was asked for`}},
		{"no hello", "", []string{"where a hello belongs"}},
		{"missing", "", []string{"libibverbs.so.1 is missing (Mooncake links it): apt-get install libibverbs1"}},
		{"dies", "", []string{"the harness ended (signal: killed) in case held at stage held" + log + "INFO the stack logs of case 1"}},
		{"hung", "", []string{"the harness is not done after ", "in case held at stage held" + log + "INFO the stack logs"}},
		{"hung with children", "", []string{"in case held at stage held"}},
		{"flood", "", []string{"the harness is not done after ", "in case held at stage held"}},
		{"garbage", "", []string{`the harness wrote a line that is no message of this protocol: "loss = nan" in case held at stage held` + log}},
		{"long line", "", []string{"the harness wrote a line of more than 16 MiB in case held at stage held"}},
		{"out of order", "", []string{"the harness sent a message out of order: stage of case 2, while 1 runs"}},
		{"unknown kind", "", []string{"the harness sent a message out of order", "gossip"}},
		{"unknown need", "", []string{`the harness needs "coffee", which protocol 1 does not have`}},
		{"bad result", "", []string{"the harness sent a result that cannot be read"}},
		{"error", "", []string{"held: AssertionError: not async"}},
		{"fatal", "", []string{"the harness gave up: setup: MemoryError"}},
		{"master dead", probe.StoreReal, []string{"mooncake_master ended (exit status 1) before it listened at 127.0.0.1:", "bind: address already in use"}},
		{"owner dead", probe.StoreReal, []string{"the owner of the object ended (exit status 1)", "cannot join the master"}},
		{"owner garbage", probe.StoreReal, []string{`the owner of the object wrote a line that is no message of this protocol: "Segment mounted."`}},
		{"owner refuses", probe.StoreReal, []string{"the owner of the object cannot put the object: -200: no space"}},
	}
	for _, test := range tests {
		t.Run(test.behaviour, func(t *testing.T) {
			crowd := newCrowd(t)
			o := fakePython(t, test.behaviour)
			o.Patience = patience(test.behaviour)
			outcomes, err := probe.Run(t.Context(), []*probe.Case{caseOf(t, "held").With(test.store, "")}, o)
			if err == nil {
				if len(outcomes) != 1 || outcomes[0].Err == nil || outcomes[0].Holds() {
					t.Fatal("no error")
				}
				err = outcomes[0].Err
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
			for _, folder := range crowd.gone() {
				if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is still there (%v)", folder, err)
				}
			}
		})
	}
}

// patience is short for what hangs: it has to end by it, at the stage that it
// has reached by then.
func patience(behaviour string) time.Duration {
	switch {
	case behaviour == "hung at start":
		return 100 * time.Millisecond
	case strings.HasPrefix(behaviour, "hung"), behaviour == "flood":
		return 3 * time.Second
	default:
		return time.Minute
	}
}

// TestSessionsEnd has a case take the harness with it: the cases after it run
// in another.
func TestSessionsEnd(t *testing.T) {
	cases := []*probe.Case{caseOf(t, "held"), caseOf(t, "get_fails"), caseOf(t, "threads")}
	outcomes, err := probe.Run(t.Context(), cases, fakePython(t, "dies in get_fails"))
	if err != nil {
		t.Fatal(err)
	}
	if !outcomes[0].Holds() || !outcomes[2].Holds() {
		t.Errorf("the cases beside it: %v, %v", outcomes[0].Err, outcomes[2].Err)
	}
	if err := outcomes[1].Err; err == nil || !strings.Contains(err.Error(), "the harness ended (signal: killed) in case get_fails at stage held") {
		t.Errorf("the case: %v", err)
	}
}

// TestCancel ends a run while its harness and a child of that hang, and wait for
// no signal but the last.
func TestCancel(t *testing.T) {
	crowd := newCrowd(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := fakePython(t, "hung with children")
	done := make(chan error)
	go func() {
		_, err := probe.Run(ctx, []*probe.Case{caseOf(t, "held").With(probe.StoreReal, "")}, o)
		done <- err
	}()
	const processes = 4 // harness, master, owner, the child
	var folder string
	for range processes {
		folder = crowd.await()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	crowd.gone()
	if _, err := os.Lstat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", folder, err)
	}
}

// TestExpectedCountsAreCompared changes each expected count of each case by one,
// and has the difference be seen: it alone.
func TestExpectedCountsAreCompared(t *testing.T) {
	o := fakePython(t, "good")
	for _, target := range probe.Targets {
		cases := probe.CasesOf(target)
		outcomes, err := probe.Run(t.Context(), cases, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range cases {
			versions := outcomes[i].Versions
			changed := 0
			for snapshot, names := range c.Expected(versions) {
				for name := range names {
					for _, by := range []int64{-1, 1} {
						d := c.CompareChanged(outcomes[i].Observed, versions, snapshot, name, by)
						if len(d) != 1 || d[0].Snapshot != snapshot || d[0].Count != name {
							t.Errorf("%s: %s %s changed by %d: differences %v", c.Name, snapshot, name, by, d)
						}
						changed++
					}
				}
			}
			if changed < 10 {
				t.Errorf("%s: only %d counts are expected", c.Name, changed/2)
			}
		}
	}
}
