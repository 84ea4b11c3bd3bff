package rundir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
)

// partial is DIR.partial, open, and taken for this process. Names in it are
// slash-separated and lead nowhere else, symbolic links or not.
type partial struct {
	place *place
	root  *os.Root
	self  *os.File // the directory itself: the lock hangs on it
	step  func()   // called after each change to the disk
}

// enter makes DIR.partial if it is not there and takes it for this process.
func (p *place) enter(step func()) (*partial, error) {
	if err := os.MkdirAll(filepath.Dir(p.dir), 0o777); err != nil {
		return nil, p.refuse("", cannotWrite(err))
	}
	for {
		if err := os.Mkdir(p.partial, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, p.refuse(partialSuffix, cannotWrite(err))
		}
		step()
		d := &partial{place: p, step: step}
		err := d.take()
		if err == nil {
			return d, nil
		}
		d.close()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // another process published it just now
		case errors.Is(err, errLocked):
			return nil, p.refuse(partialSuffix, "another kvfanin is at work on this run: wait for it, or choose another directory")
		}
		return nil, p.refuse(partialSuffix, cannotWrite(err))
	}
}

// take opens and locks DIR.partial. It returns fs.ErrNotExist if what it took
// is not, or no longer, what has the name.
func (d *partial) take() error {
	info, err := os.Lstat(d.place.partial)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("is in the way and no directory: move it")
	}
	if d.root, err = os.OpenRoot(d.place.partial); err != nil {
		return err
	}
	if d.self, err = d.root.Open("."); err != nil {
		return err
	}
	if err := lock(d.self); err != nil {
		return err
	}
	taken, err := d.self.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(d.place.partial)
	if err != nil {
		return err
	}
	if !os.SameFile(taken, named) {
		return fs.ErrNotExist
	}
	return nil
}

// close gives the directory up, as it is.
func (d *partial) close() {
	if d.root != nil {
		_ = d.root.Close() // nothing is written through it
	}
	if d.self != nil {
		_ = d.self.Close()
	}
}

// fail is an error about a name in DIR.partial that could not be written.
func (d *partial) fail(name string, err error) error {
	return d.place.refuse(partialSuffix+"/"+name, cannotWrite(err))
}

// output is a file being written. What it holds is counted and hashed.
type output struct {
	dir  *partial
	name string
	file *os.File
	size int64
	hash hash.Hash
	err  error // of the first Write that failed
}

// create starts a file, empty, with the directories above it.
func (d *partial) create(name string) (*output, error) {
	if err := d.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return nil, d.fail(path.Dir(name), err)
	}
	d.step()
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, d.fail(name, err)
	}
	d.step()
	return &output{dir: d, name: name, file: f, hash: sha256.New()}, nil
}

// Write implements io.Writer. Its error names the file.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	o.size += int64(n)
	o.hash.Write(p[:n])
	o.dir.step()
	if err != nil {
		o.err = cmp.Or(o.err, o.dir.fail(o.name, err))
		return n, o.err
	}
	return n, nil
}

// explain returns the error of what wrote to the file, which may have wrapped
// that of Write in its own words, or have had one of its own.
func (o *output) explain(err error) error { return cmp.Or(o.err, o.dir.fail(o.name, err)) }

// abandon closes a file that will not be whole.
func (o *output) abandon() { _ = o.file.Close() }

// finish brings the file onto the disk and closes it.
func (o *output) finish() error {
	if err := cmp.Or(o.file.Sync(), o.file.Close()); err != nil {
		return o.dir.fail(o.name, err)
	}
	o.dir.step()
	return nil
}

// sum returns the lower-case hex SHA-256 of what was written.
func (o *output) sum() string { return hex.EncodeToString(o.hash.Sum(nil)) }

// write makes a whole file.
func (d *partial) write(name string, content func(io.Writer) error) (*output, error) {
	o, err := d.create(name)
	if err != nil {
		return nil, err
	}
	if err := content(o); err != nil {
		o.abandon()
		return nil, o.explain(err)
	}
	return o, o.finish()
}

// rename gives a file the name to.
func (d *partial) rename(from, to string) error {
	if err := d.root.Rename(from, to); err != nil {
		return d.fail(to, err)
	}
	d.step()
	return nil
}

// remove deletes a file or a directory with all that is in it.
func (d *partial) remove(name string) error {
	if err := d.root.RemoveAll(name); err != nil {
		return d.fail(name, err)
	}
	d.step()
	return nil
}

// sweep removes everything but the regular files in keep and the directories
// above them.
func (d *partial) sweep(keep map[string]bool) error {
	above := directoriesOf(maps.Keys(keep))
	return fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return d.fail(name, err)
		case name == "." || e.IsDir() && above[name] || e.Type().IsRegular() && keep[name]:
			return nil
		}
		if err := d.remove(name); err != nil || !e.IsDir() {
			return err
		}
		return fs.SkipDir
	})
}

// directoriesOf returns the directories above files.
func directoriesOf(files iter.Seq[string]) map[string]bool {
	above := map[string]bool{}
	for name := range files {
		for name = path.Dir(name); name != "."; name = path.Dir(name) {
			above[name] = true
		}
	}
	return above
}

// syncDirs brings all names onto the disk.
func (d *partial) syncDirs() error {
	return fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return d.fail(name, err)
		}
		if !e.IsDir() {
			return nil
		}
		dir, err := d.root.Open(name)
		if err != nil {
			return d.fail(name, err)
		}
		if err := cmp.Or(syncDir(dir), dir.Close()); err != nil {
			return d.fail(name, err)
		}
		return nil
	})
}

// has says whether a file is there as it was written.
func (d *partial) has(f *File) bool {
	file, err := d.root.Open(f.Path)
	if err != nil {
		return false
	}
	h := sha256.New()
	size, err := io.Copy(h, file)
	err = cmp.Or(err, file.Close())
	return err == nil && size == f.Bytes && hex.EncodeToString(h.Sum(nil)) == f.SHA256
}

// readRegular returns the content of a file that is one: a link or a pipe is
// not followed.
func readRegular(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return root.ReadFile(name)
}
