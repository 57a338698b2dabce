"""Messages as a source of mail gives them, read or still in their files; problems; and folders of message files.

A Maildir has messages in `cur` and `new`, their flags after ":2,"; an MH folder numbers its files; any other folder
is read with all folders in it.
"""

import os
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from deciban.errors import DecibanWarning, InputError

NOT_MAIL = re.compile(
    r"\..*|dovecot.*|cmds|.*\.msf|maildirfolder|maildirsize|courierimap.*|subscriptions|cyrus\..*"
    r"|Thumbs\.db|desktop\.ini|popstate\.dat|msgFilterRules\.dat|filterlog\.html"
)
"""Hidden files, and files that mail programs (and SpamAssassin's corpus: `cmds`) keep next to messages."""

EMLX_SUFFIX = ".emlx"
"""Files with such names are messages as Apple Mail keeps them."""

MESSAGE_SUFFIXES = (".eml", EMLX_SUFFIX)
"""Files with such names are one message, whatever they begin with."""

_INFO = re.compile(r"[:;!]2,([A-Za-z]*)$")  # ":" is not allowed in file names everywhere: ";" and "!" replace it
_SECONDS = re.compile(r"(\d{9,10})\.")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as it was found: its bytes, unchanged.

    `name` is its place ("box.mbox:17", "Maildir/cur/123:2,S", "imaps://user@host/Junk;uid=5"), `time` its arrival as
    far as its source knows (seconds since 1970); `is_trashed` tells whether its reader marked it as trashed.
    """

    name: str
    raw: bytes
    time: float | None = None
    is_trashed: bool = False


class Problem(NamedTuple):
    """A number of messages that a source had to omit while it went on with all else; or a file that is not mail."""

    name: str
    reason: str
    messages: int = 1
    is_mail: bool = True

    @classmethod
    def from_error(cls, name: str, error: Exception, messages: int = 0, is_mail: bool = True) -> "Problem":
        """Return the problem that an error states, in the system's words, without a name that begins it."""
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return cls(name, reason.removeprefix(f"{name}: "), messages, is_mail)

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


ProblemHandler = Callable[[Problem], None]
"""A function that receives each problem."""


def warn_of_problem(problem: Problem) -> None:
    """Issue a problem as a warning: the handler of callers that give none."""
    warnings.warn(str(problem), DecibanWarning, stacklevel=2)


class MessageFile(NamedTuple):
    """A file of a folder that is not read yet: it may be opened by another process.

    It holds one message or, unless `is_single`, perhaps an mbox. `is_trashed` and `time` are those that the folder
    tells; `size` (in bytes) is known for small files only; `trashed` tells whether trashed messages count.
    """

    path: str
    is_trashed: bool = False
    time: float | None = None
    is_single: bool = True
    trashed: bool = False
    size: int = 0
    problems: ProblemHandler = warn_of_problem

    @property
    def name(self) -> str:
        """The path, which is the name of its message."""
        return self.path

    @property
    def key(self) -> str:
        """The part of a Maildir's file name that stays when flags are set or it moves from `new` to `cur`."""
        return re.split("[:;!,]", os.path.basename(self.path), maxsplit=1)[0]


MessageInput = tuple[str, bytes] | RawMessage | MessageFile
"""A named message, a message as it was found (learned as of its arrival), or a file to read."""


def max_read_bytes() -> int:
    """Return the number of bytes read of a message: one more than is parsed, so that the parser knows it was cut."""
    from deciban.mail.message.message import MAX_MESSAGE_BYTES

    return MAX_MESSAGE_BYTES + 1


def report_trashed(name: str, messages: int, problems: ProblemHandler) -> None:
    """Report how many messages were omitted because they are marked as trashed."""
    if messages:
        those = "message that is" if messages == 1 else "messages that are"
        problems(Problem(name, f"{messages} {those} marked as trashed: left out", messages))


def is_maildir(folder: Path) -> bool:
    """Return whether a folder is a Maildir: it has `cur` and `new`."""
    return os.path.isdir(folder / "cur") and os.path.isdir(folder / "new")


def is_maildir_part(folder: Path) -> bool:
    """Return whether a folder is `cur` or `new` of a Maildir, whatever path leads to it: "." and links too."""
    places = Path(os.path.abspath(folder)), Path(os.path.realpath(folder))  # `cur` itself may be a link
    return any(place.name in ("cur", "new") and is_maildir(place.parent) for place in places)


def is_mh(folder: Path) -> bool:
    """Return whether a folder is MH's: it has `.mh_sequences`, or only files whose names are numbers."""
    if os.path.isfile(folder / ".mh_sequences"):
        return True
    visible = [file for file in _scan(folder) if not file.name.startswith((".", ",", "#"))]
    return bool(visible) and all(_is_number(file.name) and not _is_folder(file) for file in visible)


def find_maildirs(folder: Path, problems: ProblemHandler = warn_of_problem) -> list[Path]:
    """Find the folders of a Maildir: `.Name` (Maildir++), or Maildirs in it (Dovecot's layout "fs").

    Each is a path of its own: `Maildir/.Junk` may be given wherever a Maildir may. One to which links lead is listed
    once, by its path without links if it has one, and `folder` itself never. Of one whose folders cannot be listed,
    `problems` receives the reason; that of `folder` itself is an InputError.
    """
    found: dict[str, Path] = {}
    waiting = deque([folder])  # the next one on the right; links on the left, so that they come after all folders
    while waiting:
        path = waiting.pop()
        place = os.path.realpath(path)
        if place in found or not is_maildir(path):
            continue
        found[place] = path
        try:
            inner = [entry for entry in _scan(path) if entry.name not in ("cur", "new", "tmp")]
        except InputError as error:
            if path == folder:
                raise
            problems(Problem.from_error(str(path), error))
            continue
        waiting.extend(path / entry.name for entry in reversed(inner) if not entry.is_symlink())
        waiting.extendleft(path / entry.name for entry in inner if entry.is_symlink())
    return list(found.values())[1:]


def list_maildir(folder: Path) -> list[MessageFile]:
    """List the messages of `cur` and `new` in order of arrival, by their names; files in `tmp` are incomplete.

    A folder in the place of a message is listed too, so that reading it is reported.
    """
    found = [file for part in ("new", "cur") for file in _scan(folder / part) if not file.name.startswith(".")]
    files = [MessageFile(x.path, is_trashed(x.name), _parse_time(x.name)) for x in found]
    return sorted(files, key=lambda file: (file.time or 0.0, os.path.basename(file.path)))


def list_mh(folder: Path) -> list[MessageFile]:
    """List the messages of an MH folder by number; deleted ones (",7", "#7") do not count."""
    numbers = sorted(int(file.name) for file in _scan(folder) if _is_number(file.name) and not _is_folder(file))
    return [MessageFile(str(folder / str(number))) for number in numbers]


def list_folder(folder: Path, problems: ProblemHandler) -> Iterator[MessageFile]:
    """List all files of a folder and the folders in it, by name, except those that are certainly not mail."""
    if is_maildir(folder):
        yield from list_maildir(folder)
        return
    is_part = is_maildir_part(folder)
    for inner in _scan(folder):
        if NOT_MAIL.fullmatch(inner.name):
            continue
        if not _is_folder(inner):
            is_single = is_part or inner.name.lower().endswith(MESSAGE_SUFFIXES)
            yield MessageFile(inner.path, is_trashed(inner.name), _parse_time(inner.name), is_single)
        elif not inner.is_symlink():  # links may form a cycle
            try:
                yield from list_folder(Path(inner.path), problems)
            except InputError as error:
                problems(Problem.from_error(inner.path, error))


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder sorted by name; InputError if it cannot be read."""
    try:
        with os.scandir(folder) as files:
            return sorted(files, key=lambda file: file.name)
    except OSError as error:
        raise InputError(f"{folder}: the folder cannot be read: {error.strerror}") from None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; False for a link that leads nowhere, as to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_regular(path: str | Path) -> bool:
    """Return whether a path is a regular file; OSError if that cannot be found out."""
    return S_ISREG(os.stat(path).st_mode)


def refuse_irregular(path: str | Path) -> None:
    """Raise InputError for a path that is not a regular file: reading a pipe in a folder could wait for ever."""
    if not is_regular(path):
        raise InputError(f"{path}: is a folder, a pipe or a device, not a file with a message")


def is_trashed(name: str) -> bool:
    """Return whether a Maildir's file name has the flag T.

    >>> is_trashed("1700000000.M1P2.host,S=320:2,FT"), is_trashed("1700000000.M1P2.host")
    (True, False)
    """
    found = _INFO.search(name)
    return found is not None and "T" in found[1]


def _parse_time(name: str) -> float | None:
    """Return the seconds since 1970 with which a Maildir's file name begins; None for another name."""
    found = _SECONDS.match(name)
    return float(found[1]) if found else None


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")
