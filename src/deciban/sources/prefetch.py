"""Reading ahead: the next batches are fetched by a thread while those at hand are worked on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 0.1
"""Seconds between looks at whether anyone still wants them."""


def ahead(items: Iterator[T], most: int = 2) -> Iterator[T]:
    """The same items in the same order, at most so many waiting; an error comes when its turn has come."""
    waiting: Queue[tuple[str, Any]] = Queue(most)
    stopped = Event()
    reader = Thread(target=_fill, args=(items, waiting, stopped), daemon=True)
    reader.start()
    try:
        while True:
            what, item = waiting.get()
            if what == "end":
                return
            if what == "error":
                raise item
            yield item
    finally:
        stopped.set()
        with suppress(Empty):
            while True:
                waiting.get_nowait()
        reader.join()


def _fill(items: Iterator[T], waiting: Queue[tuple[str, Any]], stopped: Event) -> None:
    try:
        for item in items:
            if not _put(waiting, ("item", item), stopped):
                return
        _put(waiting, ("end", None), stopped)
    except BaseException as error:
        _put(waiting, ("error", error), stopped)


def _put(waiting: Queue[tuple[str, Any]], item: tuple[str, Any], stopped: Event) -> bool:
    while not stopped.is_set():
        with suppress(Full):
            waiting.put(item, timeout=PATIENCE)
            return True
    return False
