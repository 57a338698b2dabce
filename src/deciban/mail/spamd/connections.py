"""The address at which a spamd listens, and its clients, whose requests are read within limits of bytes and time.

An address is a loopback one or a Unix socket, and another only if anyone may connect.
"""

import asyncio
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Final

from deciban.errors import InputError
from deciban.mail.spamd import protocol
from deciban.mail.spamd.protocol import Code, Refusal, Request

BACKLOG_CLIENTS: Final = 256
"""Clients that may wait to be accepted."""

MAX_PATH_BYTES: Final = 107
"""Bytes that the path of a Unix socket may have."""

RECEIVE_BYTES: Final = 1 << 16
"""Bytes that are received at a time."""

DRAIN_SECONDS: Final = 1.0
"""Time in which a refused client may go on sending, unread, before it is closed, so that it can read the reason."""

_HINT = "Hint: 127.0.0.1:1783, [::1]:1783 or unix:/run/deciban/spamd.sock"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse an address as people write it.

    >>> parse_address("[::1]:1783"), str(parse_address("localhost:1783"))
    (Address(host='::1', port=1783, path=''), '127.0.0.1:1783')
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path or "\0" in path or len(os.fsencode(path)) > MAX_PATH_BYTES:
            raise InputError(f"address {text!r}: a socket's path has 1 to {MAX_PATH_BYTES} bytes. {_HINT}")
        return Address(path=path)
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        reason = "a numeric host and a port are needed, or a Unix socket"
        raise InputError(f"address {text!r}: {reason}. {_HINT}") from None
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"address {text!r}: a port is a number from 0 (any that is free) to 65535. {_HINT}")
    return Address(host, int(port))


@contextmanager
def open_listener(text: str, anyone: bool = False) -> Iterator[tuple[socket.socket, Address]]:
    """Open a socket that listens at an address; yield it and the address. A Unix socket is deleted afterwards."""
    address = parse_address(text)
    if not (anyone or address.path or ipaddress.ip_address(address.host).is_loopback):
        raise InputError(
            f"address {text!r} can be reached from other machines, and any client may classify and learn. "
            "Hint: 127.0.0.1, a Unix socket, or permit it (--anyone)"
        )
    family = socket.AF_UNIX if address.path else socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        _listen(listener, address)
        if not address.path:
            yield listener, Address(address.host, listener.getsockname()[1])
            return
        made = os.lstat(address.path)
        try:
            yield listener, address
        finally:
            with suppress(OSError):
                if os.path.samestat(made, os.lstat(address.path)):  # not one that replaced ours
                    os.unlink(address.path)


def _listen(listener: socket.socket, address: Address) -> None:
    try:
        if address.path:
            _delete_stale_socket(address)
            listener.bind(address.path)
            os.chmod(address.path, 0o600)  # before `listen`, so nobody could connect meanwhile
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address.host, address.port))
        listener.listen(BACKLOG_CLIENTS)
    except OSError as error:
        raise InputError(f"cannot listen at {address}: {error.strerror or error}. Hint: another address?") from error


def _delete_stale_socket(address: Address) -> None:
    """Delete a socket that a killed server left behind, but never one at which a server answers."""
    try:
        mode = os.lstat(address.path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError(f"cannot listen at {address}: there is a file that is not a socket. {_HINT}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller, suppress(ConnectionRefusedError):
        caller.settimeout(2)
        caller.connect(address.path)
        raise InputError(f"cannot listen at {address}: another server answers there. Hint: stop it first")
    with suppress(FileNotFoundError):
        os.unlink(address.path)


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
        for name, value in asdict(self).items():
            if not value > 0:
                raise InputError(f"limit {name} = {value!r}: it must be more than 0")


class ByteBudget:
    """The bytes of all clients that are held in memory, and their limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0

    def take(self, size: int) -> None:
        """Add to the bytes in memory, or refuse; a negative size gives bytes back."""
        if size > 0 and self.bytes + size > self.limit:
            reason = f"the server holds {self.bytes} bytes of messages already; try again soon"
            raise Refusal(Code.EX_TEMPFAIL, reason)
        self.bytes += size


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
        """Read the request of the client, and its message, still compressed; Refusal if either breaks a rule."""
        head = await self._read_line(protocol.MAX_HEAD_BYTES)
        left = protocol.MAX_HEAD_BYTES - len(head)
        command, version = protocol.parse_first_line(head)
        has_body = command not in protocol.BODILESS_COMMANDS
        lines: list[bytes] = []
        if has_body or version >= protocol.BLANK_LINE_VERSION:
            while (line := await self._read_line(left)).rstrip(b"\r\n"):
                left -= len(line)
                lines.append(line)
        request = protocol.parse_request(command, version, lines)
        return request, await self._read_body(request.length) if has_body else b""

    async def _read_line(self, limit: int) -> bytes:
        while (end := self._buffer.find(b"\n") + 1) == 0 and len(self._buffer) <= limit:
            if not await self._receive_more():
                raise Refusal(Code.EX_PROTOCOL, "the request ends within its headers")
        if end == 0 or end > limit:
            raise Refusal(Code.EX_PROTOCOL, f"the request has more than {protocol.MAX_HEAD_BYTES} bytes of headers")
        line = bytes(self._buffer[:end])
        del self._buffer[:end]
        return line

    async def _read_body(self, length: int | None) -> bytes:
        limit = self._limits.message if length is None else length
        if limit > self._limits.message:
            raise protocol.oversize_refusal(f"the message ({length} bytes) is", self._limits.message)
        while len(self._buffer) <= limit and (length is None or len(self._buffer) < length):
            if not await self._receive_more():
                break
        received = len(self._buffer)
        if length is not None and received != length:
            raise Refusal(Code.EX_PROTOCOL, f"Content-length is {length} bytes, but {received} came")
        if received > limit:
            raise protocol.oversize_refusal("the message is", self._limits.message)
        message = bytes(self._buffer)
        self._buffer.clear()
        return message

    async def _receive_more(self) -> bool:
        """Append received bytes to the buffer; return False at the end of the stream."""
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
        self._budget.take(held - self._held)
        self._held = held

    async def send(self, answer: bytes) -> None:
        """Send the answer and end the sending side; Refusal if the server holds too many bytes already."""
        self.idle_since = self._loop.time()
        self._set_held(len(answer))
        await self._loop.sock_sendall(self._sock, answer)
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    async def drain(self) -> None:
        """Receive the remaining bytes of a request: a client closed while sending would not see its answer."""
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while not self._is_ended:
                    await self._receive()

    def close(self) -> None:
        """Close the connection."""
        self._set_held(0)
        self._buffer.clear()
        self._sock.close()
