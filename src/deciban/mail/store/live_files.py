"""The store files that this process has open.

SQLite guards a database by POSIX locks. Closing any descriptor of a file drops all locks that the process holds on
it, whoever opened the descriptor (sqlite.org/howtocorrupt.html, 2.2): another process may then delete the write-ahead
log while it is in use. So nothing but SQLite opens these files, and code that opens a user's file checks here first.
"""

import os
from pathlib import Path
from typing import Final

from deciban.errors import StoreError

FileId = tuple[int, int]
"""Device and inode."""

COMPANIONS: Final = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps next to a database."""

_open_files: dict[object, tuple[FileId, str]] = {}
"""Ids and paths of databases by connection.

Each change is one operation on a dict, so threads need no lock, and a fork can leave none held.
"""

_inherited: dict[object, FileId] = {}
"""Ids of databases by connection that this process inherited at a fork and has not discarded.

Their descriptors are open here, so no other file can have the same id meanwhile.
"""


def register(path: str | os.PathLike[str]) -> object:
    """Register one more connection to a database; `release` takes what is returned.

    A file that was open when this process was forked is refused: SQLite would assume that the child holds the locks
    of its parent (sqlite.org/howtocorrupt.html, 2.6).
    """
    file = file_id(path)
    if file in _inherited.copy().values():
        raise StoreError(
            f"mail store {os.fspath(path)!r} was open when this process was forked from another, so it cannot be "
            "opened here. Hint: close it before the fork, or start the process with spawn"
        )
    connection = object()
    if file is not None:
        _open_files[connection] = file, os.fspath(path)
    return connection


def release(connection: object) -> None:
    """Undo one `register`."""
    _open_files.pop(connection, None)
    _inherited.pop(connection, None)


def is_live(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a database that this process has open, or a file that SQLite keeps next to it."""
    if not _open_files or (file := file_id(path)) is None:
        return False
    databases = set(_open_files.copy().values())
    return any(
        file == database or any(file == file_id(f"{name}{ending}") for ending in COMPANIONS)
        for database, name in databases
    )


def companions(database: Path) -> list[Path]:
    """Return the paths of the files that SQLite keeps next to a database, whether they exist or not."""
    return [Path(f"{database}{ending}") for ending in COMPANIONS]


def file_id(path: str | os.PathLike[str]) -> FileId | None:
    """Return the device and inode of a file, or None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _forget_parent() -> None:
    _inherited.update({connection: file for connection, (file, _) in _open_files.items()})
    _open_files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
