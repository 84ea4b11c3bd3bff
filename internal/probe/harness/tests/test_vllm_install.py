from __future__ import annotations

import pytest

from kvfanin_probe import vllm_install


def test_versions_of_what_is_there() -> None:
    found = vllm_install.versions_of({"pytest": ("no-such-name", "pytest"), "json": ("json",), "nowhere": ("nowhere",)})
    assert found["pytest"] == pytest.__version__
    assert found["json"] == "unknown"
    assert "nowhere" not in found


def test_missing_packages_are_named() -> None:
    (thing,) = vllm_install.missing_of({"json": ("json",), "nowhere": ("nowhere",)})
    assert thing.what == "the Python package nowhere"
    assert thing.how == "kvfanin probe setup"


def test_missing_libraries_are_named_with_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_install, "LIBRARIES", {"libc.so.6": "libc6", "libno-such-thing.so.1": "libno1"})
    (thing,) = vllm_install.missing_libraries()
    assert thing.what == "libno-such-thing.so.1"
    assert thing.how == "apt-get install libno1"
