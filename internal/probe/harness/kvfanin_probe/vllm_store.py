"""The worker's store handle, wrapped: what was asked of the store, when, and with what outcome."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvfanin_probe.barrier import Barrier
from kvfanin_probe.record import Recorder

TRANSFER_FAILED = -800


@dataclass(frozen=True)
class Piece:
    """What one Get did for one key."""

    key: str
    addresses: tuple[int, ...]
    sizes: tuple[int, ...]
    code: int


class ObservedStore:
    """Passes everything on to the store; counts lookups and Gets, holds the first Gets at a barrier."""

    def __init__(
        self,
        inner: Any,
        recorder: Recorder,
        barrier: Barrier,
        request_at: Callable[[int], str],
        *,
        first_get_fails: bool,
        lookup_delay_s: float,
    ) -> None:
        self._inner = inner
        self._recorder = recorder
        self._barrier = barrier
        self._request_at = request_at
        self._first_get_fails = first_get_fails
        self._lookup_delay_s = lookup_delay_s
        self._lock = threading.Lock()
        self._started = 0
        self._ended = 0
        self._destinations: set[tuple[int, ...]] = set()
        self._pieces: list[Piece] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def batch_is_exist(self, keys: Sequence[str]) -> Any:
        """A lookup."""
        if self._lookup_delay_s:
            time.sleep(self._lookup_delay_s)
        self._recorder.add("lookups")
        return self._inner.batch_is_exist(keys)

    def batch_get_into_multi_buffers(
        self, keys: Sequence[str], addresses: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]], *rest: Any
    ) -> list[int]:
        """A Get."""
        destinations = [tuple(pieces) for pieces in addresses]
        with self._lock:
            number = self._started
            self._started += 1
            self._destinations.update(destinations)
            self._recorder.put("destinations", len(self._destinations))
        self._recorder.add("gets")
        self._recorder.rise("gets_in_flight")
        self._recorder.event(
            "get_start",
            request=self._request_at(destinations[0][0]),
            get=number,
            thread=threading.current_thread().name,
            keys=list(keys),
            destinations=[hex(pieces[0]) for pieces in destinations],
        )
        codes: list[int] = []
        try:
            self._barrier.hold()
            if number == 0 and self._first_get_fails:
                codes = [TRANSFER_FAILED] * len(keys)
            else:
                codes = list(self._inner.batch_get_into_multi_buffers(keys, addresses, sizes, *rest))
        finally:
            delivered = sum(code for code in codes if code > 0)
            self._recorder.fall("gets_in_flight")
            self._recorder.add("bytes", delivered)
            self._recorder.event("get_end", get=number, codes=codes, bytes=delivered)
            with self._lock:
                self._ended += 1
                self._pieces += [
                    Piece(key, destination, tuple(lengths), code)
                    for key, destination, lengths, code in zip(keys, destinations, sizes, codes, strict=False)
                ]
        return codes

    def ended(self) -> int:
        """Gets that have come back."""
        with self._lock:
            return self._ended

    def pieces(self) -> list[Piece]:
        """What every finished Get did, in the order they finished."""
        with self._lock:
            return list(self._pieces)
