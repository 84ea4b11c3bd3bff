"""The modes engine and engine_prefetch: LMCache's engine without vLLM, under N readers of the same cold chunks."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, ClassVar

import torch
from lmcache.v1.cache_engine import LMCacheEngineBuilder

from kvfanin_probe.barrier import WaitRanOut
from kvfanin_probe.lmcache_device import BLOCK_TOKENS, make_caches, objects_of, read_block, write_block
from kvfanin_probe.lmcache_engine import NOT_REAL, EngineObserver, check, make_cold, make_engine, settings, wait_stored
from kvfanin_probe.lmcache_reads import Gate
from kvfanin_probe.record import CaseRecorder, difference
from kvfanin_probe.target import Parameters, Result


def run(parameters: Parameters, case: CaseRecorder, folder: Path) -> Result:
    """Runs a case."""
    prefetch = parameters.mode == "engine_prefetch"
    name = f"kvfanin-{folder.name}"
    engine = make_engine(name, name, settings(folder, parameters.wait_s, asynchronous=prefetch))
    try:
        answers = Answers()
        engine.post_init(async_lookup_server=answers)
        check(engine)
        kind = Prefetchers if prefetch else Readers
        result = kind(engine, answers, parameters, case).run(folder)
        case.stage("close")
        return result
    finally:
        LMCacheEngineBuilder.destroy(name)


class Answers:
    """Stands where LMCache's asynchronous lookup server sends its answers from."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tokens: dict[str, int] = {}

    def send_response_to_scheduler(self, lookup_id: str, num_hit_tokens: int) -> None:
        """LMCache says how much it has prefetched."""
        with self._changed:
            self._tokens[lookup_id] = num_hit_tokens
            self._changed.notify_all()

    def wait(self, request: str, wait_s: float) -> int:
        """The answer to one lookup."""
        with self._changed:
            if not self._changed.wait_for(lambda: request in self._tokens, wait_s):
                raise WaitRanOut(f"the answer to the lookup of {request}: not within {wait_s:g} s")
            return self._tokens[request]


class Readers:
    """Each reader is a thread. All look up before any of them retrieves."""

    not_real: ClassVar = ["vLLM: not there, threads of the harness call the engine"]

    def __init__(self, engine: Any, answers: Answers, parameters: Parameters, case: CaseRecorder) -> None:
        self.engine = engine
        self.answers = answers
        self.parameters = parameters
        self.case = case
        self._tokens = list(range(parameters.shared_blocks * BLOCK_TOKENS))
        self._objects = objects_of(parameters.seed, parameters.shared_blocks)
        # The seed has blocks, every reader has blocks of its own, and so has one that comes late.
        self._caches = make_caches((parameters.requests + 2) * parameters.shared_blocks)
        self._lock = threading.Lock()
        self._ends: dict[str, int] = {}
        self._right: set[int] = set()
        self._errors: list[str] = []
        self._threads: list[threading.Thread] = []

    def run(self, folder: Path) -> Result:
        """Seeds, lets N read, and one more."""
        wait_s, case = self.parameters.wait_s, self.case
        case.stage("seed")
        self._seed(folder)
        gate = Gate(wait_s)
        case.declare("lookups", "finished")
        observer = EngineObserver(self.engine, case, gate, self._received)
        try:
            case.stage("arrive")
            names = [f"r{number}" for number in range(self.parameters.requests)]
            self.arrive(names)
            gate.settle(self.parameters.requests * self.parameters.shared_blocks, wait_s)
            case.stage("held")
            held = {**case.counts(), "barrier_timeouts": gate.timeouts}
            case.stage("release")
            case.event("release")
        finally:
            gate.open()
        case.stage("drain")
        self.drain(names)
        counts = case.counts()
        end = {**counts, "barrier_timeouts": gate.timeouts}
        result = Result(
            counts={"held": held, "end": end},
            get_codes=observer.reads.codes,
            each_finished_once=self._ends == dict.fromkeys(names, 1),
            blocks_right=len(self._right),
            not_real=[*self.not_real, *NOT_REAL, gate.NOT_REAL],
            notes=[observer.note()],
        )
        if self.parameters.late_request:
            case.stage("late")
            self.late("late", self.parameters.requests)
            result.counts["late"] = difference(case.counts(), counts)
            # A maximum has no difference.
            del result.counts["late"]["gets_in_flight"]
        return result

    def arrive(self, names: list[str]) -> None:
        """Starts the readers."""
        looked_up = threading.Barrier(len(names))

        def read(name: str, number: int) -> None:
            try:
                self._look_up(name)
                looked_up.wait(self.parameters.wait_s)
                self._retrieve(name, number)
                self._unpin(name)
            except Exception as error:
                with self._lock:
                    self._errors.append(f"{name}: {type(error).__name__}: {error}")

        for number, name in enumerate(names):
            thread = threading.Thread(target=read, args=(name, number), name=f"reader-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def drain(self, names: list[str]) -> None:
        """Waits for them."""
        for thread in self._threads:
            thread.join(self.parameters.wait_s)
        if self._errors:
            raise RuntimeError(self._errors[0])
        if any(thread.is_alive() for thread in self._threads):
            raise WaitRanOut(f"the {len(names)} readers: not within {self.parameters.wait_s:g} s")

    def late(self, name: str, number: int) -> None:
        """One more reader, when everything is over."""
        self._look_up(name)
        self._retrieve(name, number)
        self._unpin(name)

    def _seed(self, folder: Path) -> None:
        for block, content in enumerate(self._objects):
            write_block(self._caches, block, content)
        self.engine.store(tokens=self._tokens, slot_mapping=self._slots(0), kvcaches=self._caches)
        wait_stored(folder, self.parameters.shared_blocks, self.parameters.wait_s)
        make_cold(self.engine, self.parameters.wait_s)

    def _look_up(self, name: str) -> None:
        self.case.event("arrival", request=name)
        self.case.add("lookups")
        hit = self.engine.lookup(tokens=self._tokens, lookup_id=name, pin=True)
        self.case.event("lookup", request=name, hit=hit // BLOCK_TOKENS)

    def _unpin(self, name: str) -> None:
        self.engine.lookup_unpin(name)

    def _retrieve(self, name: str, number: int) -> None:
        slots = self._slots((number + 1) * self.parameters.shared_blocks)
        mask = self.engine.retrieve(self._tokens, req_id=name, slot_mapping=slots, kvcaches=self._caches)
        if int(mask.sum()) != len(self._tokens):
            raise RuntimeError(f"{name} got {int(mask.sum())} of {len(self._tokens)} tokens")
        with self._lock:
            self._ends[name] = self._ends.get(name, 0) + 1
        self.case.add("finished")
        self.case.event("finish", request=name, reason="retrieved")

    def _received(self, _request: str, blocks: list[int]) -> None:
        right = {
            block
            for block, content in zip(blocks, self._objects, strict=True)
            if read_block(self._caches, block) == content
        }
        with self._lock:
            self._right |= right

    def _slots(self, first_block: int) -> torch.Tensor:
        first = first_block * BLOCK_TOKENS
        return torch.arange(first, first + len(self._tokens))


class Prefetchers(Readers):
    """Each reader is a prefetch, started without waiting, and a retrieve once its answer is there."""

    not_real: ClassVar = [*Readers.not_real, "lookup server: only the place its answers go to"]

    def arrive(self, names: list[str]) -> None:
        """Starts the prefetches; LMCache's event loop does the rest."""
        for name in names:
            self._prefetch(name)

    def drain(self, names: list[str]) -> None:
        """Retrieves what was prefetched."""
        for number, name in enumerate(names):
            self.answers.wait(name, self.parameters.wait_s)
            self._retrieve(name, number)

    def late(self, name: str, number: int) -> None:
        """One more prefetch, when everything is over."""
        self._prefetch(name)
        self.answers.wait(name, self.parameters.wait_s)
        self._retrieve(name, number)

    def _prefetch(self, name: str) -> None:
        self.case.event("arrival", request=name)
        self.case.add("lookups")
        self.engine.async_lookup_and_prefetch(lookup_id=name, tokens=self._tokens, pin=True)
        self.case.event("lookup", request=name)
