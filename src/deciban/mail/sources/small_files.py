"""Small files that surely hold one message, read in one go: nearly all files of a folder of mail are such."""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import Final

from deciban.mail.sources import mbox
from deciban.mail.sources.folders import Entry
from deciban.mail.sources.raw_message import RawMessage
from deciban.mail.sources.streams import GZIP, OTHERS
from deciban.mail.store.live_files import is_live

SMALL: Final = 1 << 18
"""Bytes that a small file has at most."""

STRANGE: Final = (GZIP, *OTHERS, b"\xef\xbb\xbf", b"\r", b"\n")
"""How files begin that are to be looked at more closely."""

FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe would keep its opener waiting."""


def small_size(path: str) -> int:
    """The bytes of a small file; 0 if it is none, or cannot be asked."""
    try:
        told = os.stat(path)
    except (OSError, ValueError):
        return 0
    return told.st_size if S_ISREG(told.st_mode) and told.st_size < SMALL else 0


def message_in(entry: Entry) -> RawMessage | None:
    """The one message of a file, or None if there may be more to it than that; an OSError if it is not to be read."""
    if is_live(entry.path):
        return None
    file = os.open(entry.path, FLAGS)
    try:
        told = os.fstat(file)
        if not S_ISREG(told.st_mode) or not 0 < told.st_size < SMALL:
            return None
        raw = os.read(file, SMALL)
    finally:
        os.close(file)
    if len(raw) != told.st_size or raw.startswith(STRANGE) or raw[257:262] == b"ustar":
        return None
    time = told.st_mtime if entry.time is None else entry.time
    if entry.alone or not raw.startswith(b"From "):
        return RawMessage(entry.path, raw, time, entry.flags)
    return _letter_in(entry.path, raw)


def _letter_in(path: str, raw: bytes) -> RawMessage | None:
    """The one message of a box, if it is named as a message."""
    if raw.find(b"From ", 5) >= 0 or not mbox.opens(raw):  # it may begin another, or be quoted
        return None
    end = raw.find(b"\n") + 1 or len(raw)
    line, letter = raw[:end], mbox.without_the_gap(raw[end:])
    return RawMessage(path, letter, mbox.time_of(line), mbox.flags_of(letter))
