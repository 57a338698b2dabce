"""Questions about any number of values: a database takes only so many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from deciban.mail.store.store_file import StoreFile

AT_ONCE: Final = 500
"""Values asked for in one question: older SQLites take at most 999."""


def ask(file: StoreFile, question: str, values: Iterable[Any], more: str = "") -> Iterator[tuple[Any, ...]]:
    """The rows of a SELECT … WHERE … IN any number of values."""
    rest = iter(values)
    while some := list(islice(rest, AT_ONCE)):
        yield from file.db.execute(f"{question} ({','.join('?' * len(some))}) {more}", some)
