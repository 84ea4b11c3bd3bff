package result

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// gzipLevel is the fastest: the configuration columns repeat in every row, and
// more effort finds little more.
const gzipLevel = gzip.BestSpeed

// gzipWriter writes cohorts as gzip-compressed CSV.
type gzipWriter struct {
	gz     *gzip.Writer
	prefix []byte // the configuration columns of every row
	buf    []byte
}

func newGzipWriter(w io.Writer, config Config) (CohortWriter, error) {
	// The header of a new gzip.Writer has no time and no name.
	gz, err := gzip.NewWriterLevel(w, gzipLevel)
	if err != nil {
		return nil, err
	}
	prefix, err := configPrefix(config)
	if err != nil {
		return nil, err
	}
	return &gzipWriter{gz, prefix, []byte(strings.Join(cohortFileColumns(), ",") + "\n")}, nil
}

func configPrefix(config Config) ([]byte, error) {
	prefix, err := appendRow(nil, configColumns, &config)
	return append(prefix, ','), err
}

func (w *gzipWriter) Write(cohorts []Cohort) error {
	const enough = 1 << 16
	for i := range cohorts {
		var err error
		if w.buf, err = appendRow(append(w.buf, w.prefix...), cohortColumns, &cohorts[i]); err != nil {
			return err
		}
		w.buf = append(w.buf, '\n')
		if len(w.buf) >= enough {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *gzipWriter) flush() error {
	_, err := w.gz.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *gzipWriter) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.gz.Close()
}

func readGzip(r io.ReaderAt, size int64, config Config) iter.Seq2[[]Cohort, error] {
	return func(yield func([]Cohort, error) bool) {
		if err := streamGzip(io.NewSectionReader(r, 0, size), config, func(batch []Cohort) bool { return yield(batch, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// streamGzip gives the cohorts to take until it returns false.
func streamGzip(r io.Reader, config Config, take func([]Cohort) bool) error {
	prefix, err := configPrefix(config)
	if err != nil {
		return err
	}
	// The gzip reader takes no byte after the stream from a bufio.Reader, so
	// that what follows can be seen.
	compressed := bufio.NewReaderSize(r, 1<<16)
	gz, err := gzip.NewReader(compressed)
	if err != nil {
		return err
	}
	gz.Multistream(false)
	in := newLineReader(gz)
	if err := in.readHeader(cohortFileColumns()); err != nil {
		return err
	}
	batch := make([]Cohort, 0, cohortBatch)
	for {
		text, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		rest, ok := bytes.CutPrefix(text, prefix)
		if !ok {
			return fmt.Errorf("line %d: %q, want a row that begins with %q", in.line, clip(text), prefix)
		}
		batch = batch[:len(batch)+1]
		if err := parseRow(rest, cohortColumns, &batch[len(batch)-1]); err != nil {
			return fmt.Errorf("line %d%w", in.line, err)
		}
		if len(batch) == cohortBatch {
			if !take(batch) {
				return nil
			}
			batch = batch[:0]
		}
	}
	if len(batch) > 0 && !take(batch) {
		return nil
	}
	if _, err := compressed.ReadByte(); err != io.EOF {
		return errors.New("bytes after the end of the gzip stream")
	}
	return nil
}
