"""Boxes of many messages in one file: where each begins, told by its "From " line and by nothing else.

A message begins at a line "From …" that

- has a time and a year ("From joe@x.org Mon Jan  1 10:00:00 2024"), after an empty line or before a header field, or
- names somebody or something like a date, after an empty line *and* before a header field.

"From the shore we saw" in a letter is neither. Content-Length is not heeded: senders write it, and programs that cut
or convert a message leave it as it was. One ">" is taken from ">From ", ">>From " and so on, as mboxrd put it there;
where a box quotes as mboxo does, that is right but for letters that had ">From " to begin with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from deciban.errors import InputError

CONTEXT = 4096
"""So many bytes around a line are enough to say whether a message begins there; no "From " line is longer."""

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
_STATUS = re.compile(rb"^(?:X-)?Status:[ \t]*([A-Z]{1,8})[ \t]*\r?$", re.MULTILINE)
_DATE = re.compile(
    rb"\b([A-Z][a-z][a-z])[ \t]+(\d{1,2})[ \t]+(\d{1,2}):(\d\d)(?::(\d\d))?[ \t]+"
    rb"(?:(?:[A-Z]{1,5}|([+-]\d{4}))[ \t]+)*(\d{4})(?:[ \t]+([+-]\d{4}))?"
)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of a box, and the "From " line before it; without one, what stands before the first such line."""

    line: bytes
    raw: bytes


def opens(start: bytes) -> bool:
    """Whether a file that begins like this is a box: its first line that is not empty is a "From " line.

    >>> opens(b"From joe Mon Jan  1 10:00:00 2024\\nSubject: one"), opens(b"From the shore\\nwe saw")
    (True, False)
    """
    start = start[:CONTEXT].lstrip(b"\xef\xbb\xbf\r\n")
    end = start.find(b"\n")
    if end < 0 or not start.startswith(b"From "):
        return False
    return _has_stamp(start[:end]) or bool(_FIELD.match(start, end + 1))


def letters_in(pieces: Iterator[bytes], longest: int) -> Iterator[Letter]:
    """The messages of a box, each up to its longest; a piece and a message are in memory at a time.

    If the pieces end in an error, what came before is given first.

    >>> [letter.raw for letter in letters_in(iter([b"From a\\nTo: b\\n\\n>From c\\n\\nFrom d\\nTo: e\\n"]), 1000)]
    [b'To: b\\n\\nFrom c\\n', b'To: e\\n']
    """
    window = _Window(pieces)
    line = window.take_line() if window.at_opening() else b""
    while window.any():
        raw = window.take_letter(longest)
        if line or raw.strip():
            yield Letter(line, _QUOTED.sub(rb"\1", raw) if b">From " in raw else raw)
        line = window.take_line()
    if line:
        yield Letter(line, b"")
    if window.trouble:
        raise window.trouble


@dataclass(slots=True)
class _Window:
    """The part of a box that is at hand: what has been read of it and not been given yet."""

    pieces: Iterator[bytes]
    data: bytearray = field(default_factory=bytearray)
    ended: bool = False
    trouble: InputError | None = None

    def any(self) -> bool:
        while not self.data and not self.ended:
            self.fill()
        return bool(self.data)

    def fill(self) -> None:
        """Reads one piece more; an error is kept until what came before has been given."""
        try:
            self.data += next(self.pieces)
        except StopIteration:
            self.ended = True
        except InputError as error:
            self.ended, self.trouble = True, error

    def at_opening(self) -> bool:
        """Whether a message begins right here, at the start of the file."""
        while len(self.data) < CONTEXT and not self.ended:
            self.fill()
        if not opens(bytes(self.data[:CONTEXT])):
            return False
        del self.data[: self.data.index(b"From ")]
        return True

    def take_line(self) -> bytes:
        """The "From " line that the data begin with now."""
        end = self.data.find(b"\n") + 1 or len(self.data)
        line = bytes(self.data[:end])
        del self.data[:end]
        return line.rstrip(b"\r\n")

    def take_letter(self, longest: int) -> bytes:
        """All before the next "From " line that begins a message, without the empty line that belongs to the box."""
        kept, searched = b"", 0
        while True:
            at, searched = self._next(searched)
            if at is not None or self.ended:
                break
            if len(self.data) > longest + CONTEXT:  # enough: what follows is passed over
                kept = kept or bytes(self.data[:longest])
                dropped = len(self.data) - CONTEXT
                del self.data[:dropped]
                searched = max(0, searched - dropped)
            self.fill()
        end = len(self.data) if at is None else at
        raw = kept or without_the_gap(self.data[: min(end, longest + CONTEXT)])[:longest]
        del self.data[:end]
        return raw

    def _next(self, searched: int) -> tuple[int | None, int]:
        """Where the next message begins, and up to where there is none for sure."""
        while (newline := self.data.find(b"\nFrom ", searched)) >= 0:
            if not self.ended and len(self.data) < newline + CONTEXT:
                return None, newline
            if _begins(self.data, newline + 1):
                return newline + 1, newline
            searched = newline + 1
        return None, max(searched, len(self.data) - 5)


def _begins(data: bytearray, at: int) -> bool:
    """Whether the line "From …" at this place begins a message."""
    end = data.find(b"\n", at, at + CONTEXT)
    if end < 0:
        return False
    line = bytes(data[at:end])
    before = bytes(data[max(0, at - 3) : at - 1])  # what stands before the newline that ends the line before
    empty = at == 1 or before.endswith(b"\n") or before in (b"\n\r", b"\r")
    header = bool(_FIELD.match(data, end + 1, end + CONTEXT))
    if _has_stamp(line):
        return empty or header
    return empty and header and bool(_SOMEBODY.match(line))


def _has_stamp(line: bytes) -> bool:
    """Whether a line has a time and, after it or just before it, a year; in two steps, so that it is passed once."""
    time = _TIME.search(line)
    return bool((time and _YEAR.search(line, time.end())) or _YEAR_AND_TIME.search(line))


def without_the_gap(raw: bytearray | bytes) -> bytes:
    """A message without the one empty line that its box puts after it."""
    if len(raw) <= 2 and not raw.strip():
        return b""
    end = len(raw) - (2 if raw.endswith(b"\r\n\r\n") else 1 if raw.endswith(b"\n\n") else 0)
    return bytes(raw[:end])


def time_of(line: bytes) -> float | None:
    """When a message came to its box, by its "From " line; in universal time where no zone is told (RFC 4155).

    >>> time_of(b"From joe@x.org Thu Jan  1 00:01:40 1970"), time_of(b"From joe")
    (100.0, None)
    """
    from calendar import timegm  # loads more than one message on standard input should wait for

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
    """Whether bytes begin with a header field."""
    return bool(_FIELD.match(raw))


def flags_of(raw: bytes) -> str:
    """What the reader of a box noted in a message's header, in Maildir's letters.

    Thunderbird leaves messages that were moved or deleted where they are until the box is compacted, and notes it in
    the first line; anywhere else that field may be the sender's. Others tell what was seen, answered or flagged.

    >>> flags_of(b"X-Mozilla-Status: 0009\\nSubject: moved to Junk\\n\\n"), flags_of(b"Status: RO\\nX-Status: F\\n")
    ('ST', 'FS')
    """
    found = _MOZILLA.match(raw)
    if found:
        bits = int(found[1], 16)
        return "".join(letter for bit, letter in ((4, "F"), (2, "R"), (1, "S"), (8, "T")) if bits & bit)
    end = raw.find(b"\n\n") + 1 or raw.find(b"\r\n\r\n") + 1 or len(raw)
    if raw.find(b"tatus:", 0, end) < 0:
        return ""
    noted = b"".join(field[1] for field in _STATUS.finditer(raw, 0, end))
    return "".join(letter for note, letter in ((b"F", "F"), (b"A", "R"), (b"R", "S")) if note in noted)
