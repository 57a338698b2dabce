"""A server in the place of SpamAssassin's spamd: every mail system with a hook for `spamc` can use the filter.

One thread reads requests and sends answers, and never blocks; a few threads classify, each with the store open; one
learns, in the order of requests; large messages have workers of their own. A client that is slow, wrong or hostile is
refused within its limits, and a message that is to be returned (PROCESS, HEADERS) is returned as it came should
anything go wrong.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from deciban.errors import DecibanError
from deciban.mail.spamd import protocol
from deciban.mail.spamd.connections import ByteBudget, Connection, Limits, open_listener
from deciban.mail.spamd.protocol import Code, Refusal, Request
from deciban.mail.spamd.worker_pool import WorkerPool

MAX_IDLE_SECONDS: Final = 2.0
"""When there are as many clients as permitted, one that has been idle for longer is closed for another."""

SHUTDOWN_SECONDS: Final = 5.0
"""Time that requests have to be finished once the server is to end."""

MAX_INFLATION: Final = 1032
"""Bytes that one byte of zlib data can become at most."""

THREAD_SWITCH_SECONDS: Final = 0.0005
"""Seconds that a thread may keep the interpreter while another waits for it. A small message gives it up some 30
times (for SQLite and its socket): with large ones it waited up to 0.35 s at Python's 0.005, and 0.15 s at this."""

MAINTENANCE_DELAY_SECONDS: Final = 1.0
"""Time after a message was learned until the server checks whether a refit is due."""

log = logging.getLogger("deciban.mail.spamd.spamd_server")


def serve(
    address: str, store: str | os.PathLike[str], *, limits: Limits | None = None, learns: bool = True,
    anyone: bool = False, ready: Callable[[str], None] = lambda where: None, stop: threading.Event | None = None,
) -> None:  # fmt: skip
    """Answer `spamc` at an address until the event, SIGTERM or SIGINT; requests are finished first.

    `address` is "127.0.0.1:1783", "[::1]:1783" or "unix:/path"; one that other machines can reach is refused unless
    `anyone` may. `ready` is called with the address once clients are accepted. Without `learns`, TELL is refused.
    """
    server = Server(Path(store), limits or Limits(), learns)
    stop = stop or threading.Event()
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    try:
        with open_listener(address, anyone) as (listener, where):
            server.workers.open()
            asyncio.run(server.run(listener, lambda: ready(str(where)), stop))
    finally:
        server.workers.close(SHUTDOWN_SECONDS)
        sys.setswitchinterval(switch_seconds)


class Server:
    """The connections of clients, and the workers that answer them."""

    def __init__(self, store: Path, limits: Limits, learns: bool) -> None:
        self.workers = WorkerPool(store)
        self._limits, self._learns = limits, learns
        self._budget = ByteBudget(limits.held)
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._maintenance: asyncio.Task[None] | None = None

    async def run(self, listener: socket.socket, ready: Callable[[], None], stop: threading.Event) -> None:
        """Accept clients until the event is set, or a signal that ends programs comes."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, stop.set)
        accepting = asyncio.create_task(self._accept(listener))
        self._schedule_maintenance()  # a server before this one may have learned last
        try:
            ready()
            ends: set[asyncio.Future[Any]] = {accepting, loop.run_in_executor(None, stop.wait)}
            await asyncio.wait(ends, return_when="FIRST_COMPLETED")
            accepting.cancel()
            await asyncio.wait({accepting})
            with suppress(OSError):  # clients that wait are served: the system has accepted them already
                while len(self._connections) < self._limits.connections:
                    sock, _ = listener.accept()
                    sock.setblocking(False)
                    self._start(sock)
            listener.close()
            if self._connections:
                await asyncio.wait(set(self._connections), timeout=SHUTDOWN_SECONDS)
            if not accepting.cancelled():
                accepting.result()  # it ended by an error, which is raised here
        finally:
            stop.set()  # the thread that waits for it need wait no longer

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many files are open, or the client is gone already
                log.warning("a client could not be accepted: %s", error)
                await asyncio.sleep(0.1)
                continue
            try:
                await self._wait_for_free_connection()
            except BaseException:
                sock.close()
                raise
            self._start(sock)

    def _start(self, sock: socket.socket) -> None:
        """Start a task that serves a client, listed among the connections until it ends."""
        connection = Connection(sock, self._limits, self._budget)
        task = asyncio.create_task(self._handle(connection))
        self._connections[task] = connection
        task.add_done_callback(lambda done: self._connections.pop(done, None))

    async def _wait_for_free_connection(self) -> None:
        """Wait until one more client can be accepted; the one that has been idle for longest is closed for it."""
        while len(self._connections) >= self._limits.connections:
            now = asyncio.get_running_loop().time()
            idle = [(c.idle_since, task) for task, c in self._connections.items() if c.idle_since is not None]
            since, slowest = min(idle, key=lambda pair: pair[0], default=(now, None))
            if slowest is not None and now - since > MAX_IDLE_SECONDS:
                slowest.cancel()
            await asyncio.wait(set(self._connections), timeout=0.1, return_when="FIRST_COMPLETED")

    async def _handle(self, connection: Connection) -> None:
        try:
            await self._exchange(connection)
        except OSError as gone:
            log.debug("a client left: %s", gone)
        except Exception:
            log.exception("a client could not be answered")
        finally:
            connection.close()

    async def _exchange(self, connection: Connection) -> None:
        """Read a request and send its answer, or the reason why it is refused."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                request, message = await connection.read_request()
            connection.idle_since = None
            answer = await self._answer(request, message)
            del message
            await self._send(connection, answer)
        except TimeoutError:
            seconds = f"{self._limits.seconds:g} seconds"
            await self._refuse(connection, Refusal(Code.EX_TIMEOUT, f"the request did not come within {seconds}"))
        except Refusal as refusal:
            await self._refuse(connection, refusal)

    async def _send(self, connection: Connection, answer: bytes) -> None:
        """Send an answer; a client that does not take it within the time limit is given up."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                await connection.send(answer)
        except TimeoutError:
            log.debug("a client did not take its answer")

    async def _refuse(self, connection: Connection, refusal: Refusal) -> None:
        log.info("refused: %s: %s", refusal.code.name, refusal.reason)
        await self._send(connection, protocol.format_refusal(refusal))
        await connection.drain()

    async def _answer(self, request: Request, message: bytes) -> bytes:
        """Have a worker answer in time; after an error the message comes back unchanged, or a Refusal is raised."""
        if request.command in protocol.BODILESS_COMMANDS:
            return protocol.PONG if request.command == "PING" else b""
        is_tell = request.command == "TELL"
        if is_tell and not self._learns:
            raise Refusal(Code.EX_UNAVAILABLE, "this server does not learn")
        answer = protocol.answer_tell if is_tell else protocol.answer_check
        size = min(len(message) * MAX_INFLATION, self._limits.message) if request.compressed else len(message)
        try:
            async with asyncio.timeout(self._limits.seconds):
                job = self.workers.put(
                    lambda mail: answer(mail, request, self._decompress(request, message)), size, learns=is_tell
                )
                result = await asyncio.wrap_future(job)
        except Exception as error:
            expected = isinstance(error, DecibanError | Refusal | TimeoutError)  # these need no traceback
            log.warning("%s: %s: %s", request.command, type(error).__name__, error, exc_info=not expected)
            if isinstance(error, Refusal):
                raise
            if request.command in protocol.RETURNING_COMMANDS:
                return protocol.answer_unchanged(request, self._decompress(request, message))
            raise protocol.to_refusal(error) from error
        if is_tell:
            self._schedule_maintenance()
        return result

    def _decompress(self, request: Request, message: bytes) -> bytes:
        return protocol.decompress(message, self._limits.message) if request.compressed else message

    def _schedule_maintenance(self) -> None:
        """Start the task that checks for a refit, unless it is running or the server does not learn."""
        if self._learns and (self._maintenance is None or self._maintenance.done()):
            self._maintenance = asyncio.create_task(self._maintain())

    async def _maintain(self) -> None:
        """Check whether a refit is due, after all that is being learned, and after a refit that is running."""
        await asyncio.sleep(MAINTENANCE_DELAY_SECONDS)
        while self.workers.maintenance.is_running:
            await asyncio.sleep(MAINTENANCE_DELAY_SECONDS)
        try:
            await asyncio.wrap_future(self.workers.put(self.workers.maintenance.start_if_due, learns=True))
        except Exception as error:
            log.warning("nothing could be refitted: %s", error)
