"""The protocol of `spamc` (SPAMC/1.2 to 1.5): requests parsed from bytes, answers formatted as bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

CHECK_COMMANDS: Final = frozenset({"CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS"})
"""Commands that ask for the verdict on a message."""

RETURNING_COMMANDS: Final = frozenset({"PROCESS", "HEADERS"})
"""Commands whose answer replaces the message."""

BODILESS_COMMANDS: Final = frozenset({"PING", "SKIP"})

MIN_VERSION: Final = (1, 2)
SEVERAL_HEADERS_VERSION: Final = (1, 3)
"""Since this version an answer may have several headers."""

BLANK_LINE_VERSION: Final = (1, 5)
"""Since this version a PING ends with a blank line, as all requests do."""

MAX_HEAD_BYTES: Final = 16_384
"""Bytes of the first line and the headers of a request."""

_FIRST_LINE = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d{1,3})\.(\d{1,3})[ \t]*")
_LENGTH = re.compile(rb"\d{1,18}")
_CLASSES: Final = {b"spam": "spam", b"ham": "ham"}


class Code(IntEnum):
    """The code of an answer: the exit codes of sysexits.h, and two of SpamAssassin's own."""

    EX_OK = 0
    EX_USAGE = 64
    EX_DATAERR = 65
    EX_UNAVAILABLE = 69
    EX_SOFTWARE = 70
    EX_IOERR = 74
    EX_TEMPFAIL = 75
    EX_PROTOCOL = 76
    EX_TIMEOUT = 79
    EX_TOOBIG = 98


class Refusal(Exception):
    """A request that is answered with a code and the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a client; `length` is that of the message as sent, None where it ends with the stream."""

    command: str
    version: tuple[int, int]
    length: int | None = None
    compressed: bool = False
    label: str | None = None
    sets: bool = False
    removes: bool = False

    @property
    def has_body(self) -> bool:
        """Return whether a message follows."""
        return self.command not in BODILESS_COMMANDS


def parse_first_line(line: bytes) -> tuple[str, tuple[int, int]]:
    r"""Parse the command and the version.

    >>> parse_first_line(b"CHECK SPAMC/1.5\r\n")
    ('CHECK', (1, 5))
    """
    found = _FIRST_LINE.fullmatch(line.rstrip(b"\r\n"))
    if not found:
        raise Refusal(Code.EX_PROTOCOL, f"{_format_bytes(line)} is no request such as 'CHECK SPAMC/1.5'")
    command, version = found[1].decode(), (int(found[2]), int(found[3]))
    if command not in CHECK_COMMANDS | BODILESS_COMMANDS | {"TELL"}:
        known = ", ".join(sorted(CHECK_COMMANDS | BODILESS_COMMANDS | {"TELL"}))
        raise Refusal(Code.EX_PROTOCOL, f"command {command} is not known; these are: {known}")
    if version < MIN_VERSION:
        raise Refusal(
            Code.EX_PROTOCOL, f"protocol {found[2].decode()}.{found[3].decode()} is too old; 1.2 is the oldest"
        )
    return command, version


def parse_request(command: str, version: tuple[int, int], lines: Iterable[bytes]) -> Request:
    r"""Parse the headers of a request; those that are not known are ignored.

    >>> parse_request("TELL", (1, 5), [b"Message-class: spam\r\n", b"Set: local\r\n", b"Content-length: 7\r\n"])
    Request(command='TELL', version=(1, 5), length=7, compressed=False, label='spam', sets=True, removes=False)
    """
    headers = _parse_headers(lines)
    request = Request(
        command, version, _parse_length(headers.get(b"content-length")), _is_compressed(headers.get(b"compress")),
        _CLASSES.get(headers.get(b"message-class", b"").lower()),
        b"local" in headers.get(b"set", b"").lower(), b"local" in headers.get(b"remove", b"").lower(),
    )  # fmt: skip
    if command == "TELL":
        _check_tell(request)
    return request


def _parse_headers(lines: Iterable[bytes]) -> dict[bytes, bytes]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise Refusal(Code.EX_PROTOCOL, f"{_format_bytes(line)} is no header; they are written 'Name: value'")
        headers[name.strip().lower()] = value.strip()
    return headers


def _parse_length(value: bytes | None) -> int | None:
    if value is None:
        return None
    if not _LENGTH.fullmatch(value):
        raise Refusal(Code.EX_PROTOCOL, f"Content-length {_format_bytes(value)} is no number of bytes")
    return int(value)


def _is_compressed(value: bytes | None) -> bool:
    if value is not None and value.lower() != b"zlib":
        raise Refusal(Code.EX_PROTOCOL, f"Compress {_format_bytes(value)} is not known; zlib is")
    return value is not None


def _check_tell(request: Request) -> None:
    if request.sets and request.removes:
        raise Refusal(Code.EX_USAGE, "a message cannot be learned and forgotten at once: Set or Remove, not both")
    if request.sets and request.label is None:
        raise Refusal(Code.EX_USAGE, "to learn a message, its class is needed: 'Message-class: spam' or 'ham'")


def decompress(data: bytes, limit: int) -> bytes:
    """Decompress data, of which no more than `limit` bytes are ever made."""
    decompressor = zlib.decompressobj()
    try:
        message = decompressor.decompress(data, limit + 1)
    except zlib.error as error:
        raise Refusal(Code.EX_DATAERR, f"what should be zlib data is not: {error}") from None
    if len(message) > limit:
        raise refuse_size("the message, once decompressed, is", limit)
    if not decompressor.eof:
        raise Refusal(Code.EX_DATAERR, "the zlib data end early")
    return message


def refuse_size(what: str, limit: int) -> Refusal:
    """Return the refusal of a message above the limit."""
    return Refusal(Code.EX_TOOBIG, f"{what} longer than {limit} bytes, which is the limit here")


def format_answer(version: tuple[int, int], headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    r"""Format an answer of success; old clients read only one header.

    >>> format_answer((1, 5), {"Spam": "False ; 1.0 / 5.0"}, b"hi")
    b'SPAMD/1.1 0 EX_OK\r\nContent-length: 2\r\nSpam: False ; 1.0 / 5.0\r\n\r\nhi'
    """
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if body is not None and version >= SEVERAL_HEADERS_VERSION:
        lines.insert(0, f"Content-length: {len(body)}")
    head = "\r\n".join(["SPAMD/1.1 0 EX_OK", *lines, "", ""]).encode()
    return head + body if body else head


def format_refusal(refusal: Refusal) -> bytes:
    r"""Format the answer to a refused request.

    >>> format_refusal(Refusal(Code.EX_TOOBIG, "too much"))
    b'SPAMD/1.1 98 EX_TOOBIG: too much\r\n'
    """
    reason = " ".join(refusal.reason.split())[:400].encode("ascii", "replace").decode()
    return f"SPAMD/1.1 {refusal.code.value} {refusal.code.name}: {reason}\r\n".encode()


PONG: Final = b"SPAMD/1.5 0 PONG\r\n"


def _format_bytes(line: bytes) -> str:
    """Format a client's bytes for a message: printable and short."""
    return ascii(line[:40].rstrip(b"\r\n").decode("latin-1"))
