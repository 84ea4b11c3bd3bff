package study

import (
	"slices"

	"kvfanin/internal/result"
)

// This file finds where a curve first reaches a share, to the millisecond. A
// curve need not rise everywhere: what is found lies between the first of its
// points that reach the share and the one before it.

// joined is what a configuration counted in the steady phase.
type joined struct {
	result.Counts
	extensions int64
}

// share returns the redundancy by a measure.
func (j *joined) share(measure string) float64 { return j.Share(measure, j.extensions) }

// sendThresholds sends a task for each configuration and reading of ties of the
// curve.
func (b *beside) sendThresholds(c *crew, done func()) error {
	s := b.params.Sensitivity
	each := len(result.Measures) * len(s.ThresholdShares) // of a configuration under a reading
	perConfig := len(b.curve) * each
	windows := len(s.CurveWindowsMS)
	b.rows.Thresholds = make([]result.ThresholdRow, perConfig*len(b.curve[0].Grid.Configs())/windows)
	for arm, run := range b.curve {
		p := b.params
		p.Grid = run.Grid
		configs := run.Grid.Configs()
		rd := *run.reading
		rd.spans = nil // those of the curve are counted
		pl, err := newPlan(&rd, &p, nil)
		if err != nil {
			return err
		}
		for d := range pl.deals {
			streams := split(&rd, pl.deals[d].assigned, every(pl.deals[d].instances))
			for i := 0; i < len(configs); i += windows {
				if !pl.deals[d].has(configs[i]) {
					continue
				}
				to := b.rows.Thresholds[i/windows*perConfig+arm*each:][:each]
				search := newSearch(run, &p, i, configs[i], streams)
				err := c.send(func(r *replayer) error {
					defer done()
					return search.all(r, to)
				})
				if err != nil {
					return err
				}
			}
			if err := c.endDeal(); err != nil {
				return err
			}
		}
	}
	return nil
}

// search is the thresholds of one configuration under one reading.
type search struct {
	run     *armRun
	params  *Params
	config  result.Config // at the first window of the curve
	points  []joined      // of the curve
	streams []stream
	known   map[int64]joined // by window
}

// newSearch is over the configurations of the run from first on, of which config
// is the first.
func newSearch(run *armRun, p *Params, first int, config result.Config, streams []stream) *search {
	s := &search{run: run, params: p, config: config, streams: streams, known: map[int64]joined{}}
	for w, windowMS := range p.Sensitivity.CurveWindowsMS {
		row := result.Phases*(first+w) + int(result.Steady)
		at := joined{run.rows[row].Counts, run.relations[row].Extension}
		s.points = append(s.points, at)
		s.known[windowMS] = at
	}
	return s
}

// all fills in the rows of all measures and shares.
func (s *search) all(r *replayer, rows []result.ThresholdRow) error {
	i := 0
	for _, measure := range result.Measures {
		for _, share := range s.params.Sensitivity.ThresholdShares {
			row := result.ThresholdRow{Trace: s.run.reading.trace.Name, Config: s.config, Ties: s.run.Ties, Measure: measure, Share: share}
			if err := s.find(r, &row); err != nil {
				return err
			}
			rows[i] = row
			i++
		}
	}
	return nil
}

// find fills in where the row's share is reached.
func (s *search) find(r *replayer, row *result.ThresholdRow) error {
	reaches := func(j joined) bool { return j.share(row.Measure) >= row.Share }
	windows := s.params.Sensitivity.CurveWindowsMS
	first := slices.IndexFunc(s.points, reaches)
	if first < 0 {
		row.WindowMS = 0
		for _, p := range s.points {
			row.Redundancy = max(row.Redundancy, p.share(row.Measure))
		}
		return nil
	}
	below, at := int64(0), windows[first]
	if first > 0 {
		below = windows[first-1]
	}
	for at-below > 1 {
		middle := below + (at-below)/2
		j, err := s.at(r, middle)
		if err != nil {
			return err
		}
		if reaches(j) {
			at = middle
		} else {
			below = middle
		}
	}
	row.WindowMS = at
	reached, before := s.known[at], s.known[below] // of 0 ms nothing, where nothing is in flight
	row.Redundancy, row.Before = reached.share(row.Measure), before.share(row.Measure)
	return nil
}

// at returns the redundancy under a window.
func (s *search) at(r *replayer, windowMS int64) (joined, error) {
	if j, ok := s.known[windowMS]; ok {
		return j, nil
	}
	c := s.config
	c.WindowMS = windowMS
	model, err := s.params.model(c)
	if err != nil {
		return joined{}, err
	}
	model.Capacity = max(1, min(model.Capacity, s.mostBlocks()))
	g, err := r.replayAll(s.streams, model, nil)
	if err != nil {
		return joined{}, err
	}
	var j joined
	for k := range g.instances {
		j.Attempts += g.instances[k][result.Steady].Attempts
		j.Joins += g.instances[k][result.Steady].Joins
	}
	j.extensions = g.relations[result.Steady].Extension
	s.known[windowMS] = j
	return j, nil
}

// mostBlocks returns how many different blocks an instance serves at most: a
// cache for more holds no more.
func (s *search) mostBlocks() int {
	most := 0
	for k := range s.streams {
		most = max(most, s.streams[k].Blocks)
	}
	return most
}
