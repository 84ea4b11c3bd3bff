"""vLLM's whole engine in this process: front end, engine core, CPU worker, a real forward of random weights."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path
from typing import Any

from kvfanin_probe import vllm_engine
from kvfanin_probe.target import Parameters

# Read when the engine is made. In one process the scheduler can be watched; on a small machine threads are not pinned.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")

from vllm import LLM, SamplingParams
from vllm.distributed.kv_transfer import get_kv_transfer_group
from vllm.distributed.kv_transfer.kv_transfer_state import ensure_kv_transfer_shutdown
from vllm.distributed.parallel_state import cleanup_dist_env_and_memory
from vllm.v1.request import Request

# The CPU backend prefers multiples of 32.
BLOCK_SIZE = 32
OUTPUT_TOKENS = 4
NOT_REAL = ["model weights: random, and the same in every run (load_format dummy)"]


class FullEngine:
    """See vllm_engine.Engine."""

    def __init__(self, parameters: Parameters, model: Path, transfer: dict[str, Any]) -> None:
        self.block_size = BLOCK_SIZE
        self.not_real = list(NOT_REAL)
        vllm_engine.listen_on_loopback()
        # A stepped case leaves groups behind that are not this engine's; one that failed half-way, a connector too.
        ensure_kv_transfer_shutdown()
        cleanup_dist_env_and_memory()
        self._llm = LLM(
            model=str(model),
            skip_tokenizer_init=True,
            load_format="dummy",
            dtype="float32",
            max_model_len=vllm_engine.longest_prompt(parameters, BLOCK_SIZE),
            enforce_eager=True,
            enable_prefix_caching=True,
            block_size=BLOCK_SIZE,
            kv_cache_memory_bytes=64 << 20,
            num_gpu_blocks_override=parameters.gpu_blocks,
            max_num_seqs=parameters.requests + 8,
            seed=0,
            disable_log_stats=True,
            kv_transfer_config=transfer,
        )
        self._core = self._llm.llm_engine.engine_core.engine_core
        self.scheduler = self._core.scheduler
        self.connector = get_kv_transfer_group()
        self._sampling = SamplingParams(max_tokens=OUTPUT_TOKENS, temperature=0.0, ignore_eos=True, detokenize=False)

    def generate(self, prompts: list[list[int]]) -> list[list[int]]:
        """Output tokens of all prompts, the ordinary way."""
        given = [{"prompt_token_ids": prompt} for prompt in prompts]
        outputs = self._llm.generate(given, self._sampling, use_tqdm=False)
        return [list(output.outputs[0].token_ids) for output in outputs]

    def reset_prefix_cache(self) -> None:
        """Empties the local prefix cache."""
        if not self._llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be emptied: blocks are still in use")

    def block_hashes(self, prompt: list[int]) -> list[Any]:
        """The hashes of a prompt's full blocks."""
        request = Request(
            request_id="hashes",
            prompt_token_ids=list(prompt),
            sampling_params=self._sampling,
            pooling_params=None,
            block_hasher=self._core.request_block_hasher,
        )
        return list(request.block_hashes)

    def add(self, name: str, prompt: list[int]) -> None:
        """A request arrives."""
        self._llm.llm_engine.add_request(name, {"prompt_token_ids": list(prompt)}, self._sampling)

    def abort(self, name: str) -> bool:
        """Its client goes away."""
        there = vllm_engine.is_live(self.scheduler, name)
        self._llm.llm_engine.abort_request([name])
        return there and not vllm_engine.is_live(self.scheduler, name)

    def step(self) -> None:
        """One step of the engine."""
        self._llm.llm_engine.step()

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the KV cache, which lies in host memory."""
        return ctypes.string_at(address, size)

    def close(self) -> None:
        """Shuts the engine down."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm, self._core
        gc.collect()
