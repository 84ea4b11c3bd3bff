package rundir

import (
	"context"
	"path/filepath"
	"testing"

	"kvfanin/internal/result"
)

// BenchmarkStudy makes, verifies and opens a run with the grid of the study
// over two traces, without cohorts.
func BenchmarkStudy(b *testing.B) {
	s := newSample(result.Grid{
		Lookups:          []string{"contiguous_prefix", "independent_blocks"},
		Routings:         []string{"round_robin", "first_block_affinity"},
		Instances:        []int{1, 2, 4, 8, 16},
		CapacitiesBlocks: []int{1000, 10000, 100000},
		WindowsMS:        []int64{10, 30, 100, 300, 1000, 3000, 10000},
	}, CohortsOff, "alpha", "beta")
	dir := filepath.Join(b.TempDir(), "run")
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.write(dir, Options{Force: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Verify(context.Background(), dir, func(f Finding) { b.Error(f) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Open(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}
