"""Ends what a Mooncake connector leaves running: threads, ZMQ contexts and a socket file."""

from __future__ import annotations

import logging
import queue
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from kvfanin_probe.vllm_engine import Engine

log = logging.getLogger(__name__)
WAIT_S = 5.0


def close_mooncake(engine: Engine) -> None:
    """Closes an engine that has a Mooncake connector."""
    worker = engine.connector.connector_worker
    threads = list(worker.kv_recv_threads)
    close_lookup(worker.lookup_server, engine.scheduler.connector.connector_scheduler.client)
    # Waits for the receive queue, and closes the store.
    engine.close()
    end_receive_threads(threads)


class _EndOfThread:
    """A queue entry at which a receive thread ends.

    Receive threads have no way to stop, and a process that runs many cases would gather them. Whatever such a thread
    first reads of this entry raises SystemExit, which the thread's handler of errors (`except Exception`) lets pass
    and which ends a thread without a word.
    """

    def __getattr__(self, name: str) -> Any:
        raise SystemExit


def close_lookup(server: Any, client: Any) -> None:
    """Ends the lookup server's thread, then closes both ends, their contexts and the socket file."""
    if server is not None and client is not None:
        server.running = False

        def wake() -> None:
            # The server waits in a receive without a deadline. It answers a message that it does not know with an
            # error, and then sees that it is no longer to run.
            client.socket.send(b"kvfanin: end")
            if client.socket.poll(WAIT_S * 1000):
                client.socket.recv()

        try:
            # The client's socket belongs to the one thread of its executor.
            client.executor.submit(wake).result(2 * WAIT_S)
        except (RuntimeError, FutureTimeoutError) as error:
            log.warning("the lookup server was not woken: %r", error)
        server.thread.join(WAIT_S)
        if server.thread.is_alive():
            # Closing a socket that a thread waits on is not safe. It stays, and its file with it.
            log.warning("the thread of the lookup server did not end")
            server = None
    for end in (client, server):
        if end is not None:
            end.close()
            end.ctx.destroy(linger=0)


def end_receive_threads(threads: list[Any]) -> None:
    """Ends the receive threads. They share one queue, so each takes one entry."""
    for thread in threads:
        # Past an observer of `put`: this is no entry of the stack's.
        queue.Queue.put(thread.request_queue, _EndOfThread())
    for thread in threads:
        thread.join(WAIT_S)
        if thread.is_alive():
            log.warning("%s did not end", thread.name)
