"""LMCache's engine in this process: its settings, and what is watched of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lmcache.v1.cache_engine import LMCacheEngineBuilder
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.metadata import LMCacheMetadata

from kvfanin_probe.barrier import wait_until
from kvfanin_probe.lmcache_device import BLOCK_TOKENS, KV_SHAPE, BlockCopy, blocks_of
from kvfanin_probe.lmcache_reads import Gate, Reads, method_of, reading_for
from kvfanin_probe.record import Recorder
from kvfanin_probe.vllm_observe import wrap

NOT_REAL = [
    "device copy: LMCache has no connector for CPU tensors, so the harness copies between its host memory and the "
    "blocks, behind LMCache's connector interface",
    "cold tier: a local folder, by LMCache's own file system connector",
]
HOST_TIER_GB = 0.05

Received = Callable[[str, list[int]], None]
"""Told of a retrieve that has returned: its request, and the blocks it says it has filled."""


def settings(folder: Path, wait_s: float, *, asynchronous: bool) -> dict[str, Any]:
    """The configuration of a case, by LMCache's names. Every case sets the same ones."""
    # Reads are held, and LMCache's own deadlines must not run out before ours.
    patience_s = int(wait_s) + 60
    return {
        "chunk_size": BLOCK_TOKENS,
        "local_cpu": True,
        "max_local_cpu_size": HOST_TIER_GB,
        "save_unfull_chunk": False,
        "remote_url": f"fs://host:0/{folder}/",
        "remote_serde": "naive",
        "enable_async_loading": asynchronous,
        "internal_api_server_enabled": False,
        "blocking_timeout_secs": patience_s,
        "lookup_timeout_ms": patience_s * 1000,
    }


def make_engine(name: str, engine_id: str, configuration: dict[str, Any]) -> Any:
    """Makes an engine that goes by a name in this process, for a worker of one rank."""
    metadata = LMCacheMetadata(
        model_name="kvfanin-tiny",
        world_size=1,
        local_world_size=1,
        worker_id=0,
        local_worker_id=0,
        kv_dtype=torch.float32,
        kv_shape=KV_SHAPE,
        role="worker",
        chunk_size=BLOCK_TOKENS,
        engine_id=engine_id,
    )
    # With one rank a broadcast is the identity.
    return LMCacheEngineBuilder.get_or_create(
        name,
        LMCacheEngineConfig.from_defaults(**configuration),
        metadata,
        BlockCopy(KV_SHAPE),
        lambda tensor, _: tensor,
        lambda thing, _: thing,
    )


def wait_stored(folder: Path, objects: int, wait_s: float) -> None:
    """Waits until the objects lie in the cold tier; both of LMCache's file backends rename a file when it is whole."""
    wait_until(lambda: len(list(folder.glob("*.data"))) >= objects, wait_s, f"{objects} objects in the cold tier")


def check(engine: Any) -> None:
    """LMCache goes on without an engine where making one failed, and recomputes everything: no case then."""
    if engine is None or not engine.is_healthy():
        raise RuntimeError("LMCache came up degraded, without a working engine: it would recompute every request")


class EngineObserver:
    """Cold reads, allocations and retrieves of one engine."""

    def __init__(self, engine: Any, case: Recorder, gate: Gate, received: Received) -> None:
        self.reads = Reads(case, gate)
        self._case = case
        self._received = received
        self._host = engine.storage_manager.storage_backends["LocalCPUBackend"]
        self._offered = 0
        cold = engine.storage_manager.storage_backends["RemoteBackend"]
        # What is there for metrics is not what reads.
        wrapped = getattr(cold.connection, "getWrappedConnector", None)
        reader = cold.connection if wrapped is None else wrapped()
        case.declare("queue_entries", "staging_allocations")
        # Coroutine functions: what wraps them must be one, too.
        reader.get = self._get(method_of(reader, "get"))
        cold.batched_get_non_blocking = self._prefetch(method_of(cold, "batched_get_non_blocking"))
        wrap(self._host, "allocate", self._allocate)
        wrap(self._host, "batched_submit_put_task", self._write_back)
        wrap(engine, "retrieve", self._retrieve)

    def _get(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def get(key: Any) -> Any:
            number = self.reads.start([key.to_string()])
            memory = await original(key)
            # Held with its host memory taken, like a read whose bytes are still on the way.
            await self.reads.hold()
            if memory is None:
                self.reads.end(number, [0], [])
            else:
                self.reads.end(number, [memory.get_size()], [memory.data_ptr])
            return memory

        return get

    def _prefetch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def batched_get_non_blocking(lookup_id: str, *args: Any, **kwargs: Any) -> Any:
            reading_for.set(lookup_id)
            return await original(lookup_id, *args, **kwargs)

        return batched_get_non_blocking

    def _allocate(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        memory = original(*args, **kwargs)
        if memory is not None:
            self._case.add("staging_allocations")
        return memory

    def _write_back(self, original: Callable[..., Any], keys: Any, *args: Any, **kwargs: Any) -> Any:
        self._offered += len(keys)
        return original(keys, *args, **kwargs)

    def _retrieve(self, original: Callable[..., Any], tokens: Any, *args: Any, **kwargs: Any) -> Any:
        request = kwargs["req_id"]
        self._case.add("queue_entries")
        self._case.event("enqueue", request=request)
        token = reading_for.set(request)
        try:
            mask = original(tokens, *args, **kwargs)
        finally:
            reading_for.reset(token)
        self._case.event("receive_done", request=request)
        self._received(request, blocks_of(kwargs["slot_mapping"], int(mask.sum())))
        return mask

    def note(self) -> str:
        """What became of the copies that reads offered to the tier in host memory."""
        if not self._offered:
            return "what was read did not enter LMCache's host tier: whoever comes later reads the cold tier again"
        kept = len(self._host.hot_cache)
        return (
            f"write-back into LMCache's host tier: {self._offered} offered, {kept} kept, {self._offered - kept} dropped"
        )


def make_cold(engine: Any, wait_s: float) -> None:
    """Empties the tier in host memory. What is being written to the cold tier stays until it is done."""
    host = engine.storage_manager.storage_backends["LocalCPUBackend"]

    def emptied() -> bool:
        engine.clear(locations=["LocalCPUBackend"])
        return not host.hot_cache

    wait_until(emptied, wait_s, "LMCache's host tier emptied", pause_s=0.01)
