"""Target vllm-mooncake: Scheduler, MooncakeStoreConnector, MooncakeStoreWorker and a store, real or fake."""

from __future__ import annotations

from kvfanin_probe import vllm_install
from kvfanin_probe.target import Missing
from kvfanin_probe.vllm_target import ModelTarget

PACKAGES = {**vllm_install.VLLM, **vllm_install.MOONCAKE}
# Not needed where the store is fake, so that Target does not import it.
IMPORTS = ("mooncake.store",)


def versions() -> dict[str, str]:
    """What is installed."""
    return vllm_install.versions_of(PACKAGES)


def missing() -> list[Missing]:
    """What is not there, as far as it can be told without importing the stack."""
    return [*vllm_install.missing_of(PACKAGES), *vllm_install.missing_libraries()]


class Target(ModelTarget):
    """The imported stack."""

    def __init__(self) -> None:
        from kvfanin_probe import vllm_run

        super().__init__(vllm_run.run)
