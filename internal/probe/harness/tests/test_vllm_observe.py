from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.vllm_observe import SchedulerObserver, name_of, observe_queue
from test_record import Line


class Connector:
    def __init__(self) -> None:
        self.answers: list[tuple[int | None, bool]] = []

    def get_num_new_matched_tokens(self, request: Any, computed: int) -> tuple[int | None, bool]:
        return self.answers.pop(0)

    def update_state_after_alloc(self, request: Any, blocks: Any, external: int) -> str:
        return "allocated"

    def update_connector_output(self, output: Any) -> None:
        output.seen = True


class Manager:
    def __init__(self) -> None:
        self.blocks = [SimpleNamespace(block_id=number, block_hash=None) for number in (5, 6, 7)]

    def get_blocks(self, request_id: str) -> Any:
        return SimpleNamespace(blocks=(self.blocks,))

    def get_block_ids(self, request_id: str) -> tuple[list[int], ...]:
        return ([block.block_id for block in self.blocks],)

    def cache_blocks(self, request: Any, tokens: int) -> None:
        for block in self.blocks[: tokens // 16]:
            block.block_hash = b"h"


class Scheduler:
    def __init__(self) -> None:
        self.connector = Connector()
        self.kv_cache_manager = Manager()
        self.outputs: dict[int, Any] = {}

    def schedule(self) -> str:
        return "scheduled"

    def update_from_output(self, scheduled: Any, output: Any) -> dict[int, Any]:
        return self.outputs


def observed(loadable: bool = True) -> tuple[SchedulerObserver, Scheduler, CaseRecorder]:
    scheduler, case = Scheduler(), CaseRecorder(Line(), 1, 5)
    return SchedulerObserver(scheduler, case, 16, lambda request, external: loadable), scheduler, case


REQUEST = SimpleNamespace(request_id="r0-1a2b")


def whats(case: CaseRecorder) -> list[str]:
    return [event["what"] for event in case.events()]


def test_polls_are_counted_and_answers_are_events() -> None:
    observer, scheduler, case = observed()
    scheduler.connector.answers = [(None, False), (32, True)]
    scheduler.schedule()
    assert scheduler.connector.get_num_new_matched_tokens(REQUEST, 0) == (None, False)
    assert observer.unanswered == 1
    scheduler.schedule()
    assert observer.unanswered == 0
    assert scheduler.connector.get_num_new_matched_tokens(REQUEST, 0) == (32, True)
    assert case.count("lookup_polls") == 2
    (event,) = case.events()
    assert (event["what"], event["request"], event["hit"]) == ("lookup", "r0", 2)


def test_a_load_spec_covers_the_blocks_behind_the_local_ones() -> None:
    observer, scheduler, case = observed()
    given: list[Any] = []
    observer.on_load_spec = lambda name, blocks: given.append((name, blocks))
    scheduler.connector.answers = [(32, True)]
    scheduler.connector.get_num_new_matched_tokens(REQUEST, 16)
    assert scheduler.connector.update_state_after_alloc(REQUEST, None, 32) == "allocated"
    assert given == [("r0", [6, 7])]
    assert case.count("load_specs") == 1
    assert case.count("block_ids") == 2


def test_a_spec_that_cannot_load_does_not_count() -> None:
    _, scheduler, case = observed(loadable=False)
    scheduler.connector.update_state_after_alloc(REQUEST, None, 0)
    assert case.count("load_specs") == 0


def test_only_blocks_that_enter_the_prefix_cache_are_published() -> None:
    _, scheduler, case = observed()
    scheduler.kv_cache_manager.cache_blocks(REQUEST, 16)
    scheduler.kv_cache_manager.cache_blocks(REQUEST, 32)
    assert case.count("publications") == 2
    assert [event["block"] for event in case.events()] == [5, 6]


def test_receives_and_ends() -> None:
    observer, scheduler, case = observed()
    output = SimpleNamespace(finished_recving={"r1-x", "r0-x"})
    scheduler.connector.update_connector_output(output)
    assert output.seen
    scheduler.connector.update_connector_output(SimpleNamespace(finished_recving=None))
    ends = [("r0-x", [7], None), ("r0-x", [8], "length"), ("r1-x", [], "error"), ("r2-x", [], "abort")]
    outputs = [SimpleNamespace(request_id=r, new_token_ids=t, finish_reason=f) for r, t, f in ends]
    scheduler.outputs = {0: SimpleNamespace(outputs=outputs)}
    scheduler.update_from_output(None, None)
    assert case.count("receives_done") == 2
    assert (case.count("finished"), case.count("errors"), case.count("aborted")) == (3, 1, 1)
    assert observer.tokens["r0"] == [7, 8]
    assert dict(observer.finish_reasons) == {"length": 1, "error": 1, "abort": 1}
    assert whats(case) == ["receive_done", "receive_done", "finish", "finish", "finish"]


def test_the_queue_is_counted() -> None:
    case = CaseRecorder(Line(), 1, 5)
    entries: list[Any] = []
    queue = SimpleNamespace(put=lambda item, block=True: entries.append((item, block)))
    observe_queue(queue, case)
    item = SimpleNamespace(req_id="r3")
    queue.put(item, block=False)
    assert entries == [(item, False)]
    assert case.count("queue_entries") == 1


def test_names() -> None:
    assert name_of("r0") == "r0"
    assert name_of("late-93fe") == "late"
