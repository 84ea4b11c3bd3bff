package report

import (
	"fmt"

	"kvfanin/internal/findings"
	"kvfanin/internal/result"
)

// shares writes what the redundancy is of, and what of it a closed loop may
// forbid.
func (p *page) shares(f *findings.Findings) {
	if len(f.Windows) == 0 {
		return
	}
	p.title("Three shares, and extensions")
	p.text("Where the redundancy is largest: duplicate cohorts ÷ cohorts, the loads that more than " +
		"one request wanted; duplicate attempts ÷ attempts, the attempts that met another; joins " +
		"÷ attempts, what an ideal single-flight would save, the redundancy. And the redundancy, " +
		"median and largest over all rows, without the joins that may be the next turn of a " +
		"conversation (extensions): a user who waits for an answer cannot send them.")
	t := table{left: 1}
	t.row("", "duplicate", "duplicate", "", "median,", "largest,")
	t.row("window", "cohorts, %", "attempts, %", "joins, %", "no ext., %", "no ext., %")
	for _, line := range f.Windows {
		t.row(durations(line.WindowsMS), percent(line.SharesAtLargest.DuplicateCohorts), percent(line.SharesAtLargest.DuplicateAttempts),
			percent(line.SharesAtLargest.Redundancy), percent(line.MedianWithoutExtensions), percent(line.LargestWithoutExtensions))
	}
	p.table(&t)
}

// concentration writes where the joins come from.
func (p *page) concentration(f *findings.Findings) {
	if len(f.Concentrated) == 0 || len(f.Concentrated[len(f.Concentrated)-1].Largest) == 0 {
		return // no joins, which is said already
	}
	p.title("Where the joins come from")
	p.text("Of the joins in the row with the largest redundancy, and in that with the largest " +
		"fan-in, the share on the busiest hundredth of cohorts, of distinct blocks and of " +
		"distinct timestamps, and on first blocks.")
	t := table{left: 2}
	t.row("", "", "largest", "", "cohorts,", "blocks,", "times,", "first")
	t.row("window", "row", "fan-in", "joins", "%", "%", "%", "blocks, %")
	for i := range f.Concentrated {
		c := &f.Concentrated[i]
		name := "redundancy"
		if c.Why == findings.LargestFanIn {
			name = "fan-in"
		}
		t.row(durations(c.WindowsMS), name, count(c.FanInMax), count(c.Joins),
			part(c.BusiestCohorts.Joins, c.Joins), part(c.BusiestBlocks.Joins, c.Joins),
			part(c.BusiestTimestamps.Joins, c.Joins), part(onFirst(&c.Concentration), c.Joins))
	}
	p.table(&t)

	c := &f.Concentrated[len(f.Concentrated)-1]
	p.text(fewHeads(c))
	p.text(fmt.Sprintf("The largest cohorts there (%s, %s, %s, window %s); position 0 is the first block of a prompt:",
		c.At.Lookup, c.At.Routing, place(&c.At), duration(c.At.WindowMS)))
	l := table{left: 0}
	l.row("fan-in", "start, ms", "instance", "position", "block hash")
	for _, largest := range c.Largest {
		l.row(count(largest.FanIn), count(largest.StartMS), count(largest.Instance), count(largest.Position), fmt.Sprint(largest.BlockHash))
	}
	p.table(&l)
}

// fewHeads says what the largest fan-in of a row is of its joins.
func fewHeads(c *findings.Concentrated) string {
	largest := c.Largest[0]
	where := "one cohort, on a first block"
	if largest.Position > 0 {
		where = "one cohort, on the block at position " + count(largest.Position)
	}
	if c.CohortsAtMax > 1 {
		where = "that of " + plural(c.CohortsAtMax, "cohort")
	}
	text := fmt.Sprintf("Under %s the largest fan-in, %s, is %s: %s %% of the %s in its row, whose redundancy is %s %%. "+
		"A large fan-in is a shared head, and says nothing of how common joins are.",
		duration(c.WindowsMS[len(c.WindowsMS)-1]), count(largest.FanIn), where,
		part(max(1, c.CohortsAtMax)*(largest.FanIn-1), c.Joins), plural(c.Joins, "join"), percent(c.Shares.Redundancy))
	if c.BoundaryJoins > 0 {
		text += fmt.Sprintf(" These joins are on loads led in the phase; %s more are on loads led in warm-up.", count(c.BoundaryJoins))
	}
	return text
}

// onFirst returns the joins on first blocks.
func onFirst(c *result.Concentration) int64 {
	if len(c.Positions) == 0 {
		return 0
	}
	return c.Positions[0].Joins
}

// part prints n of all in percent, with one decimal; none where all is 0.
func part(n, all int64) string {
	if all == 0 {
		return none
	}
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(all))
}
