"""The header that says what a message was taken for: written into it, in the place of any that came with it."""

from __future__ import annotations

import re

HEADER = "X-Deciban"

_ENVELOPE = re.compile(rb">?From [^\n]*\n")
_CRLF = re.compile(rb"[^\n]*\r\n")
_FORGED = re.compile(
    rb"^" + HEADER.encode() + rb"(?:-[^:\s]*+)?+[ \t]*+:[^\n]*+(?:\n[ \t][^\n]*+)*+(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)


def insert_header(raw: bytes, value: str) -> bytes:
    r"""The message with the header before all others and every other byte as it was, but for headers of our name.

    >>> insert_header(b"From me\r\nSubject: Hi\r\nx-deciban: ham\r\n  for sure\r\n\r\nX-Deciban: you\r\n", "spam; p=0.9")
    b'From me\r\nX-Deciban: spam; p=0.9\r\nSubject: Hi\r\n\r\nX-Deciban: you\r\n'
    """
    envelope = _ENVELOPE.match(raw)
    start = envelope.end() if envelope else 0
    end = _end_of_head(raw, start)
    head = raw[start:end]
    if HEADER.lower().encode() in head.lower():
        head = _FORGED.sub(b"", head)
    newline = b"\r\n" if _CRLF.match(head or raw[end : end + 2]) else b"\n"
    return b"".join((raw[:start], f"{HEADER}: {value}".encode("ascii", "replace"), newline, head, raw[end:]))


def _end_of_head(raw: bytes, start: int) -> int:
    """Where the first empty line begins, or where the bytes end; by searches that no bytes make slow."""
    if raw.startswith((b"\n", b"\r\n"), start):
        return start
    plain = raw.find(b"\n\n", start)
    either = raw.find(b"\n\r\n", start, plain + 1 if plain >= 0 else len(raw))
    return either + 1 if either >= 0 else plain + 1 if plain >= 0 else len(raw)
