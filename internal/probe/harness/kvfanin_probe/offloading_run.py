"""Cases on vLLM's own OffloadingConnector, which parks the followers of a load (vLLM pull request 29087)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvfanin_probe import vllm_geometry
from kvfanin_probe.barrier import Barrier, wait_until
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Parameters, Result
from kvfanin_probe.vllm_course import Course
from kvfanin_probe.vllm_observe import wrap
from kvfanin_probe.vllm_stepped import SteppedEngine

TIER_BYTES = 8 << 20
NOT_REAL = "offloading worker: copies in host memory with threads, in place of CUDA streams"


def run(parameters: Parameters, case: CaseRecorder, model: Path, instance: int) -> Result:
    """Runs a case. `instance` tells the cases of a process apart."""
    refuse(parameters)
    case.stage("setup")
    transfer = {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "spec_name": "HostCopySpec",
            "spec_module_path": "kvfanin_probe.offloading_spec",
            "cpu_bytes_to_use": TIER_BYTES,
        },
    }
    engine = SteppedEngine(parameters, model, transfer)
    try:
        salt = f"{parameters.seed}/{instance}"
        prompts = vllm_geometry.prompts(parameters.requests, parameters.shared_blocks, engine.block_size, salt)
        size = vllm_geometry.page_bytes(engine.block_size) * vllm_geometry.LAYERS
        objects = [vllm_geometry.payload(parameters.seed + block, size) for block in range(parameters.shared_blocks)]
        case.stage("seed")
        seed_tier(engine, parameters, prompts[0], objects)
        return OffloadingCase(engine, parameters, case, prompts, objects).run()
    finally:
        case.stage("close")
        engine.close()


def refuse(parameters: Parameters) -> None:
    """Combinations that mean nothing here."""
    if parameters.mode:
        raise ValueError(f"offloading has no mode {parameters.mode!r}")
    if parameters.store != "fake" or parameters.engine != "stepped":
        raise ValueError("offloading runs with engine stepped and store fake: its store is the host memory tier")
    if parameters.fault not in ("none", "abort_held", "abort_queued"):
        raise ValueError(
            f"offloading cannot have the fault {parameters.fault}: the connector asserts that loads succeed"
        )
    if parameters.gpu_blocks < parameters.shared_blocks + 2:
        raise ValueError(f"gpu_blocks {parameters.gpu_blocks}: not even one request fits")


def seed_tier(engine: SteppedEngine, parameters: Parameters, prompt: list[int], objects: list[bytes]) -> None:
    """Brings the shared blocks into the host tier the ordinary way: a request computes them, vLLM offloads them."""
    worker = engine.connector.connector_worker.worker
    written: list[int] = []

    def forward(scheduled: Any) -> None:
        for request in scheduled.scheduled_new_reqs:
            written.extend(request.block_ids[0][: len(objects)])
            for block, content in zip(written, objects, strict=True):
                engine.write_block(block, content)

    engine.forward = forward
    engine.add("seed", prompt)
    wait_until(
        lambda: worker.stores > 0 and not engine.scheduler.requests,
        parameters.wait_s,
        "vLLM did not offload the seed's blocks",
        turn=engine.step,
    )
    engine.forward = None
    # The end of a store is told in the step after it.
    engine.step()
    engine.step()
    if not engine.scheduler.kv_cache_manager.reset_prefix_cache():
        raise RuntimeError("the prefix cache could not be emptied: blocks are still in use")
    for block in written:
        engine.write_block(block, bytes(len(objects[0])))


class OffloadingCase(Course):
    """Counts what the manager is asked and what the worker loads."""

    def __init__(
        self,
        engine: SteppedEngine,
        parameters: Parameters,
        case: CaseRecorder,
        prompts: list[list[int]],
        objects: list[bytes],
    ) -> None:
        barrier = Barrier(parameters.held_gets, parameters.wait_s)
        super().__init__(engine, parameters, case, prompts, barrier)
        self._stepped = engine
        self._objects = objects
        self._loaded: set[tuple[int, ...]] = set()
        self._request_of: dict[int, str] = {}
        self._worker = engine.connector.connector_worker.worker
        self._worker.observe(case, barrier, lambda block: self._request_of.get(block, ""))
        self.observer.on_load_spec = self._remember
        wrap(engine.scheduler.connector.connector_scheduler.manager, "lookup", self._lookup)

    def _remember(self, request: str, blocks: list[int]) -> None:
        self._loaded.add(tuple(blocks))
        self._request_of.update(dict.fromkeys(blocks, request))

    def _lookup(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """A question to the manager, in the scheduler's process: there is no RPC here."""
        self.case.add("lookups")
        return original(*args, **kwargs)

    def is_loadable(self, request_id: str, external_tokens: int) -> bool:
        """Every allocation for external tokens becomes a load job."""
        return external_tokens > 0

    def interfere(self) -> None:
        """Nothing but aborts is done here."""

    def gets_ended(self) -> int:
        """Loads that are over."""
        return int(self._worker.ended())

    def get_codes(self) -> list[int]:
        """Bytes of each load."""
        return list(self._worker.codes)

    def blocks_right(self) -> int:
        """Blocks loaded into that have the bytes of the object."""
        return sum(
            self._stepped.read_block(block) == content
            for blocks in self._loaded
            for block, content in zip(blocks, self._objects, strict=True)
        )

    def not_real(self) -> list[str]:
        """What is made up here."""
        return [*super().not_real(), NOT_REAL]

    def held_counts(self) -> dict[str, int]:
        """Who is told in each step to ask again."""
        return {"parked": self.observer.unanswered}
