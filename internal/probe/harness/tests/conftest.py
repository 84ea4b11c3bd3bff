"""What the tests share. None of them needs a stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
WAIT_S = 20

PARAMETERS: dict[str, Any] = {
    "requests": 8,
    "shared_blocks": 1,
    "receive_threads": 1,
    "store": "fake",
    "engine": "stepped",
    "async_lookup": False,
    "load_async": True,
    "failure_policy": "fail",
    "stagger_ms": 0,
    "gpu_blocks": 64,
    "held_gets": 1,
    "fault": "none",
    "late_request": False,
    "mode": "",
    "prefix_caching": True,
    "prefetch_in_flight": 8,
    "device": "cpu",
    "wait_s": 5,
    "seed": 1,
}


class Process:
    """A harness in a process of its own, with the stub of a target; the test is kvfanin."""

    def __init__(self, *arguments: str, target: str = "stub_target") -> None:
        # The real command, with one more target in its table.
        start = (
            "import sys, runpy; import kvfanin_probe.__main__ as m; "
            f"m.TARGETS['stub'] = '{target}'; "
            "m.end_process(m.main(['--target', 'stub', *sys.argv[1:]]))"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to, self._from = self.process.stdin, self.process.stdout

    def send(self, message: dict[str, Any]) -> None:
        self.send_raw(json.dumps(message).encode() + b"\n")

    def send_raw(self, line: bytes) -> None:
        self._to.write(line)
        self._to.flush()

    def run(self, case_id: int, **parameters: Any) -> None:
        self.send({"kind": "run", "id": case_id, "parameters": {**PARAMETERS, **parameters}})

    def receive(self, *kinds: str) -> dict[str, Any]:
        """The next message, or the next of these kinds."""
        while True:
            line = self._from.readline()
            assert line, f"the harness ended: {self.stderr()}"
            message = json.loads(line)
            if not kinds or message["kind"] in kinds:
                assert isinstance(message, dict)
                return message

    def rest(self) -> bytes:
        return self._from.read()

    def close_stdin(self) -> None:
        self._to.close()

    def wait(self) -> int:
        return self.process.wait(WAIT_S)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def stderr(self) -> str:
        self.process.kill()
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


@pytest.fixture
def harness() -> Iterator[Process]:
    process = Process()
    yield process
    process.end()
