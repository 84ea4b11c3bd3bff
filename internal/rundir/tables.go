package rundir

import (
	"io"
	"slices"

	"kvfanin/internal/result"
)

// table is a kind of file with rows that every trace of a run has.
type table struct {
	name   string
	beside bool // only of a run with Sensitivity
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
	tableOf(result.ConcentrationFile, func(r *result.Rows) *[]result.ConcentrationRow { return &r.Concentrations }),
	beside(tableOf(result.ArmTable, func(r *result.Rows) *[]result.ArmRow { return &r.Arms })),
	beside(tableOf(result.ArmRelationTable, func(r *result.Rows) *[]result.ArmRelationRow { return &r.ArmRelations })),
	beside(tableOf(result.CurveTable, func(r *result.Rows) *[]result.ArmRow { return &r.Curve })),
	beside(tableOf(result.CurveRelationTable, func(r *result.Rows) *[]result.ArmRelationRow { return &r.CurveRelations })),
	beside(tableOf(result.SpanTable, func(r *result.Rows) *[]result.SpanRow { return &r.Spans })),
	beside(tableOf(result.ThresholdTable, func(r *result.Rows) *[]result.ThresholdRow { return &r.Thresholds })),
}

// tables returns those of a run of h.
func (h *Header) tables() []table {
	if h.Parameters.Sensitivity != nil {
		return tables
	}
	return slices.DeleteFunc(slices.Clone(tables), func(t table) bool { return t.beside })
}

// codec is how rows are written and read back.
type codec[R any] interface {
	Name() string
	Write(io.Writer, []R) error
	Read(io.Reader) ([]R, error)
}

func tableOf[R any](t codec[R], field func(*result.Rows) *[]R) table {
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

func beside(t table) table {
	t.beside = true
	return t
}
