"""The workers of a spamd: threads with a filter each, opened once, and a process that maintains the store."""

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
from deciban.mail.store.live_files import FileId, file_id

CLASSIFYING_WORKERS: Final = 2
"""Workers that classify: Python runs one at a time, so more would only wait for each other."""

LARGE_MESSAGE_BYTES: Final = 1 << 18
"""Larger messages have two workers of their own, to classify and to learn: small ones do not wait behind them."""

DELAY_PER_BYTE: Final = 1.0 / (1 << 20)
"""Seconds for each byte of a large message by which others that come later may go before it: fair to all, as a
message that takes long waits longer, but not for ever."""

TIDY_EXCESS_FRACTION: Final = 0.05
"""Fraction of the size limit by which a store without a fit exceeds it before it is tidied: each time costs a process
and a look at all messages, and would otherwise be due after every message that is learned."""

MAINTENANCE_PROGRAM: Final = (
    "import sys; sys.path[:] = {path!r}; from deciban.mail.spamd.worker_pool import maintain; maintain({store!r})"
)

Job = Callable[[MailFilter], bytes]


class QueuedJob(NamedTuple):
    """A job in a queue: first by when it is due, then in the order in which they came; without a job, the end."""

    due: float
    number: int
    job: Job | None
    result: Future[bytes]


JobQueue = PriorityQueue[QueuedJob]


class FilterWorker:
    """A thread that runs jobs with a filter of its own; the store may be changed, or replaced, by others."""

    def __init__(self, store: Path, create: bool = False) -> None:
        self._store, self._create = store, create
        self._mail: MailFilter | None = None
        self._opened: tuple[FileId | None, object] = None, None

    def work(self, jobs: JobQueue) -> None:
        """Run jobs until the end of the queue."""
        while (job := (queued := jobs.get()).job) is not None:
            result = queued.result
            if not result.set_running_or_notify_cancel():
                continue
            try:
                answer = job(self._open_filter())
                if file_id(self._store) != self._opened[0]:  # a job that was done with another file is not confirmed
                    reason = "was deleted, moved or replaced meanwhile. Hint: try again"
                    raise StoreError(f"mail store {str(self._store)!r} {reason}")
            except BaseException as error:
                self._close_after(error)
                result.set_exception(error)
            else:
                result.set_result(answer)
            del queued, job, result  # a message is not kept until the next one comes
        self._close()

    def _open_filter(self) -> MailFilter:
        """Return the filter, opened again if another file has replaced the store or another model was chosen.

        The store is made when the server starts and at no other time: one that is gone is an error.
        """
        if self._mail is not None and self._opened != (file_id(self._store), self._mail.store.setting("model")):
            self._close()
        while self._mail is None:
            before = file_id(self._store)
            self._mail = CachingMailFilter(self._store, create=self._create)
            self._create = False
            self._opened = file_id(self._store), self._mail.store.setting("model")
            if self._opened[0] != before:  # created or replaced meanwhile, so another file may be open: open it again
                self._close()
        return self._mail

    def _close_after(self, error: BaseException) -> None:
        """Close the filter if an error, or one that caused it, is of the store."""
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


class WorkerPool:
    """Workers that classify, and one that learns: learning waits for other writers, classifying does not wait.

    One more of each kind handles the large messages.
    """

    def __init__(self, store: Path) -> None:
        self._numbers = count()
        self._queues = {(learns, large): JobQueue() for learns in (False, True) for large in (False, True)}
        """The queues, by whether their jobs learn and whether their messages are large."""
        self._workers: list[tuple[JobQueue, threading.Thread]] = []
        for (learns, large), jobs in self._queues.items():
            for _ in range(1 if learns or large else CLASSIFYING_WORKERS):
                worker = FilterWorker(store, create=learns and not large)
                thread = threading.Thread(target=worker.work, args=(jobs,), name="spamd-worker", daemon=True)
                thread.start()
                self._workers.append((jobs, thread))
        self.maintenance = Maintenance(store)

    def put(self, job: Job, size: int = 0, learns: bool = False) -> Future[bytes]:
        """Queue a job with a message of this size for the next worker of its kind that is free."""
        is_large = size > LARGE_MESSAGE_BYTES
        due = time.monotonic() + (size * DELAY_PER_BYTE if is_large else 0.0)
        queued = QueuedJob(due, next(self._numbers), job, Future())
        self._queues[learns, is_large].put(queued)
        return queued.result

    def open(self) -> None:
        """Open the store now: an error is reported at once, and the first client need not wait."""
        for learns in (True, False):
            self.put(lambda mail: mail.classify(b"Subject: none\n\nNothing.").label.encode(), learns=learns).result()

    def close(self, seconds: float) -> None:
        """End all workers after their present jobs, within so many seconds."""
        for jobs, _ in self._workers:
            jobs.put(QueuedJob(math.inf, next(self._numbers), None, Future()))
        end = time.monotonic() + seconds
        for _, thread in self._workers:
            thread.join(max(0.0, end - time.monotonic()))
        self.maintenance.stop()


class Maintenance:
    """A process that refits when that is due, and tidies then where that is due too; one at a time.

    A store without a fit, as of the model `fisher`, is tidied once it exceeds its limit by `TIDY_EXCESS_FRACTION`.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Return whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def start_if_due(self, mail: MailFilter) -> bytes:
        """Start the process if it has something to do and none is running. A cheap job for the worker that learns."""
        if not self.is_running and mail.store.writable and _is_maintenance_due(mail):
            command = [sys.executable, "-c", MAINTENANCE_PROGRAM.format(path=sys.path, store=str(self._store))]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return b""

    def stop(self) -> None:
        """End a process that is running: the store stays as it was."""
        if self._process is not None and self.is_running:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _is_maintenance_due(mail: MailFilter) -> bool:
    """Return whether a refit is due, or tidying in a store without a fit; in others that waits for the next refit."""
    return mail.is_fit_due() or (mail.store.fit(mail.model) is None and mail.store.is_tidy_due(TIDY_EXCESS_FRACTION))


def maintain(store: str) -> None:
    """Refit and tidy a store where that is due, in one thread at a low priority: messages do not wait for it."""
    from deciban.engines.threads import limit_threads

    with suppress(OSError):
        os.nice(10)
    try:
        with limit_threads(1), MailFilter(store, create=False) as mail:
            mail.refit()
            if mail.store.is_tidy_due():
                mail.store.tidy()
    except DecibanError as error:
        sys.exit(f"nothing was refitted: {error}")
