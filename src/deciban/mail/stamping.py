"""The header that says what a message was taken for: written into it, in the place of any that came with it."""

from __future__ import annotations

import re

HEADER = "X-Deciban"

_ENVELOPE = re.compile(rb">?From [^\n]*\n")
_END = re.compile(rb"^\r?\n", re.MULTILINE)
_CRLF = re.compile(rb"[^\n]*\r\n")
_FORGED = re.compile(
    rb"^" + HEADER.encode() + rb"(?:-[^:\s]*)?[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE
)


def stamped(raw: bytes, value: str) -> bytes:
    r"""The message with the header before all others and every other byte as it was, but for headers of our name.

    >>> stamped(b"From me\r\nSubject: Hi\r\nx-deciban: ham\r\n  for sure\r\n\r\nX-Deciban: you\r\n", "spam; p=0.9")
    b'From me\r\nX-Deciban: spam; p=0.9\r\nSubject: Hi\r\n\r\nX-Deciban: you\r\n'
    """
    envelope = _ENVELOPE.match(raw)
    start = envelope.end() if envelope else 0
    blank = _END.search(raw, start)
    end = blank.start() if blank else len(raw)
    head = raw[start:end]
    if HEADER.lower().encode() in head.lower():
        head = _FORGED.sub(b"", head)
    newline = b"\r\n" if _CRLF.match(head or raw[end : end + 2]) else b"\n"
    return b"".join((raw[:start], f"{HEADER}: {value}".encode("ascii", "replace"), newline, head, raw[end:]))
