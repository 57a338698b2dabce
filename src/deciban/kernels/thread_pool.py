"""Running pieces of work side by side: their order is kept, and the pool lives for one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def run(task: Callable[[S], T], blocks: Iterable[S], threads: int) -> Iterator[T]:
    """The results of the blocks, in their order."""
    todo = list(blocks)
    if threads == 1 or len(todo) < 2:
        yield from map(task, todo)
        return
    with ThreadPoolExecutor(min(threads, len(todo))) as pool:
        yield from pool.map(task, todo)


def shared(task: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """The results in order, every thread taking its share of many small items in one go."""
    todo = list(items)
    shares = run(lambda share: [task(item) for item in share], [todo[i::threads] for i in range(threads)], threads)
    done: dict[int, T] = {}
    for i, results in enumerate(shares):
        done.update(zip(range(i, len(todo), threads), results))
    return [done[i] for i in range(len(todo))]
