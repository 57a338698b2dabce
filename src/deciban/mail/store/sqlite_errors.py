"""Convert the errors of SQLite, and those of invalid values in a store, to StoreError with a hint."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from deciban.errors import DecibanError, StoreError

INVALID_VALUE_ERRORS: Final = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError,
)  # fmt: skip
"""Errors that code raises for an invalid value in a database."""

Guard = Callable[[Path], AbstractContextManager[None]]
"""A context manager that converts the errors of a block."""

_REASONS: Final = {
    sqlite3.SQLITE_BUSY: "is being written by another program, for longer than we waited. Hint: try again",
    sqlite3.SQLITE_LOCKED: "is being written by another program, for longer than we waited. Hint: try again",
    sqlite3.SQLITE_FULL: "cannot grow: the disk or the quota is full. Nothing was changed. "
    "Hint: free disk space and try again",
    sqlite3.SQLITE_READONLY: "cannot be written: the file, its folder or the disk is read-only. "
    "Hint: see who owns them",
    sqlite3.SQLITE_PERM: "may not be opened by this user. Hint: see who owns it",
    sqlite3.SQLITE_AUTH: "may not be opened by this user. Hint: see who owns it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; its folder must exist, and be writable to learn. "
    "Hint: see who owns them",
    sqlite3.SQLITE_NOTADB: "is not a mail store: it is not a SQLite database, or its first bytes are damaged. "
    "Hint: name another file, or put a backup in its place",
    sqlite3.SQLITE_CORRUPT: "is damaged: a part of it is missing or was overwritten. Hint: put a backup in its place",
    sqlite3.SQLITE_IOERR: "could not be read or written by the system. Nothing was changed. "
    "Hint: see whether its disk is full or failing",
}

MEND_HINT: Final = "`deciban mail check --mend` counts the messages again"
FIT_HINT: Final = "`deciban mail fit` fits the model again"
BACKUP_HINT: Final = "put a backup in its place"


def invalid_value(path: Path, rule: str, hint: str = BACKUP_HINT) -> StoreError:
    """Return the StoreError for a value that no store holds; `rule` names the value and what it must be."""
    return StoreError(f"mail store {str(path)!r} cannot be used: {rule}. Hint: {hint}")


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise StoreError for each SQLite error in the block."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error


@contextmanager
def report_damage(path: Path) -> Iterator[None]:
    """Raise StoreError for each SQLite error, and for each error that an invalid value in the store causes."""
    try:
        with translate_errors(path):
            yield
    except DecibanError:
        raise
    except INVALID_VALUE_ERRORS as error:
        raise StoreError(
            f"mail store {str(path)!r} {_REASONS[sqlite3.SQLITE_CORRUPT]} ({type(error).__name__}: {error})"
        ) from error


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the StoreError for a SQLite error."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return StoreError(f"mail store {str(path)!r} {_REASONS.get(code, 'cannot be used.')} (SQLite: {error}, {name})")
