"""The protocol that `spamc` speaks (SPAMC/1.2 to 1.5): requests read from bytes, answers written as bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

CHECKS: Final = frozenset({"CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "PROCESS", "HEADERS"})
"""Commands that want a message judged."""
GIVING_BACK: Final = frozenset({"PROCESS", "HEADERS"})
"""Those whose answer takes the place of the message."""
BODILESS: Final = frozenset({"PING", "SKIP"})

OLDEST: Final = (1, 2)
MANY_HEADERS: Final = (1, 3)
"""Since this version an answer may have several headers."""
BLANK_AFTER_PING: Final = (1, 5)
"""Since this version a PING ends with a blank line, as all requests do."""

LONGEST_HEAD: Final = 16_384
"""Bytes that the first line and the headers of a request may have."""

_FIRST = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d{1,3})\.(\d{1,3})[ \t]*")
_LENGTH = re.compile(rb"\d{1,18}")
_CLASSES: Final = {b"spam": "spam", b"ham": "ham"}


class Code(IntEnum):
    """What an answer begins with: the exit codes of sysexits.h, and two of SpamAssassin's own."""

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
    """What a client wants; `length` is that of the message as it comes, None where its end is that of the stream."""

    command: str
    version: tuple[int, int]
    length: int | None = None
    compressed: bool = False
    label: str | None = None
    sets: bool = False
    removes: bool = False

    @property
    def has_body(self) -> bool:
        """Whether a message follows."""
        return self.command not in BODILESS


def first_line(line: bytes) -> tuple[str, tuple[int, int]]:
    r"""Command and version.

    >>> first_line(b"CHECK SPAMC/1.5\r\n")
    ('CHECK', (1, 5))
    """
    said = _FIRST.fullmatch(line.rstrip(b"\r\n"))
    if not said:
        raise Refusal(Code.EX_PROTOCOL, f"{_shown(line)} is no request such as 'CHECK SPAMC/1.5'")
    command, version = said[1].decode(), (int(said[2]), int(said[3]))
    if command not in CHECKS | BODILESS | {"TELL"}:
        known = ", ".join(sorted(CHECKS | BODILESS | {"TELL"}))
        raise Refusal(Code.EX_PROTOCOL, f"command {command} is not known; these are: {known}")
    if version < OLDEST:
        raise Refusal(
            Code.EX_PROTOCOL, f"protocol {said[2].decode()}.{said[3].decode()} is too old; 1.2 is the oldest"
        )
    return command, version


def request_of(command: str, version: tuple[int, int], lines: Iterable[bytes]) -> Request:
    r"""The whole request; headers that are not known are passed over.

    >>> request_of("TELL", (1, 5), [b"Message-class: spam\r\n", b"Set: local\r\n", b"Content-length: 7\r\n"])
    Request(command='TELL', version=(1, 5), length=7, compressed=False, label='spam', sets=True, removes=False)
    """
    headers = _headers(lines)
    asked = Request(
        command, version, _length(headers.get(b"content-length")), _is_compressed(headers.get(b"compress")),
        _CLASSES.get(headers.get(b"message-class", b"").lower()),
        b"local" in headers.get(b"set", b"").lower(), b"local" in headers.get(b"remove", b"").lower(),
    )  # fmt: skip
    if command == "TELL":
        _refuse_contradiction(asked)
    return asked


def _headers(lines: Iterable[bytes]) -> dict[bytes, bytes]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise Refusal(Code.EX_PROTOCOL, f"{_shown(line)} is no header; they are written 'Name: value'")
        headers[name.strip().lower()] = value.strip()
    return headers


def _length(value: bytes | None) -> int | None:
    if value is None:
        return None
    if not _LENGTH.fullmatch(value):
        raise Refusal(Code.EX_PROTOCOL, f"Content-length {_shown(value)} is no number of bytes")
    return int(value)


def _is_compressed(value: bytes | None) -> bool:
    if value is not None and value.lower() != b"zlib":
        raise Refusal(Code.EX_PROTOCOL, f"Compress {_shown(value)} is not known; zlib is")
    return value is not None


def _refuse_contradiction(asked: Request) -> None:
    if asked.sets and asked.removes:
        raise Refusal(Code.EX_USAGE, "a message cannot be learned and forgotten at once: Set or Remove, not both")
    if asked.sets and asked.label is None:
        raise Refusal(Code.EX_USAGE, "to learn a message, its class is needed: 'Message-class: spam' or 'ham'")


def inflated(data: bytes, most: int) -> bytes:
    """What was compressed, of which no more than so many bytes are ever made."""
    unpacking = zlib.decompressobj()
    try:
        message = unpacking.decompress(data, most + 1)
    except zlib.error as error:
        raise Refusal(Code.EX_DATAERR, f"what should be zlib data is not: {error}") from None
    if len(message) > most:
        raise too_big("the message, once unpacked, is", most)
    if not unpacking.eof:
        raise Refusal(Code.EX_DATAERR, "the zlib data end early")
    return message


def too_big(what: str, most: int) -> Refusal:
    """What to say of a message above the bound."""
    return Refusal(Code.EX_TOOBIG, f"{what} longer than {most} bytes, which is the bound here")


def answer(version: tuple[int, int], headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    r"""An answer that all went well; clients of old know only one header.

    >>> answer((1, 5), {"Spam": "False ; 1.0 / 5.0"}, b"hi")
    b'SPAMD/1.1 0 EX_OK\r\nContent-length: 2\r\nSpam: False ; 1.0 / 5.0\r\n\r\nhi'
    """
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if body is not None and version >= MANY_HEADERS:
        lines.insert(0, f"Content-length: {len(body)}")
    head = "\r\n".join(["SPAMD/1.1 0 EX_OK", *lines, "", ""]).encode()
    return head + body if body else head


def refused(refusal: Refusal) -> bytes:
    r"""An answer that something did not.

    >>> refused(Refusal(Code.EX_TOOBIG, "too much"))
    b'SPAMD/1.1 98 EX_TOOBIG: too much\r\n'
    """
    reason = " ".join(refusal.reason.split())[:400].encode("ascii", "replace").decode()
    return f"SPAMD/1.1 {refusal.code.value} {refusal.code.name}: {reason}\r\n".encode()


PONG: Final = b"SPAMD/1.5 0 PONG\r\n"


def _shown(line: bytes) -> str:
    """A client's bytes, as they may be told: printable and short."""
    return ascii(line[:40].rstrip(b"\r\n").decode("latin-1"))
