"""Addresses of databases, `postgresql://user:password@host/database`, whose secrets appear in no message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from deciban.errors import InputError, MissingExtraError

URL_START = re.compile(r"([A-Za-z][A-Za-z0-9.-]*)(?:\+[A-Za-z0-9_.-]*)?://")
"""The beginning of an address: its scheme, and a driver after `+` as SQLAlchemy writes it, which is ignored."""

DIALECTS: Mapping[str, str] = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "duckdb": "duckdb",
    "sqlite": "sqlite",
}
"""The dialect of SQL of each scheme."""

SECRET_PARAMETERS = ("password", "sslpassword")
"""The parameters of a connection that appear in no message."""

EXAMPLES = "postgresql://user@host/database, duckdb:///FILE or sqlite:///FILE"


@dataclass(frozen=True)
class Address:
    """The address of a database: a server's with the parameters of a connection, or a file's with its path."""

    scheme: str
    parameters: Mapping[str, Any] = field(default_factory=dict, repr=False)
    path: str | None = None

    @property
    def dialect(self) -> str:
        """The dialect of SQL that the database reads."""
        return DIALECTS[self.scheme]

    @property
    def name(self) -> str:
        """The address without user, password and options, as it may stand in a message."""
        if self.path is not None:
            return f"{self.scheme}:///{self.path}"
        host, port = self.parameters.get("host", ""), self.parameters.get("port")
        host = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{host}{f':{port}' if port else ''}/{self.parameters.get('dbname', '')}"

    def hide_secrets(self, text: str) -> str:
        """Return the text of an error, or nothing of it where it quotes a password."""
        secrets = [str(self.parameters[name]) for name in SECRET_PARAMETERS if self.parameters.get(name)]
        return "the message is not shown, as it quotes the password" if any(s in text for s in secrets) else text


def find_scheme(source: Any) -> str | None:
    """Return the scheme of an address, in lower case; None where the source is no address of a database.

    An address of another kind that has a user's name or a password is an InputError: a message on a missing file
    would quote it.
    """
    found = URL_START.match(source) if isinstance(source, str) else None
    if found is None:
        return None
    scheme = found[1].lower()
    if scheme in DIALECTS:
        return scheme
    if "@" in source:
        raise InputError(f"{scheme}:// is the address of no database that can be read. Hint: {EXAMPLES}")
    return None


def parse_address(source: str) -> Address:
    """Parse an address; no error quotes it, since any part may belong to a password."""
    scheme = find_scheme(source)
    assert scheme is not None
    if any(ord(character) < 32 or ord(character) == 127 for character in source):
        raise _address_error(scheme, "a control character")
    try:
        parts = urlsplit(scheme + source[source.index("://") :])
        _check_marks(parts)
        parse = _parse_server_address if DIALECTS[scheme] == "postgres" else _parse_file_address
        return parse(scheme, parts)
    except InputError:
        raise
    except ValueError:
        raise _address_error(scheme, "a part that cannot be read") from None


def _address_error(scheme: str, what: str) -> InputError:
    """Return the error about an address that has something, without quoting it."""
    return InputError(
        f"the address {scheme}://… has {what}. Hint: within a user's name or a password, characters such as "
        f"@ : / ? # [ ] % are written %40 %3A %2F %3F %23 %5B %5D %25"
    )


def _check_marks(parts: SplitResult) -> None:
    """Refuse an address in which a mark within the password may have been taken for the end of it."""
    rest = parts.path + parts.query + parts.fragment
    if parts.netloc.count("@") > 1 or "@" in rest or parts.fragment:
        raise _address_error(parts.scheme, "a mark (@ / ? #) at a place where it has another meaning")
    user, _, host = parts.netloc.rpartition("@")
    for text in (user, host, parts.path):
        if re.search("%(?![0-9A-Fa-f]{2})", text):
            raise _address_error(parts.scheme, "a % without two hexadecimal digits after it")


def _parse_file_address(scheme: str, parts: SplitResult) -> Address:
    """Return the address of a database in a file, scheme:///FILE; InputError for another."""
    path = unquote(parts.path[1:], errors="strict")
    if parts.netloc or parts.query or not path:
        raise InputError(f"{scheme}:// is followed by a slash and a path. Hint: {scheme}:///FILE")
    return Address(scheme, path=path)


def _parse_server_address(scheme: str, parts: SplitResult) -> Address:
    """Return the address of a server's database, with the password of the keyring if it names one."""
    given = {
        "user": parts.username, "password": parts.password, "host": parts.hostname,
        "dbname": parts.path.removeprefix("/"),
    }  # fmt: skip
    parameters: dict[str, Any] = {name: unquote(text, errors="strict") for name, text in given.items() if text}
    if parts.port is not None:
        parameters["port"] = parts.port
    parameters |= dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    service = parameters.pop("keyring", None)
    if service is not None and "password" not in parameters:
        parameters["password"] = _read_keyring(service, parameters.get("user", ""))
    return Address(scheme, parameters)


def _read_keyring(service: str, user: str) -> str:
    """Return the password that the system's keyring keeps for a service and a user."""
    try:
        import keyring
    except ImportError:
        raise MissingExtraError(
            "?keyring= in an address needs the package keyring. Hint: pip install keyring"
        ) from None
    try:
        password = keyring.get_password(service, user)
    except Exception as error:  # each backend has errors of its own
        raise InputError(f"the keyring cannot be read: {type(error).__name__}") from None
    if password is None:
        raise InputError(
            f"the keyring has no password for the service {service!r} and the user {user!r}. "
            f"Hint: keyring set SERVICE USER"
        )
    return password
