"""Messages: headers and parts of a mail, read from whatever bytes there are; a bound that bites is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from deciban.mail.message.digest import ENVELOPE, compute_digest, in_lines
from deciban.mail.message.headers import FIELDS, FIRST_FIELD, Headers, fields_of
from deciban.mail.message.parts import MOST_PARTS, Content, Part, Room, content_of, read_leaf

__all__ = ["Message", "Part", "compute_digest", "read_message"]

LONGEST_MESSAGE = 1 << 24
"""Bytes of a message that are looked at."""
LONGEST_HEADER = 1 << 16
"""Bytes of the headers of a message, and of each enclosed one, whose headers count as text too."""
MAX_HEADER_SEARCH_BYTES = 1 << 20
"""Bytes that are searched for the empty line after the headers of a message or a part."""
LONGEST_PART_HEADER = 1 << 13
LONGEST_VALUE = 1 << 13
"""Characters of one header's value."""
MOST_HEADERS = 1000
DEEPEST = 8
"""Parts within parts, enclosed messages counted."""
LONGEST_BOUNDARY = 200

CONTENT = re.compile(
    rb"^content-(type|transfer-encoding|disposition)[ \t]*+:[ \t]*+(.*+(?:\n[ \t].*+)*+)",
    re.MULTILINE | re.IGNORECASE,
)


class Message(NamedTuple):
    """A mail: its headers (names in small letters) in order, its parts, and what a bound left out, in words."""

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    cut: tuple[str, ...] = ()

    def first(self, name: str) -> str:
        """The value of the first header of that name, or nothing."""
        return next((value for each, value in self.headers if each == name), "")


def read_message(raw: bytes) -> Message:
    r"""The message that bytes hold, whatever they are: nothing is refused, and what is left out is said.

    >>> read_message(b"Subject: Hi\n\nSee you at noon.\n").parts[0].text
    'See you at noon.\n'
    """
    room = Room(in_lines(raw[:LONGEST_MESSAGE]))
    if len(raw) > LONGEST_MESSAGE:
        room.leave_out(f"all but the first {LONGEST_MESSAGE >> 20} MiB of {len(raw)} bytes")
    envelope = ENVELOPE.match(room.raw)
    head, body = head_and_body(room, envelope.end() if envelope else 0, len(room.raw))
    headers = headers_in(room, head)
    read_part(room, content_of(dict(reversed(headers))), body, len(room.raw), 0)
    return Message(tuple(headers), tuple(room.parts), tuple(room.cut))


def headers_in(room: Room, head: bytes) -> Headers:
    """Names and values, as many and as much of them as there is room for."""
    headers = fields_of(head)
    if len(headers) > MOST_HEADERS:
        room.leave_out(f"all but the first {MOST_HEADERS} of {len(headers)} headers")
        headers = headers[:MOST_HEADERS]
    if len(head) > LONGEST_VALUE:
        headers = [(name, _cut_value(room, name, value)) for name, value in headers]
    return headers


def _cut_value(room: Room, name: str, value: str) -> str:
    if len(value) > LONGEST_VALUE:
        room.leave_out(f"all but the first {LONGEST_VALUE} characters of a header {name[:40]}")
    return value[:LONGEST_VALUE]


def head_and_body(room: Room, start: int, end: int) -> tuple[bytes, int]:
    """The bytes of the headers, and where the body begins."""
    raw, searched = room.raw, min(end, start + MAX_HEADER_SEARCH_BYTES)
    if not FIRST_FIELD.match(raw, start, searched):
        return b"", start + 1 if raw[start : start + 1] == b"\n" else start
    blank = raw.find(b"\n\n", start, searched)
    if blank >= 0:
        stop, body = blank + 1, blank + 2
    else:
        fields = FIELDS.match(raw, start, min(end, start + LONGEST_HEADER))
        stop = body = fields.end() if fields else start
    if stop - start > LONGEST_HEADER:
        room.leave_out(f"all but the first {LONGEST_HEADER >> 10} KiB of {stop - start} bytes of headers")
        stop = start + LONGEST_HEADER
    return raw[start:stop], body


def read_part(room: Room, content: Content, start: int, end: int, depth: int) -> None:
    """A part's leaves, in order, are added to what the room has found; every part counts, leaf or not."""
    inner = content.type.startswith(("multipart/", "message/"))
    if inner and depth >= DEEPEST:
        room.leave_out(f"parts more than {DEEPEST} deep")
        return
    if room.parts_left <= 0:
        room.leave_out(f"parts after the first {MOST_PARTS}")
        return
    room.parts_left -= 1
    if content.type.startswith("multipart/") and _read_parts(room, content, start, end, depth):
        return
    if content.type == "message/rfc822" and content.encoding not in ("base64", "quoted-printable"):
        _read_enclosed(room, start, end, depth)
        return
    read_leaf(room, content, start, end)


def _read_enclosed(room: Room, start: int, end: int, depth: int) -> None:
    """An enclosed message: all of its headers count as text, and three of them are one."""
    head, body = head_and_body(room, start, end)
    headers = dict(reversed(headers_in(room, room.take_text(head))))
    told = " ".join(headers[name] for name in ("from", "to", "subject") if name in headers)
    room.parts.append(Part("text", told, "", "message/rfc822", end - start))
    read_part(room, content_of(headers), body, end, depth + 1)


def _read_parts(room: Room, content: Content, start: int, end: int, depth: int) -> bool:
    """The parts of a multipart; False where its boundary is not given or not there."""
    boundary = content.parameters.get("boundary", "")[:LONGEST_BOUNDARY].encode("utf_8", "replace")
    line = b"--" + boundary
    if not boundary:
        return False
    begin = -1
    for at, after, closes in _boundaries(room, line, start, end):
        if begin >= 0:
            _read_inner(room, begin, at, depth)
        begin = -2 if closes else after
        if closes or room.parts_left <= 0:
            break
    if begin >= 0:
        _read_inner(room, begin, end, depth)
    return begin != -1


def _boundaries(room: Room, line: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Where each boundary line begins, where it ends, and whether it is the last."""
    raw, size = room.raw, len(line)
    at = start if raw.startswith(line, start, end) else room.find_line(line, start, end)
    while at >= 0:
        stop = raw.find(b"\n", at, end)
        stop = end if stop < 0 else stop
        rest = raw[at + size : min(stop, at + size + 100)].strip()
        if not rest or rest == b"--":
            yield at, min(stop + 1, end), rest == b"--"
        at = room.find_line(line, at + size, end)


def _read_inner(room: Room, start: int, end: int, depth: int) -> None:
    """A part between two boundaries: its own headers, a blank line, its body."""
    raw = room.raw
    if raw[start : start + 1] == b"\n":
        head, body = b"", start + 1
    else:
        searched = min(end, start + MAX_HEADER_SEARCH_BYTES)
        blank = raw.find(b"\n\n", start, searched)
        head, body = (raw[start:blank], blank + 2) if blank >= 0 else (raw[start:searched], searched)
        if not FIRST_FIELD.match(head):
            head, body = b"", start
    if len(head) > LONGEST_PART_HEADER:
        room.leave_out(f"all but the first {LONGEST_PART_HEADER >> 10} KiB of the headers of a part")
        head = head[:LONGEST_PART_HEADER]
    fields = {f"content-{name.decode().lower()}": value for name, value in reversed(CONTENT.findall(head))}
    headers = {name: fields_of(b"x:" + value)[0][1] for name, value in fields.items()}
    read_part(room, content_of(headers), body, min(max(body, end), len(raw)), depth + 1)
