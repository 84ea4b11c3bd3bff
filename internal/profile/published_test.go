package profile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kvfanin/internal/trace"
)

// shared is where the public traces and the published figures lie: beside the
// module, not in it.
const shared = "../../../shared"

// need returns the path of a shared file, and skips the test without it unless
// everything is required to run.
func need(t *testing.T, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{shared}, elem...)...)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("KVFANIN_REQUIRE_ALL") == "1" {
			t.Fatalf("%s is missing, and KVFANIN_REQUIRE_ALL=1", path)
		}
		t.Skipf("%s is missing", path)
	}
	return path
}

// TestPublished holds the profile of each public trace against the published
// figures, and against what must hold of any profile.
func TestPublished(t *testing.T) {
	for _, name := range []string{"conversation", "synthetic"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(need(t, "spec", "published.json"))
			if err != nil {
				t.Fatal(err)
			}
			var published struct {
				Traces map[string]struct{ Profile map[string]int64 }
			}
			if err := json.Unmarshal(text, &published); err != nil {
				t.Fatal(err)
			}
			want := published.Traces[name].Profile
			if len(want) == 0 {
				t.Fatalf("published.json has no profile of %s", name)
			}

			ref := trace.Ref{Name: name, Path: need(t, "traces", name+"_trace.jsonl")}
			tr, err := trace.Load(t.Context(), ref, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			p := Of(tr, []int64{10, 1000, 10_000, 1 << 62})
			text, err = json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]json.RawMessage
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			for figure, w := range want {
				var g int64
				if err := json.Unmarshal(got[figure], &g); err != nil || g != w {
					t.Errorf("%s: %s is %s, published is %d", name, figure, got[figure], w)
				}
			}

			if name == "conversation" && *p.SmallestPositiveGapMS != 2997 {
				t.Errorf("smallest positive gap is %d ms, published is 2997", *p.SmallestPositiveGapMS)
			}

			if r := p.Reuse; r.Reuses != p.Lookups-p.DistinctBlocks || r.Reuses != r.ZeroGaps+r.PositiveGapMS.Count {
				t.Errorf("reuses %d, lookups %d - blocks %d, zero gaps %d + positive gaps %d",
					r.Reuses, p.Lookups, p.DistinctBlocks, r.ZeroGaps, r.PositiveGapMS.Count)
			}
			for i, w := range p.Reuse.Windows[1:] {
				if before := p.Reuse.Windows[i]; w.Reuses < before.Reuses {
					t.Errorf("%d ms has %d reuses inside, %d ms %d", before.WindowMS, before.Reuses, w.WindowMS, w.Reuses)
				}
			}
			if w := p.Reuse.Windows[3]; w.Reuses != p.Reuse.Reuses || *w.Share != 1 {
				t.Errorf("a window longer than the trace has %d of %d reuses inside", w.Reuses, p.Reuse.Reuses)
			}
			if n := p.RequestsPerTimestamp.Count; n != p.DistinctTimestamps || n != p.PositiveGapMS.Count+1 {
				t.Errorf("%d timestamps, %d counts of requests, %d gaps", p.DistinctTimestamps, n, p.PositiveGapMS.Count)
			}
		})
	}
}
