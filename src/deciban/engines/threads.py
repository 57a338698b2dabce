"""How many threads a call may use, and running blocks of rows on them.

Blocks have a fixed size and are merged in their order, so the number of threads never changes a bit of the
result. The pool lives for one call: nothing survives into a forked child.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from deciban.errors import InputError

LIMITS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def thread_count(n_jobs: int | None) -> int:
    """The threads a call may use.

    As asked for by `n_jobs` (−1: all cores); else as joblib's context says; else all the cores that this
    process may run on, within OMP_NUM_THREADS and its kin. Inside a joblib worker: one.
    """
    if n_jobs is not None:
        return _asked(n_jobs)
    joblib = sys.modules.get("joblib")
    if joblib is not None:
        backend, workers = joblib.parallel.get_active_backend()
        if getattr(backend, "nesting_level", 0):
            return 1
        if workers is not None:
            return _asked(workers)
    return min([_cores(), *filter(None, map(_limit, LIMITS))])


def _limit(name: str) -> int | None:
    """A limit set in the environment; of nested ones ("4,2") the outermost, and none for what is no such number."""
    first = os.environ.get(name, "").split(",")[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else None


def _asked(n_jobs: int) -> int:
    if n_jobs == 0:
        raise InputError("n_jobs == 0 has no meaning. Hint: 1 for one thread, -1 for all cores, None to decide")
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_core_products(wanted: bool) -> Iterator[None]:
    """Matrix products on one core each while blocks run side by side: no more threads than asked for, same bits."""
    if not wanted:
        yield
        return
    _limit_products.enter()
    try:
        yield
    finally:
        _limit_products.leave()


class _ProductLimit:
    """The process-wide limit, set by the first call that needs it and lifted by the last, whatever their threads."""

    def __init__(self) -> None:
        self.lock, self.calls = Lock(), 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            self.calls += 1
            if self.calls == 1:
                self.limit = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")

    def leave(self) -> None:
        with self.lock:
            self.calls -= 1
            if self.calls == 0:
                _disown_products()
                self.limit.restore_original_limits()
                _disown_products()


_limit_products = _ProductLimit()


@cache
def _controller(scipy_too: bool) -> Any:
    """Whoever sets the threads of the libraries that are loaded: SciPy brings its own BLAS, later than NumPy's."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _disown_products() -> None:
    """Let any thread set the number of threads again: threadpoolctl heeds only the one that set it first."""
    from threadpoolctl import OpenBLASController

    OpenBLASController.clear_controlling_thread(force=True)


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Slices of `size` rows; always at least one, so that no rows are a block too."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]
