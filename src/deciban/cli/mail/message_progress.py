"""Messages drawn from wherever they lie, counted on a terminal while they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from deciban.cli.error_handling import stop_if_interrupted
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.mail.sources.raw_message import RawMessage, UnreadFile

Message = TypeVar("Message")

SHOWN_EVERY = 0.1
"""Seconds between two looks of a bar."""


def refuse_absent(paths: Sequence[str]) -> None:
    """Refuse what is not there, or is no address, before anything is done with the others."""
    from deciban.mail.sources.message_sources import kind_of

    for path in paths:
        if kind_of(path) == "imap":
            from deciban.mail.sources.imap_address import Address

            Address.of(path)


class Drawn:
    """The messages of some paths, by name; a path that breaks off gives what it holds, and the others go on."""

    def __init__(
        self, paths: Sequence[str], tick: Callable[[], None], subfolders: bool = False, trashed: bool = False
    ) -> None:
        self._paths, self._tick = paths, tick
        self._subfolders, self._trashed = subfolders, trashed
        self.trouble: InputError | OSError | None = None
        """What went wrong first."""

    def __iter__(self) -> Iterator[RawMessage]:
        from deciban.mail.sources.message_sources import messages_in

        return self._drawn(messages_in)

    def many(self) -> Iterator[RawMessage | UnreadFile]:
        """The same for who learns or judges many: small files stay closed."""
        from deciban.mail.sources.message_sources import mail_in

        return self._drawn(mail_in)

    def _drawn(self, source: Callable[..., Iterator[Message]]) -> Iterator[Message]:
        for path in self._paths:
            try:
                for found in source(path, subfolders=self._subfolders, trashed=self._trashed):
                    self._tick()
                    yield found
            except (InputError, OSError) as error:
                self.trouble = self.trouble or error

    def end(self) -> None:
        """Raise what went wrong, now that all the others are done."""
        if self.trouble is not None:
            raise self.trouble


@contextmanager
def counting(doing: str) -> Iterator[Callable[[], None]]:
    """Something to call for each message, which notices Ctrl-C; on a terminal a bar shows how many, and the rate."""
    if not sys.stderr.isatty():
        yield stop_if_interrupted
        return
    from deciban.cli.progress import bar_of, rate

    with bar_of("messages") as bar:
        task = bar.add_task(doing, total=None, rate="")
        n, begun = 0, monotonic()
        shown = begun

        def tick() -> None:
            nonlocal n, shown
            stop_if_interrupted()
            n += 1
            now = monotonic()
            if now - shown >= SHOWN_EVERY:
                shown = now
                bar.update(task, completed=n, rate=rate(n / (now - begun), "messages"))

        yield tick
