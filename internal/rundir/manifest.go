package rundir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"kvfanin/internal/result"
)

const manifestName = "manifest.json"

// Manifest is what manifest.json says: what was asked, and every other file of
// the run. It is written as indented JSON with a newline at its end, in one
// form only: what it decodes to encodes to the same bytes.
type Manifest struct {
	Header
	Files []File `json:"files"` // sorted by path

	// SHA256 protects the manifest itself. It is the lower-case hex SHA-256 of
	// all bytes before the line it stands in, which is the last but one:
	//
	//	head -n -2 manifest.json | sha256sum
	SHA256 string `json:"manifest_sha256"`
}

// File is a file of a run.
type File struct {
	Path   string `json:"path"` // slash-separated, from the run directory
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rows   *int64 `json:"rows,omitempty"` // without a header; absent for a file that has none

	// What the cohorts in a cohort file are of.
	Trace          string          `json:"trace,omitempty"`
	Configurations []Configuration `json:"configurations,omitempty"`
}

// Configuration is a result.Config as a manifest writes it.
type Configuration struct {
	Lookup         string `json:"lookup"`
	Routing        string `json:"routing"`
	Instances      int    `json:"instances"`
	CapacityBlocks int    `json:"capacity_blocks"`
	WindowMS       int64  `json:"window_ms"`
}

// profileName is the file with the profile of a trace, beside its tables.
const profileName = "profile.json"

// cohortPath returns the path of a cohort file.
func cohortPath(trace string, c result.Config, format string) string {
	return path.Join(trace, "cohorts", fmt.Sprintf("%s-%s-n%d-c%d-w%dms.%s",
		c.Lookup, c.Routing, c.Instances, c.CapacityBlocks, c.WindowMS, format))
}

// kind is what a file of a run is, as its path decides: one of a table, a
// profile and a cohort file.
type kind struct {
	trace   int // index into Header.Traces
	table   *table
	profile bool
	configs []result.Config // of a cohort file
}

// layout returns the files a run of h has, beside its manifest and the cohort
// files.
func (h *Header) layout() map[string]kind {
	files := make(map[string]kind)
	for i, t := range h.Traces {
		files[path.Join(t.Name, profileName)] = kind{trace: i, profile: true}
		for _, table := range h.tables() {
			files[path.Join(t.Name, table.name)] = kind{trace: i, table: &table}
		}
	}
	return files
}

// addCohorts adds the cohort files that m lists to the layout. Which there are
// depends on the trace: every configuration has one and may share it with
// others, the first of which names it.
func (m *Manifest) addCohorts(layout map[string]kind) (wrong findings) {
	if m.Parameters.Cohorts == CohortsOff {
		return nil
	}
	configs := m.Parameters.Configs()
	for i, t := range m.Traces {
		in := make(map[result.Config]string)
		for _, c := range configs {
			in[c] = ""
		}
		for k := range m.Files {
			f := &m.Files[k]
			if f.Trace != t.Name || len(f.Configurations) == 0 {
				continue
			}
			of := kind{trace: i}
			for _, c := range f.Configurations {
				config := result.Config(c)
				other, known := in[config]
				if !known || other != "" {
					wrong.found(CheckListed, f.Path, "listed with %v, which is not of the grid or has its cohorts in %q", c, other)
				}
				in[config] = f.Path
				of.configs = append(of.configs, config)
			}
			if f.Path == cohortPath(t.Name, of.configs[0], m.Parameters.Cohorts) {
				layout[f.Path] = of
			}
		}
		for _, c := range configs {
			if in[c] == "" {
				wrong.found(CheckListed, cohortPath(t.Name, c, m.Parameters.Cohorts), "neither this nor another file is listed for %v", c)
			}
		}
	}
	return wrong
}

// checkListed finds where the files listed are not those of the layout.
func (m *Manifest) checkListed(layout map[string]kind) (wrong findings) {
	listed := make(map[string]bool)
	for i := range m.Files {
		f := &m.Files[i]
		kind, known := layout[f.Path]
		if !known {
			wrong.found(CheckListed, f.Path, "listed, but not a file of such a run")
			continue
		}
		if listed[f.Path] {
			wrong.found(CheckListed, f.Path, "listed twice")
		}
		listed[f.Path] = true
		if kind.configs == nil && (f.Trace != "" || f.Configurations != nil) {
			wrong.found(CheckListed, f.Path, "listed with trace %q and configurations %v, want none", f.Trace, f.Configurations)
		}
		if (f.Rows == nil) != kind.profile {
			wrong.found(CheckListed, f.Path, "listed with rows where it has none, or without")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(layout)) {
		if !listed[name] {
			wrong.found(CheckListed, name, "not listed in "+manifestName)
		}
	}
	if !slices.IsSortedFunc(m.Files, byPath) {
		wrong.found(CheckListed, manifestName, "files are not in the order of their paths")
	}
	return wrong
}

func byPath(a, b File) int { return cmp.Compare(a.Path, b.Path) }

// encode returns the bytes of the manifest, and sets its checksum.
func (m *Manifest) encode() []byte {
	m.SHA256 = ""
	m.SHA256 = hexSum(protected(m.marshal()))
	return m.marshal()
}

func (m *Manifest) marshal() []byte {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(err) // strings and integers only
	}
	return append(b, '\n')
}

// protected returns what of a manifest its checksum is over: all lines but
// the last two.
func protected(manifest []byte) []byte {
	rest := bytes.TrimSuffix(manifest, []byte("\n"))
	for range 2 {
		rest = rest[:max(0, bytes.LastIndexByte(rest, '\n'))]
	}
	return manifest[:min(len(rest)+1, len(manifest))]
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// decodeStrict reads one JSON value and nothing else, without unknown fields.
func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// decodeManifest reads a manifest and finds what is wrong with it. Without a
// manifest there is nothing to go on with; else all is there but what is found.
func decodeManifest(b []byte) (m *Manifest, layout map[string]kind, wrong findings) {
	var head head
	if json.Unmarshal(b, &head) == nil && head.Schema != Schema {
		wrong.found(CheckSchema, manifestName, "%q, this version knows %q", head.Schema, Schema)
		return nil, nil, wrong
	}
	m = &Manifest{}
	err := decodeStrict(b, m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		wrong.found(CheckManifest, manifestName, "%v", err)
		return nil, nil, wrong
	}
	if sum := hexSum(protected(b)); m.SHA256 != sum {
		wrong.found(CheckManifestSum, manifestName, "manifest_sha256 is %s, what stands before it has %s", m.SHA256, sum)
	} else if !bytes.Equal(b, m.marshal()) {
		wrong.found(CheckManifestForm, manifestName, "not written as kvfanin writes it")
	}
	layout = m.layout()
	wrong = append(wrong, m.addCohorts(layout)...)
	return m, layout, append(wrong, m.checkListed(layout)...)
}
