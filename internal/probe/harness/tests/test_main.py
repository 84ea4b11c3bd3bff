from __future__ import annotations

import json
import time
from typing import Any

import pytest

from conftest import PARAMETERS, Process


def test_hello_then_cases_one_after_another(harness: Process) -> None:
    hello = harness.receive()
    assert hello["kind"] == "hello"
    assert hello["protocol"] == 1
    assert hello["target"] == "stub"
    assert hello["versions"]["stub"] == "1.2.3"
    assert set(hello["versions"]) == {"python", "stub"}
    assert hello["missing"] == []
    for case_id in (1, 2, 3):
        harness.run(case_id)
        stages = []
        while (message := harness.receive())["kind"] == "stage":
            assert message["id"] == case_id
            stages.append(message["stage"])
        assert stages == (["import", "setup"] if case_id == 1 else ["setup"])
        assert message["kind"] == "result"
        assert message["id"] == case_id
        assert message["counts"] == {"end": {"gets": 8}}
        assert message["get_codes"] == [-704]
        assert message["events"][0]["what"] == "arrival"
        assert message["events"][0]["t_us"] < 1_000_000
        assert "tokens" not in message
    harness.send({"kind": "exit"})
    assert harness.wait() == 0
    assert "closed" in harness.stderr()


def test_stdout_is_the_protocol_alone(harness: Process) -> None:
    harness.run(1, mode="noise")
    harness.send({"kind": "exit"})
    lines = harness.rest().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["hello", "stage", "stage", "result"]
    log = harness.stderr()
    for noise in ("while it is imported", "printed", "on stdin: ''", "from a child", '{"kind":"result","id":1}'):
        assert noise in log


@pytest.mark.parametrize(
    ("mode", "error"),
    [
        ("raise", "held: KeyError: 'lost\\nin two lines'"),
        ("wait", "setup: WaitRanOut: the Gets did not come: not within 0.05 s"),
    ],
)
def test_a_case_that_raises_leaves_the_process_usable(harness: Process, mode: str, error: str) -> None:
    harness.run(1, mode=mode, wait_s=0.05)
    answer = harness.receive("error", "result")
    assert answer["kind"] == "error"
    assert answer["id"] == 1
    assert answer["error"] == error
    assert "Traceback" in answer["detail"]
    assert not answer["fatal"]
    harness.run(2)
    assert harness.receive("error", "result")["kind"] == "result"


@pytest.mark.parametrize(("mode", "error"), [("unusable", "Unusable: the engine is dead"), ("exit", "SystemExit: 3")])
def test_after_a_fatal_error_the_process_ends(harness: Process, mode: str, error: str) -> None:
    harness.run(1, mode=mode)
    answer = harness.receive("error")
    assert answer["fatal"]
    assert answer["error"] == f"setup: {error}"
    assert harness.wait() == 1


def test_a_wait_that_ran_out_may_be_counted_instead(harness: Process) -> None:
    harness.run(1, mode="caught")
    assert harness.receive("result")["counts"]["end"] == {"barrier_timeouts": 1, "gets": 8}


def test_the_end_of_stdin_ends_the_process_at_once_whatever_it_does(harness: Process) -> None:
    harness.run(1, mode="spin")
    while harness.receive("stage")["stage"] != "held":
        pass
    start = time.monotonic()
    harness.close_stdin()
    assert harness.wait() == 0
    assert time.monotonic() - start < 5


def test_need_is_answered(harness: Process) -> None:
    harness.run(1, mode="put")
    need = harness.receive("need")
    assert need == {"kind": "need", "id": 1, "what": "put", "key": "k", "seed": 7, "bytes": 16}
    harness.send({"kind": "done", "id": 1, "ok": True})
    assert harness.receive("result", "error")["kind"] == "result"
    harness.run(2, mode="put")
    harness.receive("need")
    harness.send({"kind": "done", "id": 2, "ok": False, "error": "the owner is gone"})
    assert harness.receive("error")["error"] == "setup: Refused: put: the owner is gone"
    harness.run(3, mode="put", wait_s=0.05)
    assert harness.receive("error")["error"] == "setup: Refused: put: no answer from kvfanin within 0.05 s"
    harness.send({"kind": "done", "id": 3, "ok": True})
    harness.run(4)
    assert harness.receive("error", "result")["kind"] == "result"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"requests": 0}, "parameter 'requests' is 0, not at least 1"),
        ({"requests": "8"}, "parameter 'requests' is '8', not int"),
        ({"requests": True}, "parameter 'requests' is True, not int"),
        ({"load_async": 1}, "parameter 'load_async' is 1, not bool"),
        ({"store": "redis"}, "parameter 'store' is 'redis', not one of fake, real"),
        ({"wait_s": 0}, "parameter 'wait_s' is 0, not above 0"),
        ({"stagger_ms": -1}, "parameter 'stagger_ms' is -1, not at least 0"),
        ({"colour": "red"}, "unknown parameter 'colour'"),
    ],
)
def test_bad_parameters_are_named(harness: Process, change: dict[str, Any], error: str) -> None:
    harness.run(1, **change)
    answer = harness.receive("error")
    assert answer["error"] == f"BadParameters: {error}"
    harness.run(2)
    assert harness.receive("error", "result")["kind"] == "result"


def test_every_parameter_is_always_given(harness: Process) -> None:
    for name in PARAMETERS:
        harness.send({"kind": "run", "id": 1, "parameters": {k: v for k, v in PARAMETERS.items() if k != name}})
        assert harness.receive("error")["error"] == f"BadParameters: parameter '{name}' is missing"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"rubbish\n", "not JSON: b'rubbish"),
        (b"[1]\n", "not an object with a kind"),
        (b'{"kind":"dance"}\n', "unexpected message 'dance'"),
        (b'{"kind":"run"}\n', "a run without an id"),
        (b'{"kind":"run","id":1' + b" " * (1 << 20) + b"}\n", "a line of more than 1048576 bytes"),
    ],
)
def test_what_is_not_this_protocol_is_refused(harness: Process, line: bytes, error: str) -> None:
    harness.send_raw(line)
    answer = harness.receive("error")
    assert error in answer["error"]
    assert answer["fatal"]
    assert harness.wait() == 1


def self_check(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    process = Process("--self-check")
    # Nothing on stdin: a person may run it.
    process.close_stdin()
    hello = process.receive()
    assert process.wait() == 0
    assert process.rest() == b""
    process.end()
    return hello


def test_self_check_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert self_check(monkeypatch)["missing"] == []
    lacks = self_check(monkeypatch, LACKS="1")["missing"]
    assert lacks == [{"what": "libstub.so.1", "why": "the stub links it", "how": "apt-get install libstub1"}]


def test_self_check_names_a_failing_import(monkeypatch: pytest.MonkeyPatch) -> None:
    (failure,) = self_check(monkeypatch, BROKEN="1")["missing"]
    assert failure["what"] == "ImportError: libbroken.so: no such file"


def test_a_failing_import_is_the_error_of_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKEN", "1")
    process = Process()
    process.run(1)
    assert process.receive("error")["error"] == "import: ImportError: libbroken.so: no such file"
    process.end()
