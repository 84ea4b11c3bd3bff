from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from kvfanin_probe.barrier import Barrier
from kvfanin_probe.record import Recorder
from kvfanin_probe.vllm_store import ObservedStore, Piece


class Inner:
    name = "inner"

    def __init__(self) -> None:
        self.gets: list[Any] = []

    def batch_is_exist(self, keys: Sequence[str]) -> list[int]:
        return [1] * len(keys)

    def batch_get_into_multi_buffers(self, keys: Sequence[str], addresses: Any, sizes: Any, *rest: Any) -> list[int]:
        self.gets.append((list(keys), addresses, sizes, rest))
        if keys == ["bad"]:
            raise OSError("transport")
        return [sum(pieces) for pieces in sizes]


def observed(barrier: Barrier, **changes: Any) -> tuple[ObservedStore, Inner, Recorder]:
    inner, recorder = Inner(), Recorder()
    options: dict[str, Any] = {"first_get_fails": False, "lookup_delay_s": 0.0, **changes}
    return ObservedStore(inner, recorder, barrier, lambda address: f"at {address}", **options), inner, recorder


def open_barrier() -> Barrier:
    barrier = Barrier(1, 5)
    barrier.release()
    return barrier


def test_everything_is_passed_on_and_counted() -> None:
    store, inner, recorder = observed(open_barrier())
    assert store.name == "inner"
    assert store.batch_is_exist(["a", "b"]) == [1, 1]
    assert store.batch_get_into_multi_buffers(["a", "b"], [[16, 32], [48, 64]], [[4, 4], [4, 4]], True) == [8, 8]
    assert inner.gets == [(["a", "b"], [[16, 32], [48, 64]], [[4, 4], [4, 4]], (True,))]
    counts = {"lookups": 1, "gets": 1, "gets_in_flight": 1, "destinations": 2, "bytes": 16}
    assert recorder.counts() == counts
    start, end = recorder.events()
    assert start["request"] == "at 16"
    assert start["destinations"] == ["0x10", "0x30"]
    assert end["codes"] == [8, 8]
    assert store.pieces() == [Piece("a", (16, 32), (4, 4), 8), Piece("b", (48, 64), (4, 4), 8)]


def test_the_same_destination_again_is_no_new_one() -> None:
    store, _, recorder = observed(open_barrier())
    for _ in range(2):
        store.batch_get_into_multi_buffers(["a"], [[16]], [[4]])
    assert recorder.count("destinations") == 1
    assert recorder.count("gets") == 2


def test_only_the_first_get_fails_and_it_moves_nothing() -> None:
    store, inner, _ = observed(open_barrier(), first_get_fails=True)
    assert store.batch_get_into_multi_buffers(["a", "b"], [[1], [2]], [[4], [4]]) == [-800, -800]
    assert store.batch_get_into_multi_buffers(["a"], [[1]], [[4]]) == [4]
    assert len(inner.gets) == 1


def test_held_gets_are_in_flight_at_once() -> None:
    barrier = Barrier(2, 5)
    store, inner, recorder = observed(barrier)
    threads = [
        threading.Thread(target=store.batch_get_into_multi_buffers, args=(["a"], [[n]], [[4]])) for n in range(2)
    ]
    for thread in threads:
        thread.start()
    assert barrier.wait_full(5)
    assert inner.gets == []
    assert store.ended() == 0
    barrier.release()
    for thread in threads:
        thread.join(5)
    assert store.ended() == 2
    assert recorder.count("gets_in_flight") == 2


def test_an_exception_of_the_store_goes_through_and_ends_the_get() -> None:
    store, _, recorder = observed(open_barrier())
    with pytest.raises(OSError, match="transport"):
        store.batch_get_into_multi_buffers(["bad"], [[1]], [[4]])
    assert store.ended() == 1
    assert store.pieces() == []
    assert recorder.events()[-1]["codes"] == []
