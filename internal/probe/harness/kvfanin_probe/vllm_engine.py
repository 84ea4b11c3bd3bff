"""What a case needs of an engine, whether stepped by hand or whole."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any, Protocol

from kvfanin_probe.target import Parameters
from kvfanin_probe.vllm_observe import name_of


class Engine(Protocol):
    """A scheduler and a worker, joined by the connector."""

    block_size: int
    scheduler: Any
    connector: Any
    """The connector of the worker role. That of the scheduler role is scheduler.connector."""
    not_real: list[str]

    def block_hashes(self, prompt: list[int]) -> list[Any]:
        """The hashes of a prompt's full blocks."""
        ...

    def add(self, name: str, prompt: list[int]) -> None:
        """A request arrives."""
        ...

    def abort(self, name: str) -> bool:
        """Its client goes away. False if there is no such request, or it lives on."""
        ...

    def step(self) -> None:
        """One step of the engine."""
        ...

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the KV cache."""
        ...

    def close(self) -> None:
        """Ends the engine and everything it started."""
        ...


def mooncake_settings(parameters: Parameters, instance: int) -> dict[str, Any]:
    """The Mooncake connector's settings, as a user would give them to vLLM."""
    check_socket_path(instance)
    return {
        "kv_connector": "MooncakeStoreConnector",
        "kv_role": "kv_consumer",
        "kv_load_failure_policy": parameters.failure_policy,
        "kv_connector_extra_config": {
            "load_async": parameters.load_async,
            "lookup_async": parameters.async_lookup,
            # Becomes part of the name of a socket file: one for each connector of each process.
            "lookup_rpc_port": f"{os.getpid()}_{instance}",
        },
    }


def is_live(scheduler: Any, name: str) -> bool:
    """Whether a request is unfinished. The scheduler keeps an aborted one until its receive is over."""
    return any(name_of(key) == name and not request.is_finished() for key, request in scheduler.requests.items())


def check_socket_path(instance: int) -> None:
    """A Unix socket's path has at most 107 bytes. vLLM would fail on it much later, and less clearly."""
    folder = os.environ.get("VLLM_RPC_BASE_PATH", tempfile.gettempdir())
    name = f"lookup_rpc_port_{os.getpid()}_{instance}_host_{socket.gethostname()}_dp_rank0"
    path = Path(folder) / name
    if len(os.fsencode(path)) > 107:
        raise OSError(f"the socket {path} has a name of more than 107 bytes: set TMPDIR to a shorter folder")


def listen_on_loopback() -> None:
    """Has the groups of one rank that vLLM makes listen where nobody else is, and not at the host's address."""
    for _index, name in socket.if_nameindex():
        if name in ("lo", "lo0"):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def longest_prompt(parameters: Parameters, block_size: int) -> int:
    """The model length that fits the case."""
    return max(256, (parameters.shared_blocks + 2) * block_size)
