from __future__ import annotations

import logging
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from kvfanin_probe import vllm_close


class Receiver(threading.Thread):
    """The loop of a receive thread: nothing but an exception that is no Exception ends it."""

    def __init__(self, entries: queue.Queue[Any]) -> None:
        super().__init__(daemon=True, name="receiver")
        self.request_queue = entries
        self.handled: list[Any] = []

    def run(self) -> None:
        while True:
            entry = self.request_queue.get()
            try:
                self.handled.append(entry.req_id)
            except Exception:
                logging.exception("only logged")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_receive_threads_end_and_what_was_queued_is_still_handled() -> None:
    entries: queue.Queue[Any] = queue.Queue()
    threads = [Receiver(entries) for _ in range(8)]
    for thread in threads:
        thread.start()
    entries.put(SimpleNamespace(req_id="r0"))
    # An observer of put must not see the end of the threads as an entry.
    entries.put = lambda *_args, **_kwargs: pytest.fail("seen")  # type: ignore[method-assign]
    vllm_close.end_receive_threads(threads)
    assert not any(thread.is_alive() for thread in threads)
    assert [name for thread in threads for name in thread.handled] == ["r0"]


class Ends:
    """Both ends of a lookup channel, with a queue in place of a socket."""

    def __init__(self, answers: bool = True) -> None:
        self.closed: list[str] = []
        inbox: queue.Queue[bytes] = queue.Queue()
        outbox: queue.Queue[bytes] = queue.Queue()

        def end(name: str, **more: Any) -> SimpleNamespace:
            context = SimpleNamespace(destroy=lambda linger: self.closed.append(f"{name} context"))
            return SimpleNamespace(close=lambda: self.closed.append(name), ctx=context, **more)

        def serve() -> None:
            while self.server.running:
                inbox.get()
                if answers:
                    outbox.put(b"error")

        socket = SimpleNamespace(
            send=inbox.put, poll=lambda _ms: int(not outbox.empty() or answers), recv=lambda: outbox.get(timeout=5)
        )
        self.client = end("client", socket=socket, executor=ThreadPoolExecutor(1))
        self.server = end("server", running=True, thread=threading.Thread(target=serve, daemon=True))
        self.server.thread.start()


def test_lookup_ends_with_its_thread_and_contexts() -> None:
    ends = Ends()
    vllm_close.close_lookup(ends.server, ends.client)
    assert not ends.server.thread.is_alive()
    assert ends.closed == ["client", "client context", "server", "server context"]


def test_a_server_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_close, "WAIT_S", 0.05)
    ends = Ends()
    hung = threading.Event()
    ends.server.thread = threading.Thread(target=hung.wait, daemon=True)
    ends.server.thread.start()
    vllm_close.close_lookup(ends.server, ends.client)
    assert ends.closed == ["client", "client context"]
    hung.set()


def test_no_server_no_client() -> None:
    vllm_close.close_lookup(None, None)
