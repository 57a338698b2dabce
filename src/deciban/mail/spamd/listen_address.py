"""Where a spamd listens: on loopback or a Unix socket, and nowhere else unless that is said."""

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

USUAL_ADDRESS: Final = "127.0.0.1:1783"
WAITING: Final = 256
"""Clients that may wait to be let in."""
LONGEST_PATH: Final = 107
"""Bytes that the name of a Unix socket may have."""
_HINT = "Hint: 127.0.0.1:1783, [::1]:1783 or unix:/run/deciban/spamd.sock"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port, or the path of a Unix socket."""

    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether nobody can reach it from another machine."""
        return bool(self.path) or ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address:
    """An address as people write it.

    >>> address_of("[::1]:1783"), str(address_of("localhost:1783"))
    (Address(host='::1', port=1783, path=''), '127.0.0.1:1783')
    """
    if text.startswith("unix:"):
        return Address(path=_checked_path(text.removeprefix("unix:")))
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


def _checked_path(path: str) -> str:
    if not path or "\0" in path or len(os.fsencode(path)) > LONGEST_PATH:
        raise InputError(f"address 'unix:{path}': a socket's path has 1 to {LONGEST_PATH} bytes. {_HINT}")
    return path


@contextmanager
def listening(text: str, anyone: bool = False) -> Iterator[tuple[socket.socket, Address]]:
    """A socket that listens at an address, and the address with its port; a Unix socket is taken away afterwards."""
    address = address_of(text)
    if not (anyone or address.is_loopback):
        raise InputError(
            f"address {text!r} can be reached from other machines, and who reaches it may ask and teach. "
            "Hint: 127.0.0.1, a Unix socket, or say that anyone may (--anyone)"
        )
    with _bound(address) as listener:
        if address.path:
            made = os.lstat(address.path)
            try:
                yield listener, address
            finally:
                with suppress(OSError):
                    if os.path.samestat(made, os.lstat(address.path)):  # not one that took our place
                        os.unlink(address.path)
        else:
            yield listener, Address(address.host, listener.getsockname()[1])


def _bound(address: Address) -> socket.socket:
    family = socket.AF_UNIX if address.path else socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        if address.path:
            _clear_away_stale(address)
            listener.bind(address.path)
            os.chmod(address.path, 0o600)  # before `listen`, so nobody was let in meanwhile
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address.host, address.port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        raise InputError(f"cannot listen at {address}: {error.strerror or error}. Hint: another address?") from error
    except BaseException:
        listener.close()
        raise
    return listener


def _clear_away_stale(address: Address) -> None:
    """Take away a socket that a server left behind when it was killed; never one that is answered at."""
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
