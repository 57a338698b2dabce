"""The store: what was learned of a mailbox, in one SQLite file that survives whatever happens to its writers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from deciban.errors import ForgetError, InputError
from deciban.mail.store.ageing import check_half_life
from deciban.mail.store.sqlite_errors import in_words
from deciban.mail.store.store_file import StoreFile, check_same_reading
from deciban.mail.store.store_reader import WAIT, Status, StoreReader
from deciban.mail.store.store_schema import MOST_MESSAGES
from deciban.mail.store.stored_message import LearnCounts, StoredMessage, add_counts, check_digest, check_message
from deciban.mail.store.stored_weights import Fit, forget_fit, save_fit

if TYPE_CHECKING:
    from deciban.mail.store.store_maintenance import Tidied
    from deciban.mail.store.text_exchange import Merged
    from deciban.mail.store.token_batch import TokenBatch, WordMemory


class Store(StoreReader):
    """What was learned of a mailbox: counts of tokens by label, and every message by its digest.

    Readers are never kept waiting; writers wait for each other; each call is a transaction. A store belongs to the
    thread that opened it: open one for each.

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

    def writing(self) -> AbstractContextManager[None]:
        """A block whose changes are made wholly or not at all."""
        return self._file.writing(in_words)

    def learn(self, messages: Iterable[StoredMessage]) -> LearnCounts:
        """Learn messages, all or none; one known under its label is left alone, one under another label is moved."""
        from deciban.mail.store.store_updates import learn
        from deciban.mail.store.token_batch import TokenBatch

        batch = TokenBatch.from_messages([check_message(StoredMessage(*message)) for message in messages])
        with self._file.writing():
            return add_counts(learn(self._file, batch).values())

    def learn_batch(self, batch: TokenBatch, memory: WordMemory | None = None) -> dict[str, LearnCounts]:
        """Learn a batch, all or none; return the counts by label. `memory` is kept from one batch to the next."""
        from deciban.mail.store.store_updates import learn

        batch = batch.check()
        with self._file.writing():
            return learn(self._file, batch, memory)

    def unlearn(self, digests: Iterable[bytes]) -> int:
        """Forget messages as if they had never come; how many were known."""
        from deciban.mail.store.store_updates import unlearn

        wanted = [check_digest(digest) for digest in digests]
        with self._file.writing():
            gone = unlearn(self._file, wanted)
            if gone:
                self._file.note(f"unlearned {gone} messages", gone)
        return gone

    def relabel(self, digest: bytes, label: str) -> None:
        """Say that a message is something else; its time and weight stay."""
        from deciban.mail.store.store_updates import relabel

        with self._file.writing():
            before = self.known(digest)
            if before is None:
                raise ForgetError(f"message {digest.hex()} was never learned. Hint: learn it as {label!r}")
            if before != label:
                relabel(self._file, digest, label)
                self._file.note(f"relabelled a message from {before} to {label}", 1)

    def set(self, key: str, value: Any) -> None:
        """Keep a value (anything that JSON can say) with the store; None takes it away."""
        from deciban.mail.store.store_settings import RESERVED, check_setting

        if key in RESERVED:
            raise InputError(
                f"setting {key!r} is kept by the store itself. Hint: age(), expect_reading(), or another key"
            )
        if value is not None:
            value = check_setting(key, value)
        with self._file.writing():
            self._file.put(key, value)

    def save_watched(self, state: Mapping[str, Any]) -> None:
        """Keep what was seen of watched folders; `setting("watched")` returns it."""
        with self._file.writing():
            self._file.put("watched", dict(state))

    def expect_reading(self, fingerprint: str) -> None:
        """Refuse a store whose messages were read in another way; one without messages takes this one."""
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
        from deciban.mail.store.store_maintenance import renew

        seconds = check_half_life(half_life)
        with self._file.writing():
            renew(self._file, seconds)
            said = "no ageing" if seconds is None else f"a half-life of {seconds / 86400:g} days"
            self._file.note(f"weighed all messages anew: {said}", 1)

    def tidy(self, now: bool = False) -> Tidied:
        """Keep the bound (setting most_messages): the oldest go first; weigh anew if that is due, or wanted now.

        No label is brought below its equal share of the bound. Not for the middle of a delivery.
        """
        from deciban.mail.store.store_maintenance import Tidied, compact, keep_bound, newest_time, renew

        with self._file.writing():
            gone = keep_bound(self._file, self._file.setting("most_messages", MOST_MESSAGES))
            ageing, newest = self.ageing, newest_time(self._file)
            renewed = newest is not None and ageing.half_life is not None and (now or ageing.is_due(newest))
            if renewed:
                renew(self._file, ageing.half_life)
            if gone or renewed:
                self._file.note(
                    f"tidied: {gone} oldest messages unlearned, {'a later' if renewed else 'the same'} origin",
                    gone + 1,
                )
        compact(self._file)
        return Tidied(gone, renewed)

    def recount(self) -> None:
        """Make all counts anew from the messages, should `check` have found them wrong."""
        from deciban.mail.store.store_maintenance import recount

        with self._file.writing():
            recount(self._file, self.ageing)
            self._file.note("counted all messages anew", 1)

    def save_fit(
        self,
        model: str,
        numbers: Sequence[int],
        columns: Sequence[Sequence[float]],
        meta: dict[str, Any],
        changes: int | None = None,
    ) -> None:
        """Keep what a model found out: weights of tokens by number, a column each, and its own notes (JSON).

        `changes` is the store's when the rows were taken that it was fitted to; None: now.
        """
        with self._file.writing(in_words):
            save_fit(self._file, model, numbers, columns, meta, changes)
            self._file.note(f"fitted {model}", 0)

    def forget_fit(self, model: str) -> None:
        """Drop what a model found out, if anything."""
        with self._file.writing():
            for (fit,) in self._file.db.execute("SELECT id FROM fit WHERE model = ?", (model,)).fetchall():
                forget_fit(self._file, fit)

    def merge(self, other: str | os.PathLike[str]) -> Merged:
        """Learn the messages of another store; those known here under another label stay so, and are told."""
        from deciban.mail.store.text_exchange import absorb_store

        theirs = StoreFile(other, create=False, wait=WAIT, read_only=True)
        try:
            with theirs.reading(), self._file.writing():
                return absorb_store(self._file, theirs)
        finally:
            theirs.close()

    def absorb_text(self, lines: Iterable[str]) -> Merged:
        """Learn the messages of a store that was exported; an empty one takes over its labels and settings too."""
        from deciban.mail.store.text_exchange import absorb_text

        with self._file.writing(in_words):
            return absorb_text(self._file, lines)


__all__ = ["Fit", "LearnCounts", "Status", "Store", "StoreReader", "StoredMessage"]
