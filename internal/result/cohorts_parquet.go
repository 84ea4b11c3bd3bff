package result

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// parquetRow is a row of a cohort file as Parquet stores it. The configuration
// is the same in all rows, so that its dictionary has one entry and its column
// costs some bytes a page; differences of neighbours are small in the columns
// of the trace.
type parquetRow struct {
	Lookup         string `parquet:"lookup,dict"`
	Routing        string `parquet:"routing,dict"`
	Instances      int64  `parquet:"instances,dict"`
	CapacityBlocks int64  `parquet:"capacity_blocks,dict"`
	WindowMS       int64  `parquet:"window_ms,dict"`
	Instance       int32  `parquet:"instance,dict"`
	BlockHash      uint64 `parquet:"block_hash,delta"`
	LeaderRequest  int64  `parquet:"leader_request,delta"`
	StartMS        int64  `parquet:"start_ms,delta"`
	FanIn          int64  `parquet:"fanin,dict"`
	Phase          string `parquet:"phase,dict"`
}

// parquetSchema gives the root a name that does not change with the type's.
var parquetSchema = parquet.NewSchema("cohort", parquet.SchemaOf(parquetRow{}))

// rowGroupRows bounds what a writer holds: compressed pages of so many rows.
// It is a multiple of cohortBatch.
const rowGroupRows = 1 << 20

// parquetWriter writes cohorts as Parquet.
type parquetWriter struct {
	out  *parquet.GenericWriter[parquetRow]
	rows []parquetRow // a batch; the configuration stands in each element
	n    int          // rows filled
}

func newParquetWriter(w io.Writer, config Config) (CohortWriter, error) {
	p := &parquetWriter{
		out: parquet.NewGenericWriter[parquetRow](w,
			parquetSchema,
			parquet.MaxRowsPerRowGroup(rowGroupRows),
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
			// The page index and the row group have the bounds already.
			parquet.DataPageStatistics(false),
			// Not the library's default, which is the version of whatever
			// program it is linked into.
			parquet.CreatedBy("kvfanin", "1", "cohorts"),
		),
		rows: make([]parquetRow, cohortBatch),
	}
	for i := range p.rows {
		p.rows[i] = parquetRow{
			Lookup:         config.Lookup,
			Routing:        config.Routing,
			Instances:      int64(config.Instances),
			CapacityBlocks: int64(config.CapacityBlocks),
			WindowMS:       config.WindowMS,
		}
	}
	return p, nil
}

func (p *parquetWriter) Write(cohorts []Cohort) error {
	for i := range cohorts {
		c, row := &cohorts[i], &p.rows[p.n]
		row.Instance = c.Instance
		row.BlockHash = c.BlockHash
		row.LeaderRequest = c.LeaderRequest
		row.StartMS = c.StartMS
		row.FanIn = c.FanIn
		row.Phase = c.Phase.String()
		// A page ends where a call of the library finds it full, so that the
		// batches given to it must be the same for the same cohorts.
		if p.n++; p.n == len(p.rows) {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parquetWriter) flush() error {
	_, err := p.out.Write(p.rows[:p.n])
	p.n = 0
	return err
}

func (p *parquetWriter) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Close()
}

func readParquet(r io.ReaderAt, size int64, config Config) iter.Seq2[[]Cohort, error] {
	return func(yield func([]Cohort, error) bool) {
		p := parquetReader{want: configValues(config)}
		defer p.close()
		if err := guard(func() error { return p.open(r, size) }); err != nil {
			yield(nil, err)
			return
		}
		batch := make([]Cohort, cohortBatch)
		for {
			var n int
			err := guard(func() (err error) {
				n, err = p.read(batch)
				return err
			})
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(batch[:n], nil) {
				return
			}
		}
	}
}

// guard turns a panic in do into an error. The library checks much of what it
// reads but not all: a file of other bytes than a writer's can take it out of
// the bounds of a slice, and a damaged file must not end the program that is
// there to say that it is damaged.
func guard(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged Parquet file: %v", p)
		}
	}()
	return do()
}

// parquetReader reads the columns of one row group after the other side by
// side.
type parquetReader struct {
	want    []parquet.Value // of the configuration columns
	groups  []parquet.RowGroup
	columns []parquetColumn
	left    int64 // rows of the row group that are not read
	values  [cohortBatch]parquet.Value
}

func configValues(c Config) []parquet.Value {
	return []parquet.Value{
		parquet.ValueOf(c.Lookup),
		parquet.ValueOf(c.Routing),
		parquet.ValueOf(int64(c.Instances)),
		parquet.ValueOf(int64(c.CapacityBlocks)),
		parquet.ValueOf(c.WindowMS),
	}
}

func (p *parquetReader) open(r io.ReaderAt, size int64) error {
	// The library allocates the footer by the length that stands before the
	// last four bytes, whatever it is.
	const tail = 8
	var end [tail]byte
	if size < tail {
		return fmt.Errorf("%d bytes are no Parquet file", size)
	}
	if _, err := r.ReadAt(end[:], size-tail); err != nil && err != io.EOF {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-tail {
		return fmt.Errorf("a Parquet footer of %d bytes in a file of %d", n, size)
	}
	f, err := parquet.OpenFile(r, size, parquet.ReadBufferSize(1<<16))
	if err != nil {
		return err
	}
	if got, want := f.Schema().String(), parquetSchema.String(); got != want {
		return fmt.Errorf("schema %q, want %q", got, want)
	}
	// A codec that no writer of ours uses is damage, and some of the library's
	// allocate by what a damaged page says.
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			if c.MetaData.Codec != format.Zstd {
				return fmt.Errorf("codec %v, want %v", c.MetaData.Codec, format.Zstd)
			}
		}
	}
	p.groups = f.RowGroups()
	var rows int64
	for _, g := range p.groups {
		rows += g.NumRows()
	}
	if rows != f.NumRows() {
		return fmt.Errorf("%d rows in all, %d in the row groups", f.NumRows(), rows)
	}
	return nil
}

// read fills batch from its start and returns how many rows it has; io.EOF
// with none.
func (p *parquetReader) read(batch []Cohort) (int, error) {
	for p.left == 0 {
		for i := range p.columns {
			if err := p.columns[i].end(); err != nil {
				return 0, fmt.Errorf("column %s: %w", parquetSchema.Columns()[i][0], err)
			}
		}
		p.close()
		if len(p.groups) == 0 {
			return 0, io.EOF
		}
		for _, chunk := range p.groups[0].ColumnChunks() {
			p.columns = append(p.columns, parquetColumn{pages: chunk.Pages()})
		}
		p.left = p.groups[0].NumRows()
		p.groups = p.groups[1:]
	}
	batch = batch[:min(int64(len(batch)), p.left)]
	p.left -= int64(len(batch))
	for i := range p.columns {
		if err := p.readColumn(i, batch); err != nil {
			return 0, fmt.Errorf("column %s: %w", parquetSchema.Columns()[i][0], err)
		}
	}
	return len(batch), nil
}

func (p *parquetReader) readColumn(i int, batch []Cohort) error {
	for len(batch) > 0 {
		n, err := p.columns[i].read(p.values[:len(batch)])
		if err != nil {
			return err
		}
		for j, v := range p.values[:n] {
			if i < len(p.want) {
				if !parquet.Equal(v, p.want[i]) {
					return fmt.Errorf("%v, want %v", v, p.want[i])
				}
			} else if err := cohortSetters[i-len(p.want)](&batch[j], v); err != nil {
				return fmt.Errorf("%q: %w", clip(v.ByteArray()), err)
			}
		}
		batch = batch[n:]
	}
	return nil
}

// cohortSetters put a value of each cohort column where it belongs.
var cohortSetters = []func(*Cohort, parquet.Value) error{
	func(c *Cohort, v parquet.Value) error { c.Instance = v.Int32(); return nil },
	func(c *Cohort, v parquet.Value) error { c.BlockHash = v.Uint64(); return nil },
	func(c *Cohort, v parquet.Value) error { c.LeaderRequest = v.Int64(); return nil },
	func(c *Cohort, v parquet.Value) error { c.StartMS = v.Int64(); return nil },
	func(c *Cohort, v parquet.Value) error { c.FanIn = v.Int64(); return nil },
	func(c *Cohort, v parquet.Value) (err error) { c.Phase, err = parsePhase(v.ByteArray()); return err },
}

// close lets go of the columns of a row group.
func (p *parquetReader) close() {
	for i := range p.columns {
		p.columns[i].close()
	}
	p.columns = p.columns[:0]
}

// parquetColumn reads one column of a row group.
type parquetColumn struct {
	pages  parquet.Pages
	page   parquet.Page        // nil before and between pages
	values parquet.ValueReader // of page
}

var errColumnEnd = errors.New("ends before the row group")

// read reads at least one value. What they point to is valid until the next
// call.
func (c *parquetColumn) read(values []parquet.Value) (int, error) {
	for {
		if c.page == nil {
			page, err := c.pages.ReadPage()
			if err == io.EOF {
				return 0, errColumnEnd
			}
			if err != nil {
				return 0, err
			}
			c.page, c.values = page, page.Values()
		}
		n, err := c.values.ReadValues(values)
		if n > 0 {
			return n, nil
		}
		if err != io.EOF {
			return 0, cmp.Or(err, io.ErrNoProgress)
		}
		c.release()
	}
}

// end checks that no value is left.
func (c *parquetColumn) end() error {
	var one [1]parquet.Value
	switch _, err := c.read(one[:]); err {
	case errColumnEnd:
		return nil
	case nil:
		return errors.New("goes on after the row group")
	default:
		return err
	}
}

func (c *parquetColumn) release() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
}

func (c *parquetColumn) close() {
	c.release()
	_ = c.pages.Close() // nothing is lost by an error: it was only read
}
