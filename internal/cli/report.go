package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"kvfanin/internal/decision"
	"kvfanin/internal/page"
	"kvfanin/internal/report"
	"kvfanin/internal/rundir"
)

// defaultPage is where a page goes that is given no place.
const defaultPage = "kvfanin-report.html"

func newReport(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR [DIR]",
		Short: "The findings of a run as a page, Markdown or JSON",
		Long: `Makes a page of a finished run from its directory alone: the answer, the curve,
the tables of the study, where joins come from, how far they hold, and whether
coordination is worth it. The page is one HTML file that asks nothing of any
server and can be read with scripts off.

With two runs their tables stand side by side, with the difference. Traces are
paired by name, or with each other if each run has one. Runs of different
parameters are refused.`,
		Example: `  kvfanin report run --open
  kvfanin report run --format md
  kvfanin report run --inputs costs.toml
  kvfanin report before after -o difference.html`,
		Args: takes(1, 2, "DIR"),
	}
	flags := cmd.Flags()
	format := choiceFlag(flags, "format", "form of the report", "html", "md", "json", "text")
	output := flags.StringP("output", "o", "", "`file`, or - for stdout (default "+defaultPage+" for html, else stdout)")
	open := flags.Bool("open", false, "open the page")
	inputs := flags.String("inputs", "", "TOML `file` of costs that the decision on the page starts from (see kvfanin decide --example)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path := *output
		if path == "" && *format == "html" {
			path = defaultPage
		}
		switch {
		case *open && *format != "html":
			return usageError{fmt.Errorf("--open opens a page: it does not go with --format %s", *format)}
		case *open && path == "-":
			return usageError{errors.New("--open opens a file: it does not go with -o -")}
		case *inputs != "" && (*format != "html" || len(args) > 1):
			return usageError{errors.New("--inputs goes with the page of one run")}
		}
		options, err := pageOptions(*inputs)
		if err != nil {
			return err
		}
		write, err := reported(args, *format, options)
		if err != nil {
			return err
		}
		out, err := newOutput(cmd.Context(), e.stdout, path)
		if err != nil {
			return err
		}
		defer out.abandon()
		if err := write(out); err != nil {
			return out.failed(err)
		}
		if err := out.publish(); err != nil {
			return err
		}
		if path != "" && path != "-" {
			e.note("the report is in %s", path)
		}
		if *open {
			return openFile(path)
		}
		return nil
	}
	return cmd
}

// pageOptions reads the inputs of the decision, if there are any.
func pageOptions(path string) (o page.Options, err error) {
	if path == "" {
		return o, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return o, usageError{fmt.Errorf("--inputs %s: %w", path, cause(err))}
	}
	defer func() { _ = file.Close() }()
	if o.Inputs, err = decision.ReadInputs(file, path); err == nil {
		err = o.Inputs.Check()
	}
	if err != nil {
		return o, usageError{fmt.Errorf("--inputs: %w", err)}
	}
	return o, nil
}

// reported returns what writes the report of one run, or of two.
func reported(dirs []string, format string, options page.Options) (func(io.Writer) error, error) {
	var documents []*report.Document
	for _, dir := range dirs {
		run, err := rundir.Open(dir)
		if err != nil {
			return nil, err
		}
		documents = append(documents, report.DocumentOf(run))
	}
	if len(documents) == 1 {
		d := documents[0]
		return map[string]func(io.Writer) error{
			"html": func(w io.Writer) error { return page.Write(w, d, options) },
			"md":   d.Markdown,
			"json": d.JSON,
			"text": d.Text,
		}[format], nil
	}
	c, err := report.Compare(documents[0], documents[1])
	if err != nil {
		return nil, usageError{fmt.Errorf("%s and %s: %w", dirs[0], dirs[1], err)}
	}
	return map[string]func(io.Writer) error{
		"html": func(w io.Writer) error { return page.WriteComparison(w, c) },
		"md":   c.Markdown,
		"json": c.JSON,
		"text": c.Text,
	}[format], nil
}

// openers are the programs that open a file, by system.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// openFile opens a file with what the system opens it with.
func openFile(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	opener := openers[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}

	if err := exec.Command(opener[0], append(opener[1:], path)...).Run(); err != nil {
		return fmt.Errorf("open %s with %s: %w; open it in a browser", path, opener[0], err)
	}
	return nil
}
