package result

import (
	"bytes"
	"crypto/sha256"
	"io"
	"testing"

	"kvfanin/internal/bound"
)

// BenchmarkCohortFile measures a row of a cohort file, written and read, beside
// a copy of the rows in memory, which no writer can do without, and the SHA-256
// of the file, which a run makes and verify checks.
func BenchmarkCohortFile(b *testing.B) {
	config := Config{"contiguous_prefix", "round_robin", 4, 10000, 1000}
	cohorts := benchmarkCohorts(1<<20, false)
	rows := make([]Cohort, len(cohorts))
	for _, format := range CohortFormats() {
		var file bytes.Buffer
		if err := writeCohorts(&file, format, config, cohorts, cohortBatch); err != nil {
			b.Fatal(err)
		}
		compare := func(name string, thing func() error) {
			b.Run(string(format)+"/"+name, func(b *testing.B) {
				bound.Compare(b, "row", float64(len(cohorts)), func() {
					if err := thing(); err != nil {
						b.Error(err)
					}
				},
					bound.Thing{Name: "copy", Run: func() { copy(rows, cohorts) }},
					bound.Thing{Name: "sha256", Run: func() { sha256.Sum256(file.Bytes()) }},
				)
				b.ReportMetric(float64(file.Len())/float64(len(cohorts)), "B/row")
			})
		}
		compare("write", func() error {
			return writeCohorts(io.Discard, format, config, cohorts, cohortBatch)
		})
		compare("read", func() error {
			for _, err := range ReadCohorts(bytes.NewReader(file.Bytes()), int64(file.Len()), format, config) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}
