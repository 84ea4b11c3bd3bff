package trace

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Ref names a trace on a command line.
type Ref struct {
	Name string // what tables and directories call it
	Path string // where it is; "-" is standard input
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ParseRef reads a command-line argument: PATH, NAME=PATH, or "-" for standard
// input, which is called stdin. Without a NAME the trace is called by the base
// name of PATH, without .gz or .zst, without one further extension and without
// a trailing "_trace". What stands before the first '=' is a NAME unless it
// holds a '/'; then the whole argument is a PATH. A name becomes a directory,
// so one that does not match [A-Za-z0-9][A-Za-z0-9._-]* is an error.
func ParseRef(arg string) (Ref, error) {
	name, path, named := strings.Cut(arg, "=")
	if !named || strings.Contains(name, "/") {
		path, named = arg, false
	}
	if path == "" {
		return Ref{}, fmt.Errorf("trace %q: got no path, want PATH, NAME=PATH or -", arg)
	}
	if !named {
		name = defaultName(path)
	}
	if validName.MatchString(name) {
		return Ref{Name: name, Path: path}, nil
	}
	const want = "want letters, digits, '.', '_' and '-' after a leading letter or digit"
	if named {
		return Ref{}, fmt.Errorf("trace %q: got name %q, %s in NAME=PATH", arg, name, want)
	}
	return Ref{}, fmt.Errorf("trace %q: its file name makes the name %q, %s; give NAME=PATH", arg, name, want)
}

func defaultName(path string) string {
	if path == "-" {
		return "stdin"
	}
	name := filepath.Base(path)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	name = strings.TrimSuffix(name, filepath.Ext(name))
	return strings.TrimSuffix(name, "_trace")
}

// file is what problems and errors call the trace's file.
func (r Ref) file() string {
	if r.Path == "-" {
		return "stdin"
	}
	return r.Path
}
