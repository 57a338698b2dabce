"""Folders that are looked at again and again: what is new in each, and what was seen of it.

A message is marked as seen by whoever asked for it, after something was done about it: what fails comes again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from deciban.errors import InputError
from deciban.mail.sources.folders import list_maildir
from deciban.mail.sources.imap import MOST_TOGETHER, ImapFolder, few_at_a_time
from deciban.mail.sources.imap_address import Address
from deciban.mail.sources.message_sources import read_single_message, source_kind
from deciban.mail.sources.raw_message import RawMessage

SETTLED = 2.0
"""Seconds after which a folder's time of change tells a later change from this one, on any file system."""

State = dict[str, Any]
"""What was seen of a folder, in JSON's terms."""


class Watched(Protocol):
    """A folder that is looked at again and again."""

    name: str
    anew: bool
    """Whether nothing is known of what was there before."""

    def refresh(self) -> None:
        """Looks at the folder again; `anew` and `news` are as of then."""

    def news(self) -> Iterator[tuple[int | str, RawMessage]]:
        """The messages that were not there before, each with the key that marks it as seen."""

    def seen(self, key: int | str) -> None:
        """Marks one as seen."""

    def all_seen(self) -> None:
        """Marks as seen whatever is there now."""

    def state(self) -> State:
        """What to keep for another day."""

    def close(self) -> None:
        """Lets go of whatever is held."""


def watched(path: str | Path, states: Mapping[str, Any], password: Callable[[Address], str]) -> Watched:
    """A folder to watch, with what was kept of it under its name; what makes no sense is as good as nothing."""
    kind = source_kind(path)
    if kind == "imap":
        address = Address.of(str(path))
        return WatchedImap(address, _state(states.get(str(address))), password)
    if kind == "maildir":
        place = Path(path).expanduser().absolute()
        return WatchedMaildir(place, _state(states.get(str(place))))
    raise InputError(f"{path}: this is a {kind}. Hint: Maildirs and IMAP folders can be watched")


def _state(kept: object) -> State:
    return kept if isinstance(kept, dict) else {}


class WatchedMaildir:
    """A Maildir by the names of its files: flags, and going from `new` to `cur`, change nothing."""

    def __init__(self, path: Path, state: State) -> None:
        self.path, self.name = path, str(path)
        keys = state.get("keys")
        self.anew = not isinstance(keys, list)
        self._keys = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()
        self._quiet: tuple[int, ...] = ()

    def refresh(self) -> None:
        """Names are listed when news are asked for."""

    def news(self) -> Iterator[tuple[int | str, RawMessage]]:
        """The messages whose names were not there before; those thrown away are no longer there."""
        looked, stamps = time.time(), self._stamps()
        if stamps == self._quiet:
            return
        entries = [entry for entry in list_maildir(self.path) if "T" not in entry.flags]
        self._keys &= {entry.key for entry in entries}
        for entry in entries:
            if entry.key not in self._keys:
                with suppress(InputError, OSError):  # renamed or gone since: the next look tells which
                    yield entry.key, read_single_message(entry)
        done = self._keys >= {entry.key for entry in entries}
        self._quiet = stamps if done and looked - max(stamps) / 1e9 > SETTLED else ()

    def _stamps(self) -> tuple[int, ...]:
        """When files last came, went or were renamed."""
        try:
            return tuple(os.stat(self.path / part).st_mtime_ns for part in ("new", "cur"))
        except OSError as error:
            raise InputError(f"{self.path}: the Maildir cannot be read: {error.strerror}") from None

    def seen(self, key: int | str) -> None:
        """Marks a name as seen."""
        self._keys.add(str(key))

    def all_seen(self) -> None:
        """Marks all names as seen."""
        self._keys = {entry.key for entry in list_maildir(self.path) if "T" not in entry.flags}

    def state(self) -> State:
        """The names that were there."""
        return {"keys": sorted(self._keys)}

    def close(self) -> None:
        """There is nothing to let go of."""


class WatchedImap:
    """An IMAP folder by UIDs, which only ever grow, until the server starts them anew and says so by UIDVALIDITY."""

    def __init__(self, address: Address, state: State, password: Callable[[Address], str]) -> None:
        self.address, self.name = address, str(address)
        self._password = password
        self._folder: ImapFolder | None = None
        validity, following = state.get("validity"), state.get("next")
        self.anew = not (isinstance(validity, int) and isinstance(following, int))
        self._validity, self._next = (0, 1) if self.anew else (int(validity or 0), int(following or 1))
        self._done: set[int] = set()

    def refresh(self) -> None:
        """Looks again, over the old line or a new one; UIDs that start anew tell nothing of what was there."""
        try:
            if self._folder is None:
                self._folder = ImapFolder(self.address, self._password(self.address))
            else:
                self._folder.refresh()
        except InputError:
            self.close()
            raise
        if self._folder.validity != self._validity:
            self.anew, self._validity, self._next, self._done = True, self._folder.validity, 1, set()

    def news(self) -> Iterator[tuple[int | str, RawMessage]]:
        """The messages whose UIDs were not there before, except those thrown away."""
        last, missed = self._next - 1, None
        for uid, found in self._fetched():
            if uid not in self._done:
                yield uid, found
            if uid not in self._done and missed is None:
                missed = uid
            last = uid
        self._next = missed or last + 1
        self._done = {uid for uid in self._done if uid >= self._next}

    def _fetched(self) -> Iterator[tuple[int, RawMessage]]:
        folder = self._folder
        uids = folder.uids(self._next) if folder else iter(())
        while folder and (batch := list(islice(uids, MOST_TOGETHER))):
            notes = [note for note in folder.noted(batch) if "T" not in note.flags]
            for few in few_at_a_time(notes):
                yield from ((int(found.name.rpartition("=")[2]), found) for found in folder.fetch(few))

    def seen(self, key: int | str) -> None:
        """Marks a UID as seen."""
        self._done.add(int(key))

    def all_seen(self) -> None:
        """Marks all UIDs as seen that there are."""
        if self._folder:
            self._next = self._folder.next_uid or max(self._folder.uids(), default=0) + 1

    def state(self) -> State:
        """The UIDs up to which all was seen, and what makes them valid."""
        return {"validity": self._validity, "next": self._next}

    def close(self) -> None:
        """Ends the conversation; the next look begins another."""
        if self._folder:
            self._folder.close()
        self._folder = None
