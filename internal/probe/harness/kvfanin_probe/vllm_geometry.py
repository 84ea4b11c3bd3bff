"""A model small enough for any machine, and prompts for it. No weights are downloaded; there are none."""

from __future__ import annotations

import json
import random
from pathlib import Path

LAYERS = 2
KV_HEADS = 1
# The CPU attention kernels refuse smaller heads than 32.
HEAD_SIZE = 64
BYTES_PER_ELEMENT = 4
VOCABULARY = 512
TAIL_TOKENS = 3

MODEL_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_SIZE,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 65536,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "hidden_act": "silu",
}


def write_model(folder: Path) -> Path:
    """Writes the model's config.json. The name of the folder becomes part of the store's keys."""
    model = folder / "kvfanin-tiny"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text(json.dumps(MODEL_CONFIG))
    return model


def page_bytes(block_size: int) -> int:
    """Bytes of one block in one layer: keys and values."""
    return 2 * KV_HEADS * block_size * HEAD_SIZE * BYTES_PER_ELEMENT


def prompts(requests: int, shared_blocks: int, block_size: int, salt: str) -> list[list[int]]:
    """Prompts that agree in their first blocks and go their own ways in a short tail."""
    draw = random.Random(salt)
    shared = [draw.randrange(3, VOCABULARY) for _ in range(shared_blocks * block_size)]
    return [shared + [draw.randrange(3, VOCABULARY) for _ in range(TAIL_TOKENS)] for _ in range(requests)]


def payload(seed: int, size: int) -> bytes:
    """The bytes of an object. The owner process makes the same from the same seed."""
    return random.Random(seed).randbytes(size)
