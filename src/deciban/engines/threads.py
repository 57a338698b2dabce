"""The number of threads that a call may use, and blocks of rows for them.

Blocks have a fixed size and are merged in their order, so the number of threads never changes a bit of the
result. The pool lives for one call: nothing survives into a forked child.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

from deciban.errors import InputError

LIMIT_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that a call may use.

    It is `n_jobs` (−1: all cores); else that of `limit_threads`; else that of joblib's context; else all the cores
    that this process may run on, within OMP_NUM_THREADS and similar limits. Inside a joblib worker it is one.
    """
    n_jobs = _thread_limit.get() if n_jobs is None else n_jobs
    if n_jobs is not None:
        return _resolve_n_jobs(n_jobs)
    joblib = sys.modules.get("joblib")
    if joblib is not None:
        backend, workers = joblib.parallel.get_active_backend()
        if getattr(backend, "nesting_level", 0):
            return 1
        if workers is not None:
            return _resolve_n_jobs(workers)
    return min([_count_cores(), *filter(None, map(_read_limit, LIMIT_VARIABLES))])


_thread_limit: ContextVar[int | None] = ContextVar("thread_limit", default=None)


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """Let calls in this context that name no number of threads use this many."""
    token = _thread_limit.set(n_threads)
    try:
        yield
    finally:
        _thread_limit.reset(token)


def _read_limit(name: str) -> int | None:
    """Read a limit from the environment, of nested ones ("4,2") the outermost; None unless it is positive."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _resolve_n_jobs(n_jobs: int) -> int:
    """Return the number of threads for `n_jobs`: −1 is all cores, −2 all but one, and so on; refuse 0."""
    if n_jobs == 0:
        raise InputError("n_jobs == 0 has no meaning. Hint: 1 for one thread, -1 for all cores, None to decide")
    return n_jobs if n_jobs > 0 else max(1, _count_cores() + 1 + n_jobs)


def _count_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def limit_products_to_one_core(wanted: bool) -> Iterator[None]:
    """If `wanted`, run each matrix product on one core while blocks run in threads: no more threads, same bits."""
    if not wanted:
        yield
        return
    shared = _PRODUCT_LIMIT
    with shared.lock:
        shared.calls += 1
        if shared.calls == 1:
            shared.limit = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with shared.lock:
            shared.calls -= 1
            if shared.calls == 0:
                _release_controlling_thread()
                shared.limit.restore_original_limits()
                _release_controlling_thread()


@dataclass
class _ProductLimit:
    """The process-wide limit, set by the first call that needs it and lifted by the last, in whatever thread."""

    lock: Lock = field(default_factory=Lock)
    calls: int = 0
    limit: Any = None


_PRODUCT_LIMIT = _ProductLimit()


@cache
def _controller(scipy_too: bool) -> Any:
    """Return the controller of the loaded libraries' threads: SciPy loads its own BLAS, later than NumPy's."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _release_controlling_thread() -> None:
    """Let any thread set the number of threads: threadpoolctl 3.7 and later obey only the one that set it first."""
    from threadpoolctl import OpenBLASController

    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def split_rows(n_rows: int, size: int) -> list[slice]:
    """Return slices of `size` rows; always at least one, so that zero rows are a block too."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]
