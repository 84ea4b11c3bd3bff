package decision

// Model is a public model by what its KV cache holds for one token.
type Model struct {
	Name   string `json:"name"`
	Layers int    `json:"layers"`
	// KVHeads and HeadSize are of a model that keeps keys and values by head.
	KVHeads  int `json:"kv_heads,omitzero"`
	HeadSize int `json:"head_size,omitzero"` // elements
	// LatentSize is of a model that keeps one compressed vector a layer instead,
	// for keys and values together, and beside it the part of the key that
	// carries the position.
	LatentSize   int    `json:"latent_size,omitzero"`   // elements
	ElementBytes int    `json:"element_bytes"`          // of the cache as served by default: 16 bits
	Source       string `json:"source"`                 // of the shape
	Published    string `json:"published,omitempty"`    // a size somebody else has printed,
	WhyDifferent string `json:"why_different,omitzero"` // and why it is not the formula's
}

// Models are the presets. The shapes are those of the config.json published
// with each model, fields num_hidden_layers, num_key_value_heads and head_dim
// (Llama: hidden_size ÷ num_attention_heads), or kv_lora_rank and
// qk_rope_head_dim.
var Models = []Model{
	{
		Name: "Llama-3-8B", Layers: 32, KVHeads: 8, HeadSize: 128, ElementBytes: 2,
		Source: "config.json of meta-llama/Meta-Llama-3-8B: 32 layers, 8 of 32 heads are KV heads, 4,096 ÷ 32 a head",
	},
	{
		Name: "Llama-3-70B", Layers: 80, KVHeads: 8, HeadSize: 128, ElementBytes: 2,
		Source:    "config.json of meta-llama/Meta-Llama-3-70B: 80 layers, 8 of 64 heads are KV heads, 8,192 ÷ 64 a head",
		Published: "320 KB a token (Mooncake, FAST'25)", WhyDifferent: "the same: 327,680 bytes are 320 KiB; 160 MiB for 512 tokens",
	},
	{
		Name: "Qwen3-8B", Layers: 36, KVHeads: 8, HeadSize: 128, ElementBytes: 2,
		Source:       "config.json of Qwen/Qwen3-8B: 36 layers, 8 KV heads, head_dim 128",
		Published:    "74 MB for 512 tokens (Mooncake documentation)",
		WhyDifferent: "the formula gives 75.5 MB, which are 72 MiB or 73,728 KiB; counting 1,000 KiB to the MB gives 74",
	},
	{
		Name: "Qwen3-235B-A22B", Layers: 94, KVHeads: 4, HeadSize: 128, ElementBytes: 2,
		Source:       "config.json of Qwen/Qwen3-235B-A22B: 94 layers, 4 KV heads, head_dim 128",
		Published:    "12.62 GB for 32k tokens (Mooncake documentation)",
		WhyDifferent: "the formula gives 6.31 GB for 32,768 tokens; twice that is 12.62: with 8 tensor-parallel ranks each of the 4 KV heads is held, and stored, by two of them",
	},
	{
		Name: "DeepSeek-V3", Layers: 61, LatentSize: 512 + 64, ElementBytes: 2,
		Source: "config.json of deepseek-ai/DeepSeek-V3: 61 layers, kv_lora_rank 512, qk_rope_head_dim 64; the layer for predicting further tokens is left out",
	},
}

// BytesPerToken returns what one token takes in the KV cache, held once:
// tensor-parallel ranks that repeat a head store it again.
func (m *Model) BytesPerToken() float64 {
	if m.LatentSize > 0 {
		return float64(m.Layers * m.LatentSize * m.ElementBytes)
	}
	return float64(2 * m.Layers * m.KVHeads * m.HeadSize * m.ElementBytes)
}

// Formula returns how BytesPerToken comes about, with its numbers' names.
func (m *Model) Formula() string {
	if m.LatentSize > 0 {
		return "layers × latent_size × element_bytes"
	}
	return "2 × layers × kv_heads × head_size × element_bytes"
}

func modelByName(name string) *Model {
	for i := range Models {
		if Models[i].Name == name {
			return &Models[i]
		}
	}
	return nil
}
