package study

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"kvfanin/internal/reference"
	"kvfanin/internal/trace"
)

// shared is where the public traces and the published figures lie, beside the
// checkout.
const shared = "../../../shared"

// publicTrace loads one of the public traces, or skips the test where they do
// not lie beside the checkout. With KVFANIN_REQUIRE_ALL it fails instead.
func publicTrace(t *testing.T, name string) *trace.Trace {
	t.Helper()
	path := filepath.Join(shared, "traces", name+"_trace.jsonl")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("KVFANIN_REQUIRE_ALL") != "" {
			t.Fatalf("needs the public trace %s: %v", name, err)
		}
		t.Skipf("needs the public trace %s in %s", name, path)
	}
	tr, err := trace.Load(context.Background(), trace.Ref{Name: name, Path: path}, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// requestsOf returns a trace in the form the reference model reads.
func requestsOf(t *trace.Trace) []reference.Request {
	requests := make([]reference.Request, t.Requests())
	for i := range requests {
		r := &requests[i]
		r.ArrivalMS = t.ArrivalMS[i]
		for _, b := range t.Blocks(i) {
			r.Hashes = append(r.Hashes, t.Hash[b])
		}
	}
	return requests
}

// routeOf returns a routing in the form the reference model takes.
func routeOf(routing string, instances int) func(int, reference.Request) int {
	return func(i int, r reference.Request) int {
		if routing == "round_robin" {
			return i % instances
		}
		if len(r.Hashes) == 0 {
			return 0
		}
		return int(r.Hashes[0] % uint64(instances))
	}
}
