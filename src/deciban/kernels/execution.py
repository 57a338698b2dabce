"""Compilation and execution of kernels: which work they do, and threads that run blocks of it.

Whether a kernel is used depends on the size of the work alone, so that equal questions have equal bits. This module
is imported without Numba, which is imported where a kernel is defined.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

MIN_KERNEL_STEPS = 1 << 20
"""Elementary steps from which kernels are used; with fewer, NumPy has finished before Numba is imported."""

_total_steps: ContextVar[int] = ContextVar("total_steps", default=0)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with Numba for one core, without the interpreter's lock, and cache the machine code.

    It is compiled on first use, which a notice on a terminal tells. Where neither the package's folder nor the user's
    cache can be written, Numba refuses to cache; then the kernel is compiled again in each process, and one warning
    tells how to change that.
    """
    import numba

    _announce_compilation()
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        _warn_of_missing_cache()
        return numba.njit(nogil=True)(function)


@cache
def _announce_compilation() -> None:
    """Make Numba print a notice before the first kernel that it compiles: on a terminal, once in a process.

    Machine code that is read from the cache is no such event.
    """
    from numba.core import event

    @cache
    def print_once() -> None:
        print("deciban: compiling once (about 10 s) …", file=sys.stderr, flush=True)

    class CompilationNotice(event.Listener):
        def on_start(self, compilation: Any) -> None:
            module = compilation.data["dispatcher"].py_func.__module__ or ""
            if module.startswith("deciban.") and sys.stderr is not None and sys.stderr.isatty():
                print_once()

        def on_end(self, compilation: Any) -> None:
            pass

    event.register("numba:compile", CompilationNotice())  # type: ignore[no-untyped-call]


@cache
def _warn_of_missing_cache() -> None:
    warnings.warn(
        "deciban found no folder to keep its compiled kernels in, so each process compiles them again "
        "(a second or two). Hint: set NUMBA_CACHE_DIR to a writable folder.",
        stacklevel=4,
    )


@contextmanager
def part_of_work(total_steps: int) -> Iterator[None]:
    """Within this context `load_kernels` decides as for this many steps, where the work itself has fewer."""
    token = _total_steps.set(total_steps)
    try:
        yield
    finally:
        _total_steps.reset(token)


def load_kernels(name: str, steps: int) -> ModuleType | None:
    """Import and return the module `deciban.kernels.<name>` if the work has enough steps for it, else return None.

    Call it once for a whole input, not for each block of it: a last, shorter block takes the path of the others. The
    result is None too where Numba is not installed, as in a small installation for mail.
    """
    if max(steps, _total_steps.get()) < MIN_KERNEL_STEPS:
        return None
    try:
        return import_module(f"deciban.kernels.{name}")
    except ImportError as error:
        if "numba" not in str(error):
            raise
        return None


def map_in_threads(task: Callable[[S], T], blocks: Iterable[S], threads: int) -> Iterator[T]:
    """Yield task(block) of all blocks in their order; with one thread or one block, without a pool of threads."""
    todo = list(blocks)
    if threads == 1 or len(todo) < 2:
        yield from map(task, todo)
        return
    with ThreadPoolExecutor(min(threads, len(todo))) as pool:
        yield from pool.map(task, todo)


def map_small_items(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Return task(item) of all items in their order; each thread processes its share of the items in one task."""
    todo = list(items)
    shares = [todo[i::threads] for i in range(threads)]
    results = list(map_in_threads(lambda share: [task(item) for item in share], shares, threads))
    return [results[i % threads][i // threads] for i in range(len(todo))]
