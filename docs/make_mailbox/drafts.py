"""Messages before they are encoded, and their encoding as bytes.

The encoding is written by hand: Python's `email` folds lines differently from version to version.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from quopri import encodestring
from typing import NamedTuple
from urllib.parse import quote

from docs.make_mailbox.draw import Draw
from docs.make_mailbox.people import OWNER


class Attachment(NamedTuple):
    """A file attached to a message."""

    name: str
    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is encoded."""

    headers: tuple[tuple[str, str], ...]
    """Names and values as text; words beyond ASCII are encoded by `encode_message`."""
    text: str
    charset: str
    encoding: str
    """The transfer encoding of text beyond ASCII: 8bit, quoted-printable or base64."""
    page: str = ""
    """An HTML page, in addition to the text or in its place."""
    attachments: tuple[Attachment, ...] = ()
    boundary: str = "=_next"


Headers = tuple[tuple[str, str], ...]

NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
"""Networks reserved for examples; both wanted mail and spam come from all of them."""

HERE, HOME_ZONE = "mx.home.example", 2


def transport_headers(
    draw: Draw, address: str, time: datetime, zone: int, host: str = "", has_host_name: bool = True
) -> Headers:
    """Return the headers from Return-Path to Message-ID; without a host name, the sender has none or a false one."""
    host = host or address.partition("@")[2]
    number = f"{draw.choice(NETWORKS)}.{draw.randint(1, 254)}"
    false_name = draw.choice((host, f"[{number}]", "pc"))
    sent_from = f"mail.{host} (mail.{host} [{number}])" if has_host_name else f"{false_name} (unknown [{number}])"
    received_by = f"by {HERE} with ESMTP id {draw.digits(10)};\n {_date(time, HOME_ZONE)}"
    return (
        ("Return-Path", f"<{address}>"),
        ("Received", f"from {sent_from}\n {received_by}"),
        ("Date", _date(time - timedelta(seconds=draw.randint(1, 90)), zone)),
        ("Message-ID", f"<{draw.digits(16)}@{host}>"),
    )


def _date(time: datetime, zone: int) -> str:
    return format_datetime(time.astimezone(timezone(timedelta(hours=zone))))


def address_headers(name: str, address: str, subject: str, to: str = "") -> Headers:
    """Return From, To and Subject."""
    sender = f"{name} <{address}>" if name else address
    return (("From", sender), ("To", to or f"{OWNER[0]} <{OWNER[1]}>"), ("Subject", subject))


def reply_headers(draw: Draw) -> Headers:
    """Return the headers of a reply to one of the owner's messages."""
    earlier = f"<{draw.digits(16)}@home.example>"
    return (("In-Reply-To", earlier), ("References", earlier))


def list_headers(name: str, number: int) -> Headers:
    """Return the headers that a mailing list adds."""
    post = name.replace(".", "@", 1)
    return (
        ("List-Id", f"<{name}>"),
        ("List-Post", f"<mailto:{post}>"),
        ("List-Unsubscribe", f"<mailto:{name.replace('.', '-leave@', 1)}>"),
        ("Precedence", "list"),
        ("X-Sequence", str(number)),
    )


def mailer_headers(mailer: str) -> Headers:
    """Return the header that names the program a message was written with, if any."""
    return (("X-Mailer", mailer),) if mailer else ()


LONGEST_WORD = 42
"""Bytes of an encoded word; with its markers it stays below 76 characters."""

ADDRESS = re.compile(r"(.*) (<[^<>]+>)")


def encode_message(draft: Draft) -> bytes:
    """Return the whole message, with line ends as in a Maildir."""
    head = b"".join(_header(name, value, draft.charset) for name, value in draft.headers)
    return head + b"MIME-Version: 1.0\n" + _body(draft)


def _header(name: str, value: str, charset: str) -> bytes:
    person = ADDRESS.fullmatch(value)
    fill_phrase = f"{encode_words(person[1], charset)} {person[2]}" if person else encode_words(value, charset)
    return f"{name}: {fill_phrase}\n".encode("ascii")


def encode_words(text: str, charset: str) -> str:
    """Return words for a header: unchanged if ASCII, or as encoded words.

    >>> encode_words("Grüße", "iso-8859-1")
    '=?iso-8859-1?B?R3L832U=?='
    """
    if text.isascii():
        return text
    pieces = [""]
    for sign in text:
        if len((pieces[-1] + sign).encode(charset)) > LONGEST_WORD:
            pieces.append("")
        pieces[-1] += sign
    return "\n ".join(f"=?{charset}?B?{b64encode(piece.encode(charset)).decode()}?=" for piece in pieces)


def _body(draft: Draft) -> bytes:
    text = _text("plain", draft.text, draft)
    if draft.page:
        page = _text("html", draft.page, draft)
        text = _multipart("alternative", f"{draft.boundary}.a", [text, page]) if draft.text else page
    if not draft.attachments:
        return text
    return _multipart("mixed", draft.boundary, [text, *map(_attachment_part, draft.attachments)])


def _text(kind: str, text: str, draft: Draft) -> bytes:
    content = text.encode(draft.charset)
    encoding = "7bit" if content.isascii() and draft.encoding != "base64" else draft.encoding
    head = f"Content-Type: text/{kind}; charset={draft.charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    return head.encode() + _transfer_encode(content, encoding)


def _transfer_encode(content: bytes, encoding: str) -> bytes:
    if encoding == "base64":
        code = b64encode(content)
        return b"".join(code[i : i + 76] + b"\n" for i in range(0, len(code), 76))
    return encodestring(content) if encoding == "quoted-printable" else content


def _multipart(kind: str, boundary: str, parts: list[bytes]) -> bytes:
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'
    randint = f"--{boundary}\n".encode()
    return head.encode() + b"".join(randint + part + b"\n" for part in parts) + f"--{boundary}--\n".encode()


def _attachment_part(file: Attachment) -> bytes:
    name = f'filename="{file.name}"' if file.name.isascii() else f"filename*=utf-8''{quote(file.name)}"
    head = (
        f"Content-Type: {file.kind}\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment; {name}\n\n"
    )
    return head.encode() + _transfer_encode(file.content, "base64")
