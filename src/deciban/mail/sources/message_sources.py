"""Mail from any source: one iterator of messages, whatever kind of source a path is.

| kind | source | order |
|---|---|---|
| `mbox` | many messages in one file (also packed by gzip), or a file that begins as one | as in the file |
| `maildir` | a folder with `cur` and `new` | by time of arrival |
| `mh` | a folder of numbered files | by number |
| `folder` | any other folder, and all folders in it | by name |
| `message` | a file with one message (also packed by gzip) | |
| `stdin` | "-", or a pipe: an mbox or one message | |
| `imap` | `imaps://user@host/Folder` | by UID |

Memory holds a message and a chunk of its file, however large the file is. Nothing is ever written, moved or marked.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Final, TypeVar

from deciban.errors import InputError
from deciban.mail.sources import file_recognition, mbox, message_files
from deciban.mail.sources.file_recognition import NotMailError
from deciban.mail.sources.mbox import read_chunks, stop_at_error
from deciban.mail.sources.message_files import MessageFile, Problem, ProblemHandler, RawMessage, warn_of_problem
from deciban.mail.store.live_files import is_live

SOURCES = (
    'an mbox (also .gz), a Maildir, an MH folder, a folder of message files, one message, "-" for standard input, '
    "or imaps://user@host/Folder"
)

FOLDER_KINDS = ("maildir", "mh", "folder")

MBOX_SUFFIXES = (".mbox", ".mbx", ".mbox.gz", ".mbx.gz")
"""Files with such names are mboxes even if they do not begin as one."""

CONTAINER_SUFFIXES = (*MBOX_SUFFIXES, ".gz")
"""Files with such names may hold any number of messages, however small they are."""

MAX_SMALL_FILE_BYTES: Final = 1 << 18
"""Nearly all files of a folder of mail are smaller, and are left to other processes to read."""


def source_kind(path: str | Path) -> str:
    """Return the kind of a path: `mbox`, `maildir`, `mh`, `folder`, `message`, `stdin` or `imap`.

    A path that does not exist is an InputError, a file that is not mail a NotMailError.

    >>> source_kind("-"), source_kind("imaps://joe@example.org/Junk")
    ('stdin', 'imap')
    """
    if str(path) == "-":
        return "stdin"
    if str(path).lower().startswith(("imaps://", "imap://")):
        return "imap"
    place = _resolve_path(path)
    if os.path.isdir(place):
        return "maildir" if message_files.is_maildir(place) else "mh" if message_files.is_mh(place) else "folder"
    if not message_files.is_regular(place):
        return "stdin"
    with _open_file(place) as stream:
        start = next(read_chunks(stream, str(place)), b"")
    if _is_mbox(start, place.name):
        return "mbox"
    file_recognition.refuse_other_files(start, str(place))
    return "message"


def read_mail(
    path: str | Path, *, trashed: bool = False, subfolders: bool = False, problems: ProblemHandler = warn_of_problem
) -> Iterator[RawMessage]:
    """Yield all messages of a path, in an order that is always the same.

    Messages marked as trashed (Maildir's T, IMAP's Deleted) are omitted and counted unless `trashed`; the folders
    within a Maildir are read if `subfolders`. `problems` receives each file that cannot be read, and the others are
    read; by default it warns. A path that does not exist, or a `folder` without files, is an InputError at once.

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
        from deciban.mail.sources.imap_connection import Address

        return imap_messages(Address.parse(str(path)), trashed=trashed, problems=problems)
    if kind in FOLDER_KINDS:
        found = _read_files(_list_files(_resolve_path(path), kind, subfolders, problems), problems)
    else:
        place = Path(path).expanduser()
        is_single = place.suffix.lower() in message_files.MESSAGE_SUFFIXES
        file = MessageFile(str(place), message_files.is_trashed(place.name), is_single=is_single)
        found = _read_pipe(path, problems) if kind == "stdin" else _read_file(file, problems)
    return found if trashed else _drop_trashed(path, found, problems)


def list_messages(
    path: str | Path, *, trashed: bool = False, subfolders: bool = False, problems: ProblemHandler = warn_of_problem
) -> Iterator[RawMessage | MessageFile]:
    """Yield the messages of a path as `read_mail`, but small files of folders unread, for other processes to open.

    Problems of such a file, and marks as trashed in it, are reported when it is read.
    """
    kind = source_kind(path)
    if kind not in FOLDER_KINDS:
        return read_mail(path, trashed=trashed, problems=problems)
    files = _list_files(_resolve_path(path), kind, subfolders, problems)
    found = _read_large_files(files, trashed, problems)
    return found if trashed else _drop_trashed(path, found, problems)


def _read_large_files(
    files: Iterable[MessageFile], trashed: bool, problems: ProblemHandler
) -> Iterator[RawMessage | MessageFile]:
    for file in files:
        if not file.path.lower().endswith(CONTAINER_SUFFIXES) and (size := _small_size(file.path)):
            yield file._replace(size=size, trashed=trashed, problems=problems)
        else:
            yield from _read_files([file], problems)


def read_file_messages(file: MessageFile) -> Iterable[RawMessage]:
    """Return the messages of a file that `list_messages` left unread."""
    found = _read_files([file], file.problems)
    return found if file.trashed else _drop_trashed(file.path, found, file.problems)


def read_single_message(file: MessageFile) -> RawMessage:
    """Read the one message of a file of a Maildir; InputError or OSError if it cannot be read."""
    message_files.refuse_irregular(file.path)
    (found,) = _read_file(file, warn_of_problem)
    return found


def _resolve_path(path: str | Path) -> Path:
    """Return a path with ~ replaced; InputError if it does not exist, or if it is empty, which names no folder."""
    if not str(path):
        raise InputError(f"the path of the mail is empty. Hint: give {SOURCES}")
    place = Path(path).expanduser()
    try:
        place.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise InputError(f"{place}: there is no such file or folder. Hint: give {SOURCES}") from None
        raise InputError(f"{place}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return place


def _open_file(place: str | Path) -> BinaryIO:
    """Open a file for reading, never a mail store that is in use; InputError if that fails."""
    if is_live(place):
        raise InputError(f"{place}: is the mail store that is in use, or a file of it. Hint: give {SOURCES}")
    try:
        return open(place, "rb", buffering=0)
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror}") from None


def _is_mbox(start: bytes, name: str) -> bool:
    """Return whether a file is an mbox by its name or, unless it is named .eml, by its beginning."""
    return name.lower().endswith(MBOX_SUFFIXES) or (not name.lower().endswith(".eml") and mbox.is_mbox(start))


def _read_pipe(path: str | Path, problems: ProblemHandler) -> Iterator[RawMessage]:
    """Yield the message of standard input (-) or of a pipe, or all of them if it is an mbox."""
    file = MessageFile(str(path), is_single=False)
    with nullcontext(sys.stdin.buffer) if file.path == "-" else _open_file(_resolve_path(path)) as stream:
        yield from _split_stream(stream, file, problems, is_pipe=True)


def _read_file(file: MessageFile, problems: ProblemHandler) -> Iterator[RawMessage]:
    """Yield the message of a file, or all of them if it is an mbox."""
    with _open_file(file.path) as stream:
        time = file.time if file.time is not None else os.fstat(stream.fileno()).st_mtime
        yield from _split_stream(stream, file._replace(time=time), problems)


def _split_stream(
    stream: BinaryIO, file: MessageFile, problems: ProblemHandler, is_pipe: bool = False
) -> Iterator[RawMessage]:
    """Yield the messages of a stream; where it is damaged, those before the damage, and then the error.

    A pipe is a message, whatever it contains: a mail system is at its other end.
    """
    chunks, limit = read_chunks(stream, file.path), message_files.max_read_bytes()
    first = next(chunks, b"")
    errors: list[InputError] = []
    undamaged = stop_at_error(chunks, errors)
    if not file.is_single and _is_mbox(first, file.path):
        yield from _number_messages(file.path, mbox.split_mbox(chain([first], undamaged), limit), problems)
    else:
        read = bytearray(first)
        while len(read) < limit and (chunk := next(undamaged, b"")):
            read += chunk
        raw = bytes(read[:limit])
        if file.path.lower().endswith(message_files.EMLX_SUFFIX):
            raw = file_recognition.extract_emlx(raw)
        elif not (file.is_single or is_pipe):
            file_recognition.refuse_other_files(first, file.path)
        if read or file.is_single:  # an empty file is an mbox without messages
            yield RawMessage(file.path, raw, file.time, file.is_trashed)
    for error in errors:
        raise error


def _number_messages(
    name: str, messages: Iterator[mbox.MboxMessage], problems: ProblemHandler
) -> Iterator[RawMessage]:
    """Name the messages of an mbox by number; a single one in a file not named as an mbox has the file's name."""
    number, is_named = 0, name.lower().endswith(MBOX_SUFFIXES)
    message = next(messages, None)
    while message:
        following = next(messages, None)
        if not (message.line or following is None or mbox.FIELD.match(message.raw)):
            reason = f'{len(message.raw)} bytes before the first "From " line are not a message and were left out'
            problems(Problem(name, reason, messages=0))
        else:
            number += 1
            own = name if following is None and number == 1 and not is_named else f"{name}:{number}"
            yield RawMessage(own, message.raw, mbox.parse_time(message.line), mbox.is_trashed(message.raw))
        message = following


def _list_files(place: Path, kind: str, subfolders: bool, problems: ProblemHandler) -> Iterator[MessageFile]:
    """Return the files of a folder by its kind.

    InputError for one of kind `folder` without any, unless it is `cur` or `new` of a Maildir.
    """
    if kind == "maildir":
        files = _list_maildirs(place, subfolders, problems)
    else:
        files = iter(message_files.list_mh(place)) if kind == "mh" else message_files.list_folder(place, problems)
    first = next(files, None)
    if first is None and kind == "folder" and not message_files.is_maildir_part(place):
        raise InputError(f"{place}: the folder has no files with messages. Hint: give {SOURCES}")
    return chain([first] if first else [], files)


def _list_maildirs(place: Path, subfolders: bool, problems: ProblemHandler) -> Iterator[MessageFile]:
    """Yield the files of a Maildir and, if `subfolders`, of those in it, of which unreadable ones are reported."""
    yield from message_files.list_maildir(place)
    for folder in message_files.find_maildirs(place, problems) if subfolders else ():
        try:
            yield from message_files.list_maildir(folder)
        except InputError as error:
            problems(Problem.from_error(str(folder), error))


def _read_files(files: Iterable[MessageFile], problems: ProblemHandler) -> Iterator[RawMessage]:
    """Yield the messages of many files; a file that cannot be read is reported, and the others are read."""
    for listed in files:
        file = _find_renamed(listed)
        try:
            message_files.refuse_irregular(file.path)
            yield from _read_file(file, problems)
        except (InputError, OSError) as error:
            is_mail = not isinstance(error, NotMailError)
            problems(Problem.from_error(file.path, error, int(is_mail), is_mail))


def _small_size(path: str) -> int:
    """Return the bytes of a small file; 0 if it is larger, no regular file, or cannot be read."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0
    return status.st_size if S_ISREG(status.st_mode) and status.st_size < MAX_SMALL_FILE_BYTES else 0


_LISTED_FILES: dict[tuple[Path, str], MessageFile] = {}
"""Files of the Maildir that was listed last: thousands may be renamed at once, and listing them takes time."""


def _find_renamed(file: MessageFile) -> MessageFile:
    """Return a file under its present name: mail programs set flags by renaming files of a Maildir, at any time."""
    if os.path.lexists(file.path) or not message_files.is_maildir(place := Path(file.path).parent.parent):
        return file
    now = _LISTED_FILES.get((place, file.key))
    if not now or not os.path.lexists(now.path):
        _LISTED_FILES.clear()
        _LISTED_FILES.update({(place, other.key): other for other in message_files.list_maildir(place)})
    return _LISTED_FILES.get((place, file.key), file)


Found = TypeVar("Found", RawMessage, RawMessage | MessageFile)


def _drop_trashed(place: str | Path, found: Iterator[Found], problems: ProblemHandler) -> Iterator[Found]:
    """Yield the messages that are not trashed, and report how many were."""
    omitted = 0
    for message in found:
        if message.is_trashed:
            omitted += 1
        else:
            yield message
    message_files.report_trashed(str(place), omitted, problems)
