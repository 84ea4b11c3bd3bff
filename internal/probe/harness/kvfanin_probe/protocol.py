"""JSON lines between kvfanin and a process of the harness, version 1.

One object a line, each with a "kind". kvfanin writes to our stdin and reads our stdout; logs go to stderr. The end of
our stdin means that kvfanin is gone: the process ends at once, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO

PROTOCOL = 1
MAX_LINE_BYTES = 1 << 20

Message = dict[str, Any]


class ProtocolError(RuntimeError):
    """What came in is not this protocol."""


class Refused(RuntimeError):
    """kvfanin was asked for something and said no, or nothing."""


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Takes stdin and stdout for the protocol alone.

    Afterwards file descriptor 1 is stderr, so that nothing that the stack, its C++ parts or its children print can get
    between our lines, and file descriptor 0 is empty, so that nothing else reads them. The copies are not inherited.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


_before_end: list[Callable[[], None]] = []


def before_end(action: Callable[[], None]) -> None:
    """Has something done however the end comes, that of stdin in the middle of a case too. It must be quick."""
    _before_end.append(action)


def end_process(code: int = 0) -> None:
    """Ends the process without the stack's exit handlers, which may wait for peers that are gone."""
    for action in _before_end:
        with contextlib.suppress(Exception):
            action()
    os._exit(code)


def encode(message: Message) -> bytes:
    """One line. Text the stack gave us may hold lone surrogates; ASCII escapes carry them."""
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """Reads one line, or says what is wrong with it."""
    try:
        message = json.loads(line)
    except ValueError as error:
        raise ProtocolError(f"not JSON: {line[:80]!r}: {error}") from None
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise ProtocolError(f"not an object with a kind: {line[:80]!r}")
    return message


class Channel:
    """Both directions. A thread reads, so that the end of stdin is seen while a case runs or hangs."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, on_end: Callable[[], None] = end_process) -> None:
        self._source = source
        self._sink = sink
        self._on_end = on_end
        self._write_lock = threading.Lock()
        self._incoming: queue.SimpleQueue[Message | ProtocolError] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="kvfanin-reader", daemon=True).start()

    def _read(self) -> None:
        while line := self._source.readline(MAX_LINE_BYTES + 1):
            if len(line) > MAX_LINE_BYTES:
                self._incoming.put(ProtocolError(f"a line of more than {MAX_LINE_BYTES} bytes"))
                break
            try:
                self._incoming.put(decode(line))
            except ProtocolError as error:
                self._incoming.put(error)
        else:
            self._on_end()

    def send(self, kind: str, **fields: Any) -> None:
        """Writes one message."""
        line = encode({"kind": kind, **fields})
        try:
            with self._write_lock:
                self._sink.write(line)
                self._sink.flush()
        except BrokenPipeError:
            self._on_end()

    def receive(self, wait_s: float | None = None) -> Message:
        """The next message. Raises ProtocolError for a bad one and queue.Empty where the wait ran out."""
        message = self._incoming.get(timeout=wait_s)
        if isinstance(message, ProtocolError):
            raise message
        return message

    def ask(self, case_id: int, what: str, wait_s: float, **fields: Any) -> None:
        """Sends a need and waits for its done."""
        self.send("need", id=case_id, what=what, **fields)
        deadline = time.monotonic() + wait_s
        while True:
            try:
                answer = self.receive(max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise Refused(f"{what}: no answer from kvfanin within {wait_s:g} s") from None
            if answer["kind"] != "done":
                raise ProtocolError(f"{what}: expected the done of case {case_id}, got {answer['kind']!r}")
            # One for another case came too late for it.
            if answer.get("id") == case_id:
                break
        if answer.get("ok") is not True:
            raise Refused(f"{what}: {answer.get('error', 'refused')}")
