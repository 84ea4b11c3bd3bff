package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// Concentration says where the duplicate attempts of one configuration come
// from, in the steady phase: whether from everywhere or from a few shared
// heads. Its zero value is that of a configuration in which nothing joined.
//
// Joins here are fan-in less 1, of the cohorts led in the phase, but for
// BusiestTimestamps, which is over the joins that arrived in it. Blocks and
// timestamps are of all requests of the phase, with joins or without, so that a
// hundredth of them is the same in every configuration.
type Concentration struct {
	Joins             int64     `json:"joins"`
	BusiestCohorts    Busiest   `json:"busiest_cohorts"`    // of all cohorts
	BusiestBlocks     Busiest   `json:"busiest_blocks"`     // of the distinct blocks, on whatever instance
	BusiestTimestamps Busiest   `json:"busiest_timestamps"` // of the distinct timestamps
	Positions         []AtDepth `json:"positions"`          // of the block in its leader's request
	Largest           []Largest `json:"largest"`            // cohorts, MostLargest at most: by fan-in, then start, then hash
}

// Busiest is how many of the joins fall to the busiest hundredth of something.
type Busiest struct {
	Of    int64 `json:"of"`    // how many there are
	Count int64 `json:"count"` // a hundredth of them, rounded up
	Joins int64 `json:"joins"` // to those with most
}

// NewBusiest returns the busiest hundredth of so many, of which most tells the
// joins of those with most.
func NewBusiest(of int64, most func(count int64) int64) Busiest {
	b := Busiest{Of: of, Count: (of + 99) / 100}
	b.Joins = most(b.Count)
	return b
}

// Busiest returns the busiest hundredth of the cohorts, that with the largest
// fan-in.
func (h FanIn) Busiest() Busiest {
	return NewBusiest(h.Cohorts(), func(count int64) (joins int64) {
		for _, e := range slices.Backward(h) {
			n := min(count, e.Cohorts)
			joins += n * (e.FanIn - 1)
			count -= n
		}
		return joins
	})
}

// MostLargest is how many of the largest cohorts are named.
const MostLargest = 10

// AtDepth is the joins to blocks from one position of their prefix to another.
type AtDepth struct {
	From  int64 `json:"from"` // 0 is the first block
	To    int64 `json:"to"`   // inclusive
	Joins int64 `json:"joins"`
}

// Largest is one of the largest cohorts.
type Largest struct {
	StartMS   int64  `json:"start_ms"`
	Instance  int64  `json:"instance"`
	BlockHash uint64 `json:"block_hash"`
	Position  int64  `json:"position"` // in the leader's request; 0 is the first block
	FanIn     int64  `json:"fanin"`
}

// ConcentrationRow is an element of concentration.json: where the joins of one
// configuration come from.
type ConcentrationRow struct {
	Trace          string `json:"trace"`
	Lookup         string `json:"lookup"`
	Routing        string `json:"routing"`
	Instances      int    `json:"instances"`
	CapacityBlocks int    `json:"capacity_blocks"`
	WindowMS       int64  `json:"window_ms"`
	Concentration
}

// Config returns the configuration.
func (r *ConcentrationRow) Config() Config {
	return Config{r.Lookup, r.Routing, r.Instances, r.CapacityBlocks, r.WindowMS}
}

// ConcentrationRow returns the element of concentration.json.
func (o *Outcome) ConcentrationRow(trace string, c Config) ConcentrationRow {
	return ConcentrationRow{trace, c.Lookup, c.Routing, c.Instances, c.CapacityBlocks, c.WindowMS, o.Concentration}
}

// concentrationName is the file of a trace's concentration rows.
const concentrationName = "concentration.json"

// ConcentrationFile is concentration.json: a JSON array, an element a line, in
// the order of the grid.
var ConcentrationFile concentrationFile

type concentrationFile struct{}

// Name returns the name of the file, without a directory.
func (concentrationFile) Name() string { return concentrationName }

// Write writes the rows.
func (concentrationFile) Write(w io.Writer, rows []ConcentrationRow) error {
	text := []byte("[")
	for i := range rows {
		line, err := json.Marshal(&rows[i])
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), line...)
	}
	_, err := w.Write(append(text, "\n]\n"...))
	return err
}

// Read reads what Write wrote, and nothing else.
func (f concentrationFile) Read(r io.Reader) ([]ConcentrationRow, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var rows []ConcentrationRow
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&rows); err != nil {
		return nil, err
	}
	var again bytes.Buffer
	if err := f.Write(&again, rows); err != nil {
		return nil, err
	}
	if !bytes.Equal(text, again.Bytes()) {
		return nil, errors.New("not written as kvfanin writes it")
	}
	return rows, nil
}
