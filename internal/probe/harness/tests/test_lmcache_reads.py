from __future__ import annotations

import asyncio
import threading
import time

import pytest

from kvfanin_probe.barrier import WaitRanOut
from kvfanin_probe.lmcache_reads import Gate, Reads, method_of, reading_for
from kvfanin_probe.record import Recorder


class Loop:
    """An event loop in a thread, which is where LMCache reads."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        self.loop.close()


@pytest.fixture
def loop():
    made = Loop()
    yield made.loop
    made.close()


async def read(reads: Reads, key: str, size: int) -> None:
    number = reads.start([key])
    await reads.hold()
    reads.end(number, [size], [0x10])


def test_gate_holds_without_blocking_its_loop(loop):
    gate = Gate(wait_s=5)
    held = [asyncio.run_coroutine_threadsafe(gate.hold(), loop) for _ in range(8)]
    gate.settle(most=8, wait_s=5)
    assert not any(future.done() for future in held)
    gate.open()
    for future in held:
        future.result(5)
    assert gate.timeouts == 0


def test_gate_settles_when_no_more_come(loop):
    gate = Gate(wait_s=5)
    held = asyncio.run_coroutine_threadsafe(gate.hold(), loop)
    start = time.monotonic()
    gate.settle(most=8, wait_s=5)
    assert Gate.QUIET_S <= time.monotonic() - start < 5
    gate.open()
    held.result(5)


def test_gate_names_a_read_that_never_comes():
    with pytest.raises(WaitRanOut, match=r"a cold read: not within 0\.05 s"):
        Gate(wait_s=5).settle(most=1, wait_s=0.05)


def test_gate_lets_go_of_a_read_held_too_long(loop):
    gate = Gate(wait_s=0.02)
    asyncio.run_coroutine_threadsafe(gate.hold(), loop).result(5)
    assert gate.timeouts == 1


def test_open_gate_holds_nothing(loop):
    gate = Gate(wait_s=5)
    gate.open()
    asyncio.run_coroutine_threadsafe(gate.hold(), loop).result(1)
    assert gate.is_open


def test_reads_count_what_is_in_flight_and_what_came(loop):
    case, gate = Recorder(), Gate(wait_s=5)
    reads = Reads(case, gate)
    assert case.counts() == {"gets": 0, "gets_in_flight": 0, "bytes": 0}
    futures = [asyncio.run_coroutine_threadsafe(read(reads, "k", 100 + n), loop) for n in range(3)]
    gate.settle(most=3, wait_s=5)
    assert case.counts() == {"gets": 3, "gets_in_flight": 3, "bytes": 0}
    assert not reads.idle
    gate.open()
    for future in futures:
        future.result(5)
    assert case.counts() == {"gets": 3, "gets_in_flight": 3, "bytes": 303}
    assert sorted(reads.codes) == [100, 101, 102]
    assert reads.idle


def test_reads_one_after_another_are_never_two_in_flight(loop):
    case, gate = Recorder(), Gate(wait_s=5)
    gate.open()
    reads = Reads(case, gate)
    for _ in range(3):
        asyncio.run_coroutine_threadsafe(read(reads, "k", 1), loop).result(5)
    assert case.counts()["gets_in_flight"] == 1


def test_events_of_a_read_say_what_it_was_for(loop):
    case, gate = Recorder(), Gate(wait_s=5)
    gate.open()
    reads = Reads(case, gate)

    def retrieve() -> None:
        # As LMCache does it: a caller's thread hands a coroutine to the loop's.
        reading_for.set("r3")
        asyncio.run_coroutine_threadsafe(read(reads, "key", 7), loop).result(5)

    caller = threading.Thread(target=retrieve)
    caller.start()
    caller.join(5)
    asyncio.run_coroutine_threadsafe(read(reads, "key", 8), loop).result(5)
    first, end, second, _ = case.events()
    assert (first["what"], first["get"], first["request"], first["keys"]) == ("get_start", 0, "r3", ["key"])
    assert (end["what"], end["get"], end["codes"], end["bytes"]) == ("get_end", 0, [7], 7)
    assert end["destinations"] == ["0x10"]
    assert "request" not in second


def test_a_method_that_is_gone_is_named():
    assert method_of("text", "upper")() == "TEXT"
    with pytest.raises(RuntimeError, match=r"builtins\.str has no no_such: this release of LMCache is built otherwise"):
        method_of("text", "no_such")
