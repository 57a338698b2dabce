"""A client's line: what it sends is read within bounds, what it is sent is written, and neither waits for ever."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from deciban.errors import InputError
from deciban.mail.spamd.protocol import (
    BLANK_AFTER_PING,
    BODILESS,
    LONGEST_HEAD,
    Code,
    Refusal,
    Request,
    first_line,
    request_of,
    too_big,
)

AT_A_TIME: Final = 1 << 16
LINGER: Final = 1.0
"""Seconds in which a client that was refused may go on sending, unread, before it is cut off: it should see why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes upon itself; whatever clients do, it holds no more than `held` bytes of theirs."""

    message: int = 1 << 24
    """Bytes of the longest message, unpacked."""
    seconds: float = 30.0
    """… that a client has to send its request, a message to be judged, and a client to take its answer."""
    connections: int = 100
    held: int = 1 << 28
    """Bytes of all messages and answers that are on their way."""

    def __post_init__(self) -> None:
        for name in ("message", "seconds", "connections", "held"):
            if not getattr(self, name) > 0:
                raise InputError(f"limit {name} = {getattr(self, name)!r}: it must be more than 0")


class Holding:
    """How many bytes of clients' are held in all."""

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0

    def take(self, size: int) -> None:
        """Account for more, or refuse."""
        if self.bytes + size > self.most:
            raise Refusal(
                Code.EX_TEMPFAIL, f"the server holds {self.bytes} bytes of messages already; try again soon"
            )
        self.bytes += size

    def release(self, size: int) -> None:
        """Account for less."""
        self.bytes -= size


class Line:
    """A connection, and what of it is held. `waits_since`: since when we wait for it; None while it waits for us."""

    def __init__(self, sock: socket.socket, limits: Limits, holding: Holding) -> None:
        self._sock, self._limits, self._holding = sock, limits, holding
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._held = 0
        self._over = False
        self.waits_since: float | None = self._loop.time()

    async def request(self) -> tuple[Request, bytes]:
        """What the client wants, and its message."""
        head = await self._line(LONGEST_HEAD)
        left = LONGEST_HEAD - len(head)
        command, version = first_line(head)
        lines: list[bytes] = []
        if command not in BODILESS or version >= BLANK_AFTER_PING:
            while (line := await self._line(left)).rstrip(b"\r\n"):
                left -= len(line)
                lines.append(line)
        request = request_of(command, version, lines)
        return request, await self._body(request.length) if request.has_body else b""

    async def _line(self, most: int) -> bytes:
        while (end := self._buffer.find(b"\n") + 1) == 0 and len(self._buffer) <= most:
            if not await self._more():
                raise Refusal(Code.EX_PROTOCOL, "the request ends within its headers")
        if end == 0 or end > most:
            raise Refusal(Code.EX_PROTOCOL, f"the request has more than {LONGEST_HEAD} bytes of headers")
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line

    async def _body(self, length: int | None) -> bytes:
        most = self._limits.message if length is None else length
        if most > self._limits.message:
            raise too_big(f"the message ({length} bytes) is", self._limits.message)
        while len(self._buffer) <= most and (length is None or len(self._buffer) < length):
            if not await self._more():
                break
        if length is not None and len(self._buffer) != length:
            came = len(self._buffer)
            raise Refusal(Code.EX_PROTOCOL, f"Content-length says {length} bytes, but {came} came")
        if len(self._buffer) > most:
            raise too_big("the message is", self._limits.message)
        message = bytes(self._buffer)
        self._buffer.clear()
        return message

    async def _more(self) -> bool:
        data = await self._receive()
        self._account(self._held + len(data))
        self._buffer += data
        return bool(data)

    async def _receive(self) -> bytes:
        """Receive some bytes after other connections had their turn: `sock_recv` pauses only if none are there."""
        await asyncio.sleep(0)
        data = await self._loop.sock_recv(self._sock, AT_A_TIME)
        self._over = not data
        return data

    def _account(self, held: int) -> None:
        if held > self._held:
            self._holding.take(held - self._held)
        else:
            self._holding.release(self._held - held)
        self._held = held

    async def send(self, answer: bytes) -> None:
        """Write an answer, and that it is the last."""
        self.waits_since = self._loop.time()
        self._account(len(answer))
        await self._loop.sock_sendall(self._sock, answer)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    async def hear_out(self) -> None:
        """Let a client end what it is sending: one that is cut off in the middle would not see its answer."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(LINGER):
                while not self._over:
                    await self._receive()

    def close(self) -> None:
        """Hang up."""
        self._account(0)
        self._buffer.clear()
        self._sock.close()
