package report

import (
	"encoding/json"
	"io"
)

// writeJSON writes v as one indented document.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// warn says at the top of p that a run under a control is no measurement.
// Nothing and none are the model as it is.
func (p *page) warn(control string) {
	if broken(control) {
		p.title("*** NOT A MEASUREMENT: model broken on purpose (" + control + ") ***")
	}
}

func broken(control string) bool { return control != "" && control != "none" }

// since says where the steady phase begins. A share that is not known is left
// out.
func since(warmup string) string {
	if warmup == "" {
		return ""
	}
	return " (from " + warmup + " of the last timestamp on)"
}
