"""A copy of a store as it is at one moment, while others go on learning."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from deciban.errors import StoreError
from deciban.files.whole import whole
from deciban.mail.opened import Opened
from deciban.mail.schema import APPLICATION, MAGIC

APPLICATION_AT = 68
"""Where in a database's file its application's number is."""


def copy_to(file: Opened, path: str | os.PathLike[str]) -> None:
    """Write the copy, whole or not at all, for its owner alone; only an earlier copy is replaced."""
    target = Path(os.path.realpath(path))
    _refuse_target(file.path, target)
    try:
        with whole(target, 0o600) as unfinished, closing(sqlite3.connect(unfinished)) as copy:
            file.db.backup(copy)
            copy.execute(
                "PRAGMA journal_mode = DELETE"
            )  # one file, with nothing beside it; learning makes it WAL again
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"backup {str(target)!r} cannot be written: {error.strerror}. Hint: see its folder"
        ) from error


def _refuse_target(store: Path, target: Path) -> None:
    if target == store or (target.exists() and target.samefile(store)):
        raise StoreError(f"backup {str(target)!r} would be the store itself. Hint: name another file")
    if _is_in_use(target):
        raise StoreError(f"backup {str(target)!r} is a store that is in use. Hint: name another file")
    if target.is_file() and target.stat().st_size and not _is_store(target):
        raise StoreError(f"backup {str(target)!r} would replace what is no mail store. Hint: name another file")


def _is_in_use(target: Path) -> bool:
    """Whether somebody has it open; whoever only read it, or was killed, left a log that goes when it is closed."""
    log = Path(f"{target}-wal")
    if log.exists() and target.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(target)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return log.exists()


def _is_store(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(APPLICATION_AT + 4)
    return start.startswith(MAGIC) and start[APPLICATION_AT:] == APPLICATION.to_bytes(4, "big")
