"""A store's file, opened: who may read and write it, and transactions that hold wholly or not at all."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from deciban.errors import InputError, SchemaError, StoreError
from deciban.mail.refusals import in_words, refusal
from deciban.mail.schema import APPLICATION, VERSION, column, create_tables, header

MOST_NOTES: Final = 1000
"""Lines of the journal that are kept."""

MOST_LABELS: Final = 200
LONGEST_LABEL: Final = 200

CACHE: Final = 65536
"""KiB of pages a writer keeps in memory: a batch of new words lands on all of them."""

TRIES: Final = 50
"""How often a moment's obstacle is tried again while a new file is given its form: SQLite does not wait there."""


class Opened:
    """A connection to a store, and what all that is done with it needs."""

    def __init__(self, path: str | os.PathLike[str], create: bool, wait: float, read_only: bool) -> None:
        self.path = Path(os.path.realpath(path))  # SQLite's own files stand beside what a link points to
        self._copy: str | None = None
        self._writes = False
        fresh = _refuse_or_create(self.path, create and not read_only)
        self.writable = not read_only and _may_write(self.path)
        with in_words(self.path):
            self.db = self._connect(wait)
            try:
                self._settle(fresh)
            except BaseException:
                self.close()
                raise

    def _connect(self, wait: float) -> sqlite3.Connection:
        if self.writable:
            db = _connection(self.path, "mode=rw", wait)
            db.execute(f"PRAGMA cache_size = -{CACHE}")
            db.execute("PRAGMA synchronous = FULL")  # what was said to be learned is on the disk
            return db
        db = _connection(self.path, "mode=ro", wait)
        try:
            header(db)
        except sqlite3.OperationalError:
            db.close()
            return self._unshared(wait)
        return db

    def _unshared(self, wait: float) -> sqlite3.Connection:
        """For readers who may not even make the file that readers and writers share: so nobody is writing now.

        What a writer left behind when it was killed is in the -wal beside the store: it is read from a copy.
        """
        log = Path(f"{self.path}-wal")
        if not log.exists() or not log.stat().st_size:
            return _connection(self.path, "mode=ro&immutable=1", wait)
        self._copy = tempfile.mkdtemp(prefix="deciban-mail-")
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy, file.name))
        return _connection(Path(self._copy, self.path.name), "mode=rw", wait)

    def _settle(self, fresh: bool) -> None:
        application, version, blank = header(self.db)
        if blank and (application, version) == (0, 0) and fresh and self.writable:
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
        for attempt in range(TRIES):
            try:
                self.db.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or attempt == TRIES - 1:
                    raise
                time.sleep(0.02)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is asked in the block is answered from the store as it is now, whoever writes meanwhile."""
        with in_words(self.path):
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
    def writing(self) -> Iterator[None]:
        """What is done in the block is done wholly or not at all; other writers wait. Blocks may be nested."""
        if not self.writable:
            raise StoreError(
                f"mail store {str(self.path)!r} cannot be written: it was opened for reading, or the file, its "
                "folder or the disk is read-only. Hint: see who owns them"
            )
        with in_words(self.path):
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

    def labels(self) -> dict[str, int]:
        """Ids of labels by name, in the order of their first messages."""
        return dict(self.db.execute("SELECT name, id FROM label ORDER BY id").fetchall())

    def label_id(self, name: str) -> int:
        """A label's id; one that was not known gets a column of its own."""
        known = self.labels()
        if name in known:
            return known[name]
        if not name.strip() or len(name) > LONGEST_LABEL or not name.isprintable():
            raise InputError(
                f"{name!r} cannot be a label: it must be 1 to {LONGEST_LABEL} characters that can be printed"
            )
        if len(known) >= MOST_LABELS:
            raise InputError(f"{name!r} would be the {len(known) + 1}th label; a store has at most {MOST_LABELS}")
        made = self.db.execute("INSERT INTO label (name) VALUES (?)", (name,)).lastrowid
        assert made is not None
        self.db.execute(f"ALTER TABLE token ADD COLUMN {column(made)} REAL NOT NULL DEFAULT 0")
        return made

    def setting(self, key: str, default: Any = None) -> Any:
        """A value that was put there."""
        row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
        return default if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        """Keep a value, in JSON; None takes it away."""
        if value is None:
            self.db.execute("DELETE FROM setting WHERE key = ?", (key,))
        else:
            text = json.dumps(value, ensure_ascii=False, sort_keys=True)
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, text))

    def note(self, what: str, changes: int) -> None:
        """A line for the journal, and so many messages more that came, went or moved."""
        self.put("changes", self.setting("changes", 0) + changes)
        self.db.execute("INSERT INTO journal (time, what) VALUES (?, ?)", (time.time(), what))
        self.db.execute("DELETE FROM journal WHERE id <= (SELECT max(id) FROM journal) - ?", (MOST_NOTES,))

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self.db.close()
        if self._copy:
            shutil.rmtree(self._copy, ignore_errors=True)


def refuse_another_reading(path: Path, here: str | None, there: str | None) -> None:
    """Two ways of reading mail do not mix: their words would not mean the same."""
    if here is not None and there is not None and here != there:
        raise SchemaError(
            f"mail store {str(path)!r} holds mail read as {here!r}; this would be mail read as {there!r}. "
            "Hint: learn the mail again into a new store"
        )


def _refuse_or_create(path: Path, create: bool) -> bool:
    """Whether the file may yet become a store; one that is not there is made, for its owner alone."""
    try:
        if path.exists() and not path.is_file():
            raise StoreError(f"{str(path)!r} is no ordinary file, so no mail store. Hint: name a file")
        if not path.exists():
            if not create:
                raise StoreError(
                    f"there is no mail store {str(path)!r}. Hint: learn some messages first, or see the path"
                )
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):  # another program was quicker
                handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
                os.fchmod(handle, 0o600)  # whatever the umask
                os.close(handle)
        return create
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"mail store {str(path)!r} cannot be made: {error.strerror}. Hint: see its folder"
        ) from error


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _connection(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=wait, isolation_level=None)


__all__ = ["Opened", "refusal", "refuse_another_reading"]
