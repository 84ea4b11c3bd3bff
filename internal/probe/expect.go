package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Snapshots are the moments that counts belong to, in their order.
var Snapshots = []string{Held, End, Late, Whole, InModel}

// Moments of a case.
const (
	Held    = "held"   // the first Get waits at the barrier, all others have got as far as they get
	End     = "end"    // all has been released and has ended
	Late    = "late"   // what one more request did, after the publication
	Whole   = "result" // what is said of the case as a whole, as numbers
	InModel = "model"  // what the model says of the same arrivals
)

// Counts are numbers by snapshot and name.
type Counts map[string]map[string]int64

// Range is the numbers from Min to Max.
type Range struct{ Min, Max int64 }

// String returns one number, or both ends.
func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.FormatInt(r.Min, 10)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// MarshalJSON writes both ends.
func (r Range) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{r.Min, r.Max}) }

// UnmarshalJSON reads one number, or both ends.
func (r *Range) UnmarshalJSON(b []byte) error {
	var n int64
	if json.Unmarshal(b, &n) == nil {
		*r = Range{n, n}
		return nil
	}
	var both []int64
	if err := json.Unmarshal(b, &both); err != nil || len(both) != 2 || both[0] > both[1] {
		return fmt.Errorf("%s: want a whole number, or two in a list, from the least to the most", b)
	}
	*r = Range{both[0], both[1]}
	return nil
}

// Expected is what counts must be, by snapshot and name.
type Expected map[string]map[string]Range

// Difference is a count that is not what was expected.
type Difference struct {
	Snapshot string
	Count    string
	Want     Range
	Got      *int64 // nil: the harness gave no such count
}

// compare returns what is not as expected, in order of snapshots and names.
func (e Expected) compare(got Counts) (differences []Difference) {
	for _, snapshot := range Snapshots {
		for _, name := range sortedNames(e[snapshot]) {
			want := e[snapshot][name]
			n, there := got[snapshot][name]
			switch {
			case !there:
				differences = append(differences, Difference{snapshot, name, want, nil})
			case n < want.Min || n > want.Max:
				differences = append(differences, Difference{snapshot, name, want, &n})
			}
		}
	}
	return differences
}

// with returns what is expected where parts of it are others.
func (e Expected) with(parts Expected) Expected {
	merged := Expected{}
	for _, from := range []Expected{e, parts} {
		for snapshot, counts := range from {
			if merged[snapshot] == nil {
				merged[snapshot] = map[string]Range{}
			}
			maps.Copy(merged[snapshot], counts)
		}
	}
	return merged
}

// without returns what is expected but for some counts of a snapshot, or for all
// of it.
func (e Expected) without(snapshot string, names ...string) Expected {
	rest := e.with(nil)
	for _, name := range names {
		delete(rest[snapshot], name)
	}
	if len(names) == 0 {
		delete(rest, snapshot)
	}
	return rest
}

// timed are the counts that depend on how fast the machine is: they are shown,
// never compared.
var timed = []string{"steps", "lookup_polls"}

// observe returns all that a result says in numbers.
func observe(r *Result, m *Model) Counts {
	counts := Counts{}
	for snapshot, names := range r.Counts {
		counts[snapshot] = maps.Clone(names)
	}
	whole := map[string]int64{"each_finished_once": 0}
	if r.EachFinishedOnce {
		whole["each_finished_once"] = 1
	}
	if r.BlocksRight != nil {
		whole["blocks_right"] = *r.BlocksRight
	}
	if r.Tokens != nil {
		whole["tokens_compared"], whole["tokens_equal"] = r.Tokens.Compared, r.Tokens.Equal
	}
	for reason, n := range r.FinishReasons {
		whole["finish_reason."+reason] = n
	}
	for _, code := range r.GetCodes {
		if code < 0 {
			whole["get_code."+strconv.FormatInt(code, 10)]++
		}
	}
	counts[Whole] = whole
	if m != nil {
		counts[InModel] = map[string]int64{"agrees": 0}
		if m.Agrees() {
			counts[InModel]["agrees"] = 1
		}
	}
	return counts
}

// ExpectFile is a file of counts: what `probe run --format json` writes, or the
// like of it by hand, where a count may be a list of the least and the most.
type ExpectFile struct {
	path  string
	Cases []ExpectCase `json:"cases"`
}

// ExpectCase is the counts of one case in a file.
type ExpectCase struct {
	Case   string   `json:"case"`
	Counts Expected `json:"counts"`
}

// ReadExpectFile reads a file of counts.
func ReadExpectFile(path string) (*ExpectFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file := &ExpectFile{path: path}
	if err := json.Unmarshal(b, file); err != nil {
		return nil, fmt.Errorf("%s: %w: want what kvfanin probe run --format json writes", path, err)
	}
	if len(file.Cases) == 0 {
		return nil, fmt.Errorf("%s: there is no case in it: want what kvfanin probe run --format json writes", path)
	}
	return file, nil
}

// Apply returns the case with the counts of the file in place of those of the
// table. A count that is known to vary from run to run may vary as far as is
// known; one that depends on time may be anything.
func (f *ExpectFile) Apply(c *Case) (*Case, error) {
	for i := range f.Cases {
		if f.Cases[i].Case != c.Name {
			continue
		}
		known := c.Expected(nil)
		other := *c
		other.expect, other.real, other.releases = Expected{}, nil, nil
		for snapshot, counts := range f.Cases[i].Counts {
			if !slices.Contains(Snapshots, snapshot) {
				return nil, fmt.Errorf("%s: case %s has counts of %q: there are %s", f.path, c.Name, snapshot, strings.Join(Snapshots, ", "))
			}
			other.expect[snapshot] = map[string]Range{}
			for name, want := range counts {
				if slices.Contains(timed, name) {
					continue
				}
				if r, ok := known[snapshot][name]; ok && r.Min <= want.Min && want.Max <= r.Max {
					want = r
				}
				other.expect[snapshot][name] = want
			}
		}
		return &other, nil
	}
	return nil, fmt.Errorf("%s: there are no counts of case %s in it", f.path, c.Name)
}
