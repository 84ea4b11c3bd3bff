package result

import (
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
		p := parquetReader{config: configValues(config)}
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
// side. It takes their values in the form they are stored in, indexes into a
// dictionary or plain integers: a value of the library for each would cost
// several times what it takes to decode them.
type parquetReader struct {
	config  []parquet.Value // what stands in the configuration columns
	groups  []parquet.RowGroup
	columns []parquetColumn
	left    int64 // rows of the row group that are not read
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
	column := &p.columns[i]
	for len(batch) > 0 {
		if err := column.fill(); err != nil {
			return err
		}
		n := min(len(batch), column.values())
		var err error
		if i < len(p.config) {
			err = column.equal(n, p.config[i])
		} else {
			err = cohortReaders[i-len(p.config)](column, batch[:n])
		}
		if err != nil {
			return err
		}
		column.at += n
		batch = batch[n:]
	}
	return nil
}

// cohortReaders put the next values of each cohort column where they belong.
var cohortReaders = []func(*parquetColumn, []Cohort) error{
	func(c *parquetColumn, batch []Cohort) error {
		return lookUp(c, len(batch),
			func(v parquet.Value) (int32, error) { return v.Int32(), nil },
			func(i int, v int32) { batch[i].Instance = v })
	},
	func(c *parquetColumn, batch []Cohort) error {
		data := c.page.Data()
		values := data.Uint64()[c.at:]
		for i := range batch {
			batch[i].BlockHash = values[i]
		}
		return nil
	},
	func(c *parquetColumn, batch []Cohort) error {
		data := c.page.Data()
		values := data.Int64()[c.at:]
		for i := range batch {
			batch[i].LeaderRequest = values[i]
		}
		return nil
	},
	func(c *parquetColumn, batch []Cohort) error {
		data := c.page.Data()
		values := data.Int64()[c.at:]
		for i := range batch {
			batch[i].StartMS = values[i]
		}
		return nil
	},
	func(c *parquetColumn, batch []Cohort) error {
		return lookUp(c, len(batch),
			func(v parquet.Value) (int64, error) { return v.Int64(), nil },
			func(i int, v int64) { batch[i].FanIn = v })
	},
	func(c *parquetColumn, batch []Cohort) error {
		return lookUp(c, len(batch),
			func(v parquet.Value) (Phase, error) {
				phase, err := parsePhase(v.ByteArray())
				if err != nil {
					err = fmt.Errorf("%q: %w", clip(v.ByteArray()), err)
				}
				return phase, err
			},
			func(i int, v Phase) { batch[i].Phase = v })
	},
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
	pages parquet.Pages
	page  parquet.Page // nil before and between pages
	at    int          // values of the page that are read
}

var errColumnEnd = errors.New("ends before the row group")

// fill goes on to the next page with values if none of this one is left.
func (c *parquetColumn) fill() error {
	for c.page == nil || c.values() == 0 {
		c.release()
		page, err := c.pages.ReadPage()
		if err == io.EOF {
			return errColumnEnd
		}
		if err != nil {
			return err
		}
		c.page = page
	}
	return nil
}

// values returns how many values of the page are left.
func (c *parquetColumn) values() int { return int(c.page.NumValues()) - c.at }

// indexes returns the next n values of a page as indexes into its dictionary.
func (c *parquetColumn) indexes(n int) (indexes []int32, dictionary parquet.Dictionary, err error) {
	dictionary = c.page.Dictionary()
	if dictionary == nil {
		return nil, nil, errors.New("a page without a dictionary")
	}
	data := c.page.Data()
	indexes = data.Int32()[c.at : c.at+n]
	for _, i := range indexes {
		if uint(i) >= uint(dictionary.Len()) {
			return nil, nil, fmt.Errorf("value %d of a dictionary of %d", i, dictionary.Len())
		}
	}
	return indexes, dictionary, nil
}

// equal checks that the next n values are want.
func (c *parquetColumn) equal(n int, want parquet.Value) error {
	return lookUp(c, n, func(v parquet.Value) (struct{}, error) {
		if !parquet.Equal(v, want) {
			return struct{}{}, fmt.Errorf("%v, want %v", v, want)
		}
		return struct{}{}, nil
	}, nil)
}

// lookUp gives the next n values of a column with a dictionary to set, in the
// form that parse makes of those that occur; set may be nil.
func lookUp[T any](c *parquetColumn, n int, parse func(parquet.Value) (T, error), set func(int, T)) error {
	indexes, dictionary, err := c.indexes(n)
	if err != nil {
		return err
	}
	// Values come in long runs.
	last, value := int32(-1), *new(T)
	for i, index := range indexes {
		if index != last {
			if value, err = parse(dictionary.Index(index)); err != nil {
				return err
			}
			last = index
		}
		if set != nil {
			set(i, value)
		}
	}
	return nil
}

// end checks that no value is left.
func (c *parquetColumn) end() error {
	switch err := c.fill(); err {
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
		c.page, c.at = nil, 0
	}
}

func (c *parquetColumn) close() {
	c.release()
	_ = c.pages.Close() // nothing is lost by an error: it was only read
}
