"""Observers on instances of vLLM's scheduler side. What they wrap goes on exactly as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kvfanin_probe.record import CaseRecorder


def name_of(request_id: str) -> str:
    """Our name of a request: the front end of the whole engine adds a random suffix."""
    return request_id.split("-", 1)[0]


def wrap(instance: Any, name: str, observer: Callable[..., Any]) -> None:
    """Lets an observer see the calls of one method of one instance. It gets the method, and goes on with it."""
    original = getattr(instance, name)

    def observed(*args: Any, **kwargs: Any) -> Any:
        return observer(original, *args, **kwargs)

    setattr(instance, name, observed)


class SchedulerObserver:
    """Lookups, load specs, receives, publications and ends, as the scheduler and its connector see them."""

    def __init__(
        self, scheduler: Any, case: CaseRecorder, block_size: int, is_loadable: Callable[[str, int], bool]
    ) -> None:
        self._scheduler = scheduler
        self._is_loadable = is_loadable
        self._case = case
        self._block_size = block_size
        self._block_ids: set[int] = set()
        self._local_tokens: dict[str, int] = {}
        self.unanswered = 0
        """Polls in the latest step that were told to ask again."""
        self.finish_reasons: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        """How often each request ended."""
        self.tokens: dict[str, list[int]] = {}
        self.on_load_spec: Callable[[str, list[int]], None] = lambda request, blocks: None

        connector = scheduler.connector
        wrap(connector, "get_num_new_matched_tokens", self._poll)
        wrap(connector, "update_state_after_alloc", self._allocated)
        wrap(connector, "update_connector_output", self._received)
        wrap(scheduler, "schedule", self._schedule)
        wrap(scheduler, "update_from_output", self._outputs)
        wrap(scheduler.kv_cache_manager, "cache_blocks", self._publish)

    def _schedule(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.unanswered = 0
        self._case.add("steps")
        return original(*args, **kwargs)

    def _poll(self, original: Callable[..., Any], request: Any, computed: int, *args: Any, **kwargs: Any) -> Any:
        self._case.add("lookup_polls")
        self._local_tokens[request.request_id] = computed
        answer = original(request, computed, *args, **kwargs)
        tokens = answer[0]
        if tokens is None:
            self.unanswered += 1
        else:
            hit = int(tokens) // self._block_size
            self._case.event("lookup", request=name_of(request.request_id), hit=hit)
        return answer

    def _allocated(
        self, original: Callable[..., Any], request: Any, given: Any, external: int, *args: Any, **kwargs: Any
    ) -> Any:
        answer = original(request, given, external, *args, **kwargs)
        if self._is_loadable(request.request_id, external):
            first = self._local_tokens[request.request_id] // self._block_size
            end = first + external // self._block_size
            blocks = self._scheduler.kv_cache_manager.get_block_ids(request.request_id)[0][first:end]
            self._block_ids.update(blocks)
            self._case.add("load_specs")
            self._case.put("block_ids", len(self._block_ids))
            self._case.event("load_spec", request=name_of(request.request_id), blocks=blocks)
            self.on_load_spec(name_of(request.request_id), blocks)
        return answer

    def _received(self, original: Callable[..., Any], output: Any, *args: Any, **kwargs: Any) -> Any:
        for request_id in sorted(output.finished_recving or ()):
            self._case.add("receives_done")
            self._case.event("receive_done", request=name_of(request_id))
        return original(output, *args, **kwargs)

    def _publish(self, original: Callable[..., Any], request: Any, *args: Any, **kwargs: Any) -> Any:
        """The scheduler calls this for blocks that came in through a receive; computed ones take another way."""
        blocks = self._scheduler.kv_cache_manager.get_blocks(request.request_id).blocks[0]
        fresh = [block for block in blocks if block.block_hash is None]
        given = original(request, *args, **kwargs)
        for block in fresh:
            if block.block_hash is not None:
                self._case.add("publications")
                self._case.event("publication", request=name_of(request.request_id), block=block.block_id)
        return given

    def _outputs(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        given = original(*args, **kwargs)
        for outputs in given.values():
            for output in outputs.outputs:
                name = name_of(output.request_id)
                self.tokens.setdefault(name, []).extend(output.new_token_ids)
                if output.finish_reason is not None:
                    self.ended(name, str(output.finish_reason))
        return given

    def ended(self, name: str, reason: str) -> None:
        """Notes the end of a request."""
        self.ends[name] += 1
        self.finish_reasons[reason] += 1
        self._case.add("finished")
        if reason == "error":
            self._case.add("errors")
        if reason == "abort":
            self._case.add("aborted")
        self._case.event("finish", request=name, reason=reason)


def observe_queue(receive_queue: Any, case: CaseRecorder) -> None:
    """Counts what is put into the worker's receive queue."""

    def put(original: Callable[..., Any], item: Any, *args: Any, **kwargs: Any) -> Any:
        case.add("queue_entries")
        case.event("enqueue", request=name_of(item.req_id))
        return original(item, *args, **kwargs)

    wrap(receive_queue, "put", put)
