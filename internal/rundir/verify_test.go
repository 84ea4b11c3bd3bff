package rundir

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kvfanin/internal/result"
)

func TestPublishedRunVerifiesAndOpens(t *testing.T) {
	forCohorts(t, func(t *testing.T, cohorts string) {
		s := newSample(smallGrid, cohorts, "alpha", "beta-2")
		dir := s.published(t)

		var found []Finding
		summary, err := Verify(context.Background(), dir, func(f Finding) { found = append(found, f) })
		if err != nil || len(found) > 0 {
			t.Fatalf("a run as published: error %v, findings %q", err, found)
		}
		want := Summary{Traces: 2}
		for name, b := range tree(t, dir) {
			if b == nil || name == manifestName {
				continue
			}
			want.Files++
			want.Bytes += int64(len(b))
		}
		run, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range run.Manifest.Files {
			if f.Rows != nil {
				want.Rows += *f.Rows
			}
		}
		if summary != want {
			t.Errorf("summary %+v, want %+v", summary, want)
		}

		if diff := cmp.Diff(s.header, run.Manifest.Header); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
		for i, tr := range run.Traces {
			var rows result.Rows
			for c, o := range s.outcomes[i] {
				rows.Phases = append(rows.Phases, o.PhaseRows(tr.Name, s.configs[c])...)
				rows.Instances = append(rows.Instances, o.InstanceRows(tr.Name, s.configs[c])...)
				rows.Relations = append(rows.Relations, o.RelationRows(tr.Name, s.configs[c])...)
				rows.FanIns = append(rows.FanIns, o.FanInRows(tr.Name, s.configs[c])...)
				rows.Concentrations = append(rows.Concentrations, o.ConcentrationRow(tr.Name, s.configs[c]))
			}
			if diff := cmp.Diff(rows, tr.Rows); diff != "" {
				t.Errorf("%s: rows (-want +got):\n%s", tr.Name, diff)
			}
			if diff := cmp.Diff(s.profiles[i], tr.Profile); diff != "" {
				t.Errorf("%s: profile (-want +got):\n%s", tr.Name, diff)
			}
		}
	})
}

// TestEveryByteOfEveryFile flips each byte of a run in turn.
func TestEveryByteOfEveryFile(t *testing.T) {
	for _, cohorts := range cohortSettings[1:] {
		t.Run(cohorts, func(t *testing.T) {
			t.Parallel()
			s := newSample(oneConfig, cohorts, "alpha")
			dir := s.published(t)
			for name, b := range tree(t, dir) {
				for at := range b {
					flip(t, dir, name, b, at, 1<<(at%8))
				}
			}
		})
	}
}

// TestAnyBitOfALargerRun flips bits of a run with more rows than fit a test of
// each.
func TestAnyBitOfALargerRun(t *testing.T) {
	s := newSample(smallGrid, string(result.CohortParquet), "alpha", "beta")
	dir := s.published(t)
	files := tree(t, dir)
	var names []string
	for name, b := range files {
		if b != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(names).Draw(r, "file")
		at := rapid.IntRange(0, len(files[name])-1).Draw(r, "byte")
		bits := rapid.ByteRange(1, 255).Draw(r, "bits")
		flip(t, dir, name, files[name], at, bits)
	})
}

// flip wants a change of one byte reported under the file, and undoes it.
func flip(t *testing.T, dir, name string, b []byte, at int, bits byte) {
	t.Helper()
	changed := bytes.Clone(b)
	changed[at] ^= bits
	overwrite(t, filepath.Join(dir, name), changed)
	found := findingsIn(t, dir)
	overwrite(t, filepath.Join(dir, name), b)
	for _, f := range found {
		if f.File == name {
			return
		}
	}
	t.Fatalf("%s: byte %d changed from %q to %q: findings %q", name, at, b[at], b[at]^bits, found)
}

// TestEveryByteOfATableUnderFixedSums changes a table and every checksum over
// it: what is left to find the change are the strict form and the identities.
func TestEveryByteOfATableUnderFixedSums(t *testing.T) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	dir := s.published(t)
	for _, table := range gridTables() {
		name := path.Join("alpha", table.name)
		undo := restore(t, dir, name, manifestName)
		for at := range tree(t, dir)[name] {
			edit(t, dir, name, func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
			fixSums(t, dir, name)
			wantNamed(t, findingsIn(t, dir), name, fmt.Sprintf("byte %d", at), append(result.Identities(), CheckTable, CheckRows)...)
			undo()
		}
	}
}

// gridTables are the CSV files that every run has. What is in the others is
// held by the tests of the package result.
func gridTables() []table {
	return slices.DeleteFunc(slices.Clone(tables), func(t table) bool { return t.beside || path.Ext(t.name) != ".csv" })
}

// wantNamed fails unless one of the checks was found not to hold, under the
// file, and no checksum was.
func wantNamed(t *testing.T, found []Finding, file, what string, checks ...string) {
	t.Helper()
	named := false
	for _, f := range found {
		if f.Check == CheckSHA256 || f.Check == CheckManifestSum || f.Check == CheckBytes {
			t.Fatalf("%s of %s: the test did not fix the checksums: %q", what, file, found)
		}
		named = named || f.File == file && slices.Contains(checks, f.Check)
	}
	if !named {
		t.Fatalf("%s of %s: none of %q among %q", what, file, checks, found)
	}
}

// TestEveryValueUnderFixedSums edits each value of each table to another that
// could stand there, and fixes the checksums: an identity must name it.
func TestEveryValueUnderFixedSums(t *testing.T) {
	s := newSample(smallGrid, CohortsOff, "alpha")
	dir := s.published(t)
	for _, table := range gridTables() {
		name := path.Join("alpha", table.name)
		undo := restore(t, dir, name, manifestName)
		lines := strings.SplitAfter(string(tree(t, dir)[name]), "\n")
		columns := strings.Split(strings.TrimSpace(lines[0]), ",")
		for l := 1; l < len(lines)-1; l++ {
			for c, column := range columns {
				edit(t, dir, name, func([]byte) []byte {
					edited := slices.Clone(lines)
					values := strings.Split(strings.TrimSpace(lines[l]), ",")
					values[c] = another(values[c])
					edited[l] = strings.Join(values, ",") + "\n"
					return []byte(strings.Join(edited, ""))
				})
				fixSums(t, dir, name)
				wantNamed(t, findingsIn(t, dir), name, fmt.Sprintf("line %d, column %s", l+1, column), result.Identities()...)
				undo()
			}
		}
	}
}

// another returns another value that can stand in the same column.
func another(value string) string {
	if value == "warmup" {
		return "steady"
	}
	if value == "steady" {
		return "warmup"
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return strconv.FormatInt(n+1, 10)
	}
	if x, err := strconv.ParseFloat(value, 64); err == nil {
		return strconv.FormatFloat(x/2, 'g', -1, 64)
	}
	return value + "x"
}

func TestRowsDroppedAndAdded(t *testing.T) {
	s := newSample(smallGrid, CohortsOff, "alpha")
	dir := s.published(t)
	for _, table := range gridTables() {
		name := path.Join("alpha", table.name)
		undo := restore(t, dir, name, manifestName)
		lines := strings.SplitAfter(string(tree(t, dir)[name]), "\n")
		lines = lines[:len(lines)-1]
		changes := map[string][]string{}
		for l := range lines {
			changes[fmt.Sprintf("line %d dropped", l+1)] = slices.Delete(slices.Clone(lines), l, l+1)
			changes[fmt.Sprintf("line %d doubled", l+1)] = slices.Insert(slices.Clone(lines), l, lines[l])
			if l > 0 {
				swapped := slices.Clone(lines)
				swapped[l-1], swapped[l] = swapped[l], swapped[l-1]
				changes[fmt.Sprintf("lines %d and %d swapped", l, l+1)] = swapped
			}
		}
		for what, edited := range changes {
			edit(t, dir, name, func([]byte) []byte { return []byte(strings.Join(edited, "")) })
			found := findingsIn(t, dir)
			wantFinding(t, found, CheckSHA256, name)
			if len(edited) != len(lines) {
				wantFinding(t, found, CheckBytes, name)
			}
			fixSums(t, dir, name)
			if len(edited) != len(lines) && edited[0] == lines[0] && edited[1] != lines[0] {
				wantFinding(t, findingsIn(t, dir), CheckRows, name)
				editManifest(t, dir, func(m *Manifest) { *m.file(t, name).Rows = int64(len(edited) - 1) })
			}
			wantNamed(t, findingsIn(t, dir), name, what, append(result.Identities(), CheckTable)...)
			undo()
		}
	}
}

func TestFilesDroppedAndAdded(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	original := s.published(t)
	remove := func(dir, name string) error { return os.RemoveAll(filepath.Join(dir, name)) }
	add := func(dir, name string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o666)
	}
	type change struct {
		what  string
		do    func(dir string) error
		check string
		file  string
	}
	changes := []change{
		{"manifest dropped", func(dir string) error { return remove(dir, manifestName) }, CheckManifest, manifestName},
		{"directory dropped", func(dir string) error { return remove(dir, "alpha/cohorts") }, CheckExists, s.anyCohortPath(0)},
		{"empty directory", func(dir string) error { return os.Mkdir(filepath.Join(dir, "alpha/x"), 0o777) }, CheckNoOther, "alpha/x"},
		{"empty directory beside the manifest", func(dir string) error { return os.Mkdir(filepath.Join(dir, "x"), 0o777) }, CheckNoOther, "x"},
		{"journal", func(dir string) error { return add(dir, journalName) }, CheckNoOther, journalName},
		{"link", func(dir string) error { return os.Symlink("phases.csv", filepath.Join(dir, "alpha/x")) }, CheckNoOther, "alpha/x"},
		{"link to a directory", func(dir string) error { return os.Symlink("alpha", filepath.Join(dir, "x")) }, CheckNoOther, "x"},
		{"link out of the run", func(dir string) error { return os.Symlink("/", filepath.Join(dir, "x")) }, CheckNoOther, "x"},
		{"manifest behind a link", func(dir string) error {
			if err := os.Rename(filepath.Join(dir, manifestName), filepath.Join(dir, "m")); err != nil {
				return err
			}
			return os.Symlink("m", filepath.Join(dir, manifestName))
		}, CheckManifest, manifestName},
	}
	for name, b := range tree(t, original) {
		if b == nil || name == manifestName {
			continue
		}
		changes = append(changes,
			change{name + " dropped", func(dir string) error { return remove(dir, name) }, CheckExists, name},
			change{name + " beside it", func(dir string) error { return add(dir, name+"2") }, CheckNoOther, name + "2"},
			change{name + " a directory", func(dir string) error {
				if err := remove(dir, name); err != nil {
					return err
				}
				return os.Mkdir(filepath.Join(dir, name), 0o777)
			}, CheckExists, name},
			change{name + " behind a link", func(dir string) error {
				if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "was")); err != nil {
					return err
				}
				return os.Symlink(filepath.Join(dir, "was"), filepath.Join(dir, name))
			}, CheckExists, name},
			change{name + " dropped and not listed", func(dir string) error {
				editManifest(t, dir, func(m *Manifest) {
					m.Files = slices.DeleteFunc(m.Files, func(f File) bool { return f.Path == name })
				})
				return remove(dir, name)
			}, CheckListed, name},
			change{name + " beside it and listed", func(dir string) error {
				editManifest(t, dir, func(m *Manifest) {
					b := []byte("x\n")
					m.Files = append(m.Files, File{Path: name + "2", Bytes: int64(len(b)), SHA256: hexSum(b)})
					slices.SortFunc(m.Files, byPath)
				})
				return add(dir, name+"2")
			}, CheckListed, name + "2"},
			change{name + " listed twice", func(dir string) error {
				editManifest(t, dir, func(m *Manifest) {
					m.Files = append(m.Files, *m.file(t, name))
					slices.SortFunc(m.Files, byPath)
				})
				return nil
			}, CheckListed, name},
		)
	}
	for _, c := range changes {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(tempDir(t), "run")
			if err := copyTree(original, dir); err != nil {
				t.Fatal(err)
			}
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			wantFinding(t, findingsIn(t, dir), c.check, c.file)
			if c.check == CheckManifest || c.check == CheckListed || c.check == CheckExists && strings.HasSuffix(c.file, ".csv") {
				if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), c.file) {
					t.Errorf("Open: error %v, want one that names %s", err, c.file)
				}
			}
		})
	}
}

// TestStreamCutShort cuts a cohort file at every length, adds to it, and fixes
// the checksums.
func TestStreamCutShort(t *testing.T) {
	for _, cohorts := range cohortSettings[1:] {
		t.Run(cohorts, func(t *testing.T) {
			t.Parallel()
			s := newSample(oneConfig, cohorts, "alpha")
			dir := s.published(t)
			name := s.anyCohortPath(0)
			undo := restore(t, dir, name, manifestName)
			whole := tree(t, dir)[name]
			for n := range whole {
				edit(t, dir, name, func(b []byte) []byte { return b[:n] })
				if n%64 == 0 {
					found := findingsIn(t, dir)
					wantFinding(t, found, CheckBytes, name)
					wantFinding(t, found, CheckSHA256, name)
					wantFinding(t, found, CheckStream, name)
				}
				fixSums(t, dir, name)
				wantNamed(t, findingsIn(t, dir), name, fmt.Sprintf("%d of %d bytes", n, len(whole)), CheckStream)
				undo()
			}
			for _, more := range []string{"\x00", "\n", "\x1f\x8b"} {
				edit(t, dir, name, func(b []byte) []byte { return append(b, more...) })
				fixSums(t, dir, name)
				wantNamed(t, findingsIn(t, dir), name, "appended", CheckStream)
				undo()
			}
		})
	}
}

// TestCohortsUnderFixedSums replaces a cohort file by a well-formed one with
// other rows, and fixes the checksums.
func TestCohortsUnderFixedSums(t *testing.T) {
	for _, cohorts := range cohortSettings[1:] {
		t.Run(cohorts, func(t *testing.T) {
			t.Parallel()
			s := newSample(smallGrid, cohorts, "alpha")
			dir := s.published(t)
			const config = 5 // two instances, with joins
			rows := s.cohorts[0][config]
			name := cohortPath("alpha", s.configs[config], cohorts)
			undo := restore(t, dir, name, manifestName)
			replace := func(what string, c result.Config, rows []result.Cohort, checks ...string) {
				t.Helper()
				var b bytes.Buffer
				w, err := result.NewCohortWriter(&b, result.CohortFormat(cohorts), c)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Write(rows); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				edit(t, dir, name, func([]byte) []byte { return b.Bytes() })
				fixSums(t, dir, name)
				editManifest(t, dir, func(m *Manifest) { *m.file(t, name).Rows = int64(len(rows)) })
				wantNamed(t, findingsIn(t, dir), name, what, checks...)
				undo()
			}
			replace("no rows", s.configs[config], nil, result.CohortIdentities()...)
			replace("rows of another window", s.configs[config-1], rows, CheckStream)
			for i := range rows {
				replace(fmt.Sprintf("row %d dropped", i), s.configs[config], slices.Delete(slices.Clone(rows), i, i+1), result.CohortIdentities()...)
				replace(fmt.Sprintf("row %d doubled", i), s.configs[config], slices.Insert(slices.Clone(rows), i, rows[i]), result.CohortIdentities()...)
				for column, change := range map[string]func(*result.Cohort){
					"instance": func(c *result.Cohort) { c.Instance = 1 - c.Instance },
					"leader":   func(c *result.Cohort) { c.LeaderRequest += 1000 },
					"fan-in":   func(c *result.Cohort) { c.FanIn++ },
					"phase":    func(c *result.Cohort) { c.Phase = 1 - c.Phase },
				} {
					edited := slices.Clone(rows)
					change(&edited[i])
					replace(fmt.Sprintf("%s of row %d", column, i), s.configs[config], edited, result.CohortIdentities()...)
				}
			}
		})
	}
}

func TestManifestUnderFixedSum(t *testing.T) {
	s := newSample(tinyGrid, string(result.CohortCSV), "alpha")
	dir := s.published(t)
	undo := restore(t, dir, manifestName)
	for _, c := range []struct {
		what   string
		change func(*Manifest)
		check  string // empty: an identity
		file   string
	}{
		{"requests", func(m *Manifest) { m.Traces[0].Requests++ }, "", "alpha/phases.csv"},
		{"lookups", func(m *Manifest) { m.Traces[0].Lookups++ }, "", "alpha/phases.csv"},
		{"requests and profile", func(m *Manifest) { m.Traces[0].Requests++ }, CheckProfile, "alpha/profile.json"},
		{"duplicates", func(m *Manifest) { m.Traces[0].DroppedDuplicates++ }, CheckProfile, "alpha/profile.json"},
		{"block", func(m *Manifest) { m.Parameters.BlockTokens = 16 }, CheckProfile, "alpha/profile.json"},
		{"trace name", func(m *Manifest) { m.Traces[0].Name = "beta" }, CheckExists, "beta/phases.csv"},
		{"window", func(m *Manifest) { m.Parameters.WindowsMS[0]++ }, "", "alpha/phases.csv"},
		{"one instance less", func(m *Manifest) { m.Parameters.Instances[0]-- }, "", "alpha/instances.csv"},
		{"cohorts off", func(m *Manifest) { m.Parameters.Cohorts = CohortsOff }, CheckListed, s.anyCohortPath(0)},
		{"cohort format", func(m *Manifest) { m.Parameters.Cohorts = "parquet" }, CheckListed, s.anyCohortPath(0)},
		{"rows", func(m *Manifest) { *m.Files[0].Rows++ }, CheckRows, s.anyCohortPath(0)},
		{"no rows", func(m *Manifest) { m.Files[0].Rows = nil }, CheckListed, s.anyCohortPath(0)},
		{"bytes", func(m *Manifest) { m.Files[0].Bytes++ }, CheckBytes, s.anyCohortPath(0)},
		{"trace of cohorts", func(m *Manifest) { m.Files[0].Trace = "" }, CheckListed, s.anyCohortPath(0)},
		{"window of cohorts", func(m *Manifest) { m.Files[0].Configurations[0].WindowMS++ }, CheckListed, s.anyCohortPath(0)},
		{"configurations of no cohorts", func(m *Manifest) { m.Files[0].Configurations = nil }, CheckListed, s.anyCohortPath(0)},
		{"configuration in two files", func(m *Manifest) {
			m.Files[1].Configurations = append(m.Files[1].Configurations, m.Files[0].Configurations...)
		}, CheckListed, cohortPath("alpha", s.configs[1], string(result.CohortCSV))},
		{"order", func(m *Manifest) { slices.Reverse(m.Files) }, CheckListed, manifestName},
		{"path out of the run", func(m *Manifest) { m.Files[0].Path = "../../x" }, CheckListed, "../../x"},
		{"absolute path", func(m *Manifest) { m.Files[0].Path = "/etc/passwd" }, CheckListed, "/etc/passwd"},
		{"path of the manifest", func(m *Manifest) { m.Files[0].Path = manifestName }, CheckListed, manifestName},
		{"schema", func(m *Manifest) { m.Schema = "kvfanin.run/2" }, CheckSchema, manifestName},
		{"no traces", func(m *Manifest) { m.Traces = nil }, CheckManifest, manifestName},
		{"trace named as a way out", func(m *Manifest) { m.Traces[0].Name = ".." }, CheckManifest, manifestName},
		{"no windows", func(m *Manifest) { m.Parameters.WindowsMS = nil }, CheckManifest, manifestName},
		{"negative window", func(m *Manifest) { m.Parameters.WindowsMS[0] = -1 }, CheckManifest, manifestName},
		{"lookup as a way out", func(m *Manifest) { m.Parameters.Lookups[0] = "../x" }, CheckManifest, manifestName},
		{"instances beyond memory", func(m *Manifest) { m.Parameters.Instances[0] = 1 << 62 }, CheckManifest, manifestName},
		{"traces beyond memory", func(m *Manifest) {
			m.Parameters.Instances[0] = 1 << 19
			for i := range 3 {
				m.Traces = append(m.Traces, TraceEntry{Name: fmt.Sprint(i)})
			}
		}, CheckManifest, manifestName},
		{"grid beyond memory", func(m *Manifest) {
			for i := range int64(1 << 19) {
				m.Parameters.WindowsMS = append(m.Parameters.WindowsMS, 100+i)
			}
		}, CheckManifest, manifestName},
	} {
		t.Run(c.what, func(t *testing.T) {
			defer undo()
			editManifest(t, dir, c.change)
			checks := []string{c.check}
			if c.check == "" {
				checks = result.Identities()
			}
			for _, f := range findingsIn(t, dir) {
				if f.Check == CheckManifestSum {
					t.Fatal("the test did not fix the checksum")
				}
				if f.File == c.file && slices.Contains(checks, f.Check) {
					return
				}
			}
			t.Fatalf("none of %q of %s among %q", checks, c.file, findingsIn(t, dir))
		})
	}
}

// A broken checksum of the manifest does not keep the rest from being checked.
func TestEverythingIsReported(t *testing.T) {
	s := newSample(smallGrid, string(result.CohortCSV), "alpha", "beta")
	dir := s.published(t)
	edit(t, dir, manifestName, func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"warmup": "0.1"`), []byte(`"warmup": "0.2"`), 1)
	})
	edit(t, dir, "alpha/relations.csv", func(b []byte) []byte { return append(b, "x\n"...) })
	edit(t, dir, "beta/instances.csv", func(b []byte) []byte {
		return bytes.Replace(b, []byte(",1,steady,"), []byte(",1,steady,1"), 1)
	})
	edit(t, dir, s.anyCohortPath(1), func(b []byte) []byte { return b[:len(b)-1] })
	if err := os.Remove(filepath.Join(dir, "alpha/profile.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	found := findingsIn(t, dir)
	wantFinding(t, found, CheckManifestSum, manifestName)
	wantFinding(t, found, CheckNoOther, "notes")
	wantFinding(t, found, CheckExists, "alpha/profile.json")
	wantFinding(t, found, CheckTable, "alpha/relations.csv")
	wantFinding(t, found, "requests and lookups do not depend on lookup, capacity and window", "beta/instances.csv")
	wantFinding(t, found, "instances sum to their phase row", "beta/instances.csv")
	wantFinding(t, found, CheckStream, s.anyCohortPath(1))
	for range 20 {
		if again := findingsIn(t, dir); !slices.Equal(found, again) {
			t.Fatalf("other findings, or in another order (-first +again):\n%s", cmp.Diff(found, again))
		}
	}
}

// Windows up to the smallest gap of the profile must count the same, whatever
// else is consistent.
func TestGapOfTheProfile(t *testing.T) {
	s := newSample(smallGrid, string(result.CohortCSV), "alpha")
	for c, config := range s.configs {
		if config.WindowMS == 10 {
			s.outcomes[0][c], s.cohorts[0][c] = s.outcomes[0][c+1], s.cohorts[0][c+1]
		}
	}
	dir := s.published(t)
	for _, f := range findingsIn(t, dir) {
		if f.Check != "every window up to the smallest gap counts the same" {
			t.Error(f)
		}
	}
	wantFinding(t, findingsIn(t, dir), "every window up to the smallest gap counts the same", "alpha/phases.csv")

	s.profiles[0].SmallestPositiveGapMS = new(int64(9))
	s.profiles[0].PositiveGapMS.Min = 9
	if found := findingsIn(t, s.published(t)); len(found) > 0 {
		t.Errorf("with a smaller gap: findings %q", found)
	}
}

func TestOpenRefusesWhatVerifyFinds(t *testing.T) {
	dir := newSample(tinyGrid, CohortsOff, "alpha").published(t)
	for _, name := range []string{"phases.csv", "instances.csv", "relations.csv", "fanin.csv", profileName} {
		undo := restore(t, dir, "alpha/"+name)
		edit(t, dir, "alpha/"+name, func(b []byte) []byte {
			at := bytes.LastIndexAny(b, "12345678")
			b[at]++
			return b
		})
		_, err := Open(dir)
		wantError(t, err, dir+"/alpha/"+name+": not what the manifest says: kvfanin verify tells what else is wrong with the run")
		undo()
	}
	if _, err := Open(dir); err != nil {
		t.Error(err)
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	dir := newSample(tinyGrid, CohortsOff, "alpha").published(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Verify(ctx, dir, func(f Finding) { t.Error(f) })
	if err != context.Canceled {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
}

func TestWhatIsNoRun(t *testing.T) {
	t.Chdir(tempDir(t))
	if err := os.Mkdir("unfinished.partial", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"absent":     "absent: there is no such run: kvfanin study makes one",
		"unfinished": "unfinished: the run is not finished: kvfanin study --resume goes on with it",
		"file":       "file: not a directory",
	} {
		_, err := Verify(context.Background(), dir, func(f Finding) { t.Error(f) })
		wantError(t, err, want)
		_, err = Open(dir)
		wantError(t, err, want)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// FuzzManifest holds Verify to never panicking, and to accepting no manifest
// but the one that was published.
func FuzzManifest(f *testing.F) {
	s := newSample(tinyGrid, CohortsOff, "alpha")
	dir := filepath.Join(f.TempDir(), "run")
	if err := s.write(dir, Options{}); err != nil {
		f.Fatal(err)
	}
	published, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(published)
	for _, rubbish := range []string{"", "\n", "\n\n\n", "null", "[]", "{}", "{\n}\n", `{"schema":"kvfanin.run/1"}`, "\x00\xff", strings.Repeat("[", 20000)} {
		f.Add([]byte(rubbish))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		edit(t, dir, manifestName, func([]byte) []byte { return b })
		if found := findingsIn(t, dir); (len(found) == 0) != bytes.Equal(b, published) {
			t.Fatalf("findings %q of %q", found, b)
		}
		if _, err := Open(dir); (err == nil) != bytes.Equal(b, published) {
			t.Fatalf("Open: error %v of %q", err, b)
		}
	})
}
