"""Folders of messages, a file each: which files are mail, in which order, and what was done to them.

A Maildir has messages in `cur` and `new`, their flags after ":2,"; an MH folder numbers its files and keeps flags in
`.mh_sequences`; any other folder is gone through with all folders in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from deciban.errors import InputError
from deciban.mail.sources.raw_message import Problem, ProblemHandler

NO_MAIL = re.compile(
    r"\..*|dovecot.*|cmds|.*\.msf|maildirfolder|maildirsize|courierimap.*|subscriptions|cyrus\..*"
    r"|Thumbs\.db|desktop\.ini|popstate\.dat|msgFilterRules\.dat|filterlog\.html"
)
"""Hidden files, and what mail programs (and SpamAssassin's corpus: `cmds`) keep beside messages."""

_INFO = re.compile(r"[:;!]2,([A-Za-z]*)$")  # ":" is no letter of file names everywhere: ";" and "!" stand in for it
_SECONDS = re.compile(r"(\d{9,10})\.")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that holds one message, or, in a folder of anything, whatever it turns out to hold."""

    path: str
    flags: str = ""
    time: float | None = None
    alone: bool = True

    @property
    def name(self) -> str:
        """The file's own name."""
        return os.path.basename(self.path)

    @property
    def key(self) -> str:
        """What stays the same of a Maildir's file when flags are set or it goes from `new` to `cur`."""
        return re.split("[:;!,]", self.name, maxsplit=1)[0]


def is_maildir(folder: Path) -> bool:
    """Whether a folder is a Maildir: it has `cur` and `new`."""
    return os.path.isdir(folder / "cur") and os.path.isdir(folder / "new")


def is_mh(folder: Path) -> bool:
    """Whether a folder is MH's: it says so by `.mh_sequences`, or all it has are files whose names are numbers."""
    if os.path.isfile(folder / ".mh_sequences"):
        return True
    visible = [file for file in _listed(folder) if not file.name.startswith((".", ",", "#"))]
    return bool(visible) and all(_number(file.name) and not file.is_dir() for file in visible)


def maildirs_within(folder: Path) -> list[Path]:
    """The folders of a Maildir: `.Name` (Maildir++), or Maildirs that lie in it (Dovecot's layout "fs").

    Each is a path of its own: `Maildir/.Junk` may be given wherever a Maildir may.
    """
    names = [inner.name for inner in _listed(folder) if inner.is_dir() and inner.name not in ("cur", "new", "tmp")]
    below = [folder / name for name in names if is_maildir(folder / name)]
    return [found for inner in below for found in (inner, *maildirs_within(inner))]


def maildir_entries(folder: Path) -> list[Entry]:
    """The messages of `cur` and `new` in order of arrival, by their names; what is in `tmp` is half-written."""
    files = [file for part in ("new", "cur") for file in _listed(folder / part) if not file.name.startswith(".")]
    entries = [Entry(file.path, flags_of(file.name), _arrival(file.name)) for file in files if not file.is_dir()]
    return sorted(entries, key=lambda entry: (entry.time or 0.0, entry.name))


def mh_entries(folder: Path) -> list[Entry]:
    """The messages of an MH folder by number; those that it crossed out (",7", "#7") are none."""
    marks = _sequences(folder / ".mh_sequences")
    numbers = sorted(int(file.name) for file in _listed(folder) if _number(file.name) and not file.is_dir())
    return [Entry(str(folder / str(number)), _mh_flags(number, marks)) for number in numbers]


def files_within(folder: Path, problems: ProblemHandler) -> Iterator[Entry]:
    """All files of a folder and the folders in it, by name, except those that are surely no mail."""
    if is_maildir(folder):
        yield from maildir_entries(folder)
        return
    for inner in _listed(folder):
        if NO_MAIL.fullmatch(inner.name):
            continue
        if not inner.is_dir():
            alone = inner.name.lower().endswith(".eml")
            yield Entry(inner.path, flags_of(inner.name), _arrival(inner.name), alone)
        elif not inner.is_symlink():  # links may go round in circles
            try:
                yield from files_within(Path(inner.path), problems)
            except InputError as error:
                problems(Problem(inner.path, str(error).removeprefix(f"{inner.path}: "), messages=0))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read: {error.strerror}") from None


def is_regular(path: str | Path) -> bool:
    """Whether a path is a file with an end: a pipe in a folder would keep its reader waiting."""
    return S_ISREG(os.stat(path).st_mode)


def flags_of(name: str) -> str:
    """The flags in a Maildir's file name.

    >>> flags_of("1700000000.M1P2.host,S=320:2,FS"), flags_of("1700000000.M1P2.host")
    ('FS', '')
    """
    found = _INFO.search(name)
    return "".join(sorted(set(found[1]))) if found else ""


def _arrival(name: str) -> float | None:
    found = _SECONDS.match(name)
    return float(found[1]) if found else None


def _number(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")


def _sequences(path: Path) -> dict[str, list[range]]:
    """What `.mh_sequences` says ("unseen: 3 5-9"); a line that makes no sense says nothing."""
    try:
        lines = path.read_bytes().decode("latin-1").splitlines()
    except OSError:
        return {}
    named = (line.partition(":") for line in lines)
    return {
        name.strip(): [
            range(int(part[1]), int(part[2] or part[1]) + 1)
            for part in re.finditer(r"(\d{1,9})(?:-(\d{1,9}))?", numbers)
        ]
        for name, _, numbers in named
    }


def _mh_flags(number: int, marks: dict[str, list[range]]) -> str:
    def marked(name: str) -> bool:
        return any(number in numbers for numbers in marks.get(name, ()))

    seen = "S" if marks and not marked("unseen") else ""
    return ("F" if marked("flagged") else "") + ("R" if marked("replied") else "") + seen
