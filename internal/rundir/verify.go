package rundir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
)

// Finding is one thing that is wrong with a run.
type Finding struct {
	Check  string // one of the checks below, or an identity of the package result
	File   string // path from the run directory, slash-separated
	Detail string
}

// String returns the finding as one line, the file first.
func (f Finding) String() string { return f.File + ": " + f.Check + ": " + f.Detail }

// The checks of a run, beside the identities of the package result.
const (
	CheckManifest     = "manifest is readable"
	CheckSchema       = "manifest has a schema this version knows"
	CheckManifestSum  = "manifest has its checksum"
	CheckManifestForm = "manifest is in its one form"
	CheckListed       = "manifest lists the files of the run"
	CheckExists       = "every file listed is there"
	CheckNoOther      = "nothing else is there"
	CheckReadable     = "file is readable"
	CheckBytes        = "file has its size"
	CheckSHA256       = "file has its SHA-256"
	CheckRows         = "file has its rows"
	CheckTable        = "table is in its one form"
	CheckProfile      = "profile is in its one form and of the trace"
	CheckStream       = "stream is whole to its end"
)

// Summary says how much Verify looked at.
type Summary struct {
	Traces   int
	Files    int   // beside the manifest
	Bytes    int64 // of those
	Rows     int64 // of tables and cohort files
	Findings int
}

// Verify checks the finished run DIR from its files alone and reports
// everything that is wrong, in an order that depends on the run alone. Files
// are read as streams and several at a time; what is held in memory are the
// tables, not the cohorts.
//
// What can be checked is checked whatever else is wrong: a manifest whose
// checksum does not fit, or a file whose SHA-256 does not, is still read.
//
// The error says that DIR could not be looked at, or that ctx ended, which is
// looked at between files; then nothing was reported.
func Verify(ctx context.Context, dir string, report func(Finding)) (Summary, error) {
	root, err := openRun(dir)
	if err != nil {
		return Summary{}, err
	}
	defer func() { _ = root.Close() }()
	v := &verifier{root: root}
	if err := v.run(ctx); err != nil {
		return Summary{}, err
	}
	summary := Summary{Traces: len(v.traces), Files: len(v.files)}
	all := v.findings
	for _, f := range v.files {
		summary.Bytes += f.bytes
		summary.Rows += f.rows
		all = append(all, f.findings...)
	}
	for _, t := range v.traces {
		all = append(all, t.findings...)
	}
	for _, f := range all {
		report(f)
	}
	summary.Findings = len(all)
	return summary, nil
}

type verifier struct {
	findings // about the manifest, and what is there or not
	root     *os.Root
	manifest *Manifest
	files    []*fileCheck // those that are there
	traces   []*traceCheck
}

// findings are collected, since files are checked side by side.
type findings []Finding

func (f *findings) found(check, file, format string, args ...any) {
	*f = append(*f, Finding{check, file, fmt.Sprintf(format, args...)})
}

// fileCheck is a file of the run.
type fileCheck struct {
	findings
	path   string
	kind   kind
	listed *File // nil if the manifest does not list it
	bytes  int64
	rows   int64
	whole  bool // its content was read to the end
}

// traceCheck is what the files of a trace say.
type traceCheck struct {
	findings
	name    string
	entry   *TraceEntry
	rows    result.Rows
	profile *profile.Profile              // nil if there is none to read
	parts   map[result.Config]result.Rows // nil if rows are not complete
}

func (v *verifier) run(ctx context.Context) error {
	b, err := readRegular(v.root, manifestName)
	if err != nil {
		v.found(CheckManifest, manifestName, "%v", cause(err))
		return nil
	}
	m, layout, wrong := decodeManifest(b)
	v.manifest, v.findings = m, wrong
	if m == nil {
		return nil
	}
	for i := range m.Traces {
		v.traces = append(v.traces, &traceCheck{name: m.Traces[i].Name, entry: &m.Traces[i]})
	}
	v.look(layout)
	if err := each(ctx, v.files, v.checkFile); err != nil {
		return err
	}
	if err := each(ctx, v.traces, v.checkTrace); err != nil {
		return err
	}
	return each(ctx, v.files, v.checkCohorts)
}

// each does something with all items, as many at a time as there are
// processors, or until ctx ends.
func each[T any](ctx context.Context, items []T, do func(T)) error {
	return sideBySide(len(items), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		do(items[i])
		return nil
	})
}

// look finds out which files are there, and reports what is missing and what
// does not belong.
func (v *verifier) look(layout map[string]kind) {
	wanted := make(map[string]*fileCheck)
	for name, kind := range layout {
		wanted[name] = &fileCheck{path: name, kind: kind}
	}
	for i := range v.manifest.Files {
		f := &v.manifest.Files[i]
		if !fs.ValidPath(f.Path) || f.Path == manifestName {
			continue // was reported as no file of such a run
		}
		if wanted[f.Path] == nil {
			wanted[f.Path] = &fileCheck{path: f.Path}
		}
		wanted[f.Path].listed = f
	}
	above := directoriesOf(maps.Keys(wanted))
	_ = fs.WalkDir(v.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			v.found(CheckReadable, name, "%v", cause(err))
		case name == "." || e.IsDir() && above[name]:
		case e.IsDir():
			v.found(CheckNoOther, name, "a directory that is not of the run")
			return fs.SkipDir
		case !e.Type().IsRegular():
			v.found(CheckNoOther, name, "neither a file nor a directory")
		case wanted[name] != nil:
			v.files = append(v.files, wanted[name])
			delete(wanted, name)
		case name != manifestName:
			v.found(CheckNoOther, name, "not listed in "+manifestName)
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		v.found(CheckExists, name, "missing")
	}
}

// checkFile compares a file with what the manifest lists, and reads tables and
// profiles.
func (v *verifier) checkFile(f *fileCheck) {
	file, err := v.root.Open(f.path)
	if err != nil {
		f.found(CheckReadable, f.path, "%v", cause(err))
		return
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	f.bytes, err = io.Copy(h, file)
	if err != nil {
		f.found(CheckReadable, f.path, "%v", cause(err))
		return
	}
	if f.listed != nil {
		if f.bytes != f.listed.Bytes {
			f.found(CheckBytes, f.path, "%d bytes, listed with %d", f.bytes, f.listed.Bytes)
		}
		if sum := hex.EncodeToString(h.Sum(nil)); sum != f.listed.SHA256 {
			f.found(CheckSHA256, f.path, "%s, listed with %s", sum, f.listed.SHA256)
		}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		f.found(CheckReadable, f.path, "%v", cause(err))
		return
	}
	switch {
	case f.kind.table != nil:
		v.checkTable(f, file)
	case f.kind.profile:
		v.checkProfile(f, file)
	}
}

func (v *verifier) checkTable(f *fileCheck, file io.Reader) {
	rows := &v.traces[f.kind.trace].rows
	if err := f.kind.table.read(file, rows); err != nil {
		f.found(CheckTable, f.path, "%v", err)
		return
	}
	f.whole = true
	f.countRows(int64(f.kind.table.length(rows)))
}

func (f *fileCheck) countRows(n int64) {
	f.rows = n
	if f.listed != nil && f.listed.Rows != nil && n != *f.listed.Rows {
		f.found(CheckRows, f.path, "%d rows, listed with %d", n, *f.listed.Rows)
	}
}

func (v *verifier) checkProfile(f *fileCheck, file io.Reader) {
	var p profile.Profile
	b, err := io.ReadAll(file)
	if err == nil {
		err = decodeStrict(b, &p)
	}
	if err != nil {
		f.found(CheckProfile, f.path, "%v", err)
		return
	}
	if form, err := encodeProfile(&p); err != nil || !bytes.Equal(b, form) {
		f.found(CheckProfile, f.path, "not written as kvfanin writes it")
	}
	if err := p.Check(); err != nil {
		f.found(CheckProfile, f.path, "%v", err)
	}
	t := v.traces[f.kind.trace]
	t.profile = &p
	for _, n := range []struct {
		name      string
		got, want int64
	}{
		{"requests", p.Requests, t.entry.Requests},
		{"lookups", p.Lookups, t.entry.Lookups},
		{"dropped_duplicates", p.DroppedDuplicates, t.entry.DroppedDuplicates},
		{"block_tokens", p.BlockTokens, int64(v.manifest.Parameters.BlockTokens)},
	} {
		if n.got != n.want {
			f.found(CheckProfile, f.path, "%s %d, in %s %d", n.name, n.got, manifestName, n.want)
		}
	}
}

// checkTrace checks the identities over the tables of a trace, if all of them
// could be read.
func (v *verifier) checkTrace(t *traceCheck) {
	read := 0
	for _, f := range v.files {
		if f.kind.table != nil && f.whole && v.traces[f.kind.trace] == t {
			read++
		}
	}
	if read < len(v.manifest.tables()) {
		return // what is wrong with the others was found
	}
	facts := result.Facts{
		Trace:    t.name,
		Grid:     v.manifest.Parameters.Grid,
		Requests: t.entry.Requests,
		Lookups:  t.entry.Lookups,
		// Without a profile: no two windows are known to be one experiment.
		SmallestGapMS: 1,
		Sensitivity:   v.manifest.Parameters.Sensitivity,
	}
	if t.profile != nil {
		facts.SmallestGapMS = 0
		if gap := t.profile.SmallestPositiveGapMS; gap != nil {
			facts.SmallestGapMS = *gap
		}
	}
	complete := true
	for _, x := range t.rows.Violations(&facts) {
		t.found(x.Identity, path.Join(t.name, x.File), "%s: %s", x.Row, x.Detail)
		complete = complete && x.Identity != result.Identities()[0]
	}
	if complete {
		t.parts = t.rows.ByConfig()
	}
}

// checkCohorts reads a cohort file to its end and holds it against the tables.
func (v *verifier) checkCohorts(f *fileCheck) {
	if f.kind.configs == nil {
		return
	}
	file, err := v.root.Open(f.path)
	if err != nil {
		f.found(CheckReadable, f.path, "%v", cause(err))
		return
	}
	defer func() { _ = file.Close() }()
	t := v.traces[f.kind.trace]
	check := result.NewCohortCheck(f.kind.configs[0], t.entry.Requests)
	format := result.CohortFormat(v.manifest.Parameters.Cohorts)
	var rows int64
	for cohorts, err := range result.ReadCohorts(file, f.bytes, format, f.kind.configs[0]) {
		if err != nil {
			f.found(CheckStream, f.path, "after %d rows: %v", rows, err)
			return
		}
		rows += int64(len(cohorts))
		check.Add(cohorts)
	}
	f.countRows(rows)
	if t.parts == nil {
		return
	}
	for _, c := range f.kind.configs {
		for _, x := range check.Violations(f.path, t.parts[c]) {
			f.found(x.Identity, x.File, "%s: %s", x.Row, x.Detail)
		}
	}
}
