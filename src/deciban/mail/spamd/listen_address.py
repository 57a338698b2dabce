"""The address of a spamd: loopback or a Unix socket, and others only if anyone may connect."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from deciban.errors import InputError

BACKLOG_CLIENTS: Final = 256
"""Clients that may wait to be accepted."""

MAX_PATH_BYTES: Final = 107
"""Bytes that the path of a Unix socket may have."""

_HINT = "Hint: 127.0.0.1:1783, [::1]:1783 or unix:/run/deciban/spamd.sock"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        """Return whether no other machine can reach it."""
        return bool(self.path) or ipaddress.ip_address(self.host).is_loopback

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
        return Address(path=_check_path(text.removeprefix("unix:")))
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise InputError(
            f"address {text!r}: a numeric host and a port are needed, or a Unix socket. {_HINT}"
        ) from None
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise InputError(f"address {text!r}: a port is a number from 0 (any that is free) to 65535. {_HINT}")
    return Address(host, int(port))


def _check_path(path: str) -> str:
    if not path or "\0" in path or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise InputError(f"address 'unix:{path}': a socket's path has 1 to {MAX_PATH_BYTES} bytes. {_HINT}")
    return path


@contextmanager
def open_listener(text: str, anyone: bool = False) -> Iterator[tuple[socket.socket, Address]]:
    """Open a socket that listens at an address; yield it and the address. A Unix socket is deleted afterwards."""
    address = parse_address(text)
    if not (anyone or address.is_loopback):
        raise InputError(
            f"address {text!r} can be reached from other machines, and any client may classify and learn. "
            "Hint: 127.0.0.1, a Unix socket, or permit it (--anyone)"
        )
    with _bind(address) as listener:
        if address.path:
            made = os.lstat(address.path)
            try:
                yield listener, address
            finally:
                with suppress(OSError):
                    if os.path.samestat(made, os.lstat(address.path)):  # not one that replaced ours
                        os.unlink(address.path)
        else:
            yield listener, Address(address.host, listener.getsockname()[1])


def _bind(address: Address) -> socket.socket:
    family = socket.AF_UNIX if address.path else socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        if address.path:
            _delete_stale_socket(address)
            listener.bind(address.path)
            os.chmod(address.path, 0o600)  # before `listen`, so nobody could connect meanwhile
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address.host, address.port))
        listener.listen(BACKLOG_CLIENTS)
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen at {address}: {error.strerror or error}. Hint: another address?") from error
    except BaseException:
        listener.close()
        raise
    return listener


def _delete_stale_socket(address: Address) -> None:
    """Delete a socket that a killed server left behind, but never one at which a server answers."""
    try:
        mode = os.lstat(address.path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError(f"cannot listen at {address}: there is a file, and it is no socket. {_HINT}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller, suppress(ConnectionRefusedError):
        caller.settimeout(2)
        caller.connect(address.path)
        raise InputError(f"cannot listen at {address}: another server answers there. Hint: stop it first")
    with suppress(FileNotFoundError):
        os.unlink(address.path)
