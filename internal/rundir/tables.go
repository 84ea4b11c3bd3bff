package rundir

import (
	"io"

	"kvfanin/internal/result"
)

// table is a kind of CSV file that every trace of a run has.
type table struct {
	name   string
	length func(*result.Rows) int
	write  func(io.Writer, *result.Rows) error
	read   func(io.Reader, *result.Rows) error
}

// tables are all of them. A new one is a new line.
var tables = []table{
	tableOf(result.PhaseTable, func(r *result.Rows) *[]result.PhaseRow { return &r.Phases }),
	tableOf(result.InstanceTable, func(r *result.Rows) *[]result.InstanceRow { return &r.Instances }),
	tableOf(result.RelationTable, func(r *result.Rows) *[]result.RelationRow { return &r.Relations }),
	tableOf(result.FanInTable, func(r *result.Rows) *[]result.FanInRow { return &r.FanIns }),
}

func tableOf[R any](t *result.Table[R], field func(*result.Rows) *[]R) table {
	return table{
		name:   t.Name(),
		length: func(rows *result.Rows) int { return len(*field(rows)) },
		write:  func(w io.Writer, rows *result.Rows) error { return t.Write(w, *field(rows)) },
		read: func(r io.Reader, rows *result.Rows) (err error) {
			*field(rows), err = t.Read(r)
			return err
		},
	}
}
