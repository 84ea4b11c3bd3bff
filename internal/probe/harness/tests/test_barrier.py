from __future__ import annotations

import threading
import time

import pytest

from kvfanin_probe.barrier import Barrier, WaitRanOut, wait_until


def test_holds_the_first_and_lets_the_others_by() -> None:
    barrier = Barrier(size=2, wait_s=5)
    through: list[str] = []

    def pass_by(name: str) -> None:
        assert barrier.hold()
        through.append(name)

    threads = [threading.Thread(target=pass_by, args=(name,)) for name in "ab"]
    threads[0].start()
    assert not barrier.wait_full(0.05)
    assert not barrier.full
    threads[1].start()
    assert barrier.wait_full(5)
    assert barrier.full
    pass_by("third")
    assert through == ["third"]
    barrier.release()
    for thread in threads:
        thread.join(5)
    assert sorted(through) == ["a", "b", "third"]
    pass_by("after")
    assert barrier.timeouts == 0


def test_a_held_caller_goes_on_when_its_wait_runs_out_and_is_counted() -> None:
    barrier = Barrier(size=1, wait_s=0.02)
    assert not barrier.hold()
    assert barrier.timeouts == 1


def test_wait_until_takes_turns() -> None:
    turns: list[int] = []
    wait_until(lambda: len(turns) == 3, 5, "three turns", turn=lambda: turns.append(1), pause_s=0)
    assert len(turns) == 3
    wait_until(lambda: True, 5, "no turn at all", turn=lambda: pytest.fail("a turn was taken"))


def test_wait_until_ends_at_its_deadline_and_says_for_what() -> None:
    start = time.monotonic()
    with pytest.raises(WaitRanOut, match=r"the receive: not within 0\.05 s"):
        wait_until(lambda: False, 0.05, "the receive")
    assert time.monotonic() - start < 2
