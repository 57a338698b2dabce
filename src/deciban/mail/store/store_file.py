"""A store's file, opened: transactions that hold wholly or not at all, labels, settings and the journal."""

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
from deciban.mail.store.store_connection import Connected, make_or_refuse
from deciban.mail.store.store_schema import APPLICATION, VERSION, column, create_tables, header
from deciban.mail.store.store_settings import check_value

MOST_NOTES: Final = 1000
"""Lines of the journal that are kept."""

MAX_QUERY_VALUES: Final = 500
"""Values of one query: older SQLites take at most 999."""

MOST_LABELS: Final = 200
LONGEST_LABEL: Final = 200

PAUSE: Final = 0.02
"""Seconds after which an obstacle is tried again while a new file is given its form: SQLite does not wait there."""


class StoreFile:
    """A connection to a store, and what all that is done with it needs."""

    def __init__(self, path: str | os.PathLike[str], create: bool, wait: float, read_only: bool) -> None:
        self.path = Path(os.path.realpath(path))  # SQLite's own files stand beside what a link points to
        self._writes, self._wait, self._process = False, wait, os.getpid()
        create = create and not read_only
        make_or_refuse(self.path, create)
        with report_damage(self.path):
            self._connected = Connected(self.path, wait, read_only)
            self.db = self._connected.db
            try:
                self._settle(create)
            except BaseException:
                self.close()
                raise

    @property
    def writable(self) -> bool:
        """Whether anything can be changed."""
        return self._connected.barred is None

    def _settle(self, create: bool) -> None:
        application, version, blank = header(self.db)
        if blank and (application, version) == (0, 0) and create and self.writable:
            self._begin_anew()
            application, version, blank = header(self.db)
        if application != APPLICATION:
            what = "an empty file" if blank else "a database of another program"
            raise StoreError(f"{str(self.path)!r} is {what}, not a mail store. Hint: name another file")
        self._refuse_later(version)
        if self.writable and self.db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # it was a backup
            self._log_ahead()

    def _refuse_later(self, version: int) -> None:
        if version > VERSION:
            raise StoreError(
                f"mail store {str(self.path)!r} was written by a later deciban (schema {version}; this one knows up "
                f"to {VERSION}). It was left as it is. Hint: install the later one"
            )

    def _begin_anew(self) -> None:
        self._log_ahead()
        with self._transaction():
            if header(self.db)[2]:
                create_tables(self.db)

    def _log_ahead(self) -> None:
        """WAL mode: readers and a writer go side by side. Another program may be asking for it at this moment."""
        until = time.monotonic() + max(self._wait, 1.0)
        while True:
            try:
                self.db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
                time.sleep(PAUSE)

    @contextmanager
    def reading(self, guard: Guard = report_damage) -> Iterator[None]:
        """What is asked in the block is answered from the store as it is now, whoever writes meanwhile.

        `guard` words the errors of the block; where it is a user's, only SQLite's are the store's.
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
        """What is done in the block is done wholly or not at all; other writers wait. Blocks may be nested."""
        self._refuse_forked()
        if self._connected.barred:
            raise self._connected.barred
        with guard(self.path):
            if self._writes:
                yield
                return
            if self.db.in_transaction:
                raise StoreError(
                    f"mail store {str(self.path)!r} is being read; it is not written before that has ended"
                )
            with self._transaction():
                self._refuse_later(self.db.execute("PRAGMA user_version").fetchone()[0])
                yield

    def _refuse_forked(self) -> None:
        """Refuse a connection that came with a fork: the child has none of the locks that SQLite counts on."""
        if os.getpid() != self._process:
            raise StoreError(
                f"mail store {str(self.path)!r} was opened by the process that this one was forked from. "
                "Hint: open it after the fork, or start the process with spawn"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        self._writes = True
        try:
            yield
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # after some errors SQLite has done so itself
                self.db.execute("ROLLBACK")
            raise
        finally:
            self._writes = False

    def select_in(self, query: str, values: Iterable[Any], rest: str = "") -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a SELECT … WHERE … IN any number of values, some values at a time."""
        values = iter(values)
        while some := list(islice(values, MAX_QUERY_VALUES)):
            yield from self.db.execute(f"{query} ({','.join('?' * len(some))}) {rest}", some)

    def labels(self) -> dict[str, int]:
        """Ids of labels by name, in the order of their first messages."""
        return dict(self.db.execute("SELECT name, id FROM label ORDER BY id").fetchall())

    def label_id(self, name: str) -> int:
        """A label's id; one that was not known gets a column of its own."""
        known = self.labels()
        if name in known:
            return known[name]
        check_label_name(name)
        if len(known) >= MOST_LABELS:
            raise InputError(f"{name!r} would be the {len(known) + 1}th label; a store has at most {MOST_LABELS}")
        made = self.db.execute("INSERT INTO label (name) VALUES (?)", (name,)).lastrowid
        assert made is not None
        self.db.execute(f"ALTER TABLE token ADD COLUMN {column(made)} REAL NOT NULL DEFAULT 0")
        return made

    def setting(self, key: str, default: Any = None) -> Any:
        """A value that was put there."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        if row is None:
            return default
        try:
            return check_value(key, json.loads(row[0]))
        except InputError as error:
            raise invalid_value(self.path, f"setting {key!r}: {error}") from error

    def put(self, key: str, value: Any) -> None:
        """Keep a value, in JSON of ASCII characters (a file's name may hold lone surrogates); None takes it away."""
        if value is None:
            self.db.execute("DELETE FROM setting WHERE key = ?", (key,))
        else:
            text = json.dumps(value, sort_keys=True)
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, text))

    def note(self, what: str, changes: int) -> None:
        """A line for the journal, and so many messages more that came, went or moved."""
        self.put("changes", self.setting("changes", 0) + changes)
        self.db.execute("INSERT INTO journal (time, what) VALUES (?, ?)", (time.time(), what))
        self.db.execute("DELETE FROM journal WHERE id <= (SELECT max(id) FROM journal) - ?", (MOST_NOTES,))

    def close(self) -> None:
        """Let go of the file; a connection that came with a fork is left to the process that opened it."""
        if os.getpid() == self._process:
            self._connected.close()


def check_label_name(name: object) -> str:
    """A name that a label can have."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_LABEL or not name.isprintable():
        raise InputError(
            f"{name!r:.300} cannot be a label: it must be 1 to {LONGEST_LABEL} characters that can be printed"
        )
    return name


def check_same_reading(path: Path, here: str | None, there: str | None) -> None:
    """Two ways of reading mail do not mix: their words would not mean the same."""
    if here is not None and there is not None and here != there:
        raise SchemaError(
            f"mail store {str(path)!r} holds mail read as {here!r}; this would be mail read as {there!r}. "
            "Hint: learn the mail again into a new store"
        )
