"""A server that `spamc` takes for SpamAssassin's: every mail system with a hook for it can use the filter.

Requests are read and answered by one thread, which never waits for anybody; judged by a few, each with the store
open; learned by one, in the order they came; large messages have workers of their own. A client that is slow, wrong
or hostile is refused within its limits, and a message that is to be given back (PROCESS, HEADERS) is given back as it
came should anything go wrong.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from deciban.errors import DecibanError
from deciban.mail.filter import MailFilter
from deciban.mail.spamd.client_connection import Holding, Limits, Line
from deciban.mail.spamd.listen_address import listening
from deciban.mail.spamd.protocol import GIVING_BACK, PONG, Code, Refusal, Request, inflated, refused
from deciban.mail.spamd.responses import in_code, judged, told, unchanged
from deciban.mail.spamd.worker_pool import Desks, Job

PATIENCE: Final = 2.0
"""When there is no room for another client, one that has kept us waiting for so many seconds makes room."""

PARTING: Final = 5.0
"""Seconds that requests have to be finished once the server is to end."""

MAX_INFLATION: Final = 1032
"""Bytes that one byte of zlib data can become at most."""

THREAD_SWITCH_SECONDS: Final = 0.0005
"""Seconds that a thread may keep the interpreter while another waits for it. A small message gives it up some 30
times (for SQLite and its socket): beside large ones it waited up to 0.35 s at Python's 0.005, and 0.15 s at this."""

SETTLING: Final = 1.0
"""Seconds after something was learned until a look whether trusts should be fitted anew."""

log = logging.getLogger("deciban.mail.spamd.spamd_server")


def serve(
    address: str, store: str | os.PathLike[str], *, limits: Limits | None = None, learns: bool = True,
    anyone: bool = False, ready: Callable[[str], None] | None = None, stop: threading.Event | None = None,
) -> None:  # fmt: skip
    """Answer `spamc` at an address until told to stop, by the event, SIGTERM or SIGINT; requests are finished first.

    `address` is "127.0.0.1:1783", "[::1]:1783" or "unix:/path"; one that other machines can reach is refused unless
    `anyone` may. `ready` is called with the address once clients are let in. Without `learns`, TELL is refused.
    """
    server = Server(Path(store), limits or Limits(), learns)
    stop = stop or threading.Event()
    switch_seconds = sys.getswitchinterval()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    try:
        with listening(address, anyone) as (listener, where):
            server.desks.open()
            asyncio.run(server.run(listener, (lambda: ready(str(where))) if ready else lambda: None, stop))
    finally:
        server.desks.close(PARTING)
        sys.setswitchinterval(switch_seconds)
        stop.set()  # whoever waits for it need wait no longer


class Server:
    """The clients there are, and what is done for them."""

    def __init__(self, store: Path, limits: Limits, learns: bool) -> None:
        self.desks = Desks(store)
        self._limits, self._learns = limits, learns
        self._holding = Holding(limits.held)
        self._lines: dict[asyncio.Task[None], Line] = {}
        self._settling: asyncio.Task[None] | None = None

    async def run(self, listener: socket.socket, ready: Callable[[], None], stop: threading.Event) -> None:
        """Let clients in until told to stop."""
        ended = asyncio.Event()
        with _heard(stop, ended):
            letting_in = asyncio.create_task(self._let_in(listener))
            self._settle_soon()  # a server before this one may have learned last
            ready()
            await asyncio.wait({letting_in, asyncio.create_task(ended.wait())}, return_when="FIRST_COMPLETED")
            letting_in.cancel()
            await asyncio.wait({letting_in})
            self._let_in_the_last(listener)
            listener.close()
            if self._lines:
                await asyncio.wait(set(self._lines), timeout=PARTING)
            if not letting_in.cancelled():
                letting_in.result()  # it ended by an error, which should be seen

    async def _let_in(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many files are open, or the client is gone already
                log.warning("a client could not be let in: %s", error)
                await asyncio.sleep(0.1)
                continue
            try:
                await self._room()
            except BaseException:
                sock.close()
                raise
            self._welcome(sock)

    def _let_in_the_last(self, listener: socket.socket) -> None:
        """Those who wait at the door when it is closed were told that somebody is there."""
        with suppress(OSError):
            while len(self._lines) < self._limits.connections:
                sock, _ = listener.accept()
                sock.setblocking(False)
                self._welcome(sock)

    def _welcome(self, sock: socket.socket) -> None:
        line = Line(sock, self._limits, self._holding)
        task = asyncio.create_task(self._attend(line))
        self._lines[task] = line
        task.add_done_callback(lambda done: self._lines.pop(done, None))

    async def _room(self) -> None:
        """Wait until one more can be let in; who keeps us waiting has to go first."""
        while len(self._lines) >= self._limits.connections:
            now = asyncio.get_running_loop().time()
            waiting = [(line.waits_since, task) for task, line in self._lines.items() if line.waits_since is not None]
            since, slowest = min(waiting, key=lambda pair: pair[0], default=(now, None))
            if slowest is not None and now - since > PATIENCE:
                slowest.cancel()
            await asyncio.wait(set(self._lines), timeout=0.1, return_when="FIRST_COMPLETED")

    async def _attend(self, line: Line) -> None:
        try:
            await self._converse(line)
        except OSError as gone:
            log.debug("a client left: %s", gone)
        except Exception:
            log.exception("a client could not be answered")
        finally:
            line.close()

    async def _converse(self, line: Line) -> None:
        try:
            async with asyncio.timeout(self._limits.seconds):
                request, message = await line.request()
            line.waits_since = None
            answer = await self._answer(request, message)
            del message
            await self._send(line, answer)
        except TimeoutError:
            seconds = f"{self._limits.seconds:g} seconds"
            await self._refuse(line, Refusal(Code.EX_TIMEOUT, f"the request did not come within {seconds}"))
        except Refusal as refusal:
            await self._refuse(line, refusal)

    async def _send(self, line: Line, answer: bytes) -> None:
        try:
            async with asyncio.timeout(self._limits.seconds):
                await line.send(answer)
        except TimeoutError:
            log.debug("a client did not take its answer")

    async def _refuse(self, line: Line, refusal: Refusal) -> None:
        log.info("refused: %s: %s", refusal.code.name, refusal.reason)
        await self._send(line, refused(refusal))
        await line.hear_out()

    async def _answer(self, request: Request, message: bytes) -> bytes:
        if request.command == "PING":
            return PONG
        if request.command == "SKIP":
            return b""
        if request.command == "TELL":
            return await self._told(request, message)
        try:
            return await self._done(self.desks.judge, judged, request, message)
        except Refusal:
            raise
        except Exception as error:
            if request.command in GIVING_BACK:
                return unchanged(request, self._unpacked(request, message))
            raise in_code(error) from error

    async def _told(self, request: Request, message: bytes) -> bytes:
        if not self._learns:
            raise Refusal(Code.EX_UNAVAILABLE, "this server does not learn")
        try:
            answer = await self._done(self.desks.learn, told, request, message)
        except Exception as error:
            raise in_code(error) from error
        self._settle_soon()
        return answer

    async def _done(
        self, ask: Callable[[Job, int], Future[bytes]], do: Callable[[MailFilter, Request, bytes], bytes],
        request: Request, message: bytes,
    ) -> bytes:  # fmt: skip
        """What a desk answers, in time."""
        size = min(len(message) * MAX_INFLATION, self._limits.message) if request.compressed else len(message)
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await asyncio.wrap_future(
                    ask(lambda mail: do(mail, request, self._unpacked(request, message)), size)
                )
        except Exception as error:
            said = isinstance(error, DecibanError | Refusal | TimeoutError)  # its text says all there is to know
            log.warning("%s: %s: %s", request.command, type(error).__name__, error, exc_info=not said)
            raise

    def _unpacked(self, request: Request, message: bytes) -> bytes:
        return inflated(message, self._limits.message) if request.compressed else message

    def _settle_soon(self) -> None:
        if self._learns and (self._settling is None or self._settling.done()):
            self._settling = asyncio.create_task(self._settle())

    async def _settle(self) -> None:
        """See whether a fit is due, after all that is being learned, and after a fit that is going on."""
        await asyncio.sleep(SETTLING)
        while self.desks.upkeep.goes_on:
            await asyncio.sleep(SETTLING)
        try:
            await asyncio.wrap_future(self.desks.learn(self.desks.upkeep.consider))
        except Exception as error:
            log.warning("nothing could be fitted anew: %s", error)


@contextmanager
def _heard(stop: threading.Event, ended: asyncio.Event) -> Iterator[None]:
    """While the block lasts, the event and the signals that end a program are heard."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        stop.wait()
        with suppress(RuntimeError):  # the loop has ended by itself
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, name="spamd-stop", daemon=True).start()
    signals = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
