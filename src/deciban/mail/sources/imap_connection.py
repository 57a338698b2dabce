"""The line to an IMAP server: reached safely, wary of what comes over it, and troubles told in words without secrets.

`imaps://` checks the server's certificate against the system's, those of SSL_CERT_FILE, or `?ca=FILE`. `imap://` is
for loopback; with any other server it goes on by STARTTLS, checked in the same way, before anything is said.
"""

from __future__ import annotations

import os
import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from imaplib import IMAP4, IMAP4_SSL
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Protocol

from deciban.errors import InputError
from deciban.mail.sources.imap_address import Address, quoted
from deciban.mail.sources.raw_message import max_read_bytes

PATIENCE = 60.0
"""Seconds without a word from the server before the connection is given up."""

CHATTER = 1 << 24
"""Bytes that a server may say for a command beside the messages that were asked for."""

PASSWORD = "DECIBAN_IMAP_PASSWORD"
"""The variable of the environment that has the password."""


class RefusedError(InputError):
    """The server does not know the user and the password: asking again may lock the account."""


class Line(Protocol):
    """What is used of imaplib's connections, and how many bytes may still come."""

    allowed: int

    def uid(self, command: str, *words: str) -> tuple[str, list[Any]]:
        """Asks about messages."""

    def response(self, code: str) -> tuple[str, list[Any]]:
        """What else was said."""

    def select(self, mailbox: str, readonly: bool) -> tuple[str, list[Any]]:
        """Opens a folder."""

    def list(self, directory: str = ..., pattern: str = ...) -> tuple[str, list[Any]]:
        """The folders there are."""

    def leave(self) -> None:
        """Ends the conversation."""


class _Wary:
    """A connection that bounds what it is told: sizes that a server announces are not believed."""

    allowed = CHATTER

    def read(self, size: int) -> bytes:
        """So many bytes, of which no more are kept than a message may have; the rest is passed over."""
        self._spend(size)
        data: bytes = super().read(min(size, max_read_bytes()))  # type: ignore[misc]
        left, short = size - max_read_bytes(), len(data) < min(size, max_read_bytes())
        while left > 0 and not short:
            passed = len(super().read(min(left, 1 << 18)))  # type: ignore[misc]
            left, short = left - passed, passed == 0
        if short:
            raise IMAP4.abort("it broke off within a message")
        return data

    def readline(self) -> bytes:
        """One line of an answer."""
        line: bytes = super().readline()  # type: ignore[misc]
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        self.allowed -= size
        if self.allowed < 0:
            raise IMAP4.abort("the server sends more than it was asked for")

    def leave(self) -> None:
        """Says goodbye, if anybody is there to hear it."""
        self.allowed = CHATTER
        with suppress(OSError, IMAP4.error):
            self.logout()  # type: ignore[attr-defined]


class _Plain(_Wary, IMAP4):
    """Over a bare connection."""


class _Secure(_Wary, IMAP4_SSL):
    """Over TLS."""


def connected(address: Address, password: str) -> Line:
    """A line on which the server knows who we are."""
    if any(letter in password for letter in "\r\n\0"):
        raise InputError(f"{address}: the password has a line end or a zero in it. Hint: set {PASSWORD} again")
    with in_words(address, password):
        line = _reached(address)
        try:
            _log_in(line, address, password)
        except BaseException:
            line.leave()
            raise
    return line


def _reached(address: Address) -> _Plain | _Secure:
    trust = ssl.create_default_context(cafile=address.ca)
    if address.secure:
        return _Secure(address.host, address.port, ssl_context=trust, timeout=PATIENCE)
    line = _Plain(address.host, address.port, timeout=PATIENCE)
    here = _is_here(line)
    if "STARTTLS" in line.capabilities and not (here and "LOGINDISABLED" not in line.capabilities):
        line.starttls(ssl_context=trust)
    elif not here:
        line.leave()
        raise InputError(f"{address}: the server has no STARTTLS, and others could listen. Hint: use imaps://")
    return line


def _is_here(line: IMAP4) -> bool:
    """Whether the other end is on this machine, where nobody listens who could not read the mail itself."""
    return ip_address(line.sock.getpeername()[0].partition("%")[0]).is_loopback


def _log_in(line: _Plain | _Secure, address: Address, password: str) -> None:
    try:
        if "AUTH=PLAIN" in line.capabilities:
            line.authenticate("PLAIN", lambda _: f"\0{address.user}\0{password}".encode())
        else:
            line.login(quoted(address.user), password)
    except IMAP4.abort:
        raise
    except (IMAP4.error, UnicodeEncodeError) as error:
        # an encoding error would show what could not be encoded: the password
        told = "it bears ASCII alone" if isinstance(error, UnicodeEncodeError) else said(list(error.args))
        why = _scrubbed(told, address.user, password)
        raise RefusedError(
            f"{address}: the server does not let {address.user} in: {why}. "
            f"Hint: check {PASSWORD}, the keyring or what you typed"
        ) from None


@contextmanager
def in_words(address: Address, password: str = "") -> Iterator[None]:
    """Whatever goes wrong with a server, as an InputError that names the folder and never the password."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        hint = "Hint: name its authority by ?ca=FILE or SSL_CERT_FILE"
        raise InputError(
            f"{address}: the server's certificate is not trusted: {error.verify_message}. {hint}"
        ) from None
    except TimeoutError:
        raise InputError(f"{address}: no answer within {PATIENCE:g} seconds") from None
    except (IMAP4.error, OSError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else said(list(error.args))
        raise InputError(f"{address}: the connection failed: {_scrubbed(told, address.user, password)}") from None


def said(answer: list[Any]) -> str:
    """What a server said, on one line, as far as it can be shown."""
    words = " ".join(
        part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in answer if part
    )
    return "".join(letter if letter.isprintable() else " " for letter in words)[:300] or "nothing was said"


def _scrubbed(text: str, user: str, password: str) -> str:
    """A server may repeat what it was told."""
    for secret in (
        password,
        b64encode(f"\0{user}\0{password}".encode()).decode(),
        b64encode(password.encode()).decode(),
    ):
        text = text.replace(secret, "…") if password else text
    return text


def password_for(address: Address) -> str:
    """The password: from the environment, the keyring (if installed; its service is `deciban`), or the keyboard."""
    if password := os.environ.get(PASSWORD):
        return password
    if find_spec("keyring"):
        keyring = import_module("keyring")
        with suppress(keyring.errors.KeyringError):
            if kept := keyring.get_password("deciban", f"{address.user}@{address.host}"):
                return str(kept)
    return _asked_for(address)


def _asked_for(address: Address) -> str:
    from getpass import getpass

    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        raise InputError(
            f"{address}: a password is needed, and nobody is there to be asked. Hint: set {PASSWORD}, "
            f"or `keyring set deciban {address.user}@{address.host}`"
        ) from None
    return getpass(f"Password of {address.user} at {address.host}: ")
