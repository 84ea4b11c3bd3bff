package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Markdown writes the answer and the tables behind it, short enough for a
// comment on an issue.
func (d *Document) Markdown(w io.Writer) error {
	var m markdown
	m.line("### kvfanin: %s", d.Names())
	if text := d.Warning(); text != "" {
		m.line("> **%s**", text)
	}
	for i := range d.Traces {
		t := &d.Traces[i]
		f := t.Findings
		m.line("#### %s", t.Source.Name)
		m.line("- **Is there concurrent overlap?** %s\n- **Where does it come from?** %s\n- **Does it survive another reading?** %s",
			t.Answer.Overlap, t.Answer.Origin, t.Answer.Survives)
		for _, x := range []*Exhibit{Redundancies(f, d.Parameters.Warmup), Concentrated(f), TieReadings(f)} {
			m.exhibit(x)
		}
		if f.Sensitivity != nil && f.Sensitivity.Routing != nil {
			m.line("**Routing with load held constant.** %s", f.Sensitivity.Routing.Statement)
		}
	}
	m.line("%s", d.scope())
	m.line("<details><summary>What was run, and how to make it again</summary>")
	for i := range d.Traces {
		s := &d.Traces[i].Source
		m.line("- `%s`: %s, %s, sha256 `%s`", s.Name, plural(s.Requests, "request"), plural(s.Lookups, "lookup"), s.SHA256)
	}
	m.line("kvfanin %s; %s; blocks of %s; warm-up: requests before %s of the last timestamp.", d.Version, d.Grid(), plural(d.Parameters.BlockTokens, "token"), d.Parameters.Warmup)
	m.line("```\n%s\n```", strings.Join(d.Commands(), "\n"))
	m.line("</details>")
	return m.writeTo(w)
}

// scope is what every form of a document says of its figures.
func (d *Document) scope() string {
	return "Redundancy is joins ÷ cold load attempts in the steady phase: an upper bound of what merging loads can remove, no share of time or bytes and no speed-up. " +
		"Instances, routing and capacity are the model's; the replay is open-loop; equal timestamps count as simultaneous unless another reading is named."
}

// markdown is GitHub's Markdown in the making: blocks apart by an empty line.
type markdown struct{ buf bytes.Buffer }

func (m *markdown) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, Plain(m.buf.String()))
	return err
}

func (m *markdown) line(format string, args ...any) {
	if m.buf.Len() > 0 {
		m.buf.WriteByte('\n')
	}
	fmt.Fprintf(&m.buf, format+"\n", args...)
}

// exhibit writes a table under its title, or what stands in its place.
func (m *markdown) exhibit(x *Exhibit) {
	if x.Instead != "" {
		m.line("**%s.** %s", x.Title, x.Instead)
		return
	}
	m.line("**%s.** %s.", x.Title, strings.TrimSuffix(x.Caption, "."))
	m.table(x)
	for _, n := range x.Notes {
		m.line("%s", n)
	}
}

func (m *markdown) table(x *Exhibit) {
	rows := [][]string{nil}
	for _, c := range x.Columns {
		label := c.Label
		if c.Group != "" {
			label = c.Group + ": " + label
		}
		rows[0] = append(rows[0], label)
	}
	for _, cells := range x.Rows {
		var row []string
		for _, c := range cells {
			row = append(row, c.Text)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(x.Columns))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text), 3)
		}
	}
	m.buf.WriteByte('\n')
	for k, row := range rows {
		for i, text := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if x.Columns[i].Text {
				text += pad
			} else {
				text = pad + text
			}
			m.buf.WriteString("| " + strings.ReplaceAll(text, "|", `\|`) + " ")
		}
		m.buf.WriteString("|\n")
		if k > 0 {
			continue
		}
		for i, width := range widths {
			mark := strings.Repeat("-", width)
			if !x.Columns[i].Text {
				mark = mark[1:] + ":"
			}
			m.buf.WriteString("| " + mark + " ")
		}
		m.buf.WriteString("|\n")
	}
}
