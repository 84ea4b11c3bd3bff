package report

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	width  = 80
	indent = "  "
)

// page is text in the making: titles, paragraphs and tables, each set off by
// an empty line.
type page struct {
	buf bytes.Buffer
}

// writeTo writes the page to w.
func (p *page) writeTo(w io.Writer) error {
	_, err := w.Write(p.buf.Bytes())
	return err
}

func (p *page) blank() {
	if p.buf.Len() > 0 {
		p.buf.WriteByte('\n')
	}
}

// title opens a section.
func (p *page) title(text string) {
	p.blank()
	p.buf.WriteString(text + "\n")
}

// trace opens all that is said of one trace.
func (p *page) trace(name string) {
	p.title(name)
	p.buf.WriteString(strings.Repeat("=", min(runes(name), width)) + "\n")
}

// text writes a paragraph. A space that must not end a line is a no-break
// space in text, and a plain one on the page.
func (p *page) text(text string) {
	p.blank()
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case runes(indent)+runes(line)+1+runes(word) <= width:
			line += " " + word
		default:
			p.line(line)
			line = word
		}
	}
	p.line(line)
}

func (p *page) line(text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, noBreak, " "), " ")
	p.buf.WriteString(indent + text + "\n")
}

const noBreak = "\u00a0"

// together makes text one word for a paragraph.
func together(text string) string { return strings.ReplaceAll(text, " ", noBreak) }

// table is rows of cells, in columns. The first columns are aligned to the
// left, the others to the right, as numbers are.
type table struct {
	left int // so many columns to the left
	rows [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// table writes t, its columns three spaces apart, or closer if it is too wide.
func (p *page) table(t *table) {
	p.blank()
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runes(cell))
		}
	}
	total := runes(indent)
	for _, w := range widths {
		total += w
	}
	gap := 3
	for gap > 1 && total+gap*(len(widths)-1) > width {
		gap--
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			pad := strings.Repeat(" ", widths[i]-runes(cell))
			if i < t.left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		p.line(line.String())
	}
}

// runes is how many columns text takes: the tables have nothing wider than
// one column.
func runes(text string) int { return utf8.RuneCountInString(text) }
