//go:build unix

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kvfanin/internal/bound"
	"kvfanin/internal/fanin"
	"kvfanin/internal/study"
	"kvfanin/internal/trace"
)

// BenchmarkMemory measures the most memory a study of both public traces has,
// as a process of its own. It comes first: a process begins its count with what
// the one that starts it has, so this one must still be small.
func BenchmarkMemory(b *testing.B) {
	program := build(b)
	paths := benchmarkPaths(b)
	for _, cohorts := range []string{"off", "parquet"} {
		b.Run("cohorts="+cohorts, func(b *testing.B) {
			var peaks []float64 // MB
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "run")
				state := runProgram(b, program, append([]string{"study", "--cohorts", cohorts, "-o", dir}, paths...)...)
				remove(b, dir)
				peaks = append(peaks, peakMB(state.SysUsage().(*syscall.Rusage)))
			}
			var own syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
				b.Fatal(err)
			}
			if peakMB(&own) >= bound.Median(peaks) {
				b.Fatalf("this process has had %.0f MB: what is measured of the study is not its own", peakMB(&own))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(bound.Median(peaks), "peak-MB")
		})
	}
}

// peakMB returns the most memory a process has had at a time.
func peakMB(usage *syscall.Rusage) float64 {
	if runtime.GOOS == "darwin" { // in bytes there, elsewhere in KiB
		return float64(usage.Maxrss) / 1e6
	}
	return float64(usage.Maxrss) * 1024 / 1e6
}

// BenchmarkStudy measures studies of both public traces, as processes, in U:
// what the lookups of all their configurations would cost at the price of the
// Cohorts kernel on two threads, measured before each.
func BenchmarkStudy(b *testing.B) {
	program := build(b)
	paths := benchmarkPaths(b)
	u := newUnit(b, paths)
	for _, c := range []struct {
		name   string
		flags  []string
		verify bool // the run as well
	}{
		{"study", nil, false},
		{"study and verify", nil, true},
		{"study --no-collapse", []string{"--no-collapse"}, false},
		{"study --cohorts parquet", []string{"--cohorts", "parquet"}, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "run")
			args := append(append([]string{"study", "--quiet", "-o", dir}, c.flags...), paths...)
			var bytes float64
			u.compare(b, func() {
				runProgram(b, program, args...)
				if c.verify {
					runProgram(b, program, "verify", dir)
				}
			}, func() {
				bytes = sizeOf(b, dir)
				remove(b, dir)
			})
			b.ReportMetric(bytes/1e6, "file-MB")
		})
	}
	b.Run("verify with cohorts", func(b *testing.B) {
		dir := filepath.Join(b.TempDir(), "run")
		runProgram(b, program, append([]string{"study", "--quiet", "--cohorts", "parquet", "-o", dir}, paths...)...)
		u.compare(b, func() { runProgram(b, program, "verify", dir) }, func() {})
		b.ReportMetric(sizeOf(b, dir)/1e6, "file-MB")
	})
}

// unit measures U.
type unit struct {
	cells   []cell
	lookups int // of all cells
	grid    int // of every configuration of the study over the same traces
}

// cell is a configuration of one instance. The study has it once for each
// routing and number of instances, over as many lookups.
type cell struct {
	columns    bound.Columns
	capacity   int
	windowMS   int64
	contiguous bool
}

func newUnit(b *testing.B, paths []string) *unit {
	b.Helper()
	u := &unit{}
	grid := study.DefaultGrid()
	for _, path := range paths {
		t, err := trace.Load(context.Background(), trace.Ref{Name: "bench", Path: path}, trace.Options{})
		if err != nil {
			b.Fatal(err)
		}
		u.grid += len(grid.Configs()) * t.Lookups()
		columns := bound.Columns{ArrivalMS: t.ArrivalMS, Offset: t.Offset, Block: t.Block, Blocks: len(t.Hash)}
		for _, lookup := range fanin.Lookups {
			for _, capacity := range grid.CapacitiesBlocks {
				for _, window := range grid.WindowsMS {
					u.cells = append(u.cells, cell{columns, capacity, window, lookup == fanin.ContiguousPrefix})
					u.lookups += t.Lookups()
				}
			}
		}
	}
	return u
}

// seconds measures U once.
func (u *unit) seconds() float64 {
	var next atomic.Int64
	start := time.Now()
	bound.Threads(2, func(int) {
		var k bound.Cohorts
		for i := next.Add(1) - 1; int(i) < len(u.cells); i = next.Add(1) - 1 {
			c := &u.cells[i]
			k.Run(&c.columns, c.capacity, c.windowMS, c.contiguous)
		}
	})
	return time.Since(start).Seconds() / float64(u.lookups) * float64(u.grid)
}

// compare measures thing and U in turn and reports both, and the median of
// their ratios. after is not measured.
func (u *unit) compare(b *testing.B, thing, after func()) {
	b.Helper()
	var took, units []float64 // s
	for b.Loop() {
		units = append(units, u.seconds())
		start := time.Now()
		thing()
		took = append(took, time.Since(start).Seconds())
		after()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(bound.Median(took), "s")
	b.ReportMetric(bound.Median(units), "U-s")
	b.ReportMetric(bound.MedianRatio(took, units), "x-U")
	b.ReportMetric(bound.Median(units)/float64(u.grid)*1e9, "cohorts-ns/lookup")
	b.ReportMetric(float64(u.grid)/bound.Median(took)/1e6, "M-lookups/s")
}

// build builds the program.
func build(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "kvfanin")
	if out, err := exec.Command("go", "build", "-o", program, "kvfanin/cmd/kvfanin").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return program
}

// benchmarkPaths returns the public traces, or a generated one where they do
// not lie beside the checkout.
func benchmarkPaths(b *testing.B) []string {
	b.Helper()
	var paths []string
	for _, name := range []string{"conversation", "synthetic"} {
		path := filepath.Join(shared, "traces", name+"_trace.jsonl")
		if _, missing := os.Stat(path); missing != nil {
			b.Logf("over the generated trace: %v", missing)
			path = filepath.Join(b.TempDir(), "generated.jsonl")
			if code, _, stderr := call("trace", "generate", "-o", path); code != exitDone {
				b.Fatal(stderr)
			}
			return []string{path}
		}
		paths = append(paths, path)
	}
	return paths
}

// runProgram runs a command line to its end.
func runProgram(b *testing.B, program string, args ...string) *os.ProcessState {
	b.Helper()
	cmd := exec.Command(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v: %s", args, err, out)
	}
	return cmd.ProcessState
}

// sizeOf returns the bytes of all files below dir.
func sizeOf(b *testing.B, dir string) float64 {
	b.Helper()
	total := 0.0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += float64(info.Size())
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}

func remove(b *testing.B, dir string) {
	b.Helper()
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
}
