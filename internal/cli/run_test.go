package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// treeOf returns the files below dir, by path.
func treeOf(dir string) (map[string]string, error) {
	tree := map[string]string{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root, name)
		tree[name] = string(b)
		return err
	})
	return tree, err
}

// call runs a command line in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestInterrupt stops a study at some point of its run, by a signal that can
// be handled and by one that cannot, and goes on from there: no run is there
// before, and after it the same bytes as without the interruption.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	grid := []string{"study", "--cohorts", "parquet", "--instances", "1,4", "--capacity", "1000"}
	if code, _, stderr := call(append(grid, "-o", whole)...); code != exitDone {
		t.Fatal(stderr)
	}
	want, err := treeOf(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			run := filepath.Join(dir, strings.ReplaceAll(signal.String(), " ", "-"))
			cmd := exec.Command("kvfanin", append(grid, "--jobs", "2", "-o", run)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Some configurations are committed once there are cohort files.
			for {
				if files, err := filepath.Glob(filepath.Join(run+".partial", "generated", "cohorts", "*.parquet")); err != nil {
					t.Fatal(err)
				} else if len(files) > 3 {
					break
				}
				if _, err := os.Stat(run); err == nil {
					t.Fatal("the study ended before it could be stopped")
				}
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the study ended before it could be stopped")
			}
			if signal == os.Interrupt {
				if code := cmd.ProcessState.ExitCode(); code != exitFailed {
					t.Errorf("exit code %d, want %d", code, exitFailed)
				}
				if !strings.Contains(stderr.String(), "interrupted") || !strings.Contains(stderr.String(), "--resume") {
					t.Errorf("stderr %q says neither that it was interrupted nor what to do", stderr.String())
				}
			}
			if _, err := os.Stat(run); !os.IsNotExist(err) {
				t.Errorf("there is a run directory after the interruption (%v)", err)
			}
			if code, _, stderr := call("verify", run); code != exitFailed || !strings.Contains(stderr, "--resume") {
				t.Errorf("verify of an unfinished run: exit code %d, %s", code, stderr)
			}
			if code, _, stderr := call(append(grid, "--resume", "-o", run)...); code != exitDone {
				t.Fatal(stderr)
			}
			got, err := treeOf(run)
			if err != nil {
				t.Fatal(err)
			}
			for name := range want {
				if got[name] != want[name] {
					t.Errorf("%s differs from that of a run without interruption", name)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
		})
	}
}
