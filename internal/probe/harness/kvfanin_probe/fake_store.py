"""A Mooncake store in this process: what the connector calls, and no more.

It stands for `mooncake.store` while a worker is made. Its Get moves bytes for real, into the addresses it is given, and
refuses what a real store would refuse.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

OBJECT_NOT_FOUND = -704
INVALID_PARAMS = -600

Buffers = Sequence[Sequence[int]]


class FakeCluster:
    """The objects that all stores of one case share."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, value: bytes) -> None:
        """Stores an object."""
        with self._lock:
            self._objects[key] = bytes(value)

    def get(self, key: str) -> bytes | None:
        """The object, or None."""
        with self._lock:
            return self._objects.get(key)

    def remove(self, key: str) -> bool:
        """Removes an object. False if it was not there."""
        with self._lock:
            return self._objects.pop(key, None) is not None


class ReplicateConfig:
    """Where a put goes. Kept and not looked at: there is one place."""

    def __init__(self) -> None:
        self.replica_num = 1
        self.preferred_segment = ""
        self.group_ids: list[str] = []


class FakeStore:
    """A client of the cluster, by the names of MooncakeDistributedStore."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._buffers: dict[int, int] = {}
        self._lock = threading.Lock()

    def setup(self, *_args: Any, **_kwargs: Any) -> int:
        """Connects to nothing."""
        return 0

    def close(self) -> int:
        """Forgets the registered memory."""
        with self._lock:
            self._buffers.clear()
        return 0

    def get_hostname(self) -> str:
        """The name of its segment."""
        return "fake"

    def register_buffer(self, address: int, size: int) -> int:
        """Allows Gets into this memory."""
        with self._lock:
            self._buffers[address] = size
        return 0

    def unregister_buffer(self, address: int) -> int:
        """Forbids them."""
        with self._lock:
            return 0 if self._buffers.pop(address, None) is not None else INVALID_PARAMS

    def put(self, key: str, value: bytes, _config: ReplicateConfig | None = None) -> int:
        """Stores an object."""
        self._cluster.put(key, value)
        return 0

    def is_exist(self, key: str) -> int:
        """1 or 0."""
        return int(self._cluster.get(key) is not None)

    def batch_is_exist(self, keys: Sequence[str]) -> list[int]:
        """1 or 0 for each key."""
        return [self.is_exist(key) for key in keys]

    def remove(self, key: str, _force: bool = False) -> int:
        """Removes an object. There is no lease here that could forbid it."""
        return 0 if self._cluster.remove(key) else OBJECT_NOT_FOUND

    def batch_get_into_multi_buffers(
        self, keys: Sequence[str], all_addresses: Buffers, all_sizes: Buffers, _prefer_same_node: bool = False
    ) -> list[int]:
        """Copies objects into pieces of memory: for each key the bytes moved, or a code of the real store."""
        return [self._get(*one) for one in zip(keys, all_addresses, all_sizes, strict=True)]

    def _get(self, key: str, addresses: Sequence[int], sizes: Sequence[int]) -> int:
        value = self._cluster.get(key)
        if value is None:
            return OBJECT_NOT_FOUND
        pieces = list(zip(addresses, sizes, strict=True))
        # Memory that was not registered would be a crash with RDMA, and here too.
        if sum(sizes) != len(value) or not all(self._registered(*piece) for piece in pieces):
            return INVALID_PARAMS
        at = 0
        for address, size in pieces:
            ctypes.memmove(address, value[at : at + size], size)
            at += size
        return at

    def _registered(self, address: int, size: int) -> bool:
        with self._lock:
            return any(start <= address and address + size <= start + length for start, length in self._buffers.items())


@contextmanager
def in_place_of_mooncake(cluster: FakeCluster) -> Iterator[None]:
    """While this lasts, `from mooncake.store import …` gives the fake one. Mooncake need not be installed."""

    def make_store() -> FakeStore:
        return FakeStore(cluster)

    package = types.ModuleType("mooncake")
    package.__path__ = []
    module = types.ModuleType("mooncake.store")
    vars(module).update(MooncakeDistributedStore=make_store, ReplicateConfig=ReplicateConfig)
    vars(package).update(store=module)
    names = {"mooncake": package, "mooncake.store": module}
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = was
