package probe

// CompareChanged compares counts with what is expected of the case, where one
// expected count is another than it was seen to be.
func (c *Case) CompareChanged(got Counts, versions map[string]string, snapshot, name string, by int64) []Difference {
	n := got[snapshot][name] + by
	return c.Expected(versions).with(Expected{snapshot: {name: {n, n}}}).compare(got)
}
