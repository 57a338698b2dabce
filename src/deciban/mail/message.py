"""Messages: headers and parts of a mail, read from whatever bytes there are, within bounds that are said when they bite."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from deciban.mail.decoding import decoded, unpacked
from deciban.mail.digest import ENVELOPE, digest_of, in_lines
from deciban.mail.headers import FIELDS, FIRST_FIELD, Headers, content_type, fields_of
from deciban.mail.html import Page, page_of

__all__ = ["Message", "Part", "digest_of", "read_message"]

LONGEST_MESSAGE = 1 << 24
"""Bytes of a message that are looked at."""
LONGEST_HEADER = 1 << 16
"""Bytes of the headers of a message, and of each enclosed one."""
LONGEST_PART_HEADER = 1 << 13
LONGEST_VALUE = 1 << 13
"""Characters of one header's value."""
MOST_HEADERS = 1000
MOST_TEXT = 1 << 18
"""Bytes of text, decoded, over all parts: some forty thousand words."""
MOST_PARTS = 100
DEEPEST = 8
"""Parts within parts, enclosed messages counted."""
LONGEST_BOUNDARY = 200

Kind = Literal["text", "html", "attachment"]
CONTENT = re.compile(
    rb"^content-(type|transfer-encoding|disposition)[ \t]*+:[ \t]*+(.*+(?:\n[ \t].*+)*+)",
    re.MULTILINE | re.IGNORECASE,
)
UUENCODED = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,200})\n((?:[!-`][^\n]{0,90}\n)*+)`?\n?(?:end)?", re.MULTILINE)
MARKUP = re.compile(rb"\s*+<(?:!doctype\s+html|html|head|body|table|div|p)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message: a text, a page of HTML as a reader sees it, or something attached, never opened."""

    kind: Kind
    text: str
    name: str
    type: str
    size: int
    charset: str = ""
    encoding: str = ""
    links: tuple[str, ...] = ()
    hidden: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A mail: its headers (names in small letters) in order, its parts, and what a bound left out, in words."""

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    cut: tuple[str, ...] = ()

    def first(self, name: str) -> str:
        """The value of the first header of that name, or nothing."""
        return next((value for each, value in self.headers if each == name), "")


@dataclass(slots=True)
class _Reader:
    """What has been found so far of one message, and how much more may be."""

    raw: bytes
    parts: list[Part] = field(default_factory=list)
    cut: dict[str, None] = field(default_factory=dict)
    text_left: int = MOST_TEXT
    parts_left: int = MOST_PARTS

    def leave_out(self, what: str) -> None:
        self.cut[what] = None


@dataclass(frozen=True, slots=True)
class _Content:
    """What a part says of itself."""

    type: str
    parameters: dict[str, str]
    encoding: str
    name: str
    attached: bool


def read_message(raw: bytes) -> Message:
    r"""The message that bytes hold, whatever they are: nothing is refused, and what is left out is said.

    >>> read_message(b"Subject: Hi\n\nSee you at noon.\n").parts[0].text
    'See you at noon.\n'
    """
    reader = _Reader(in_lines(raw[:LONGEST_MESSAGE]))
    if len(raw) > LONGEST_MESSAGE:
        reader.leave_out(f"all but the first {LONGEST_MESSAGE >> 20} MiB of {len(raw)} bytes")
    envelope = ENVELOPE.match(reader.raw)
    headers = _read_whole(reader, envelope.end() if envelope else 0, len(reader.raw), 0)
    return Message(tuple(headers), tuple(reader.parts), tuple(reader.cut))


def _read_whole(reader: _Reader, start: int, end: int, depth: int) -> Headers:
    """A message with its headers, between two places: the whole one, or one that is enclosed."""
    head, body = _head_and_body(reader, start, end)
    headers = fields_of(head)
    if len(headers) > MOST_HEADERS:
        reader.leave_out(f"all but the first {MOST_HEADERS} of {len(headers)} headers")
        headers = headers[:MOST_HEADERS]
    for i, (name, value) in enumerate(headers):
        if len(value) > LONGEST_VALUE:
            reader.leave_out(f"all but the first {LONGEST_VALUE} characters of a header {name[:40]}")
            headers[i] = name, value[:LONGEST_VALUE]
    _read_part(reader, _content_of(dict(reversed(headers))), body, end, depth)
    return headers


def _head_and_body(reader: _Reader, start: int, end: int) -> tuple[bytes, int]:
    """The bytes of the headers, and where the body begins."""
    raw = reader.raw
    if not FIRST_FIELD.match(raw, start, end):
        return b"", start + 1 if raw[start : start + 1] == b"\n" else start
    blank = raw.find(b"\n\n", start, end)
    if blank >= 0:
        stop, body = blank + 1, blank + 2
    else:
        fields = FIELDS.match(raw, start, end)
        stop = body = fields.end() if fields else end
    if stop - start > LONGEST_HEADER:
        reader.leave_out(f"all but the first {LONGEST_HEADER >> 10} KiB of {stop - start} bytes of headers")
        stop = start + LONGEST_HEADER
    return raw[start:stop], body


def _content_of(headers: dict[str, str]) -> _Content:
    kind, parameters = content_type(headers.get("content-type", ""))
    encoding = headers.get("content-transfer-encoding", "").strip().lower()
    disposition = headers.get("content-disposition", "")
    if not disposition:
        return _Content(kind, parameters, encoding, parameters.get("name", ""), False)
    how, more = content_type(disposition)
    return _Content(
        kind, parameters, encoding, more.get("filename") or parameters.get("name", ""), how == "attachment"
    )


def _read_part(reader: _Reader, content: _Content, start: int, end: int, depth: int) -> None:
    """A part's leaves, in order, are added to what the reader has found."""
    inner = content.type.startswith(("multipart/", "message/"))
    if inner and depth >= DEEPEST:
        reader.leave_out(f"parts more than {DEEPEST} deep")
        return
    if content.type.startswith("multipart/") and _read_parts(reader, content, start, end, depth):
        return
    if content.type == "message/rfc822" and content.encoding not in ("base64", "quoted-printable"):
        _read_enclosed(reader, start, end, depth)
        return
    if reader.parts_left <= 0:
        reader.leave_out(f"parts after the first {MOST_PARTS}")
        return
    reader.parts_left -= 1
    _read_leaf(reader, content, start, end)


def _read_enclosed(reader: _Reader, start: int, end: int, depth: int) -> None:
    at = len(reader.parts)
    headers = dict(reversed(_read_whole(reader, start, end, depth + 1)))
    told = " ".join(headers[name] for name in ("from", "to", "subject") if name in headers)
    reader.parts.insert(at, Part("text", told, "", "message/rfc822", end - start))


def _read_parts(reader: _Reader, content: _Content, start: int, end: int, depth: int) -> bool:
    """The parts of a multipart; False where its boundary is not given or not there."""
    boundary = content.parameters.get("boundary", "")[:LONGEST_BOUNDARY].encode("utf_8", "replace")
    line = b"--" + boundary
    if not boundary:
        return False
    begin = -1
    for at, after, closes in _boundaries(reader.raw, line, start, end):
        if begin >= 0:
            _read_inner(reader, begin, at, depth)
        begin = -2 if closes else after
        if closes or reader.parts_left <= 0:
            break
    if begin >= 0:
        _read_inner(reader, begin, end, depth)
    return begin != -1


def _boundaries(raw: bytes, line: bytes, start: int, end: int):  # type: ignore[no-untyped-def]
    """Where each boundary line begins, where it ends, and whether it is the last."""
    size = len(line)
    at = start if raw.startswith(line, start, end) else raw.find(b"\n" + line, start, end) + 1
    while at > 0 or (at == start == 0 and raw.startswith(line)):
        stop = raw.find(b"\n", at, end)
        stop = end if stop < 0 else stop
        rest = raw[at + size : min(stop, at + size + 100)].strip()
        if not rest or rest == b"--":
            yield at, min(stop + 1, end), rest == b"--"
        at = raw.find(b"\n" + line, at + size, end) + 1


def _read_inner(reader: _Reader, start: int, end: int, depth: int) -> None:
    """A part between two boundaries: its own headers, a blank line, its body."""
    raw = reader.raw
    if raw[start : start + 1] == b"\n":
        head, body = b"", start + 1
    else:
        blank = raw.find(b"\n\n", start, end)
        head, body = (raw[start:blank], blank + 2) if blank >= 0 else (raw[start:end], end)
        if not FIRST_FIELD.match(head):
            head, body = b"", start
    if len(head) > LONGEST_PART_HEADER:
        reader.leave_out(f"all but the first {LONGEST_PART_HEADER >> 10} KiB of the headers of a part")
        head = head[:LONGEST_PART_HEADER]
    fields = {f"content-{name.decode().lower()}": value for name, value in reversed(CONTENT.findall(head))}
    headers = {name: fields_of(b"x:" + value)[0][1] for name, value in fields.items()}
    _read_part(reader, _content_of(headers), body, min(max(body, end), len(raw)), depth + 1)


def _read_leaf(reader: _Reader, content: _Content, start: int, end: int) -> None:
    kind = content.type or "text/plain"
    size = end - start
    is_text = kind.startswith(("text", "multipart/", "message/")) or "/" not in kind
    if content.attached or not is_text or (content.name and kind not in ("text/plain", "text/html")):
        size = size * 3 // 4 if content.encoding == "base64" else size
        reader.parts.append(Part("attachment", "", content.name, kind, size, encoding=content.encoding))
        return
    body = _text_of(reader, content, start, end)
    text = decoded(body, content.parameters.get("charset", ""))
    charset = content.parameters.get("charset", "").lower()
    if "html" in kind or MARKUP.match(body):
        page: Page = page_of(text)
        part = Part(
            "html", page.text, content.name, kind, size, charset, content.encoding, page.links, page.hidden, page.tags
        )
    else:
        part = Part("text", text, content.name, kind, size, charset, content.encoding)
    reader.parts.append(part)


def _text_of(reader: _Reader, content: _Content, start: int, end: int) -> bytes:
    """The bytes of a text, unpacked, as far as there is room for them."""
    most = reader.text_left * 3 if content.encoding in ("base64", "quoted-printable") else reader.text_left
    body = unpacked(reader.raw[start : min(end, start + most)], content.encoding)
    if end - start > most or len(body) > reader.text_left:
        reader.leave_out(f"text after the first {MOST_TEXT >> 10} KiB")
        body = body[: reader.text_left]
    reader.text_left -= len(body)
    if b"\nbegin " in body or body.startswith(b"begin "):
        body = _without_uuencoded(reader, body)
    return body


def _without_uuencoded(reader: _Reader, body: bytes) -> bytes:
    for found in UUENCODED.finditer(body):
        if reader.parts_left > 0 and found[2]:
            reader.parts_left -= 1
            name, size = found[1].decode("utf_8", "replace").strip(), len(found[2]) * 3 // 4
            reader.parts.append(Part("attachment", "", name, "application/octet-stream", size, encoding="x-uuencode"))
    return UUENCODED.sub(b"\n", body)
