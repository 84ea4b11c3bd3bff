from __future__ import annotations

import threading
from typing import Any

from kvfanin_probe.record import CaseRecorder, Recorder, difference


def test_counts_and_what_is_not_declared_stays_out() -> None:
    recorder = Recorder()
    recorder.declare("lookups", "gets")
    recorder.add("gets", 3)
    recorder.put("destinations", 2)
    recorder.declare("gets")
    assert recorder.counts() == {"lookups": 0, "gets": 3, "destinations": 2}
    snapshot = recorder.counts()
    recorder.add("lookups")
    assert snapshot["lookups"] == 0
    assert recorder.count("lookups") == 1
    assert difference(recorder.counts(), snapshot) == {"lookups": 1, "gets": 0, "destinations": 0}


def test_keeps_the_most_at_once() -> None:
    recorder = Recorder()
    for _ in range(3):
        recorder.rise("gets_in_flight")
    for _ in range(3):
        recorder.fall("gets_in_flight")
    recorder.rise("gets_in_flight")
    assert recorder.counts() == {"gets_in_flight": 3}


def test_events_have_microseconds_since_the_start() -> None:
    ticks = iter([1, 1_000_000, 1_000_999, 3_500_000])
    recorder = Recorder(clock_ns=lambda: next(ticks))
    recorder.begin()
    recorder.event("arrival", request="r0")
    recorder.event("release")
    assert recorder.events() == [
        {"t_us": 0, "what": "arrival", "request": "r0"},
        {"t_us": 2500, "what": "release"},
    ]


def test_many_threads_lose_nothing_and_stay_in_order() -> None:
    recorder = Recorder()

    def work() -> None:
        for _ in range(500):
            recorder.rise("level")
            recorder.add("n")
            recorder.event("e")
            recorder.fall("level")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.count("n") == 4000
    assert 1 <= recorder.count("level") <= 8
    times = [event["t_us"] for event in recorder.events()]
    assert len(times) == 4000
    assert times == sorted(times)


class Line:
    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))

    def ask(self, case_id: int, what: str, wait_s: float, **fields: Any) -> None:
        self.sent.append((case_id, what, wait_s, fields))


def test_a_case_tells_its_stage_and_asks_for_things() -> None:
    line = Line()
    case = CaseRecorder(line, case_id=4, wait_s=2.5)
    case.stage("held")
    case.need("put", key="k")
    assert case.stage_now == "held"
    assert line.sent == [("stage", {"id": 4, "stage": "held"}), (4, "put", 2.5, {"key": "k"})]
