package decision

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Inputs are the costs and rates that a trace does not hold. Zero is "not
// given". What each means, its range and what stands in for it is in Fields.
type Inputs struct {
	RequestsPerS float64 `json:"requests_per_s,omitzero"`
	LoadFactor   float64 `json:"load_factor,omitzero"`

	LoadMS         float64 `json:"load_ms,omitzero"`
	Model          string  `json:"model,omitzero"`
	BytesPerToken  float64 `json:"bytes_per_token,omitzero"`
	BytesPerBlock  float64 `json:"bytes_per_block,omitzero"`
	BandwidthGBPS  float64 `json:"bandwidth_gb_per_s,omitzero"`
	FixedMS        float64 `json:"fixed_ms,omitzero"`
	LoadCostMS     float64 `json:"load_cost_ms,omitzero"`
	TableUS        float64 `json:"table_us,omitzero"`
	LockUS         float64 `json:"lock_us,omitzero"`
	WaitUS         float64 `json:"wait_us,omitzero"`
	FailureShare   float64 `json:"owner_failure_share,omitzero"`
	FailureMS      float64 `json:"owner_failure_ms,omitzero"`
	TimeoutShare   float64 `json:"timeout_share,omitzero"`
	TimeoutMS      float64 `json:"timeout_ms,omitzero"`
	SlowOwnerShare float64 `json:"slow_owner_share,omitzero"`
	SlowOwnerMS    float64 `json:"slow_owner_extra_ms,omitzero"`
	DeadlineMS     float64 `json:"deadline_ms,omitzero"`
}

// Field is one input: how it is called everywhere, and what is to be known of it.
type Field struct {
	Name  string // in TOML and JSON; a flag has - for _
	Unit  string
	About string // one sentence, without a full stop
	// Default says what stands in for it when it is not given.
	Default string
	// Example is what Example shows, in TOML.
	Example string
	// Max is the largest value allowed; the smallest are 0 and 1e-12. The bounds
	// keep every step far from overflow, and every number a full float64.
	Max float64
	// Number points to the input, Word to the one that is none; the other is nil.
	Number func(*Inputs) *float64
	Word   func(*Inputs) *string
}

const (
	maxMS    = 1e9 // eleven days
	maxUS    = 1e12
	maxBytes = 1e15
	least    = 1e-12 // but for 0
)

// Fields are the inputs in the order they are documented and printed. Nothing
// is measured by us: an input that is not given has no cost, and that is said.
var Fields = []Field{
	{Name: "requests_per_s", Unit: "1/s", Max: 1e9, Example: "25", Default: "the trace's own rate",
		About: "requests that arrive now, over all instances", Number: func(in *Inputs) *float64 { return &in.RequestsPerS }},
	{Name: "load_factor", Unit: "", Max: 1e6, Example: "1", Default: "1, the load as it is now",
		About: "how many times the load is offered, by compressing time: s in W_eff = W × s", Number: func(in *Inputs) *float64 { return &in.LoadFactor }},
	{Name: "load_ms", Unit: "ms", Max: maxMS, Example: "40", Default: "from the size of a block, bandwidth_gb_per_s and fixed_ms",
		About: "W, from the start of a load to its completion: queue wait, slowest rank, scheduler steps", Number: func(in *Inputs) *float64 { return &in.LoadMS }},
	{Name: "model", Unit: "", Example: `"Llama-3-70B"`, Default: "none; or bytes_per_token or bytes_per_block",
		About: "public model whose KV cache a block holds", Word: func(in *Inputs) *string { return &in.Model }},
	{Name: "bytes_per_token", Unit: "B", Max: maxBytes, Example: "327680", Default: "none; or model or bytes_per_block",
		About: "KV cache of one token, as often as it is stored", Number: func(in *Inputs) *float64 { return &in.BytesPerToken }},
	{Name: "bytes_per_block", Unit: "B", Max: maxBytes, Example: "167772160", Default: "none; or model or bytes_per_token",
		About: "KV cache of one block of the trace", Number: func(in *Inputs) *float64 { return &in.BytesPerBlock }},
	{Name: "bandwidth_gb_per_s", Unit: "GB/s", Max: 1e9, Example: "20", Default: "none; needed unless load_ms is given",
		About: "what one load gets of the path from the store (1 GB is 1e9 bytes)", Number: func(in *Inputs) *float64 { return &in.BandwidthGBPS }},
	{Name: "fixed_ms", Unit: "ms", Max: maxMS, Example: "2", Default: "0",
		About: "part of a load that does not depend on its size", Number: func(in *Inputs) *float64 { return &in.FixedMS }},
	{Name: "load_cost_ms", Unit: "ms", Max: maxMS, Example: "8", Default: "the load latency W: the time of the path that a load occupies",
		About: "what one avoided load is worth", Number: func(in *Inputs) *float64 { return &in.LoadCostMS }},
	{Name: "table_us", Unit: "us", Max: maxUS, Example: "2", Default: "0, and a note",
		About: "looking up who owns a block, paid on every lookup", Number: func(in *Inputs) *float64 { return &in.TableUS }},
	{Name: "lock_us", Unit: "us", Max: maxUS, Example: "1", Default: "0, and a note",
		About: "taking and giving back the lock of that table, paid on every lookup", Number: func(in *Inputs) *float64 { return &in.LockUS }},
	{Name: "wait_us", Unit: "us", Max: maxUS, Example: "5", Default: "0, and a note",
		About: "waiting for that lock, mean over all lookups", Number: func(in *Inputs) *float64 { return &in.WaitUS }},
	{Name: "owner_failure_share", Unit: "", Max: 1, Example: "0.001", Default: "0",
		About: "share of owned loads whose owner fails or is cancelled", Number: func(in *Inputs) *float64 { return &in.FailureShare }},
	{Name: "owner_failure_ms", Unit: "ms", Max: maxMS, Example: "200", Default: "0",
		About: "what one such failure costs, all who wait for it together", Number: func(in *Inputs) *float64 { return &in.FailureMS }},
	{Name: "timeout_share", Unit: "", Max: 1, Example: "0.0001", Default: "0",
		About: "share of owned loads that run into a timeout", Number: func(in *Inputs) *float64 { return &in.TimeoutShare }},
	{Name: "timeout_ms", Unit: "ms", Max: maxMS, Example: "1000", Default: "0",
		About: "what one such timeout costs", Number: func(in *Inputs) *float64 { return &in.TimeoutMS }},
	{Name: "slow_owner_share", Unit: "", Max: 1, Example: "0.01", Default: "0",
		About: "share of joins that wait for an owner slower than their own load would be", Number: func(in *Inputs) *float64 { return &in.SlowOwnerShare }},
	{Name: "slow_owner_extra_ms", Unit: "ms", Max: maxMS, Example: "500", Default: "0",
		About: "how much longer such a follower waits", Number: func(in *Inputs) *float64 { return &in.SlowOwnerMS }},
	{Name: "deadline_ms", Unit: "ms", Max: maxMS, Example: "100", Default: "none: a follower waits as long as the owner takes",
		About: "a follower waits at most this much longer and then loads by itself", Number: func(in *Inputs) *float64 { return &in.DeadlineMS }},
}

// Check returns an error that names the first input that cannot be used, what
// it is and what is wanted.
func (in Inputs) Check() error {
	for i := range Fields {
		f := &Fields[i]
		if f.Number == nil {
			continue
		}
		switch x := *f.Number(&in); {
		case !(x >= 0 && x <= f.Max):
			return fmt.Errorf("%s is %s, want a number from 0 to %s", f.Name, exact(x), exact(f.Max))
		case x > 0 && x < least:
			return fmt.Errorf("%s is %s, want 0 or at least %s", f.Name, exact(x), exact(least))
		}
	}
	if in.Model != "" && modelByName(in.Model) == nil {
		var names []string
		for i := range Models {
			names = append(names, Models[i].Name)
		}
		return fmt.Errorf("model is %q, want one of %s", in.Model, strings.Join(names, ", "))
	}
	sizes := in.sizes()
	switch {
	case len(sizes) > 1:
		return fmt.Errorf("%s and %s both say how large a block is: give one", sizes[0], sizes[1])
	case in.LoadMS > 0 && in.BandwidthGBPS > 0:
		return errors.New("load_ms and bandwidth_gb_per_s both say how long a load takes: give one")
	case in.LoadMS > 0 && in.FixedMS > 0:
		return errors.New("load_ms is the whole load and fixed_ms a part of it: give one")
	case in.LoadMS > 0:
		return nil
	case len(sizes) == 0 || in.BandwidthGBPS == 0:
		return errors.New("the load latency is missing: give load_ms, or bandwidth_gb_per_s and one of model, bytes_per_token, bytes_per_block")
	}
	return nil
}

// sizes returns the inputs that say how large a block is.
func (in *Inputs) sizes() (names []string) {
	if in.Model != "" {
		names = append(names, "model")
	}
	if in.BytesPerToken > 0 {
		names = append(names, "bytes_per_token")
	}
	if in.BytesPerBlock > 0 {
		names = append(names, "bytes_per_block")
	}
	return names
}

// EffectiveWindowMS returns W_eff = W × s, the window whose evidence Decide
// wants, for a trace of blocks of that many tokens.
func (in Inputs) EffectiveWindowMS(blockTokens int) (float64, error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	load, err := in.load(blockTokens)
	if err != nil {
		return 0, err
	}
	return load.ms * in.factor(), nil
}

func (in *Inputs) factor() float64 {
	if in.LoadFactor > 0 {
		return in.LoadFactor
	}
	return 1
}

// maxInputs is more than any file of inputs has.
const maxInputs = 1 << 16

// ReadInputs reads inputs in TOML. name is how errors call the file.
func ReadInputs(r io.Reader, name string) (Inputs, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInputs+1))
	if err != nil {
		return Inputs{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxInputs {
		return Inputs{}, fmt.Errorf("%s: more than %d bytes, which is no file of inputs: see kvfanin decide --example", name, maxInputs)
	}
	var values map[string]any
	meta, err := toml.Decode(string(text), &values)
	var parse toml.ParseError
	switch {
	case errors.As(err, &parse):
		return Inputs{}, fmt.Errorf("%s:%d: %s", name, parse.Position.Line, strings.TrimSuffix(parse.Message, "."))
	case err != nil:
		return Inputs{}, fmt.Errorf("%s: %w", name, err)
	}
	var in Inputs
	for _, key := range meta.Keys() { // in the order of the file
		if problem := in.set(key.String(), values); problem != "" {
			return Inputs{}, fmt.Errorf("%s:%d: %s", name, lineOf(text, key), problem)
		}
	}
	return in, nil
}

// set takes one value over, and returns what is wrong with it.
func (in *Inputs) set(name string, values map[string]any) (problem string) {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return name + " is no input of decide: see kvfanin decide --example"
	}
	f := &Fields[i]
	switch x := values[name].(type) {
	case int64:
		if f.Number != nil {
			*f.Number(in) = float64(x)
			return ""
		}
	case float64:
		if f.Number != nil {
			*f.Number(in) = x
			return ""
		}
	case string:
		if f.Word != nil {
			*f.Word(in) = x
			return ""
		}
	}
	want := "a number"
	if f.Word != nil {
		want = "a name in quotes"
	}
	return fmt.Sprintf("%s is %v, want %s", name, values[name], want)
}

// lineOf returns the line that key stands in. The library keeps no line of a
// key, so the file is read again, each time one line longer, until the key
// turns up.
func lineOf(text []byte, key toml.Key) int {
	lines, n := bytes.SplitAfter(text, []byte("\n")), 0
	for i, line := range lines {
		n += len(line)
		var values map[string]any
		if meta, err := toml.Decode(string(text[:n]), &values); err == nil && meta.IsDefined(key...) {
			return i + 1
		}
	}
	return len(lines)
}

// Example returns a file of inputs with every one of them explained. Those that
// exclude each other, and those with a default, are commented out.
func Example() string {
	var b strings.Builder
	b.WriteString("# Inputs of kvfanin decide. Zero is the same as not given.\n" +
		"# The numbers are examples and not measurements: put in your own.\n")
	for i := range Fields {
		f := &Fields[i]
		b.WriteString("\n# " + f.About + ".\n# ")
		if f.Unit != "" {
			b.WriteString("Unit: " + f.Unit + ". ")
		}
		b.WriteString("Default: " + f.Default + ".\n")
		switch f.Name {
		case "model":
			for i := range Models {
				m := &Models[i]
				fmt.Fprintf(&b, "#   %-16s %s B a token\n", m.Name, FormatBytes(m.BytesPerToken()))
			}
		case "requests_per_s", "load_factor", "load_ms", "bytes_per_token", "bytes_per_block", "load_cost_ms":
			b.WriteString("# ")
		}
		b.WriteString(f.Name + " = " + f.Example + "\n")
	}
	return b.String()
}

// FormatBytes prints a whole number of bytes in full: 327,680.
func FormatBytes(x float64) string { return group(fixed(x, 0)) }
