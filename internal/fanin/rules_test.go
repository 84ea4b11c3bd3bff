package fanin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"

	"kvfanin/internal/reference"
)

// TestRules runs the files of testdata, one a rule of the model. A directive
//
//	replay window=10 capacity=4 [lookup=independent_blocks] [control=...] [phases]
//	0 a b
//	5 @1 a
//
// has a line a request: arrival in ms, the instance it is sent to (0 unless
// said), its blocks. Printed is all there is to see: what each request found,
// every cohort, and what is cached in the end, the most recently used first;
// with phases, the counts of each as well.
// Each run is held to the reference model and the identities as well, so that
// a wrong expectation cannot be frozen.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata/rules", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := Config{Lookup: ContiguousPrefix}
			var window int64
			d.ScanArgs(t, "window", &window)
			c.Window = Window(window)
			d.ScanArgs(t, "capacity", &c.Capacity)
			if d.HasArg("lookup") {
				c.Lookup = IndependentBlocks
			}
			var control string
			d.MaybeScanArgs(t, "control", &control)
			switch control {
			case "insert_on_miss":
				c.Control = InsertOnMiss
			case "sliding_window":
				c.Control = SlidingWindow
			}
			return replay(t, d.Input, c, d.HasArg("phases"))
		})
	})
}

func replay(t *testing.T, input string, c Config, phases bool) string {
	var instances [][]reference.Request
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		arrival, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		blocks, k := fields[1:], 0
		if len(blocks) > 0 && strings.HasPrefix(blocks[0], "@") {
			k = int(blocks[0][1] - '0')
			blocks = blocks[1:]
		}
		for len(instances) <= k {
			instances = append(instances, nil)
		}
		r := reference.Request{ArrivalMS: arrival}
		for _, b := range blocks {
			r.Hashes = append(r.Hashes, uint64(b[0]))
		}
		instances[k] = append(instances[k], r)
	}
	var out strings.Builder
	var e Engine // one for all instances: nothing may stay behind in it
	for k, requests := range instances {
		s := streamOf(requests)
		got := run(&e, s, c)
		if diff := gocmp.Diff(expect(requests, s, c), got); diff != "" {
			t.Errorf("engine differs from the reference (-reference +engine):\n%s", diff)
		}
		if err := checkIdentities(got.Counts, s); err != nil {
			t.Error(err)
		}
		if len(instances) > 1 {
			fmt.Fprintf(&out, "instance %d\n", k)
		}
		show(&out, &e, requests, s, c, got, phases)
	}
	return out.String()
}

// show prints a run. What one request found is the difference between the run
// up to it and the run up to the one before.
func show(out *strings.Builder, e *Engine, requests []reference.Request, s *Stream, c Config, got seen, phases bool) {
	name := func(b uint32) byte {
		l := slices.Index(s.Block, b)
		for _, r := range requests {
			if l < len(r.Hashes) {
				return byte(r.Hashes[l])
			}
			l -= len(r.Hashes)
		}
		return '?'
	}
	var cached []string
	for place := e.cache.next - 1; place > 0; place-- {
		if b := e.cache.log[place]; e.cache.record[b].used == place {
			cached = append(cached, string(name(b)))
		}
	}
	var before [3]int64
	for i := range requests {
		part := *s
		part.ArrivalMS, part.Offset, part.Block = s.ArrivalMS[:i+1], s.Offset[:i+2], s.Block[:s.Offset[i+1]]
		var now [3]int64
		for _, counts := range run(e, &part, c).Counts {
			now[0] += counts.Hits
			now[1] += counts.Attempts
			now[2] += counts.Joins
		}
		fmt.Fprintf(out, "at %2d  request %d: hits %d, attempts %d, joins %d\n",
			s.ArrivalMS[i], i, now[0]-before[0], now[1]-before[1], now[2]-before[2])
		before = now
	}
	for _, cohort := range got.Cohorts {
		fmt.Fprintf(out, "cohort %c: led by request %d at %d, fan-in %d\n",
			name(cohort.Block), cohort.Leader, s.ArrivalMS[cohort.Leader], cohort.FanIn)
	}
	fmt.Fprintf(out, "cached: %s\n", strings.Join(cached, " "))
	for phase, c := range got.Counts {
		if phases {
			fmt.Fprintf(out, "%s: requests %d, hits %d, attempts %d, joins %d, boundary joins %d, cohorts %d\n",
				[]string{"warm-up", "steady"}[phase], c.Requests, c.Hits, c.Attempts, c.Joins, c.BoundaryJoins, c.Cohorts)
		}
	}
}
