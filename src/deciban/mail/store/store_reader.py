"""What can be asked of a store: all that classifying needs, and nothing that changes it.

Nothing here loads more than `sqlite3`, but `rows`, which gives arrays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, Ageing, check_time
from deciban.mail.store.sqlite_errors import MEND_HINT, in_words, invalid_value
from deciban.mail.store.store_connection import file_size
from deciban.mail.store.store_file import MAX_QUERY_VALUES, StoreFile
from deciban.mail.store.store_schema import MOST_MESSAGES, columns
from deciban.mail.store.stored_message import check_digest, replace_surrogates
from deciban.mail.store.stored_weights import Fit, find_fit

if TYPE_CHECKING:
    from deciban.mail.store.store_arrays import StoredTokens, StoreRows

WAIT: Final = 30.0
"""Seconds to wait for other writers."""


@dataclass(frozen=True, slots=True)
class Status:
    """A store at a glance."""

    path: Path
    bytes: int
    writable: bool
    totals: dict[str, tuple[int, float]]
    tokens: int
    last_learned: float | None
    changes: int
    half_life: float | None
    most_messages: int
    tidy_due: bool
    """Whether there are more messages than that, or weights should have a later origin."""
    fits: dict[str, Fit]


class StoreReader:
    """The questions; `Store` adds what changes the answers."""

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, wait: float = WAIT, read_only: bool = False
    ) -> None:
        self._file = StoreFile(path, create, wait, read_only)

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def reading(self) -> AbstractContextManager[None]:
        """A block in which all answers are of one moment, whoever learns meanwhile."""
        return self._file.reading(in_words)

    def known(self, digest: bytes) -> str | None:
        """The label a message was learned under, if it was."""
        question = "SELECT name FROM message JOIN label ON label.id = message.label WHERE digest = ?"
        with self._file.reading():
            row = self._file.db.execute(question, (check_digest(digest),)).fetchone()
        return None if row is None else row[0]

    def labels(self) -> list[str]:
        """The labels, in the order that counts are given in."""
        with self._file.reading():
            return list(self._file.labels())

    def totals(self) -> dict[str, tuple[int, float]]:
        """By label: how many messages were learned, and their weight."""
        with self._file.reading():
            rows = self._file.db.execute("SELECT name, messages, weight FROM label ORDER BY id").fetchall()
            for name, messages, weight in rows:
                if not (isinstance(messages, int) and messages >= 0 and _is_total(weight)):
                    rule = f"label {name!r:.60} has {messages!r:.60} messages of weight {weight!r:.60}"
                    raise invalid_value(self.path, rule, MEND_HINT)
        return {name: (messages, weight) for name, messages, weight in rows}

    def counts(self, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """The weight of each label's messages that have a token, for the tokens that any has."""
        with self._file.reading():
            ids = list(self._file.labels().values())
            return self._found(f"SELECT word{columns(ids)} FROM token", tokens) if ids else {}

    def fit_for(self, tokens: Sequence[str], model: str) -> Fit | None:
        """What a model found out, with its weights of those tokens that it has weights for."""
        with self._file.reading():
            found = find_fit(self._file, model)
            return replace(found[0], scores=self._found(found[1], tokens)) if found else None

    def _found(self, question: str, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        asked = replace_surrogates(tokens)
        found = {row[0]: row[1:] for row in self._file.select_in(f"{question} WHERE word IN", asked)}
        return {token: found[word] for token, word in zip(tokens, asked) if word in found}

    def tokens(self, words: Sequence[str] | None, model: str | None) -> StoredTokens:
        """Counts of those words (None: all) that there are, and a model's weights of them, as arrays: to judge by."""
        from deciban.mail.store.store_arrays import read_tokens

        with self._file.reading():
            return read_tokens(self._file, model, words if words is None else replace_surrogates(words))

    def n_tokens(self) -> int:
        """How many tokens there are."""
        with self._file.reading():
            return int(self._file.db.execute("SELECT count(*) FROM token").fetchone()[0])

    def rows(self) -> StoreRows:
        """All messages as arrays, for models that are fitted to them."""
        from deciban.mail.store.store_arrays import read_rows

        with self._file.reading():
            return read_rows(self._file)

    def words(self, numbers: Iterable[int]) -> list[str]:
        """The words of tokens that are there, by their numbers."""
        wanted = [int(number) for number in numbers]
        question = "SELECT number, word FROM token"
        with self._file.reading():
            if len(wanted) > MAX_QUERY_VALUES:
                known = dict(self._file.db.execute(question))
            else:
                known = dict(self._file.select_in(f"{question} WHERE number IN", wanted))
        return [known[number] for number in wanted]

    def changes(self) -> int:
        """How many messages came, went or moved since the store was made: the same number, the same counts."""
        with self._file.reading():
            return self._file.setting("changes", 0)

    def version(self) -> tuple[int, int]:
        """Another pair than before says that something was changed meanwhile, by others or over this connection."""
        with self._file.reading():
            return self._file.db.execute("PRAGMA data_version").fetchone()[0], self._file.db.total_changes

    def setting(self, key: str, default: Any = None) -> Any:
        """A value that was set."""
        with self._file.reading():
            return self._file.setting(key, default)

    @property
    def ageing(self) -> Ageing:
        """How messages here lose weight."""
        with self._file.reading():
            return Ageing(self._file.setting("half_life"), self._file.setting("origin"))

    def unit(self, time: float | None = None) -> float:
        """What a message learned then (None: now) weighs: counts divided by it are in messages of that day."""
        return self.ageing.weight(check_time(time))

    def journal(self, most: int = 20) -> list[tuple[float, str]]:
        """What was done last, newest first: when, and what."""
        with self._file.reading():
            return self._file.db.execute(
                "SELECT time, what FROM journal ORDER BY id DESC LIMIT ?", (most,)
            ).fetchall()

    def status(self) -> Status:
        """The store at a glance."""
        with self._file.reading():
            models = [model for (model,) in self._file.db.execute("SELECT model FROM fit ORDER BY model")]
            fits = {model: found[0] for model in models if (found := find_fit(self._file, model))}
            most, last = self._file.setting("most_messages", MOST_MESSAGES), self._file.setting("last_learned")
            totals = self.totals()
            return Status(
                path=self.path,
                bytes=file_size(self.path) + file_size(f"{self.path}-wal"),
                writable=self.writable,
                totals=totals,
                tokens=self._file.db.execute("SELECT count(*) FROM token").fetchone()[0],
                last_learned=last,
                changes=self._file.setting("changes", 0),
                half_life=self.ageing.half_life,
                most_messages=most,
                tidy_due=sum(n for n, _ in totals.values()) > most or (last is not None and self.ageing.is_due(last)),
                fits=fits,
            )

    def check(self) -> list[str]:
        """What is not as it should be, in words: the file itself, and all counts made anew from the messages."""
        from deciban.mail.store.store_maintenance import problems

        with self._file.reading():
            return problems(self._file)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store as it is now, whoever learns meanwhile; an earlier copy of that name is replaced."""
        from deciban.mail.store.backup import copy_to

        with self._file.reading():
            copy_to(self._file, path)

    def export(self) -> Iterator[str]:
        """The store as lines of text, which `absorb_text` reads; stores that hold the same give the same."""
        from deciban.mail.store.text_exchange import lines_of

        with self._file.reading():
            yield from lines_of(self._file)


def _is_total(weight: object) -> bool:
    return isinstance(weight, int | float) and 0 <= weight < MAX_EXACT_WEIGHT
