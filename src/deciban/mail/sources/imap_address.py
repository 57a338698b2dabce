"""Addresses of IMAP folders: `imaps://user@host:port/Folder`, and how folder names are spelt on the line.

An address never has a password in it: it would be seen in lists of processes and in logs.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from urllib.parse import parse_qs, quote, unquote, urlsplit

from deciban.errors import InputError

FORM = "imaps://user@host/Folder"


@dataclass(frozen=True, slots=True)
class Address:
    """A folder on a server, and how it is reached: `ca` is a file of certificates to trust instead of the system's.

    >>> Address.of("imaps://joe%40x.org@mail.x.org/Lists/Old%20news")
    imaps://joe%40x.org@mail.x.org/Lists/Old%20news
    """

    secure: bool
    user: str
    host: str
    port: int
    folder: str
    ca: str | None = None

    @classmethod
    def of(cls, text: str) -> Address:
        """An address, checked; the complaint never repeats what may be a password."""
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise InputError(f"the IMAP address cannot be read. Hint: write it as {FORM}") from None
        shown = f"{parts.scheme}://…"  # any more of it might be a part of a password
        if parts.password is not None:
            raise InputError(
                f"{shown}: an address with a password in it is refused, as others can see it. "
                "Hint: leave it out, and set DECIBAN_IMAP_PASSWORD, or be asked for it"
            )
        if parts.scheme not in ("imap", "imaps") or not parts.username or not parts.hostname:
            raise InputError(f"{shown}: an IMAP address needs a user and a host. Hint: write it as {FORM}")
        user, folder = unquote(parts.username), unquote(parts.path.removeprefix("/")) or "INBOX"
        if not (user + folder).isprintable():
            raise InputError(
                f"{shown}: the user or the folder has control characters in it. Hint: write it as {FORM}"
            )
        secure = parts.scheme == "imaps"
        return cls(secure, user, parts.hostname, port or (993 if secure else 143), folder, _ca_of(parts.query, shown))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == (993 if self.secure else 143) else f":{self.port}"
        scheme = "imaps" if self.secure else "imap"
        return f"{scheme}://{quote(self.user, safe='')}@{host}{port}/{quote(self.folder)}"


def _ca_of(query: str, shown: str) -> str | None:
    options = parse_qs(query)
    unknown = [name for name in options if name != "ca"]
    if unknown:
        raise InputError(f"{shown}: an IMAP address has no option {unknown[0]!r}. Hint: the only one is ?ca=FILE")
    return options["ca"][-1] if options else None


def on_the_line(folder: str) -> str:
    """A folder's name as IMAP spells it: modified UTF-7 (RFC 3501, 5.1.3), in quotes.

    >>> print(on_the_line('Gelöscht & "weg"'))
    "Gel&APY-scht &- \\"weg\\""
    """
    spelt = re.sub(r"[^ -~]+", lambda run: f"&{_base64(run[0])}-", folder.replace("&", "&-"))
    return quoted(spelt)


def quoted(text: str) -> str:
    """A text as one word of IMAP's."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def off_the_line(name: str) -> str:
    """A folder's name as people spell it; what cannot be read is left as it is.

    >>> off_the_line("Gel&APY-scht &- weg")
    'Gelöscht & weg'
    """

    def plain(run: re.Match[str]) -> str:
        if not run[1]:
            return "&"
        packed = run[1].replace(",", "/") + "=" * (-len(run[1]) % 4)
        try:
            return b64decode(packed).decode("utf-16-be")
        except ValueError:
            return run[0]

    return re.sub(r"&([A-Za-z0-9+,]*)-", plain, name)


def _base64(run: str) -> str:
    return b64encode(run.encode("utf-16-be", "surrogatepass")).decode().rstrip("=").replace("/", ",")
