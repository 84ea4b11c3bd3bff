package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"kvfanin/internal/probe/fake"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kvfanin": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			context.AfterFunc(ctx, stop)
			os.Exit(Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"python":          fake.Main, // the stack that probe runs
		"python3":         fake.Main,
		"mooncake_master": fake.Main,
	})
}

// TestScripts runs testdata/script: every command and every message of it.
// Beside testscript's own commands there are
//
//	exits CODE COMMAND...   run a command that must exit with CODE
//	gzip FROM TO            compress a file
//	zstd FROM TO            the same with zstd
//	sameTree DIR DIR        two directories hold the same files, byte for byte
//	narrow FILE             no line has more than 80 columns
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", os.Getenv("GORACE")) // how the race detector is set, where there is one
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"gzip":     compress(gzipped),
			"zstd":     compress(zstandard),
			"sameTree": sameTree,
			"narrow":   narrow,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = code.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if text := ts.ReadFile("stderr"); want != 0 && (!strings.HasPrefix(text, "kvfanin: ") || strings.Count(text, "\n") != 1) {
		ts.Fatalf("an error is one line that begins with the program's name; stderr is %q", text)
	}
}

func compress(with func([]byte) []byte) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: gzip|zstd FROM TO")
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), with([]byte(ts.ReadFile(args[0]))), 0o666))
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

func zstandard(b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // it has no options
	}
	return w.EncodeAll(b, nil)
}

func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sameTree DIR DIR")
	}
	a, b := readTree(ts, ts.MkAbs(args[0])), readTree(ts, ts.MkAbs(args[1]))
	var differ []string
	for name := range a {
		if b[name] != a[name] {
			differ = append(differ, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			differ = append(differ, name)
		}
	}
	if same := len(differ) == 0; same == neg {
		ts.Fatalf("files that differ: %q", differ)
	}
}

func readTree(ts *testscript.TestScript, dir string) map[string]string {
	tree, err := treeOf(dir)
	ts.Check(err)
	if len(tree) == 0 {
		ts.Fatalf("%s: no files", dir)
	}
	return tree
}

func narrow(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: narrow FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			ts.Fatalf("%d columns: %s", n, line)
		}
	}
}
