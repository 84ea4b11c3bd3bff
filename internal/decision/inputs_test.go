package decision

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func equal(t *testing.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestFields holds that the table of inputs and the type are the same list.
func TestFields(t *testing.T) {
	var in Inputs
	typ, value := reflect.TypeFor[Inputs](), reflect.ValueOf(&in).Elem()
	if typ.NumField() != len(Fields) {
		t.Errorf("%d fields, %d in the table", typ.NumField(), len(Fields))
	}
	for i := range min(typ.NumField(), len(Fields)) {
		field, f := typ.Field(i), &Fields[i]
		if tag := field.Tag.Get("json"); tag != f.Name+",omitzero" {
			t.Errorf("field %d is %s, in the table %s", i, field.Tag, f.Name)
		}
		var at any
		switch {
		case f.Number != nil && f.Word == nil:
			at = f.Number(&in)
			if f.Max <= 0 {
				t.Errorf("%s has no bound", f.Name)
			}
		case f.Word != nil && f.Number == nil:
			at = f.Word(&in)
		}
		if at != value.Field(i).Addr().Interface() {
			t.Errorf("%s points elsewhere", f.Name)
		}
		if f.About == "" || f.Default == "" || f.Example == "" || strings.HasSuffix(f.About, ".") {
			t.Errorf("%s is not documented as it should be", f.Name)
		}
	}
}

// TestExample holds that the example can be used as it is, and that with the
// comments taken away it sets every input there is to what the table says.
func TestExample(t *testing.T) {
	in, err := ReadInputs(strings.NewReader(Example()), "example")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decide(in, plain()); err != nil {
		t.Errorf("as it is: %v", err)
	}
	full := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(Example(), "$1")
	in, err = ReadInputs(strings.NewReader(full), "example")
	if err != nil {
		t.Fatalf("%v in\n%s", err, full)
	}
	for i := range Fields {
		f := &Fields[i]
		switch {
		case f.Word != nil:
			if `"`+*f.Word(&in)+`"` != f.Example {
				t.Errorf("%s is %q, want %s", f.Name, *f.Word(&in), f.Example)
			}
		case exact(*f.Number(&in)) != f.Example:
			t.Errorf("%s is %v, want %s", f.Name, *f.Number(&in), f.Example)
		}
		if !strings.Contains(Example(), f.About) || !strings.Contains(Example(), f.Default) {
			t.Errorf("%s is not explained", f.Name)
		}
	}
}

// TestRefusals holds each message to its words: what, where, what to do.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "the load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block",
		"bandwidth_gb_per_s = 5": "the load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block",
		"model = 'Qwen3-8B'":     "the load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block",
		"load_ms = -1":           "load_ms is -1, want a number from 0 to 1000000000",
		"load_ms = nan":          "load_ms is NaN, want a number from 0 to 1000000000",
		"load_ms = inf":          "load_ms is +Inf, want a number from 0 to 1000000000",
		"load_ms = 1e-300":       "load_ms is 1e-300, want 0 or at least 1e-12",
		"load_ms = 1\nmodel = 3": "in.toml:2: model is 3, want a name in quotes",
		"timeout_share = 1.5":    "timeout_share is 1.5, want a number from 0 to 1",
		"model = 'GPT'":          `model is "GPT", want one of Llama-3-8B, Llama-3-70B, Qwen3-8B, Qwen3-235B-A22B, DeepSeek-V3`,
		"model = 'Qwen3-8B'\nload_ms = 1\nbytes_per_token = 1":        "model and bytes_per_token both say how large a block is: give one",
		"bytes_per_token = 1\nbytes_per_block = 1":                    "bytes_per_token and bytes_per_block both say how large a block is: give one",
		"load_ms = 1\nbytes_per_token = 1\nbandwidth_gb_per_s = 5":    "load_ms and bandwidth_gb_per_s both say how long a load takes: give one",
		"load_ms = 1\nfixed_ms = 1":                                   "load_ms is the whole load and fixed_ms a part of it: give one",
		"load_ms = 1\n\n# two lines on\ntabel_us = 2\nlock_us = 3":    "in.toml:4: tabel_us is no input of decide: see kvfanin decide --example",
		"load_ms = 1\n[costs]\ntable_us = 2":                          "in.toml:2: costs is no input of decide: see kvfanin decide --example",
		"load_ms = 1\nlock_us = 'two'":                                "in.toml:2: lock_us is two, want a number",
		"load_ms = 1\nlock_us = 1\nlock_us = 2":                       "in.toml:3: Key 'lock_us' has already been defined",
		"load_ms = 1\nlock_us":                                        "in.toml:2: unexpected EOF; expected key separator '='",
		strings.Repeat("# nothing\n", 7000):                           "in.toml: more than 65536 bytes, which is no file of inputs: see kvfanin decide --example",
		"load_ms = 1\nmodel = '''\nQwen3-8B'''\n\"owner failures\"=1": "in.toml:4: \"owner failures\" is no input of decide: see kvfanin decide --example",
	} {
		in, err := ReadInputs(strings.NewReader(text), "in.toml")
		if err == nil {
			err = in.Check()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%.60q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestEffectiveWindow holds that what a caller looks the evidence up at is
// what Decide works with.
func TestEffectiveWindow(t *testing.T) {
	in := Inputs{Model: "Llama-3-70B", BandwidthGBPS: 16.777216, FixedMS: 2, LoadFactor: 3}
	got, err := in.EffectiveWindowMS(512)
	if err != nil || got != 36 {
		t.Errorf("%v, %v; want 36", got, err)
	}
	d, err := Decide(in, plain())
	if err != nil || d.Value("effective_window_ms") != got {
		t.Errorf("Decide works with another: %v", err)
	}
	for _, c := range []struct {
		in    Inputs
		block int
	}{{in, 0}, {Inputs{}, 512}} {
		if _, err := c.in.EffectiveWindowMS(c.block); err == nil {
			t.Errorf("%+v with a block of %d: no error", c.in, c.block)
		}
	}
}

// TestModels holds the presets to sizes worked out by hand, and to those that
// are printed elsewhere, with the reason where they differ.
func TestModels(t *testing.T) {
	for name, want := range map[string]float64{
		"Llama-3-8B":      128 * 1024,
		"Llama-3-70B":     320 * 1024,
		"Qwen3-8B":        144 * 1024,
		"Qwen3-235B-A22B": 188 * 1024,
		"DeepSeek-V3":     70_272, // 61 × 576 × 2
	} {
		m := modelByName(name)
		if m == nil {
			t.Errorf("no %s", name)
			continue
		}
		if got := m.BytesPerToken(); got != want {
			t.Errorf("%s: %v bytes a token, want %v", name, got, want)
		}
		if m.Source == "" || (m.Published == "") != (m.WhyDifferent == "") {
			t.Errorf("%s: where is it from", name)
		}
	}
	gb := 2 * modelByName("Qwen3-235B-A22B").BytesPerToken() * 32768 / 1e9
	mb := modelByName("Qwen3-8B").BytesPerToken() * 512 / 1024 / 1000
	if FormatNumber(gb) != "12.62" || FormatNumber(mb) != "73.73" {
		t.Errorf("%v GB and %v MB, want the published 12.62 and 74", gb, mb)
	}
	doc := document(t)
	for i := range Models {
		m := &Models[i]
		for _, want := range []string{"| " + m.Name + " |", "| " + FormatBytes(m.BytesPerToken()) + " |"} {
			if !strings.Contains(doc, want) {
				t.Errorf("docs/decision.md lacks %s", want)
			}
		}
	}
}

// TestDocument holds that the document explains every input and every step.
func TestDocument(t *testing.T) {
	doc := document(t)
	d, err := Decide(Inputs{Model: "Qwen3-8B", BandwidthGBPS: 10, TableUS: 1}, plain())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range Fields {
		names = append(names, Fields[i].Name)
	}
	for _, s := range append(d.Steps, d.Readings[0].Steps...) {
		names = append(names, s.Name)
		if !strings.Contains(doc, s.Formula) {
			t.Errorf("docs/decision.md lacks the formula of %s: %s", s.Name, s.Formula)
		}
	}
	for _, name := range names {
		if !strings.Contains(doc, "| "+name+" |") {
			t.Errorf("docs/decision.md does not explain %s", name)
		}
	}
}

func document(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/decision.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
