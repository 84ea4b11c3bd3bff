from __future__ import annotations

import io
import os
import threading

import pytest

from kvfanin_probe.protocol import Channel, ProtocolError, Refused, decode, encode


def test_framing() -> None:
    message = {"kind": "result", "text": "line\nbreak, ü, \udc80", "codes": [-704]}
    line = encode(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert decode(line) == message


@pytest.mark.parametrize("line", [b"", b"\n", b"{", b"[]\n", b"{}\n", b'{"kind":1}\n', b"\xff\n"])
def test_bad_lines(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(line)


def test_no_number_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"kind": "result", "x": float("nan")})


class Pipe:
    """Both ends of a channel in one process."""

    def __init__(self) -> None:
        out, self._in = os.pipe()
        self.ended = threading.Event()
        self.sink = io.BytesIO()
        self.channel = Channel(os.fdopen(out, "rb"), self.sink, self.ended.set)

    def give(self, line: bytes) -> None:
        os.write(self._in, line)

    def end(self) -> None:
        os.close(self._in)


def test_end_of_input_is_told() -> None:
    pipe = Pipe()
    pipe.give(b'{"kind":"exit"}\n')
    assert pipe.channel.receive(5) == {"kind": "exit"}
    assert not pipe.ended.is_set()
    pipe.end()
    assert pipe.ended.wait(5)


def test_a_peer_that_is_gone_is_told() -> None:
    reading, writing = os.pipe()
    ended = threading.Event()
    never, _open = os.pipe()
    channel = Channel(os.fdopen(never, "rb"), os.fdopen(writing, "wb"), ended.set)
    os.close(reading)
    channel.send("stage", id=1, stage="held")
    assert ended.is_set()


def test_answers() -> None:
    pipe = Pipe()
    pipe.give(b'{"kind":"done","id":1,"ok":true}\n{"kind":"done","id":2,"ok":true}\n')
    pipe.channel.ask(2, "put", 5, key="k")  # that of case 1 came too late for it
    pipe.give(b'{"kind":"run","id":2}\n')
    with pytest.raises(ProtocolError, match="expected the done of case 2, got 'run'"):
        pipe.channel.ask(2, "put", 5)
    pipe.give(b'{"kind":"done","id":2}\n')
    with pytest.raises(Refused, match="put: refused"):
        pipe.channel.ask(2, "put", 5)
    with pytest.raises(Refused, match=r"put: no answer from kvfanin within 0\.02 s"):
        pipe.channel.ask(2, "put", 0.02)
    pipe.end()
