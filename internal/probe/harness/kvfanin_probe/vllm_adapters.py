"""Where releases of vLLM differ: one function each, chosen by what is there and not by a version number."""

from __future__ import annotations

import inspect
from typing import Any


def kv_cache_tensor(tensor_type: Any, layer: str, page_bytes: int, blocks: int) -> Any:
    """A KVCacheTensor for one layer that lies by itself.

    0.28.0 names the layers that share a tensor (`shared_by`); later releases place a list of layers by strides.
    """
    size = page_bytes * blocks
    if "shared_by" in inspect.signature(tensor_type).parameters:
        return tensor_type(size=size, shared_by=[layer])
    return tensor_type(size=size, layers=[layer], layer_stride=size, block_stride=page_bytes)


def note_hash_block_size(kv_cache_config: Any, hash_block_size: int) -> None:
    """Later releases keep the granularity of block hashes, which the engine core resolves, in the KV cache config."""
    if hasattr(kv_cache_config, "hash_block_size"):
        kv_cache_config.hash_block_size = hash_block_size


def note_kv_cache_layout(cache_config: Any) -> None:
    """Later releases resolve the order of a KV cache's dimensions in the engine core: layer, block, head, token, KV."""
    if hasattr(cache_config, "kv_cache_layout"):
        cache_config.kv_cache_layout = "LBHNC"
