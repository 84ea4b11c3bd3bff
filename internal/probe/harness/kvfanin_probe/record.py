"""Events and counters of one case, written from any thread of the stack."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol


class Line(Protocol):
    """The way to kvfanin, as far as a running case needs it."""

    def send(self, kind: str, **fields: Any) -> None:
        """Sends one message."""
        ...

    def ask(self, case_id: int, what: str, wait_s: float, **fields: Any) -> None:
        """Asks for something and waits until it is done."""
        ...


class Recorder:
    """A timeline and named counters behind one lock."""

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock_ns = clock_ns
        self._start_ns = clock_ns()
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []
        self._counts: dict[str, int] = {}
        self._levels: dict[str, int] = {}

    def begin(self) -> None:
        """Lets the timeline start now, when all is set up: the first set-up of a process takes seconds."""
        with self._lock:
            self._start_ns = self._clock_ns()

    def event(self, what: str, **fields: Any) -> None:
        """Adds to the timeline: microseconds since the start of the case, monotonic."""
        # The time is taken under the lock, so that the order of the list is the order of the times.
        with self._lock:
            t_us = (self._clock_ns() - self._start_ns) // 1000
            self._events.append({"t_us": t_us, "what": what, **fields})

    def declare(self, *names: str) -> None:
        """Starts counters that are real in this case at zero. Others stay out of the counts until they move."""
        with self._lock:
            for name in names:
                self._counts.setdefault(name, 0)

    def add(self, name: str, n: int = 1) -> None:
        """Counts."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + n

    def put(self, name: str, n: int) -> None:
        """Sets a counter that is looked up rather than counted."""
        with self._lock:
            self._counts[name] = n

    def rise(self, name: str) -> None:
        """One more of something is going on; the counter keeps the most at once."""
        with self._lock:
            level = self._levels.get(name, 0) + 1
            self._levels[name] = level
            self._counts[name] = max(self._counts.get(name, 0), level)

    def fall(self, name: str) -> None:
        """One less."""
        with self._lock:
            self._levels[name] = self._levels.get(name, 0) - 1

    def count(self, name: str) -> int:
        """One counter."""
        with self._lock:
            return self._counts.get(name, 0)

    def counts(self) -> dict[str, int]:
        """A snapshot of all counters."""
        with self._lock:
            return dict(self._counts)

    def events(self) -> list[dict[str, Any]]:
        """A copy of the timeline."""
        with self._lock:
            return list(self._events)


class CaseRecorder(Recorder):
    """The recorder of a case that kvfanin asked for."""

    def __init__(
        self, line: Line, case_id: int, wait_s: float, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        super().__init__(clock_ns)
        self._line = line
        self._case_id = case_id
        self._wait_s = wait_s
        self.stage_now = "setup"

    def stage(self, stage: str) -> None:
        """Tells kvfanin where the case is: import, setup, seed, arrive, held, release, drain, late, close."""
        # While an exception is on its way, this is the clearing up after it. Its message names where it came from.
        if sys.exc_info()[1] is None:
            self.stage_now = stage
        self._line.send("stage", id=self._case_id, stage=stage)

    def need(self, what: str, **fields: Any) -> None:
        """Has kvfanin do something outside this process, and waits for it."""
        self._line.ask(self._case_id, what, self._wait_s, **fields)


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """What counters gained between two snapshots."""
    return {name: n - before.get(name, 0) for name, n in after.items()}
