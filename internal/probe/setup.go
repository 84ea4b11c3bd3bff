package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Place is where an environment is, or is to be.
type Place struct {
	Environment *Environment
	Release     *Release
	Dir         string
}

// PlaceOf returns where the environment lies: dir, or a folder of its own among
// the user's caches, named after what its lock installs.
func PlaceOf(e *Environment, r *Release, dir string) (*Place, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("find a folder for the environment (%w): give one with --venv DIR", err)
		}
		dir = filepath.Join(cache, "kvfanin", "probe", e.Name+"-"+r.Version+"-"+r.lockHash())
	}
	dir, err := filepath.Abs(dir)
	return &Place{e, r, dir}, err
}

// Python returns the interpreter of the environment.
func (p *Place) Python() string { return filepath.Join(p.Dir, "bin", "python") }

// marker is the file that says what an environment holds. It is written last.
const marker = "kvfanin-environment.json"

// begun is the file that says that an environment is one of kvfanin's. It is
// written first.
const begun = "kvfanin-begun"

// contents is what stands in the marker.
type contents struct {
	Environment string `json:"environment"`
	Release     string `json:"release"`
	Lock        string `json:"lock"`
}

// Ready reports whether the environment is complete.
func (p *Place) Ready() bool {
	b, err := os.ReadFile(filepath.Join(p.Dir, marker))
	var c contents
	return err == nil && json.Unmarshal(b, &c) == nil && c == p.contents()
}

func (p *Place) contents() contents {
	return contents{p.Environment.Name, p.Release.Version, p.Release.lockHash()}
}

// Setup makes the environment, unless it is there. python is the interpreter to
// make it with. It takes minutes; step is told of each package.
func (p *Place) Setup(ctx context.Context, python string, step func(string)) error {
	if p.Ready() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Dir), 0o777); err != nil {
		return err
	}
	lock, err := lockFile(p.Dir + ".lock")
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%s: another kvfanin makes this environment: wait for it", p.Dir)
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(lock.Name())
		_ = lock.Close()
	}()
	if err := p.clear(); err != nil {
		return err
	}
	g, err := newGroup()
	if err != nil {
		return err
	}
	err = p.install(ctx, g, python, step)
	return errors.Join(err, g.end())
}

// clear removes what an interrupted setup left, and refuses what is another's.
func (p *Place) clear() error {
	entries, err := os.ReadDir(p.Dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(p.Dir, begun)); err != nil {
		return fmt.Errorf("%s is no environment of kvfanin: give an empty folder with --venv DIR, or use it as it is with --python %s", p.Dir, p.Python())
	}
	return os.RemoveAll(p.Dir)
}

func (p *Place) install(ctx context.Context, g *group, python string, step func(string)) error {
	if err := checkPython(ctx, g, python); err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.Dir, begun), nil, 0o666); err != nil {
		return err
	}
	step("an empty environment")
	if err := g.tool(ctx, "python -m venv", io.Discard, python, "-m", "venv", p.Dir); err != nil {
		return fmt.Errorf("%w; if it lacks ensurepip: apt-get install python3-venv", err)
	}
	if err := p.installLock(ctx, g, step); err != nil {
		return err
	}
	b, err := json.MarshalIndent(p.contents(), "", "  ")
	if err != nil {
		return err
	}
	partial := filepath.Join(p.Dir, marker+".partial")
	if err := os.WriteFile(partial, append(b, '\n'), 0o666); err != nil {
		return err
	}
	return os.Rename(partial, filepath.Join(p.Dir, marker))
}

// installLock installs what the lock names, every package with its hash. Wheels
// alone: nothing is built, and no code of a package runs. It has uv do it, which
// is several times as fast as pip, and pip where uv cannot: the user's settings
// may be pip's.
func (p *Place) installLock(ctx context.Context, g *group, step func(string)) error {
	pip := func(lock string) error {
		return g.tool(ctx, "pip install", &steps{tell: step}, p.Python(), "-m", "pip", "install", "--no-input",
			"--disable-pip-version-check", "--progress-bar=off", "--no-deps", "--require-hashes", "--only-binary=:all:", "-r", lock)
	}
	lock, uvLock := filepath.Join(g.dir, "lock.txt"), filepath.Join(g.dir, "uv.txt")
	err := errors.Join(os.WriteFile(lock, p.Release.lockText(), 0o666), os.WriteFile(uvLock, lockText("uv.txt"), 0o666))
	if err != nil {
		return err
	}
	if pip(uvLock) == nil {
		step("installing with uv, which says little before it is done")
		args := []string{"pip", "install", "--no-progress", "--python", p.Python(),
			"--no-deps", "--require-hashes", "--only-binary=:all:", "-r", lock}
		cache := filepath.Join(p.Dir, "uv-cache") // on the disk of what is linked to it
		if os.Getenv("UV_CACHE_DIR") == "" {
			args = append(args, "--cache-dir", cache)
		}
		if g.tool(ctx, "uv pip install", &steps{tell: step}, filepath.Join(p.Dir, "bin", "uv"), args...) == nil {
			return os.RemoveAll(cache)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pip(lock)
}

// checkPython returns an error if python cannot make an environment.
func checkPython(ctx context.Context, g *group, python string) error {
	const script = "import sys; print('.'.join(map(str, sys.version_info[:3]))); sys.exit(sys.version_info < (3, 11))"
	var out strings.Builder
	err := g.tool(ctx, python, &out, python, "-c", script)
	version, _, _ := strings.Cut(out.String(), "\n")
	if !strings.HasPrefix(version, "3.") {
		version = "" // what was said instead is in the error
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && version != "":
		return fmt.Errorf("%s is Python %s, and 3.11 or later is needed: name another with --python", python, version)
	case err != nil:
		return fmt.Errorf("%w: install Python 3.11 or later (apt-get install python3 python3-venv), or name one with --python", err)
	}
	return nil
}

const toolPatience = time.Hour

// tool runs a program of the group to its end.
func (g *group) tool(ctx context.Context, name string, out io.Writer, path string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	g.add(cmd)
	var log tail
	cmd.Stdout = io.MultiWriter(out, &log)
	cmd.Stderr = cmd.Stdout // one writer: it is not written to from two sides at once
	cmd.Env = append(os.Environ(), "TMPDIR="+g.dir, "PYTHONNOUSERSITE=1", "PIP_USER=0")
	cmd.WaitDelay = drain
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if text := log.String(); text != "" {
		return fmt.Errorf("%s: %w; its last lines: %s", name, err, text)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// steps is a writer that tells of each line.
type steps struct {
	tell func(string)
	rest string
}

func (s *steps) Write(p []byte) (int, error) {
	s.rest += string(p)
	for {
		line, after, ended := strings.Cut(s.rest, "\n")
		if !ended {
			return len(p), nil
		}
		s.tell(strings.TrimSpace(line))
		s.rest = after
	}
}

// Check starts the harness, has it import the whole stack, and returns the
// versions that are installed and what is missing.
func Check(ctx context.Context, target *Target, o *Options) (map[string]string, []Missing, error) {
	s, err := openSession(ctx, target, o.filled(), true)
	if err != nil {
		return nil, nil, err
	}
	return s.hello.Versions, s.hello.Missing, s.close(true)
}
