"""vLLM's real scheduler and the real connector in both roles, stepped by hand. There is no model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from vllm import SamplingParams
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    KVTransferConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    VllmConfig,
    set_current_vllm_config,
)
from vllm.distributed.kv_transfer import get_kv_transfer_group
from vllm.distributed.kv_transfer.kv_transfer_state import ensure_kv_transfer_initialized, ensure_kv_transfer_shutdown
from vllm.distributed.parallel_state import (
    ensure_model_parallel_initialized,
    init_distributed_environment,
    model_parallel_is_initialized,
)
from vllm.forward_context import set_forward_context
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash, resolve_kv_cache_block_sizes
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, KVCacheTensor
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager
from vllm.v1.worker.kv_connector_model_runner_mixin import KVConnectorModelRunnerMixin

from kvfanin_probe import vllm_adapters, vllm_engine
from kvfanin_probe.target import Parameters
from kvfanin_probe.vllm_geometry import HEAD_SIZE, KV_HEADS, LAYERS, TAIL_TOKENS, page_bytes

BLOCK_SIZE = 16
TOKEN = 7
NOT_REAL = [
    "model forward: a step gives one fixed token for each finished prefill",
    "engine loop: the harness steps the scheduler",
    "KV cache: small tensors made by the harness",
]


class SteppedEngine:
    """See vllm_engine.Engine."""

    def __init__(self, parameters: Parameters, model: Path, transfer: dict[str, Any]) -> None:
        self.block_size = BLOCK_SIZE
        self.not_real = list(NOT_REAL)
        self.forward: Callable[[Any], None] | None = None
        """Stands for the model's forward: it is given the scheduler's output and may write into the KV cache."""
        self._config = _config(parameters, model, transfer)
        _init_distributed(self._config)
        blocks = parameters.gpu_blocks
        names = [f"model.layers.{layer}.self_attn.attn" for layer in range(LAYERS)]
        spec = FullAttentionSpec(block_size=BLOCK_SIZE, num_kv_heads=KV_HEADS, head_size=HEAD_SIZE, dtype=torch.float32)
        page = page_bytes(BLOCK_SIZE)
        if spec.page_size_bytes != page:
            raise RuntimeError(f"a block has {spec.page_size_bytes} bytes a layer in this release, not {page}")
        kv_cache = KVCacheConfig(
            num_blocks=blocks,
            kv_cache_tensors=[vllm_adapters.kv_cache_tensor(KVCacheTensor, name, page, blocks) for name in names],
            kv_cache_groups=[KVCacheGroupSpec(names, spec)],
        )
        # The engine core does these three after it has measured the memory.
        self._config.cache_config.num_gpu_blocks = blocks
        vllm_adapters.note_kv_cache_layout(self._config.cache_config)
        scheduler_block_size, hash_block_size = resolve_kv_cache_block_sizes(kv_cache, self._config)
        vllm_adapters.note_hash_block_size(kv_cache, hash_block_size)

        # One that a case left which failed half-way would be taken for ours.
        ensure_kv_transfer_shutdown()
        ensure_kv_transfer_initialized(self._config, kv_cache)
        self.connector = get_kv_transfer_group()
        shape = (blocks, KV_HEADS, BLOCK_SIZE, 2 * HEAD_SIZE)
        self._caches = {name: torch.zeros(shape, device=parameters.device) for name in names}
        self.connector.register_kv_caches(self._caches)
        self.scheduler = self._config.scheduler_config.get_scheduler_cls()(
            vllm_config=self._config,
            kv_cache_config=kv_cache,
            structured_output_manager=StructuredOutputManager(self._config),
            block_size=scheduler_block_size,
            hash_block_size=hash_block_size,
            log_stats=True,
        )
        hash_function = get_hash_fn_by_name(self._config.cache_config.prefix_caching_hash_algo)
        init_none_hash(hash_function)
        self._hasher = get_request_block_hasher(hash_block_size, hash_function)

    def _request(self, name: str, prompt: list[int]) -> Any:
        return Request(
            request_id=name,
            prompt_token_ids=list(prompt),
            sampling_params=SamplingParams(max_tokens=1, temperature=0.0, ignore_eos=True),
            pooling_params=None,
            block_hasher=self._hasher,
        )

    def block_hashes(self, prompt: list[int]) -> list[Any]:
        """The hashes of a prompt's full blocks."""
        return list(self._request("hashes", prompt).block_hashes)

    def add(self, name: str, prompt: list[int]) -> None:
        """A request arrives."""
        self.scheduler.add_request(self._request(name, prompt))

    def abort(self, name: str) -> bool:
        """Its client goes away."""
        there = vllm_engine.is_live(self.scheduler, name)
        self.scheduler.finish_requests(name, RequestStatus.FINISHED_ABORTED)
        return there and not vllm_engine.is_live(self.scheduler, name)

    def step(self) -> None:
        """Schedules, lets the connector's worker side act as in a forward, and reports back."""
        scheduled = self.scheduler.schedule()
        with (
            # Not None, which says that there is nothing to attend to: LMCache loads nothing then.
            set_forward_context({}, self._config),
            KVConnectorModelRunnerMixin.maybe_get_kv_connector_output(scheduled) as connector_output,
        ):
            if self.forward is not None:
                self.forward(scheduled)
        names = list(scheduled.num_scheduled_tokens)
        self.scheduler.update_from_output(
            scheduled,
            ModelRunnerOutput(
                req_ids=names,
                req_id_to_index={name: index for index, name in enumerate(names)},
                sampled_token_ids=[[TOKEN] if self._prefilled(name) else [] for name in names],
                kv_connector_output=connector_output,
            ),
        )

    def _prefilled(self, name: str) -> bool:
        request = self.scheduler.requests[name]
        return bool(request.num_computed_tokens >= request.num_tokens)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the KV cache, wherever it lies."""
        for cache in self._caches.values():
            flat = cache.view(torch.uint8).flatten()
            at = address - flat.data_ptr()
            if at >= 0 and at + size <= flat.numel():
                return bytes(flat[at : at + size].cpu().numpy().tobytes())
        raise ValueError(f"{address:#x} is not in the KV cache")

    def read_block(self, block: int) -> bytes:
        """A block of all layers."""
        return b"".join(bytes(cache[block].cpu().numpy().tobytes()) for cache in self._caches.values())

    def write_block(self, block: int, content: bytes) -> None:
        """Writes a block of all layers."""
        page = page_bytes(BLOCK_SIZE)
        for layer, cache in enumerate(self._caches.values()):
            piece = bytearray(content[layer * page : (layer + 1) * page])
            flat = torch.frombuffer(piece, dtype=torch.float32)
            cache[block] = flat.reshape(cache[block].shape).to(cache.device)

    def close(self) -> None:
        """Shuts both sides of the connector down."""
        self.scheduler.shutdown()
        ensure_kv_transfer_shutdown()


def _config(parameters: Parameters, model: Path, transfer: dict[str, Any]) -> Any:
    longest = vllm_engine.longest_prompt(parameters, BLOCK_SIZE)
    batch = (parameters.requests + 1) * (parameters.shared_blocks * BLOCK_SIZE + TAIL_TOKENS)
    return VllmConfig(
        model_config=ModelConfig(
            model=str(model),
            skip_tokenizer_init=True,
            dtype="float32",
            max_model_len=longest,
            seed=0,
            enforce_eager=True,
        ),
        cache_config=CacheConfig(block_size=BLOCK_SIZE, enable_prefix_caching=parameters.prefix_caching),
        scheduler_config=SchedulerConfig(
            max_num_seqs=parameters.requests + 8,
            max_num_batched_tokens=max(512, longest, batch),
            max_model_len=longest,
            is_encoder_decoder=False,
        ),
        parallel_config=ParallelConfig(),
        device_config=DeviceConfig(parameters.device),
        kv_transfer_config=KVTransferConfig(**transfer),
    )


def _init_distributed(config: Any) -> None:
    """Groups of one rank, which the worker asks for its place. Once in a process, and again after a whole engine."""
    if model_parallel_is_initialized():
        return
    vllm_engine.listen_on_loopback()
    # A file and not a port, at which another would listen.
    with set_current_vllm_config(config), tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        init_distributed_environment(1, 0, f"file://{folder}/ranks", 0, backend="gloo")
        ensure_model_parallel_initialized(1, 1)
