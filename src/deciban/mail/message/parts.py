"""Leaves of a message: texts, pages and attachments, each read or, if attached, only named and measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from deciban.mail.message.decoding import decoded, unpacked
from deciban.mail.message.headers import content_type
from deciban.mail.message.html import page_of

MOST_TEXT = 1 << 18
"""Bytes of text, decoded, over all parts, headers of enclosed messages with them: some forty thousand words."""
TEXT_LEFT_OUT = f"text after the first {MOST_TEXT >> 10} KiB"
MOST_PACKED = 3
"""Bytes of quoted-printable or base64 that are read for each byte of text: neither needs more."""
MOST_PARTS = 100
"""Parts of a message: leaves, multiparts and enclosed messages."""
MOST_BOUNDARIES = 20_000
"""Lines that begin like a boundary, whether they are one or not, over all multiparts."""
MAX_SCANNED_BYTES = 2 << 24
"""Bytes that are searched for boundaries, over all multiparts: a multipart within another is searched again."""

Kind = Literal["text", "html", "attachment"]
UUENCODED = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,200})\n((?:[!-`][^\n]{0,90}\n)*+)`?\n?(?:end)?", re.MULTILINE)
MARKUP = re.compile(rb"\s*+<(?:!doctype\s+html|html|head|body|table|div|p)\b", re.IGNORECASE)


class Part(NamedTuple):
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


@dataclass(slots=True)
class Room:
    """What has been found so far of one message, and how much more there is room for."""

    raw: bytes
    parts: list[Part] = field(default_factory=list)
    cut: dict[str, None] = field(default_factory=dict)
    text_left: int = MOST_TEXT
    parts_left: int = MOST_PARTS
    boundaries_left: int = MOST_BOUNDARIES
    scan_left: int = MAX_SCANNED_BYTES

    def leave_out(self, what: str) -> None:
        """Something goes beyond a bound: it is said once."""
        self.cut[what] = None

    def take_text(self, text: bytes, read: int = 0) -> bytes:
        """As much of a text as there is room for; it is counted, and so are the bytes that were read for it."""
        if len(text) > self.text_left:
            self.leave_out(TEXT_LEFT_OUT)
            text = text[: self.text_left]
        self.text_left = max(0, self.text_left - max(len(text), read // MOST_PACKED))
        return text

    def find_line(self, line: bytes, start: int, end: int) -> int:
        """Return the offset of the next line with this prefix, or -1."""
        searched = min(end, start + self.scan_left)
        at = self.raw.find(b"\n" + line, start, searched)
        self.scan_left -= (searched if at < 0 else at) - start
        self.boundaries_left -= at >= 0
        if self.boundaries_left < 0 or (at < 0 and searched < end):
            self.leave_out(
                f"boundaries after {MOST_BOUNDARIES} lines that look like one, or {MAX_SCANNED_BYTES >> 20} MiB"
            )
            return -1
        return at + 1 if at >= 0 else -1


class Content(NamedTuple):
    """What a part says of itself."""

    type: str
    parameters: Mapping[str, str]
    encoding: str
    name: str
    attached: bool


def content_of(headers: Mapping[str, str]) -> Content:
    """A part by its headers."""
    kind, parameters = content_type(headers.get("content-type", ""))
    encoding = headers.get("content-transfer-encoding", "").strip().lower()
    disposition = headers.get("content-disposition", "")
    if not disposition:
        return Content(kind, parameters, encoding, parameters.get("name", ""), False)
    how, more = content_type(disposition)
    return Content(
        kind, parameters, encoding, more.get("filename") or parameters.get("name", ""), how == "attachment"
    )


def read_leaf(room: Room, content: Content, start: int, end: int) -> None:
    """A part that holds no others, between two places, is added to what was found."""
    kind = content.type or "text/plain"
    size = end - start
    is_text = kind.startswith(("text", "multipart/", "message/")) or "/" not in kind
    if content.attached or not is_text or (content.name and kind not in ("text/plain", "text/html")):
        size = size * 3 // 4 if content.encoding == "base64" else size
        room.parts.append(Part("attachment", "", content.name, kind, size, encoding=content.encoding))
        return
    body = _text_of(room, content, start, end)
    text = decoded(body, content.parameters.get("charset", ""))
    charset = content.parameters.get("charset", "").lower()
    if "html" in kind or MARKUP.match(body):
        page = page_of(text)
        part = Part(
            "html", page.text, content.name, kind, size, charset, content.encoding, page.links, page.hidden, page.tags
        )
    else:
        part = Part("text", text, content.name, kind, size, charset, content.encoding)
    room.parts.append(part)


def _text_of(room: Room, content: Content, start: int, end: int) -> bytes:
    """The bytes of a text, unpacked, as far as there is room for them."""
    is_packed = content.encoding in ("base64", "quoted-printable")
    last = min(end, start + room.text_left * (MOST_PACKED if is_packed else 1))
    body = room.take_text(unpacked(room.raw[start:last], content.encoding), last - start)
    if last < end:
        room.leave_out(TEXT_LEFT_OUT)
    if b"\nbegin " in body or body.startswith(b"begin "):
        body = _without_uuencoded(room, body)
    return body


def _without_uuencoded(room: Room, body: bytes) -> bytes:
    for found in UUENCODED.finditer(body):
        if room.parts_left > 0 and found[2]:
            room.parts_left -= 1
            name, size = found[1].decode("utf_8", "replace").strip(), len(found[2]) * 3 // 4
            room.parts.append(Part("attachment", "", name, "application/octet-stream", size, encoding="x-uuencode"))
    return UUENCODED.sub(b"\n", body)
