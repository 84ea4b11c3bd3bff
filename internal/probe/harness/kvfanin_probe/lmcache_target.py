"""LMCache, layer by layer: which duplicated work each of its paths removes, and which it does not."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from kvfanin_probe import vllm_geometry, vllm_install
from kvfanin_probe.protocol import before_end
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import BadParameters, Missing, Parameters, Result

MODES = ("sync", "async", "mp", "engine", "engine_prefetch")

PACKAGES = {"lmcache": ("lmcache",), **vllm_install.VLLM}


def versions() -> dict[str, str]:
    """What is installed."""
    return vllm_install.versions_of(PACKAGES)


def missing() -> list[Missing]:
    """What is not there, as far as it can be told without importing the stack."""
    how = "kvfanin probe setup --target lmcache"
    return [replace(thing, how=how) for thing in vllm_install.missing_of(PACKAGES)]


def refuse(parameters: Parameters) -> None:
    """Says no to what these paths cannot show, rather than to run something else."""
    if parameters.mode not in MODES:
        raise BadParameters(f"parameter 'mode' is {parameters.mode!r}, not one of {', '.join(MODES)}")
    for name, only in (("engine", "stepped"), ("fault", "none"), ("device", "cpu"), ("stagger_ms", 0)):
        if getattr(parameters, name) != only:
            raise BadParameters(f"parameter {name!r} is {getattr(parameters, name)!r}: lmcache has {only!r} only")
    if parameters.gpu_blocks < parameters.shared_blocks + 2:
        raise BadParameters(f"parameter 'gpu_blocks' is {parameters.gpu_blocks}: not even one request fits")


def set_environment(folder: Path) -> None:
    """Before any import of the stack: what it reads of its environment, and where it puts its files."""
    # Settings of whoever calls us would get into the cases: LMCache reads every variable of this name.
    for name in [name for name in os.environ if name.startswith("LMCACHE_")]:
        del os.environ[name]
    os.environ.update(
        LMCACHE_TRACK_USAGE="false",
        LMCACHE_LOG_LEVEL="WARNING",
        LMCACHE_DISABLE_BANNER="1",
        DO_NOT_TRACK="1",
        VLLM_NO_USAGE_STATS="1",
        HF_HUB_OFFLINE="1",
        # Otherwise /tmp/lmcache_prometheus, which stays.
        PROMETHEUS_MULTIPROC_DIR=str(folder / "prometheus"),
        TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
        # The ZMQ sockets of LMCache's lookups.
        VLLM_RPC_BASE_PATH=str(folder),
        VLLM_HOST_IP="127.0.0.1",
        GLOO_SOCKET_IFNAME="lo",
    )
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    (folder / "prometheus").mkdir()


class Target:
    """The imported stack."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lmcache-"))
        before_end(self.close)
        set_environment(self._folder)
        try:
            from kvfanin_probe import lmcache_readers, lmcache_vllm
        except BaseException:
            self.close()
            raise
        self._run_engine = lmcache_readers.run
        self._run_vllm = lmcache_vllm.run
        self._model = vllm_geometry.write_model(self._folder)
        self._cases = 0

    def run(self, parameters: Parameters, case: CaseRecorder) -> Result:
        """Runs one case. The modes may follow one another in any order: each makes its own engine or server."""
        refuse(parameters)
        case.stage("setup")
        self._cases += 1
        folder = self._folder / f"case-{self._cases}"
        folder.mkdir()
        try:
            if parameters.mode in ("engine", "engine_prefetch"):
                return self._run_engine(parameters, case, folder)
            return self._run_vllm(parameters, case, folder, self._model)
        finally:
            remove(folder)

    def close(self) -> None:
        """Removes the files."""
        remove(self._folder)


def remove(folder: Path) -> None:
    """Removes a folder, into which threads of the stack may still be writing."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
