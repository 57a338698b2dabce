"""Mail from wherever it lies: one iterator of messages, whatever a path turns out to be.

| kind | what | order |
|---|---|---|
| `mbox` | many messages in one file (also packed by gzip), or a file that begins as one | as in the file |
| `maildir` | a folder with `cur` and `new` | by time of arrival |
| `mh` | a folder of numbered files | by number |
| `folder` | any other folder, and all folders in it | by name |
| `message` | a file with one message (also packed by gzip) | |
| `stdin` | "-", or a pipe: a box or one message | |
| `imap` | `imaps://user@host/Folder` | by UID |

Memory holds a message and a piece of its file, however large the file is. Nothing is ever written, moved or marked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

from deciban.errors import InputError
from deciban.mail.sources import folders, mbox
from deciban.mail.sources.folders import Entry
from deciban.mail.sources.raw_message import (
    Problem,
    ProblemHandler,
    RawMessage,
    UnreadFile,
    max_read_bytes,
    report_trashed,
    warn_of_problem,
)
from deciban.mail.sources.small_files import message_in, small_size
from deciban.mail.sources.streams import pieces_of
from deciban.mail.store.live_files import is_live

KINDS = (
    'an mbox (also .gz), a Maildir, an MH folder, a folder of message files, one message, "-" for standard input, '
    "or imaps://user@host/Folder"
)

FOLDERS = ("maildir", "mh", "folder")

BOXES = (".mbox", ".mbx", ".mbox.gz", ".mbx.gz")
"""Files with such names are boxes even if they do not begin as one."""

LARGE = (*BOXES, ".gz")
"""Files with such names may hold any number of messages, however small they are."""


def source_kind(path: str | Path) -> str:
    """What a path is: one of `mbox`, `maildir`, `mh`, `folder`, `message`, `stdin` and `imap`.

    >>> source_kind("-"), source_kind("imaps://joe@example.org/Junk")
    ('stdin', 'imap')
    """
    if str(path) == "-":
        return "stdin"
    if str(path).lower().startswith(("imaps://", "imap://")):
        return "imap"
    place = _existing(path)
    if os.path.isdir(place):
        return "maildir" if folders.is_maildir(place) else "mh" if folders.is_mh(place) else "folder"
    if not folders.is_regular(place):
        return "stdin"
    with _opened(place) as stream:
        return "mbox" if _is_box(next(pieces_of(stream, str(place)), b""), place.name) else "message"


def read_mail(
    path: str | Path, *, trashed: bool = False, subfolders: bool = False, problems: ProblemHandler = warn_of_problem
) -> Iterator[RawMessage]:
    """All messages of a path, one after the other, in an order that is always the same.

    Messages marked as trashed (Maildir's T, IMAP's Deleted) are left out and counted unless asked for; the folders
    within a Maildir are read if asked for. `problems` is told of each file that cannot be read, and the others go on;
    unless given, it is a warning. What is not there at all, or holds no file, is an InputError at once.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as box:
    ...     _ = box.write(b"From joe\\nSubject: one\\n\\nHello.\\n\\nFrom ann\\nSubject: two\\n\\nBye.\\n")
    ...     box.flush()
    ...     [found.raw for found in read_mail(box.name)]
    [b'Subject: one\\n\\nHello.\\n', b'Subject: two\\n\\nBye.\\n']
    """
    kind = source_kind(path)
    if kind == "imap":
        from deciban.mail.sources.imap import imap_messages

        return imap_messages(str(path), trashed=trashed, problems=problems)
    if kind in FOLDERS:
        found = _of_folder(_entries(_existing(path), kind, subfolders, problems), problems)
    else:
        found = _piped(path, problems) if kind == "stdin" else _held_by(_entry(_existing(path)), problems)
    return found if trashed else _without_trash(path, found, problems)


def list_messages(
    path: str | Path, *, trashed: bool = False, subfolders: bool = False, problems: ProblemHandler = warn_of_problem
) -> Iterator[RawMessage | UnreadFile]:
    """The same for one who learns or judges many: small files of folders stay closed, for other processes to open.

    What is found in a file only then is told of then: that it cannot be read, or is marked as trashed in itself.
    """
    kind = source_kind(path)
    if kind not in FOLDERS:
        return read_mail(path, trashed=trashed, problems=problems)
    entries = _entries(_existing(path), kind, subfolders, problems)
    found = _left_closed(entries, trashed, problems)
    return found if trashed else _without_trash(path, found, problems)


def _left_closed(
    entries: Iterable[Entry], trashed: bool, problems: ProblemHandler
) -> Iterator[RawMessage | UnreadFile]:
    names_now = _NamesNow()
    for entry in entries:
        if not entry.path.lower().endswith(LARGE) and (size := small_size(entry.path)):
            yield UnreadFile(entry.path, entry.flags, entry.time, entry.alone, size, trashed, problems)
        else:
            yield from _of_folder([entry], problems, names_now)


def read_file_messages(entry: Entry, trashed: bool, problems: ProblemHandler) -> Iterable[RawMessage]:
    """The messages of a file that was left closed."""
    one = _at_once(entry)
    if one and (trashed or "T" not in one.flags):
        return (one,)
    found = _of_folder([entry], problems, _NAMES_NOW)
    return found if trashed else _without_trash(entry.path, found, problems)


def _entry(place: Path) -> Entry:
    return Entry(str(place), folders.flags_of(place.name), alone=place.suffix.lower() == ".eml")


def message_at(entry: Entry) -> RawMessage:
    """The one message of a file in a folder, read now."""
    (found,) = _held_by(Entry(entry.path, entry.flags, entry.time), warn_of_problem)
    return found


def read_stream(stream: BinaryIO) -> bytes:
    """A message that a mail system hands over by a pipe: all of it is one message, whatever it looks like.

    >>> from io import BytesIO
    >>> read_stream(BytesIO(b"From joe Mon Jan  1 10:00:00 2024\\nSubject: hello\\n"))
    b'From joe Mon Jan  1 10:00:00 2024\\nSubject: hello\\n'
    """
    return stream.read(max_read_bytes())


def _existing(path: str | Path) -> Path:
    place = Path(path).expanduser()
    try:
        place.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise InputError(f"{place}: there is no such file or folder. Hint: give {KINDS}") from None
        raise InputError(f"{place}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return place


def _opened(place: str | Path) -> BinaryIO:
    if is_live(place):
        raise InputError(f"{place}: is the mail store that is in use, or a file of it. Hint: give {KINDS}")
    try:
        return open(place, "rb", buffering=0)
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror}") from None


def _is_box(start: bytes, name: str) -> bool:
    return name.lower().endswith(BOXES) or (not name.lower().endswith(".eml") and mbox.opens(start))


def _piped(path: str | Path, problems: ProblemHandler) -> Iterator[RawMessage]:
    if str(path) == "-":
        yield from _told_apart(sys.stdin.buffer, Entry("-", alone=False), problems)
    else:
        with _opened(_existing(path)) as stream:
            yield from _told_apart(stream, Entry(str(path), alone=False), problems)


def _held_by(entry: Entry, problems: ProblemHandler) -> Iterator[RawMessage]:
    """The message of a file, or all of them if it is a box."""
    with _opened(entry.path) as stream:
        time = entry.time if entry.time is not None else os.fstat(stream.fileno()).st_mtime
        yield from _told_apart(stream, Entry(entry.path, entry.flags, time, entry.alone), problems)


def _told_apart(stream: BinaryIO, entry: Entry, problems: ProblemHandler) -> Iterator[RawMessage]:
    name, longest = entry.path, max_read_bytes()
    pieces = pieces_of(stream, name)
    first = next(pieces, b"")
    if not entry.alone and _is_box(first, name):
        yield from _of_box(name, mbox.letters_in(chain([first], pieces), longest), problems)
        return
    raw, trouble = _up_to(longest, first, pieces)
    if raw or entry.alone:  # an empty file is a box without messages
        yield RawMessage(name, raw, entry.time, entry.flags)
    if trouble:
        raise trouble


def _up_to(longest: int, first: bytes, pieces: Iterator[bytes]) -> tuple[bytes, InputError | None]:
    """One message up to its bound, and what went wrong after the bytes that could be read."""
    read = bytearray(first)
    try:
        while len(read) < longest and (piece := next(pieces, b"")):
            read += piece
    except InputError as error:
        return bytes(read[:longest]), error
    return bytes(read[:longest]), None


def _of_box(name: str, letters: Iterator[mbox.Letter], problems: ProblemHandler) -> Iterator[RawMessage]:
    """The messages of a box by number; one alone in a file that is not named as a box has the name of the file."""
    number, named = 0, name.lower().endswith(BOXES)
    for letter, last in _looking_ahead(letters):
        if not (letter.line or last or mbox.has_header(letter.raw)):
            reason = f'{len(letter.raw)} bytes before the first "From " line are no message and were left out'
            problems(Problem(name, reason, messages=0))
            continue
        number += 1
        own = name if last and number == 1 and not named else f"{name}:{number}"
        yield RawMessage(own, letter.raw, mbox.time_of(letter.line), mbox.flags_of(letter.raw))


def _looking_ahead(letters: Iterator[mbox.Letter]) -> Iterator[tuple[mbox.Letter, bool]]:
    """Each with whether it is the last; an error comes after all that came before it."""
    held: mbox.Letter | None = None
    trouble: InputError | None = None
    try:
        for letter in letters:
            if held:
                yield held, False
            held = letter
    except InputError as error:
        trouble = error
    if held:
        yield held, True
    if trouble:
        raise trouble


def _entries(place: Path, kind: str, subfolders: bool, problems: ProblemHandler) -> Iterator[Entry]:
    """The files of a folder, of which there must be one unless it is kept by a mail program."""
    entries = _listed(place, kind, subfolders, problems)
    first = next(entries, None)
    if first is None and kind == "folder":
        raise InputError(f"{place}: the folder has no files with messages. Hint: give {KINDS}")
    return chain([first] if first else [], entries)


def _listed(place: Path, kind: str, subfolders: bool, problems: ProblemHandler) -> Iterator[Entry]:
    if kind == "maildir":
        for folder in (place, *(folders.maildirs_within(place) if subfolders else ())):
            yield from folders.maildir_entries(folder)
    else:
        yield from folders.mh_entries(place) if kind == "mh" else folders.files_within(place, problems)


def _of_folder(
    entries: Iterable[Entry], problems: ProblemHandler, names_now: _NamesNow | None = None
) -> Iterator[RawMessage]:
    """The messages of many files; a file that cannot be read is told, and the others go on."""
    names_now = names_now or _NamesNow()
    for listed in entries:
        if found := _at_once(listed):
            yield found
            continue
        entry = names_now.of(listed)
        try:
            if not folders.is_regular(entry.path):
                raise InputError("is a pipe or a device, no file with a message")
            yield from _held_by(entry, problems)
        except (InputError, OSError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            problems(Problem(entry.path, reason.removeprefix(f"{entry.path}: ")))


def _at_once(entry: Entry) -> RawMessage | None:
    """The message of a small file that holds just that; whatever is in its way is told by who takes a closer look."""
    try:
        return None if entry.path.lower().endswith(BOXES) else message_in(entry)
    except OSError:
        return None


class _NamesNow:
    """Where messages of Maildirs are now: their readers set flags by renaming files, at any moment."""

    def __init__(self) -> None:
        self._listed: dict[tuple[Path, str], Entry] = {}

    def of(self, entry: Entry) -> Entry:
        """The same message under the name it has now, if it was renamed since its folder was listed."""
        if os.path.lexists(entry.path):
            return entry
        place = Path(entry.path).parent.parent
        if not folders.is_maildir(place):
            return entry
        now = self._listed.get((place, entry.key))
        if not now or not os.path.lexists(now.path):
            self._listed = {(place, other.key): other for other in folders.maildir_entries(place)}
            now = self._listed.get((place, entry.key))
        return now or entry


_NAMES_NOW = _NamesNow()
"""Where files are that were left closed: a mail program may rename thousands at once, and listing them takes time."""


Drawn = TypeVar("Drawn", RawMessage, RawMessage | UnreadFile)


def _without_trash(place: str | Path, found: Iterator[Drawn], problems: ProblemHandler) -> Iterator[Drawn]:
    left_out = 0
    for message in found:
        if "T" in message.flags:
            left_out += 1
        else:
            yield message
    report_trashed(str(place), left_out, problems)
