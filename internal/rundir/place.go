package rundir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is where a run goes, and the two directories beside it that exist
// while it is made or replaced. Paths are absolute, so that they hold when
// the working directory changes.
type place struct {
	dir      string // DIR
	partial  string // DIR.partial: the run in the making
	replaced string // DIR.replaced: the former DIR, until the new one has its place
	shown    string // DIR as the user wrote it, for messages
}

const (
	partialSuffix  = ".partial"
	replacedSuffix = ".replaced"
)

// locate returns the place of a run named dir. A symbolic link stands for
// the directory it leads to.
func locate(name string) (*place, error) {
	if name == "" {
		return nil, errors.New("a run needs a directory: its name is empty")
	}
	shown := filepath.Clean(name)
	dir, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, fmt.Errorf("%s: a symbolic link that leads nowhere: remove it, or choose another directory", shown)
		}
		shown = dir
	}
	if filepath.Dir(dir) == dir {
		return nil, fmt.Errorf("%s: the root of a file system cannot be a run: choose another directory", shown)
	}
	if filepath.Base(shown) != filepath.Base(dir) { // "." and ".."
		shown = dir
	}
	for _, suffix := range []string{partialSuffix, replacedSuffix} {
		// It would be taken for what is left of another run, and removed.
		if strings.HasSuffix(dir, suffix) {
			return nil, fmt.Errorf("%s: a run cannot have a name in %s: choose another directory", shown, suffix)
		}
	}
	return &place{dir: dir, partial: dir + partialSuffix, replaced: dir + replacedSuffix, shown: shown}, nil
}

// checkDir returns an error unless a run may be put at DIR, and whether
// something is there that it replaces.
func (p *place) checkDir(force bool) (replaces bool, err error) {
	info, err := os.Lstat(p.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, p.refuse("", cannotWrite(err))
	case !info.IsDir():
		return false, p.refuse("", "is there already and no directory: remove it, or choose another directory")
	}
	isRun, isEmpty, err := inspect(p.dir)
	switch {
	case err != nil:
		return false, p.refuse("", cause(err).Error())
	case !isRun && !isEmpty:
		return false, p.refuse("", "is there already and not a run of kvfanin, so nothing replaces it: choose another directory")
	case force:
		return true, p.checkReplaced()
	case isEmpty:
		return false, p.refuse("", "is there already: --force replaces the empty directory")
	}
	return false, p.refuse("", "holds a finished run: --force replaces it, or choose another directory")
}

// checkReplaced returns an error if DIR.replaced is there and was not left by
// a run that was killed while it replaced another.
func (p *place) checkReplaced() error {
	isRun, isEmpty, err := inspect(p.replaced)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return p.refuse(replacedSuffix, cause(err).Error()+": it is in the way of the run to be replaced")
	case !isRun && !isEmpty:
		return p.refuse(replacedSuffix, "is in the way of the run to be replaced and not a run of kvfanin: move it")
	}
	return nil
}

// inspect says whether a directory is a finished run, of any version, and
// whether it is empty.
func inspect(dir string) (isRun, isEmpty bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, false, err
	}
	for _, e := range entries {
		if e.Name() == manifestName && e.Type().IsRegular() {
			var m struct {
				Schema string `json:"schema"`
			}
			b, err := os.ReadFile(filepath.Join(dir, manifestName))
			if err != nil {
				return false, false, err
			}
			isRun = json.Unmarshal(b, &m) == nil && strings.HasPrefix(m.Schema, schemaFamily)
		}
	}
	return isRun, len(entries) == 0, nil
}

// publish gives DIR.partial the name DIR. What stood there keeps its bytes
// until the new run has the name.
func (p *place) publish(force bool, step func()) error {
	replaces, err := p.checkDir(force)
	if err != nil {
		return err
	}
	if replaces {
		if err := remove(p.replaced, step); err != nil {
			return p.refuse(replacedSuffix, cannotWrite(err))
		}
		if err := os.Rename(p.dir, p.replaced); err != nil {
			return p.refuse("", cannotWrite(err))
		}
		step()
	}
	if err := os.Rename(p.partial, p.dir); err != nil {
		if replaces {
			if os.Rename(p.replaced, p.dir) != nil {
				return p.refuse(replacedSuffix, "here is what was to be replaced, for this went wrong half-way: "+cause(err).Error())
			}
		}
		return p.refuse("", cannotWrite(err))
	}
	step()
	parent, err := os.Open(filepath.Dir(p.dir))
	if err != nil {
		return p.refuse("", cannotWrite(err))
	}
	if err := cmp.Or(syncDir(parent), parent.Close()); err != nil {
		return p.refuse("", cannotWrite(err))
	}
	// It may be there without replaces: left by a run that was killed between
	// the two renames, which this one resumes.
	if force && p.checkReplaced() == nil {
		if err := remove(p.replaced, step); err != nil {
			return p.refuse(replacedSuffix, "the new run is complete, but this old one could not be removed: "+cause(err).Error())
		}
	}
	return nil
}

// remove deletes a finished run that is ours, the manifest last, so that one
// killed on the way is still known for a run.
func remove(dir string, step func()) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == manifestName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		step()
	}
	return os.RemoveAll(dir)
}

// refuse is an error about DIR, or about DIR with a suffix.
func (p *place) refuse(suffix, why string) error { return fmt.Errorf("%s%s: %s", p.shown, suffix, why) }

// cannotWrite says what the system said, and what to do about it.
func cannotWrite(err error) string {
	err = cause(err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return err.Error() + ": make room there, then --resume goes on"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return err.Error() + ": choose a directory that can be written"
	}
	return err.Error()
}

// cause returns what the system said, without the path and the operation:
// those are told in the words of this package.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
