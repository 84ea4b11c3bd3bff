package rundir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
	"kvfanin/internal/trace"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
	}
	os.Exit(m.Run())
}

// skip skips a test for what is missing, or fails it where nothing may be.
func skip(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
		t.Fatal("needed here: " + missing)
	}
	t.Skip("needs " + missing)
}

// sample is all that a run is made of.
type sample struct {
	header   Header
	configs  []result.Config
	outcomes [][]*result.Outcome // [trace][config]
	cohorts  [][][]result.Cohort // [trace][config]
	profiles []*profile.Profile  // [trace]
}

// smallGrid has a pair of windows under the smallest gap of every trace of
// newSample, and one over it.
var smallGrid = result.Grid{
	Lookups:          []string{"contiguous_prefix"},
	Routings:         []string{"round_robin"},
	Instances:        []int{1, 2},
	CapacitiesBlocks: []int{100},
	WindowsMS:        []int64{5, 10, 35},
}

// tinyGrid has one window under the gap and one over it.
var tinyGrid = result.Grid{
	Lookups:          []string{"contiguous_prefix"},
	Routings:         []string{"round_robin"},
	Instances:        []int{2},
	CapacitiesBlocks: []int{100},
	WindowsMS:        []int64{10, 35},
}

// oneConfig is for tests that go over every byte of large formats.
var oneConfig = result.Grid{
	Lookups:          []string{"contiguous_prefix"},
	Routings:         []string{"round_robin"},
	Instances:        []int{2},
	CapacitiesBlocks: []int{100},
	WindowsMS:        []int64{35},
}

// newSample makes a consistent run over small random traces.
func newSample(grid result.Grid, cohorts string, traces ...string) *sample {
	s := &sample{
		header: Header{
			Schema:     Schema,
			Version:    "0.0-test",
			Parameters: Parameters{BlockTokens: 512, Warmup: "0.1", Grid: grid, Cohorts: cohorts},
		},
		configs: grid.Configs(),
	}
	for i, name := range traces {
		t := newTrace(name, rand.New(rand.NewPCG(uint64(i), 1)))
		s.header.Traces = append(s.header.Traces, TraceEntry{
			Name:     name,
			SHA256:   strings.Repeat("ab", 32),
			GitBlob:  strings.Repeat("cd", 20),
			Bytes:    1000,
			Requests: int64(t.Requests()),
			Lookups:  int64(t.Lookups()),
		})
		s.profiles = append(s.profiles, profile.Of(t, grid.WindowsMS))
		s.outcomes = append(s.outcomes, nil)
		s.cohorts = append(s.cohorts, nil)
		for _, c := range s.configs {
			o, cohorts := count(t, c)
			s.outcomes[i] = append(s.outcomes[i], o)
			s.cohorts[i] = append(s.cohorts[i], cohorts)
		}
	}
	return s
}

// newTrace makes a trace of 24 requests on a tick of 10 ms, with joins.
func newTrace(name string, r *rand.Rand) *trace.Trace {
	t := &trace.Trace{Name: name, BlockTokens: 512, Offset: []int64{0}}
	for b := range uint64(12) {
		t.Hash = append(t.Hash, 1<<63+b)
	}
	at := int64(0)
	for range 24 {
		at += 10 * r.Int64N(3)
		t.ArrivalMS = append(t.ArrivalMS, at)
		t.InputTokens = append(t.InputTokens, 1024)
		t.OutputTokens = append(t.OutputTokens, 10)
		b := r.Uint32N(11)
		t.Block = append(t.Block, b, b+1)
		t.Offset = append(t.Offset, int64(len(t.Block)))
	}
	return t
}

// count plays a trace through caches that never evict: enough of a model for
// rows that are as consistent as real ones.
func count(t *trace.Trace, c result.Config) (*result.Outcome, []result.Cohort) {
	o := &result.Outcome{Instances: make([][result.Phases]result.Tally, c.Instances)}
	var all []result.Cohort
	last := t.ArrivalMS[len(t.ArrivalMS)-1]
	for k := range c.Instances {
		var cohorts []*result.Cohort
		of := map[uint32]*result.Cohort{}
		for i := k; i < t.Requests(); i += c.Instances {
			at := t.ArrivalMS[i]
			phase := result.Steady
			if 10*at < last {
				phase = result.Warmup
			}
			n := &o.Instances[k][phase]
			n.Requests++
			for _, b := range t.Blocks(i) {
				n.Lookups++
				led := of[b]
				switch {
				case led == nil:
					n.Attempts++
					n.Cohorts++
					of[b] = &result.Cohort{Instance: int32(k), BlockHash: t.Hash[b], LeaderRequest: int64(i), StartMS: at, FanIn: 1, Phase: phase}
					cohorts = append(cohorts, of[b])
				case at < led.StartMS+c.WindowMS:
					n.Attempts++
					n.Joins++
					led.FanIn++
					if led.Phase != phase {
						n.BoundaryJoins++
					}
				default:
					n.Hits++
				}
			}
		}
		fanIn := [result.Phases][]int64{make([]int64, 100), make([]int64, 100)}
		for _, cohort := range cohorts {
			all = append(all, *cohort)
			fanIn[cohort.Phase][cohort.FanIn]++
		}
		for p := range fanIn {
			o.Instances[k][p].FanIn = result.FanInFromCounts(fanIn[p])
			joins := o.Instances[k][p].Joins
			o.Relations[p].Repeat += joins / 2
			o.Relations[p].Branch += joins - joins/2
		}
	}
	o.Concentration = concentrationOf(o, all)
	return o, all
}

// concentrationOf says of cohorts where their joins come from, as if all were to
// first blocks.
func concentrationOf(o *result.Outcome, cohorts []result.Cohort) result.Concentration {
	c := result.Concentration{Positions: []result.AtDepth{}, Largest: []result.Largest{}}
	var fanIn result.FanIn
	var arrived int64
	for k := range o.Instances {
		fanIn = fanIn.Add(o.Instances[k][result.Steady].FanIn)
		arrived += o.Instances[k][result.Steady].Joins
	}
	c.Joins = fanIn.Attempts() - fanIn.Cohorts()
	c.BusiestCohorts = fanIn.Busiest()
	c.BusiestBlocks = result.NewBusiest(12, func(int64) int64 { return c.Joins })
	c.BusiestTimestamps = result.NewBusiest(12, func(int64) int64 { return arrived })
	if c.Joins > 0 {
		c.Positions = append(c.Positions, result.AtDepth{From: 0, To: 0, Joins: c.Joins})
	}
	for _, d := range cohorts {
		if d.Phase == result.Steady && d.FanIn > 1 {
			c.Largest = append(c.Largest, result.Largest{StartMS: d.StartMS, Instance: int64(d.Instance), BlockHash: d.BlockHash, FanIn: d.FanIn})
		}
	}
	slices.SortStableFunc(c.Largest, func(a, b result.Largest) int {
		return cmp.Or(int(b.FanIn-a.FanIn), int(a.StartMS-b.StartMS))
	})
	c.Largest = c.Largest[:min(len(c.Largest), result.MostLargest)]
	return c
}

// commit gives one configuration to a writer.
func (s *sample) commit(w *Writer, trace, config int) error {
	if s.header.Parameters.Cohorts != CohortsOff {
		f, err := w.Cohorts(trace, config)
		if err != nil {
			return err
		}
		defer f.Close()
		cohorts := s.cohorts[trace][config]
		for _, part := range [][]result.Cohort{cohorts[:3], cohorts[3:]} {
			if err := f.Write(part); err != nil {
				return err
			}
		}
		if err := f.Finish(); err != nil {
			return err
		}
	}
	return w.Commit(trace, Given{config, s.outcomes[trace][config]})
}

// write makes the run, or what is missing of it, in the order of the grid.
func (s *sample) write(dir string, o Options) error {
	w, err := Create(dir, s.header, o)
	if err != nil {
		return err
	}
	defer w.Close()
	for t := range s.header.Traces {
		if err := w.Profile(t, s.profiles[t]); err != nil {
			return err
		}
		for c := range s.configs {
			if w.Done(t, c) {
				continue
			}
			if err := s.commit(w, t, c); err != nil {
				return err
			}
		}
	}
	return w.Publish()
}

// tempDir is t.TempDir in memory, where the system has a place for that: what
// is written is brought onto the disk thousands of times here.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "kvfanin-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// published makes the run in a new directory and returns its name.
func (s *sample) published(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(tempDir(t), "run")
	if err := s.write(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns all files below dir with their content, directories as nil.
func tree(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			files[name] = nil
			return err
		}
		if e.Type() == fs.ModeSymlink {
			to, err := os.Readlink(filepath.Join(dir, name))
			files[name] = []byte("link to " + to)
			return err
		}
		files[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wantTree fails unless dir holds exactly the files.
func wantTree(t testing.TB, dir string, want map[string][]byte) {
	t.Helper()
	got := tree(t, dir)
	if a, b := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(a, b) {
		t.Fatalf("files differ (-want +got):\n%s", gocmp.Diff(a, b))
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Fatalf("%s differs (-want +got):\n%s", name, gocmp.Diff(string(want[name]), string(got[name])))
		}
	}
}

// wantNone fails if there is something of that name.
func wantNone(t testing.TB, name string) {
	t.Helper()
	if _, err := os.Lstat(name); err == nil {
		t.Fatalf("%s is there", name)
	}
}

// findingsIn verifies a run.
func findingsIn(t testing.TB, dir string) []Finding {
	t.Helper()
	var found []Finding
	if _, err := Verify(context.Background(), dir, func(f Finding) { found = append(found, f) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFinding fails unless one of the findings is of the check and the file;
// an empty check stands for any.
func wantFinding(t testing.TB, found []Finding, check, file string) {
	t.Helper()
	for _, f := range found {
		if (check == "" || f.Check == check) && f.File == file {
			return
		}
	}
	t.Fatalf("no finding %q of %s among %q", check, file, found)
}

// edit changes a file of a run.
func edit(t testing.TB, dir, name string, change func([]byte) []byte) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, change(bytes.Clone(b)))
}

// overwrite replaces the content of a file in place. Cutting it to nothing
// first would have some file systems flush it to the disk, thousands of times.
func overwrite(t testing.TB, name string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(b))); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// editManifest changes the manifest and fixes its checksum.
func editManifest(t testing.TB, dir string, change func(*Manifest)) {
	t.Helper()
	edit(t, dir, manifestName, func(b []byte) []byte {
		var m Manifest
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		change(&m)
		return m.encode()
	})
}

// fixSums makes the manifest say of a file what is there, rows excepted.
func fixSums(t testing.TB, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	editManifest(t, dir, func(m *Manifest) {
		f := m.file(t, name)
		f.Bytes, f.SHA256 = int64(len(b)), hexSum(b)
	})
}

func (m *Manifest) file(t testing.TB, name string) *File {
	t.Helper()
	for i := range m.Files {
		if m.Files[i].Path == name {
			return &m.Files[i]
		}
	}
	t.Fatalf("%s is not listed", name)
	return nil
}

// restore returns a function that brings a file back to what it is now.
func restore(t testing.TB, dir string, names ...string) func() {
	t.Helper()
	was := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		was[name] = b
	}
	return func() {
		t.Helper()
		for name, b := range was {
			overwrite(t, filepath.Join(dir, name), b)
		}
	}
}

// copyTree copies a directory with all that is in it.
func copyTree(from, to string) error {
	return os.CopyFS(to, os.DirFS(from))
}

var cohortSettings = []string{CohortsOff, string(result.CohortParquet), string(result.CohortCSV)}

func forCohorts(t *testing.T, test func(t *testing.T, cohorts string)) {
	for _, cohorts := range cohortSettings {
		t.Run(cohorts, func(t *testing.T) { test(t, cohorts) })
	}
}

// anyCohortPath returns the path of the first cohort file of a trace.
func (s *sample) anyCohortPath(trace int) string {
	return cohortPath(s.header.Traces[trace].Name, s.configs[0], s.header.Parameters.Cohorts)
}
