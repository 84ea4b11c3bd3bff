package rundir

import "kvfanin/internal/result"

// CohortFile is a cohort file while it is written. It is part of the run once
// its configurations are committed.
type CohortFile struct {
	w       *Writer
	trace   int
	configs []int
	out     *output // nil when closed
	rows    int64
	encoder result.CohortWriter
}

// Cohorts starts the cohort file of configurations that are one experiment and
// not committed, over again if it was started before. The first of them names
// the file and stands in its rows, and none may have fewer instances. Files of
// different configurations may be written at once.
func (w *Writer) Cohorts(trace int, configs ...int) (*CohortFile, error) {
	lead := configs[0]
	for _, config := range configs {
		if w.header.Parameters.Cohorts == CohortsOff || w.Done(trace, config) ||
			w.configs[config].Instances < w.configs[lead].Instances {
			return nil, w.misuse(trace, config, "no cohorts are wanted")
		}
	}
	if err := w.failed(); err != nil {
		return nil, err
	}
	out, err := w.dir.create(w.cohortPath(trace, lead) + temporary)
	if err != nil {
		return nil, w.fail(err)
	}
	encoder, err := result.NewCohortWriter(out, result.CohortFormat(w.header.Parameters.Cohorts), w.configs[lead])
	if err != nil {
		out.abandon()
		return nil, w.fail(out.explain(err))
	}
	return &CohortFile{w: w, trace: trace, configs: configs, out: out, encoder: encoder}, nil
}

// temporary ends the name of a file that is not yet whole.
const temporary = ".tmp"

// Write appends rows. It keeps nothing of the slice.
func (c *CohortFile) Write(rows []result.Cohort) error {
	if err := c.encoder.Write(rows); err != nil {
		return c.w.fail(c.out.explain(err))
	}
	c.rows += int64(len(rows))
	return nil
}

// Finish completes the file. Its configurations can then be committed.
func (c *CohortFile) Finish() error {
	out := c.out
	c.out = nil
	if err := c.encoder.Close(); err != nil {
		out.abandon()
		return c.w.fail(out.explain(err))
	}
	if err := out.finish(); err != nil {
		return c.w.fail(err)
	}
	name := c.w.cohortPath(c.trace, c.configs[0])
	if err := c.w.dir.rename(out.name, name); err != nil {
		return c.w.fail(err)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	rows := c.rows // not a pointer into c, which the run would keep with its encoder
	file := &File{
		Path: name, SHA256: out.sum(), Bytes: out.size, Rows: &rows,
		Trace: c.w.header.Traces[c.trace].Name,
	}
	for _, config := range c.configs {
		file.Configurations = append(file.Configurations, Configuration(c.w.configs[config]))
		c.w.cohorts[c.trace][config] = file
	}
	return nil
}

// Close gives up a file that is not finished; after Finish it does nothing.
func (c *CohortFile) Close() {
	if c.out != nil {
		c.out.abandon()
		c.out = nil
	}
}
