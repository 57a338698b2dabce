"""Tasks on one object, run one after the other, or in processes that each have a copy of it."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Self

Task = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function, and its arguments after the object that all tasks have in common."""

TASKS_AHEAD = 2
"""The number of tasks that each process has at a time: the one that it runs, and the next."""

SINGLE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
"""The environment of a process: as many processes as are allowed leave one core to each."""


class TaskRunner:
    """Runs tasks in their order, in up to `jobs` processes once these are started; the results are the same.

    The processes are new interpreters (loky): nothing is forked, and a script needs no main guard.
    """

    def __init__(self, common: Any, jobs: int) -> None:
        self._common, self._jobs, self._pool = common, jobs, None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, kill_workers=True)

    @property
    def jobs(self) -> int:
        """The number of processes that tasks run in."""
        return 1 if self._pool is None else self._jobs

    def start_processes(self) -> None:
        """Run tasks in several processes from now on, if more than one is allowed."""
        if self._jobs < 2 or self._pool is not None:
            return
        from joblib.externals.loky import ProcessPoolExecutor

        self._pool = ProcessPoolExecutor(
            self._jobs, initializer=_set_common, initargs=(self._common,), env={**os.environ, **SINGLE_THREAD}
        )

    def run(self, tasks: Iterable[Task]) -> Iterator[Any]:
        """Yield the result of each task in their order; a task is taken from `tasks` not long before it is run."""
        if self._pool is None:
            for function, arguments in tasks:
                yield function(self._common, *arguments)
            return
        left, running = iter(tasks), deque[Any]()
        while True:
            more = islice(left, TASKS_AHEAD * self._jobs - len(running))
            running.extend(self._pool.submit(_run_task, *task) for task in more)
            if not running:
                return
            result, raised = _wait_for(running.popleft())
            for warning in raised:
                warnings.warn(warning, stacklevel=2)
            yield result


def _wait_for(future: Any) -> Any:
    """Return the result of a task; raise a MemoryError where its process was killed."""
    from joblib.externals.loky import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool:
        raise MemoryError("a process ended before its task. Hint: n_jobs=1 needs less memory") from None


_COMMON: list[Any] = []
"""In a process of a `TaskRunner`, the object that its tasks have in common."""


def _set_common(common: Any) -> None:
    _COMMON[:] = [common]


def _run_task(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, list[Warning | str]]:
    """Run a task in a process; also return the warnings that it raised."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        result = function(*_COMMON, *arguments)
    return result, [each.message for each in raised]
