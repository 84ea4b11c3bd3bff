"""A target without a stack. What it does is said by the mode of a case."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time

from kvfanin_probe.barrier import WaitRanOut, wait_until
from kvfanin_probe.record import CaseRecorder
from kvfanin_probe.target import Missing, Parameters, Result, Unusable


def versions() -> dict[str, str]:
    return {"stub": "1.2.3"}


def missing() -> list[Missing]:
    return [Missing("libstub.so.1", "the stub links it", "apt-get install libstub1")] if os.environ.get("LACKS") else []


class Target:
    def __init__(self) -> None:
        if os.environ.get("BROKEN"):
            raise ImportError("libbroken.so: no such file")
        print("the stack prints while it is imported")

    def close(self) -> None:
        print("closed", file=sys.stderr)

    def run(self, parameters: Parameters, case: CaseRecorder) -> Result:
        case.stage("setup")
        case.declare("gets")
        case.event("arrival", request="r0")
        if parameters.mode == "noise":
            print("printed")
            print(f"on stdin: {sys.stdin.read()!r}")
            os.write(1, b'{"kind":"result","id":1}\n')
            ctypes.CDLL(None).puts(b"from C")
            subprocess.run(["echo", "from a child"], check=True)
        elif parameters.mode == "raise":
            case.stage("held")
            try:
                raise KeyError("lost\nin two lines")
            finally:
                case.stage("close")
        elif parameters.mode == "unusable":
            raise Unusable("the engine is dead")
        elif parameters.mode == "exit":
            sys.exit(3)
        elif parameters.mode == "spin":
            case.stage("held")
            while True:
                pass
        elif parameters.mode == "wait":
            wait_until(lambda: False, parameters.wait_s, "the Gets did not come")
        elif parameters.mode == "put":
            case.need("put", key="k", seed=7, bytes=16)
        elif parameters.mode == "caught":
            try:
                wait_until(lambda: False, 0.01, "")
            except WaitRanOut:
                case.add("barrier_timeouts")
        case.add("gets", 8)
        time.sleep(0.001)
        return Result(counts={"end": case.counts()}, get_codes=[-704], notes=["a lone surrogate: \udc80"])
