"""Files in chunks, decompressed if they are packed by gzip, and the mbox format: many messages in one file.

One chunk and one message are in memory at a time. A message of an mbox begins at a line "From …" that

- has a time and a year ("From joe@x.org Mon Jan  1 10:00:00 2024"), after an empty line or before a header field, or
- names somebody or something like a date, after an empty line *and* before a header field.

"From the shore we saw" in a message is neither. Content-Length is ignored: senders write it, and programs that cut or
convert a message leave it unchanged. One ">" is removed from ">From ", ">>From " and so on, as in mboxrd; in an mbox
with the quoting of mboxo, that is right except for messages that contained ">From " originally.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO

from deciban.errors import InputError
from deciban.mail.sources.file_recognition import refuse_archive

MBOX_CHUNK_BYTES = 1 << 18
"""Bytes read at a time."""

PACKED_CHUNK_BYTES = 1 << 14
"""Packed bytes unpacked at a time: a damaged chunk is unpacked again, byte by byte."""

GZIP = b"\x1f\x8b"

CONTEXT_BYTES = 4096
"""Bytes around a line that decide whether a message begins there; no "From " line is longer."""

_MONTHS = {
    name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), start=1)
}
_TIME = re.compile(rb"[ \t]\d{1,2}:\d\d(?::\d\d)?(?=[ \t])")
_YEAR = re.compile(rb"[ \t](?:19|20)\d\d\b")
_YEAR_AND_TIME = re.compile(rb"(?:19|20)\d\d[ \t]\d\d?:\d\d")
_SOMEBODY = re.compile(rb"From [ \t]*+\S*+[ \t]*+\r?\Z|[^\n]*(?:[ \t]\d{1,2}:\d\d|\b(?:19|20)\d\d\b)")
FIELD = re.compile(rb"(?:>?From [^\n]*\n)*[!-9;-~]{1,200}[ \t]*:")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MOZILLA = re.compile(rb"X-Mozilla-Status:[ \t]*([0-9A-Fa-f]{4})\b")
_DATE = re.compile(
    rb"\b([A-Z][a-z][a-z])[ \t]+(\d{1,2})[ \t]+(\d{1,2}):(\d\d)(?::(\d\d))?[ \t]+"
    rb"(?:(?:[A-Z]{1,5}|([+-]\d{4}))[ \t]+)*(\d{4})(?:[ \t]+([+-]\d{4}))?"
)


def read_chunks(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the bytes of a stream in chunks, unpacked if they begin as gzip; NotMailError for another archive."""
    chunks = _read_stream(stream, name)
    first = next(chunks, b"")
    if first.startswith(GZIP):
        chunks = _unpack_gzip(chain([first], chunks), name)
        first = next(chunks, b"")
    refuse_archive(first, name)
    if first:
        yield first
    yield from chunks


def _read_stream(stream: BinaryIO, name: str) -> Iterator[bytes]:
    at = 0
    try:
        while chunk := stream.read(MBOX_CHUNK_BYTES):
            yield chunk
            at += len(chunk)
    except OSError as error:
        raise InputError(f"{name}: cannot be read beyond byte {at}: {error.strerror or error}") from None


def _unpack_gzip(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Unpack gzip members, one after the other; of a damaged stream all bytes before the error are yielded."""
    at, unpacker = 0, zlib.decompressobj(31)
    size = PACKED_CHUNK_BYTES
    for packed in (chunk[start : start + size] for chunk in chunks for start in range(0, len(chunk), size)):
        left = packed
        while left:
            if unpacker.eof:
                left = left.lstrip(b"\0")  # tapes pad with zeros
                if not left:
                    break
                if left[:1] != GZIP[:1]:
                    return  # as gzip does: bytes after the last member are ignored
                unpacker = zlib.decompressobj(31)
            try:
                yield from _unpack_salvaging(unpacker, left)
            except zlib.error as error:
                raise _damage_error(name, f"is damaged ({error}) within {size} bytes of byte {at}") from None
            left = unpacker.unused_data if unpacker.eof else b""
        at += len(packed)
    if not unpacker.eof:
        raise _damage_error(name, f"ends early, at byte {at}")


def _damage_error(name: str, how: str) -> InputError:
    return InputError(
        f"{name}: the gzip data {how}; what comes before was read. "
        "Hint: fetch or pack the file again; a message learned twice counts once"
    )


def _unpack_salvaging(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Unpack to chunks, none empty; of damaged bytes, yield what those before unpack to, then raise zlib's error."""
    before, yielded = unpacker.copy(), 0
    try:
        for chunk in _unpack(unpacker, packed):
            yield chunk
            yielded += len(chunk)
    except zlib.error:
        for at in range(len(packed)):
            for chunk in _unpack(before, packed[at : at + 1]):
                if yielded < len(chunk):
                    yield chunk[yielded:]
                yielded = max(0, yielded - len(chunk))
        raise


def _unpack(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """Unpack at most a chunk at a time: a few packed bytes may unpack to very many."""
    while True:
        chunk = unpacker.decompress(packed, MBOX_CHUNK_BYTES)
        if chunk:
            yield chunk
        packed = unpacker.unconsumed_tail
        if unpacker.eof or (not packed and len(chunk) < MBOX_CHUNK_BYTES):
            return


def stop_at_error(chunks: Iterator[bytes], errors: list[InputError]) -> Iterator[bytes]:
    """Yield chunks until they end or raise an InputError, which is appended to `errors`."""
    try:
        yield from chunks
    except InputError as error:
        errors.append(error)


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
    return _has_date(start[:end]) or bool(FIELD.match(start, end + 1))


def split_mbox(chunks: Iterator[bytes], limit: int) -> Iterator[MboxMessage]:
    """Yield the messages of an mbox, each up to a limit of bytes; a chunk and a message are in memory at a time.

    >>> [message.raw for message in split_mbox(iter([b"From a\\nTo: b\\n\\n>From c\\n\\nFrom d\\nTo: e\\n"]), 1000)]
    [b'To: b\\n\\nFrom c\\n', b'To: e\\n']
    """
    window = _Window(chunks)
    line = window.take_line() if window.skip_to_start() else b""
    while window.fill(1):
        raw = window.take_message(limit)
        if line or raw.strip():
            yield MboxMessage(line, _QUOTED.sub(rb"\1", raw) if b">From " in raw else raw)
        line = window.take_line()
    if line:
        yield MboxMessage(line, b"")


@dataclass(slots=True)
class _Window:
    """The part of an mbox that was read and not yielded yet."""

    chunks: Iterator[bytes]
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False

    def fill(self, size: int) -> bool:
        """Read chunks until there are so many bytes or the chunks end; return whether there are any."""
        while len(self.data) < size and not self.ended:
            chunk = next(self.chunks, None)
            self.ended = chunk is None
            self.data += chunk or b""
        return bool(self.data)

    def skip_to_start(self) -> bool:
        """Skip to the "From " line at the start of the file; return whether there is one."""
        self.fill(CONTEXT_BYTES)
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
            if len(self.data) > limit + CONTEXT_BYTES:  # enough: the remainder of the message is skipped
                kept = kept or bytes(self.data[:limit])
                dropped = len(self.data) - CONTEXT_BYTES
                del self.data[:dropped]
                searched = max(0, searched - dropped)
            self.fill(len(self.data) + 1)
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
    header = bool(FIELD.match(data, end + 1, end + CONTEXT_BYTES))
    if _has_date(line):
        return empty or header
    return empty and header and bool(_SOMEBODY.match(line))


def _has_date(line: bytes) -> bool:
    """Return whether a line has a time and, after or just before it, a year; two steps scan the line once each."""
    time = _TIME.search(line)
    return bool((time and _YEAR.search(line, time.end())) or _YEAR_AND_TIME.search(line))


def strip_separator(raw: bytearray | bytes) -> bytes:
    """Remove the one empty line that an mbox puts after a message, if it is there."""
    if len(raw) <= 2 and not raw.strip():
        return b""
    end = len(raw) - (2 if raw.endswith(b"\r\n\r\n") else 1 if raw.endswith(b"\n\n") else 0)
    return bytes(raw[:end])


def parse_time(line: bytes) -> float | None:
    """Return the time of delivery in a "From " line, in seconds since 1970; None if there is none.

    It is universal time if it has no zone (RFC 4155).

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


def is_trashed(raw: bytes) -> bool:
    """Return whether Thunderbird marked a message as moved or deleted.

    It keeps such messages until the mbox is compacted, and notes it in the first line; elsewhere that field may be
    the sender's.

    >>> is_trashed(b"X-Mozilla-Status: 0009\\nSubject: moved to Junk\\n\\n"), is_trashed(b"Status: RO\\n\\n")
    (True, False)
    """
    found = _MOZILLA.match(raw)
    return found is not None and bool(int(found[1], 16) & 8)
