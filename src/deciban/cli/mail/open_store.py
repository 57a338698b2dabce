"""How a store is opened: to judge by, or to learn into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

PATIENCE: Final = 5.0
"""Seconds that judging waits for a store that somebody holds; learning waits longer."""


def store_path(given: str | None) -> Path:
    """The file of the store that is meant."""
    from deciban.mail.filter import default_store

    return default_store() if given is None else Path(given).expanduser()


@contextmanager
def judging(given: str | None, model: str | None = None) -> Iterator[MailFilter]:
    """A filter that changes nothing, for the time of the block."""
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.store import Store

    with (
        Store(store_path(given), create=False, wait=PATIENCE, read_only=True) as store,
        MailFilter(store, model=model) as mail,
    ):
        yield mail


@contextmanager
def learning(given: str | None, create: bool = False) -> Iterator[MailFilter]:
    """A filter that learns, for the time of the block; a store that is not there is made if that is wanted."""
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.store import Store

    with Store(store_path(given), create=create) as store, MailFilter(store) as mail:
        yield mail
