"""A copy of a store as it is at one moment, while others go on learning."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from deciban.atomic_write import whole
from deciban.errors import StoreError
from deciban.mail.store.live_files import companions
from deciban.mail.store.store_connection import connection, file_size
from deciban.mail.store.store_file import StoreFile
from deciban.mail.store.store_schema import APPLICATION, header


def copy_to(file: StoreFile, path: str | os.PathLike[str]) -> None:
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
    """Refuse what is not an earlier backup, or is open; SQLite alone opens the target, which may be in use here."""
    if target == store or (target.exists() and target.samefile(store)):
        raise StoreError(f"backup {str(target)!r} would be the store itself. Hint: name another file")
    if target in companions(store):
        raise StoreError(f"backup {str(target)!r} would replace a file of the store itself. Hint: name another file")
    if target.is_file() and file_size(target) and not _is_store(target):
        raise StoreError(f"backup {str(target)!r} would replace what is no mail store. Hint: name another file")
    if any(companion.exists() for companion in companions(target)):
        raise StoreError(f"backup {str(target)!r} is a store that is in use. Hint: name another file")


def _is_store(target: Path) -> bool:
    """Whether SQLite finds a mail store; it applies and deletes a log or journal that a killed writer left there.

    A file that SQLite cannot read now (locked, not permitted) is refused: it may be another program's database.
    """
    try:
        with closing(connection(target, "mode=rw", 0.0)) as db:
            return header(db)[0] == APPLICATION
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"backup {str(target)!r} would replace a file that is in use or cannot be read (SQLite: {error}), "
            "so it may be no mail store. Hint: try again later, or name another file"
        ) from error
    except sqlite3.DatabaseError:
        return False
