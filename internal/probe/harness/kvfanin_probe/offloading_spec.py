"""An offloading spec for vLLM's OffloadingConnector whose copies need no GPU. vLLM loads it by its settings.

Manager, connector and scheduler are vLLM's own. The worker of its CPU spec copies with CUDA streams; this one copies
with threads, and its loads can be held.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

from kvfanin_probe.barrier import Barrier
from kvfanin_probe.record import Recorder

LOAD_THREADS = 32


class HostCopySpec(CPUOffloadingSpec):  # type: ignore[misc]
    """vLLM's CPU spec with another worker."""

    def get_worker(self, kv_caches: Any) -> OffloadingWorker:
        """Called once, when the KV cache is there."""
        return HostCopyWorker(kv_caches)


class HostCopyWorker(OffloadingWorker):  # type: ignore[misc]
    """Copies blocks between the KV cache and host memory. Counts and holds loads once it is told to."""

    def __init__(self, kv_caches: Any) -> None:
        self._device = [entry.tensor for entry in kv_caches.tensors]
        self._host: dict[int, list[torch.Tensor]] = {}
        self._finished: queue.SimpleQueue[TransferResult] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(LOAD_THREADS, thread_name_prefix="load")
        self._lock = threading.Lock()
        self._recorder: Recorder | None = None
        self._barrier: Barrier | None = None
        self._request_of: Callable[[int], str] = lambda block: ""
        self._loads = 0
        self._ended = 0
        self._destinations: set[int] = set()
        self.codes: list[int] = []
        """Bytes of each load that has ended."""
        self.stores = 0

    def observe(self, recorder: Recorder, barrier: Barrier, request_of: Callable[[int], str]) -> None:
        """From now on loads are counted, and the first are held. Blocks tell whose they are."""
        self._recorder, self._barrier, self._request_of = recorder, barrier, request_of

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Device to host, at once."""
        for chunk, block in zip(dst_spec.block_ids.tolist(), src_spec.block_ids.tolist(), strict=True):
            self._host[chunk] = [device[block].cpu().clone() for device in self._device]
        self.stores += 1
        self._finished.put(TransferResult(job_id=job_id, success=True))
        return True

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Host to device, in a thread: loads are in flight beside each other, as on CUDA streams."""
        self._threads.submit(self._load, job_id, src_spec.block_ids.tolist(), dst_spec.block_ids.tolist())
        return True

    def _load(self, job_id: int, chunks: list[int], blocks: list[int]) -> None:
        number = self._start(chunks, blocks)
        if self._barrier is not None:
            self._barrier.hold()
        moved = 0
        for chunk, block in zip(chunks, blocks, strict=True):
            for device, host in zip(self._device, self._host[chunk], strict=True):
                device[block] = host.to(device.device)
                moved += host.numel() * host.element_size()
        self._end(number, moved)
        self._finished.put(TransferResult(job_id=job_id, success=True))

    def _start(self, chunks: list[int], blocks: list[int]) -> int:
        addresses = [self._device[0][block].data_ptr() for block in blocks]
        with self._lock:
            number = self._loads
            self._loads += 1
            self._destinations.update(addresses)
        if self._recorder is not None:
            self._recorder.add("gets")
            self._recorder.rise("gets_in_flight")
            self._recorder.put("destinations", len(self._destinations))
            self._recorder.event(
                "get_start",
                request=self._request_of(blocks[0]),
                get=number,
                thread=threading.current_thread().name,
                keys=[f"chunk {chunk}" for chunk in chunks],
                destinations=[hex(address) for address in addresses],
            )
        return number

    def _end(self, number: int, moved: int) -> None:
        with self._lock:
            self._ended += 1
            self.codes.append(moved)
        if self._recorder is not None:
            self._recorder.fall("gets_in_flight")
            self._recorder.add("bytes", moved)
            self._recorder.event("get_end", get=number, codes=[moved], bytes=moved)

    def ended(self) -> int:
        """Loads that are over."""
        with self._lock:
            return self._ended

    def get_finished(self) -> list[TransferResult]:
        """Transfers that are over since the last call."""
        results = []
        while not self._finished.empty():
            results.append(self._finished.get())
        return results

    def wait(self, job_ids: set[int]) -> None:
        """Only stores are waited for, and those are over when they are submitted."""

    def shutdown(self) -> None:
        """Ends the threads."""
        self._threads.shutdown(wait=True)
