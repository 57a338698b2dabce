"""The open file of a store: its transactions, labels, settings and journal."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from deciban.errors import InputError, SchemaError, StoreError
from deciban.mail.store.sqlite_errors import Guard, invalid_value, report_damage
from deciban.mail.store.store_connection import StoreConnection, prepare_file
from deciban.mail.store.store_schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    check_value,
    column,
    create_tables,
    read_header,
)

MAX_JOURNAL_LINES: Final = 1000
"""Lines of the journal that are kept."""

MAX_QUERY_VALUES: Final = 500
"""Values of one query: older SQLites take at most 999."""

MAX_LABELS: Final = 200
MAX_LABEL_CHARACTERS: Final = 200

WAL_RETRY_SECONDS: Final = 0.02
"""Time between two attempts to switch a new file to WAL mode: SQLite itself does not wait there."""


class StoreFile:
    """A connection to a store, with transactions, labels, settings and the journal."""

    def __init__(self, path: str | os.PathLike[str], create: bool, wait: float, read_only: bool) -> None:
        self.path = Path(os.path.realpath(path))  # SQLite's own files are next to the target of a link
        self._is_writing, self._wait, self._process = False, wait, os.getpid()
        create = create and not read_only
        prepare_file(self.path, create)
        with report_damage(self.path):
            self._connection = StoreConnection(self.path, wait, read_only)
            self.db = self._connection.db
            try:
                self._initialise(create)
            except BaseException:
                self.close()
                raise

    @property
    def writable(self) -> bool:
        """Return whether anything can be changed."""
        return self._connection.read_only_reason is None

    def _initialise(self, create: bool) -> None:
        application, version, is_empty = read_header(self.db)
        if is_empty and (application, version) == (0, 0) and create and self.writable:
            self._create_tables()
            application, version, is_empty = read_header(self.db)
        if application != APPLICATION_ID:
            what = "an empty file" if is_empty else "a database of another program"
            raise StoreError(f"{str(self.path)!r} is {what}, not a mail store. Hint: name another file")
        self._check_version(version)
        if self.writable and self.db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # it was a backup
            self._switch_to_wal()

    def _check_version(self, version: int) -> None:
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"mail store {str(self.path)!r} was written by a later deciban (schema {version}; this one knows up "
                f"to {SCHEMA_VERSION}). It was left as it is. Hint: install the later one"
            )

    def _create_tables(self) -> None:
        self._switch_to_wal()
        with self._transaction():
            if read_header(self.db)[2]:
                create_tables(self.db)

    def _switch_to_wal(self) -> None:
        """Switch to WAL mode, in which readers do not wait for a writer. Another program may be doing so just now."""
        until = time.monotonic() + max(self._wait, 1.0)
        while True:
            try:
                self.db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
                time.sleep(WAL_RETRY_SECONDS)

    @contextmanager
    def reading(self, guard: Guard = report_damage) -> Iterator[None]:
        """Begin a block that reads one state of the store, whoever writes meanwhile.

        `guard` converts the errors of the block; in a block of user code, only those of SQLite are the store's.
        """
        self._refuse_forked()
        with guard(self.path):
            if self.db.in_transaction:
                yield
                return
            self.db.execute("BEGIN")
            try:
                yield
            finally:
                with suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")

    @contextmanager
    def writing(self, guard: Guard = report_damage) -> Iterator[None]:
        """Begin a block whose changes are made all or none; other writers wait. Blocks may be nested."""
        self._refuse_forked()
        if self._connection.read_only_reason:
            raise self._connection.read_only_reason
        with guard(self.path):
            if self._is_writing:
                yield
                return
            if self.db.in_transaction:
                raise StoreError(
                    f"mail store {str(self.path)!r} is being read; it cannot be written in the same block"
                )
            with self._transaction():
                self._check_version(self.db.execute("PRAGMA user_version").fetchone()[0])
                yield

    def _refuse_forked(self) -> None:
        """Refuse a connection that came with a fork: the child does not hold the locks that SQLite relies on."""
        if os.getpid() != self._process:
            raise StoreError(
                f"mail store {str(self.path)!r} was opened by the process that this one was forked from. "
                "Hint: open it after the fork, or start the process with spawn"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        self._is_writing = True
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # after some errors SQLite has done so itself
                self.db.execute("ROLLBACK")
            raise
        finally:
            self._is_writing = False

    def select_in(self, query: str, values: Iterable[Any], rest: str = "") -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT … WHERE … IN any number of values, some values at a time."""
        values = iter(values)
        while some := list(islice(values, MAX_QUERY_VALUES)):
            yield from self.db.execute(f"{query} ({','.join('?' * len(some))}) {rest}", some)

    def labels(self) -> dict[str, int]:
        """Return the ids of labels by name, in the order of their first messages."""
        return dict(self.db.execute("SELECT name, id FROM label ORDER BY id").fetchall())

    def label_id(self, name: str) -> int:
        """Return a label's id; a new label gets a column of its own."""
        known = self.labels()
        if name in known:
            return known[name]
        check_label_name(name)
        if len(known) >= MAX_LABELS:
            raise InputError(f"{name!r} would be the {len(known) + 1}th label; a store has at most {MAX_LABELS}")
        made = self.db.execute("INSERT INTO label (name) VALUES (?)", (name,)).lastrowid
        assert made is not None
        self.db.execute(f"ALTER TABLE token ADD COLUMN {column(made)} REAL NOT NULL DEFAULT 0")
        return made

    def setting(self, key: str, default: Any = None) -> Any:
        """Return the value of a setting."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        if row is None:
            return default
        try:
            return check_value(key, json.loads(row[0]))
        except InputError as error:
            raise invalid_value(self.path, f"setting {key!r}: {error}") from error

    def put(self, key: str, value: Any) -> None:
        """Set a setting, in JSON of ASCII characters (a file's name may hold lone surrogates); None deletes it."""
        if value is None:
            self.db.execute("DELETE FROM setting WHERE key = ?", (key,))
        else:
            text = json.dumps(value, sort_keys=True)
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, text))

    def note(self, text: str, changes: int) -> None:
        """Add a line to the journal, and so many changed messages to the count of changes."""
        self.put("changes", self.setting("changes", 0) + changes)
        self.db.execute("INSERT INTO journal (time, what) VALUES (?, ?)", (time.time(), text))
        self.db.execute("DELETE FROM journal WHERE id <= (SELECT max(id) FROM journal) - ?", (MAX_JOURNAL_LINES,))

    def close(self) -> None:
        """Close the file; a connection that came with a fork is left to the process that opened it."""
        if os.getpid() == self._process:
            self._connection.close()


def check_label_name(name: object) -> str:
    """Return the name of a label, if it is valid."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_LABEL_CHARACTERS or not name.isprintable():
        raise InputError(
            f"{name!r:.300} cannot be a label: it must be 1 to {MAX_LABEL_CHARACTERS} characters that can be printed"
        )
    return name


def check_same_reading(path: Path, here: str | None, there: str | None) -> None:
    """Refuse to mix mail that was read with different options: their tokens would not mean the same."""
    if here is not None and there is not None and here != there:
        raise SchemaError(
            f"mail store {str(path)!r} holds mail read as {here!r}; this would be mail read as {there!r}. "
            "Hint: learn the mail again into a new store"
        )
