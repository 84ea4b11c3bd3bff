package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"kvfanin/internal/result"
)

// journalName is the file in DIR.partial that tells what was committed.
//
// Its first line is the Header, each other line a record. A line is a
// checksum, a space, a JSON value and a newline; the checksum is the hex
// SHA-256 of the value. Lines are appended, so a run that is killed leaves at
// worst one that is torn; from the first line that is not as it was written
// on, nothing is believed.
const journalName = ".journal.jsonl"

// record is what was committed at once.
type record struct {
	Trace   int     `json:"trace"` // index into Header.Traces
	Given   []Given `json:"given"`
	Cohorts *File   `json:"cohorts,omitempty"` // their one cohort file, where cohorts are kept
}

// Given is what a configuration gave.
type Given struct {
	Config  int             `json:"config"` // index into the configurations of the grid
	Outcome *result.Outcome `json:"outcome"`
}

// journal is the open journal of a run.
type journal struct {
	dir  *partial
	file *os.File
}

// startJournal replaces whatever journal there is by one without records.
func startJournal(d *partial, h *Header) (*journal, error) {
	f, err := d.root.OpenFile(journalName, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, d.fail(journalName, err)
	}
	d.step()
	j := &journal{d, f}
	return j, j.append(h)
}

// append adds a line. After an error the journal is good for nothing but to be
// read again.
func (j *journal) append(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return j.dir.fail(journalName, err)
	}
	if _, err := fmt.Fprintf(j.file, "%s %s\n", hexSum(b), b); err != nil {
		return j.dir.fail(journalName, err)
	}
	j.dir.step()
	return nil
}

// readJournal returns the journal, open to go on after its last whole record,
// and those records. The journal is nil if not even its header is whole. The
// error is an otherRun if it is that of a run with another header.
func readJournal(d *partial, h *Header) (*journal, []record, error) {
	f, err := d.root.OpenFile(journalName, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, d.fail(journalName, err)
	}
	j := &journal{d, f}
	records, good, err := readRecords(f, h)
	if err != nil || good == 0 {
		j.close()
		return nil, nil, err
	}
	if err := f.Truncate(good); err != nil {
		j.close()
		return nil, nil, d.fail(journalName, err)
	}
	d.step()
	if _, err := f.Seek(good, io.SeekStart); err != nil {
		j.close()
		return nil, nil, d.fail(journalName, err)
	}
	return j, records, nil
}

// readRecords returns the records of a journal of h and the length of what is
// whole, 0 if not even the header is.
func readRecords(r io.Reader, h *Header) (records []record, good int64, err error) {
	in := bufio.NewReader(r)
	header, n := readLine(in)
	if header == nil {
		return nil, 0, nil
	}
	if err := sameRun(header, h); err != nil {
		return nil, 0, err
	}
	configs := h.Parameters.Configs()
	for good = n; ; good += n {
		var line []byte
		if line, n = readLine(in); line == nil {
			return records, good, nil
		}
		var r record
		if !r.decode(line, h, configs) {
			return records, good, nil
		}
		records = append(records, r)
	}
}

// readLine returns the value in the next line and the length of the line; the
// value is nil if the line is not whole.
func readLine(in *bufio.Reader) (value []byte, n int64) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, 0
	}
	sum, value, _ := bytes.Cut(line[:len(line)-1], []byte{' '})
	if string(sum) != hexSum(value) {
		return nil, 0
	}
	return value, int64(len(line))
}

// decode reads a record and says whether it is one of such a run.
func (r *record) decode(line []byte, h *Header, configs []result.Config) bool {
	return decodeStrict(line, r) == nil && r.fits(h, configs)
}

// fits says whether r is of a run of h, which has these configurations.
func (r *record) fits(h *Header, configs []result.Config) bool {
	for _, g := range r.Given {
		if g.Config < 0 || g.Config >= len(configs) ||
			g.Outcome == nil || len(g.Outcome.Instances) != configs[g.Config].Instances {
			return false
		}
	}
	return r.Trace >= 0 && r.Trace < len(h.Traces) && len(r.Given) > 0 &&
		(r.Cohorts == nil) == (h.Parameters.Cohorts == CohortsOff) &&
		(r.Cohorts == nil || len(r.Cohorts.Configurations) == len(r.Given))
}

// close lets go of the journal; what was appended is in it.
func (j *journal) close() { _ = j.file.Close() }
