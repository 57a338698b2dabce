"""Messages: headers and parts, parsed from any bytes; nothing is refused, and whatever limits omit is listed.

The leaves are texts, HTML pages and attachments; an attachment is named and measured, never opened. A message has the
same digest wherever it is stored and whoever delivered it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, NamedTuple

from deciban.mail.message.decoding import decode_text, decode_transfer
from deciban.mail.message.headers import FIELDS, FIRST_FIELD, Headers, parse_content_type, parse_headers
from deciban.mail.message.html import parse_page

MAX_MESSAGE_BYTES = 1 << 24
MAX_HEADER_BYTES = 1 << 16
"""Bytes of the headers of a message, and of each enclosed one, whose headers count as text too."""
MAX_HEADER_SEARCH_BYTES = 1 << 20
"""Bytes that are searched for the empty line after the headers of a message or a part; later ones are the body."""
MAX_PART_HEADER_BYTES = 1 << 13
MAX_VALUE_CHARACTERS = 1 << 13
"""Characters of one header's value."""
MAX_HEADERS = 1000
MAX_HEADING_CHARACTERS = 1000
"""Characters of sender and subject, each, that are shown to people or programs."""
MAX_PART_DEPTH = 8
"""Depth of nested parts, enclosed messages counted."""
MAX_BOUNDARY_CHARACTERS = 200
MAX_TEXT_BYTES = 1 << 18
"""Bytes of text, decoded, over all parts, headers of enclosed messages with them: some forty thousand words."""
MAX_ENCODED_RATIO = 3
"""Bytes of quoted-printable or base64 that are read for each byte of text: neither needs more."""
MAX_PARTS = 100
"""Parts of a message: leaves, multiparts and enclosed messages."""
MAX_BOUNDARY_LINES = 20_000
"""Lines that begin like a boundary, whether they are one or not, over all multiparts."""
MAX_SCANNED_BYTES = 2 << 24
"""Bytes that are searched for boundaries, over all multiparts: a multipart within another is searched again."""

TEXT_OMITTED = f"text after the first {MAX_TEXT_BYTES >> 10} KiB"
CONTENT = re.compile(
    rb"^content-(type|transfer-encoding|disposition)[ \t]*+:[ \t]*+(.*+(?:\n[ \t].*+)*+)",
    re.MULTILINE | re.IGNORECASE,
)
UUENCODED = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,200})\n((?:[!-`][^\n]{0,90}\n)*+)`?\n?(?:end)?", re.MULTILINE)
MARKUP = re.compile(rb"\s*+<(?:!doctype\s+html|html|head|body|table|div|p)\b", re.IGNORECASE)

DIGEST_BYTES = 16
"""Length of a message's digest."""
MAX_DIGEST_BODY_BYTES = 1 << 22
"""Bytes of a body that count for its digest: the bytes of a message that are read contain these, whatever its line
ends are."""

VOLATILE_HEADERS = {
    "written by mail stores": "status x-status x-keywords x-uid x-uidl x-imap x-imapbase lines "
    "content-length x-mozilla-* x-evolution* x-gmail-* x-gm-* x-label x-folder x-mew* x-pmflags",
    "written by the last machines on the way": "received x-received delivered-to x-delivered-to x-original-to "
    "return-path envelope-to x-envelope-to x-envelope-from delivery-date x-originalarrivaltime "
    "authentication-results arc-* received-spf x-ms-exchange-* x-fetchmail-warning",
    "written by filters": "x-deciban* x-spam* x-bogosity x-rspamd* x-dspam* x-crm114* x-virus* x-amavis* x-sieve "
    "x-spambayes* x-popfile* x-text-classification x-proofpoint* x-ironport* x-mailscanner*",
}
"""Headers that do not count for a digest, by reason: a message learned before delivery is the same after it. A * is
any suffix."""

_VOLATILE_WORDS = " ".join(VOLATILE_HEADERS.values()).split()
VOLATILE_NAMES = frozenset(name.encode() for name in _VOLATILE_WORDS if name[-1] != "*")
VOLATILE_PREFIXES = tuple(name[:-1].encode() for name in _VOLATILE_WORDS if name[-1] == "*")
QUOTED_FROM = re.compile(rb"\n>++From ")
MAX_UNQUOTED_LINES = 1 << 16
"""Lines ">From " whose > does not count."""
CR_TO_LF, CR_TO_SPACE = bytes.maketrans(b"\r", b"\n"), bytes.maketrans(b"\r", b" ")
ENVELOPE = re.compile(rb"\s*+(?:>?From [^\n]*+\n)?+")

Kind = Literal["text", "html", "attachment"]


class Part(NamedTuple):
    """A leaf of a message: a text, a page of HTML as a reader sees it, or an attachment.

    `size` is in bytes as sent, of an attachment in base64 as decoded; `links`, `hidden` and `tags` are those of HTML.
    """

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


class Message(NamedTuple):
    """A message: its headers (names in lower case) in order, its parts, and what limits omitted, in words."""

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    cut: tuple[str, ...] = ()

    @property
    def heading(self) -> tuple[str, str]:
        """The first From and the first Subject, of `MAX_HEADING_CHARACTERS` at most; empty where there is none."""
        first = dict(reversed(self.headers))
        return first.get("from", "")[:MAX_HEADING_CHARACTERS], first.get("subject", "")[:MAX_HEADING_CHARACTERS]


class Content(NamedTuple):
    """The content headers of a part."""

    type: str
    parameters: Mapping[str, str]
    encoding: str
    name: str
    is_attached: bool


def read_message(raw: bytes) -> Message:
    r"""Parse the message that bytes hold, whatever they are.

    >>> read_message(b"Subject: Hi\n\nSee you at noon.\n").parts[0].text
    'See you at noon.\n'
    """
    parser = _Parser(normalise_line_ends(raw[:MAX_MESSAGE_BYTES]))
    if len(raw) > MAX_MESSAGE_BYTES:
        parser.omit(f"all but the first {MAX_MESSAGE_BYTES >> 20} MiB of {len(raw)} bytes")
    envelope = ENVELOPE.match(parser.raw)
    head, body = parser.split_head(envelope.end() if envelope else 0, len(parser.raw))
    headers = parser.parse_headers(head)
    parser.parse_part(read_content(dict(reversed(headers))), body, len(parser.raw), 0)
    return Message(tuple(headers), tuple(parser.parts), tuple(parser.omissions))


def read_content(headers: Mapping[str, str]) -> Content:
    """Parse the content headers of a part, given by their names in lower case."""
    kind, parameters = parse_content_type(headers.get("content-type", ""))
    encoding = headers.get("content-transfer-encoding", "").strip().lower()
    disposition = headers.get("content-disposition", "")
    if not disposition:
        return Content(kind, parameters, encoding, parameters.get("name", ""), False)
    how, more = parse_content_type(disposition)
    name = more.get("filename") or parameters.get("name", "")
    return Content(kind, parameters, encoding, name, how == "attachment")


@dataclass(slots=True)
class _Parser:
    """The state of parsing one message: the parts found so far, and how much more the limits allow."""

    raw: bytes
    parts: list[Part] = field(default_factory=list)
    omissions: dict[str, None] = field(default_factory=dict)
    text_left: int = MAX_TEXT_BYTES
    parts_left: int = MAX_PARTS
    boundaries_left: int = MAX_BOUNDARY_LINES
    scan_left: int = MAX_SCANNED_BYTES

    def omit(self, what: str) -> None:
        """Note, once, that something exceeds a limit."""
        self.omissions[what] = None

    def take_text(self, text: bytes, read: int = 0) -> bytes:
        """Return as much of a text as the limit allows, and subtract it from `text_left`.

        Of a text that was decoded from `read` bytes, a third of these is subtracted if that is more.
        """
        if len(text) > self.text_left:
            self.omit(TEXT_OMITTED)
            text = text[: self.text_left]
        self.text_left = max(0, self.text_left - max(len(text), read // MAX_ENCODED_RATIO))
        return text

    def find_line(self, line: bytes, start: int, end: int) -> int:
        """Return the offset of the next line with this prefix; −1 where there is none, or a limit is reached.

        The line and the bytes searched count towards the limits of boundaries.
        """
        searched = min(end, start + self.scan_left)
        at = self.raw.find(b"\n" + line, start, searched)
        self.scan_left -= (searched if at < 0 else at) - start
        self.boundaries_left -= at >= 0
        if self.boundaries_left < 0 or (at < 0 and searched < end):
            self.omit(
                f"boundaries after {MAX_BOUNDARY_LINES} lines that look like one, or {MAX_SCANNED_BYTES >> 20} MiB"
            )
            return -1
        return at + 1 if at >= 0 else -1

    def parse_headers(self, head: bytes) -> Headers:
        """Return names and values, as many and as much of them as the limits allow."""
        headers = parse_headers(head)
        if len(headers) > MAX_HEADERS:
            self.omit(f"all but the first {MAX_HEADERS} of {len(headers)} headers")
            headers = headers[:MAX_HEADERS]
        if len(head) > MAX_VALUE_CHARACTERS:
            for name, value in headers:
                if len(value) > MAX_VALUE_CHARACTERS:
                    self.omit(f"all but the first {MAX_VALUE_CHARACTERS} characters of a header {name[:40]}")
            headers = [(name, value[:MAX_VALUE_CHARACTERS]) for name, value in headers]
        return headers

    def split_head(self, start: int, end: int) -> tuple[bytes, int]:
        """Return the headers, up to their limit in bytes (b"" if none begins here), and the offset of the body."""
        raw, searched = self.raw, min(end, start + MAX_HEADER_SEARCH_BYTES)
        if not FIRST_FIELD.match(raw, start, searched):
            return b"", start + 1 if raw[start : start + 1] == b"\n" else start
        blank = raw.find(b"\n\n", start, searched)
        if blank >= 0:
            stop, body = blank + 1, blank + 2
        else:
            fields = FIELDS.match(raw, start, min(end, start + MAX_HEADER_BYTES))
            stop = body = fields.end() if fields else start
        if stop - start > MAX_HEADER_BYTES:
            self.omit(f"all but the first {MAX_HEADER_BYTES >> 10} KiB of {stop - start} bytes of headers")
            stop = start + MAX_HEADER_BYTES
        return raw[start:stop], body

    def parse_part(self, content: Content, start: int, end: int, depth: int) -> None:
        """Add the leaves of a part, in order; every part counts towards the limit, leaf or not."""
        if content.type.startswith(("multipart/", "message/")) and depth >= MAX_PART_DEPTH:
            self.omit(f"parts more than {MAX_PART_DEPTH} deep")
            return
        if self.parts_left <= 0:
            self.omit(f"parts after the first {MAX_PARTS}")
            return
        self.parts_left -= 1
        if content.type.startswith("multipart/") and self._parse_multipart(content, start, end, depth):
            return
        if content.type == "message/rfc822" and content.encoding not in ("base64", "quoted-printable"):
            self._parse_enclosed(start, end, depth)
            return
        self._parse_leaf(content, start, end)

    def _parse_enclosed(self, start: int, end: int, depth: int) -> None:
        """Parse an enclosed message: all of its headers count as text, and three of them are a text part."""
        head, body = self.split_head(start, end)
        headers = dict(reversed(self.parse_headers(self.take_text(head))))
        text = " ".join(headers[name] for name in ("from", "to", "subject") if name in headers)
        self.parts.append(Part("text", text, "", "message/rfc822", end - start))
        self.parse_part(read_content(headers), body, end, depth + 1)

    def _parse_multipart(self, content: Content, start: int, end: int, depth: int) -> bool:
        """Parse the parts of a multipart; return False if its boundary is not given or does not occur."""
        boundary = content.parameters.get("boundary", "")[:MAX_BOUNDARY_CHARACTERS].encode("utf_8", "replace")
        if not boundary:
            return False
        begin = -1
        for at, after, is_last in self._find_boundaries(b"--" + boundary, start, end):
            if begin >= 0:
                self._parse_inner(begin, at, depth)
            begin = -2 if is_last else after
            if is_last or self.parts_left <= 0:
                break
        if begin >= 0:
            self._parse_inner(begin, end, depth)
        return begin != -1

    def _find_boundaries(self, line: bytes, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """Yield of each boundary line its offset, that of the line after it, and whether it ends the multipart."""
        raw, size = self.raw, len(line)
        at = start if raw.startswith(line, start, end) else self.find_line(line, start, end)
        while at >= 0:
            stop = raw.find(b"\n", at, end)
            stop = end if stop < 0 else stop
            after = raw[at + size : min(stop, at + size + 100)].strip()
            if not after or after == b"--":
                yield at, min(stop + 1, end), after == b"--"
            at = self.find_line(line, at + size, end)

    def _parse_inner(self, start: int, end: int, depth: int) -> None:
        """Parse a part between two boundaries: its own headers, an empty line, its body."""
        raw = self.raw
        if raw[start : start + 1] == b"\n":
            head, body = b"", start + 1
        else:
            searched = min(end, start + MAX_HEADER_SEARCH_BYTES)
            blank = raw.find(b"\n\n", start, searched)
            head, body = (raw[start:blank], blank + 2) if blank >= 0 else (raw[start:searched], searched)
            if not FIRST_FIELD.match(head):
                head, body = b"", start
        if len(head) > MAX_PART_HEADER_BYTES:
            self.omit(f"all but the first {MAX_PART_HEADER_BYTES >> 10} KiB of the headers of a part")
            head = head[:MAX_PART_HEADER_BYTES]
        fields = {f"content-{name.decode().lower()}": value for name, value in reversed(CONTENT.findall(head))}
        parsed = {name: parse_headers(b"x:" + value) for name, value in fields.items()}
        headers = {name: found[0][1] for name, found in parsed.items() if found}  # none of a value like UTF-16
        self.parse_part(read_content(headers), body, min(max(body, end), len(raw)), depth + 1)

    def _parse_leaf(self, content: Content, start: int, end: int) -> None:
        """Add the part between two offsets, which holds no others."""
        kind = content.type or "text/plain"
        size = end - start
        is_text = kind.startswith(("text", "multipart/", "message/")) or "/" not in kind
        if content.is_attached or not is_text or (content.name and kind not in ("text/plain", "text/html")):
            size = size * 3 // 4 if content.encoding == "base64" else size
            self.parts.append(Part("attachment", "", content.name, kind, size, encoding=content.encoding))
            return
        body = self._decode_body(content, start, end)
        charset = content.parameters.get("charset", "")
        text = decode_text(body, charset)
        part = Part("text", text, content.name, kind, size, charset.lower(), content.encoding)
        if "html" in kind or MARKUP.match(body):
            page = parse_page(text)
            part = part._replace(kind="html", text=page.text, links=page.links, hidden=page.hidden, tags=page.tags)
        self.parts.append(part)

    def _decode_body(self, content: Content, start: int, end: int) -> bytes:
        """Return the decoded bytes of a text, as far as the limit allows; uuencoded files in it become parts."""
        is_encoded = content.encoding in ("base64", "quoted-printable")
        last = min(end, start + self.text_left * (MAX_ENCODED_RATIO if is_encoded else 1))
        body = self.take_text(decode_transfer(self.raw[start:last], content.encoding), last - start)
        if last < end:
            self.omit(TEXT_OMITTED)
        if b"\nbegin " not in body and not body.startswith(b"begin "):
            return body
        for found in UUENCODED.finditer(body):
            if self.parts_left > 0 and found[2]:
                self.parts_left -= 1
                name, size = found[1].decode("utf_8", "replace").strip(), len(found[2]) * 3 // 4
                part = Part("attachment", "", name, "application/octet-stream", size, encoding="x-uuencode")
                self.parts.append(part)
        return UUENCODED.sub(b"\n", body)


def normalise_line_ends(raw: bytes) -> bytes:
    """Replace line ends by line feeds: CR LF and CR CR LF, or every CR where there is no LF; other CRs by spaces."""
    if b"\r" not in raw:
        return raw
    if b"\n" not in raw:
        return raw.translate(CR_TO_LF)
    if b"\r\n" in raw:
        raw = raw.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
    return raw.translate(CR_TO_SPACE) if b"\r" in raw else raw


def compute_digest(raw: bytes) -> bytes:
    r"""Compute 16 bytes that identify a message, whatever stores and filters did to it.

    >>> stored = b"From me\r\nStatus: RO\r\nSubject: Hi\r\n\r\nYou\r\n\r\n"
    >>> compute_digest(b"Subject: Hi\n\nYou") == compute_digest(stored)
    True
    """
    raw = normalise_line_ends(raw)
    start = ENVELOPE.match(raw)
    raw = raw[start.end() if start else 0 :].rstrip()
    end = raw.find(b"\n\n", 0, MAX_HEADER_SEARCH_BYTES)
    end = end + 1 if end >= 0 else min(len(raw), MAX_HEADER_SEARCH_BYTES)
    lines = raw[:end].replace(b"\n\t", b" ").replace(b"\n ", b" ").split(b"\n")  # each header on one line
    stable = [line for line in lines if line and not _is_volatile(line.partition(b":")[0].rstrip()[:64])]
    digest = blake2b(b"\n".join(stable), digest_size=DIGEST_BYTES)
    body: bytes | memoryview = memoryview(raw)[end:]
    if b">From " in raw:
        body = QUOTED_FROM.sub(b"\nFrom ", body[: 2 * MAX_DIGEST_BODY_BYTES], MAX_UNQUOTED_LINES)
    digest.update(bytes(body[:MAX_DIGEST_BODY_BYTES]).rstrip() if len(body) > MAX_DIGEST_BODY_BYTES else body)
    return digest.digest()


@lru_cache(2000)
def _is_volatile(name: bytes) -> bool:
    """Return whether a header with this name, or this beginning of a long name, does not count."""
    name = name.lower()
    return name in VOLATILE_NAMES or name.startswith(VOLATILE_PREFIXES)
