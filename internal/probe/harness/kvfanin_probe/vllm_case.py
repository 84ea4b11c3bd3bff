"""A case on the Mooncake connector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvfanin_probe.barrier import Barrier
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Parameters
from kvfanin_probe.vllm_course import Course
from kvfanin_probe.vllm_engine import Engine
from kvfanin_probe.vllm_observe import observe_queue
from kvfanin_probe.vllm_store import ObservedStore

LOOKUP_DELAY_S = 0.02

Seed = Callable[[dict[str, bytes]], None]


class MooncakeCase(Course):
    """Wraps the worker's store and its receive queue."""

    submissions = "queue_entries"

    def __init__(
        self,
        engine: Engine,
        parameters: Parameters,
        case: CaseRecorder,
        prompts: list[list[int]],
        objects: list[bytes],
        seed: Seed,
    ) -> None:
        super().__init__(engine, parameters, case, prompts, Barrier(parameters.held_gets, parameters.wait_s))
        case.declare("queue_entries")
        self.lookups_take_time = parameters.async_lookup
        self._seed = seed
        self._request_at: dict[int, str] = {}

        worker = engine.connector.connector_worker
        # Asked of the worker itself: the keys are the release's own.
        self._layout = worker.token_dbs[0]
        hashes = engine.block_hashes(prompts[0])[: parameters.shared_blocks]
        self._objects = dict(zip([self._layout.key_for(block) for block in hashes], objects, strict=True))
        self.observer.on_load_spec = self._remember_addresses
        observe_queue(worker.recv_request_queue, case)
        self._inner_store: Any = worker.store
        self._store = ObservedStore(
            worker.store,
            case,
            self.barrier,
            lambda address: self._request_at.get(address, ""),
            first_get_fails=parameters.fault == "first_get_fails",
            lookup_delay_s=LOOKUP_DELAY_S if parameters.async_lookup else 0.0,
        )
        # The receive threads took the store when they were made.
        worker.store = self._store
        for thread in worker.kv_recv_threads:
            thread.store = self._store

    def _remember_addresses(self, request: str, blocks: list[int]) -> None:
        for block in blocks:
            addresses, _sizes = self._layout.prepare_value_for_block(block)
            self._request_at[addresses[0]] = request

    def is_loadable(self, request_id: str, external_tokens: int) -> bool:
        """Under pressure specs are written more often than used: only one that can load counts."""
        spec = self.engine.scheduler.connector.connector_scheduler.load_specs.get(request_id)
        return spec is not None and bool(spec.can_load)

    def seed(self) -> None:
        """Puts the objects, and looks whether they are there."""
        self.case.stage("seed")
        self._seed(self._objects)
        there = list(self._inner_store.batch_is_exist(list(self._objects)))
        if there != [1] * len(self._objects):
            raise RuntimeError(f"the store does not have what was put: batch_is_exist gave {there}")

    def interfere(self) -> None:
        """Takes the object, or its owner, away."""
        if self.parameters.fault == "owner_killed":
            self.case.need("kill_owner")
        elif self.parameters.fault == "object_removed":
            for key in self._objects:
                # By force: an object that was looked up is under a lease.
                code = self._inner_store.remove(key, True)
                if code != 0:
                    raise RuntimeError(f"the store did not remove {key}: {code}")

    def gets_ended(self) -> int:
        """Gets that have come back."""
        return self._store.ended()

    def get_codes(self) -> list[int]:
        """Bytes, or the store's error."""
        return [piece.code for piece in self._store.pieces()]

    def blocks_right(self) -> int:
        """Destinations that now have the bytes of the object that was got into them."""
        received = {piece.addresses: piece for piece in self._store.pieces() if piece.code >= 0}
        return sum(
            self._content(piece.addresses, piece.sizes) == self._objects[piece.key] for piece in received.values()
        )

    def _content(self, addresses: tuple[int, ...], sizes: tuple[int, ...]) -> bytes:
        return b"".join(self.engine.read(*piece) for piece in zip(addresses, sizes, strict=True))

    def not_real(self) -> list[str]:
        """What is made up here."""
        lines = super().not_real()
        if self.parameters.store == "fake":
            lines.append("store: a dictionary in the process; its Get copies the bytes into the destinations")
        if self.parameters.async_lookup:
            lines.append(f"lookup: each is made {LOOKUP_DELAY_S * 1000:g} ms longer")
        if self.parameters.fault == "first_get_fails":
            lines.append("failure: the code of the first Get is put in by the harness, and that Get moves nothing")
        return lines
