"""The modes sync, async and mp: vLLM's scheduler over LMCache's connectors, stepped."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from lmcache.integration.vllm.utils import ENGINE_NAME
from lmcache.v1.cache_engine import LMCacheEngineBuilder
from vllm.distributed.kv_transfer.kv_transfer_state import ensure_kv_transfer_shutdown

from kvfanin_probe import vllm_geometry
from kvfanin_probe.barrier import wait_until
from kvfanin_probe.lmcache_device import objects_of
from kvfanin_probe.lmcache_engine import NOT_REAL, EngineObserver, check, make_cold, make_engine, settings, wait_stored
from kvfanin_probe.lmcache_reads import Gate, Reads
from kvfanin_probe.lmcache_server import HOST, Server
from kvfanin_probe.record import CaseRecorder, difference
from kvfanin_probe.target import Parameters, Result
from kvfanin_probe.vllm_course import cached_blocks
from kvfanin_probe.vllm_observe import SchedulerObserver, wrap
from kvfanin_probe.vllm_stepped import SteppedEngine

SEED, LATE = "seed", "late"


def run(parameters: Parameters, case: CaseRecorder, folder: Path, model: Path) -> Result:
    """Runs a case. The name of its folder is of this case alone."""
    path = MultiProcess(parameters, folder) if parameters.mode == "mp" else InProcess(parameters, folder)
    engine: SteppedEngine | None = None
    try:
        engine = SteppedEngine(parameters, model, path.transfer())
        result = LMCacheCase(engine, path, parameters, case, folder).run()
        case.stage("close")
        return result
    finally:
        if engine is not None:
            engine.close()
        else:
            # The worker's connector may stand already, and would be taken for that of the next case.
            ensure_kv_transfer_shutdown()
        path.close()


class Layers(ABC):
    """LMCache behind one of its connectors: how it is set up, made cold, watched, and brought into the held state."""

    not_real: ClassVar[list[str]]

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        self.parameters = parameters
        self.folder = folder

    def transfer(self) -> dict[str, Any]:
        """The connector's settings, as a user would give them to vLLM."""
        connector, extra = self.connector()
        return {
            "kv_connector": connector,
            "kv_role": "kv_both",
            "kv_load_failure_policy": self.parameters.failure_policy,
            # Becomes part of the names of socket files.
            "engine_id": self.folder.name,
            "kv_connector_extra_config": extra,
        }

    @abstractmethod
    def connector(self) -> tuple[str, dict[str, Any]]:
        """Its name and its extra settings."""

    @abstractmethod
    def check(self, engine: SteppedEngine) -> None:
        """Raises where LMCache came up degraded, which it does without an error."""

    @abstractmethod
    def make_cold(self) -> None:
        """Leaves the objects to the cold tier alone."""

    @abstractmethod
    def watch(self, engine: SteppedEngine, case: CaseRecorder, gate: Gate, received: Callable[..., None]) -> Reads:
        """Counts from here on."""

    @abstractmethod
    def hold(self, engine: SteppedEngine, gate: Gate, held: Callable[[], None]) -> None:
        """Steps until the reads are held, says so, and opens the gate."""

    @abstractmethod
    def notes(self) -> list[str]:
        """What the counts do not say."""

    @abstractmethod
    def close(self) -> None:
        """Ends what the connector does not end."""

    def settle(self, gate: Gate) -> None:
        """Waits until no more reads come."""
        gate.settle(self.parameters.requests * self.parameters.shared_blocks, self.parameters.wait_s)


class InProcess(Layers):
    """LMCacheConnectorV1: the engine lives in the worker, lookups go to it over ZMQ."""

    not_real: ClassVar = NOT_REAL

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self._settings = settings(folder, parameters.wait_s, asynchronous=parameters.mode == "async")
        # The connector takes an engine of this name where there is one. Made by it, the engine would have no way to
        # copy from and to CPU tensors, and it would be given up.
        self._engine = make_engine(ENGINE_NAME, folder.name, self._settings)
        self._observer: EngineObserver | None = None

    def connector(self) -> tuple[str, dict[str, Any]]:
        """Its name and its extra settings."""
        extra = {f"lmcache.{name}": value for name, value in self._settings.items()}
        return "LMCacheConnectorV1", {"lmcache_rpc_port": self.folder.name, **extra}

    def check(self, engine: SteppedEngine) -> None:
        """Both roles have what they need, and the worker this engine."""
        if engine.connector._lmcache_engine.lmcache_engine is not self._engine:
            raise RuntimeError("LMCache's connector did not take the engine that was made for it")
        check(self._engine)
        if engine.scheduler.connector._lmcache_engine.lookup_client is None:
            raise RuntimeError("LMCache came up degraded, without a lookup client: it would recompute every request")

    def make_cold(self) -> None:
        """Empties the host tier."""
        make_cold(self._engine, self.parameters.wait_s)

    def watch(self, engine: SteppedEngine, case: CaseRecorder, gate: Gate, received: Callable[..., None]) -> Reads:
        """Counts from here on."""
        case.declare("lookups")
        self._observer = EngineObserver(self._engine, case, gate, received)
        published: set[int] = set()

        def lookup(original: Callable[..., Any], tokens: Any, lookup_id: str, *args: Any, **kwargs: Any) -> Any:
            case.add("lookups")
            case.event("lookup_start", request=lookup_id)
            return original(tokens, lookup_id, *args, **kwargs)

        def schedule(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            """What a request is given for a synchronous load is in the prefix cache at once, before it is loaded."""
            output = original(*args, **kwargs)
            for request in output.scheduled_new_reqs:
                fresh = set(request.block_ids[0][: self.parameters.shared_blocks]) - published
                for block in cached_blocks(engine, request.prompt_token_ids, self.parameters.shared_blocks):
                    if block.block_id in fresh:
                        published.add(block.block_id)
                        case.event("publication", request=request.req_id, block=block.block_id)
            return output

        wrap(engine.scheduler.connector._lmcache_engine.lookup_client, "lookup", lookup)
        wrap(engine.scheduler, "schedule", schedule)
        return self._observer.reads

    def hold(self, engine: SteppedEngine, gate: Gate, held: Callable[[], None]) -> None:
        """A synchronous load is held inside the step that starts it, an asynchronous one between steps."""
        if self.parameters.mode == "async":
            engine.step()
            self.settle(gate)
            engine.step()
            held()
            gate.open()
            return
        watcher = Watcher(lambda: self.settle(gate), held, gate)
        engine.step()
        watcher.finish(self.parameters.wait_s)

    def notes(self) -> list[str]:
        """What became of what was read."""
        return [self._observer.note()] if self._observer else []

    def close(self) -> None:
        """Ends the engine. vLLM's connector does not, and LMCache's own way closes sockets that threads wait on."""
        LMCacheEngineBuilder.destroy(ENGINE_NAME)


class Watcher:
    """Takes the held state from a thread, while the main one is in a step that cannot end before."""

    def __init__(self, settle: Callable[[], None], held: Callable[[], None], gate: Gate) -> None:
        self._error: BaseException | None = None

        def watch() -> None:
            try:
                settle()
                held()
            except BaseException as error:
                self._error = error
            finally:
                gate.open()

        self._thread = threading.Thread(target=watch, name="kvfanin-watcher", daemon=True)
        self._thread.start()

    def finish(self, wait_s: float) -> None:
        """After the step."""
        self._thread.join(wait_s)
        if self._error is not None:
            raise self._error


class MultiProcess(Layers):
    """LMCacheMPConnector: a server has the tiers, lookups and blocks go to and from it over TCP."""

    not_real: ClassVar = [
        "server process: LMCache's multiprocess server runs in threads of this process, where it can be watched; it is "
        "reached over TCP on the loopback",
        "cold tier: a local folder, by LMCache's own file system adapter",
    ]

    def __init__(self, parameters: Parameters, folder: Path) -> None:
        super().__init__(parameters, folder)
        self._server = Server(folder, parameters.prefetch_in_flight)

    def connector(self) -> tuple[str, dict[str, Any]]:
        """Its name and its extra settings."""
        return "LMCacheMPConnector", {
            "lmcache.mp.host": f"tcp://{HOST}",
            "lmcache.mp.port": self._server.port,
            "lmcache.mp.mq_timeout": self.parameters.wait_s,
            # A poll waits for the server's word, so that one step sees every answer that is there.
            "lmcache.mp.nonblocking_lookup_status": False,
        }

    def check(self, engine: SteppedEngine) -> None:
        """Both roles have their server."""
        if not (engine.connector.worker_adapter.is_healthy and engine.scheduler.connector.scheduler_adapter.is_healthy):
            raise RuntimeError("LMCache came up degraded, without its server: it would recompute every request")

    def make_cold(self) -> None:
        """Empties the host tier."""
        self._server.make_cold(self.parameters.wait_s)

    def watch(self, engine: SteppedEngine, case: CaseRecorder, gate: Gate, received: Callable[..., None]) -> Reads:
        """Counts from here on."""
        case.declare("queue_entries", "receives_done", "publications")
        blocks: dict[str, list[int]] = {}

        def retrieve(original: Callable[..., Any], request_id: str, op: Any, *args: Any, **kwargs: Any) -> Any:
            case.add("queue_entries")
            case.event("enqueue", request=request_id)
            blocks[request_id] = list(op.flat_block_ids)
            return original(request_id, op, *args, **kwargs)

        def finished(original: Callable[..., Any], output: Any, *args: Any, **kwargs: Any) -> Any:
            for request_id in output.finished_recving or ():
                received(request_id, blocks[request_id])
            return original(output, *args, **kwargs)

        wrap(engine.connector.worker_adapter, "submit_retrieve_request", retrieve)
        wrap(engine.scheduler.connector, "update_connector_output", finished)
        return self._server.watch(case, gate)

    def hold(self, engine: SteppedEngine, gate: Gate, held: Callable[[], None]) -> None:
        """The scheduler is told to ask again; it is not stepped until all answers are there."""
        engine.step()
        self.settle(gate)
        engine.step()
        held()
        gate.open()
        self._server.wait_prefetched(self.parameters.requests, self.parameters.wait_s)

    def notes(self) -> list[str]:
        """What other timing would show."""
        return [
            "no step is made between the release and the server's last answer; running free, vLLM's prefix cache "
            "serves those who are answered after the first receive, and the number of retrieves varies from run to run"
        ]

    def close(self) -> None:
        """Ends the server."""
        self._server.close()


class LMCacheCase:
    """The course of a case: seed the cold tier through the connector, let N arrive, hold, release, count."""

    def __init__(
        self, engine: SteppedEngine, path: Layers, parameters: Parameters, case: CaseRecorder, folder: Path
    ) -> None:
        self._engine = engine
        self._path = path
        self._parameters = parameters
        self._case = case
        self._folder = folder
        self._objects = objects_of(parameters.seed, parameters.shared_blocks)
        # One that seeds, and one that comes late.
        *self._prompts, self._seed_prompt, self._late_prompt = vllm_geometry.prompts(
            parameters.requests + 2, parameters.shared_blocks, engine.block_size, f"{parameters.seed}"
        )
        self._right: set[int] = set()
        self._gate = Gate(parameters.wait_s)

    def run(self) -> Result:
        """Everything between an engine and its counts."""
        parameters, case, gate = self._parameters, self._case, self._gate
        self._path.check(self._engine)
        case.stage("seed")
        self._seed()
        case.declare("lookup_polls", "load_specs", "block_ids", "finished", "errors", "steps")
        observer = SchedulerObserver(self._engine.scheduler, case, self._engine.block_size, self._is_loadable)
        reads = self._path.watch(self._engine, case, gate, self._received)
        names = [f"r{number}" for number in range(parameters.requests)]
        held: dict[str, int] = {}
        case.stage("arrive")
        for name, prompt in zip(names, self._prompts, strict=True):
            case.event("arrival", request=name)
            self._engine.add(name, prompt)
        try:
            self._path.hold(self._engine, gate, lambda: held.update(self._held()))
        finally:
            gate.open()
        case.stage("drain")
        self._step_until(
            lambda: reads.idle and all(observer.ends[name] for name in names), "the requests did not all finish"
        )
        counts = case.counts()
        result = Result(
            counts={"held": held, "end": self._with_state(counts)},
            finish_reasons=dict(observer.finish_reasons),
            get_codes=reads.codes,
            each_finished_once=observer.ends == dict.fromkeys(names, 1),
            blocks_right=len(self._right),
            not_real=[*self._engine.not_real, *self._path.not_real, gate.NOT_REAL],
            notes=self._path.notes(),
        )
        if parameters.late_request:
            case.stage("late")
            case.event("arrival", request=LATE)
            self._engine.add(LATE, self._late_prompt)
            self._step_until(lambda: reads.idle and bool(observer.ends[LATE]), "the late request did not finish")
            result.counts["late"] = difference(case.counts(), counts)
            # A maximum has no difference.
            del result.counts["late"]["gets_in_flight"]
        return result

    def _seed(self) -> None:
        """A request computes the shared blocks and the connector stores them; then all but the cold tier is emptied."""
        engine, wait_s = self._engine, self._parameters.wait_s
        written: list[int] = []

        def forward(scheduled: Any) -> None:
            for request in scheduled.scheduled_new_reqs:
                written.extend(request.block_ids[0][: len(self._objects)])
                for block, content in zip(written, self._objects, strict=True):
                    engine.write_block(block, content)

        engine.forward = forward
        engine.add(SEED, self._seed_prompt)
        self._step_until(lambda: not engine.scheduler.has_requests(), "the seeding request did not finish")
        engine.forward = None
        wait_stored(self._folder, len(self._objects), wait_s)
        if not engine.scheduler.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be emptied: blocks are still in use")
        for block, content in zip(written, self._objects, strict=True):
            engine.write_block(block, bytes(len(content)))
        self._path.make_cold()

    def _step_until(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(condition, self._parameters.wait_s, what, turn=self._engine.step)

    def _is_loadable(self, _request_id: str, external_tokens: int) -> bool:
        return external_tokens > 0

    def _received(self, _request: str, blocks: list[int]) -> None:
        """Looks at what a load has put into its blocks."""
        for block, content in zip(blocks, self._objects, strict=False):
            if self._engine.read_block(block) == content:
                self._right.add(block)

    def _held(self) -> dict[str, int]:
        self._case.stage("held")
        requests = self._engine.scheduler.requests.values()
        waiting = sum(request.status.name == "WAITING_FOR_REMOTE_KVS" for request in requests)
        counts = {**self._with_state(self._case.counts()), "waiting": waiting}
        self._case.stage("release")
        self._case.event("release")
        return counts

    def _with_state(self, counts: dict[str, int]) -> dict[str, int]:
        copies = len(cached_blocks(self._engine, self._late_prompt, 1))
        return {**counts, "cached_copies": copies, "barrier_timeouts": self._gate.timeouts}
