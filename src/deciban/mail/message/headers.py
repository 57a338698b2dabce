"""Headers: names and values, unfolded and decoded; and the parameters of those that have them."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from functools import lru_cache

from deciban.mail.message.decoding import decoded, from_base64

NAME = re.compile(r"[!-9;-~]++ *+")
FIRST_FIELD = re.compile(rb"[!-9;-~]++[ \t]*+:")
FIELDS = re.compile(rb"(?:[!-9;-~]++[ \t]*+:.*+(?:\n|\Z)(?:[ \t].*+(?:\n|\Z))*+)*+")
WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?((?:[^?=]|=(?!\?[^=])|\?(?!=)){0,1000}+)\?=(\s*+(?==\?))?")
"""An encoded word; none begins within another, so that no text is looked at twice."""
TYPE = re.compile(r"\s*([^\s;/\"]{1,60}/[^\s;\"]{1,80}|[^\s;/\"]{1,60})")
PARAMETER = re.compile(r";\s*+([^\s;=\"]{1,60})\s*+=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"?|([^;]*+))", re.DOTALL)
CHARSET = re.compile(r"charset\s*+=\s*+[\"']?([^\"';\s]{1,60})", re.IGNORECASE)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
PIECE = re.compile(r"(.+?)\*(\d{1,3})\*?\Z")

LONGEST_KEPT = 200
MOST_KEPT = 1 << 13
"""So many lines of headers are remembered; then all are forgotten."""

Headers = list[tuple[str, str]]


def fields_of(head: bytes) -> Headers:
    """Each header's name in small letters and its value, decoded and on one line, in their order.

    >>> fields_of(b"Subject: =?utf-8?q?Caf=C3=A9?=\\n =?utf-8?q?_noir?=\\nTo: me")
    [('subject', 'Café noir'), ('to', 'me')]
    """
    try:
        text = head.decode("utf_8")
    except UnicodeDecodeError:
        text = _eight_bit(head)
    if "\0" in text:
        text = text.replace("\0", "")
    lines = text.replace("\t", " ").replace("\n ", " ").split("\n")
    return [field for field in map(FIELDS_MET.__getitem__, lines) if field]


class _FieldsMet(dict[str, tuple[str, str] | None]):
    """Lines of headers and what they say: half of a message's lines stand in others too."""

    def __missing__(self, line: str) -> tuple[str, str] | None:
        field = _field_of(line)
        if len(line) <= LONGEST_KEPT:
            if len(self) >= MOST_KEPT:
                self.clear()
            self[line] = field
        return field


FIELDS_MET = _FieldsMet()


def _field_of(line: str) -> tuple[str, str] | None:
    """Name and value of a line, if it is one of a header."""
    written, colon, value = line.partition(":")
    name = NAMES_MET[written] if colon else None
    if name is None:
        return None
    if "=?" in value:
        value = with_words_decoded(value)
    return name, value.strip() if "  " not in value else " ".join(value.split())


class _NamesMet(dict[str, str | None]):
    """What stands before colons, and the names of headers that it is."""

    def __missing__(self, written: str) -> str | None:
        name = written.lower().rstrip(" ") if NAME.fullmatch(written) else None
        if len(written) <= LONGEST_KEPT:
            if len(self) >= MOST_KEPT:
                self.clear()
            self[written] = name
        return name


NAMES_MET = _NamesMet()


def _eight_bit(head: bytes) -> str:
    """Headers that hold bytes of no stated charset: line by line, by the charset that the body claims."""
    stated = CHARSET.search(head.decode("latin_1"))
    charset = stated[1] if stated else ""
    return "\n".join([decoded(line, charset) for line in head.split(b"\n")])


def with_words_decoded(value: str) -> str:
    """A value with its encoded words (RFC 2047) read; neighbours join, broken ones stay as they are."""
    parts: list[str] = []
    at, open_charset, waiting = 0, "", b""
    for word in WORD.finditer(value):
        charset, way, text, glued = word.groups()
        if waiting and charset.lower() != open_charset:
            parts.append(decoded(waiting, open_charset))
            waiting = b""
        parts.append(value[at : word.start()])
        # A character may be split between neighbours of one charset: their bytes are read together.
        waiting += _word_bytes(way, text)
        open_charset, at = charset.lower().partition("*")[0], word.end()
        if glued is None:
            parts.append(decoded(waiting, open_charset))
            waiting = b""
    if waiting:
        parts.append(decoded(waiting, open_charset))
    parts.append(value[at:])
    return "".join(parts)


def _word_bytes(way: str, text: str) -> bytes:
    raw = text.encode("utf_8", "replace")
    return from_base64(raw) if way in "bB" else binascii.a2b_qp(raw, header=True)


@lru_cache(1 << 10)
def content_type(value: str) -> tuple[str, Mapping[str, str]]:
    """A type in small letters and its parameters; those in pieces or percents (RFC 2231) put together.

    >>> content_type('Text/HTML; charset="utf-8"; name*=utf-8\\'\\'caf%C3%A9.txt')
    ('text/html', {'charset': 'utf-8', 'name': 'café.txt'})
    """
    value = value[:4000]
    head = TYPE.match(value)
    if ";" not in value:
        return (head[1].lower() if head else ""), {}
    found: dict[str, str] = {}
    pieces: dict[str, list[str]] = {}
    for name, quoted, plain in PARAMETER.findall(value):
        name, text = name.lower(), ESCAPED.sub(r"\1", quoted) if quoted else plain.strip()
        if "*" not in name:
            found.setdefault(name, with_words_decoded(text) if "=?" in text else text)
        elif piece := PIECE.match(name):
            pieces.setdefault(piece[1], []).append(text)
        else:
            found[name.rstrip("*")] = _from_percents(text)
    found.update((name, _from_percents("".join(texts))) for name, texts in pieces.items())
    return (head[1].lower() if head else ""), found


def _from_percents(text: str) -> str:
    if "%" not in text and "'" not in text:
        return text
    charset, _, rest = text.partition("'")
    rest = rest.partition("'")[2] if "'" in rest else text
    data = PERCENT.sub(lambda code: bytes([int(code[1], 16)]), rest.encode("utf_8", "replace"))
    return decoded(data, charset if rest is not text else "")
