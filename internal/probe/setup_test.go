//go:build unix

package probe_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvfanin/internal/probe"
	"kvfanin/internal/probe/fake"
)

// newPlace returns where an environment is to be made.
func newPlace(t *testing.T) *probe.Place {
	t.Helper()
	environment := probe.Targets[0].Environment
	place, err := probe.PlaceOf(environment, &environment.Releases[0], filepath.Join(t.TempDir(), "environment"))
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestSetup makes an environment, finds it there, and makes it anew when it was
// not finished or is of another lock.
func TestSetup(t *testing.T) {
	place := newPlace(t)
	o := fakePython(t, "good")
	var steps []string
	setup := func() {
		t.Helper()
		steps = nil
		if err := place.Setup(t.Context(), o.Python, func(s string) { steps = append(steps, s) }); err != nil {
			t.Fatal(err)
		}
		if !place.Ready() {
			t.Fatal("not ready after a setup")
		}
	}
	setup()
	if got := strings.Join(steps, "\n"); !strings.Contains(got, "installing with uv") || strings.Contains(got, "Collecting torch") {
		t.Errorf("the steps that were told are %q", got)
	}
	if setup(); len(steps) > 0 {
		t.Errorf("a second setup did %q", steps)
	}
	versions, missing, err := probe.Check(t.Context(), probe.Targets[0], &probe.Options{Python: place.Python()})
	if err != nil || len(missing) > 0 || versions["vllm"] != "0.32.0" {
		t.Errorf("the check gives %v, %v, %v", versions, missing, err)
	}
	marker := filepath.Join(place.Dir, "kvfanin-environment.json")
	if err := os.WriteFile(marker, []byte(`{"environment":"vllm-mooncake","release":"0.32.0","lock":"another"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if place.Ready() {
		t.Error("an environment of another lock is taken for this one")
	}
	if setup(); len(steps) == 0 {
		t.Error("an environment of another lock was left as it is")
	}
	t.Setenv(fake.Behaviour, "uv fails")
	place = newPlace(t)
	if setup(); !strings.Contains(strings.Join(steps, "\n"), "Collecting torch") {
		t.Errorf("without uv pip was told to do %q", steps)
	}
}

// TestSetupFails has each step fail: the message says what to do, and the next
// setup begins anew.
func TestSetupFails(t *testing.T) {
	for behaviour, want := range map[string]string{
		"old python":    "is Python 3.9.1, and 3.11 or later is needed: name another with --python",
		"broken python": "no module named encodings: install Python 3.11 or later",
		"no ensurepip":  "apt-get install python3-venv",
		"pip fails":     "pip install: exit status 1; its last lines: Collecting torch | ERROR: THESE PACKAGES DO NOT MATCH THE HASHES",
	} {
		t.Run(behaviour, func(t *testing.T) {
			place := newPlace(t)
			o := fakePython(t, behaviour)
			err := place.Setup(t.Context(), o.Python, func(string) {})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nhas no %q", err, want)
			}
			if place.Ready() {
				t.Error("ready all the same")
			}
			o = fakePython(t, "good")
			if err := place.Setup(t.Context(), o.Python, func(string) {}); err != nil || !place.Ready() {
				t.Errorf("after it: %v", err)
			}
		})
	}
}

// TestSetupInterrupted ends a setup while pip runs.
func TestSetupInterrupted(t *testing.T) {
	crowd := newCrowd(t)
	place := newPlace(t)
	o := fakePython(t, "pip hangs")
	ctx, cancel := context.WithCancel(t.Context())
	err := place.Setup(ctx, o.Python, func(step string) {
		if strings.HasPrefix(step, "Collecting uv") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	crowd.gone()
	if place.Ready() {
		t.Error("ready all the same")
	}
	o = fakePython(t, "good")
	if err := place.Setup(t.Context(), o.Python, func(string) {}); err != nil || !place.Ready() {
		t.Errorf("after it: %v", err)
	}
}

// TestSetupRefuses keeps its hands off a folder that is not kvfanin's.
func TestSetupRefuses(t *testing.T) {
	place := newPlace(t)
	theirs := filepath.Join(place.Dir, "bin", "python")
	if err := os.MkdirAll(filepath.Dir(theirs), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, nil, 0o777); err != nil {
		t.Fatal(err)
	}
	o := fakePython(t, "good")
	err := place.Setup(t.Context(), o.Python, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "is no environment of kvfanin") {
		t.Errorf("%v, want that it refuses", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

// TestSetupTwice has two setups at once: one waits for nobody and says so.
func TestSetupTwice(t *testing.T) {
	place := newPlace(t)
	o := fakePython(t, "good")
	var second error
	err := place.Setup(t.Context(), o.Python, func(step string) {
		if strings.HasPrefix(step, "Collecting uv") {
			second = place.Setup(t.Context(), o.Python, func(string) {})
		}
	})
	if err != nil {
		t.Error(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another kvfanin makes this environment") {
		t.Errorf("the second: %v", second)
	}
}

// TestLocks holds that every release has a lock that names packages, each with
// a hash.
func TestLocks(t *testing.T) {
	for _, target := range probe.Targets {
		for i := range target.Environment.Releases {
			if r := &target.Environment.Releases[i]; r.Packages() < 50 {
				t.Errorf("%s %s: the lock names %d packages", target.Environment.Name, r.Version, r.Packages())
			}
		}
	}
}
