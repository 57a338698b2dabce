"""The desks of a spamd: threads that have a filter each, opened once, and the process that fits anew beside them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from deciban.errors import DecibanError, StoreError
from deciban.mail.filter import MailFilter
from deciban.mail.standing import StandingFilter

READERS: Final = 2
"""Desks that judge: Python runs one at a time, so more would only wait for each other."""

UPKEEP: Final = "import sys; sys.path[:] = {path!r}; from deciban.mail.spamd_desks import keep_up; keep_up({store!r})"

Job = Callable[[MailFilter], bytes]
Jobs = SimpleQueue[tuple[Job, Future[bytes]] | None]


class Desk:
    """A thread that does jobs with a filter of its own; the store may be changed, or replaced, by others."""

    def __init__(self, store: Path, create: bool = False) -> None:
        self._store, self._create = store, create
        self._mail: MailFilter | None = None
        self._opened: tuple[tuple[int, int] | None, object] = None, None

    def work(self, jobs: Jobs) -> None:
        """Do jobs until there is None."""
        while (job := jobs.get()) is not None:
            do, promise = job
            if not promise.set_running_or_notify_cancel():
                continue
            try:
                done = do(self._filter())
                self._refuse_replaced()
            except BaseException as error:
                self._let_go_after(error)
                promise.set_exception(error)
            else:
                promise.set_result(done)
            del job, do, promise  # a message is not kept until the next one comes
        self._close()

    def _filter(self) -> MailFilter:
        """The filter, opened anew where another file has taken the store's place or another model was chosen.

        The store is made when the server starts and at no other time: one that is gone is an error.
        """
        if self._mail is not None and self._opened != (self._file(), self._mail.store.setting("model")):
            self._close()
        if self._mail is None:
            self._mail = StandingFilter(self._store, create=self._create)
            self._create = False
            self._opened = self._file(), self._mail.store.setting("model")
        return self._mail

    def _file(self) -> tuple[int, int] | None:
        try:
            file = os.stat(self._store)
        except OSError:
            return None
        return file.st_dev, file.st_ino

    def _refuse_replaced(self) -> None:
        """Refuse to confirm what was done with a file that is no longer the store."""
        if self._file() != self._opened[0]:
            raise StoreError(
                f"mail store {str(self._store)!r} was deleted, moved or replaced meanwhile. Hint: try again"
            )

    def _let_go_after(self, error: BaseException) -> None:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, StoreError):
            cause = cause.__cause__
        if cause is not None:
            self._close()

    def _close(self) -> None:
        if self._mail is not None:
            with suppress(Exception):
                self._mail.close()
        self._mail = None


class Desks:
    """Some desks that judge, and one that learns: learning waits for other writers, judging for nobody."""

    def __init__(self, store: Path, readers: int = READERS) -> None:
        self._judging, self._learning = Jobs(), Jobs()
        self._readers = [_begun(Desk(store), self._judging) for _ in range(readers)]
        self._learner = _begun(Desk(store, create=True), self._learning)
        self.upkeep = Upkeep(store)

    def judge(self, job: Job) -> Future[bytes]:
        """Have something done by the next desk that is free."""
        return _put(self._judging, job)

    def learn(self, job: Job) -> Future[bytes]:
        """Have something learned, after all that was asked before."""
        return _put(self._learning, job)

    def open(self) -> None:
        """Open the store now: one that cannot be is told at once, and the first client need not wait."""
        self.learn(_warmed).result()
        self.judge(_warmed).result()

    def close(self, seconds: float) -> None:
        """End after what is being done."""
        for _ in self._readers:
            self._judging.put(None)
        self._learning.put(None)
        end = time.monotonic() + seconds
        for desk in (*self._readers, self._learner):
            desk.join(max(0.0, end - time.monotonic()))
        self.upkeep.stop()


def _warmed(mail: MailFilter) -> bytes:
    mail.classify(b"Subject: none\n\nNothing.")
    return b""


def _begun(desk: Desk, jobs: Jobs) -> threading.Thread:
    thread = threading.Thread(target=desk.work, args=(jobs,), name="spamd-desk", daemon=True)
    thread.start()
    return thread


def _put(jobs: Jobs, job: Job) -> Future[bytes]:
    promise: Future[bytes] = Future()
    jobs.put((job, promise))
    return promise


class Upkeep:
    """Fits anew and tidies in a process of its own, one at a time, when what was learned makes it due."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def goes_on(self) -> bool:
        """Whether the process is at work."""
        return self._process is not None and self._process.poll() is None

    def consider(self, mail: MailFilter) -> bytes:
        """Begin, if that is due and not going on. A job for the desk that learns; cheap."""
        if not self.goes_on and mail.store.writable and mail.is_fit_due():
            command = [sys.executable, "-c", UPKEEP.format(path=sys.path, store=str(self._store))]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return b""

    def stop(self) -> None:
        """End what is still going on: the store keeps what it had."""
        if self._process is not None and self.goes_on:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def keep_up(store: str) -> None:
    """The work of the process beside: what is due, for the benefit of later messages, giving way to those of now."""
    with suppress(OSError):
        os.nice(10)
    try:
        with MailFilter(store, create=False) as mail:
            mail.refit()
            if mail.store.status().tidy_due:
                mail.store.tidy()
    except DecibanError as error:
        sys.exit(f"nothing was fitted anew: {error}")
