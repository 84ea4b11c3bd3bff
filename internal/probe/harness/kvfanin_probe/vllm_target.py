"""What the targets that run vLLM on the harness's own model have in common."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kvfanin_probe import vllm_geometry
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Parameters, Result


class ModelTarget:
    """Runs cases one after another on a model in a folder of its own."""

    def __init__(self, run: Callable[[Parameters, CaseRecorder, Path, int], Result]) -> None:
        self._run = run
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
