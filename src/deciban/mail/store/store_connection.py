"""Connections to the file of a store: made if need be, and opened for writing or, if that fails, for reading."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import finalize

from deciban.errors import StoreError
from deciban.mail.store.live_files import is_live, register, release
from deciban.mail.store.sqlite_errors import store_error
from deciban.mail.store.store_schema import read_header

CACHE_KIB: Final = 65536
"""Size of the page cache: a batch of new words changes pages all over the file."""

READ_ONLY_CODES: Final = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""Error codes of SQLite for a file that it cannot write, or cannot make another file next to."""


def prepare_file(path: Path, create: bool) -> None:
    """Make a file that does not exist, for its owner alone, or refuse what can be no store; no file is opened."""
    try:
        if not path.exists():
            _make_file(path, create)
        elif not path.is_file():
            raise StoreError(f"{str(path)!r} is no ordinary file, so no mail store. Hint: name a file")
        elif file_size(path) == 1:  # SQLite takes it for an empty file, and would overwrite it
            raise StoreError(f"{str(path)!r} is no mail store: it is no SQLite database. Hint: name another file")
    except OSError as error:
        if isinstance(error, StoreError):
            raise
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


class StoreConnection:
    """A connection that writes if that is possible, and otherwise reads: a full disk does not prevent classifying."""

    def __init__(self, path: Path, wait: float, read_only: bool) -> None:
        self.path, self._wait = path, wait
        self._copy: str | None = None
        self._release = finalize(self, release, register(path))
        self.read_only_reason: StoreError | None = None
        """Why nothing can be written."""
        if read_only or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            self.read_only_reason = StoreError(
                f"mail store {str(path)!r} cannot be written: it was opened for reading, or the file, its folder or "
                "the disk is read-only. Hint: see who owns them"
            )
        try:
            self.db = self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self.read_only_reason is None:
            try:
                return self._try_connect("mode=rw")
            except sqlite3.OperationalError as error:
                _raise_unless_read_only(error)
                self.read_only_reason = store_error(self.path, error)
        try:
            return self._try_connect("mode=ro")
        except sqlite3.OperationalError as error:
            _raise_unless_read_only(error)
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

    def close(self) -> None:
        """Close the connection."""
        if hasattr(self, "db"):
            with suppress(sqlite3.Error):
                self.db.close()
        self._release()
        if self._copy:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)


def _raise_unless_read_only(error: sqlite3.OperationalError) -> None:
    if error.sqlite_errorcode & 0xFF not in READ_ONLY_CODES:
        raise error


def connect(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    """Connect to a database; `mode` is the query of SQLite's URI."""
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # urllib's takes 5 ms to load
    return sqlite3.connect(f"file:{name}?{mode}", uri=True, timeout=wait, isolation_level=None)
