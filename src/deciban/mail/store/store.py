"""The store: messages that were learned, and counts of their tokens, in one SQLite file that survives any crash.

NumPy is imported by the methods that need it: looking up tokens and labels needs no more than `sqlite3`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from deciban.errors import ForgetError, InputError
from deciban.mail.store import stored_weights
from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, Ageing, check_half_life, check_time
from deciban.mail.store.sqlite_errors import MEND_HINT, invalid_value, translate_errors
from deciban.mail.store.store_connection import file_size
from deciban.mail.store.store_file import MAX_QUERY_VALUES, StoreFile, check_same_reading
from deciban.mail.store.store_schema import DEFAULT_MAX_MESSAGES, RESERVED_KEYS, check_setting, columns
from deciban.mail.store.stored_messages import (
    LearnCounts,
    StoredMessage,
    add_counts,
    check_digest,
    check_message,
    replace_surrogates,
)
from deciban.mail.store.stored_weights import Fit

if TYPE_CHECKING:
    from deciban.mail.store.store_arrays import StoredTokens, StoreRows
    from deciban.mail.store.store_maintenance import TidyResult
    from deciban.mail.store.stored_messages import TokenBatch, WordMemory
    from deciban.mail.store.text_exchange import MergeCounts

LOCK_TIMEOUT_SECONDS: Final = 30.0
"""Time to wait for other writers."""


@dataclass(frozen=True, slots=True)
class Status:
    """A summary of a store."""

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


class Store:
    """The messages of a mailbox that were learned: counts of tokens by label, and every message by its digest.

    Readers never wait; writers wait for each other; each call is a transaction. A store belongs to the thread that
    opened it: open one for each.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with Store(f"{folder}/mail.db") as store:
    ...     a = StoredMessage(b"a" * 16, "spam", ["free", "subject:money"])
    ...     store.learn([a, StoredMessage(b"b" * 16, "ham", ["free"])])
    ...     store.counts(["free", "subject:money", "tea"])
    ...     store.relabel(b"a" * 16, "ham")
    ...     store.totals()
    LearnCounts(new=2, known=0, moved=0)
    {'free': (1.0, 1.0), 'subject:money': (1.0, 0.0)}
    {'spam': (0, 0.0), 'ham': (2, 2.0)}
    """

    def __init__(
        self, path: str | os.PathLike[str], create: bool = True, wait: float = LOCK_TIMEOUT_SECONDS,
        read_only: bool = False,
    ) -> None:  # fmt: skip
        self._file = StoreFile(path, create, wait, read_only)

    @property
    def path(self) -> Path:
        """Return the path of the file, links followed."""
        return self._file.path

    @property
    def writable(self) -> bool:
        """Return whether messages can be learned: not if it was opened for reading, or may only be read."""
        return self._file.writable

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reading(self) -> AbstractContextManager[None]:
        """Return a block in which all reads see the same state of the store, whoever writes meanwhile."""
        return self._file.reading(translate_errors)

    def writing(self) -> AbstractContextManager[None]:
        """Return a block whose changes are made all or none."""
        return self._file.writing(translate_errors)

    # ---- reading

    def known(self, digest: bytes) -> str | None:
        """Return the label a message was learned under, or None."""
        query = "SELECT name FROM message JOIN label ON label.id = message.label WHERE digest = ?"
        with self._file.reading():
            row = self._file.db.execute(query, (check_digest(digest),)).fetchone()
        return None if row is None else row[0]

    def labels(self) -> list[str]:
        """Return the labels, in the order of counts."""
        with self._file.reading():
            return list(self._file.labels())

    def totals(self) -> dict[str, tuple[int, float]]:
        """Return the number of messages of each label, and their weight."""
        with self._file.reading():
            rows = self._file.db.execute("SELECT name, messages, weight FROM label ORDER BY id").fetchall()
            for name, messages, weight in rows:
                if not (isinstance(messages, int) and messages >= 0 and _is_total(weight)):
                    rule = f"label {name!r:.60} has {messages!r:.60} messages of weight {weight!r:.60}"
                    raise invalid_value(self.path, rule, MEND_HINT)
        return {name: (messages, weight) for name, messages, weight in rows}

    def counts(self, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the weight of each label's messages that have a token, for the tokens that any has."""
        with self._file.reading():
            ids = list(self._file.labels().values())
            return self._select_tokens(f"SELECT word{columns(ids)} FROM token", tokens) if ids else {}

    def fit_for(self, tokens: Sequence[str], model: str) -> Fit | None:
        """Return the last fit of a model, with its weights of those of the tokens that have any."""
        with self._file.reading():
            found = stored_weights.find_fit(self._file, model)
            return replace(found[0], scores=self._select_tokens(found[1], tokens)) if found else None

    def _select_tokens(self, query: str, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        words = replace_surrogates(tokens)
        found = {row[0]: row[1:] for row in self._file.select_in(f"{query} WHERE word IN", words)}
        return {token: found[word] for token, word in zip(tokens, words) if word in found}

    def tokens(self, words: Sequence[str] | None, model: str | None) -> StoredTokens:
        """Return the counts of those words (None: all) that there are, and a model's weights of them, as arrays."""
        from deciban.mail.store.store_arrays import read_tokens

        with self._file.reading():
            return read_tokens(self._file, model, words if words is None else replace_surrogates(words))

    def n_tokens(self) -> int:
        """Return the number of tokens."""
        with self._file.reading():
            return int(self._file.db.execute("SELECT count(*) FROM token").fetchone()[0])

    def rows(self) -> StoreRows:
        """Return all messages as arrays, for models that are fitted to them."""
        from deciban.mail.store.store_arrays import read_rows

        with self._file.reading():
            return read_rows(self._file)

    def words(self, numbers: Iterable[int]) -> list[str]:
        """Return the words of tokens by their numbers."""
        wanted = [int(number) for number in numbers]
        query = "SELECT number, word FROM token"
        with self._file.reading():
            if len(wanted) > MAX_QUERY_VALUES:
                word_of = dict(self._file.db.execute(query))
            else:
                word_of = dict(self._file.select_in(f"{query} WHERE number IN", wanted))
        return [word_of[number] for number in wanted]

    def changes(self) -> int:
        """Return how many messages were learned, unlearned or moved since the store was made."""
        with self._file.reading():
            return self._file.setting("changes", 0)

    def version(self) -> tuple[int, int]:
        """Return a pair that differs after any change, by others or over this connection."""
        with self._file.reading():
            return self._file.db.execute("PRAGMA data_version").fetchone()[0], self._file.db.total_changes

    def setting(self, key: str, default: Any = None) -> Any:
        """Return the value of a setting."""
        with self._file.reading():
            return self._file.setting(key, default)

    @property
    def ageing(self) -> Ageing:
        """Return how messages lose weight."""
        with self._file.reading():
            return Ageing(self._file.setting("half_life"), self._file.setting("origin"))

    def unit(self, time: float | None = None) -> float:
        """Return the weight of a message learned then (None: now): counts divided by it are in such messages."""
        return self.ageing.weight(check_time(time))

    def journal(self, most: int = 20) -> list[tuple[float, str]]:
        """Return time and description of the last changes, newest first."""
        query = "SELECT time, what FROM journal ORDER BY id DESC LIMIT ?"
        with self._file.reading():
            return self._file.db.execute(query, (most,)).fetchall()

    def status(self) -> Status:
        """Return a summary of the store."""
        with self._file.reading():
            models = [model for (model,) in self._file.db.execute("SELECT model FROM fit ORDER BY model")]
            fits = {model: found[0] for model in models if (found := stored_weights.find_fit(self._file, model))}
            most, last = self._file.setting("most_messages", DEFAULT_MAX_MESSAGES), self._file.setting("last_learned")
            totals, ageing = self.totals(), self.ageing
            return Status(
                path=self.path,
                bytes=file_size(self.path) + file_size(f"{self.path}-wal"),
                writable=self.writable,
                totals=totals,
                tokens=self.n_tokens(),
                last_learned=last,
                changes=self.changes(),
                half_life=ageing.half_life,
                most_messages=most,
                tidy_due=sum(n for n, _ in totals.values()) > most or (last is not None and ageing.is_due(last)),
                fits=fits,
            )

    def check(self) -> list[str]:
        """Return a description of each problem: damage of the file, and counts that are not those of the messages."""
        from deciban.mail.store.store_maintenance import find_problems

        with self._file.reading():
            return find_problems(self._file)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store as it is now, even while it is in use; an earlier copy of that name is replaced."""
        from deciban.mail.store.store_maintenance import copy_to

        with self._file.reading():
            copy_to(self._file, path)

    def export(self) -> Iterator[str]:
        """Yield the store as lines of text, which `absorb_text` reads; stores of equal content give equal lines."""
        from deciban.mail.store.text_exchange import format_lines

        with self._file.reading():
            yield from format_lines(self._file)

    # ---- writing

    def learn(self, messages: Iterable[StoredMessage]) -> LearnCounts:
        """Learn messages, all or none; one known under its label is left alone, one under another label is moved."""
        from deciban.mail.store import store_updates
        from deciban.mail.store.stored_messages import TokenBatch

        batch = TokenBatch.from_messages([check_message(StoredMessage(*message)) for message in messages])
        with self._file.writing():
            return add_counts(store_updates.learn(self._file, batch).values())

    def learn_batch(self, batch: TokenBatch, memory: WordMemory | None = None) -> dict[str, LearnCounts]:
        """Learn a batch, all or none; return the counts by label. `memory` is kept from one batch to the next."""
        from deciban.mail.store import store_updates

        batch = batch.check()
        with self._file.writing():
            return store_updates.learn(self._file, batch, memory)

    def unlearn(self, digests: Iterable[bytes]) -> int:
        """Forget messages as if they had never been learned; return how many were known."""
        from deciban.mail.store import store_updates

        wanted = [check_digest(digest) for digest in digests]
        with self._file.writing():
            gone = store_updates.unlearn(self._file, wanted)
            if gone:
                self._file.note(f"unlearned {gone} messages", gone)
        return gone

    def relabel(self, digest: bytes, label: str) -> None:
        """Change the label of a message; its time and weight stay."""
        from deciban.mail.store import store_updates

        with self._file.writing():
            before = self.known(digest)
            if before is None:
                raise ForgetError(f"message {digest.hex()} was never learned. Hint: learn it as {label!r}")
            if before != label:
                store_updates.relabel(self._file, digest, label)
                self._file.note(f"relabelled a message from {before} to {label}", 1)

    def set(self, key: str, value: Any) -> None:
        """Set a setting to any JSON value; None deletes it."""
        if key in RESERVED_KEYS:
            raise InputError(
                f"setting {key!r} is kept by the store itself. Hint: age(), expect_reading(), or another key"
            )
        if value is not None:
            value = check_setting(key, value)
        with self._file.writing():
            self._file.put(key, value)

    def save_watched(self, state: Mapping[str, Any]) -> None:
        """Save the state of watched folders; `setting("watched")` returns it."""
        with self._file.writing():
            self._file.put("watched", dict(state))

    def expect_reading(self, fingerprint: str) -> None:
        """Refuse a store whose messages were read with other options; one without messages accepts these."""
        with self._file.reading():
            here = self._file.setting("reading")
            empty = not self._file.db.execute("SELECT count(*) FROM message").fetchone()[0]
        if not empty:
            check_same_reading(self.path, here, fingerprint)
        if here != fingerprint and self.writable:
            with self._file.writing():
                self._file.put("reading", fingerprint)

    def age(self, half_life: float | None) -> None:
        """Let messages lose half their weight in so many seconds (None: never), those that are here included."""
        from deciban.mail.store.store_maintenance import renew_weights

        seconds = check_half_life(half_life)
        with self._file.writing():
            renew_weights(self._file, seconds)
            ageing = "no ageing" if seconds is None else f"a half-life of {seconds / 86400:g} days"
            self._file.note(f"recomputed all weights: {ageing}", 1)

    def tidy(self, now: bool = False) -> TidyResult:
        """Unlearn the oldest messages beyond the limit (setting most_messages), and renew weights if that is due.

        No label is brought below its equal share of the limit. With `now` weights are renewed in any case. Not for
        the middle of a delivery.
        """
        from deciban.mail.store import store_maintenance

        with self._file.writing():
            most = self._file.setting("most_messages", DEFAULT_MAX_MESSAGES)
            gone = store_maintenance.enforce_limit(self._file, most)
            ageing, newest = self.ageing, store_maintenance.newest_time(self._file)
            renewed = newest is not None and ageing.half_life is not None and (now or ageing.is_due(newest))
            if renewed:
                store_maintenance.renew_weights(self._file, ageing.half_life)
            if gone or renewed:
                origin = "a later" if renewed else "the same"
                self._file.note(f"tidied: {gone} oldest messages unlearned, {origin} origin", gone + 1)
        store_maintenance.compact(self._file)
        return store_maintenance.TidyResult(gone, renewed)

    def recount(self) -> None:
        """Recompute all counts from the messages, if `check` found them wrong."""
        from deciban.mail.store.store_maintenance import recount

        with self._file.writing():
            recount(self._file, self.ageing)
            self._file.note("recounted all messages", 1)

    def save_fit(
        self, model: str, numbers: Sequence[int], columns: Sequence[Sequence[float]], meta: dict[str, Any],
        changes: int | None = None,
    ) -> None:  # fmt: skip
        """Save the fit of a model: weights of tokens by number, a column per score, and its parameters (JSON).

        `changes` is the store's count when the rows were read that it was fitted to; None: now.
        """
        with self._file.writing(translate_errors):
            stored_weights.save_fit(self._file, model, numbers, columns, meta, changes)
            self._file.note(f"fitted {model}", 0)

    def forget_fit(self, model: str) -> None:
        """Delete the fit of a model, if there is one."""
        with self._file.writing():
            for (fit,) in self._file.db.execute("SELECT id FROM fit WHERE model = ?", (model,)).fetchall():
                stored_weights.forget_fit(self._file, fit)

    def merge(self, other: str | os.PathLike[str]) -> MergeCounts:
        """Learn the messages of another store; those known here under another label stay so, and are reported."""
        from deciban.mail.store.text_exchange import absorb_store

        theirs = StoreFile(other, create=False, wait=LOCK_TIMEOUT_SECONDS, read_only=True)
        try:
            with theirs.reading(), self._file.writing():
                return absorb_store(self._file, theirs)
        finally:
            theirs.close()

    def absorb_text(self, lines: Iterable[str]) -> MergeCounts:
        """Learn the messages of a store that was exported; an empty store takes over its labels and settings too."""
        from deciban.mail.store.text_exchange import absorb_text

        with self._file.writing(translate_errors):
            return absorb_text(self._file, lines)


def _is_total(weight: object) -> bool:
    return isinstance(weight, int | float) and 0 <= weight < MAX_EXACT_WEIGHT
