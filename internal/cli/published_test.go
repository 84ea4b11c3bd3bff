package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shared is where the public traces and the published figures lie, beside the
// checkout.
const shared = "../../../shared"

// published is the form of the published figures.
type published struct {
	Traces map[string]struct {
		Profile map[string]int64 `json:"profile"`
		Windows map[string]struct {
			Median   string `json:"median"`
			Max      string `json:"max"`
			MaxFanIn int64  `json:"max_fan_in"`
			RowsP99  int64  `json:"rows_p99_above_1"`
			Rows     int64  `json:"rows"`
		} `json:"windows"`
		LookupDifference string `json:"largest_lookup_difference"`
		Affinity         struct {
			Pairs, Higher, Equal, Lower int64
		} `json:"affinity_vs_round_robin"`
		Imbalance string `json:"largest_request_imbalance"`
	} `json:"traces"`
	Files map[string]json.RawMessage `json:"files"`
}

// publicTraces returns the published figures and the paths of the public
// traces they are of, or skips the test where they do not lie beside the
// checkout. With KVFANIN_REQUIRE_ALL it fails instead.
func publicTraces(t *testing.T) (published, []string) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("KVFANIN_REQUIRE_ALL") != "" {
		missing = t.Fatalf
	}
	b, err := os.ReadFile(filepath.Join(shared, "spec", "published.json"))
	if err != nil {
		missing("needs the published figures: %v", err)
	}
	var figures published
	if err := json.Unmarshal(b, &figures); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, name := range []string{"conversation", "synthetic"} { // toolagent is too large to lie there
		path := filepath.Join(shared, "traces", name+"_trace.jsonl")
		if _, err := os.Stat(path); err != nil {
			missing("needs the public trace %s: %v", name, err)
		}
		paths = append(paths, path)
	}
	return figures, paths
}

// printedTables are the tables that a study prints of one trace.
type printedTables []string

// tablesOf returns the part of a study's output that is about a trace.
func tablesOf(t *testing.T, stdout, trace string) printedTables {
	t.Helper()
	lines := strings.Split(stdout, "\n")
	for i, line := range lines {
		if line != trace || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "===") {
			continue
		}
		end := i + 2
		for end < len(lines) && !strings.HasPrefix(lines[end], "===") {
			end++
		}
		return lines[i+2 : end]
	}
	t.Fatalf("nothing is printed of %s", trace)
	return nil
}

// line returns the columns of the first line that begins with label, set off
// from them by spaces.
func (p printedTables) line(t *testing.T, label string) []string {
	t.Helper()
	for _, line := range p {
		if rest, ok := strings.CutPrefix(line, "  "+label+"  "); ok {
			return strings.Fields(strings.ReplaceAll(rest, ",", ""))
		}
	}
	t.Fatalf("no line %q is printed", label)
	return nil
}

// TestPublishedFigures runs the study of both public traces as a user does and
// holds every figure that was published of them to what is printed. It then
// holds the run directory to the size of the grid and to its own checks.
func TestPublishedFigures(t *testing.T) {
	figures, paths := publicTraces(t)
	dir := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := call(append([]string{"study", "-o", dir}, paths...)...)
	if code != exitDone {
		t.Fatal(stderr)
	}
	for _, name := range []string{"conversation", "synthetic"} {
		want := figures.Traces[name]
		tables := tablesOf(t, stdout, name)
		same := func(figure, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s: printed %s, published %s", name, figure, got, want)
			}
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		for label, key := range map[string]string{
			"requests":                      "requests",
			"lookups (request, block)":      "lookups",
			"distinct timestamps":           "distinct_timestamps",
			"median positive gap, ms":       "median_positive_gap_ms",
			"median requests per timestamp": "median_requests_per_timestamp",
			"median positive reuse gap, ms": "median_positive_reuse_gap_ms",
		} {
			same(label, tables.line(t, label)[0], number(want.Profile[key]))
		}
		for window, figures := range want.Windows {
			label := map[string]string{"10-1000": "10 ms – 1 s", "1000": "1 s", "3000": "3 s", "10000": "10 s"}[window]
			line := tables.line(t, label)
			same(label+": rows", line[0], number(figures.Rows))
			same(label+": median redundancy", line[1], figures.Median)
			same(label+": largest redundancy", line[2], figures.Max)
			same(label+": largest fan-in", line[3], number(figures.MaxFanIn))
			same(label+": rows with p99 fan-in above 1", line[4], number(figures.RowsP99))
		}
		same("largest difference between the lookups", tables.line(t, "largest difference")[0], want.LookupDifference)
		all := tables.line(t, "all")
		same("affinity: pairs", all[0], number(want.Affinity.Pairs))
		same("affinity: higher", all[1], number(want.Affinity.Higher))
		same("affinity: equal", all[2], number(want.Affinity.Equal))
		same("affinity: lower", all[3], number(want.Affinity.Lower))
		same("largest request imbalance", all[4], want.Imbalance)

		var file struct {
			SHA256 string `json:"sha256"`
			Blob   string `json:"git_blob"`
		}
		if err := json.Unmarshal(figures.Files[name], &file); err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		for figure, value := range map[string]string{"sha256": file.SHA256, "git_blob": file.Blob} {
			if !strings.Contains(string(manifest), fmt.Sprintf("%q: %q", figure, value)) {
				t.Errorf("%s: the manifest does not have the published %s %s", name, figure, value)
			}
		}
		for table, rows := range map[string]int{"phases.csv": 840, "instances.csv": 5208, "relations.csv": 840} {
			b, err := os.ReadFile(filepath.Join(dir, name, table))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Count(string(b), "\n") - 1; got != rows {
				t.Errorf("%s/%s has %d rows, want %d", name, table, got, rows)
			}
		}
	}
	if code, stdout, stderr := call("verify", dir); code != exitDone {
		t.Errorf("the run does not verify: %s%s", stdout, stderr)
	}
}

// TestControls runs the negative controls through everything a study goes
// through and holds the printed figures to the direction in which each must
// change them.
func TestControls(t *testing.T) {
	figures, paths := publicTraces(t)
	largest := func(control, trace string) map[string]float64 {
		code, stdout, stderr := call(append([]string{
			"study", "-o", filepath.Join(t.TempDir(), "run"), "--control", control,
			"--instances", "1", "--capacity", "1000", "--window", "1s,3s,10s",
		}, paths...)...)
		if code != exitDone {
			t.Fatal(stderr)
		}
		if measurement := control == "none"; strings.Contains(stdout, "NOT A MEASUREMENT") == measurement {
			t.Errorf("--control %s: the output does not say what it is", control)
		}
		by := map[string]float64{}
		for _, label := range []string{"1 s", "3 s", "10 s"} {
			share, err := strconv.ParseFloat(tablesOf(t, stdout, trace).line(t, label)[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			by[label] = share
		}
		return by
	}
	for _, trace := range slices.Sorted(maps.Keys(figures.Traces)) {
		if trace == "toolagent" {
			continue
		}
		model := largest("none", trace)
		for window, share := range largest("insert_on_miss", trace) {
			if share != 0 || model[window] == 0 {
				t.Errorf("%s at %s: redundancy %v %% under insert_on_miss, %v %% without; want 0 and more", trace, window, share, model[window])
			}
		}
		if got, want := largest("sliding_window", trace)["10 s"], model["10 s"]; got <= want {
			t.Errorf("%s at 10 s: redundancy %v %% under sliding_window, %v %% without; want more", trace, got, want)
		}
	}
}

// TestPublishedTies holds what a study says of equal timestamps on the
// conversation trace to figures worked out independently: at 1 s the largest
// redundancy of 0.006068 % is an artefact of its ticks of 3 s. Spread over them
// evenly no request joins; at random a draw has none, or very few.
func TestPublishedTies(t *testing.T) {
	_, paths := publicTraces(t)
	dir := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := call("study", paths[0], "-o", dir, "--sensitivity", "--seeds", "5", "--format", "json", "--threshold", "0.01",
		"--window", "1s,10s", "--capacity", "1000", "--instances", "1")
	if code != exitDone {
		t.Fatal(stderr)
	}
	type largest struct {
		Share float64 `json:"largest_redundancy_share"`
	}
	var doc struct {
		Traces []struct {
			Sensitivity struct {
				Ties []struct {
					WindowMS     int64   `json:"window_ms"`
					Simultaneous largest `json:"simultaneous"`
					Even         largest `json:"even"`
					RandomLow    largest `json:"random_low"`
					RandomMedian largest `json:"random_median"`
				} `json:"ties"`
				Curves []struct {
					Points []struct {
						WindowMS int64 `json:"window_ms"`
						Attempts int64 `json:"attempts"`
						All      struct {
							Share float64 `json:"redundancy_share"`
						} `json:"all"`
						Without struct {
							Share float64 `json:"redundancy_share"`
						} `json:"without_extensions"`
					} `json:"points"`
				} `json:"curves"`
			} `json:"sensitivity"`
		} `json:"traces"`
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Traces[0].Sensitivity
	tie := s.Ties[0]
	if got := fmt.Sprintf("%.6f", 100*tie.Simultaneous.Share); tie.WindowMS != 1000 || got != "0.006068" {
		t.Errorf("at once, window %d: %s %%, published 0.006068", tie.WindowMS, got)
	}
	if tie.Even.Share != 0 || tie.RandomLow.Share != 0 || 100*tie.RandomMedian.Share > 0.0007 {
		t.Errorf("even %v, random from %v, in the middle %v: want 0, 0, and at most about 0.0006 %%", tie.Even.Share, tie.RandomLow.Share, tie.RandomMedian.Share)
	}
	// Joins are 268 at 10 s in the first configuration, of which 160 extensions.
	for _, p := range s.Curves[0].Points {
		if p.WindowMS != 10_000 {
			continue
		}
		if all, without := math.Round(p.All.Share*float64(p.Attempts)), math.Round(p.Without.Share*float64(p.Attempts)); all != 268 || without != 108 {
			t.Errorf("%v joins, %v without extensions; published 268 and 108", all, without)
		}
	}
}
