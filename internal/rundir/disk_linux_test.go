package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kvfanin/internal/result"
)

// mountMemory mounts a file system of so many bytes, 0 for as many as wanted,
// until the test ends.
func mountMemory(t *testing.T, size int, flags uintptr) string {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("kvfanin-test", dir, "tmpfs", flags, fmt.Sprintf("size=%d", size)); err != nil {
		if errors.Is(err, syscall.EPERM) {
			skip(t, "the right to mount a small file system")
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestDiskFull makes a run on disks that are full after more and more pages,
// until it fits. Each time nothing may be published, and with more room the
// run must end as any other.
func TestDiskFull(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha", "beta")
	want := tree(t, s.published(t))
	page := os.Getpagesize()
	at := map[string]bool{}
	for pages := 1; ; pages++ {
		top := mountMemory(t, pages*page, 0)
		dir := filepath.Join(top, "run")
		err := s.write(dir, Options{})
		if err == nil {
			break
		}
		message := strings.TrimPrefix(err.Error(), dir+".partial/")
		name, ok := strings.CutSuffix(message, ": no space left on device: make room there, then --resume goes on")
		if !ok || name == err.Error() {
			t.Fatalf("%d pages: error %v", pages, err)
		}
		at[name] = true
		wantNone(t, dir)
		if err := syscall.Mount("", top, "", syscall.MS_REMOUNT, "size=1048576"); err != nil {
			t.Fatal(err)
		}
		if err := s.write(dir, Options{Resume: true}); err != nil {
			t.Fatalf("%d pages, then more: %v", pages, err)
		}
		wantTree(t, dir, want)
		wantNone(t, dir+".partial")
	}
	for _, name := range []string{s.anyCohortPath(0) + temporary, "beta/profile.json", manifestName} {
		if !at[name] {
			t.Errorf("the disk was never full at %s, only at %v", name, at)
		}
	}
}

// TestDiskFullIsFinal goes on committing when the disk is full: nothing more
// may be taken, even where there is room again.
func TestDiskFullIsFinal(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	want := tree(t, s.published(t))
	top := mountMemory(t, os.Getpagesize(), 0)
	dir := filepath.Join(top, "run")
	w, err := Create(dir, s.header, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// What the journal cannot hold.
	large := *s.outcomes[0][0]
	large.Instances[0][0].FanIn = result.FanInFromCounts(make([]int64, 2))
	for f := range int64(1000) {
		large.Instances[0][0].FanIn = append(large.Instances[0][0].FanIn, result.FanInCount{FanIn: f + 1, Cohorts: 1})
	}
	full := w.Commit(0, Given{0, &large})
	wantError(t, full, dir+".partial/"+journalName+": no space left on device: make room there, then --resume goes on")
	if err := syscall.Mount("", top, "", syscall.MS_REMOUNT, "size=1048576"); err != nil {
		t.Fatal(err)
	}
	s = newSample(tinyGrid, CohortsOff, "alpha")
	for _, err := range []error{s.commit(w, 0, 1), w.Profile(0, s.profiles[0]), w.Publish()} {
		if err != full {
			t.Errorf("error %v after the first was %v", err, full)
		}
	}
	wantNone(t, dir)
	if err := s.write(dir, Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, want)
}

// TestReadOnlyAfterAnyStep has the file system turn read-only after each step
// of a run at which it can: while no file is open for writing, so above all
// when the run gets its name.
func TestReadOnlyAfterAnyStep(t *testing.T) {
	s := newSample(oneConfig, CohortsOff, "alpha")
	want := tree(t, s.published(t))
	old := newSample(oneConfig, CohortsOff, "gamma")
	for _, replacing := range []bool{false, true} {
		top := mountMemory(t, 0, 0)
		remount := func(flags uintptr) error { return syscall.Mount("", top, "", syscall.MS_REMOUNT|flags, "") }
		turned, naming, halfway := 0, 0, 0
		for last, k := false, 0; !last; k++ {
			dir := filepath.Join(top, fmt.Sprint(k), "run")
			if replacing {
				if err := old.write(dir, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			last = true
			steps, ro := 0, false
			err := s.write(dir, Options{Force: replacing, step: func() {
				if steps == k {
					last = false
					ro = remount(syscall.MS_RDONLY) == nil
				}
				steps++
			}})
			if !ro { // it could not be turned, or not so late
				if err != nil {
					t.Fatal(err)
				}
				continue
			}
			turned++
			if err := remount(0); err != nil {
				t.Fatal(err)
			}
			if _, gone := os.Lstat(dir + ".partial"); gone != nil {
				// All was done, but perhaps for the removal of the old run.
				wantTree(t, dir, want)
				continue
			}
			if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.Contains(err.Error(), "read-only file system") {
				t.Fatalf("after step %d: error %v", k, err)
			}
			switch {
			case strings.HasPrefix(err.Error(), dir+": "):
				naming++
			case strings.HasPrefix(err.Error(), dir+".replaced: here is what was to be replaced"):
				halfway++
			}
			if err := s.write(dir, Options{Resume: true, Force: replacing}); err != nil {
				t.Fatalf("after step %d, writable again: %v", k, err)
			}
			wantTree(t, dir, want)
			wantNone(t, dir+".partial")
			wantNone(t, dir+".replaced")
		}
		if turned < 3 || naming == 0 || (halfway > 0) != replacing {
			t.Errorf("read-only after %d steps, at %d when the run was to get its name, at %d between two names", turned, naming, halfway)
		}
	}
}

func TestPlaceThatCannotBeWritten(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{file + "/run", file + "/deep/run"} {
			wantError(t, s.write(dir, Options{}), dir+": not a directory: choose a directory that can be written")
		}
	})
	t.Run("read-only", func(t *testing.T) {
		dir := filepath.Join(mountMemory(t, 0, syscall.MS_RDONLY), "run")
		wantError(t, s.write(dir, Options{}), dir+".partial: read-only file system: choose a directory that can be written")
	})
	t.Run("read-only from now on", func(t *testing.T) {
		top := mountMemory(t, 0, 0)
		dir := filepath.Join(top, "run")
		w, err := Create(dir, s.header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if err := syscall.Mount("", top, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		wantError(t, s.write(dir, Options{Resume: true}), dir+".partial/"+journalName+": read-only file system: choose a directory that can be written")
	})
}
