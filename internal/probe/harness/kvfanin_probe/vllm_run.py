"""Sets a case of the Mooncake connector up: engine, store, prompts, objects."""

from __future__ import annotations

import contextlib
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kvfanin_probe import vllm_close, vllm_geometry
from kvfanin_probe.fake_store import FakeCluster, in_place_of_mooncake
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Parameters, Result
from kvfanin_probe.vllm_case import MooncakeCase
from kvfanin_probe.vllm_course import cached_blocks
from kvfanin_probe.vllm_engine import mooncake_settings
from kvfanin_probe.vllm_stepped import SteppedEngine


def run(parameters: Parameters, case: CaseRecorder, model: Path, instance: int) -> Result:
    """Runs a case. `instance` tells the cases of a process apart."""
    refuse(parameters)
    case.stage("setup")
    # The worker reads it when it is made.
    os.environ["VLLM_MOONCAKE_LOAD_RECV_THREADS"] = str(parameters.receive_threads)
    how = run_full if parameters.engine == "full" else run_stepped
    return how(parameters, case, model, instance)


def refuse(parameters: Parameters) -> None:
    """Combinations that mean nothing here."""
    most = min(parameters.requests, parameters.receive_threads)
    if parameters.mode:
        raise ValueError(f"vllm-mooncake has no mode {parameters.mode!r}")
    if not parameters.prefix_caching:
        raise ValueError("vllm-mooncake needs prefix caching: the connector goes by its block hashes")
    if parameters.held_gets > most:
        raise ValueError(f"held_gets {parameters.held_gets}: at most {most} Gets are submitted at once here")
    if parameters.fault == "owner_killed" and parameters.store != "real":
        raise ValueError("owner_killed needs the real store: the fake one has no owner")
    if parameters.fault == "abort_queued" and parameters.requests <= parameters.receive_threads:
        raise ValueError("abort_queued needs more requests than receive threads: otherwise none is queued")
    if parameters.gpu_blocks < parameters.shared_blocks + 2:
        raise ValueError(f"gpu_blocks {parameters.gpu_blocks}: not even one request fits")
    if parameters.device == "cuda" and parameters.engine == "full":
        raise ValueError("engine full reads the KV cache from host memory: device cuda goes with engine stepped only")


def run_stepped(parameters: Parameters, case: CaseRecorder, model: Path, instance: int) -> Result:
    """Without a model: the objects are any bytes."""
    cluster = FakeCluster()
    with store_while_made(parameters, cluster):
        engine = SteppedEngine(parameters, model, mooncake_settings(parameters, instance))
    try:
        prompts = prompts_of(parameters, engine.block_size, instance)
        size = vllm_geometry.page_bytes(engine.block_size) * vllm_geometry.LAYERS
        objects = [vllm_geometry.payload(parameters.seed + block, size) for block in range(parameters.shared_blocks)]

        def seed(by_key: dict[str, bytes]) -> None:
            for block, (key, value) in enumerate(by_key.items()):
                if parameters.store == "fake":
                    cluster.put(key, value)
                else:
                    # The owner makes the same bytes of the same seed.
                    case.need("put", key=key, seed=parameters.seed + block, bytes=size)

        course = MooncakeCase(engine, parameters, case, prompts, objects, seed)
        course.seed()
        return course.run()
    finally:
        case.stage("close")
        vllm_close.close_mooncake(engine)


def run_full(parameters: Parameters, case: CaseRecorder, model: Path, instance: int) -> Result:
    """With a model: the objects are what it computes, and its tokens are compared."""
    from kvfanin_probe.vllm_full import FullEngine

    cluster = FakeCluster()
    with store_while_made(parameters, cluster):
        engine = FullEngine(parameters, model, mooncake_settings(parameters, instance))
    try:
        prompts = prompts_of(parameters, engine.block_size, instance)
        # With nothing in the store the engine computes the blocks itself. That gives the tokens to compare with, and
        # the bytes to put into the store.
        expected = engine.generate(prompts)
        worker = engine.connector.connector_worker
        objects = []
        for block in cached_blocks(engine, prompts[0], parameters.shared_blocks):
            pieces = zip(*worker.token_dbs[0].prepare_value_for_block(block.block_id), strict=True)
            objects.append(b"".join(engine.read(*piece) for piece in pieces))
        engine.reset_prefix_cache()
        store = worker.store

        def seed(by_key: dict[str, bytes]) -> None:
            if parameters.store == "fake":
                for key, value in by_key.items():
                    cluster.put(key, value)
            else:
                put_at_owner(store, by_key, case, marker=f"kvfanin-owner-{parameters.seed}-{instance}")

        course = MooncakeCase(engine, parameters, case, prompts, objects, seed)
        course.seed()
        return course.run(expected)
    finally:
        case.stage("close")
        vllm_close.close_mooncake(engine)


def store_while_made(parameters: Parameters, cluster: FakeCluster) -> AbstractContextManager[None]:
    """A worker takes its store when it is made: meanwhile the fake one stands there, if it is wanted."""
    return in_place_of_mooncake(cluster) if parameters.store == "fake" else contextlib.nullcontext()


def prompts_of(parameters: Parameters, block_size: int, instance: int) -> list[list[int]]:
    """Tokens of its own for every case, so that none finds what another left in the store."""
    salt = f"{parameters.seed}/{instance}"
    return vllm_geometry.prompts(parameters.requests, parameters.shared_blocks, block_size, salt)


def put_at_owner(store: Any, by_key: dict[str, bytes], case: CaseRecorder, marker: str) -> None:
    """Puts objects whose bytes only this process has into the owner's segment."""
    from mooncake.store import ReplicateConfig

    # Where an object of the owner's lies tells its segment.
    case.need("put", key=marker, seed=0, bytes=16)
    descriptor = store.get_replica_desc(marker)[0].get_memory_descriptor().buffer_descriptor
    at_owner = ReplicateConfig()
    at_owner.preferred_segment = descriptor.transport_endpoint
    for key, value in by_key.items():
        code = store.put(key, value, at_owner)
        if code != 0:
            raise RuntimeError(f"the store's put of {len(value)} bytes gave {code}")
