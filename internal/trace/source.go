package trace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// open opens what ref names. A regular file comes back as an *os.File; pipes
// and standard input as a reader that also ends when ctx does.
func open(ctx context.Context, ref Ref, stdin io.Reader) (io.ReadCloser, error) {
	if ref.Path == "-" {
		if stdin == nil {
			return nil, errors.New("stdin: there is none to read a trace from")
		}
		return stream(ctx, func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }), nil
	}
	info, err := os.Stat(ref.Path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: got a directory, want a trace file", ref.Path)
	}
	if info.Mode().IsRegular() {
		return os.Open(ref.Path)
	}
	return stream(ctx, func() (io.ReadCloser, error) { return os.Open(ref.Path) }), nil
}

// stream reads in the background: opening or reading a pipe can wait for its
// other side for ever, and only so can ctx or Close end the wait. The reader
// left behind ends with the pipe, at the latest with the process.
func stream(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	pr, pw := io.Pipe()
	context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	go func() {
		r, err := open()
		if err == nil {
			_, err = io.Copy(pw, r)
			_ = r.Close()
		}
		pw.CloseWithError(err)
	}()
	return pr
}

// openSeekable opens what ref names as a file that can be read twice. What
// cannot be is first copied to a temporary file that no longer has a name, so
// that nothing stays behind whatever happens.
func openSeekable(ctx context.Context, ref Ref, stdin io.Reader) (*os.File, error) {
	r, err := open(ctx, ref, stdin)
	if err != nil {
		return nil, err
	}
	if f, ok := r.(*os.File); ok {
		return f, nil
	}
	defer func() { _ = r.Close() }()
	tmp, err := os.CreateTemp("", "kvfanin-*")
	if err != nil {
		return nil, fmt.Errorf("%s: a pipe is first copied to a temporary file: %w", ref.file(), err)
	}
	err = os.Remove(tmp.Name())
	if err == nil {
		_, err = io.Copy(tmp, r)
	}
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	switch {
	case err == nil:
		return tmp, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	default:
		err = fmt.Errorf("%s: a pipe is first copied to a temporary file: %w", ref.file(), err)
	}
	_ = tmp.Close()
	return nil, err
}

// text is the text of a trace, decompressed if need be.
type text struct {
	ctx   context.Context
	file  string
	codec string // "gzip", "zstd", or empty for plain text
	r     io.Reader
	close func()
	n     int64 // bytes read so far
}

// maxWindow is the largest zstd window that is accepted, and so roughly the
// memory that a hostile file can claim. It is what the zstd command accepts.
const maxWindow = 128 << 20

// newText reads text from raw, telling by its first bytes if it is compressed.
func newText(ctx context.Context, file string, raw io.Reader) (*text, error) {
	t := &text{ctx: ctx, file: file, close: func() {}}
	br := bufio.NewReaderSize(raw, 64<<10)
	head, err := br.Peek(4)
	if err != nil && err != io.EOF {
		return nil, t.explain(err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		t.codec = "gzip"
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, t.explain(err)
		}
		t.r = z
	case isZstd(head):
		t.codec = "zstd"
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, t.explain(err)
		}
		t.r, t.close = z, z.Close
	default:
		t.r = br
	}
	return t, nil
}

// isZstd knows the start of a frame and of a skippable frame, which some
// writers put first.
func isZstd(head []byte) bool {
	return bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) ||
		len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18})
}

// Read reads text. Its errors name the file and say what is wrong with it;
// once ctx has ended it is ctx.Err().
func (t *text) Read(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := t.r.Read(p)
	t.n += int64(n)
	if err != nil && err != io.EOF {
		err = t.explain(err)
	}
	return n, err
}

func (t *text) explain(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // of the file system; it names the file itself
	}
	switch {
	case t.ctx.Err() != nil:
		return t.ctx.Err()
	case t.codec == "":
		return fmt.Errorf("%s: %w", t.file, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %s stream is cut short after %d bytes of text: %w", t.file, t.codec, t.n, err)
	default:
		return fmt.Errorf("%s: %s stream fails after %d bytes of text: %w", t.file, t.codec, t.n, err)
	}
}

// textSize returns the length of the text in f, reading it through if it is
// compressed.
func textSize(ctx context.Context, file string, f *os.File) (int64, error) {
	t, err := newText(ctx, file, f)
	if err != nil {
		return 0, err
	}
	defer t.close()
	if t.codec == "" {
		info, err := f.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	if _, err := io.Copy(io.Discard, t); err != nil {
		return 0, err
	}
	return t.n, nil
}

// identity computes a Source from the very bytes that are parsed, in a
// goroutine of its own: the two hashes take half as long as the parse.
type identity struct {
	file string
	size int64 // announced; git's id begins with it
	n    int64 // seen

	// Copies of the text on their way to the goroutine, and their buffers on
	// the way back. The parser works on the text where it is and moves on.
	full, free chan []byte
	done       chan struct{}

	sha256, sha1 hash.Hash // the goroutine's, until done
}

// newIdentity starts an identity. Whoever does so stops it.
func newIdentity(file string, size int64) *identity {
	// SHA-1 because git's ids are made of it; nothing here rests on its strength.
	id := &identity{
		file:   file,
		size:   size,
		full:   make(chan []byte, readSize/hashSize),
		free:   make(chan []byte, readSize/hashSize),
		done:   make(chan struct{}),
		sha256: sha256.New(),
		sha1:   sha1.New(),
	}
	_, _ = fmt.Fprintf(id.sha1, "blob %d\x00", size)
	for range cap(id.free) {
		id.free <- nil
	}
	go id.hash()
	return id
}

// hashSize is how much text goes to the hashes at once. A whole read can be on
// the way to them, so that the parse does not wait.
const hashSize = 64 << 10

func (id *identity) hash() {
	defer close(id.done)
	for p := range id.full {
		id.sha256.Write(p)
		id.sha1.Write(p)
		id.free <- p[:0]
	}
}

// Write takes the next bytes. It fails as soon as there are too many, or a
// file that grows would never end.
func (id *identity) Write(p []byte) (int, error) {
	id.n += int64(len(p))
	if id.n > id.size {
		return 0, id.changed()
	}
	for chunk := range slices.Chunk(p, hashSize) {
		id.full <- append(<-id.free, chunk...)
	}
	return len(p), nil
}

// stop ends the goroutine, which finishes what it was given.
func (id *identity) stop() {
	close(id.full)
	<-id.done
}

// source returns the Source of all that was written. The identity must be
// stopped.
func (id *identity) source() (Source, error) {
	if id.n != id.size {
		return Source{}, id.changed()
	}
	return Source{
		SHA256:  hex.EncodeToString(id.sha256.Sum(nil)),
		GitBlob: hex.EncodeToString(id.sha1.Sum(nil)),
		Bytes:   id.n,
	}, nil
}

func (id *identity) changed() error {
	return fmt.Errorf("%s: changed while it was read: got %d bytes of text, want %d", id.file, id.n, id.size)
}
