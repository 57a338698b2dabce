"""Where a store may be, who may open it, and how much they may then do."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import finalize

from deciban.errors import StoreError
from deciban.mail.store.live_files import is_live, register, release
from deciban.mail.store.sqlite_errors import refusal
from deciban.mail.store.store_schema import header

CACHE: Final = 65536
"""KiB of pages a writer keeps in memory: a batch of new words lands on all of them."""

BARRED: Final = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""What SQLite says of a file that it could work on if it were free to make another beside it."""


def make_or_refuse(path: Path, create: bool) -> None:
    """Make a file that is not there, for its owner alone, or refuse what can be no store; no file is opened."""
    try:
        if not path.exists():
            _make(path, create)
        elif not path.is_file():
            raise StoreError(f"{str(path)!r} is no ordinary file, so no mail store. Hint: name a file")
        elif file_size(path) == 1:  # SQLite takes it for an empty file, and would overwrite it
            raise StoreError(f"{str(path)!r} is no mail store: it is no SQLite database. Hint: name another file")
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        said = f"cannot be opened: {error.strerror}. Hint: see who owns it and its folder"
        raise StoreError(f"mail store {str(path)!r} {said}") from error


def _make(path: Path, create: bool) -> None:
    """Link an empty file that is closed already: another thread may open the store as soon as it has its name."""
    if not create:
        raise StoreError(f"there is no mail store {str(path)!r}. Hint: learn some messages first, or see the path")
    from deciban.atomic_write import empty_file_beside

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    empty = empty_file_beside(path, 0o600)
    try:
        os.chmod(empty, 0o600)  # whatever the umask
        os.link(empty, path)
    except FileExistsError:  # another program was quicker
        pass
    except OSError:  # a file system without hard links
        connection(path, "mode=rwc", 0.0).close()
        os.chmod(path, 0o600)
    finally:
        empty.unlink()


def file_size(path: str | os.PathLike[str]) -> int:
    """Bytes of a file, 0 if there is none: whoever closes a store last deletes its log, at any moment."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


class Connected:
    """A connection that may write if anybody may, and otherwise reads: a full disk keeps nobody from classifying."""

    def __init__(self, path: Path, wait: float, read_only: bool) -> None:
        self.path, self._wait = path, wait
        self._copy: str | None = None
        self._release = finalize(self, release, register(path))
        self.barred: StoreError | None = None
        """Why nothing can be written."""
        if read_only or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            self.barred = StoreError(
                f"mail store {str(path)!r} cannot be written: it was opened for reading, or the file, its folder or "
                "the disk is read-only. Hint: see who owns them"
            )
        try:
            self.db = self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        if self.barred is None:
            try:
                return self._tried("mode=rw")
            except sqlite3.OperationalError as error:
                _raise_unless_barred(error)
                self.barred = refusal(self.path, error)
        try:
            return self._tried("mode=ro")
        except sqlite3.OperationalError as error:
            _raise_unless_barred(error)
            return self._unshared()

    def _tried(self, mode: str) -> sqlite3.Connection:
        """A connection over which something was read."""
        db = connection(self.path, mode, self._wait)
        try:
            header(db)
            db.execute(f"PRAGMA cache_size = -{CACHE}")
            db.execute("PRAGMA synchronous = FULL")  # what was said to be learned is on the disk
        except BaseException:
            db.close()
            raise
        return db

    def _unshared(self) -> sqlite3.Connection:
        """For readers who may not even make the file that readers and writers share: so nobody is writing now.

        What a writer left behind when it was killed is in the log beside the store: it is read from a copy.
        """
        self._release()  # no lock is held on the file from here on
        log = Path(f"{self.path}-wal")
        if not file_size(log):
            return connection(self.path, "mode=ro&immutable=1", self._wait)
        if is_live(self.path):  # copying would drop the locks of another connection
            raise StoreError(f"mail store {str(self.path)!r} is being opened in another way. Hint: try again")
        import shutil
        import tempfile

        self._copy = tempfile.mkdtemp(prefix="deciban-mail-")
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy, file.name))
        return connection(Path(self._copy, self.path.name), "mode=rw", self._wait)

    def close(self) -> None:
        """Let go of the file."""
        if hasattr(self, "db"):
            with suppress(sqlite3.Error):
                self.db.close()
        self._release()
        if self._copy:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)


def _raise_unless_barred(error: sqlite3.OperationalError) -> None:
    if error.sqlite_errorcode & 0xFF not in BARRED:
        raise error


def connection(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    """Connect to a database; `mode` is what SQLite's URIs say of it."""
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # urllib's takes 5 ms to load
    return sqlite3.connect(f"file:{name}?{mode}", uri=True, timeout=wait, isolation_level=None)
