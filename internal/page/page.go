package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"kvfanin/internal/decision"
	"kvfanin/internal/report"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed compare.html
	compareHTML string
	//go:embed parts.html
	partsHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// script is what a page runs: the arithmetic of a decision, with its names kept
// to itself, then the choosing.
var script = "const DECIDE = (() => {\n" + decision.Script + "\nreturn { decide, formatNumber, formatPercent };\n})();\n" + strings.TrimSpace(pageJS)

var pages = template.Must(template.Must(template.New("parts").Funcs(template.FuncMap{
	"bar":   bar,
	"prose": prose,
	"short": func(text string) bool { return utf8.RuneCountInString(text) < 16 },
}).Parse(partsHTML)).Parse(pageHTML + compareHTML))

// Options are what a page is made with beside the run.
type Options struct {
	// Inputs are what the decision starts from; an example if there are none.
	Inputs decision.Inputs
}

// Write writes the page of a run.
func Write(w io.Writer, d *report.Document, o Options) error {
	v, err := viewOf(d, o)
	if err != nil {
		return err
	}
	return execute(w, "page", v)
}

// execute runs a template of pages. The whole page is made before any of it is
// written.
func execute(w io.Writer, name string, v any) error {
	var buf bytes.Buffer
	if err := pages.ExecuteTemplate(&buf, name, v); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// frame is what every page has around its content.
type frame struct {
	Title  string
	Policy string // the Content-Security-Policy: this style and this script, and no request
	Style  template.CSS
	Script template.JS
}

// frameOf returns the frame of a page with a script, or without if it is empty.
func frameOf(title, script string) frame {
	style := strings.TrimSpace(pageCSS)
	policy := []string{"default-src 'none'", "style-src " + hashed(style), "img-src data:", "base-uri 'none'", "form-action 'none'"}
	if script != "" {
		policy = append(policy, "script-src "+hashed(script))
	}
	return frame{
		Title:  title,
		Policy: strings.Join(policy, "; "),
		Style:  template.CSS(style),
		Script: template.JS(script),
	}
}

// hashed is the source expression of an inline style or script.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// typed is what of a sentence a person would type.
var typed = regexp.MustCompile(`kvfanin study( --[a-z]+)?|--[a-z]+( [a-z0-9_]+(,[a-z0-9_]+)+)?`)

// prose sets what a person would type apart from the words around it.
func prose(text string) template.HTML {
	var b strings.Builder
	last := 0
	for _, at := range typed.FindAllStringIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[last:at[0]]) + "<code>" + template.HTMLEscapeString(text[at[0]:at[1]]) + "</code>")
		last = at[1]
	}
	b.WriteString(template.HTMLEscapeString(text[last:]))
	return template.HTML(b.String())
}
