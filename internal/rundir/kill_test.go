package rundir

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvfanin/internal/result"
)

// TestKilledAfterAnyStep keeps a copy of what is on the disk after each step of
// a run, and goes on from each copy as if the run had been killed there.
func TestKilledAfterAnyStep(t *testing.T) {
	for _, c := range []struct {
		what string
		old  bool // a finished run is there, to be replaced
	}{{"new", false}, {"replacing", true}} {
		t.Run(c.what, func(t *testing.T) {
			s := newSample(tinyGrid, string(result.CohortCSV), "alpha", "beta")
			want := tree(t, s.published(t))
			var old map[string][]byte
			top := tempDir(t)
			copies := tempDir(t)
			dir := filepath.Join(top, "run")
			if c.old {
				// A name behind that of the manifest: it must still go last.
				before := newSample(tinyGrid, CohortsOff, "zeta")
				if err := before.write(dir, Options{}); err != nil {
					t.Fatal(err)
				}
				old = tree(t, dir)
			}
			steps := 0
			keep := func() {
				if err := copyTree(top, filepath.Join(copies, fmt.Sprint(steps))); err != nil {
					t.Fatal(err)
				}
				steps++
			}
			if err := s.write(dir, Options{Force: c.old, step: keep}); err != nil {
				t.Fatal(err)
			}
			wantTree(t, dir, want)
			if steps < 60 {
				t.Fatalf("%d steps: too few to be all", steps)
			}
			published := 0
			for i := range steps {
				dir := filepath.Join(copies, fmt.Sprint(i), "run")
				// The run is there whole or not at all, and the old one at
				// least under the name it is replaced by.
				_, err := os.Lstat(filepath.Join(dir, manifestName))
				switch {
				case err == nil && bytes.Equal(tree(t, dir)[manifestName], want[manifestName]):
					wantTree(t, dir, want)
					published++
					// What may be left of the old run is in nobody's way.
					if err := s.write(dir, Options{Force: true}); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
					wantTree(t, dir, want)
					wantNone(t, dir+".replaced")
					continue
				case err == nil:
					wantTree(t, dir, old)
				case c.old:
					wantTree(t, dir+".replaced", old)
				default:
					wantNone(t, dir)
				}
				if err := s.write(dir, Options{Resume: true, Force: c.old}); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				wantTree(t, dir, want)
				wantNone(t, dir+".partial")
				wantNone(t, dir+".replaced")
			}
			if published == 0 {
				t.Error("no step saw the run published")
			}
		})
	}
}

// TestKilledWhileStartingAfresh goes on from each step of a run that replaces
// an interrupted one.
func TestKilledWhileStartingAfresh(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	want := tree(t, s.published(t))
	former := newSample(tinyGrid, string(result.CohortCSV), "alpha", "gamma")
	for _, o := range []Options{{Force: true}, {Resume: true}} {
		top, copies, steps := tempDir(t), tempDir(t), 0
		w, err := Create(filepath.Join(top, "run"), former.header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for trace := range former.header.Traces {
			if err := former.commit(w, trace, 1); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		if o.Resume { // the header is torn: there is nothing to go on with
			overwrite(t, filepath.Join(top, "run.partial", journalName), []byte("xyz"))
		}
		o.step = func() {
			if err := copyTree(top, filepath.Join(copies, fmt.Sprint(steps))); err != nil {
				t.Fatal(err)
			}
			steps++
		}
		w, err = Create(filepath.Join(top, "run"), s.header, o)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		for i := range steps {
			dir := filepath.Join(copies, fmt.Sprint(i), "run")
			err := s.write(dir, Options{Resume: true})
			if i == 0 && o.Force { // the former run is still there
				if err == nil || !strings.Contains(err.Error(), "traces were alpha, gamma, are alpha") {
					t.Fatalf("step %d: error %v", i, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			wantTree(t, dir, want)
		}
	}
}

// interruptedRun returns the parent of a run with all but one configuration
// committed.
func interruptedRun(t *testing.T, s *sample) string {
	t.Helper()
	top := tempDir(t)
	w, err := Create(filepath.Join(top, "run"), s.header, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for trace := range s.header.Traces {
		for config := range s.configs[1:] {
			if err := s.commit(w, trace, config); err != nil {
				t.Fatal(err)
			}
		}
	}
	return top
}

// resumes goes on with a copy of an interrupted run after a change to it, and
// returns how many configurations were still done. Unless nil, the journal is
// what must be left of it.
func resumes(t *testing.T, s *sample, top string, want map[string][]byte, change func(partial string), journal []byte) (done int) {
	t.Helper()
	again := filepath.Join(tempDir(t), "again")
	if err := copyTree(top, again); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(again, "run")
	change(dir + ".partial")
	w, err := Create(dir, s.header, Options{Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	for trace := range s.header.Traces {
		for config := range s.configs {
			if w.Done(trace, config) {
				done++
			}
		}
	}
	w.Close()
	if left := tree(t, dir+".partial")[journalName]; journal != nil && !bytes.Equal(left, journal) {
		t.Fatalf("%d bytes of the journal are left, want %d", len(left), len(journal))
	}
	if err := s.write(dir, Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, want)
	return done
}

// TestJournalTornOrDamaged cuts the journal at every byte, and flips every
// byte: what was before it is kept, the rest is done again.
func TestJournalTornOrDamaged(t *testing.T) {
	grid := tinyGrid
	grid.Instances = []int{1}
	s := newSample(grid, CohortsOff, "alpha", "beta")
	want := tree(t, s.published(t))
	top := interruptedRun(t, s)
	journal := tree(t, top)["run.partial/"+journalName]
	for at := range journal {
		// Each line up to the byte is whole; the first is the header.
		whole := max(0, bytes.Count(journal[:at], []byte("\n"))-1)
		kept := bytes.LastIndexByte(journal[:at], '\n') + 1
		if kept == 0 {
			kept = bytes.IndexByte(journal, '\n') + 1 // started afresh
		}
		name := func(partial string) string { return filepath.Join(partial, journalName) }
		if done := resumes(t, s, top, want, func(partial string) { overwrite(t, name(partial), journal[:at]) }, journal[:kept]); done != whole {
			t.Fatalf("cut at byte %d: %d configurations are done, want %d", at, done, whole)
		}
		damaged := bytes.Clone(journal)
		damaged[at] ^= 1 << (at % 8)
		if done := resumes(t, s, top, want, func(partial string) { overwrite(t, name(partial), damaged) }, journal[:kept]); done != whole {
			t.Fatalf("byte %d flipped: %d configurations are done, want %d", at, done, whole)
		}
	}
}

// TestCohortFileLostOrDamaged changes what the journal tells of.
func TestCohortFileLostOrDamaged(t *testing.T) {
	s := newSample(smallGrid, string(result.CohortCSV), "alpha", "beta")
	want := tree(t, s.published(t))
	top := interruptedRun(t, s)
	all := 2 * len(s.configs[1:])
	name := func(partial string) string { return filepath.Join(partial, s.anyCohortPath(0)) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what   string
		change func(partial string)
		done   int
	}{
		{"nothing", func(string) {}, all},
		{"removed", func(p string) { check(os.Remove(name(p))) }, all - 1},
		{"cut", func(p string) { check(os.Truncate(name(p), 10)) }, all - 1},
		{"damaged", func(p string) {
			edit(t, p, s.anyCohortPath(0), func(b []byte) []byte { b[20] ^= 1; return b })
		}, all - 1},
		{"behind a link", func(p string) {
			check(os.Rename(name(p), filepath.Join(p, "x")))
			check(os.Symlink("../../x", name(p)))
		}, all - 1},
		{"a directory", func(p string) { check(os.Remove(name(p))); check(os.MkdirAll(name(p)+"/x", 0o777)) }, all - 1},
		{"directory removed", func(p string) { check(os.RemoveAll(filepath.Join(p, "beta"))) }, all / 2},
		{"temporary file", func(p string) { check(os.WriteFile(name(p)+temporary, nil, 0o666)) }, all},
		{"unlisted file", func(p string) { check(os.WriteFile(filepath.Join(p, "alpha", "phases.csv"), nil, 0o666)) }, all},
		{"unlisted directory", func(p string) { check(os.MkdirAll(filepath.Join(p, "gamma/cohorts"), 0o777)) }, all},
		{"torn manifest", func(p string) { check(os.WriteFile(filepath.Join(p, manifestName), []byte("{"), 0o666)) }, all},
	} {
		t.Run(c.what, func(t *testing.T) {
			if done := resumes(t, s, top, want, c.change, nil); done != c.done {
				t.Errorf("%d configurations are done, want %d", done, c.done)
			}
		})
	}
}

// A cohort file lost twice leaves a journal that tells of it twice.
func TestCohortFileLostAgain(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	want := tree(t, s.published(t))
	dir := filepath.Join(tempDir(t), "run")
	for range 3 {
		w, err := Create(dir, s.header, Options{Resume: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.commit(w, 0, 0); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := os.Remove(filepath.Join(dir+".partial", s.anyCohortPath(0))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.write(dir, Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, want)
}

// TestKilledBeforeTheLastStep goes on with a run that lacks nothing but its
// name, after a change to it.
func TestKilledBeforeTheLastStep(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	original := s.published(t)
	want := tree(t, original)
	all := len(s.configs)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what   string
		change func(partial string)
		done   int
	}{
		{"nothing", func(string) {}, all},
		{"stray file", func(p string) { check(os.WriteFile(filepath.Join(p, "x"), nil, 0o666)) }, all},
		{"row damaged", func(p string) {
			edit(t, p, "alpha/phases.csv", func(b []byte) []byte { b[len(b)-2] ^= 1; return b })
		}, 0},
		{"file removed", func(p string) { check(os.Remove(filepath.Join(p, s.anyCohortPath(0)))) }, 0},
		{"file behind a link", func(p string) {
			check(os.Rename(filepath.Join(p, "alpha/phases.csv"), filepath.Join(p, "x")))
			check(os.Symlink("../x", filepath.Join(p, "alpha/phases.csv")))
		}, 0},
		{"manifest damaged", func(p string) {
			edit(t, p, manifestName, func(b []byte) []byte {
				return bytes.Replace(b, []byte(`"rows": 4`), []byte(`"rows": 5`), 1)
			})
		}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "run")
			check(copyTree(original, dir+".partial"))
			c.change(dir + ".partial")
			wantError(t, s.write(dir, Options{}), dir+".partial: an interrupted run: --resume goes on with it, --force starts afresh")
			other := newSample(oneConfig, string(result.CohortCSV), "alpha")
			wantError(t, other.write(dir, Options{Resume: true}), dir+".partial: holds an interrupted run of something else (windows_ms was [10,35], is [35]): --force starts afresh, or choose another directory")
			w, err := Create(dir, s.header, Options{Resume: true})
			check(err)
			done := 0
			for config := range s.configs {
				if w.Done(0, config) {
					done++
				}
			}
			if done != c.done {
				t.Errorf("%d configurations are done, want %d", done, c.done)
			}
			w.Close()
			check(s.write(dir, Options{Resume: true}))
			wantTree(t, dir, want)
			wantNone(t, dir+".partial")
		})
	}
}

// childEnv tells a process of this test binary which run to make. It writes a
// line after each step and waits for one, so that its parent decides how far
// it gets.
const childEnv = "KVFANIN_RUNDIR_TEST_CHILD"

func childSample() *sample {
	return newSample(tinyGrid, string(result.CohortParquet), "alpha", "beta")
}

func child() {
	in := bufio.NewReader(os.Stdin)
	err := childSample().write(os.Getenv(childEnv), Options{Resume: true, step: func() {
		fmt.Println("step")
		_, _ = in.ReadString('\n')
	}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestSIGKILL kills a real process after more and more steps, each time going
// on with what the one before left, until one comes to the end.
func TestSIGKILL(t *testing.T) {
	want := tree(t, childSample().published(t))
	dir := filepath.Join(tempDir(t), "run")
	for kills := 0; ; kills++ {
		if !runChild(t, dir, 10+7*kills, kills%2 == 0) {
			if kills < 5 {
				t.Fatalf("complete after %d kills: too few", kills)
			}
			break
		}
		wantNone(t, dir)
	}
	wantTree(t, dir, want)
	wantNone(t, dir+".partial")
}

// runChild lets a child make so many steps and kills it: where it waits, or
// while it runs on. It says whether it had to.
func runChild(t *testing.T, dir string, steps int, waiting bool) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for i := range steps {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			return false
		}
		if line != "step\n" {
			t.Fatalf("child: %q (%v)", line, err)
		}
		if i < steps-1 || !waiting {
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	return cmd.Wait() != nil
}
