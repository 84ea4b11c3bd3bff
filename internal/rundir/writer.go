package rundir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"kvfanin/internal/profile"
	"kvfanin/internal/result"
)

// Options say what to do about what is already there.
type Options struct {
	// Resume goes on with the interrupted run in DIR.partial, if there is one.
	Resume bool
	// Force replaces a finished run, and without Resume an interrupted one.
	Force bool

	step func() // for tests: called after each change to the disk
}

// Writer is a run in the making. Its methods are safe for concurrent use,
// Publish and Close at the end excepted.
//
// An error of any of them but a refused argument is final: the disk is not to
// be trusted, nothing more is written and nothing is published. What was
// committed before stays in DIR.partial for a Writer with Options.Resume.
type Writer struct {
	place   *place
	dir     *partial
	header  Header
	configs []result.Config
	force   bool
	step    func()

	finished bool // DIR.partial was found complete: it only has to be published

	mu       sync.Mutex
	journal  *journal
	outcomes [][]*result.Outcome // [trace][config], nil if not committed
	cohorts  [][]*File           // [trace][config], nil if not finished
	profiles []*profile.Profile  // [trace]
	beside   []*result.Beside    // [trace], where the run has Sensitivity
	err      error               // the first that was final

	manifest  *Manifest  // once it is written
	published []TraceRun // [trace], in the manifest's run
}

// Create starts the run DIR, or goes on with it, and takes DIR.partial for
// this process until Publish or Close. The header must not be changed
// afterwards.
//
// It refuses, naming the path and what to do, a DIR that exists (with Force
// unless it is a run of kvfanin or an empty directory), an interrupted run
// without Resume or Force, one whose header differs, one that another process
// is at work on, and a place that cannot be written.
func Create(dir string, h Header, o Options) (*Writer, error) {
	h.Schema = Schema
	if err := h.check(); err != nil {
		return nil, err
	}
	if o.step == nil {
		o.step = func() {}
	}
	p, err := locate(dir)
	if err != nil {
		return nil, err
	}
	if _, err := p.checkDir(o.Force); err != nil {
		return nil, err
	}
	d, err := p.enter(o.step)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		place: p, dir: d, header: h, configs: h.Parameters.Configs(), force: o.Force, step: o.step,
		profiles: make([]*profile.Profile, len(h.Traces)), beside: make([]*result.Beside, len(h.Traces)),
	}
	for range h.Traces {
		w.outcomes = append(w.outcomes, make([]*result.Outcome, len(w.configs)))
		w.cohorts = append(w.cohorts, make([]*File, len(w.configs)))
	}
	if err := w.begin(o); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// begin brings DIR.partial into a state to go on from: a journal, and the
// files it tells of.
func (w *Writer) begin(o Options) error {
	state, err := w.dir.state()
	switch {
	case err != nil:
		return w.place.refuse(partialSuffix, cannotWrite(err))
	case state == foreign:
		return w.place.refuse(partialSuffix, "is in the way and was not made by kvfanin: move it, or choose another directory")
	case state != empty && !o.Resume && !o.Force:
		return w.place.refuse(partialSuffix, "an interrupted run: --resume goes on with it, --force starts afresh")
	case state == interrupted && o.Resume:
		err = w.resumeInterrupted()
	case state == complete && o.Resume:
		err = w.resumeComplete()
	}
	if other := (otherRun{}); errors.As(err, &other) {
		return w.place.refuse(partialSuffix, other.Error())
	}
	if err != nil || w.finished || w.journal != nil {
		return err
	}
	if w.journal, err = startJournal(w.dir, &w.header); err != nil {
		return err
	}
	return w.dir.sweep(map[string]bool{journalName: true})
}

// state says what a DIR.partial holds.
type state int

const (
	empty       state = iota
	interrupted       // it has a journal
	complete          // it has a manifest and no journal: only its name is wrong
	foreign
)

func (d *partial) state() (state, error) {
	if info, err := d.root.Lstat(journalName); err == nil && info.Mode().IsRegular() {
		return interrupted, nil
	}
	isRun, isEmpty, err := inspect(d.place.partial)
	switch {
	case isEmpty:
		return empty, err
	case isRun:
		return complete, err
	}
	return foreign, err
}

// resumeInterrupted takes up what the journal tells of, as far as it is whole.
func (w *Writer) resumeInterrupted() error {
	journal, records, err := readJournal(w.dir, &w.header)
	if err != nil || journal == nil {
		return err
	}
	w.journal = journal
	keep := map[string]bool{journalName: true}
	for i := range records {
		if f := records[i].Cohorts; f != nil {
			keep[f.Path] = true
		}
	}
	if err := w.dir.sweep(keep); err != nil {
		return err
	}
	// What was committed twice, when its cohort file was lost in between, gave
	// the same both times.
	for i := range records {
		r := &records[i]
		if r.Cohorts != nil && !w.dir.has(r.Cohorts) {
			if err := w.dir.remove(r.Cohorts.Path); err != nil {
				return err
			}
			continue
		}
		for _, g := range r.Given {
			w.cohorts[r.Trace][g.Config] = r.Cohorts
			w.outcomes[r.Trace][g.Config] = g.Outcome
		}
	}
	return nil
}

// resumeComplete takes up a run that was killed in its last moment, after the
// journal was removed and before DIR.partial was renamed.
func (w *Writer) resumeComplete() error {
	b, err := readRegular(w.dir.root, manifestName)
	if err != nil {
		return w.dir.fail(manifestName, err)
	}
	var was Header
	if err := json.Unmarshal(b, &was); err != nil {
		return otherRun{"written by another version"}
	}
	if err := sameRun(was.encode(), &w.header); err != nil {
		return err
	}
	m, _, wrong := decodeManifest(b)
	if len(wrong) > 0 {
		return nil // not complete after all: afresh
	}
	keep := map[string]bool{manifestName: true}
	for i := range m.Files {
		keep[m.Files[i].Path] = true
	}
	if err := w.dir.sweep(keep); err != nil {
		return err
	}
	w.finished = true
	for i := range m.Files {
		w.finished = w.finished && w.dir.has(&m.Files[i])
	}
	return nil
}

func (w *Writer) cohortPath(trace, config int) string {
	return cohortPath(w.header.Traces[trace].Name, w.configs[config], w.header.Parameters.Cohorts)
}

// Done says whether a configuration of a trace is committed, by this Writer or
// by the run it resumes. The indexes are those of Header.Traces and of
// Grid.Configs, here as everywhere.
func (w *Writer) Done(trace, config int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.finished || w.outcomes[trace][config] != nil
}

// Commit makes what some configurations gave part of the run, all of it or
// nothing. Where cohorts are kept, it takes exactly those of one cohort file,
// which must be finished. The outcomes must not be changed afterwards.
func (w *Writer) Commit(trace int, given ...Given) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	r := record{Trace: trace, Given: given, Cohorts: w.cohorts[trace][given[0].Config]}
	for _, g := range given {
		if w.finished || w.outcomes[trace][g.Config] != nil {
			return w.misuse(trace, g.Config, "is committed already")
		}
		if w.cohorts[trace][g.Config] != r.Cohorts || !r.fits(&w.header, w.configs) {
			return w.misuse(trace, g.Config, "the outcome lacks instances or cohorts")
		}
	}
	if err := w.journal.append(&r); err != nil {
		w.err = err
		return err
	}
	for _, g := range given {
		w.outcomes[trace][g.Config] = g.Outcome
	}
	return nil
}

// Profile sets the profile of a trace. It is not kept for a run that resumes
// this one.
func (w *Writer) Profile(trace int, p *profile.Profile) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.profiles[trace] = p
	return w.err
}

// Complete says that the run it resumes lacks nothing but its name.
func (w *Writer) Complete() bool { return w.finished }

// Beside sets what was run of a trace beside its grid. It is not kept for a run
// that resumes this one.
func (w *Writer) Beside(trace int, b *result.Beside) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beside[trace] = b
	return w.err
}

func encodeProfile(p *profile.Profile) ([]byte, error) {
	b, err := json.MarshalIndent(p, "", "  ")
	return append(b, '\n'), err
}

// Publish writes the files and the manifest and gives the run its name. Every
// configuration must be committed and every trace have its profile. After it,
// and after an error of it, the Writer is closed.
func (w *Writer) Publish() error {
	defer w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if !w.finished {
		if err := w.writeFiles(); err != nil {
			return err
		}
	}
	return w.place.publish(w.force, w.step)
}

// writeFiles makes DIR.partial what DIR will be.
func (w *Writer) writeFiles() error {
	files, err := w.encodeFiles()
	if err != nil {
		return err
	}
	m := &Manifest{Header: w.header}
	for _, f := range files {
		o, err := w.dir.write(f.name, func(out io.Writer) error {
			_, err := out.Write(f.content)
			return err
		})
		if err != nil {
			return err
		}
		m.Files = append(m.Files, File{Path: o.name, SHA256: o.sum(), Bytes: o.size, Rows: f.rows})
	}
	for t := range w.header.Traces {
		for c, f := range w.cohorts[t] {
			if f != nil && f.Path == w.cohortPath(t, c) { // else it is that of another one
				m.Files = append(m.Files, *f)
			}
		}
	}
	slices.SortFunc(m.Files, byPath)
	_, err = w.dir.write(manifestName, func(out io.Writer) error {
		_, err := out.Write(m.encode())
		return err
	})
	if err != nil {
		return err
	}
	keep := map[string]bool{journalName: true, manifestName: true}
	for i := range m.Files {
		keep[m.Files[i].Path] = true
	}
	if err := w.dir.sweep(keep); err != nil {
		return err
	}
	if err := w.dir.syncDirs(); err != nil {
		return err
	}
	// From here on the run is complete. What is left to do is found out from
	// the manifest.
	w.journal.close()
	w.journal = nil
	w.manifest = m
	return w.dir.remove(journalName)
}

// encoded is a file that is to be written.
type encoded struct {
	name    string
	rows    *int64
	content []byte
}

// encodeFiles returns the tables and profiles of all traces, and keeps what
// they are made of for Run. They are encoded side by side; to write them one
// after the other costs little.
func (w *Writer) encodeFiles() ([]encoded, error) {
	w.published = make([]TraceRun, len(w.header.Traces))
	err := sideBySide(len(w.published), func(t int) error {
		rows, err := w.rows(t)
		w.published[t] = TraceRun{Name: w.header.Traces[t].Name, Rows: rows, Profile: w.profiles[t]}
		return err
	})
	if err != nil {
		return nil, err
	}
	tables := w.header.tables()
	each := len(tables) + 1 // and the profile
	files := make([]encoded, each*len(w.published))
	return files, sideBySide(len(files), func(i int) error {
		run, k := &w.published[i/each], i%each
		if k == len(tables) {
			b, err := encodeProfile(run.Profile)
			files[i] = encoded{name: path.Join(run.Name, profileName), content: b}
			return err
		}
		var text bytes.Buffer
		n := int64(tables[k].length(&run.Rows))
		err := tables[k].write(&text, &run.Rows)
		files[i] = encoded{path.Join(run.Name, tables[k].name), &n, text.Bytes()}
		return err
	})
}

// sideBySide does n things, as many at a time as there are processors, and
// returns the first error in their order.
func sideBySide(n int, do func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = group.Wait() // they are in errs
	return cmp.Or(errs...)
}

// Run returns the run once it is published, without reading again what this
// Writer has written.
func (w *Writer) Run() (*Run, error) {
	if w.manifest == nil {
		return Open(w.place.dir)
	}
	return &Run{Manifest: w.manifest, Traces: w.published}, nil
}

// rows returns the rows of a trace.
func (w *Writer) rows(trace int) (rows result.Rows, err error) {
	name := w.header.Traces[trace].Name
	if w.profiles[trace] == nil {
		return rows, fmt.Errorf("%s: no profile", name)
	}
	if w.header.Parameters.Sensitivity != nil {
		if w.beside[trace] == nil {
			return rows, fmt.Errorf("%s: nothing was run beside the grid", name)
		}
		rows.Beside = *w.beside[trace]
	}
	for c, o := range w.outcomes[trace] {
		if o == nil {
			return rows, w.misuse(trace, c, "is not committed")
		}
		rows.Phases = append(rows.Phases, o.PhaseRows(name, w.configs[c])...)
		rows.Instances = append(rows.Instances, o.InstanceRows(name, w.configs[c])...)
		rows.Relations = append(rows.Relations, o.RelationRows(name, w.configs[c])...)
		rows.FanIns = append(rows.FanIns, o.FanInRows(name, w.configs[c])...)
		rows.Concentrations = append(rows.Concentrations, o.ConcentrationRow(name, w.configs[c]))
	}
	return rows, nil
}

// misuse is an error of the caller about a configuration.
func (w *Writer) misuse(trace, config int, what string) error {
	return fmt.Errorf("%s: %v: %s", w.header.Traces[trace].Name, w.configs[config], what)
}

// fail makes err final, unless another was before, and returns it.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, err)
	return err
}

// failed returns the error that was final, if there was one.
func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close gives the run up, if it was not published: it lets go of DIR.partial
// and leaves it for a Writer with Options.Resume.
func (w *Writer) Close() {
	if w.journal != nil {
		w.journal.close()
	}
	w.dir.close()
}
