package cli

import (
	"fmt"
	"io"
)

// count returns n and a noun in its number.
func count[I int | int64](n I, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// document is a result in the forms it can be printed in.
type document interface {
	Text(io.Writer) error
	JSON(io.Writer) error
	CSV(io.Writer) error
}

// print prints a result to stdout in the form asked for.
func (e *env) print(format string, d document) error {
	switch format {
	case "json":
		return d.JSON(e.stdout)
	case "csv":
		return d.CSV(e.stdout)
	default:
		return d.Text(e.stdout)
	}
}
