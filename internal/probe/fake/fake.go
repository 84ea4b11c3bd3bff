// Package fake is a scripted stand-in for the Python environment of a probe: an
// interpreter with pip or uv, the harness, an object's owner and mooncake_master in
// one program. It is for tests only, in which a test binary runs it under one of
// those names.
//
// By the variable KVFANIN_FAKE it is well or ill in one of many ways: see
// Main. It gives the counts that are expected of a case.
package fake

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"kvfanin/internal/probe"
)

// Variables that a test sets.
const (
	// Behaviour says what goes wrong: "" or "good" is nothing.
	Behaviour = "KVFANIN_FAKE"
	// Pipe names a FIFO that every process of the fake writes its number to, and
	// keeps open as long as it lives: its end is the end of all of them.
	Pipe = "KVFANIN_FAKE_PIPE"
)

// Names are those that a program must have to be one of the fake's.
var Names = []string{"python", "python3", "uv", "mooncake_master"}

// Main is the program.
func Main() {
	pipe := openPipe()
	run(os.Getenv(Behaviour), os.Args[1:])
	runtime.KeepAlive(pipe)
	os.Exit(0)
}

func run(how string, args []string) {
	switch name := filepath.Base(os.Args[0]); {
	case name == "mooncake_master":
		master(args, how)
	case name == "uv":
		if how == "uv fails" || how == "pip fails" {
			fatal("error: client error (Connect)")
		}
	case len(args) == 1 && args[0] == "grandchild":
		select {}
	case len(args) > 1 && args[0] == "-c":
		version(how)
	case len(args) > 2 && args[1] == "venv":
		venv(args[2], how)
	case len(args) > 1 && args[1] == "pip":
		pip(args[len(args)-1], how)
	case len(args) > 1 && args[1] == "kvfanin_probe.owner":
		owner(how)
	case len(args) > 3 && args[1] == "kvfanin_probe":
		serve(args[3], how, slices.Contains(args, "--self-check"))
	default:
		fatal("fake python: unknown arguments %q", args)
	}
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// openPipe tells the test of this process, and returns a file that must stay
// open until its end.
func openPipe() *os.File {
	path := os.Getenv(Pipe)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		fatal("fake: %v", err)
	}
	_, _ = fmt.Fprintf(file, "%d %s\n", os.Getpid(), mustGetwd())
	return file
}

func mustGetwd() string {
	dir, err := os.Getwd()
	if err != nil {
		fatal("fake: %v", err)
	}
	return dir
}

func version(how string) {
	switch how {
	case "old python":
		fmt.Println("3.9.1")
		os.Exit(1)
	case "broken python":
		fatal("fake python: no module named encodings")
	}
	fmt.Println("3.11.7")
}

// venv makes an environment whose interpreter is this program.
func venv(dir, how string) {
	if how == "no ensurepip" {
		fatal("Error: Command returned non-zero exit status 1.")
	}
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "bin"), 0o777)
	}
	for _, name := range Names {
		if err == nil {
			err = os.Symlink(self, filepath.Join(dir, "bin", name))
		}
	}
	if err != nil {
		fatal("fake venv: %v", err)
	}
}

// pip installs what a lock names.
func pip(lock, how string) {
	what := "torch"
	if strings.HasPrefix(filepath.Base(lock), "uv") {
		what = "uv"
	}
	fmt.Println("Collecting " + what)
	switch how {
	case "pip fails":
		fatal("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES")
	case "pip hangs":
		select {}
	}
	fmt.Println("Successfully installed " + what)
}

func master(args []string, how string) {
	if how == "master dead" {
		fatal("F1129 bind: address already in use")
	}
	for _, arg := range args {
		if port, ok := strings.CutPrefix(arg, "-rpc_port="); ok {
			if _, err := net.Listen("tcp", "127.0.0.1:"+port); err != nil {
				fatal("fake master: %v", err)
			}
		}
	}
	select {}
}

func owner(how string) {
	switch how {
	case "owner dead":
		fatal("fake owner: cannot join the master")
	case "owner garbage":
		fmt.Println("Segment mounted.")
	}
	say(map[string]any{"kind": "hello", "protocol": 1, "segment": "127.0.0.1:1"})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if how == "owner refuses" {
			say(map[string]any{"kind": "done", "ok": false, "error": "-200: no space"})
			continue
		}
		say(map[string]any{"kind": "done", "ok": true})
	}
}

func say(message any) {
	b, err := json.Marshal(message)
	if err != nil {
		fatal("fake: %v", err)
	}
	if _, err := os.Stdout.Write(append(b, '\n')); err != nil {
		os.Exit(0) // nobody listens
	}
}

// serve is the harness.
func serve(target, how string, check bool) {
	switch how {
	case "dead at start":
		fatal("ModuleNotFoundError: No module named 'vllm'")
	case "hung at start":
		select {}
	case "garbage at start":
		fmt.Println("INFO 11-29 vllm starting")
	case "other version":
		say(map[string]any{"kind": "hello", "protocol": 2, "target": target})
		hang()
	case "other target":
		target = "another"
	case "no hello":
		say(map[string]any{"kind": "stage", "id": 0, "stage": "import"})
		hang()
	}
	versions := map[string]string{"python": "3.11.7", "vllm": "0.32.0", "torch": "2.13.0", "mooncake": "0.3.13.post1"}
	if target == "lmcache" {
		versions["lmcache"] = "0.5.6"
	}
	if how == "other release" {
		versions["vllm"] = "0.99.0"
	}
	missing := []probe.Missing{}
	if how == "missing" {
		missing = append(missing, probe.Missing{What: "libibverbs.so.1", Why: "Mooncake links it", How: "apt-get install libibverbs1"})
	}
	say(map[string]any{"kind": "hello", "protocol": 1, "target": target, "versions": versions, "missing": missing})
	if check {
		return
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			Kind       string
			ID         int
			Parameters probe.Parameters
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fatal("fake: %v", err)
		}
		if m.Kind == "exit" {
			if how == "does not leave" {
				hang()
			}
			return
		}
		h := harness{in: in, target: target, versions: versions, id: m.ID, p: m.Parameters, how: how}
		h.run()
	}
}

// die is kill -9.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// hang waits for the end of stdin, and does not end then.
func hang() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

// harness runs one case.
type harness struct {
	in       *bufio.Scanner
	target   string
	versions map[string]string
	id       int
	p        probe.Parameters
	how      string
}

func (h *harness) stage(stage string) {
	say(map[string]any{"kind": "stage", "id": h.id, "stage": stage})
}

// need asks kvfanin for something and waits for it.
func (h *harness) need(what string) {
	say(map[string]any{"kind": "need", "id": h.id, "what": what, "key": "k", "seed": h.p.Seed, "bytes": 8192})
	if !h.in.Scan() {
		os.Exit(0)
	}
}

func (h *harness) run() {
	fmt.Fprintf(os.Stderr, "INFO the stack logs of case %d\n", h.id)
	h.stage("setup")
	if h.p.Store == probe.StoreReal {
		h.need("put")
	}
	if h.p.Fault == "owner_killed" {
		h.need("kill_owner")
	}
	h.stage("held")
	switch h.how {
	case "dies":
		die()
	case "dies in get_fails":
		if h.p.Fault == "first_get_fails" && h.p.FailurePolicy == "fail" {
			die()
		}
	case "hung":
		hang()
	case "hung with children":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		self, err := os.Executable()
		if err != nil {
			fatal("fake: %v", err)
		}
		cmd := exec.Command(self, "grandchild")
		cmd.Args[0] = "python"
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			fatal("fake: %v", err)
		}
		hang()
	case "garbage":
		fmt.Println("loss = nan")
	case "flood":
		for {
			h.stage("held")
		}
	case "long line":
		line := []byte(strings.Repeat("x", 1<<20))
		for range 100 {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(0)
			}
		}
		hang()
	case "out of order":
		say(map[string]any{"kind": "stage", "id": h.id + 1, "stage": "held"})
		hang()
	case "unknown kind":
		say(map[string]any{"kind": "gossip", "id": h.id})
		hang()
	case "unknown need":
		h.need("coffee")
	case "bad result":
		say(map[string]any{"kind": "result", "id": h.id, "counts": 8})
		hang()
	case "error":
		say(map[string]any{"kind": "error", "id": h.id, "error": "held: AssertionError: not async", "detail": "Traceback\n  File x"})
		return
	case "fatal":
		say(map[string]any{"kind": "error", "id": h.id, "error": "setup: MemoryError", "detail": "", "fatal": true})
		hang()
	case "slow":
		h.slowly(h.result())
		return
	}
	say(h.result())
}

// slowly writes a message in many pieces.
func (h *harness) slowly(message any) {
	b, err := json.Marshal(message)
	if err != nil {
		fatal("fake: %v", err)
	}
	for i := range b {
		_, _ = os.Stdout.Write(b[i : i+1])
	}
	_, _ = os.Stdout.WriteString("\n")
}

// result gives what is expected of the case, or one thing else.
func (h *harness) result() map[string]any {
	target, err := probe.TargetByName(h.target)
	if err != nil {
		fatal("fake: %v", err)
	}
	counts := probe.Counts{}
	expected := probe.Custom(target, h.p).Expected(h.versions)
	if len(expected) == 0 {
		n := probe.Range{Min: int64(h.p.Requests)}
		expected = probe.Expected{
			probe.Held: {"lookups": n},
			probe.End:  {"lookups": n, "load_specs": n, "queue_entries": n, "gets": n, "destinations": n, "gets_in_flight": {Min: int64(h.p.HeldGets)}},
		}
	}
	for snapshot, names := range expected {
		counts[snapshot] = map[string]int64{}
		for name, want := range names {
			counts[snapshot][name] = want.Min
		}
	}
	// KVFANIN_FAKE="differs SNAPSHOT COUNT": one more of one count.
	if words := strings.Fields(h.how); len(words) == 3 && words[0] == "differs" {
		counts[words[1]][words[2]]++
	}
	whole := counts[probe.Whole]
	delete(counts, probe.Whole)
	delete(counts, probe.InModel)
	result := map[string]any{
		"kind": "result", "id": h.id, "counts": counts,
		"each_finished_once": whole["each_finished_once"] == 1,
		"not_real":           []string{"everything: this is a fake"},
		"events":             h.events(counts[probe.End]["gets"]),
	}
	if n, ok := whole["blocks_right"]; ok {
		result["blocks_right"] = n
	}
	if n, ok := whole["tokens_compared"]; ok {
		result["tokens"] = map[string]int64{"compared": n, "equal": whole["tokens_equal"]}
	}
	reasons, codes := map[string]int64{}, []int64{}
	for name, n := range whole {
		if reason, ok := strings.CutPrefix(name, "finish_reason."); ok {
			reasons[reason] = n
		}
		if text, ok := strings.CutPrefix(name, "get_code."); ok {
			code, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				fatal("fake: %v", err)
			}
			for range n {
				codes = append(codes, code)
			}
		}
	}
	result["finish_reasons"], result["get_codes"] = reasons, codes
	return result
}

// events are arrivals, Gets one after another, and a publication.
func (h *harness) events(gets int64) []map[string]any {
	events := []map[string]any{}
	at := 0
	add := func(what string, request int, more map[string]any) {
		at += 10
		e := map[string]any{"t_us": at, "what": what, "request": fmt.Sprintf("r%d", request)}
		for k, v := range more {
			e[k] = v
		}
		events = append(events, e)
	}
	for i := range h.p.Requests {
		add("arrival", i, nil)
	}
	keys := []string{}
	for b := range h.p.SharedBlocks {
		keys = append(keys, fmt.Sprintf("block%d", b))
	}
	for i := range int(gets) {
		more := map[string]any{"get": i, "thread": "recv-0", "keys": keys}
		add("get_start", i%h.p.Requests, more)
		if i == 0 {
			events = append(events, map[string]any{"t_us": at + 5000, "what": "release"})
			at += 5000
		}
		add("get_end", i%h.p.Requests, map[string]any{"get": i})
	}
	for i := range h.p.Requests {
		add("publication", i, nil)
		add("finish", i, map[string]any{"reason": "length"})
	}
	if h.p.LateRequest {
		at += 1000
		events = append(events, map[string]any{"t_us": at, "what": "arrival", "request": "late"})
	}
	return events
}
