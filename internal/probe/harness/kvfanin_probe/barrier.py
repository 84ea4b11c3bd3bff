"""Holding Gets, and waiting. No wait here is without a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class WaitRanOut(TimeoutError):
    """A wait of the harness reached its deadline."""


class Barrier:
    """Holds the first `size` callers until it is released.

    A caller that is held longer than `wait_s` goes on and is counted in `timeouts`: a stack that waits for it must not
    hang for ever, and the count says that the state "held" did not last.
    """

    def __init__(self, size: int, wait_s: float) -> None:
        self._size = size
        self._wait_s = wait_s
        self._changed = threading.Condition()
        self._arrived = 0
        self._released = False
        self._timeouts = 0

    def hold(self) -> bool:
        """Waits if this caller is among the first `size`. False if the wait ran out."""
        with self._changed:
            if self._released or self._arrived >= self._size:
                return True
            self._arrived += 1
            self._changed.notify_all()
            if self._changed.wait_for(lambda: self._released, self._wait_s):
                return True
            self._timeouts += 1
            return False

    def wait_full(self, wait_s: float) -> bool:
        """Waits until `size` callers are held. False if that did not come about in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._arrived >= self._size, wait_s)

    def release(self) -> None:
        """Lets everyone go, now and from now on."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    @property
    def full(self) -> bool:
        """Whether `size` callers have arrived."""
        with self._changed:
            return self._arrived >= self._size

    @property
    def timeouts(self) -> int:
        """How many callers went on because their wait ran out."""
        with self._changed:
            return self._timeouts


def wait_until(
    condition: Callable[[], bool],
    wait_s: float,
    what: str,
    *,
    turn: Callable[[], object] | None = None,
    pause_s: float = 0.001,
) -> None:
    """Takes turns (an engine step, say) until the condition holds. Raises WaitRanOut(what) at the deadline."""
    deadline = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() > deadline:
            raise WaitRanOut(f"{what}: not within {wait_s:g} s")
        if turn is not None:
            turn()
        # The stack works in threads of this process: a pause lets them have the interpreter.
        time.sleep(pause_s)
