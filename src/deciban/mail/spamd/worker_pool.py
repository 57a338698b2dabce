"""The desks of a spamd: threads that have a filter each, opened once, and the process that fits anew beside them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import PriorityQueue
from typing import Final, NamedTuple

from deciban.errors import DecibanError, StoreError
from deciban.mail.filter import CachingMailFilter, MailFilter

READERS: Final = 2
"""Desks that judge: Python runs one at a time, so more would only wait for each other."""

LARGE_MESSAGE_BYTES: Final = 1 << 18
"""Larger messages have two worker threads of their own, to judge and to learn: small ones do not wait behind them."""

DELAY_PER_BYTE: Final = 1.0 / (1 << 20)
"""Seconds for each byte of a large message by which others that come later may go before it: fair to all, as a
message that takes long waits longer, but not for ever."""

UPKEEP: Final = (
    "import sys; sys.path[:] = {path!r}; from deciban.mail.spamd.worker_pool import keep_up; keep_up({store!r})"
)

Job = Callable[[MailFilter], bytes]


class QueuedJob(NamedTuple):
    """A job in a queue: first by when it is due, then in the order in which they came; without a job, the end."""

    due: float
    number: int
    job: Job | None
    promise: Future[bytes]


Jobs = PriorityQueue[QueuedJob]


class Desk:
    """A thread that does jobs with a filter of its own; the store may be changed, or replaced, by others."""

    def __init__(self, store: Path, create: bool = False) -> None:
        self._store, self._create = store, create
        self._mail: MailFilter | None = None
        self._opened: tuple[tuple[int, int] | None, object] = None, None

    def work(self, jobs: Jobs) -> None:
        """Do jobs until there is none."""
        while (do := (entry := jobs.get()).job) is not None:
            promise = entry.promise
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
            del entry, do, promise  # a message is not kept until the next one comes
        self._close()

    def _filter(self) -> MailFilter:
        """The filter, opened anew where another file has taken the store's place or another model was chosen.

        The store is made when the server starts and at no other time: one that is gone is an error.
        """
        if self._mail is not None and self._opened != (self._file(), self._mail.store.setting("model")):
            self._close()
        while self._mail is None:
            before = self._file()
            self._mail = CachingMailFilter(self._store, create=self._create)
            self._create = False
            self._opened = self._file(), self._mail.store.setting("model")
            if self._opened[0] != before:  # created or replaced meanwhile, so another file may be open: open it again
                self._close()
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
    """Workers that judge, and one that learns: learning waits for other writers, judging for nobody.

    One more of each kind takes the large messages.
    """

    def __init__(self, store: Path, readers: int = READERS) -> None:
        self._numbers = count()
        self._judging, self._judging_large = Jobs(), Jobs()
        self._learning, self._learning_large = Jobs(), Jobs()
        queues = [*[self._judging] * readers, self._judging_large, self._learning_large]
        self._desks = [(jobs, _begun(Desk(store), jobs)) for jobs in queues]
        self._desks.append((self._learning, _begun(Desk(store, create=True), self._learning)))
        self.upkeep = Upkeep(store)

    def judge(self, job: Job, size: int = 0) -> Future[bytes]:
        """Have something done with a message of a size by the next desk that is free."""
        return self._put(self._judging_large if size > LARGE_MESSAGE_BYTES else self._judging, job, size)

    def learn(self, job: Job, size: int = 0) -> Future[bytes]:
        """Have something learned, after all that was asked before; large messages have a queue of their own."""
        return self._put(self._learning_large if size > LARGE_MESSAGE_BYTES else self._learning, job, size)

    def _put(self, jobs: Jobs, job: Job, size: int) -> Future[bytes]:
        due = time.monotonic() + (size * DELAY_PER_BYTE if size > LARGE_MESSAGE_BYTES else 0.0)
        entry = QueuedJob(due, next(self._numbers), job, Future())
        jobs.put(entry)
        return entry.promise

    def open(self) -> None:
        """Open the store now: one that cannot be is told at once, and the first client need not wait."""
        self.learn(_warmed).result()
        self.judge(_warmed).result()

    def close(self, seconds: float) -> None:
        """End after what is being done."""
        for jobs, _ in self._desks:
            jobs.put(QueuedJob(math.inf, next(self._numbers), None, Future()))
        end = time.monotonic() + seconds
        for _, desk in self._desks:
            desk.join(max(0.0, end - time.monotonic()))
        self.upkeep.stop()


def _warmed(mail: MailFilter) -> bytes:
    mail.classify(b"Subject: none\n\nNothing.")
    return b""


def _begun(desk: Desk, jobs: Jobs) -> threading.Thread:
    thread = threading.Thread(target=desk.work, args=(jobs,), name="spamd-desk", daemon=True)
    thread.start()
    return thread


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
