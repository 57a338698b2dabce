"""The mbox format: many messages in one file, each after a "From " line.

A message begins at a line "From …" that

- has a time and a year ("From joe@x.org Mon Jan  1 10:00:00 2024"), after an empty line or before a header field, or
- names somebody or something like a date, after an empty line *and* before a header field.

"From the shore we saw" in a message is neither. Content-Length is ignored: senders write it, and programs that cut or
convert a message leave it unchanged. One ">" is removed from ">From ", ">>From " and so on, as in mboxrd; in an mbox
with the quoting of mboxo, that is right except for messages that contained ">From " originally.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from deciban.errors import InputError

CONTEXT_BYTES = 4096
"""Bytes around a line that decide whether a message begins there; no "From " line is longer."""

_MONTHS = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_TIME = re.compile(rb"[ \t]\d{1,2}:\d\d(?::\d\d)?(?=[ \t])")
_YEAR = re.compile(rb"[ \t](?:19|20)\d\d\b")
_YEAR_AND_TIME = re.compile(rb"(?:19|20)\d\d[ \t]\d\d?:\d\d")
_SOMEBODY = re.compile(rb"From [ \t]*+\S*+[ \t]*+\r?\Z|[^\n]*(?:[ \t]\d{1,2}:\d\d|\b(?:19|20)\d\d\b)")
_FIELD = re.compile(rb"(?:>?From [^\n]*\n)*[!-9;-~]{1,200}[ \t]*:")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MOZILLA = re.compile(rb"X-Mozilla-Status:[ \t]*([0-9A-Fa-f]{4})\b")
_DATE = re.compile(
    rb"\b([A-Z][a-z][a-z])[ \t]+(\d{1,2})[ \t]+(\d{1,2}):(\d\d)(?::(\d\d))?[ \t]+"
    rb"(?:(?:[A-Z]{1,5}|([+-]\d{4}))[ \t]+)*(\d{4})(?:[ \t]+([+-]\d{4}))?"
)


@dataclass(frozen=True, slots=True)
class MboxMessage:
    """A message of an mbox, and the "From " line before it; the line is empty for bytes before the first one."""

    line: bytes
    raw: bytes


def is_mbox(start: bytes) -> bool:
    """Return whether a file with this beginning is an mbox: its first line that is not empty is a "From " line.

    >>> is_mbox(b"From joe Mon Jan  1 10:00:00 2024\\nSubject: one"), is_mbox(b"From the shore\\nwe saw")
    (True, False)
    """
    start = start[:CONTEXT_BYTES].lstrip(b"\xef\xbb\xbf\r\n")
    end = start.find(b"\n")
    if end < 0 or not start.startswith(b"From "):
        return False
    return _has_date(start[:end]) or bool(_FIELD.match(start, end + 1))


def split_mbox(chunks: Iterator[bytes], limit: int) -> Iterator[MboxMessage]:
    """Yield the messages of an mbox, each up to a limit of bytes; a chunk and a message are in memory at a time.

    If the chunks end in an error, the messages before it are yielded first.

    >>> [message.raw for message in split_mbox(iter([b"From a\\nTo: b\\n\\n>From c\\n\\nFrom d\\nTo: e\\n"]), 1000)]
    [b'To: b\\n\\nFrom c\\n', b'To: e\\n']
    """
    window = _Window(chunks)
    line = window.take_line() if window.skip_to_start() else b""
    while window.has_data():
        raw = window.take_message(limit)
        if line or raw.strip():
            yield MboxMessage(line, _QUOTED.sub(rb"\1", raw) if b">From " in raw else raw)
        line = window.take_line()
    if line:
        yield MboxMessage(line, b"")
    if window.trouble:
        raise window.trouble


@dataclass(slots=True)
class _Window:
    """The part of an mbox that was read and not yielded yet."""

    chunks: Iterator[bytes]
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False
    trouble: InputError | None = None

    def has_data(self) -> bool:
        while not self.data and not self.ended:
            self.fill()
        return bool(self.data)

    def fill(self) -> None:
        """Read one chunk more; an error is kept until the data before it are yielded."""
        try:
            self.data += next(self.chunks)
        except StopIteration:
            self.ended = True
        except InputError as error:
            self.ended, self.trouble = True, error

    def skip_to_start(self) -> bool:
        """Skip to the "From " line at the start of the file; return whether there is one."""
        while len(self.data) < CONTEXT_BYTES and not self.ended:
            self.fill()
        if not is_mbox(bytes(self.data[:CONTEXT_BYTES])):
            return False
        del self.data[: self.data.index(b"From ")]
        return True

    def take_line(self) -> bytes:
        """Take the "From " line at the start of the data."""
        end = self.data.find(b"\n") + 1 or len(self.data)
        line = bytes(self.data[:end])
        del self.data[:end]
        return line.rstrip(b"\r\n")

    def take_message(self, limit: int) -> bytes:
        """Take the data before the next start of a message, without the empty line that separates messages."""
        kept, searched = b"", 0
        while True:
            at, searched = self._find_start(searched)
            if at is not None or self.ended:
                break
            if len(self.data) > limit + CONTEXT_BYTES:  # enough: the rest of the message is skipped
                kept = kept or bytes(self.data[:limit])
                dropped = len(self.data) - CONTEXT_BYTES
                del self.data[:dropped]
                searched = max(0, searched - dropped)
            self.fill()
        end = len(self.data) if at is None else at
        raw = kept or strip_separator(self.data[: min(end, limit + CONTEXT_BYTES)])[:limit]
        del self.data[:end]
        return raw

    def _find_start(self, searched: int) -> tuple[int | None, int]:
        """Return the offset of the next start of a message, and the offset up to which there is certainly none."""
        while (newline := self.data.find(b"\nFrom ", searched)) >= 0:
            if not self.ended and len(self.data) < newline + CONTEXT_BYTES:
                return None, newline
            if _is_start(self.data, newline + 1):
                return newline + 1, newline
            searched = newline + 1
        return None, max(searched, len(self.data) - 5)


def _is_start(data: bytearray, at: int) -> bool:
    """Return whether the line "From …" at this offset begins a message."""
    end = data.find(b"\n", at, at + CONTEXT_BYTES)
    if end < 0:
        return False
    line = bytes(data[at:end])
    before = bytes(data[max(0, at - 3) : at - 1])  # the bytes before the newline that ends the previous line
    empty = at == 1 or before.endswith(b"\n") or before in (b"\n\r", b"\r")
    header = bool(_FIELD.match(data, end + 1, end + CONTEXT_BYTES))
    if _has_date(line):
        return empty or header
    return empty and header and bool(_SOMEBODY.match(line))


def _has_date(line: bytes) -> bool:
    """Return whether a line has a time and, after or just before it, a year; two steps scan the line once each."""
    time = _TIME.search(line)
    return bool((time and _YEAR.search(line, time.end())) or _YEAR_AND_TIME.search(line))


def strip_separator(raw: bytearray | bytes) -> bytes:
    """Remove the one empty line that an mbox puts after a message."""
    if len(raw) <= 2 and not raw.strip():
        return b""
    end = len(raw) - (2 if raw.endswith(b"\r\n\r\n") else 1 if raw.endswith(b"\n\n") else 0)
    return bytes(raw[:end])


def parse_time(line: bytes) -> float | None:
    """Return the time of delivery in a "From " line; universal time if it has no zone (RFC 4155).

    >>> parse_time(b"From joe@x.org Thu Jan  1 00:01:40 1970"), parse_time(b"From joe")
    (100.0, None)
    """
    from calendar import timegm  # slow to load, and not needed for one message on standard input

    found = _DATE.search(line)
    if not found or found[1] not in _MONTHS:
        return None
    day, hour, minute, year = map(int, found.group(2, 3, 4, 7))
    if not (1 <= day <= 31 and hour < 24 and minute < 60 and year >= 1970):
        return None
    seconds = timegm((year, _MONTHS[found[1]], day, hour, minute, min(int(found[5] or 0), 59)))
    zone = int(found[6] or found[8] or 0)
    return float(seconds - (abs(zone) // 100 * 3600 + abs(zone) % 100 * 60) * (1 if zone > 0 else -1))


def has_header(raw: bytes) -> bool:
    """Return whether bytes begin with a header field."""
    return bool(_FIELD.match(raw))


def is_trashed(raw: bytes) -> bool:
    """Return whether Thunderbird marked a message as moved or deleted.

    It keeps such messages until the mbox is compacted, and notes it in the first line; elsewhere that field may be
    the sender's.

    >>> is_trashed(b"X-Mozilla-Status: 0009\\nSubject: moved to Junk\\n\\n"), is_trashed(b"Status: RO\\n\\n")
    (True, False)
    """
    found = _MOZILLA.match(raw)
    return found is not None and bool(int(found[1], 16) & 8)
