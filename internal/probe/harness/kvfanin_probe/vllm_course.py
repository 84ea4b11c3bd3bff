"""The course of a case on vLLM: let N equal requests arrive, hold, interfere, release, count.

What the store is, and how its loads are counted, is said by a subclass.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

from vllm.v1.core.kv_cache_utils import make_block_hash_with_group_id

from kvfanin_probe import vllm_geometry
from kvfanin_probe.barrier import Barrier, WaitRanOut, wait_until
from kvfanin_probe.record import CaseRecorder, difference
from kvfanin_probe.target import Parameters, Result, Tokens
from kvfanin_probe.vllm_engine import Engine
from kvfanin_probe.vllm_observe import SchedulerObserver

# As far as they get: so many steps in a row in which nothing moved.
QUIET_STEPS = 3
LATE = "late"
COUNTED = (
    "lookups",
    "lookup_polls",
    "load_specs",
    "gets",
    "gets_in_flight",
    "destinations",
    "block_ids",
    "bytes",
    "receives_done",
    "publications",
    "finished",
    "errors",
    "aborted",
    "steps",
)


class Course(ABC):
    """One case, once its engine stands and its blocks are in the store."""

    submissions = "gets"
    """The counter of what is on its way to the barrier."""
    lookups_take_time = False
    """Whether a lookup that was put off comes to an answer by itself."""

    def __init__(
        self, engine: Engine, parameters: Parameters, case: CaseRecorder, prompts: list[list[int]], barrier: Barrier
    ) -> None:
        self.engine = engine
        self.parameters = parameters
        self.case = case
        self.prompts = prompts
        self.barrier = barrier
        self.notes: list[str] = []
        case.declare(*COUNTED)
        self.observer = SchedulerObserver(engine.scheduler, case, engine.block_size, self.is_loadable)

    @abstractmethod
    def is_loadable(self, request_id: str, external_tokens: int) -> bool:
        """Whether the allocation just made is one that will be loaded into."""

    @abstractmethod
    def interfere(self) -> None:
        """Does the fault to the store, while the first Gets are held."""

    @abstractmethod
    def gets_ended(self) -> int:
        """Gets that have come back."""

    @abstractmethod
    def get_codes(self) -> list[int]:
        """What every Get gave for each key."""

    @abstractmethod
    def blocks_right(self) -> int:
        """Destinations that now have the bytes of the object."""

    def held_counts(self) -> dict[str, int]:
        """Counts of the state "held" that only this store has."""
        return {}

    def not_real(self) -> list[str]:
        """What a reader of the counts must know is made up."""
        held = self.parameters.held_gets
        first = "the first Get is" if held == 1 else f"the first {held} Gets are"
        return [*self.engine.not_real, f"timing: {first} held at a barrier"]

    def run(self, expected_tokens: list[list[int]] | None = None) -> Result:
        """Everything between an engine and its counts."""
        try:
            return self._run(expected_tokens)
        finally:
            self.barrier.release()

    def _run(self, expected_tokens: list[list[int]] | None) -> Result:
        case, wait_s = self.case, self.parameters.wait_s
        failure = self._until_held()
        case.stage("held")
        held = {**case.counts(), **self.held_counts(), "waiting": self._waiting()}
        held["barrier_timeouts"] = self.barrier.timeouts
        if self.parameters.fault != "none":
            self._fault()
        case.stage("release")
        case.event("release")
        self.barrier.release()
        case.stage("drain")
        if failure is None:
            wait_until(self._drained, wait_s, "the requests did not all finish", turn=self.engine.step)
            # What an aborted request still held is let go of in a later step.
            for _ in range(QUIET_STEPS):
                self.engine.step()
        else:
            self.notes.append(failure)
            wait_until(self._loads_ended, wait_s, "the Gets did not all come back")
        result = Result(
            counts={"held": held, "end": self._end_counts()},
            finish_reasons=dict(self.observer.finish_reasons),
            get_codes=self.get_codes(),
            each_finished_once=self.observer.ends == dict.fromkeys(self._names(), 1),
            blocks_right=self.blocks_right(),
            tokens=self._compare_tokens(expected_tokens),
            not_real=self.not_real(),
            notes=self.notes,
        )
        if self.parameters.late_request and failure is None:
            result.counts["late"] = self._late_request()
        return result

    def _names(self) -> list[str]:
        return [f"r{number}" for number in range(self.parameters.requests)]

    def _until_held(self) -> str | None:
        """Lets the requests arrive and go as far as they get. Gives the stack's own failure where one is expected."""
        try:
            self._arrive()
            self._step_until_quiet()
        except Exception as error:
            if self.parameters.load_async:
                raise
            # Synchronous loading ends in an assertion of the worker. Its Get is under way all the same.
            self._wait_full()
            return f"the stack raised {type(error).__name__}: {error}"
        return None

    def _arrive(self) -> None:
        self.case.stage("arrive")
        self.case.begin()
        for name, prompt in zip(self._names(), self.prompts, strict=True):
            self.case.event("arrival", request=name)
            self.engine.add(name, prompt)
            if self.parameters.stagger_ms:
                self.engine.step()
                self.engine.step()
                time.sleep(self.parameters.stagger_ms / 1000)

    def _step_until_quiet(self) -> None:
        parameters = self.parameters
        quiet, before = 0, None
        deadline = time.monotonic() + parameters.wait_s
        while quiet < QUIET_STEPS or not self.barrier.full:
            if time.monotonic() > deadline:
                raise WaitRanOut(
                    f"after {parameters.wait_s:g} s the barrier holds fewer than {parameters.held_gets} Gets; "
                    f"{self.case.count('load_specs')} load specs were made"
                )
            self.engine.step()
            if self.case.count(self.submissions) >= parameters.held_gets:
                # No steps while the receive threads get going: how many there would be is chance, and under pressure
                # every step is a lookup.
                self._wait_full()
            now = (self.case.count("load_specs"), self.case.count("finished"), self._waiting())
            expecting = self.lookups_take_time and self.observer.unanswered
            quiet = quiet + 1 if now == before and not expecting else 0
            before = now
            time.sleep(0.001)

    def _wait_full(self) -> None:
        if not self.barrier.wait_full(self.parameters.wait_s):
            held, wait_s = self.parameters.held_gets, self.parameters.wait_s
            raise WaitRanOut(f"{held} Gets did not reach the store within {wait_s:g} s")

    def _fault(self) -> None:
        fault = self.parameters.fault
        if fault.startswith("abort"):
            # The receive threads take the requests in their order: the first is held, the last is queued.
            self._abort(self._names()[0 if fault == "abort_held" else -1])
        else:
            self.case.event("fault", fault=fault)
            self.interfere()

    def _abort(self, name: str) -> None:
        pool = self.engine.scheduler.kv_cache_manager.block_pool
        free = pool.get_num_free_blocks()
        if not self.engine.abort(name):
            raise RuntimeError(f"{name} is not there to be aborted")
        if not self.observer.ends[name]:
            # The scheduler gives no output for it.
            self.observer.ended(name, "abort")
        self.engine.step()
        self.engine.step()
        # The blocks of a receive stay taken: held or queued, it still goes into them.
        freed = pool.get_num_free_blocks() - free
        self.case.event("fault", fault=self.parameters.fault, request=name, blocks_freed=freed)

    def _drained(self) -> bool:
        finished = all(self.observer.ends[name] for name in self._names())
        return finished and self.case.count("receives_done") >= self.case.count("load_specs")

    def _loads_ended(self) -> bool:
        return self.gets_ended() >= self.case.count(self.submissions)

    def _late_request(self) -> dict[str, int]:
        """One more, when everything is over."""
        self.case.stage("late")
        before = self.case.counts()
        prompt = [*self.prompts[0][: -vllm_geometry.TAIL_TOKENS], 3, 3, 3]
        self.case.event("arrival", request=LATE)
        self.engine.add(LATE, prompt)
        wait_until(
            lambda: bool(self.observer.ends[LATE]),
            self.parameters.wait_s,
            "the late request did not finish",
            turn=self.engine.step,
        )
        gained = difference(self.case.counts(), before)
        # A maximum has no difference.
        del gained["gets_in_flight"]
        return gained

    def _waiting(self) -> int:
        requests = self.engine.scheduler.requests.values()
        return sum(request.status.name == "WAITING_FOR_REMOTE_KVS" for request in requests)

    def _end_counts(self) -> dict[str, int]:
        copies = len(cached_blocks(self.engine, self.prompts[0], 1))
        return {**self.case.counts(), "cached_copies": copies, "barrier_timeouts": self.barrier.timeouts}

    def _compare_tokens(self, expected: list[list[int]] | None) -> Tokens | None:
        if expected is None:
            return None
        # Who was aborted, or failed, has fewer tokens and is not compared.
        given = [self.observer.tokens.get(name, []) for name in self._names()]
        pairs = [(have, want) for have, want in zip(given, expected, strict=True) if len(have) == len(want)]
        return Tokens(compared=len(pairs), equal=sum(have == want for have, want in pairs))


def cached_blocks(engine: Engine, prompt: list[int], blocks: int) -> list[Any]:
    """The blocks of the prefix cache that go by the hashes of a prompt's first blocks, copies among them."""
    names = [make_block_hash_with_group_id(block_hash, 0) for block_hash in engine.block_hashes(prompt)[:blocks]]
    pool = engine.scheduler.kv_cache_manager.block_pool
    return [block for name in names for block in pool.blocks if block.block_hash == name]
