"""Tasks on one object, run one after the other, or by processes that each have a copy of it.

The processes are new interpreters: nothing is forked, and a script needs no main guard. They have sessions of their
own, so that Ctrl-C is for the calling process, which ends them; should that be killed, they end too, as nobody writes
to them any more. (loky was tried: after Ctrl-C it reports locks that nobody has freed.)
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, Self

WorkerTask = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments after the object that all tasks have in common."""

TASKS_AHEAD = 2
"""The number of tasks for each process that are taken at a time: the one that it runs, and the next."""

SINGLE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
"""Variables of the environment of a process: each has one core."""

PROGRAM = "import sys; sys.path[:] = {path!r}; from deciban.training.worker_processes import serve; serve()"


class TaskRunner:
    """Runs tasks in their order, by up to `jobs` processes once these are started; the results are the same."""

    def __init__(self, common: Any, jobs: int) -> None:
        self._common, self._jobs = common, jobs
        self._processes: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes."""
        while self._processes:
            self._processes.pop().end()

    @property
    def jobs(self) -> int:
        """The number of processes that run tasks."""
        return max(1, len(self._processes))

    def start_processes(self) -> None:
        """Run tasks by several processes from now on, if more than one is allowed."""
        if self._jobs > 1 and not self._processes:
            common = pickle.dumps(self._common)
            self._processes = [WorkerProcess(common) for _ in range(self._jobs)]

    def run(self, tasks: Iterable[WorkerTask]) -> Iterator[Any]:
        """Yield the result of each task in their order; a task is taken from `tasks` not long before it is run."""
        if not self._processes:
            for function, arguments in tasks:
                yield function(self._common, *arguments)
            return
        idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        for process in self._processes:
            idle.put(process)

        def ask(task: WorkerTask) -> Answer:
            process = idle.get()
            try:
                return process.ask(task)
            finally:
                idle.put(process)

        left, running = iter(tasks), deque[Future[Answer]]()
        with ThreadPoolExecutor(self.jobs) as threads:
            try:
                while True:
                    running.extend(
                        threads.submit(ask, t) for t in islice(left, TASKS_AHEAD * self.jobs - len(running))
                    )
                    if not running:
                        return
                    yield _unpack(running.popleft().result())
            finally:
                if running:  # an error, or Ctrl-C: the threads wait for answers that are no longer needed
                    self.__exit__()
                    threads.shutdown(cancel_futures=True)


Answer = tuple[Any, list[Warning | str], Exception | None]
"""The result of a task, the warnings that it raised, and its error."""


def _unpack(answer: Answer) -> Any:
    """Return the result of an answer; raise its warnings, and its error, here."""
    result, raised, error = answer
    for warning in raised:
        warnings.warn(warning, stacklevel=3)
    if error is not None:
        raise error
    return result


class WorkerProcess:
    """A process that runs tasks on its copy of an object, one at a time."""

    def __init__(self, common: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=sys.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **SINGLE_THREAD}, start_new_session=True,
        )  # fmt: skip
        self._common: bytes | None = common

    def ask(self, task: WorkerTask) -> Answer:
        """Run a task; raise a MemoryError where the process has ended."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            if self._common is not None:
                self._process.stdin.write(self._common)
                self._common = None
            pickle.dump(task, self._process.stdin)
            self._process.stdin.flush()
            answer: Answer = pickle.load(self._process.stdout)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            raise MemoryError("a process ended before its task. Hint: n_jobs=1 needs less memory") from None
        return answer

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            with suppress(BrokenPipeError):  # what was not sent yet is lost
                pipe.close()


def serve() -> None:
    """Answer tasks that come on standard input, after their common object; the main function of a process."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not disturb the answers
    questions = sys.stdin.buffer
    with suppress(EOFError, BrokenPipeError):
        common = pickle.load(questions)
        while True:
            function, arguments = pickle.load(questions)
            answers.write(_answer(function, common, *arguments))
            answers.flush()


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return the pickled answer to a task."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as found:
            result, error = None, found
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an error that only its own module can make
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return pickle.dumps((result, [each.message for each in raised], error))
