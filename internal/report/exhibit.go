package report

import (
	"strconv"
	"strings"

	"kvfanin/internal/findings"
)

// Exhibit is one table with what is said of it: the form in which findings
// stand in a page, in Markdown and beside those of another run. A space that
// must not end a line is a no-break space.
type Exhibit struct {
	Name    string // in links
	Title   string
	Lead    []string // paragraphs before the table
	Caption string   // what a row and a figure of it are
	Columns []Column
	Rows    [][]Cell
	Notes   []string // paragraphs after it
	Instead string   // stands in place of the table where there is nothing to show
}

// Column is a column of an exhibit.
type Column struct {
	Group string // head over several columns, empty for none
	Label string
	Head  bool // its cells name the row
	Text  bool // its cells are words, aligned to the left
}

// Cell is a cell of an exhibit.
type Cell struct {
	Text string
	Unit Unit
	// Value is the figure as it was found, in Unit; meaningless for Words.
	Value float64
	// Bar is what a bar beside the figure shows, from 0 to 1; none if negative.
	Bar float64
}

// Unit is what a cell holds.
type Unit int

// The units of a cell. A figure that does not exist is Words.
const (
	Words  Unit = iota
	Share       // of something, printed in percent
	Number      // of things
	Ratio       // such as an imbalance
	Millis      // a time in ms
)

func words(text string) Cell { return Cell{Text: text, Bar: -1} }

func share(x float64) Cell { return Cell{Text: percent(x), Unit: Share, Value: x, Bar: -1} }

// barred is a share with a bar of it.
func barred(x float64) Cell {
	c := share(x)
	c.Text, c.Bar = strconv.FormatFloat(100*x, 'f', 1, 64), x
	return c
}

func number[I int | int64](n I) Cell {
	return Cell{Text: count(n), Unit: Number, Value: float64(n), Bar: -1}
}

func ratio(x float64) Cell {
	c := Cell{Text: imbalance(x), Unit: Ratio, Value: x, Bar: -1}
	if x == 0 {
		c.Unit = Words
	}
	return c
}

// millis is a time that is not there if it is 0.
func millis(ms int64) Cell {
	if ms == 0 {
		return words(none)
	}
	return Cell{Text: count(ms), Unit: Millis, Value: float64(ms), Bar: -1}
}

// shareOf is a ÷ b with a bar, none without b.
func shareOf(a, b int64) Cell {
	if b == 0 {
		return words(none)
	}
	return barred(float64(a) / float64(b))
}

// heads are columns that name a row, rest columns of figures.
func heads(labels ...string) (columns []Column) {
	for _, l := range labels {
		columns = append(columns, Column{Label: l, Head: true, Text: true})
	}
	return columns
}

// setting is a column of configurations, which do not name the row: the figures
// of a row may come from one configuration in one run and another in the next.
func setting() []Column { return []Column{{Label: "configuration, instances × blocks", Text: true}} }

func figuresOf(labels ...string) (columns []Column) {
	for _, l := range labels {
		columns = append(columns, Column{Label: l})
	}
	return columns
}

func under(group string, labels ...string) (columns []Column) {
	for _, l := range labels {
		columns = append(columns, Column{Group: group, Label: l})
	}
	return columns
}

// roughly prints a share in percent, in three digits: 0.109, 8.82, 100.
func roughly(share float64) string {
	p := 100 * share
	switch {
	case p == 0:
		return "0"
	case p >= 99.95:
		return strconv.FormatFloat(p, 'f', 0, 64)
	case p >= 9.995:
		return strconv.FormatFloat(p, 'f', 1, 64)
	}
	text := strconv.FormatFloat(p, 'e', 2, 64)
	digits, exponent, _ := strings.Cut(text, "e")
	n, err := strconv.Atoi(exponent)
	if err != nil || n < -6 {
		return digits + together(" × ") + "10^" + strconv.Itoa(n)
	}
	return strconv.FormatFloat(p, 'f', 2-n, 64)
}

// inPercent is roughly with its unit.
func inPercent(share float64) string { return together(roughly(share) + " %") }

// fromTo prints a range of shares, or the one share it is.
func fromTo(low, high float64) string {
	if a, b := roughly(low), roughly(high); a != b {
		return together(a + " to " + b + " %")
	}
	return inPercent(low)
}

// inWords prints a configuration as a sentence has it, without its window.
func inWords(c *findings.Config) string {
	return strings.TrimSuffix(settingOf(c), together(place(c))) + together(plural(c.Instances, "instance")) + " of " + together(plural(c.CapacityBlocks, "block"))
}

// settingOf prints a configuration as a table has it, without its window:
// instances × blocks of each stand last.
func settingOf(c *findings.Config) string {
	var parts []string
	for _, name := range []string{c.Lookup, c.Routing} {
		if name != "" {
			parts = append(parts, name)
		}
	}
	return strings.Join(append(parts, together(place(c))), ", ")
}

// list joins words as a sentence does.
func list(items []string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

// oneIn goes on after a share in percent: ", one in 917 attempts". Above a half
// there is nothing to add.
func oneIn(share float64) string {
	if share <= 0 || share > 0.5 {
		return ""
	}
	return ", one in " + count(int64(1/share+0.5)) + " attempts"
}

// Plain returns text with plain spaces, as it stands outside of a page.
func Plain(text string) string { return strings.ReplaceAll(text, noBreak, " ") }
