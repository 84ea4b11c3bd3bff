from __future__ import annotations

import ctypes
import importlib
import sys

import pytest

from kvfanin_probe.fake_store import INVALID_PARAMS, OBJECT_NOT_FOUND, FakeCluster, FakeStore, in_place_of_mooncake


class Memory:
    """Some registered memory."""

    def __init__(self, store: FakeStore, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self.buffer)
        store.register_buffer(self.address, size)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore(FakeCluster())


def test_a_get_moves_the_bytes_into_all_pieces(store: FakeStore) -> None:
    memory = Memory(store, 64)
    store.put("k", b"abcdef")
    addresses = [memory.address + 8, memory.address + 32]
    assert store.batch_get_into_multi_buffers(["k"], [addresses], [[4, 2]]) == [6]
    assert memory.buffer.raw[8:12] == b"abcd"
    assert memory.buffer.raw[32:34] == b"ef"
    assert memory.buffer.raw[:8] == bytes(8)


def test_each_key_has_its_own_outcome(store: FakeStore) -> None:
    memory = Memory(store, 8)
    store.put("k", b"abcd")
    inside, outside = memory.address, memory.address + 8
    codes = store.batch_get_into_multi_buffers(
        ["k", "absent", "k", "k", "k"],
        [[inside], [inside], [inside], [outside], [inside + 6]],
        [[4], [4], [3], [4], [4]],
    )
    assert codes == [4, OBJECT_NOT_FOUND, INVALID_PARAMS, INVALID_PARAMS, INVALID_PARAMS]


def test_lists_of_other_lengths_are_a_mistake(store: FakeStore) -> None:
    with pytest.raises(ValueError, match="zip"):
        store.batch_get_into_multi_buffers(["k"], [], [])


def test_exist_and_remove(store: FakeStore) -> None:
    store.put("k", b"x")
    assert store.batch_is_exist(["k", "absent"]) == [1, 0]
    assert store.remove("k", True) == 0
    assert store.remove("k", True) == OBJECT_NOT_FOUND
    assert store.batch_is_exist(["k"]) == [0]


def test_memory_is_registered_until_it_is_not(store: FakeStore) -> None:
    memory = Memory(store, 8)
    store.put("k", b"abcd")
    assert store.unregister_buffer(memory.address) == 0
    assert store.unregister_buffer(memory.address) == INVALID_PARAMS
    assert store.batch_get_into_multi_buffers(["k"], [[memory.address]], [[4]]) == [INVALID_PARAMS]


def test_stores_of_a_cluster_share_objects_and_not_memory() -> None:
    cluster = FakeCluster()
    one, other = FakeStore(cluster), FakeStore(cluster)
    memory = Memory(one, 8)
    other.put("k", b"abcd")
    assert one.batch_get_into_multi_buffers(["k"], [[memory.address]], [[4]]) == [4]
    assert other.batch_get_into_multi_buffers(["k"], [[memory.address]], [[4]]) == [INVALID_PARAMS]


def test_stands_in_for_mooncake_while_it_lasts() -> None:
    before = sys.modules.get("mooncake.store")
    cluster = FakeCluster()
    with in_place_of_mooncake(cluster):
        module = importlib.import_module("mooncake.store")
        store = module.MooncakeDistributedStore()
        assert store.setup("127.0.0.1", "P2PHANDSHAKE", 1, 1, "tcp", "", "127.0.0.1:1", tenant_id="t") == 0
        store.put("k", b"x", module.ReplicateConfig())
        with pytest.raises(RuntimeError), in_place_of_mooncake(FakeCluster()):
            raise RuntimeError
        assert sys.modules["mooncake.store"] is module
    assert sys.modules.get("mooncake.store") is before
    assert cluster.get("k") == b"x"
