"""The settings of a studio: its folder, its examples, its limits and the mail that it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MAX_UPLOAD_BYTES = 1 << 30
"""Bytes of the longest file that may be dropped on a page; a larger one is opened by its path."""


@dataclass(frozen=True)
class StudioSettings:
    """Everything that is fixed when a studio starts."""

    folder: Path
    """A folder for files that are dropped and models that are trained; it is removed at the end."""
    examples: Path
    """The folder of the bundled tables, NAME.csv."""
    port: int = 0
    max_upload_bytes: int = MAX_UPLOAD_BYTES
    mail_store: Path | None = None
    """The store of a mail filter; None: the page on mail says how to name one."""
    mail_sources: tuple[str, ...] = ()
    """Folders, mbox files and IMAP accounts in which the messages of the store are found."""
    report_address: Callable[[str], None] | None = None
    """A function that is called with the path of the next address with a token, once the former was used."""
