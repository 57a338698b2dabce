"""Execution of kernels: which work they do, and threads that run blocks of it.

Whether a kernel is used depends on the size of the work alone, so that equal questions have equal bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import ModuleType
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

MIN_KERNEL_STEPS = 1 << 20
"""Elementary steps from which kernels are used; with fewer, NumPy has finished before Numba is imported."""

_total_steps: ContextVar[int] = ContextVar("total_steps", default=0)


@contextmanager
def part_of_work(total_steps: int) -> Iterator[None]:
    """Within this context a small piece of work counts as part of larger work, which may be worth kernels."""
    token = _total_steps.set(total_steps)
    try:
        yield
    finally:
        _total_steps.reset(token)


def load_kernels(name: str, steps: int) -> ModuleType | None:
    """Import a module of kernels if the work has enough steps for it, else return None.

    Call it once for a whole input, not for each block of it: a last, shorter block takes the path of the others.
    """
    return import_module(f"deciban.kernels.{name}") if max(steps, _total_steps.get()) >= MIN_KERNEL_STEPS else None


def map_in_threads(task: Callable[[S], T], blocks: Iterable[S], threads: int) -> Iterator[T]:
    """Yield the results of the blocks in their order; the pool of threads lives for one call."""
    todo = list(blocks)
    if threads == 1 or len(todo) < 2:
        yield from map(task, todo)
        return
    with ThreadPoolExecutor(min(threads, len(todo))) as pool:
        yield from pool.map(task, todo)


def map_small_items(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Return the results in order; each thread processes its share of many small items in one task."""
    todo = list(items)
    shares = [todo[i::threads] for i in range(threads)]
    results = list(map_in_threads(lambda share: [task(item) for item in share], shares, threads))
    return [results[i % threads][i // threads] for i in range(len(todo))]
