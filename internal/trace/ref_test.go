package trace

import (
	"strings"
	"testing"
)

func TestParseRef(t *testing.T) {
	for arg, want := range map[string]Ref{
		"conversation_trace.jsonl":       {"conversation", "conversation_trace.jsonl"},
		"a/b/toolagent_trace.jsonl.gz":   {"toolagent", "a/b/toolagent_trace.jsonl.gz"},
		"x.jsonl.zst":                    {"x", "x.jsonl.zst"},
		"x.gz":                           {"x", "x.gz"},
		"v1.2.jsonl":                     {"v1.2", "v1.2.jsonl"},
		"plain":                          {"plain", "plain"},
		"a_trace_b_trace":                {"a_trace_b", "a_trace_b_trace"},
		"-":                              {"stdin", "-"},
		"mine=-":                         {"mine", "-"},
		"mine=x.jsonl":                   {"mine", "x.jsonl"},
		"mine=dir/a=b.jsonl":             {"mine", "dir/a=b.jsonl"},
		"dir=1/x.jsonl":                  {"dir", "1/x.jsonl"},
		"./dir=1/x.jsonl":                {"x", "./dir=1/x.jsonl"},
		"/data/k=v/conversation_trace":   {"conversation", "/data/k=v/conversation_trace"},
		"A.b-c_d=x":                      {"A.b-c_d", "x"},
		"../up.jsonl":                    {"up", "../up.jsonl"},
		"with space=with space.jsonl.gz": {}, // no name
	} {
		got, err := ParseRef(arg)
		if want == (Ref{}) {
			if err == nil {
				t.Errorf("%q: got %+v, want an error", arg, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", arg, got, err, want)
		}
	}
}

func TestParseRefErrors(t *testing.T) {
	const want = "want letters, digits, '.', '_' and '-' after a leading letter or digit"
	for arg, msg := range map[string]string{
		"":              `trace "": got no path, want PATH, NAME=PATH or -`,
		"a=":            `trace "a=": got no path, want PATH, NAME=PATH or -`,
		"=a":            `trace "=a": got name "", ` + want + ` in NAME=PATH`,
		"..=a":          `trace "..=a": got name "..", ` + want + ` in NAME=PATH`,
		"a b=c":         `trace "a b=c": got name "a b", ` + want + ` in NAME=PATH`,
		"a\n=c":         `trace "a\n=c": got name "a\n", ` + want + ` in NAME=PATH`,
		"..":            `trace "..": its file name makes the name ".", ` + want + `; give NAME=PATH`,
		".jsonl":        `trace ".jsonl": its file name makes the name "", ` + want + `; give NAME=PATH`,
		"_trace.jsonl":  `trace "_trace.jsonl": its file name makes the name "", ` + want + `; give NAME=PATH`,
		"my file.jsonl": `trace "my file.jsonl": its file name makes the name "my file", ` + want + `; give NAME=PATH`,
		"./a=b.jsonl":   `trace "./a=b.jsonl": its file name makes the name "a=b", ` + want + `; give NAME=PATH`,
	} {
		if got, err := ParseRef(arg); err == nil || err.Error() != msg {
			t.Errorf("%q: got %+v, %v\nwant %s", arg, got, err, msg)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	for _, s := range []string{"a_trace.jsonl.gz", "n=p", "./a=b", "-", "é.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		ref, err := ParseRef(arg)
		if err == nil && (!validName.MatchString(ref.Name) || ref.Path == "" || !strings.HasSuffix(arg, ref.Path)) {
			t.Errorf("%q: got %+v", arg, ref)
		}
	})
}
