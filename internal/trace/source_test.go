package trace

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zstded(t testing.TB, text []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(text, nil)
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t testing.TB, path string, opt Options) *Trace {
	t.Helper()
	tr, err := Load(context.Background(), Ref{Name: "x", Path: path}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The public traces have the identity that was published for them.
func TestPublishedIdentity(t *testing.T) {
	data, err := os.ReadFile(sharedFile(t, "spec/published.json"))
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Files map[string]json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(data, &published); err != nil {
		t.Fatal(err)
	}
	for name, profile := range map[string][2]int{"conversation": {12031, 288500}, "synthetic": {3993, 121877}} {
		t.Run(name, func(t *testing.T) {
			var f struct {
				SHA256  string `json:"sha256"`
				GitBlob string `json:"git_blob"`
				Bytes   int64  `json:"bytes"`
			}
			if err := json.Unmarshal(published.Files[name], &f); err != nil {
				t.Fatal(err)
			}
			got := load(t, sharedFile(t, "traces/"+name+"_trace.jsonl"), Options{})
			if diff := cmp.Diff(Source{SHA256: f.SHA256, GitBlob: f.GitBlob, Bytes: f.Bytes}, got.Source); diff != "" {
				t.Errorf("(-published +got):\n%s", diff)
			}
			if got.Requests() != profile[0] || got.Lookups() != profile[1] || got.Dropped != 0 {
				t.Errorf("got %d requests, %d lookups, %d dropped; want %v and none", got.Requests(), got.Lookups(), got.Dropped, profile)
			}
		})
	}
}

// However the same text arrives, it is the same trace from the same source.
func TestWaysIn(t *testing.T) {
	text := generated(500, 20)
	want, err := Parse("x", text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	half := len(text)/2 + 3 // in the middle of a line
	skippable := []byte{0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}
	for name, data := range map[string][]byte{
		"plain.jsonl":      text,
		"x.gz":             gzipped(t, text),
		"x.zst":            zstded(t, text),
		"no-extension":     gzipped(t, text),
		"two-members.gz":   append(gzipped(t, text[:half]), gzipped(t, text[half:])...),
		"two-frames.zst":   append(zstded(t, text[:half]), zstded(t, text[half:])...),
		"skippable.zst":    append(skippable, zstded(t, text)...),
		"misleading-x.gz":  text,
		"misleading-x.zst": gzipped(t, text),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, load(t, write(t, name, data), Options{})); diff != "" {
				t.Errorf("from a file (-want +got):\n%s", diff)
			}
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			stdin := iotest.HalfReader(bytes.NewReader(data))
			if diff := cmp.Diff(want, load(t, "-", Options{Stdin: stdin})); diff != "" {
				t.Errorf("from stdin (-want +got):\n%s", diff)
			}
			if left, _ := os.ReadDir(tmp); len(left) > 0 {
				t.Errorf("left in the temporary directory: %v", left)
			}
			if p, s := problems(t, data, Options{}); len(p) > 0 || s.Records != 500 || s.Lookups != 10000 || s.Lines != 500 {
				t.Errorf("Validate: got %v, %+v", p, s)
			}
		})
	}
}

// A path may lead to a pipe, as a shell's <(...) does.
func TestPipePath(t *testing.T) {
	text := generated(5000, 20) // more than a pipe holds
	want, err := Parse("x", text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{text, gzipped(t, text)} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		path := fmt.Sprintf("/dev/fd/%d", r.Fd())
		if _, err := os.Stat(path); err != nil {
			t.Skipf("needs /dev/fd: %v", err)
		}
		go func() {
			if _, err := w.Write(data); err != nil {
				t.Error(err)
			}
			_ = w.Close()
		}()
		if diff := cmp.Diff(want, load(t, path, Options{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A frame that claims more memory than there may be is refused, not tried.
func TestZstdWindowLimit(t *testing.T) {
	frame := func(log byte) []byte { return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 0x01, 0, 0} } // one empty block
	for log, want := range map[byte]string{
		27: "stdin:1: record: got no record in the whole file, want at least one",
		28: "stdin: zstd stream fails after 0 bytes of text: window size exceeded",
	} {
		_, err := Load(context.Background(), Ref{Name: "x", Path: "-"}, Options{Stdin: bytes.NewReader(frame(log))})
		if err == nil || err.Error() != want {
			t.Errorf("window of 2^%d: got error %v\nwant %s", log, err, want)
		}
	}
}

// The temporary file of a pipe has no name from the start.
func TestSpoolHasNoName(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	reads := 0
	stdin := readerFunc(func(p []byte) (int, error) {
		reads++
		switch reads {
		case 1:
			return copy(p, at(0)), nil
		case 2: // the first part is in the file by now
			if left, err := os.ReadDir(tmp); len(left) > 0 || err != nil {
				t.Errorf("got %v, %v, want an empty directory", left, err)
			}
		}
		return 0, io.EOF
	})
	load(t, "-", Options{Stdin: stdin})
	if reads < 2 {
		t.Errorf("got %d reads of stdin, want at least 2", reads)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Wherever a stream is cut or one byte of it is changed, there is an error
// that names the file, or the trace is the very same.
func TestDamagedStreams(t *testing.T) {
	text := generated(20, 3)
	want, err := Parse("x", text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []string{"gzip", "zstd"} {
		data := gzipped(t, text)
		if codec == "zstd" {
			data = zstded(t, text)
		}
		check := func(what string, damaged []byte, mustFail string) {
			t.Helper()
			path := write(t, "x", damaged)
			got, err := Load(context.Background(), Ref{Name: "x", Path: path}, Options{})
			_, verr := Validate(context.Background(), Ref{Name: "x", Path: path}, Options{}, func(Problem) {})
			switch {
			case err == nil && mustFail == "":
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, %s: another trace and no error:\n%s", codec, what, diff)
				}
			case err == nil:
				t.Fatalf("%s, %s: got no error", codec, what)
			case !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), mustFail):
				t.Fatalf("%s, %s: got error %v, want %s: … %s", codec, what, err, path, mustFail)
			case asProblem(err) == nil && (verr == nil || verr.Error() != err.Error()):
				t.Fatalf("%s, %s: Load says %v\nValidate says %v", codec, what, err, verr)
			}
		}
		magic := map[string]int{"gzip": 2, "zstd": 4}[codec]
		for n := magic; n < len(data); n++ {
			check(fmt.Sprintf("cut after %d", n), data[:n], codec+" stream is cut short after ")
		}
		for i := magic; i < len(data); i++ {
			damaged := bytes.Clone(data)
			damaged[i] ^= 0x10
			check(fmt.Sprintf("byte %d changed", i), damaged, "")
		}
		check("rubbish behind", append(bytes.Clone(data), "rubbish, rubbish"...), codec+" stream fails after ")
	}
}

// However the text is cut, the identity is that of the whole, and not of what
// becomes of a buffer once it was written.
func TestIdentity(t *testing.T) {
	text := generated(2000, 20)
	want := Source{
		SHA256:  fmt.Sprintf("%x", sha256.Sum256(text)),
		GitBlob: fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))),
		Bytes:   int64(len(text)),
	}
	for _, size := range []int{1 << 8, 4099, hashSize, readSize, 1 << 20} {
		id := newIdentity("a.jsonl", want.Bytes)
		buf := make([]byte, size)
		for chunk := range slices.Chunk(text, size) {
			if n, err := id.Write(buf[:copy(buf, chunk)]); n != len(chunk) || err != nil {
				t.Fatal(n, err)
			}
		}
		id.stop()
		if got, err := id.source(); err != nil || got != want {
			t.Errorf("writes of %d: got %+v, %v\nwant %+v", size, got, err, want)
		}
	}
}

// Whatever a parse ends with, it leaves no goroutine behind: in the bubble
// that would be a deadlock.
func TestHashingEnds(t *testing.T) {
	good := string(generated(5000, 20)) // more than can be on the way to the hashes
	for name, text := range map[string]io.Reader{
		"end":     strings.NewReader(good),
		"problem": strings.NewReader(good + "rubbish\n" + good),
		"error":   io.MultiReader(strings.NewReader(good), iotest.ErrReader(context.Canceled)),
		"changed": strings.NewReader(good + good + good),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := read(text, "x", "a.jsonl", int64(len(good)), Options{BlockTokens: DefaultBlockTokens})
				if (err == nil) != (name == "end") {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

func TestChangedWhileRead(t *testing.T) {
	text := []byte(at(0) + at(1))
	for _, announced := range []int64{0, int64(len(text)) - 1, int64(len(text)) + 1} {
		_, err := read(bytes.NewReader(text), "x", "a.jsonl", announced, Options{BlockTokens: 1})
		want := fmt.Sprintf("a.jsonl: changed while it was read: got %d bytes of text, want %d", len(text), announced)
		if err == nil || err.Error() != want {
			t.Errorf("announced %d bytes: got error %v\nwant %s", announced, err, want)
		}
	}
	// A file that grows while it is read, maybe as fast: no need to see its end.
	growing := &repeat{text: string(text), n: 1 << 20}
	if _, err := read(growing, "x", "a.jsonl", 1<<20, Options{BlockTokens: 1, Sort: true}); err == nil || growing.n == 0 {
		t.Errorf("got error %v, with %d repetitions to go", err, growing.n)
	}
}

func TestUnreadable(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		path string
		opt  Options
		want string
	}{
		{missing, Options{}, "stat " + missing + ": no such file or directory"},
		{dir, Options{}, dir + ": got a directory, want a trace file"},
		{"-", Options{}, "stdin: there is none to read a trace from"},
	} {
		_, err := Load(ctx, Ref{Name: "x", Path: c.path}, c.opt)
		_, verr := Validate(ctx, Ref{Name: "x", Path: c.path}, c.opt, func(Problem) {})
		for _, err := range []error{err, verr} {
			if err == nil || err.Error() != c.want {
				t.Errorf("got error %v\nwant %s", err, c.want)
			}
		}
	}
	broken := errors.New("line went dead")
	stdin := func() io.Reader { return io.MultiReader(strings.NewReader(at(0)+"{"), iotest.ErrReader(broken)) }
	_, err := Load(ctx, Ref{Name: "x", Path: "-"}, Options{Stdin: stdin()})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "stdin: ") {
		t.Errorf("got error %v, want stdin and %v", err, broken)
	}
	// The unfinished line is no problem of the trace.
	s, err := Validate(ctx, Ref{Name: "x", Path: "-"}, Options{Stdin: stdin()}, func(p Problem) { t.Error(p.Error()) })
	if !errors.Is(err, broken) || s.Records != 1 {
		t.Errorf("got %+v, %v; want 1 record and %v", s, err, broken)
	}
	t.Setenv("TMPDIR", missing)
	if _, err := Load(ctx, Ref{Name: "x", Path: "-"}, Options{Stdin: stdin()}); err == nil || !strings.HasPrefix(err.Error(), "stdin: a pipe is first copied to a temporary file: ") {
		t.Errorf("got error %v", err)
	}
}

// A reader that returns nothing for ever is an error, not a hang.
func TestNoProgress(t *testing.T) {
	l := newLines(readerFunc(func([]byte) (int, error) { return 0, nil }))
	if _, err := l.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got error %v, want %v", err, io.ErrNoProgress)
	}
}

func TestCancel(t *testing.T) {
	both := func(t *testing.T, path string, stdin func(cancel func()) io.Reader) {
		for name, f := range map[string]func(context.Context, Options) error{
			"Load": func(ctx context.Context, opt Options) error {
				_, err := Load(ctx, Ref{Name: "x", Path: path}, opt)
				return err
			},
			"Validate": func(ctx context.Context, opt Options) error {
				_, err := Validate(ctx, Ref{Name: "x", Path: path}, opt, func(Problem) {})
				return err
			},
		} {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if err := f(ctx, Options{Stdin: stdin(cancel)}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
			}
		}
	}
	t.Run("before", func(t *testing.T) {
		for _, data := range [][]byte{generated(10, 2), gzipped(t, generated(10, 2)), zstded(t, generated(10, 2))} {
			both(t, write(t, "x", data), func(cancel func()) io.Reader { cancel(); return nil })
		}
	})
	t.Run("stdin without end", func(t *testing.T) {
		both(t, "-", func(cancel func()) io.Reader {
			reads := 0
			return readerFunc(func(p []byte) (int, error) {
				if reads++; reads == 100 {
					cancel()
				}
				return copy(p, at(0)), nil
			})
		})
	})
	t.Run("stdin that waits", func(t *testing.T) {
		both(t, "-", func(cancel func()) io.Reader {
			return readerFunc(func([]byte) (int, error) { cancel(); select {} })
		})
	})
	t.Run("in a file", func(t *testing.T) {
		path := write(t, "x", append([]byte("rubbish\n"), generated(20000, 20)...))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s, err := Validate(ctx, Ref{Name: "x", Path: path}, Options{}, func(Problem) { cancel() })
		if !errors.Is(err, context.Canceled) || s.Records == 0 || s.Records > 10000 {
			t.Errorf("got %d records and %v, want the first chunk's and %v", s.Records, err, context.Canceled)
		}
	})
}

func TestLimits(t *testing.T) {
	text := rec(`"timestamp": 0, "input_length": 2, "output_length": 0, "hash_ids": [1, 2]`) +
		rec(`"timestamp": 0, "input_length": 2, "output_length": 0, "hash_ids": [2, 3]`)
	for _, c := range []struct {
		requests, blocks, lookups int
		want                      string
	}{
		{2, 3, 4, ""},
		{2, 3, 3, "a.jsonl:2: hash_ids: got 4 lookups so far, want at most 3"},
		{1, 3, 4, "a.jsonl:2: record: got 2 requests so far, want at most 1"},
		{2, 2, 4, "a.jsonl:2: hash_ids: got 3 distinct hashes so far, want at most 2"},
	} {
		l := newLines(strings.NewReader(text))
		b := newBuilder("a.jsonl", l, int64(len(text)))
		b.maxRequests, b.maxBlocks, b.maxLookups = c.requests, c.blocks, c.lookups
		err := formats[0].read(l, "a.jsonl", Options{BlockTokens: 1}, b.add, func(p *Problem) error { return p })
		if c.want == "" && err == nil {
			continue
		}
		if p := asProblem(err); p == nil || p.Error() != c.want || p.Kind != TooMany {
			t.Errorf("%+v: got error %v", c, err)
		}
	}
}
