"""Work that takes more than a moment: a thread with its progress, which pages show and can stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from deciban.server.logs import log_failure
from deciban.server.operations import collect_warnings
from deciban.studio.messages import to_page_problem


class StoppedError(Exception):
    """Raised within a job that the user has stopped."""


class Job:
    """A piece of work in a thread; it is itself the progress function of `deciban.train` and `deciban.compare`."""

    def __init__(self, label: str, work: Callable[[Job], str], total: int | None = None) -> None:
        self.label, self.total = label, total
        self.things, self.done = "rows", 0
        self.state, self.error, self.next_path = "running", "", ""
        self.warnings: list[str] = []
        self._stop = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, name="deciban-studio-job", daemon=True)

    def start(self) -> Job:
        """Start the thread, and return the job."""
        self._thread.start()
        return self

    def begin(self, doing: str, things: str, total: int) -> None:
        """Begin a stage, named by what is done and the things that are counted (total 0: unknown); then `check`."""
        self.label, self.things, self.total, self.done = doing, things, total, 0
        self.check()

    def __call__(self, done: int) -> None:
        """Note how many rows, or other things, are done; then `check`."""
        self.done = done
        self.check()

    def check(self) -> None:
        """Raise StoppedError if the job was stopped."""
        if self._stop.is_set():
            raise StoppedError

    def stop(self) -> None:
        """Have the job stop when it next reports its progress."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the work, at most so many seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        """Do the work; its state is then done, stopped or failed."""
        try:
            with collect_warnings() as self.warnings:
                self.next_path = self._work(self)
            self.state = "done"
        except StoppedError:
            self.state = "stopped"
        except Exception as error:
            problem = to_page_problem(error)
            if problem.status == 500:
                log_failure("job", error)
            self.error, self.state = problem.detail, "failed"

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON values, for the script of the page."""
        return {
            "label": self.label, "things": self.things, "done": self.done, "total": self.total,
            "state": self.state, "error": self.error, "next": self.next_path,
        }  # fmt: skip
