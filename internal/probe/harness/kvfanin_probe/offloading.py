"""Target offloading: vLLM's own OffloadingConnector, with its scheduler side real and its copies stubbed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from kvfanin_probe import vllm_geometry, vllm_install
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Missing, Parameters, Result


def versions() -> dict[str, str]:
    """What is installed."""
    return vllm_install.versions_of(vllm_install.VLLM)


def missing() -> list[Missing]:
    """What is not there, as far as it can be told without importing the stack."""
    return vllm_install.missing_of(vllm_install.VLLM)


class Target:
    """The imported stack."""

    def __init__(self) -> None:
        from kvfanin_probe import offloading_run

        self._run = offloading_run.run
        self._folder = Path(tempfile.mkdtemp(prefix="model-"))
        self._model = vllm_geometry.write_model(self._folder)
        self._instances = 0

    def run(self, parameters: Parameters, case: CaseRecorder) -> Result:
        """Runs one case."""
        self._instances += 1
        return self._run(parameters, case, self._model, self._instances)

    def close(self) -> None:
        """Removes the model's folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
