package trace

import (
	"bytes"
	"io"
)

const (
	// maxLine is the longest line, without its newline, that is parsed. It is
	// what bounds the memory of reading: a record of a million blocks of
	// 20-digit hashes is longer, and no model has such a prompt.
	maxLine = 16 << 20

	// readSize is how much is asked of the source at once: large enough that
	// system calls do not show, small enough that text is still in the cache
	// when it is hashed and parsed.
	readSize = 256 << 10

	// linePad is how many bytes beyond a line may be read (not used), so that
	// digits can be taken eight at a time without looking for the end.
	linePad = 8
)

// lines splits text into lines without copying them.
type lines struct {
	r    io.Reader
	buf  []byte // text, then at least linePad bytes
	i, j int    // buf[i:j] is read and not yet returned
	err  error  // what r ended with
	read int64  // bytes that came from r

	no   int64 // number of the line returned last, from 1
	long int64 // its length, if it was longer than maxLine; else 0
}

func newLines(r io.Reader) *lines {
	return &lines{r: r, buf: make([]byte, readSize+linePad)}
}

// next returns the next line without its newline, valid until the next call.
// The line is followed in memory by a newline and at least linePad-1 further
// bytes, so line[:len(line)+linePad] exists. Of a line longer than maxLine it
// returns the start, and sets long. At the end it returns io.EOF; on any other
// error an unfinished line is not returned.
func (l *lines) next() ([]byte, error) {
	l.long = 0
	for seen := 0; ; { // bytes of buf[i:j] that hold no newline
		if n := bytes.IndexByte(l.buf[l.i+seen:l.j], '\n'); n >= 0 && seen+n <= maxLine {
			line := l.buf[l.i : l.i+seen+n]
			l.i += seen + n + 1
			l.no++
			return line, nil
		}
		seen = l.j - l.i
		switch {
		case seen > maxLine:
			return l.skip()
		case l.err == io.EOF && seen > 0:
			l.buf[l.j] = '\n' // the missing one, for the caller that reads beyond
			line := l.buf[l.i:l.j]
			l.i = l.j
			l.no++
			return line, nil
		case l.err != nil:
			return nil, l.err
		}
		l.fill()
	}
}

// passed returns how many bytes of text the lines returned so far make up.
func (l *lines) passed() int64 { return l.read - int64(l.j-l.i) }

// skip drops the rest of a line that is too long and returns its start.
func (l *lines) skip() ([]byte, error) {
	start := bytes.Clone(l.buf[l.i : l.i+2*maxShown])
	for {
		n := bytes.IndexByte(l.buf[l.i:l.j], '\n')
		if n >= 0 {
			l.long += int64(n)
			l.i += n + 1
			break
		}
		l.long += int64(l.j - l.i)
		l.i = l.j
		if l.err == io.EOF {
			break
		}
		if l.err != nil {
			return nil, l.err
		}
		l.fill()
	}
	l.no++
	return start, nil
}

// fill reads more text behind buf[i:j]; if there is none it sets err.
func (l *lines) fill() {
	if l.i > 0 {
		l.j = copy(l.buf, l.buf[l.i:l.j])
		l.i = 0
	}
	if room := len(l.buf) - linePad - l.j; room == 0 {
		// One line fills the buffer. One byte more than maxLine is all that
		// next ever waits for, so it need not grow past that and a read.
		size := 4 * (len(l.buf) - linePad)
		if size >= maxLine {
			size = maxLine + readSize
		}
		grown := make([]byte, size+linePad)
		copy(grown, l.buf[:l.j])
		l.buf = grown
	}
	for range 100 { // a reader may return nothing now and then, but not for ever
		n, err := l.r.Read(l.buf[l.j : len(l.buf)-linePad])
		l.j += n
		l.read += int64(n)
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
