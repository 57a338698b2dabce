"""The store: messages that were learned, and counts of their tokens, in one SQLite file that survives any crash."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from deciban.errors import ForgetError, InputError
from deciban.formatting import format_count
from deciban.mail.store import store_arrays, store_maintenance, store_updates, stored_messages, text_exchange
from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, check_half_life, check_time, is_number
from deciban.mail.store.sqlite_errors import MEND_HINT, invalid_value, report_damage
from deciban.mail.store.store_arrays import Fit, StoredTokens, StoreRows
from deciban.mail.store.store_file import StoreFile, check_same_reading
from deciban.mail.store.store_maintenance import TidyResult
from deciban.mail.store.store_schema import DEFAULT_MAX_MESSAGES, MAX_INT64, RESERVED_KEYS, check_setting
from deciban.mail.store.stored_messages import LearnCounts, StoredMessage, TokenBatch, WordMemory, replace_surrogates
from deciban.mail.store.text_exchange import MergeCounts


class Store(StoreFile):
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

    # ---- reading

    def find_label(self, digest: bytes) -> str | None:
        """Return the label a message was learned under, or None."""
        with self.read_transaction(report_damage):
            return store_updates.find_labels(self, [stored_messages.check_digest(digest)]).get(digest)

    def totals(self) -> dict[str, tuple[int, float]]:
        """Return the number of messages of each label, and their weight."""
        with self.read_transaction(report_damage):
            rows = self.db.execute("SELECT name, messages, weight FROM label ORDER BY id").fetchall()
            for name, messages, weight in rows:
                is_valid = is_number(messages, 0, MAX_INT64, only=int) and is_number(weight, 0, MAX_EXACT_WEIGHT)
                if not is_valid or weight == MAX_EXACT_WEIGHT:
                    rule = f"label {name!r:.60} has {messages!r:.60} messages of weight {weight!r:.60}"
                    raise invalid_value(self.path, rule, MEND_HINT)
        return {name: (messages, weight) for name, messages, weight in rows}

    def counts(self, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        """Return the weight of each label's messages that have a token, for the tokens that any has."""
        words, counts, _ = self.tokens(tokens, None)
        found = dict(zip(words, map(tuple, counts.tolist())))
        return {token: found[word] for token, word in zip(tokens, replace_surrogates(tokens)) if word in found}

    def tokens(self, words: Sequence[str] | None, model: str | None) -> StoredTokens:
        """Return the counts of those words (None: all) that there are, and a model's weights of them, as arrays."""
        with self.read_transaction(report_damage):
            return store_arrays.read_tokens(self, model, words if words is None else replace_surrogates(words))

    def n_tokens(self) -> int:
        """Return the number of tokens."""
        with self.read_transaction(report_damage):
            return int(self.db.execute("SELECT count(*) FROM token").fetchone()[0])

    def rows(self) -> StoreRows:
        """Return all messages as arrays, for models that are fitted to them."""
        with self.read_transaction(report_damage):
            return store_arrays.read_rows(self)

    def fit(self, model: str) -> Fit | None:
        """Return the last fit of a model; `tokens` returns its weights."""
        with self.read_transaction(report_damage):
            return store_arrays.read_fit(self, model)

    def changes(self) -> int:
        """Return the count of changes: messages learned, unlearned or moved, and 1 for each change of all weights."""
        return int(self.setting("changes", 0))

    def version(self) -> tuple[int, int]:
        """Return a pair that differs after any change, by others or over this connection."""
        with self.read_transaction(report_damage):
            return self.db.execute("PRAGMA data_version").fetchone()[0], self.db.total_changes

    def unit(self, time: float | None = None) -> float:
        """Return the weight of a message learned then (None: now): counts divided by it are in such messages."""
        return self.ageing.weight(check_time(time))

    def journal(self, most: int = 20) -> list[tuple[float, str]]:
        """Return time and description of the last changes, newest first."""
        query = "SELECT time, what FROM journal ORDER BY id DESC LIMIT ?"
        with self.read_transaction(report_damage):
            return self.db.execute(query, (most,)).fetchall()

    def is_tidy_due(self, excess: float = 0.0) -> bool:
        """Return whether messages exceed the limit, by more than a fraction of it, or weights need a later origin."""
        with self.read_transaction(report_damage):
            most, last = self.setting("most_messages", DEFAULT_MAX_MESSAGES), self.setting("last_learned")
            is_above = sum(messages for messages, _ in self.totals().values()) > most * (1 + excess)
            if is_above or last is None or not self.ageing.is_due(last):  # hardly any message is newer than `last`
                return is_above
            newest = store_maintenance.newest_time(self)  # this reads all messages
            return newest is not None and self.ageing.is_due(newest)

    def check(self) -> list[str]:
        """Return a description of each problem: damage of the file, and counts that are not those of the messages."""
        with self.read_transaction(report_damage):
            return store_maintenance.find_problems(self)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store as it is now, even while it is in use; an earlier copy of that name is replaced."""
        with self.read_transaction(report_damage):
            store_maintenance.copy_to(self, path)

    def export(self) -> Iterator[str]:
        """Yield the store as lines of text, which `absorb_text` reads; stores of equal content give equal lines."""
        with self.read_transaction(report_damage):
            yield from text_exchange.format_lines(self)

    # ---- writing

    def learn(self, messages: Iterable[StoredMessage]) -> LearnCounts:
        """Learn messages, all or none; one known under its label is left alone, one under another label is moved."""
        return stored_messages.add_counts(self.learn_batch(TokenBatch.from_messages(messages)).values())

    def learn_batch(self, batch: TokenBatch, memory: WordMemory | None = None) -> dict[str, LearnCounts]:
        """Learn a batch, all or none; return the counts by label. `memory` is kept from one batch to the next."""
        batch = batch.check()
        with self.write_transaction(report_damage):
            return store_updates.learn(self, batch, memory)

    def unlearn(self, digests: Iterable[bytes]) -> int:
        """Forget messages as if they had never been learned; return how many were known."""
        wanted = [stored_messages.check_digest(digest) for digest in digests]
        with self.write_transaction(report_damage):
            gone = store_updates.unlearn(self, wanted)
            if gone:
                self.note(f"unlearned {format_count(gone, 'message')}", gone)
        return gone

    def relabel(self, digest: bytes, label: str) -> None:
        """Change the label of a message; its time and weight stay. ForgetError if it was never learned."""
        with self.write_transaction(report_damage):
            before = self.find_label(digest)
            if before is None:
                raise ForgetError(f"message {digest.hex()} was never learned. Hint: learn it as {label!r}")
            if before != label:
                store_updates.relabel(self, digest, label)
                self.note(f"relabelled a message from {before} to {label}", 1)

    def set(self, key: str, value: Any) -> None:
        """Set a setting to any JSON value; None deletes it."""
        if key in RESERVED_KEYS:
            raise InputError(
                f"setting {key!r} is kept by the store itself. Hint: age(), expect_reading(), or another key"
            )
        if value is not None:
            value = check_setting(key, value)
        with self.write_transaction(report_damage):
            self.put(key, value)

    def save_watched(self, state: Mapping[str, Any]) -> None:
        """Save the state of watched folders; `setting("watched")` returns it."""
        with self.write_transaction(report_damage):
            self.put("watched", dict(state))

    def expect_reading(self, fingerprint: str) -> None:
        """Refuse a store whose messages were read with other options; one without messages accepts these."""
        with self.read_transaction(report_damage):
            here = self.setting("reading")
            is_empty = self.n_messages() == 0
        if not is_empty:
            check_same_reading(self.path, here, fingerprint)
        if here != fingerprint and self.writable:
            with self.write_transaction(report_damage):
                self.put("reading", fingerprint)

    def age(self, half_life: float | None) -> None:
        """Let messages lose half their weight in so many seconds (None: never), those that are here included."""
        seconds = check_half_life(half_life)
        with self.write_transaction(report_damage):
            store_maintenance.renew_weights(self, seconds)
            ageing = "no ageing" if seconds is None else f"a half-life of {seconds / 86400:g} days"
            self.note(f"recomputed all weights: {ageing}", 1)

    def tidy(self, now: bool = False) -> TidyResult:
        """Unlearn the oldest messages beyond the limit (setting most_messages), and renew weights if that is due.

        No label is brought below its equal share of the limit. With `now` weights are renewed in any case. Not for
        the middle of a delivery.
        """
        with self.write_transaction(report_damage):
            gone = store_maintenance.enforce_limit(self, self.setting("most_messages", DEFAULT_MAX_MESSAGES))
            ageing, newest = self.ageing, store_maintenance.newest_time(self)
            renewed = newest is not None and ageing.half_life is not None and (now or ageing.is_due(newest))
            if renewed:
                store_maintenance.renew_weights(self, ageing.half_life)
            if gone or renewed:
                origin = "a later" if renewed else "the same"
                self.note(f"tidied: {format_count(gone, 'message')} unlearned, {origin} origin", gone + 1)
        store_maintenance.compact(self)
        return TidyResult(gone, renewed)

    def recount(self) -> None:
        """Recompute all counts from the messages, if `check` found them wrong."""
        with self.write_transaction(report_damage):
            store_maintenance.recount(self)
            self.note("recounted all messages", 1)

    def save_fit(
        self, model: str, numbers: Sequence[int] | stored_messages.Numbers, columns: Sequence[Any],
        meta: dict[str, Any], changes: int | None = None,
    ) -> None:  # fmt: skip
        """Save the fit of a model: weights of tokens by number, a column per score, and its parameters (JSON).

        `changes` is the store's count when the rows were read that it was fitted to; None: now.
        """
        with self.write_transaction():
            store_arrays.save_fit(self, model, numbers, columns, meta, changes)
            self.note(f"fitted {model}", 0)

    def merge(self, other: str | os.PathLike[str]) -> MergeCounts:
        """Learn the messages of another store; those known here under another label stay so, and are reported."""
        theirs = Store(other, create=False, read_only=True)
        with theirs, theirs.read_transaction(report_damage), self.write_transaction(report_damage):
            return text_exchange.absorb_store(self, theirs)

    def absorb_text(self, lines: Iterable[str]) -> MergeCounts:
        """Learn the messages of a store that was exported; an empty store takes over its labels and settings too."""
        with self.write_transaction():
            return text_exchange.absorb_text(self, lines)
