"""Letters as bytes. Written out by hand: Python's `email` folds lines differently from version to version."""

from __future__ import annotations

import re
from base64 import b64encode
from quopri import encodestring
from urllib.parse import quote

from deciban.cli.examples.mailbox.letter import Attachment, Letter

LONGEST_WORD = 42
"""Bytes of an encoded word; with what surrounds them they stay below 76 letters."""

ADDRESS = re.compile(r"(.*) (<[^<>]+>)")


def written(letter: Letter) -> bytes:
    """The whole message, lines ended as in a Maildir."""
    head = b"".join(_header(name, value, letter.charset) for name, value in letter.headers)
    return head + b"MIME-Version: 1.0\n" + _body(letter)


def _header(name: str, value: str, charset: str) -> bytes:
    person = ADDRESS.fullmatch(value)
    said = f"{encoded(person[1], charset)} {person[2]}" if person else encoded(value, charset)
    return f"{name}: {said}\n".encode("ascii")


def encoded(text: str, charset: str) -> str:
    """Words for a header: as they are, or in encoded words of a few letters each.

    >>> encoded("Grüße", "iso-8859-1")
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


def _body(letter: Letter) -> bytes:
    text = _text("plain", letter.text, letter)
    if letter.page:
        page = _text("html", letter.page, letter)
        text = _multipart("alternative", f"{letter.boundary}.a", [text, page]) if letter.text else page
    if not letter.attachments:
        return text
    return _multipart("mixed", letter.boundary, [text, *map(_attached, letter.attachments)])


def _text(kind: str, text: str, letter: Letter) -> bytes:
    content = text.encode(letter.charset)
    way = "7bit" if content.isascii() and letter.way != "base64" else letter.way
    head = f"Content-Type: text/{kind}; charset={letter.charset}\nContent-Transfer-Encoding: {way}\n\n"
    return head.encode() + _transported(content, way)


def _transported(content: bytes, way: str) -> bytes:
    if way == "base64":
        code = b64encode(content)
        return b"".join(code[i : i + 76] + b"\n" for i in range(0, len(code), 76))
    return encodestring(content) if way == "quoted-printable" else content


def _multipart(kind: str, boundary: str, parts: list[bytes]) -> bytes:
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'
    between = f"--{boundary}\n".encode()
    return head.encode() + b"".join(between + part + b"\n" for part in parts) + f"--{boundary}--\n".encode()


def _attached(file: Attachment) -> bytes:
    name = f'filename="{file.name}"' if file.name.isascii() else f"filename*=utf-8''{quote(file.name)}"
    head = (
        f"Content-Type: {file.kind}\nContent-Transfer-Encoding: base64\nContent-Disposition: attachment; {name}\n\n"
    )
    return head.encode() + _transported(file.content, "base64")
