package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
)

// Run is a finished run, read.
type Run struct {
	Manifest *Manifest
	Traces   []TraceRun // as in Manifest.Traces
}

// TraceRun is what a run has of one trace, its cohorts excepted.
type TraceRun struct {
	Name string
	result.Rows
	Profile *profile.Profile
}

// Open reads the finished run DIR. It refuses what is not as the manifest says,
// so that no table is made from damaged rows, but proves no identity and looks
// at no cohort: Verify does.
func Open(dir string) (*Run, error) {
	root, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	damaged := func(name, why string) error {
		return fmt.Errorf("%s: %s: kvfanin verify tells what else is wrong with the run", filepath.Join(dir, filepath.FromSlash(name)), why)
	}
	b, err := readRegular(root, manifestName)
	if err != nil {
		return nil, damaged(manifestName, cause(err).Error())
	}
	m, _, wrong := decodeManifest(b)
	if len(wrong) > 0 {
		return nil, damaged(wrong[0].File, wrong[0].Detail)
	}
	sums := make(map[string]string)
	for _, f := range m.Files {
		sums[f.Path] = f.SHA256
	}
	// read returns a whole file that is known to be as it was written.
	read := func(name string) ([]byte, error) {
		b, err := readRegular(root, name)
		if err != nil {
			return nil, damaged(name, cause(err).Error())
		}
		if hexSum(b) != sums[name] {
			return nil, damaged(name, "not what the manifest says")
		}
		return b, nil
	}
	run := &Run{Manifest: m, Traces: make([]TraceRun, len(m.Traces))}
	var parts []func() error
	for i := range m.Traces {
		t := &run.Traces[i]
		t.Name = m.Traces[i].Name
		part := func(base string, decode func([]byte) error) {
			name := path.Join(t.Name, base)
			parts = append(parts, func() error {
				b, err := read(name)
				if err != nil {
					return err
				}
				if err := decode(b); err != nil {
					return damaged(name, err.Error())
				}
				return nil
			})
		}
		for _, table := range m.tables() {
			part(table.name, func(b []byte) error { return table.read(bytes.NewReader(b), &t.Rows) })
		}
		part(profileName, func(b []byte) error {
			t.Profile = new(profile.Profile)
			return decodeStrict(b, t.Profile)
		})
	}
	if err := sideBySide(len(parts), func(i int) error { return parts[i]() }); err != nil {
		return nil, err
	}
	return run, nil
}

// openRun opens the directory of a finished run.
func openRun(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		return root, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if p, perr := locate(dir); perr == nil {
			if _, perr := os.Stat(p.partial); perr == nil {
				return nil, fmt.Errorf("%s: the run is not finished: kvfanin study --resume goes on with it", dir)
			}
		}
		return nil, fmt.Errorf("%s: there is no such run: kvfanin study makes one", dir)
	}
	return nil, fmt.Errorf("%s: %w", dir, cause(err))
}
