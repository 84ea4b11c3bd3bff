"""LMCache's multiprocess server, on the loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmcache.v1.distributed.config import EvictionConfig, L1ManagerConfig, L1MemoryManagerConfig, StorageManagerConfig
from lmcache.v1.distributed.l2_adapters.config import L2AdaptersConfig
from lmcache.v1.distributed.l2_adapters.fs_l2_adapter import FSL2AdapterConfig
from lmcache.v1.mp_observability.config import ObservabilityConfig
from lmcache.v1.multiprocess.config import MPServerConfig
from lmcache.v1.multiprocess.server import run_cache_server

from kvfanin_probe.barrier import WaitRanOut, wait_until
from kvfanin_probe.lmcache_device import BLOCK_TOKENS
from kvfanin_probe.lmcache_reads import Gate, Reads, method_of
from kvfanin_probe.record import Recorder
from kvfanin_probe.vllm_observe import wrap

HOST = "127.0.0.1"
HOST_TIER_BYTES = 64 << 20


class Server:
    """The server with its storage manager: a tier in host memory over a folder."""

    def __init__(self, folder: Path, prefetch_in_flight: int) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port: int = free.getsockname()[1]
        memory = L1MemoryManagerConfig(size_in_bytes=HOST_TIER_BYTES, use_lazy=False, shm_name="")
        started = run_cache_server(
            MPServerConfig(
                host=HOST,
                port=self.port,
                chunk_size=BLOCK_TOKENS,
                max_cpu_workers=2,
                # By default only the server copies, which takes a GPU. Without one the worker does.
                supported_transfer_mode="auto",
                shm_name="",
            ),
            StorageManagerConfig(
                l1_manager_config=L1ManagerConfig(memory_config=memory),
                eviction_config=EvictionConfig("noop"),
                l2_adapter_config=L2AdaptersConfig([FSL2AdapterConfig(str(folder))]),
                prefetch_max_in_flight=prefetch_in_flight,
            ),
            ObservabilityConfig(enabled=False, metrics_enabled=False, logging_enabled=False),
            return_engine=True,
            start_prometheus_http_server=False,
        )
        self._transport, self._engine = started
        self._storage: Any = self._engine.storage_manager
        self._lock = threading.Lock()
        self._prefetches: list[Any] = []

    def make_cold(self, wait_s: float) -> None:
        """Empties the tier in host memory. What is being written to the cold tier is locked until it is done."""

        def emptied() -> bool:
            self._storage.clear()
            return bool(self._storage.get_l1_usage()[0] == 0)

        wait_until(emptied, wait_s, "the server's host tier emptied", pause_s=0.01)

    def watch(self, case: Recorder, gate: Gate) -> Reads:
        """Counts from here on."""
        reads = Reads(case, gate)
        case.declare("lookups", "staging_allocations")
        [(_, cold)] = self._storage.l2_adapters()
        # The body of submit_load_task, which only starts it on the adapter's event loop.
        original_load = method_of(cold, "_execute_load")

        def look_up(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            case.add("lookups")
            handle = original(*args, **kwargs)
            case.event("lookup_start", request=handle.external_request_id)
            with self._lock:
                self._prefetches.append(handle)
            return handle

        def reserve(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            reserved = original(*args, **kwargs)
            case.add("staging_allocations", sum(memory is not None for _, memory in reserved.values()))
            return reserved

        async def load(keys: list[Any], objects: list[Any], *args: Any) -> None:
            number = reads.start([key.chunk_hash.hex() for key in keys])
            # Host memory is taken. Whoever waits is told by the read itself, so it is held before it.
            await reads.hold()
            await original_load(keys, objects, *args)
            # What was asked for. Whether it came is seen in the blocks.
            reads.end(number, [memory.get_size() for memory in objects], [memory.data_ptr for memory in objects])

        wrap(self._storage, "submit_prefetch_task", look_up)
        wrap(self._storage._l1_manager, "reserve_write", reserve)
        cold._execute_load = load
        return reads

    def wait_prefetched(self, lookups: int, wait_s: float) -> None:
        """Waits until the server has the answers to so many lookups."""
        wait_until(lambda: len(self._handles()) >= lookups, wait_s, f"{lookups} lookups at the server")
        for handle in self._handles():
            if not self._storage.wait_prefetch_status(handle, wait_s):
                raise WaitRanOut(f"the prefetch for {handle.external_request_id}: not within {wait_s:g} s")

    def close(self) -> None:
        """Ends its threads and frees its port."""
        self._transport.close()
        self._engine.close()

    def _handles(self) -> list[Any]:
        with self._lock:
            return list(self._prefetches)
