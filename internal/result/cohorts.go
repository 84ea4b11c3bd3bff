package result

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
)

// CohortFormat is a format of cohort files, and the ending of their names.
type CohortFormat string

// The formats. Both have the same columns: the configuration, which is the
// same in every row of a file, and then the cohort.
const (
	CohortParquet CohortFormat = "parquet"
	CohortCSV     CohortFormat = "csv.gz"
)

// cohortFormats is where a new format adds its line.
var cohortFormats = []struct {
	format    CohortFormat
	newWriter func(io.Writer, Config) (CohortWriter, error)
	read      func(io.ReaderAt, int64, Config) iter.Seq2[[]Cohort, error]
}{
	{CohortParquet, newParquetWriter, readParquet},
	{CohortCSV, newGzipWriter, readGzip},
}

// CohortFormats returns the formats there are.
func CohortFormats() []CohortFormat {
	var formats []CohortFormat
	for _, f := range cohortFormats {
		formats = append(formats, f.format)
	}
	return formats
}

// CohortWriter writes the cohorts of one configuration to one file. The bytes
// depend on the cohorts alone and not on how they are divided over calls.
type CohortWriter interface {
	// Write adds cohorts. It keeps nothing of the slice.
	Write(cohorts []Cohort) error
	// Close writes what is left and the end of the file. It does not close
	// what is written to.
	Close() error
}

// NewCohortWriter returns a writer of cohorts of the configuration to w. It
// holds at most one row group in memory, however many cohorts are written.
func NewCohortWriter(w io.Writer, format CohortFormat, config Config) (CohortWriter, error) {
	if _, err := appendRow(nil, configColumns, &config); err != nil {
		return nil, err
	}
	for _, f := range cohortFormats {
		if f.format == format {
			return f.newWriter(w, config)
		}
	}
	return nil, unknownFormat(format)
}

// ReadCohorts yields the cohorts of a file of size bytes in batches, in bounded
// memory; a batch is valid until the next. After an error it yields no more.
//
// Where it yields no error and is not stopped it has read all rows there are:
// each is of the configuration, every checksum on the way is right, and nothing
// is cut off. Bytes that hold no row may still be other than written; a checksum
// of the whole file is for its keeper.
func ReadCohorts(r io.ReaderAt, size int64, format CohortFormat, config Config) iter.Seq2[[]Cohort, error] {
	for _, f := range cohortFormats {
		if f.format == format {
			return f.read(r, size, config)
		}
	}
	return func(yield func([]Cohort, error) bool) { yield(nil, unknownFormat(format)) }
}

func unknownFormat(format CohortFormat) error {
	return fmt.Errorf("cohort format %q, want one of %q", format, CohortFormats())
}

// cohortBatch is how many cohorts are handled at a time: enough to make the
// cost of a call small, few enough to stay in a cache.
const cohortBatch = 4096

var cohortColumns = cols(
	integer("instance", func(c *Cohort) *int32 { return &c.Instance }),
	integer("block_hash", func(c *Cohort) *uint64 { return &c.BlockHash }),
	integer("leader_request", func(c *Cohort) *int64 { return &c.LeaderRequest }),
	integer("start_ms", func(c *Cohort) *int64 { return &c.StartMS }),
	integer("fanin", func(c *Cohort) *int64 { return &c.FanIn }),
	phase("phase", func(c *Cohort) *Phase { return &c.Phase }),
)

// cohortFileColumns are the names of the columns of a cohort file, of either
// format.
func cohortFileColumns() []string {
	return append(names(configColumns), names(cohortColumns)...)
}

// The identities of a cohort file.
const (
	cohortSane   = "cohorts are of an instance, a request and a phase, with a leader"
	cohortOrder  = "cohorts of an instance are in the order of their leaders"
	cohortCount  = "cohort rows count to the cohorts of each instance and phase"
	cohortSum    = "fan-ins of cohort rows sum to the attempts of each instance and phase"
	cohortFanIns = "cohort rows have the fan-ins of fanin.csv"
)

// CohortIdentities returns the names of what a CohortCheck checks.
func CohortIdentities() []string {
	return []string{cohortSane, cohortOrder, cohortCount, cohortSum, cohortFanIns}
}

// CohortCheck compares the cohorts of one configuration with its rows. What
// they are read from is streamed through Add; Violations ends it. A block hash
// is not checked: the rows know none.
type CohortCheck struct {
	requests  int64
	instances []cohortsOfInstance
	rows      int64 // so far
	found     []Violation
}

type cohortsOfInstance struct {
	last Cohort
	led  [Phases]fanInCounter
}

// fanInCounter counts cohorts by fan-in. Nearly all fan-ins are small.
type fanInCounter struct {
	small [64]int64
	large map[int64]int64
}

// NewCohortCheck returns a check of cohorts in a trace of so many requests.
func NewCohortCheck(config Config, requests int64) *CohortCheck {
	return &CohortCheck{requests: requests, instances: make([]cohortsOfInstance, config.Instances)}
}

// Add takes the next cohorts of the file.
func (c *CohortCheck) Add(cohorts []Cohort) {
	for i := range cohorts {
		r := &cohorts[i]
		c.rows++
		switch {
		case r.Instance < 0 || int(r.Instance) >= len(c.instances):
			c.complain(cohortSane, "instance %d of %d", r.Instance, len(c.instances))
			continue
		case r.Phase >= Phases:
			c.complain(cohortSane, "phase %d of %d", r.Phase, Phases)
			continue
		case r.FanIn < 1:
			c.complain(cohortSane, "fan-in %d is without a leader", r.FanIn)
			continue
		case r.LeaderRequest < 0 || r.LeaderRequest >= c.requests:
			c.complain(cohortSane, "leader_request %d of %d", r.LeaderRequest, c.requests)
			continue
		}
		at := &c.instances[r.Instance]
		if l := &at.last; r.LeaderRequest < l.LeaderRequest || r.StartMS < l.StartMS || r.Phase < l.Phase ||
			// A leader has one time of arrival. FanIn is 0 before the first.
			r.LeaderRequest == l.LeaderRequest && r.StartMS != l.StartMS && l.FanIn > 0 {
			c.complain(cohortOrder, "leader %d at %d ms in %s after %d at %d ms in %s",
				r.LeaderRequest, r.StartMS, r.Phase, l.LeaderRequest, l.StartMS, l.Phase)
		}
		at.last = *r
		led := &at.led[r.Phase]
		if r.FanIn < int64(len(led.small)) {
			led.small[r.FanIn]++
			continue
		}
		if led.large == nil {
			led.large = make(map[int64]int64)
		}
		led.large[r.FanIn]++
	}
}

// complain keeps the first violation of each identity: a file may hold
// millions of rows, all wrong.
func (c *CohortCheck) complain(identity, format string, args ...any) {
	for i := range c.found {
		if c.found[i].Identity == identity {
			return
		}
	}
	c.found = append(c.found, Violation{
		Identity: identity,
		Row:      fmt.Sprintf("cohort %d", c.rows),
		Detail:   fmt.Sprintf(format, args...),
	})
}

// Violations returns what does not hold of the cohorts added, in the file of
// that name. rows are those of a configuration whose cohorts they are, complete
// and in order; it has no fewer instances than that of the check. It may be
// called for several; of what a cohort itself says, the first call gives the
// first violation of each identity.
func (c *CohortCheck) Violations(file string, rows Rows) []Violation {
	for i := range c.found {
		c.found[i].File = file
	}
	found := c.found
	c.found = nil
	type key struct {
		instance int
		phase    Phase
	}
	want := make(map[key]FanIn)
	for _, r := range rows.FanIns {
		k := key{r.Instance, r.Phase}
		want[k] = append(want[k], r.FanInCount)
	}
	for i := range len(rows.Instances) / Phases {
		pair := rows.Instances[Phases*i : Phases*i+Phases]
		attempts := ledAttempts(&pair[Warmup].Figures, &pair[Steady].Figures)
		for p := range Phase(Phases) {
			at := pair[p].place()
			var got FanIn
			if i < len(c.instances) {
				got = c.instances[i].led[p].fanIn()
			}
			complain := func(identity, format string, args ...any) {
				found = append(found, Violation{identity, file, at.String(), fmt.Sprintf(format, args...)})
			}
			if n := got.Cohorts(); n != pair[p].Cohorts {
				complain(cohortCount, "%d rows ≠ cohorts %d in %s", n, pair[p].Cohorts, InstanceTable.name)
			}
			if n := got.Attempts(); n != attempts[p] {
				complain(cohortSum, "fan-ins sum to %d ≠ %d attempts on cohorts led in the phase by %s", n, attempts[p], InstanceTable.name)
			}
			if w := want[key{i, p}]; !slices.Equal(got, w) {
				complain(cohortFanIns, "fan-ins %v ≠ %v in %s", got, w, FanInTable.name)
			}
		}
	}
	return found
}

// fanIn returns what was counted.
func (c *fanInCounter) fanIn() FanIn {
	h := FanInFromCounts(c.small[:])
	for _, f := range slices.Sorted(maps.Keys(c.large)) {
		h = append(h, FanInCount{f, c.large[f]})
	}
	return h
}
