"""The file of a store: opened for writing or, if that fails, for reading; its transactions, labels and settings."""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self
from weakref import finalize

from deciban.errors import InputError, SchemaError, StoreError
from deciban.mail.store import store_schema
from deciban.mail.store.ageing import Ageing
from deciban.mail.store.live_files import is_live, register, release
from deciban.mail.store.sqlite_errors import Guard, invalid_value, report_damage, store_error, translate_errors
from deciban.mail.store.store_schema import APPLICATION_ID, MAX_LABELS, SCHEMA_VERSION, column, read_header

LOCK_TIMEOUT_SECONDS: Final = 30.0
"""Time to wait for other writers."""

CACHE_KIB: Final = 65536
"""Size of the page cache: a batch of new words changes pages all over the file."""

READ_ONLY_CODES: Final = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""Error codes of SQLite for a file that it cannot write, or cannot make another file next to."""

MAX_JOURNAL_LINES: Final = 1000
"""Lines of the journal that are kept."""

MAX_QUERY_VALUES: Final = 500
"""Values of one query: older SQLites take at most 999."""

WAL_RETRY_SECONDS: Final = 0.02
"""Time between two attempts to switch a new file to WAL mode: SQLite itself does not wait there."""


def prepare_file(path: Path, create: bool) -> None:
    """Make a file that does not exist, for its owner alone, or refuse one that cannot be a store; none is opened."""
    try:
        if not path.exists():
            _make_file(path, create)
        elif not path.is_file():
            raise StoreError(f"{str(path)!r} is not an ordinary file, so not a mail store. Hint: name a file")
        elif file_size(path) == 1:  # SQLite takes it for an empty file, and would overwrite it
            raise StoreError(
                f"{str(path)!r} is not a mail store: it is not a SQLite database. Hint: name another file"
            )
    except StoreError:
        raise
    except OSError as error:
        reason = f"cannot be opened: {error.strerror}. Hint: see who owns it and its folder"
        raise StoreError(f"mail store {str(path)!r} {reason}") from error


def _make_file(path: Path, create: bool) -> None:
    """Link an empty, closed file: another thread may open the store as soon as it has its name."""
    if not create:
        raise StoreError(f"there is no mail store {str(path)!r}. Hint: learn some messages first, or see the path")
    from deciban.atomic_write import create_temporary_file

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    empty = create_temporary_file(path, 0o600)
    try:
        os.chmod(empty, 0o600)  # whatever the umask
        os.link(empty, path)
    except FileExistsError:  # another program was quicker
        pass
    except OSError:  # a file system without hard links
        connect(path, "mode=rwc", 0.0).close()
        os.chmod(path, 0o600)
    finally:
        empty.unlink()


def file_size(path: str | os.PathLike[str]) -> int:
    """Return the size of a file, 0 if there is none: the last process to close a store deletes its log."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def connect(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    """Connect to a database; `mode` is the query of SQLite's URI, `wait` the seconds to wait for its locks."""
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # urllib's takes 5 ms to load
    return sqlite3.connect(f"file:{name}?{mode}", uri=True, timeout=wait, isolation_level=None)


class StoreFile:
    """A connection to a store, with transactions, labels, settings and the journal.

    It writes if that is possible, and otherwise reads: a full disk does not prevent classifying.
    """

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, wait: float = LOCK_TIMEOUT_SECONDS,
        read_only: bool = False,
    ) -> None:  # fmt: skip
        self.path = Path(os.path.realpath(path))  # SQLite's own files are next to the target of a link
        self._is_writing, self._wait, self._process = False, wait, os.getpid()
        self._copy: str | None = None
        self._read_only_reason: StoreError | None = None
        """Why nothing can be written."""
        create = create and not read_only
        prepare_file(self.path, create)
        if read_only or not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            self._read_only_reason = StoreError(
                f"mail store {str(self.path)!r} cannot be written: it was opened for reading, or the file, its "
                "folder or the disk is read-only. Hint: see who owns them"
            )
        self._release = finalize(self, release, register(self.path))
        try:
            with report_damage(self.path):
                self.db = self._connect()
                self._initialise(create)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; a connection that came with a fork is left to the process that opened it."""
        if os.getpid() != self._process:
            return
        if hasattr(self, "db"):
            with suppress(sqlite3.Error):
                self.db.close()
        self._release()
        if self._copy:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def writable(self) -> bool:
        """Return whether messages can be learned: not if it was opened for reading, or may only be read."""
        return self._read_only_reason is None

    def _connect(self) -> sqlite3.Connection:
        """Connect for writing or, if that fails and the reason is noted, for reading."""
        for mode in ["mode=rw", "mode=ro"] if self.writable else ["mode=ro"]:
            try:
                return self._try_connect(mode)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in READ_ONLY_CODES:
                    raise
                self._read_only_reason = self._read_only_reason or store_error(self.path, error)
        return self._connect_unshared()

    def _try_connect(self, mode: str) -> sqlite3.Connection:
        """Return a connection over which the header could be read."""
        db = connect(self.path, mode, self._wait)
        try:
            read_header(db)
            db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            db.execute("PRAGMA synchronous = FULL")  # what was reported as learned is on the disk
        except BaseException:
            db.close()
            raise
        return db

    def _connect_unshared(self) -> sqlite3.Connection:
        """Connect without the file that readers and writers share, which may not be made here: so nobody is writing.

        Changes that a killed writer left in the log are read from a copy.
        """
        self._release()  # no lock is held on the file from here on
        log = Path(f"{self.path}-wal")
        if not file_size(log):
            return connect(self.path, "mode=ro&immutable=1", self._wait)
        if is_live(self.path):  # copying would drop the locks of another connection
            raise StoreError(f"mail store {str(self.path)!r} is being opened in another way. Hint: try again")
        import shutil
        import tempfile

        self._copy = tempfile.mkdtemp(prefix="deciban-mail-")
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy, file.name))
        return connect(Path(self._copy, self.path.name), "mode=rw", self._wait)

    def _initialise(self, create: bool) -> None:
        """Make an empty database a store if `create`; refuse what is not a store or of a later version; use WAL."""
        application, version, is_empty = read_header(self.db)
        if is_empty and (application, version) == (0, 0) and create and self.writable:
            self._switch_to_wal()
            with self._transaction():
                if read_header(self.db)[2]:
                    store_schema.create_tables(self.db)
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
    def read_transaction(self, guard: Guard = translate_errors) -> Iterator[None]:
        """Begin a block in which all reads see the same state of the store, whoever writes meanwhile.

        `guard` converts the errors of the block: by default those of SQLite only, as others are the caller's own.
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
    def write_transaction(self, guard: Guard = translate_errors) -> Iterator[None]:
        """Begin a block whose changes are made all or none; it may be nested. StoreError if writing is impossible."""
        self._refuse_forked()
        if self._read_only_reason:
            raise self._read_only_reason
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

    def select_in(self, query: str, values: Iterable[Any], condition: str = "") -> Iterator[tuple[Any, ...]]:
        """Yield the rows of SELECT … WHERE … IN values, some values at a time; `condition` follows, with its AND."""
        values = iter(values)
        while some := list(islice(values, MAX_QUERY_VALUES)):
            yield from self.db.execute(f"{query} ({','.join('?' * len(some))}) {condition}", some)

    def n_messages(self) -> int:
        """Return the number of messages."""
        return int(self.db.execute("SELECT count(*) FROM message").fetchone()[0])

    def labels(self) -> dict[str, int]:
        """Return the ids of labels by name, in the order of their first messages."""
        return dict(self.db.execute("SELECT name, id FROM label ORDER BY id").fetchall())

    def ensure_label(self, name: str) -> int:
        """Return a label's id; a label that is not there is added, with a column of counts."""
        known = self.labels()
        if name in known:
            return known[name]
        store_schema.check_label_name(name)
        if len(known) >= MAX_LABELS:
            raise InputError(f"{name!r} would be label number {len(known) + 1}; a store has at most {MAX_LABELS}")
        made = self.db.execute("INSERT INTO label (name) VALUES (?)", (name,)).lastrowid
        assert made is not None
        self.db.execute(f"ALTER TABLE token ADD COLUMN {column(made)} REAL NOT NULL DEFAULT 0")
        return made

    def setting(self, key: str, default: Any = None) -> Any:
        """Return the value of a setting, or `default` if it is not set; StoreError if it is invalid."""
        with self.read_transaction(report_damage):
            row = self.db.execute("SELECT value FROM setting WHERE key = ?", (key,)).fetchone()
            if row is None:
                return default
            try:
                return store_schema.check_value(key, json.loads(row[0]))
            except InputError as error:
                raise invalid_value(self.path, f"setting {key!r}: {error}") from error

    def put(self, key: str, value: Any) -> None:
        """Set a setting, in JSON of ASCII characters (a file's name may hold lone surrogates); None deletes it."""
        if value is None:
            self.db.execute("DELETE FROM setting WHERE key = ?", (key,))
        else:
            text = json.dumps(value, sort_keys=True)
            self.db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, text))

    @property
    def ageing(self) -> Ageing:
        """Return how messages lose weight."""
        with self.read_transaction(report_damage):
            return Ageing(self.setting("half_life"), self.setting("origin"))

    def note(self, text: str, changes: int) -> None:
        """Add a line to the journal, and so many changed messages to the count of changes."""
        self.put("changes", self.setting("changes", 0) + changes)
        self.db.execute("INSERT INTO journal (time, what) VALUES (?, ?)", (time.time(), text))
        self.db.execute("DELETE FROM journal WHERE id <= (SELECT max(id) FROM journal) - ?", (MAX_JOURNAL_LINES,))


def check_same_reading(path: Path, here: str | None, there: str | None) -> None:
    """Refuse to mix mail that was read with different options: their tokens would not mean the same."""
    if here is not None and there is not None and here != there:
        raise SchemaError(
            f"mail store {str(path)!r} holds mail read as {here!r}; this would be mail read as {there!r}. "
            "Hint: learn the mail again into a new store"
        )
