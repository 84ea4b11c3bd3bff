package result

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// benchmarkCohorts makes cohorts as a trace gives them: runs of blocks with
// successive numbers (or, where wide, 64-bit hashes) led by one request.
func benchmarkCohorts(n int, wide bool) []Cohort {
	r := rand.New(rand.NewPCG(1, 2))
	var cohorts []Cohort
	var next uint64
	var start, request int64
	for len(cohorts) < n {
		length := min(5+r.IntN(40), n-len(cohorts))
		first := next
		if r.IntN(3) == 0 {
			first = r.Uint64N(next + 1)
		} else {
			next += uint64(length)
		}
		for i := range uint64(length) {
			c := Cohort{Instance: 2, BlockHash: first + i, LeaderRequest: request, StartMS: start, FanIn: 1, Phase: Steady}
			if r.IntN(200) == 0 {
				c.FanIn = 2 + r.Int64N(4)
			}
			if wide {
				c.BlockHash = (c.BlockHash + 1) * 0x9e3779b97f4a7c15
				c.BlockHash = (c.BlockHash ^ c.BlockHash>>29) * 0xbf58476d1ce4e5b9
			}
			cohorts = append(cohorts, c)
		}
		request += 1 + r.Int64N(4)
		if r.IntN(3) == 0 {
			start += 3000
		}
	}
	return cohorts
}

func BenchmarkCohorts(b *testing.B) {
	config := Config{"contiguous_prefix", "round_robin", 4, 10000, 1000}
	for _, format := range CohortFormats() {
		for _, wide := range []bool{false, true} {
			name := string(format) + "/small hashes"
			if wide {
				name = string(format) + "/64-bit hashes"
			}
			cohorts := benchmarkCohorts(1<<20, wide)
			var file bytes.Buffer
			if err := writeCohorts(&file, format, config, cohorts, len(cohorts)); err != nil {
				b.Fatal(err)
			}
			report := func(b *testing.B) {
				b.ReportMetric(float64(len(cohorts)*b.N)/b.Elapsed().Seconds(), "rows/s")
				b.ReportMetric(float64(file.Len())/float64(len(cohorts)), "B/row")
				b.ReportMetric(0, "ns/op")
			}
			b.Run(name+"/write", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := writeCohorts(io.Discard, format, config, cohorts, len(cohorts)); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
			b.Run(name+"/read", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, err := range ReadCohorts(bytes.NewReader(file.Bytes()), int64(file.Len()), format, config) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				report(b)
			})
			if format == CohortParquet {
				b.Run(name+"/check", func(b *testing.B) {
					for b.Loop() {
						NewCohortCheck(config, 1<<40).Add(cohorts)
					}
					report(b)
				})
			}
		}
	}
}

// writeCohorts writes a file in calls of so many cohorts.
func writeCohorts(w io.Writer, format CohortFormat, config Config, cohorts []Cohort, batch int) error {
	out, err := NewCohortWriter(w, format, config)
	if err != nil {
		return err
	}
	for len(cohorts) > 0 {
		n := min(batch, len(cohorts))
		if err := out.Write(cohorts[:n]); err != nil {
			return err
		}
		cohorts = cohorts[n:]
	}
	return out.Close()
}

// BenchmarkViolations checks the rows of the whole grid of the study, all of
// whose load is on the first instance.
func BenchmarkViolations(b *testing.B) {
	s := study{facts: Facts{Trace: "t", Grid: Grid{
		Lookups:          []string{"contiguous_prefix", "independent_blocks"},
		Routings:         []string{"round_robin", "first_block_affinity"},
		Instances:        []int{1, 2, 4, 8, 16},
		CapacitiesBlocks: []int{1000, 10_000, 100_000},
		WindowsMS:        []int64{10, 30, 100, 300, 1000, 3000, 10_000},
	}}}
	var fanIn FanIn
	for f := range int64(20) {
		fanIn = append(fanIn, FanInCount{f + 1, 1})
	}
	tally := Tally{Counts{3, fanIn.Attempts(), 0, fanIn.Attempts(), fanIn.Cohorts(), fanIn.Attempts() - fanIn.Cohorts(), 0}, fanIn}
	s.facts.Requests, s.facts.Lookups = Phases*tally.Requests, Phases*tally.Lookups
	for _, config := range s.facts.Grid.Configs() {
		for p := range Phase(Phases) {
			s.rows.Phases = append(s.rows.Phases, PhaseRow{"t", config, p, tally.Figures(), float64(config.Instances)})
			s.rows.Relations = append(s.rows.Relations, RelationRow{"t", config, p, tally.Attempts, tally.Joins, Relations{Branch: tally.Joins}})
			for _, n := range fanIn {
				s.rows.FanIns = append(s.rows.FanIns, FanInRow{"t", config, 0, p, n})
			}
			s.rows.Instances = append(s.rows.Instances, InstanceRow{"t", config, 0, p, tally.Figures()})
		}
		for instance := 1; instance < config.Instances; instance++ {
			for p := range Phase(Phases) {
				s.rows.Instances = append(s.rows.Instances, InstanceRow{Trace: "t", Config: config, Instance: instance, Phase: p})
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := s.rows.Violations(&s.facts); v != nil {
			b.Fatal(v[0])
		}
	}
}
