"""Learning by watching: what appears in Junk was called spam by its reader, what is moved back was called ham.

What counts is where a message *appears*. It states the label of that folder, unless the message is known under it
already, by the store or from an earlier look. In folders where mail arrives of its own (`arriving`: those labelled
"ham") a message that was never seen elsewhere is a delivery, and states nothing. That a message goes states nothing:
it may have been deleted, or filed where nobody watches. What lies in a folder at the first look (or after an IMAP
server numbered it anew) is where it always was, and states nothing; it is remembered, so that it may be moved later.

Nothing is ever deleted, moved or marked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from deciban.errors import DecibanError, InputError
from deciban.mail.message.message import compute_digest
from deciban.mail.sources.imap_address import Address
from deciban.mail.sources.imap_connection import RefusedError, password_for
from deciban.mail.sources.raw_message import Problem, ProblemHandler, warn_of_problem
from deciban.mail.sources.watched_folders import Watched, watched

MOST_REMEMBERED = 100_000
"""Messages of which the label is remembered; of more, the oldest are forgotten. The store knows those learned."""

OnMove = Callable[[bytes, str], None]
"""What to do with a message and the label it was given."""


class Watcher:
    """Folders with labels, and what was seen of them.

    `known(digest)` is the label under which a message was learned; `load()` and `save(state)` keep what was seen, in
    JSON's terms, from one run to the next (without them each run begins with a first look); `filed(raw)` says whether
    a message that nobody saw elsewhere was put where it appears by the filter itself, and not by a reader.

    >>> import mailbox, tempfile
    >>> root = tempfile.TemporaryDirectory()
    >>> inbox = mailbox.Maildir(root.name + "/Maildir")
    >>> junk = inbox.add_folder("Junk")
    >>> folders = {root.name + "/Maildir": "ham", root.name + "/Maildir/.Junk": "spam"}
    >>> watcher = Watcher(folders, lambda raw, label: print(label, raw))
    >>> watcher.look()
    0
    >>> _ = junk.add(b"Subject: win")
    >>> watcher.look()
    spam b'Subject: win'
    1
    >>> root.cleanup()
    """

    def __init__(
        self,
        folders: Mapping[str | Path, str],
        on_move: OnMove,
        *,
        arriving: Collection[str] = ("ham",),
        known: Callable[[bytes], str | None] = lambda digest: None,
        filed: Callable[[bytes], bool] = lambda raw: False,
        load: Callable[[], Mapping[str, Any] | None] = lambda: None,
        save: Callable[[Mapping[str, Any]], None] = lambda state: None,
        problems: ProblemHandler = warn_of_problem,
        password: Callable[[Address], str] = password_for,
    ) -> None:
        if not folders:
            raise InputError(
                "there is nothing to watch. Hint: name at least one Maildir or IMAP folder and its label"
            )
        self._on_move, self._arriving, self._known, self._filed = on_move, frozenset(arriving), known, filed
        self._save, self._problems = save, problems
        self._kept = _mapping(load())
        seen, ask = _mapping(self._kept.get("folders")), _once(password)
        self._places = [(watched(path, seen, ask), label) for path, label in folders.items()]
        labels = _mapping(self._kept.get("labels"))
        self._labels = {digest: label for digest, label in labels.items() if isinstance(label, str)}
        self._first = True

    def look(self) -> int:
        """Looks once at every folder; how many messages were found to be moved.

        A folder that cannot be read is told and looked at again next time, except at the very first look, and except
        where the server does not accept the password: these are errors.
        """
        moved = 0
        for place, label in self._places:
            try:
                moved += self._look_at(place, label)
            except RefusedError:
                raise
            except DecibanError as error:
                place.close()
                if self._first:
                    raise
                self._problems(Problem(place.name, str(error).removeprefix(f"{place.name}: "), messages=0))
        self._first = False
        self._keep()
        return moved

    def close(self) -> None:
        """Ends all conversations."""
        for place, _ in self._places:
            place.close()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look_at(self, place: Watched, label: str) -> int:
        place.refresh()
        if place.anew:
            self._take_in(place, label)
            return 0
        moved = 0
        for key, found in place.news():
            try:
                moved += self._heed(found.raw, label)
            except DecibanError as error:
                self._problems(Problem(found.name, f"{error} (it will be tried again)"))
            else:
                place.seen(key)
        return moved

    def _take_in(self, place: Watched, label: str) -> None:
        """A first look; where mail arrives, it need not be read: only what was elsewhere can be moved there."""
        if label in self._arriving:
            place.all_seen()
        else:
            for key, found in place.news():
                self._labels.setdefault(compute_digest(found.raw).hex(), label)
                place.seen(key)
        place.anew = False

    def _heed(self, raw: bytes, label: str) -> bool:
        """Whether a message that appeared in a folder with this label states it; if so, it is passed on."""
        digest = compute_digest(raw)
        before = self._known(digest) or self._labels.get(digest.hex())
        states = before != label if before else label not in self._arriving and not self._filed(raw)
        if states:
            self._on_move(raw, label)
        self._labels.pop(digest.hex(), None)
        self._labels[digest.hex()] = label
        while len(self._labels) > MOST_REMEMBERED:
            del self._labels[next(iter(self._labels))]
        return states

    def _keep(self) -> None:
        state = {"folders": {place.name: place.state() for place, _ in self._places}, "labels": dict(self._labels)}
        if state != self._kept:
            self._save(state)
            self._kept = state


def watch(
    folders: Mapping[str | Path, str],
    on_move: OnMove,
    *,
    every: float = 30.0,
    stop: Event | None = None,
    **options: Any,
) -> None:
    """Looks at folders every so many seconds until told to stop; the options are those of `Watcher`."""
    if not every > 0:
        raise InputError(f"folders are looked at every so many seconds, more than 0, not {every!r}")
    stop = stop or Event()
    with Watcher(folders, on_move, **options) as watcher:
        while True:
            watcher.look()
            if stop.wait(every):
                return


def _mapping(value: object) -> Mapping[str, Any]:
    """What was kept, if it is what was kept."""
    return value if isinstance(value, Mapping) else {}


def _once(password: Callable[[Address], str]) -> Callable[[Address], str]:
    """Nobody is asked twice for the same password."""
    given: dict[tuple[str, str], str] = {}

    def ask(address: Address) -> str:
        who = (address.user, address.host)
        if who not in given:
            given[who] = password(address)
        return given[who]

    return ask
