from __future__ import annotations

import json
from pathlib import Path

from kvfanin_probe import vllm_adapters, vllm_geometry


def test_prompts_agree_in_their_blocks_and_nowhere_else() -> None:
    prompts = vllm_geometry.prompts(8, 3, 16, "1/1")
    assert len(prompts) == 8
    assert len({tuple(prompt[:48]) for prompt in prompts}) == 1
    assert len({tuple(prompt) for prompt in prompts}) == 8
    assert {len(prompt) for prompt in prompts} == {51}
    assert prompts == vllm_geometry.prompts(8, 3, 16, "1/1")
    assert prompts[0][:16] != vllm_geometry.prompts(8, 3, 16, "1/2")[0][:16]


def test_a_payload_is_made_from_its_seed_alone() -> None:
    assert vllm_geometry.payload(7, 32) == vllm_geometry.payload(7, 32)
    assert vllm_geometry.payload(7, 32) != vllm_geometry.payload(8, 32)
    # What the owner process makes must be the same in every release of Python.
    assert vllm_geometry.payload(1, 8).hex() == "f5b165224a58b791"


def test_the_model_is_one_file(tmp_path: Path) -> None:
    model = vllm_geometry.write_model(tmp_path)
    assert vllm_geometry.write_model(tmp_path) == model
    assert [path.name for path in model.iterdir()] == ["config.json"]
    assert json.loads((model / "config.json").read_text())["head_dim"] == vllm_geometry.HEAD_SIZE


class SharedBy:
    def __init__(self, size: int, shared_by: list[str]) -> None:
        self.given = (size, shared_by)


class Placed:
    def __init__(self, size: int, layers: list[str], layer_stride: int, block_stride: int, offset: int = 0) -> None:
        self.given = (size, layers, layer_stride, block_stride)


def test_cache_tensors_of_both_kinds_of_release() -> None:
    assert vllm_adapters.kv_cache_tensor(SharedBy, "l0", 64, 8).given == (512, ["l0"])
    assert vllm_adapters.kv_cache_tensor(Placed, "l0", 64, 8).given == (512, ["l0"], 512, 64)
