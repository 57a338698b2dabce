"""The store: what was learned of a mailbox, in one SQLite file that survives whatever happens to its writers.

Looking words up (what classifying a message needs) loads nothing but `sqlite3`; NumPy comes with learning.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from deciban.errors import ForgetError, InputError
from deciban.mail.ageing import Ageing, checked_time
from deciban.mail.entry import Entry, Learned, checked, checked_digest, spelled
from deciban.mail.opened import Opened, refuse_another_reading
from deciban.mail.schema import columns

if TYPE_CHECKING:
    from deciban.mail.rows import Rows

WAIT: Final = 30.0
"""Seconds to wait for other writers."""

AT_ONCE: Final = 500
"""Words that are looked up in one question."""

RESERVED: Final = frozenset({"half_life", "origin", "changes", "last_learned", "reading"})
"""Settings that are kept by methods of their own."""


class Store:
    """What was learned of a mailbox: counts of tokens by label, and every message by its digest.

    Readers are never kept waiting; writers wait for each other; each call is a transaction. A store belongs to the
    thread that opened it: open one for each.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Store(f"{folder}/mail.db") as store:
    ...     store.learn([Entry(b"a" * 16, "spam", ["free", "subject:money"]), Entry(b"b" * 16, "ham", ["free"])])
    ...     store.counts(["free", "subject:money", "tea"])
    ...     store.relabel(b"a" * 16, "ham")
    ...     store.totals()
    Learned(new=2, known=0, moved=0)
    {'free': (1.0, 1.0), 'subject:money': (1.0, 0.0)}
    {'spam': (0, 0.0), 'ham': (2, 2.0)}
    """

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, wait: float = WAIT, read_only: bool = False
    ) -> None:
        self._file = Opened(path, create, wait, read_only)

    @property
    def path(self) -> Path:
        """The file, links followed."""
        return self._file.path

    @property
    def writable(self) -> bool:
        """Whether it can be learned into: not if it was opened for reading, or may only be read."""
        return self._file.writable

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def reading(self) -> AbstractContextManager[None]:
        """A block in which all answers are of one moment, whoever learns meanwhile."""
        return self._file.reading()

    def writing(self) -> AbstractContextManager[None]:
        """A block whose changes are made wholly or not at all."""
        return self._file.writing()

    def learn(self, batch: Iterable[Entry]) -> Learned:
        """Learn messages, all or none; one known under its label is left alone, under another it is moved."""
        from deciban.mail.learning import learn

        entries = checked(batch)
        with self._file.writing():
            return learn(self._file, entries)

    def unlearn(self, digests: Iterable[bytes]) -> int:
        """Forget messages as if they had never come; how many were known."""
        from deciban.mail.learning import unlearn

        wanted = [checked_digest(digest) for digest in digests]
        with self._file.writing():
            gone = unlearn(self._file, wanted)
            if gone:
                self._file.note(f"unlearned {gone} messages", gone)
        return gone

    def relabel(self, digest: bytes, label: str) -> None:
        """Say that a message is something else; its time and weight stay."""
        from deciban.mail.learning import relabel

        with self._file.writing():
            before = self.known(digest)
            if before is None:
                raise ForgetError(f"message {digest.hex()} was never learned. Hint: learn it as {label!r}")
            if before != label:
                relabel(self._file, digest, label)
                self._file.note(f"relabelled a message from {before} to {label}", 1)

    def known(self, digest: bytes) -> str | None:
        """The label a message was learned under, if it was."""
        question = "SELECT name FROM message JOIN label ON label.id = message.label WHERE digest = ?"
        with self._file.reading():
            row = self._file.db.execute(question, (checked_digest(digest),)).fetchone()
        return None if row is None else row[0]

    def labels(self) -> list[str]:
        """The labels, in the order that counts are given in."""
        with self._file.reading():
            return list(self._file.labels())

    def counts(self, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """The weight of each label's messages that have a token, for the tokens that any has."""
        with self._file.reading():
            ids = list(self._file.labels().values())
            return self._found(f"SELECT word{columns(ids)} FROM token WHERE word IN", tokens) if ids else {}

    def _found(self, question: str, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        asked = spelled(tokens)
        found: dict[str, tuple[float, ...]] = {}
        for at in range(0, len(asked), AT_ONCE):
            some = asked[at : at + AT_ONCE]
            for word, *values in self._file.db.execute(f"{question} ({','.join('?' * len(some))})", list(some)):
                found[word] = tuple(values)
        return {token: found[word] for token, word in zip(tokens, asked) if word in found}

    def totals(self) -> dict[str, tuple[int, float]]:
        """By label: how many messages were learned, and their weight."""
        with self._file.reading():
            rows = self._file.db.execute("SELECT name, messages, weight FROM label ORDER BY id").fetchall()
        return {name: (messages, weight) for name, messages, weight in rows}

    def rows(self) -> Rows:
        """All messages as arrays, for models that are fitted to them."""
        from deciban.mail.rows import all_rows

        with self._file.reading():
            return all_rows(self._file)

    def words(self, numbers: Iterable[int]) -> list[str]:
        """The words of tokens that are there, by their numbers."""
        wanted = [int(number) for number in numbers]
        with self._file.reading():
            if len(wanted) > AT_ONCE:
                known = dict(self._file.db.execute("SELECT number, word FROM token"))
            else:
                places = ",".join("?" * len(wanted))
                known = dict(
                    self._file.db.execute(f"SELECT number, word FROM token WHERE number IN ({places})", wanted)
                )
        return [known[number] for number in wanted]

    def changes(self) -> int:
        """How many messages came, went or moved since the store was made: the same number, the same counts."""
        with self._file.reading():
            return self._file.setting("changes", 0)

    def setting(self, key: str, default: Any = None) -> Any:
        """A value that was set."""
        with self._file.reading():
            return self._file.setting(key, default)

    def set(self, key: str, value: Any) -> None:
        """Keep a value (anything that JSON can say) with the store; None takes it away."""
        if key in RESERVED:
            raise InputError(
                f"setting {key!r} is kept by the store itself. Hint: another key, or age() and expect_reading()"
            )
        with self._file.writing():
            self._file.put(key, value)

    def expect_reading(self, fingerprint: str) -> None:
        """Refuse a store whose messages were read in another way; one without messages takes this one."""
        with self._file.reading():
            here = self._file.setting("reading")
            empty = not self._file.db.execute("SELECT count(*) FROM message").fetchone()[0]
        if not empty:
            refuse_another_reading(self.path, here, fingerprint)
        if here != fingerprint and self.writable:
            with self._file.writing():
                self._file.put("reading", fingerprint)

    @property
    def ageing(self) -> Ageing:
        """How messages here lose weight."""
        with self._file.reading():
            return Ageing(self._file.setting("half_life"), self._file.setting("origin"))

    def unit(self, time: float | None = None) -> float:
        """What a message learned then (None: now) weighs: counts divided by it are in messages of that day."""
        return self.ageing.weight(checked_time(time))
