"""Runs cases of one target for kvfanin, until it says exit or is gone."""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import traceback
from typing import cast

from kvfanin_probe.protocol import PROTOCOL, Channel, Message, ProtocolError, end_process, take_streams
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import BadParameters, Missing, Parameters, Target, TargetModule, Unusable

# By name, and imported when asked for: a target must not need what only another one needs.
TARGETS: dict[str, str] = {
    "vllm-mooncake": "kvfanin_probe.vllm_mooncake",
    "offloading": "kvfanin_probe.offloading",
    "lmcache": "kvfanin_probe.lmcache_target",
}


def main(argv: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="kvfanin_probe", description=__doc__)
    parser.add_argument("--target", required=True, choices=sorted(TARGETS))
    parser.add_argument("--self-check", action="store_true", help="do the real imports, say hello, and leave")
    options = parser.parse_args(argv)
    # A self-check ends by itself, and a person may run it with nothing on stdin.
    channel = Channel(*take_streams(), on_end=(lambda: None) if options.self_check else end_process)
    module = cast(TargetModule, importlib.import_module(TARGETS[options.target]))
    missing = module.missing()
    if options.self_check:
        missing = missing or import_failures(module)
        say_hello(channel, options.target, module, missing)
        return 0
    say_hello(channel, options.target, module, missing)
    return serve(channel, module)


def say_hello(channel: Channel, target: str, module: TargetModule, missing: list[Missing]) -> None:
    """The first message."""
    versions = {"python": platform.python_version(), **module.versions()}
    channel.send(
        "hello", protocol=PROTOCOL, target=target, versions=versions, missing=[vars(thing) for thing in missing]
    )


def import_failures(module: TargetModule) -> list[Missing]:
    """Tries the target's imports. What is found missing only by that is named by the error."""
    try:
        for name in getattr(module, "IMPORTS", ()):
            importlib.import_module(name)
        module.Target().close()
    except Exception as error:
        traceback.print_exc()
        how = "make the environment anew with `kvfanin probe setup`, or install what the error names"
        return [Missing(what=one_line(error), why="the target's imports fail", how=how)]
    return []


def serve(channel: Channel, module: TargetModule) -> int:
    """Answers runs one after another."""
    target: Target | None = None
    while True:
        try:
            message = channel.receive()
        except ProtocolError as error:
            channel.send("error", id=0, error=one_line(error), detail="", fatal=True)
            return 1
        if message["kind"] == "exit":
            if target is not None:
                target.close()
            return 0
        if message["kind"] == "done":
            # Too late for the case that asked.
            continue
        if message["kind"] != "run":
            channel.send("error", id=0, error=f"unexpected message {message['kind']!r}", detail="", fatal=True)
            return 1
        case_id = message.get("id")
        if not isinstance(case_id, int):
            channel.send("error", id=0, error="a run without an id", detail="", fatal=True)
            return 1
        try:
            parameters = Parameters.from_json(message.get("parameters", {}))
        except BadParameters as error:
            channel.send("error", id=case_id, error=one_line(error), detail="")
            continue
        case: CaseRecorder | None = None
        try:
            if target is None:
                # Tens of seconds, before the clock of the case starts.
                channel.send("stage", id=case_id, stage="import")
                target = module.Target()
            case = CaseRecorder(channel, case_id, parameters.wait_s)
            channel.send("result", **result_of(target, parameters, case, case_id))
        except BaseException as error:
            # A stack that calls sys.exit, or says itself that it is done for, is not asked again.
            fatal = isinstance(error, Unusable) or not isinstance(error, Exception)
            text = f"{case.stage_now if case else 'import'}: {one_line(error)}"
            channel.send("error", id=case_id, error=text, detail=traceback.format_exc(), fatal=fatal)
            if fatal:
                return 1


def result_of(target: Target, parameters: Parameters, case: CaseRecorder, case_id: int) -> Message:
    """Runs a case and puts its result message together."""
    result = target.run(parameters, case)
    return {"id": case_id, **result.as_json(), "events": case.events()}


def one_line(error: BaseException) -> str:
    """An exception as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # The stack's threads and C++ destructors are not waited for: all that matters has been written.
    end_process(code)
