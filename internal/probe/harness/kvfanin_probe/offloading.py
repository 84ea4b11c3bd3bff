"""Target offloading: vLLM's own OffloadingConnector, with its scheduler side real and its copies stubbed."""

from __future__ import annotations

from kvfanin_probe import vllm_install
from kvfanin_probe.target import Missing
from kvfanin_probe.vllm_target import ModelTarget


def versions() -> dict[str, str]:
    """What is installed."""
    return vllm_install.versions_of(vllm_install.VLLM)


def missing() -> list[Missing]:
    """What is not there, as far as it can be told without importing the stack."""
    return vllm_install.missing_of(vllm_install.VLLM)


class Target(ModelTarget):
    """The imported stack."""

    def __init__(self) -> None:
        from kvfanin_probe import offloading_run

        super().__init__(offloading_run.run)
