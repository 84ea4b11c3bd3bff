package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is where a command writes its result: stdout, or a file that is there
// in full or not at all.
type output struct {
	ctx  context.Context
	to   io.Writer
	file *os.File // nil for stdout
	path string
}

// newOutput opens path for writing, stdout if it is empty or "-". The file
// appears under its name on publish.
func newOutput(ctx context.Context, stdout io.Writer, path string) (*output, error) {
	if path == "" || path == "-" {
		return &output{ctx: ctx, to: stdout, path: "stdout"}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return nil, fmt.Errorf("write %s: is a directory: give a file", path)
		}
		device, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &output{ctx: ctx, to: device, path: path}, nil // a pipe or device cannot be put in place
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, cause(err))
	}
	return &output{ctx, file, file, path}, nil
}

// Write writes p, or returns the context's error when it is done.
func (o *output) Write(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.to.Write(p)
}

// failed says of which file an error is.
func (o *output) failed(err error) error {
	if o.ctx.Err() != nil {
		return o.ctx.Err()
	}
	if o.file == nil {
		return fmt.Errorf("write %s: %w", o.path, cause(err)) // what was written is gone
	}
	return fmt.Errorf("write %s: %w; nothing was left there", o.path, cause(err))
}

// publish puts the file in its place.
func (o *output) publish() error {
	if o.file == nil {
		return nil
	}
	err := errors.Join(o.file.Chmod(0o644), o.file.Sync(), o.file.Close())
	if err == nil {
		err = os.Rename(o.file.Name(), o.path)
	}
	if err != nil {
		return o.failed(err)
	}
	o.file = nil
	return nil
}

// abandon removes what was written, unless it was published.
func (o *output) abandon() {
	if o.file != nil {
		_ = o.file.Close()
		_ = os.Remove(o.file.Name()) // the error that led here is told already
	}
}

// cause returns the reason in an error about a file whose name the user does
// not know.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
