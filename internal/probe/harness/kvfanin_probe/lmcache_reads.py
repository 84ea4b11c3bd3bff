"""Cold reads of an LMCache backend: counted, put on the timeline, and held."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, cast

from kvfanin_probe.barrier import WaitRanOut
from kvfanin_probe.record import Recorder

reading_for: ContextVar[str] = ContextVar("reading_for")
"""The request a read is for. A context travels with the coroutine that LMCache hands to its event loop."""


class Gate:
    """Holds every cold read until it is opened, without blocking the event loop the reads run on.

    How many reads a layer lets through at once is what is being measured, so nobody can wait for a fixed number of
    them: `settle` waits until as many as possible have come, or until no more come.
    """

    QUIET_S: ClassVar = 1.0
    """How long no further read must come for the rest to count as kept back; one takes a millisecond or so to come."""
    NOT_REAL: ClassVar = "timing: reads of the cold tier are held until no more come"

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._changed = threading.Condition()
        self._arrived = 0
        self._last_s = time.monotonic()
        self._open = False
        self._timeouts = 0

    async def hold(self) -> None:
        """Waits until the gate is open. A read held longer than `wait_s` goes on and is counted."""
        with self._changed:
            self._arrived += 1
            self._last_s = time.monotonic()
            self._changed.notify_all()
        deadline = time.monotonic() + self._wait_s
        while not self.is_open:
            if time.monotonic() > deadline:
                with self._changed:
                    self._timeouts += 1
                return
            await asyncio.sleep(0.001)

    def settle(self, most: int, wait_s: float) -> None:
        """Waits until `most` reads are held, or at least one is and none has joined it for QUIET_S."""
        deadline = time.monotonic() + wait_s
        with self._changed:
            while self._arrived < most:
                now = time.monotonic()
                limit = self._last_s + self.QUIET_S if self._arrived else deadline
                if now >= limit:
                    break
                self._changed.wait(limit - now)
            if not self._arrived:
                raise WaitRanOut(f"a cold read: not within {wait_s:g} s")

    def open(self) -> None:
        """Lets every read go, now and from now on."""
        with self._changed:
            self._open = True

    @property
    def is_open(self) -> bool:
        """Whether reads pass."""
        with self._changed:
            return self._open

    @property
    def timeouts(self) -> int:
        """How many reads went on because their wait ran out."""
        with self._changed:
            return self._timeouts


class Reads:
    """The cold reads of one case."""

    def __init__(self, case: Recorder, gate: Gate) -> None:
        self._case = case
        self._gate = gate
        self._lock = threading.Lock()
        self._started = 0
        self._ended = 0
        self._codes: list[int] = []
        case.declare("gets", "gets_in_flight", "bytes")

    @property
    def codes(self) -> list[int]:
        """For each key of each finished read the bytes delivered, in the order of finishing; 0 where none came."""
        with self._lock:
            return list(self._codes)

    @property
    def idle(self) -> bool:
        """Whether no read is going on."""
        with self._lock:
            return self._started == self._ended

    def start(self, keys: list[str]) -> int:
        """A read begins; gives its number."""
        with self._lock:
            number = self._started
            self._started += 1
        self._case.add("gets")
        self._case.rise("gets_in_flight")
        fields: dict[str, Any] = {"get": number, "thread": threading.current_thread().name, "keys": keys}
        if request := reading_for.get(""):
            fields["request"] = request
        self._case.event("get_start", **fields)
        return number

    async def hold(self) -> None:
        """Waits at the gate."""
        await self._gate.hold()

    def end(self, number: int, sizes: list[int], destinations: list[int]) -> None:
        """A read has delivered."""
        self._case.fall("gets_in_flight")
        self._case.add("bytes", sum(sizes))
        self._case.event(
            "get_end",
            get=number,
            codes=sizes,
            bytes=sum(sizes),
            destinations=[hex(address) for address in destinations],
        )
        with self._lock:
            self._codes += sizes
            self._ended += 1


def method_of(owner: object, name: str) -> Callable[..., Any]:
    """A method that is about to be wrapped on this instance, or why it cannot be."""
    method = getattr(owner, name, None)
    if not callable(method):
        kind = f"{type(owner).__module__}.{type(owner).__name__}"
        raise RuntimeError(f"{kind} has no {name}: this release of LMCache is built otherwise")
    return cast(Callable[..., Any], method)
