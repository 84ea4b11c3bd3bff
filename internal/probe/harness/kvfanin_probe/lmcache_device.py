"""KV caches that are CPU tensors, and the copy between them and LMCache's host memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lmcache.v1.gpu_connector.mock_gpu_connector import MockGPUConnector

from kvfanin_probe.vllm_geometry import HEAD_SIZE, KV_HEADS, LAYERS, page_bytes, payload

BLOCK_TOKENS = 16
"""Tokens of a vLLM block and of an LMCache chunk: one object is one block."""
KV_SHAPE = (LAYERS, 2, BLOCK_TOKENS, KV_HEADS, HEAD_SIZE)
PAGE_BYTES = page_bytes(BLOCK_TOKENS)
BLOCK_BYTES = LAYERS * PAGE_BYTES


def make_caches(blocks: int) -> list[torch.Tensor]:
    """One tensor a layer, block by block."""
    return [torch.zeros(blocks, KV_HEADS, BLOCK_TOKENS, 2 * HEAD_SIZE) for _ in range(LAYERS)]


def read_block(caches: Sequence[torch.Tensor], block: int) -> bytes:
    """The bytes of a block, layer after layer."""
    return b"".join(cache[block].numpy().tobytes() for cache in caches)


def write_block(caches: Sequence[torch.Tensor], block: int, content: bytes) -> None:
    """Overwrites a block."""
    for layer, cache in enumerate(caches):
        page = bytearray(content[layer * PAGE_BYTES : (layer + 1) * PAGE_BYTES])
        cache[block] = torch.frombuffer(page, dtype=cache.dtype).view(cache[block].shape)


def objects_of(seed: int, blocks: int) -> list[bytes]:
    """What the shared blocks hold. Any bytes will do: nothing computes with them."""
    return [payload(seed + block, BLOCK_BYTES) for block in range(blocks)]


def blocks_of(slot_mapping: Any, tokens: int) -> list[int]:
    """The blocks of the first so many tokens."""
    return [int(slot_mapping[token]) // BLOCK_TOKENS for token in range(0, tokens, BLOCK_TOKENS)]


class BlockCopy(MockGPUConnector):  # type: ignore[misc]
    """LMCache's mock connector with copies that are real: LMCache has no connector for CPU tensors."""

    def batched_from_gpu(
        self, memory_objs: Sequence[Any], starts: Sequence[int], ends: Sequence[int], **kwargs: Any
    ) -> None:
        """From blocks into host memory."""
        for memory, start in zip(memory_objs, starts, strict=True):
            block = int(kwargs["slot_mapping"][start]) // BLOCK_TOKENS
            memoryview(memory.byte_array).cast("B")[:] = read_block(kwargs["kvcaches"], block)

    def batched_to_gpu(
        self, memory_objs: Sequence[Any], starts: Sequence[int], ends: Sequence[int], **kwargs: Any
    ) -> None:
        """From host memory into blocks."""
        for memory, start in zip(memory_objs, starts, strict=True):
            block = int(kwargs["slot_mapping"][start]) // BLOCK_TOKENS
            write_block(kwargs["kvcaches"], block, bytes(memory.byte_array))
