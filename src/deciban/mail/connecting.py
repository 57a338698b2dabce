"""Where a store may be, who may open it, and how much they may then do."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from deciban.errors import StoreError
from deciban.mail.refusals import refusal
from deciban.mail.schema import MAGIC, ends_early, header

CACHE: Final = 65536
"""KiB of pages a writer keeps in memory: a batch of new words lands on all of them."""

LOOKS, PAUSE = 5, 0.02
"""How often a store whose end is missing is looked at before it is said to be damaged, and seconds between."""

BARRED: Final = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""What SQLite says of a file that it could work on if it were free to make another beside it."""


def make_or_refuse(path: Path, create: bool) -> None:
    """Make a file that is not there, for its owner alone, or refuse what can be no store."""
    try:
        if not path.exists():
            _make(path, create)
        elif path.is_file():
            _refuse_other(path)
        else:
            raise StoreError(f"{str(path)!r} is no ordinary file, so no mail store. Hint: name a file")
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        said = f"cannot be opened: {error.strerror}. Hint: see who owns it and its folder"
        raise StoreError(f"mail store {str(path)!r} {said}") from error


def _make(path: Path, create: bool) -> None:
    if not create:
        raise StoreError(f"there is no mail store {str(path)!r}. Hint: learn some messages first, or see the path")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):  # another program was quicker
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.fchmod(handle, 0o600)  # whatever the umask
        os.close(handle)


def _refuse_other(path: Path) -> None:
    """Refuse what is no database, and what was cut off; a log beside it may hold what it lacks."""
    for _ in range(LOOKS):  # whoever holds the log may be putting it in its place at this moment
        with path.open("rb") as file:
            start = file.read(100)
            size = file.seek(0, os.SEEK_END)
        if size and not start.startswith(MAGIC):
            raise StoreError(f"{str(path)!r} is no mail store: it is no SQLite database. Hint: name another file")
        if not ends_early(start, size) or _log_size(path):
            return
        time.sleep(PAUSE)
    raise StoreError(f"mail store {str(path)!r} is damaged: its end is missing. Hint: put a backup in its place")


def _log_size(path: Path) -> int:
    """Bytes of the log beside a store; whoever closes the store last takes the log away, at any moment."""
    try:
        return os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        return 0


class Connected:
    """A connection that may write if anybody may, and otherwise reads: a full disk keeps nobody from classifying."""

    def __init__(self, path: Path, wait: float, read_only: bool) -> None:
        self.path, self._wait = path, wait
        self._copy: str | None = None
        self.barred: StoreError | None = None
        """Why nothing can be written."""
        if read_only or not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            self.barred = StoreError(
                f"mail store {str(path)!r} cannot be written: it was opened for reading, or the file, its folder or "
                "the disk is read-only. Hint: see who owns them"
            )
        self.db = self._connect()

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
        db = _connection(self.path, mode, self._wait)
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
        log = Path(f"{self.path}-wal")
        if not _log_size(self.path):
            return _connection(self.path, "mode=ro&immutable=1", self._wait)
        import shutil
        import tempfile

        self._copy = tempfile.mkdtemp(prefix="deciban-mail-")
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy, file.name))
        return _connection(Path(self._copy, self.path.name), "mode=rw", self._wait)

    def close(self) -> None:
        """Let go of the file."""
        with suppress(sqlite3.Error):
            self.db.close()
        if self._copy:
            import shutil

            shutil.rmtree(self._copy, ignore_errors=True)


def _raise_unless_barred(error: sqlite3.OperationalError) -> None:
    if error.sqlite_errorcode & 0xFF not in BARRED:
        raise error


def _connection(path: Path, mode: str, wait: float) -> sqlite3.Connection:
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")  # urllib's takes 5 ms to load
    return sqlite3.connect(f"file:{name}?{mode}", uri=True, timeout=wait, isolation_level=None)
