"""The connection of a client: its request is read within limits of bytes and time, and its answer is sent."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from deciban.errors import InputError
from deciban.mail.spamd.protocol import (
    BLANK_LINE_VERSION,
    BODILESS_COMMANDS,
    MAX_HEAD_BYTES,
    Code,
    Refusal,
    Request,
    parse_first_line,
    parse_request,
    refuse_size,
)

RECEIVE_BYTES: Final = 1 << 16
"""Bytes that are received at a time."""

DRAIN_SECONDS: Final = 1.0
"""Time in which a refused client may go on sending, unread, before it is closed, so that it can read the reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; whatever clients do, it holds no more than `held` bytes of theirs."""

    message: int = 1 << 24
    """Bytes of the longest message, decompressed."""
    seconds: float = 30.0
    """Time for a client to send its request, for a message to be classified, and for a client to take its answer."""
    connections: int = 100
    held: int = 1 << 28
    """Bytes of all requests and answers in memory."""

    def __post_init__(self) -> None:
        for name in ("message", "seconds", "connections", "held"):
            if not getattr(self, name) > 0:
                raise InputError(f"limit {name} = {getattr(self, name)!r}: it must be more than 0")


class ByteBudget:
    """The bytes of all clients that are held in memory, and their limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0

    def take(self, size: int) -> None:
        """Add to the bytes in memory, or refuse."""
        if self.bytes + size > self.limit:
            raise Refusal(
                Code.EX_TEMPFAIL, f"the server holds {self.bytes} bytes of messages already; try again soon"
            )
        self.bytes += size

    def release(self, size: int) -> None:
        """Subtract from the bytes in memory."""
        self.bytes -= size


class Connection:
    """A connection, and its bytes in memory. `idle_since` is when the server began to wait for it, if it does."""

    def __init__(self, sock: socket.socket, limits: Limits, budget: ByteBudget) -> None:
        self._sock, self._limits, self._budget = sock, limits, budget
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._held = 0
        self._is_ended = False
        self.idle_since: float | None = self._loop.time()

    async def read_request(self) -> tuple[Request, bytes]:
        """Read the request of the client, and its message."""
        head = await self._read_line(MAX_HEAD_BYTES)
        left = MAX_HEAD_BYTES - len(head)
        command, version = parse_first_line(head)
        lines: list[bytes] = []
        if command not in BODILESS_COMMANDS or version >= BLANK_LINE_VERSION:
            while (line := await self._read_line(left)).rstrip(b"\r\n"):
                left -= len(line)
                lines.append(line)
        request = parse_request(command, version, lines)
        return request, await self._read_body(request.length) if request.has_body else b""

    async def _read_line(self, limit: int) -> bytes:
        while (end := self._buffer.find(b"\n") + 1) == 0 and len(self._buffer) <= limit:
            if not await self._receive_more():
                raise Refusal(Code.EX_PROTOCOL, "the request ends within its headers")
        if end == 0 or end > limit:
            raise Refusal(Code.EX_PROTOCOL, f"the request has more than {MAX_HEAD_BYTES} bytes of headers")
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line

    async def _read_body(self, length: int | None) -> bytes:
        limit = self._limits.message if length is None else length
        if limit > self._limits.message:
            raise refuse_size(f"the message ({length} bytes) is", self._limits.message)
        while len(self._buffer) <= limit and (length is None or len(self._buffer) < length):
            if not await self._receive_more():
                break
        if length is not None and len(self._buffer) != length:
            received = len(self._buffer)
            raise Refusal(Code.EX_PROTOCOL, f"Content-length says {length} bytes, but {received} came")
        if len(self._buffer) > limit:
            raise refuse_size("the message is", self._limits.message)
        message = bytes(self._buffer)
        self._buffer.clear()
        return message

    async def _receive_more(self) -> bool:
        data = await self._receive()
        self._set_held(self._held + len(data))
        self._buffer += data
        return bool(data)

    async def _receive(self) -> bytes:
        """Receive some bytes after other connections had their turn: `sock_recv` pauses only if none are there."""
        await asyncio.sleep(0)
        data = await self._loop.sock_recv(self._sock, RECEIVE_BYTES)
        self._is_ended = not data
        return data

    def _set_held(self, held: int) -> None:
        if held > self._held:
            self._budget.take(held - self._held)
        else:
            self._budget.release(self._held - held)
        self._held = held

    async def send(self, answer: bytes) -> None:
        """Send the answer and end the sending side."""
        self.idle_since = self._loop.time()
        self._set_held(len(answer))
        await self._loop.sock_sendall(self._sock, answer)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    async def drain(self) -> None:
        """Receive the rest of a request: a client that is closed while sending would not see its answer."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._is_ended:
                    await self._receive()

    def close(self) -> None:
        """Close the connection."""
        self._set_held(0)
        self._buffer.clear()
        self._sock.close()
