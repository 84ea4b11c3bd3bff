package rundir

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"kvfanin/internal/result"
)

// TestBytesDoNotDependOnOrder commits in the order of the grid, backwards, in
// random orders and concurrently.
func TestBytesDoNotDependOnOrder(t *testing.T) {
	forCohorts(t, func(t *testing.T, cohorts string) {
		s := newSample(smallGrid, cohorts, "alpha", "beta")
		want := tree(t, s.published(t))
		type job struct{ trace, config int }
		var jobs []job
		for trace := range s.header.Traces {
			for config := range s.configs {
				jobs = append(jobs, job{trace, config})
			}
		}
		for seed := range uint64(4) {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
			workers := 1 + int(seed)%2*7
			dir := filepath.Join(tempDir(t), "run")
			w, err := Create(dir, s.header, Options{})
			if err != nil {
				t.Fatal(err)
			}
			todo := make(chan job)
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					for j := range todo {
						if err := s.commit(w, j.trace, j.config); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for _, j := range jobs {
				todo <- j
			}
			close(todo)
			group.Wait()
			for trace, p := range s.profiles {
				if err := w.Profile(trace, p); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Publish(); err != nil {
				t.Fatal(err)
			}
			wantTree(t, dir, want)
		}
	})
}

// TestNamesOfADirectory gives the directory of a run in every way there is.
func TestNamesOfADirectory(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	want := tree(t, s.published(t))
	for _, c := range []struct {
		name, is string // what is given, and where the run is then, from a/b
		force    bool
	}{
		{name: "run", is: "run"},
		{name: "run/", is: "run"},
		{name: "./run//", is: "run"},
		{name: "../run", is: "../run"},
		{name: "new/deep/run", is: "new/deep/run"},
		{name: ".", is: ".", force: true},
		{name: "link", is: "../real", force: true},
		{name: "link/", is: "../real", force: true},
		{name: "away/run", is: "../far/run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := tempDir(t)
			for _, dir := range []string{"a/b", "a/real", "a/far"} {
				if err := os.MkdirAll(filepath.Join(top, dir), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			b := filepath.Join(top, "a/b")
			t.Chdir(b)
			switch {
			case strings.HasPrefix(c.name, "link"):
				if err := os.Symlink("../real", "link"); err != nil {
					t.Fatal(err)
				}
			case strings.HasPrefix(c.name, "away"):
				if err := os.Symlink("../far", "away"); err != nil {
					t.Fatal(err)
				}
			}
			w, err := Create(c.name, s.header, Options{Force: c.force})
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(top) // the working directory may change before the end
			for config := range s.configs {
				if err := s.commit(w, 0, config); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Profile(0, s.profiles[0]); err != nil {
				t.Fatal(err)
			}
			if err := w.Publish(); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(b, c.is)
			wantTree(t, dir, want)
			wantNone(t, dir+".partial")
			wantNone(t, dir+".replaced")
		})
	}
}

// TestRefusals has what may be there already, and what Create says to it and
// leaves of it.
func TestRefusals(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	run := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := s.write(name, Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	interrupted := func(t *testing.T) {
		w, err := Create("run", s.header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.commit(w, 0, 0); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	other := func(change func(*Header)) *Header {
		h := newSample(tinyGrid, CohortsOff, "alpha").header
		change(&h)
		return &h
	}
	directory := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Mkdir(name, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte("{}"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(to, name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Symlink(to, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	rename := func(from, to string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	both := func(f, g func(*testing.T)) func(*testing.T) {
		return func(t *testing.T) { f(t); g(t) }
	}
	const (
		wantRun     = "run: holds a finished run: --force replaces it, or choose another directory"
		wantPartial = "run.partial: an interrupted run: --resume goes on with it, --force starts afresh"
	)
	for _, c := range []struct {
		what    string
		before  func(*testing.T)
		header  *Header // nil: that of s
		options Options
		want    string // empty: it is made
	}{
		{"nothing", func(*testing.T) {}, nil, Options{}, ""},
		{"nothing", func(*testing.T) {}, nil, Options{Resume: true}, ""},
		{"nothing", func(*testing.T) {}, nil, Options{Force: true}, ""},

		{"a run", run("run"), nil, Options{}, wantRun},
		{"a run", run("run"), nil, Options{Resume: true}, wantRun},
		{"a run", run("run"), nil, Options{Force: true}, ""},
		{"a run", run("run"), nil, Options{Resume: true, Force: true}, ""},
		{"a run with notes", both(run("run"), file("run/notes")), nil, Options{Force: true}, ""},
		{"an empty directory", directory("run"), nil, Options{}, "run: is there already: --force replaces the empty directory"},
		{"an empty directory", directory("run"), nil, Options{Force: true}, ""},
		{"another directory", file("run/thesis.tex"), nil, Options{}, "run: is there already and not a run of kvfanin, so nothing replaces it: choose another directory"},
		{"another directory", file("run/thesis.tex"), nil, Options{Force: true}, "run: is there already and not a run of kvfanin, so nothing replaces it: choose another directory"},
		{"another manifest", file("run/manifest.json"), nil, Options{Force: true}, "run: is there already and not a run of kvfanin, so nothing replaces it: choose another directory"},
		{"a file", file("run"), nil, Options{Force: true}, "run: is there already and no directory: remove it, or choose another directory"},
		{"a broken link", link("nowhere", "run"), nil, Options{Force: true}, "run: a symbolic link that leads nowhere: remove it, or choose another directory"},

		{"an interrupted run", interrupted, nil, Options{}, wantPartial},
		{"an interrupted run", interrupted, nil, Options{Resume: true}, ""},
		{"an interrupted run", interrupted, nil, Options{Force: true}, ""},
		{"an interrupted run", interrupted, nil, Options{Resume: true, Force: true}, ""},
		{"an interrupted run of another", interrupted, other(func(h *Header) { h.Version = "9" }), Options{Force: true}, ""},
		{"an empty partial", directory("run.partial"), nil, Options{}, ""},
		{"a partial of another", file("run.partial/thesis.tex"), nil, Options{Force: true}, "run.partial: is in the way and was not made by kvfanin: move it, or choose another directory"},
		{"a partial of another", file("run.partial/thesis.tex"), nil, Options{Resume: true}, "run.partial: is in the way and was not made by kvfanin: move it, or choose another directory"},
		{"a partial of another", file("run.partial/thesis.tex"), nil, Options{}, "run.partial: is in the way and was not made by kvfanin: move it, or choose another directory"},
		{"a file as partial", file("run.partial"), nil, Options{Force: true}, "run.partial: is in the way and no directory: move it"},
		{"a link as partial", both(directory("real"), link("real", "run.partial")), nil, Options{Force: true}, "run.partial: is in the way and no directory: move it"},

		{"a run and one replaced", both(run("run"), both(run("x"), rename("x", "run.replaced"))), nil, Options{Force: true}, ""},
		{"a run and one called replaced", both(run("run"), file("run.replaced/thesis.tex")), nil, Options{Force: true}, "run.replaced: is in the way of the run to be replaced and not a run of kvfanin: move it"},
		{"something called replaced", file("run.replaced/thesis.tex"), nil, Options{Force: true}, ""},

		{"resume: version", interrupted, other(func(h *Header) { h.Version = "9" }), Options{Resume: true},
			`run.partial: holds an interrupted run of something else (version was "0.0-test", is "9"): --force starts afresh, or choose another directory`},
		{"resume: parameter", interrupted, other(func(h *Header) { h.Parameters.WindowsMS = []int64{10, 36}; h.Parameters.Warmup = "0" }), Options{Resume: true},
			`run.partial: holds an interrupted run of something else (warmup was "0.1", is "0"; windows_ms was [10,35], is [10,36]): --force starts afresh, or choose another directory`},
		{"resume: a broken rule", interrupted, other(func(h *Header) { h.Parameters.Control = "sliding_window" }), Options{Resume: true},
			`run.partial: holds an interrupted run of something else (control was not given, is "sliding_window"): --force starts afresh, or choose another directory`},
		{"resume: trace", interrupted, other(func(h *Header) { h.Traces[0].SHA256 = "00" }), Options{Resume: true},
			`run.partial: holds an interrupted run of something else (trace alpha: sha256 was "` + strings.Repeat("ab", 32) + `", is "00"): --force starts afresh, or choose another directory`},
		{"resume: traces", interrupted, other(func(h *Header) { h.Traces = append(h.Traces, TraceEntry{Name: "beta"}) }), Options{Resume: true},
			`run.partial: holds an interrupted run of something else (traces were alpha, are alpha, beta): --force starts afresh, or choose another directory`},
		{"resume and force: version", interrupted, other(func(h *Header) { h.Version = "9" }), Options{Resume: true, Force: true},
			`run.partial: holds an interrupted run of something else (version was "0.0-test", is "9"): --force starts afresh, or choose another directory`},
	} {
		t.Run(c.what, func(t *testing.T) {
			top := tempDir(t)
			t.Chdir(top)
			c.before(t)
			before := tree(t, top)
			header := c.header
			if header == nil {
				header = &s.header
			}
			w, err := Create("run", *header, c.options)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				for config := range s.configs {
					if !w.Done(0, config) {
						if err := s.commit(w, 0, config); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := w.Profile(0, s.profiles[0]); err != nil {
					t.Fatal(err)
				}
				if err := w.Publish(); err != nil {
					t.Fatal(err)
				}
				if found := findingsIn(t, "run"); len(found) > 0 {
					t.Errorf("findings %q", found)
				}
				wantNone(t, "run.partial")
				if _, foreign := before["run.replaced/thesis.tex"]; !foreign {
					wantNone(t, "run.replaced")
				} else if tree(t, "run.replaced")["thesis.tex"] == nil {
					t.Error("run.replaced/thesis.tex is gone")
				}
				return
			}
			wantError(t, err, c.want)
			wantTree(t, top, before) // nothing was touched
		})
	}
}

func TestOtherRefusals(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	here := s.published(t)
	t.Chdir(here)
	_, err := Create(".", s.header, Options{})
	wantError(t, err, here+": holds a finished run: --force replaces it, or choose another directory")
	for dir, want := range map[string]string{
		"":  "a run needs a directory: its name is empty",
		"/": "/: the root of a file system cannot be a run: choose another directory",

		"run.partial":  "run.partial: a run cannot have a name in .partial: choose another directory",
		"run.replaced": "run.replaced: a run cannot have a name in .replaced: choose another directory",
	} {
		_, err := Create(dir, s.header, Options{Force: true})
		wantError(t, err, want)
	}
	top := tempDir(t)
	for _, c := range []struct {
		change func(*Header)
		want   string
	}{
		{func(h *Header) { h.Parameters.Instances = []int{maxInstances + 1} }, "a grid of more than 1048576 instances over all traces and configurations"},
		{func(h *Header) { h.Traces = nil }, "no traces"},
		{func(h *Header) { h.Traces[0].Name = "" }, `trace name "": is empty`},
		{func(h *Header) { h.Traces[0].Name = "../x" }, `trace name "../x": has more than letters A-Z a-z, digits, '.', '_' and '-': give another with NAME=PATH`},
		{func(h *Header) { h.Traces[0].Name = "Manifest.json" }, `trace name "Manifest.json": is that of the manifest: give another with NAME=PATH`},
		{func(h *Header) { h.Traces[0].Name = journalName }, `trace name ".journal.jsonl": begins with a dot: give another with NAME=PATH`},
		{func(h *Header) { h.Traces[0].Name = strings.Repeat("x", 101) }, `trace name "` + strings.Repeat("x", 101) + `": is longer than 100 bytes`},
		{func(h *Header) { h.Traces = append(h.Traces, TraceEntry{Name: "ALPHA"}) }, `two traces named "alpha" and "ALPHA": their directories would be one`},
		{func(h *Header) { h.Parameters.Cohorts = "xlsx" }, `cohorts "xlsx": no such format`},
		{func(h *Header) { h.Parameters.Lookups = []string{"a", "b", "a"} }, "lookups: a stands twice"},
		{func(h *Header) { h.Parameters.Instances = []int{0} }, "instances: 0 is below 1"},
	} {
		h := newSample(tinyGrid, CohortsOff, "alpha").header
		c.change(&h)
		_, err := Create(filepath.Join(top, "run"), h, Options{})
		wantError(t, err, c.want)
	}
	wantTree(t, top, map[string][]byte{".": nil})
}

// TestTwoAtOnce has a second process, as far as the lock can tell, come to a
// run in the making.
func TestTwoAtOnce(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	t.Chdir(tempDir(t))
	w, err := Create("run", s.header, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, ".")
	for _, o := range []Options{{}, {Resume: true}, {Force: true}, {Resume: true, Force: true}} {
		_, err := Create("run", s.header, o)
		wantError(t, err, "run.partial: another kvfanin is at work on this run: wait for it, or choose another directory")
	}
	wantTree(t, ".", before)
	w.Close()
	if err := s.write("run", Options{Resume: true}); err != nil {
		t.Fatal("after the first gave up:", err)
	}
}

// TestPublishedMeanwhile has DIR made by another while a run is in the making.
func TestPublishedMeanwhile(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	want := tree(t, s.published(t))
	for _, c := range []struct {
		what string
		make func() error
		want string
	}{
		{"a directory", func() error { return os.MkdirAll("run/thesis", 0o777) },
			"run: is there already and not a run of kvfanin, so nothing replaces it: choose another directory"},
		{"a run", func() error { return copyTree("other", "run") },
			"run: holds a finished run: --force replaces it, or choose another directory"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Chdir(tempDir(t))
			if err := s.write("other", Options{}); err != nil {
				t.Fatal(err)
			}
			w, err := Create("run", s.header, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for config := range s.configs {
				if err := s.commit(w, 0, config); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Profile(0, s.profiles[0]); err != nil {
				t.Fatal(err)
			}
			if err := c.make(); err != nil {
				t.Fatal(err)
			}
			there := tree(t, "run")
			wantError(t, w.Publish(), c.want)
			wantTree(t, "run", there)
			if err := os.RemoveAll("run"); err != nil {
				t.Fatal(err)
			}
			w, err = Create("run", s.header, Options{Resume: true})
			if err != nil {
				t.Fatal(err)
			}
			for config := range s.configs {
				if !w.Done(0, config) {
					t.Error("work was lost")
				}
			}
			if err := w.Publish(); err != nil {
				t.Fatal(err)
			}
			wantTree(t, "run", want)
		})
	}
}

// TestStrayFile has something else put into DIR.partial while a run is made.
func TestStrayFile(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	want := tree(t, s.published(t))
	dir := filepath.Join(tempDir(t), "run")
	strayed := false
	stray := func() {
		if _, err := os.Lstat(filepath.Join(dir+".partial", "alpha", "cohorts")); err != nil || strayed {
			return
		}
		strayed = true
		for _, name := range []string{".DS_Store", "alpha/.nfs0001", "alpha/cohorts/x"} {
			if err := os.WriteFile(filepath.Join(dir+".partial", name), nil, 0o666); err != nil {
				t.Error(err)
			}
		}
	}
	if err := s.write(dir, Options{step: stray}); err != nil {
		t.Fatal(err)
	}
	if !strayed {
		t.Fatal("nothing was put there")
	}
	wantTree(t, dir, want)
}

// TestMisuse has what a caller must not do, and what is said to it.
func TestMisuse(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	dir := filepath.Join(tempDir(t), "run")
	w, err := Create(dir, s.header, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const config0 = "alpha: {contiguous_prefix round_robin 2 100 10}"
	wantError(t, w.Commit(0, Given{0, s.outcomes[0][0]}), config0+": the outcome lacks instances or cohorts")
	f, err := w.Cohorts(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantError(t, w.Commit(0, Given{0, s.outcomes[0][0]}), config0+": the outcome lacks instances or cohorts")
	whole := s.outcomes[0][0]
	s.outcomes[0][0] = &result.Outcome{Instances: whole.Instances[:1]}
	wantError(t, s.commit(w, 0, 0), config0+": the outcome lacks instances or cohorts")
	s.outcomes[0][0] = whole
	if err := s.commit(w, 0, 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.Commit(0, Given{0, s.outcomes[0][0]}), config0+": is committed already")
	_, err = w.Cohorts(0, 0)
	wantError(t, err, config0+": no cohorts are wanted")
	wantError(t, w.Publish(), "alpha: no profile")

	w, err = Create(dir, s.header, Options{Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Profile(0, s.profiles[0]); err != nil {
		t.Fatal(err)
	}
	wantError(t, w.Publish(), "alpha: {contiguous_prefix round_robin 2 100 35}: is not committed")
	wantNone(t, dir)
	if err := s.write(dir, Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
}

// A cohort file that is finished is let go of, with all its encoder holds: a
// run has hundreds.
func TestFinishedCohortFileIsLetGo(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortParquet), "alpha")
	w, err := Create(filepath.Join(t.TempDir(), "run"), s.header, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	file := func() weak.Pointer[CohortFile] {
		f, err := w.Cohorts(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(s.cohorts[0][0]); err != nil {
			t.Fatal(err)
		}
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
		return weak.Make(f)
	}()
	runtime.GC()
	if file.Value() != nil {
		t.Error("the run keeps the cohort file it has finished")
	}
	runtime.KeepAlive(w)
}
