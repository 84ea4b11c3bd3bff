"""A process that owns the objects of a real Mooncake store: `python -m kvfanin_probe.owner`.

The object of a probe must lie in another process than the reader, or its Get would copy inside one process. This one
takes `put` and answers `done`, puts into its own segment, and lives until kvfanin kills it or is gone.

    -> {"kind":"hello","protocol":1,"segment":"127.0.0.1:15428"}
    <- {"kind":"put","key":"…","seed":7,"bytes":8192}
    -> {"kind":"done","ok":true}
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from kvfanin_probe.protocol import PROTOCOL, Channel, Message, ProtocolError, end_process, take_streams

SEGMENT_BYTES = 64 << 20
BUFFER_BYTES = 16 << 20


class Owner:
    """A client of the store with a segment of its own."""

    def __init__(self, master: str) -> None:
        from mooncake.store import MooncakeDistributedStore, ReplicateConfig

        self._store: Any = MooncakeDistributedStore()
        code = self._store.setup("127.0.0.1", "P2PHANDSHAKE", SEGMENT_BYTES, BUFFER_BYTES, "tcp", "", master)
        if code != 0:
            raise RuntimeError(f"the store's setup with the master at {master} gave {code}")
        self.segment: str = self._store.get_hostname()
        self._here = ReplicateConfig()
        self._here.preferred_segment = self.segment

    def put(self, key: str, seed: int, size: int) -> None:
        """Puts an object, here and nowhere else."""
        code = self._store.put(key, random.Random(seed).randbytes(size), self._here)
        if code != 0:
            raise RuntimeError(f"the store's put of {size} bytes gave {code}")


def answer(owner: Owner, message: Message) -> Message:
    """Does what a message asks for."""
    try:
        if message["kind"] != "put":
            raise ProtocolError(f"unexpected message {message['kind']!r}")
        owner.put(str(message["key"]), int(message["seed"]), int(message["bytes"]))
    except (ProtocolError, RuntimeError, KeyError, TypeError, ValueError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    return {"ok": True}


def main() -> int:
    """The command."""
    master = os.environ.get("KVFANIN_MASTER")
    channel = Channel(*take_streams())
    if not master:
        print("KVFANIN_MASTER is not set: host and port of the mooncake_master", file=sys.stderr)
        return 2
    owner = Owner(master)
    channel.send("hello", protocol=PROTOCOL, segment=owner.segment)
    while True:
        message = channel.receive()
        if message["kind"] == "exit":
            return 0
        channel.send("done", **answer(owner, message))


if __name__ == "__main__":
    code = main()
    if code == 0:
        # close() would wait for seconds; the master notices by itself.
        end_process()
    sys.exit(code)
