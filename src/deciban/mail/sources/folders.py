"""Folders with one file for each message: which files are mail, and in which order.

A Maildir has messages in `cur` and `new`, their flags after ":2,"; an MH folder numbers its files; any other folder
is read with all folders in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG

from deciban.errors import InputError
from deciban.mail.sources.message_files import MessageFile, Problem, ProblemHandler

NOT_MAIL = re.compile(
    r"\..*|dovecot.*|cmds|.*\.msf|maildirfolder|maildirsize|courierimap.*|subscriptions|cyrus\..*"
    r"|Thumbs\.db|desktop\.ini|popstate\.dat|msgFilterRules\.dat|filterlog\.html"
)
"""Hidden files, and files that mail programs (and SpamAssassin's corpus: `cmds`) keep next to messages."""

_INFO = re.compile(r"[:;!]2,([A-Za-z]*)$")  # ":" is not allowed in file names everywhere: ";" and "!" replace it
_SECONDS = re.compile(r"(\d{9,10})\.")


def is_maildir(folder: Path) -> bool:
    """Return whether a folder is a Maildir: it has `cur` and `new`."""
    return os.path.isdir(folder / "cur") and os.path.isdir(folder / "new")


def is_mh(folder: Path) -> bool:
    """Return whether a folder is MH's: it has `.mh_sequences`, or only files whose names are numbers."""
    if os.path.isfile(folder / ".mh_sequences"):
        return True
    visible = [file for file in _scan(folder) if not file.name.startswith((".", ",", "#"))]
    return bool(visible) and all(_is_number(file.name) and not file.is_dir() for file in visible)


def find_maildirs(folder: Path) -> list[Path]:
    """Find the folders of a Maildir: `.Name` (Maildir++), or Maildirs in it (Dovecot's layout "fs").

    Each is a path of its own: `Maildir/.Junk` may be given wherever a Maildir may.
    """
    names = [inner.name for inner in _scan(folder) if inner.is_dir() and inner.name not in ("cur", "new", "tmp")]
    below = [folder / name for name in names if is_maildir(folder / name)]
    return [found for inner in below for found in (inner, *find_maildirs(inner))]


def list_maildir(folder: Path) -> list[MessageFile]:
    """List the messages of `cur` and `new` in order of arrival, by their names; files in `tmp` are incomplete."""
    found = [file for part in ("new", "cur") for file in _scan(folder / part) if not file.name.startswith(".")]
    files = [MessageFile(x.path, is_trashed(x.name), _parse_time(x.name)) for x in found if not x.is_dir()]
    return sorted(files, key=lambda file: (file.time or 0.0, os.path.basename(file.path)))


def list_mh(folder: Path) -> list[MessageFile]:
    """List the messages of an MH folder by number; deleted ones (",7", "#7") do not count."""
    numbers = sorted(int(file.name) for file in _scan(folder) if _is_number(file.name) and not file.is_dir())
    return [MessageFile(str(folder / str(number))) for number in numbers]


def list_folder(folder: Path, problems: ProblemHandler) -> Iterator[MessageFile]:
    """List all files of a folder and the folders in it, by name, except those that are certainly not mail."""
    if is_maildir(folder):
        yield from list_maildir(folder)
        return
    for inner in _scan(folder):
        if NOT_MAIL.fullmatch(inner.name):
            continue
        if not inner.is_dir():
            is_single = inner.name.lower().endswith(".eml")
            yield MessageFile(inner.path, is_trashed(inner.name), _parse_time(inner.name), is_single)
        elif not inner.is_symlink():  # links may form a cycle
            try:
                yield from list_folder(Path(inner.path), problems)
            except InputError as error:
                problems(Problem(inner.path, str(error).removeprefix(f"{inner.path}: "), messages=0))


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as files:
            return sorted(files, key=lambda file: file.name)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read: {error.strerror}") from None


def is_regular(path: str | Path) -> bool:
    """Return whether a path is a regular file: reading a pipe in a folder could wait for ever."""
    return S_ISREG(os.stat(path).st_mode)


def is_trashed(name: str) -> bool:
    """Return whether a Maildir's file name has the flag T.

    >>> is_trashed("1700000000.M1P2.host,S=320:2,FT"), is_trashed("1700000000.M1P2.host")
    (True, False)
    """
    found = _INFO.search(name)
    return found is not None and "T" in found[1]


def _parse_time(name: str) -> float | None:
    found = _SECONDS.match(name)
    return float(found[1]) if found else None


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")
