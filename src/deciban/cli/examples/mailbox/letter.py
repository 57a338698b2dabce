"""A letter before it is bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class Attachment(NamedTuple):
    """A file that comes with a letter."""

    name: str
    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent."""

    headers: tuple[tuple[str, str], ...]
    """As people read them; those with names of people or words are encoded when written."""
    text: str
    charset: str
    way: str
    """How letters beyond ASCII travel: 8bit, quoted-printable or base64."""
    page: str = ""
    """A web page, beside the text or in its place."""
    attachments: tuple[Attachment, ...] = ()
    boundary: str = "=_next"


class Delivered(NamedTuple):
    """A letter in the mailbox."""

    moment: datetime
    folder: str
    """Empty for the inbox, or .Junk."""
    is_new: bool
    flags: str
    raw: bytes
