"""Connections to IMAP servers: addresses, passwords, limits on what a server sends, and errors without secrets.

`imaps://` checks the server's certificate against the system's, those of SSL_CERT_FILE, or `?ca=FILE`. `imap://` is
for loopback; with any other server it continues by STARTTLS, checked in the same way, before anything else is sent.
An address never contains a password: it would be seen in lists of processes and in logs.
"""

import os
import re
import ssl
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from imaplib import IMAP4, IMAP4_SSL
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from deciban.errors import InputError
from deciban.mail.sources.message_files import max_read_bytes

TIMEOUT_SECONDS = 60.0
"""Seconds without data from the server before the connection is closed."""

MAX_RESPONSE_BYTES = 1 << 24
"""Bytes that a server may send for a command in addition to the messages that were requested."""

MAX_SKIPPED_BYTES = 1 << 18
"""Bytes that are skipped at a time of a message beyond its limit."""

PASSWORD = "DECIBAN_IMAP_PASSWORD"
"""The environment variable that holds the password."""

Password = Callable[["Address"], str]
"""A function that returns the password of a user on a server."""

PORTS = {"imap": 143, "imaps": 993}
ADDRESS_FORM = "imaps://user@host/Folder"


class RefusedError(InputError):
    """The server rejects the user and the password: another attempt may lock the account."""


@dataclass(frozen=True, slots=True)
class Address:
    """A folder on a server; `ca` is a file of certificates to trust in place of the system's.

    >>> Address.parse("imaps://joe%40x.org@mail.x.org/Lists/Old%20news")
    imaps://joe%40x.org@mail.x.org/Lists/Old%20news
    """

    is_secure: bool
    user: str
    host: str
    port: int
    folder: str
    ca: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse and check an address; an error never repeats what may be a password."""
        try:
            parts = urlsplit(text, allow_fragments=False)  # a folder may be called #news
            port = parts.port
        except ValueError:
            raise InputError(f"the IMAP address cannot be read. Hint: write it as {ADDRESS_FORM}") from None
        user, folder = unquote(parts.username or ""), unquote(parts.path.removeprefix("/")) or "INBOX"
        folder = "INBOX" if folder.upper() == "INBOX" else folder  # RFC 3501: only this name is the same in any case
        options = parse_qs(parts.query)
        unknown = [name for name in options if name != "ca"]
        problem, hint = "", f"write it as {ADDRESS_FORM}"
        if parts.password is not None:
            problem = "an address with a password in it is refused, as others can see it"
            hint = f"leave it out, and set {PASSWORD}, or be asked for it"
        elif parts.scheme not in PORTS or not user or not parts.hostname:
            problem = "an IMAP address needs a user and a host"
        elif not (user + folder).isprintable():
            problem = "the user or the folder has control characters in it"
        elif unknown:
            problem, hint = f"an IMAP address has no option {unknown[0]!r}", "the only one is ?ca=FILE"
        if problem:  # any more of the address might be a part of a password
            raise InputError(f"{parts.scheme}://…: {problem}. Hint: {hint}")
        port, ca = port or PORTS[parts.scheme], options["ca"][-1] if options else None
        return cls(parts.scheme == "imaps", user, parts.hostname or "", port, folder, ca)

    def is_same_account(self, other: "Address") -> bool:
        """Return whether another folder belongs to the same user on the same server."""
        return (self.user, self.host, self.port) == (other.user, other.host, other.port)

    def with_folder(self, folder: str) -> str:
        """Return the address of another folder of the account, with the option `ca` if this one has it."""
        option = f"?ca={quote(self.ca)}" if self.ca else ""
        return f"{replace(self, folder=folder)}{option}"

    def __str__(self) -> str:
        scheme = "imaps" if self.is_secure else "imap"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{quote(self.user, safe='')}@{host}{port}/{quote(self.folder)}"

    __repr__ = __str__


def quote_word(text: str) -> str:
    """Quote a text as one word of an IMAP command."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def encode_folder(folder: str) -> str:
    """Encode a folder's name for IMAP: modified UTF-7 (RFC 3501, 5.1.3), in quotes.

    >>> print(encode_folder('Gelöscht & "weg"'))
    "Gel&APY-scht &- \\"weg\\""
    """

    def encode(run: re.Match[str]) -> str:
        text = b64encode(run[0].encode("utf-16-be", "surrogatepass")).decode()
        return f"&{text.rstrip('=').replace('/', ',')}-"

    return quote_word(re.sub(r"[^ -~]+", encode, folder.replace("&", "&-")))


def decode_folder(name: str) -> str:
    """Decode a folder's name from IMAP; what cannot be decoded is left unchanged.

    >>> decode_folder("Gel&APY-scht &- weg")
    'Gelöscht & weg'
    """

    def decode(run: re.Match[str]) -> str:
        if not run[1]:
            return "&"
        try:
            return b64decode(run[1].replace(",", "/") + "=" * (-len(run[1]) % 4)).decode("utf-16-be")
        except ValueError:
            return run[0]

    return re.sub(r"&([A-Za-z0-9+,]*)-", decode, name)


class _Limits:
    """Limits on what a server sends: sizes that it announces are not trusted."""

    allowed = MAX_RESPONSE_BYTES

    def read(self, size: int) -> bytes:
        """Read bytes, of which no more are kept than a message may have; those beyond are skipped."""
        self._spend(size)
        kept = min(size, max_read_bytes())
        data: bytes = super().read(kept)  # type: ignore[misc]
        read, is_short = len(data), len(data) < kept
        while read < size and not is_short:
            skipped = len(super().read(min(size - read, MAX_SKIPPED_BYTES)))  # type: ignore[misc]
            read, is_short = read + skipped, skipped == 0
        if is_short:
            raise IMAP4.abort("it broke off within a message")
        return data

    def readline(self) -> bytes:
        """Read one line of a response."""
        line: bytes = super().readline()  # type: ignore[misc]
        self._spend(len(line))
        return line

    def _spend(self, size: int) -> None:
        """Subtract received bytes from those that are allowed; abort the connection if they are more."""
        self.allowed -= size
        if self.allowed < 0:
            raise IMAP4.abort("the server sends more than it was asked for")

    def leave(self) -> None:
        """Log out, if the connection still works."""
        self.allowed = MAX_RESPONSE_BYTES
        with suppress(OSError, IMAP4.error):
            self.logout()  # type: ignore[attr-defined]


class LimitedIMAP4(_Limits, IMAP4):
    """A connection without TLS, or with STARTTLS, under limits."""


class LimitedIMAP4TLS(_Limits, IMAP4_SSL):
    """A connection over TLS, under limits."""


Connection = LimitedIMAP4 | LimitedIMAP4TLS


def connect(address: Address, password: str) -> Connection:
    """Open a connection and log in; InputError if either fails, RefusedError if the password is rejected."""
    if any(character in password for character in "\r\n\0"):
        raise InputError(f"{address}: the password has a line end or a zero in it. Hint: set {PASSWORD} again")
    with translate_errors(address, password):
        connection = _open_connection(address)
        try:
            _log_in(connection, address, password)
        except BaseException:
            connection.leave()
            raise
    return connection


def has_capability(connection: Connection, name: str) -> bool:
    """Return whether the server offers an extension, now that the user is logged in."""
    connection.allowed = MAX_RESPONSE_BYTES
    kind, response = connection.capability()
    return kind == "OK" and name.encode() in b" ".join(row for row in response if row).upper().split()


def _open_connection(address: Address) -> Connection:
    """Connect, by TLS unless the server is on this machine; InputError for another that has none."""
    context = ssl.create_default_context(cafile=address.ca)
    if address.is_secure:
        return LimitedIMAP4TLS(address.host, address.port, ssl_context=context, timeout=TIMEOUT_SECONDS)
    connection = LimitedIMAP4(address.host, address.port, timeout=TIMEOUT_SECONDS)
    peer = connection.sock.getpeername()[0].partition("%")[0]
    is_local = ip_address(peer).is_loopback  # whoever can listen on this machine can read the mail itself
    if "STARTTLS" in connection.capabilities and not (is_local and "LOGINDISABLED" not in connection.capabilities):
        connection.starttls(ssl_context=context)
    elif not is_local:
        connection.leave()
        raise InputError(f"{address}: the server has no STARTTLS to encrypt the connection. Hint: use imaps://")
    return connection


def _log_in(connection: Connection, address: Address, password: str) -> None:
    """Log in; RefusedError, without the password, if the server rejects it."""
    try:
        if "AUTH=PLAIN" in connection.capabilities:
            connection.authenticate("PLAIN", lambda _: f"\0{address.user}\0{password}".encode())
        else:
            connection.login(quote_word(address.user), password)
    except IMAP4.abort:
        raise
    except (IMAP4.error, UnicodeEncodeError) as error:
        # an encoding error would show what could not be encoded: the password
        is_unicode = isinstance(error, UnicodeEncodeError)
        reason = "it accepts ASCII alone" if is_unicode else format_response(list(error.args))
        raise RefusedError(
            f"{address}: the server refused the login of {address.user}: {_redact(reason, address.user, password)}. "
            f"Hint: check {PASSWORD}, the keyring or what you typed"
        ) from None


@contextmanager
def translate_errors(address: Address, password: str = "") -> Iterator[None]:
    """Raise any error of a connection as an InputError that names the folder and never the password."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        reason = f"the server's certificate is not trusted: {error.verify_message}"
        raise InputError(f"{address}: {reason}. Hint: name its authority by ?ca=FILE or SSL_CERT_FILE") from None
    except TimeoutError:
        raise InputError(f"{address}: no answer within {TIMEOUT_SECONDS:g} seconds") from None
    except (IMAP4.error, OSError) as error:
        strerror = error.strerror if isinstance(error, OSError) else None
        reason = _redact(strerror or format_response(list(error.args)), address.user, password)
        raise InputError(f"{address}: the connection failed: {reason}") from None


def format_response(response: list[Any]) -> str:
    """Format a server's response on one line, without characters that cannot be printed."""
    parts = [part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part) for part in response if part]
    return "".join(c if c.isprintable() else " " for c in " ".join(parts))[:300] or "the response is empty"


def _redact(text: str, user: str, password: str) -> str:
    """Remove the password from a text: a server may repeat what it received."""
    if not password:
        return text
    login = f"\0{user}\0{password}"
    for secret in (password, b64encode(login.encode()).decode(), b64encode(password.encode()).decode()):
        text = text.replace(secret, "…")
    return text


def password_for(address: Address) -> str:
    """Return the password: environment, keyring (if installed; service `deciban`) or keyboard; InputError if none."""
    if password := os.environ.get(PASSWORD):
        return password
    if find_spec("keyring"):
        keyring = import_module("keyring")
        with suppress(keyring.errors.KeyringError):
            if kept := keyring.get_password("deciban", f"{address.user}@{address.host}"):
                return str(kept)
    from getpass import getpass

    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        raise InputError(
            f"{address}: a password is needed, and there is no terminal to ask for it. Hint: set {PASSWORD}, "
            f"or `keyring set deciban {address.user}@{address.host}`"
        ) from None
    return getpass(f"Password of {address.user} at {address.host}: ")


def ask_once(password: Password) -> Password:
    """Wrap a password function so that it is called once for each user and host."""
    passwords: dict[tuple[str, str], str] = {}

    def ask(address: Address) -> str:
        who = (address.user, address.host)
        if who not in passwords:
            passwords[who] = password(address)
        return passwords[who]

    return ask
