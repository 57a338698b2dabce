"""MailFilter: learns messages into a store, and classifies others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from deciban.docstrings import document
from deciban.errors import InputError, StoreError
from deciban.mail.message.message import compute_digest, read_message
from deciban.mail.model.mail_models import DEFAULT_MODEL
from deciban.mail.model.threshold_choice import (
    CHOICE_KEY,
    ThresholdChoice,
    choose_thresholds,
    read_choice,
    resolve_spam_at,
)
from deciban.mail.model.verdicts import UNSURE, StoreSnapshot, Verdict
from deciban.mail.model.weight_fitting import (
    FittedModelName,
    TrainingMessages,
    fit,
    has_enough_messages,
    is_growth_due,
)
from deciban.mail.sources.message_files import MessageInput
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.store_schema import HAM_AT, MAX_LOST_HAM, ModelName, check_model
from deciban.mail.store.stored_messages import LearnCounts, StoredMessage, WordMemory, add_counts
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.mail.tokens.tokens import extract_tokens, list_omissions

if TYPE_CHECKING:
    from deciban.mail.bulk.reader_processes import ReaderPool

BATCH_MESSAGES: Final = 3000
"""Messages that are learned in one transaction; others are read meanwhile."""

MAX_CLUES: Final = 15
"""Number of clues that a verdict names, unless another is given."""

MAX_CACHED_TOKENS: Final = 50_000
"""Tokens that a CachingMailFilter has looked up before it empties its cache."""

MIN_MESSAGES_TO_LOAD: Final = 50
"""For a chunk of so many messages all tokens of a store are loaded, where they are few enough."""

MAX_LOADED_TOKENS: Final = 1_000_000
"""Tokens of a store that is loaded completely: some 200 MB."""

MAX_BATCH_CACHED_TOKENS: Final = 1 << 20
"""Tokens that are cached while many messages are classified by a store that is not loaded completely."""


class RefitResult(Enum):
    """The outcome of a refit; only FITTED is true."""

    FITTED = "the model was fitted"
    NOT_DUE = "too little has changed since the last fit"
    NO_PARAMETERS = "the model has no parameters to fit"
    TOO_FEW_MESSAGES = "there are too few messages, in all or with one label"
    INSEPARABLE = "the words of the messages do not separate the labels"

    def __bool__(self) -> bool:
        return self is RefitResult.FITTED


def default_store() -> Path:
    """Return the path of the store that DECIBAN_MAIL names, or of the one in the user's data folder."""
    if named := os.environ.get("DECIBAN_MAIL"):
        return Path(named).expanduser()
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "deciban" / "mail.db"


@document()
class MailFilter:
    r"""A filter that learns from labelled mail and classifies new mail.

    Learning the same message twice is learning it once.

    Parameters
    ----------
    store : path or Store
        The file that the messages are learned into; or an open store.
    model : 'evidence', 'bayes', 'logistic', 'fisher' or None
        The model of verdicts; None: the one that the store is set to.
    reading : TokenOptions or None
        How messages are split into tokens; None: the default. A store that was learned by another is refused.
    read_only : bool
        Whether the store is only read.
    create : bool
        Whether a store that does not exist is made.

    Examples
    --------
    >>> import tempfile
    >>> with MailFilter(f"{tempfile.mkdtemp()}/mail.db") as mail:
    ...     _ = mail.learn(b"Subject: tea\n\nTea at four, in the garden?", "ham")
    ...     _ = mail.learn(b"Subject: win\n\nWin a million, claim now", "spam")
    ...     verdict = mail.classify(b"Subject: claim\n\nYour million")
    ...     mail.relabel(b"Subject: win\n\nWin a million, claim now", "ham")
    ...     known = mail.known(b"Subject: win\n\nWin a million, claim now")
    ...     forgotten = mail.unlearn(b"Subject: tea\n\nTea at four, in the garden?")
    >>> verdict.label, verdict.why, verdict.probability > 0.5
    ('unsure', '1 ham, 1 spam learned; at least 5 of each label are needed', True)
    >>> known, forgotten
    ('ham', True)
    """

    _max_cached_tokens = 0

    def __init__(
        self, store: str | os.PathLike[str] | Store, *, model: str | None = None, reading: TokenOptions | None = None,
        read_only: bool = False, create: bool = True,
    ) -> None:  # fmt: skip
        self._owns_store = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store(store, create=create, read_only=read_only)
        self.reading = reading or DEFAULT_OPTIONS
        self._cached: StoreSnapshot | None = None
        try:
            self.store.expect_reading(self.reading.fingerprint)
            self.model: ModelName = check_model(model or self.store.setting("model", DEFAULT_MODEL))
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<MailFilter: {self.store.path}, {self.model}>"

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def thresholds(self) -> tuple[float, float]:
        """Return the probability of spam up to which a message is ham, and the one from which it is spam.

        The latter, unless set, is the one chosen at the last fit, so that next to no ham is lost; else the default.
        Unless set, it is never below the former.
        """
        ham_at, spam_at = self.store.setting("ham_at", HAM_AT), self.store.setting("spam_at")
        choice = self.threshold_choice if spam_at is None else None
        return ham_at, resolve_spam_at(ham_at, spam_at, choice)

    @property
    def threshold_choice(self) -> ThresholdChoice | None:
        """Return the threshold for spam that the last fit chose, and the numbers of errors expected at it.

        None where no fit has chosen one, and for the model "fisher".
        """
        with self.store.read_transaction(report_damage):
            return None if self.model == "fisher" else read_choice(self.store.fit(self.model), self.store.path)

    def learn(self, raw: bytes, label: str, time: float | None = None) -> LearnCounts:
        """Learn one message of this time (None: now); return whether it was new, known or moved, as counts."""
        tokens = extract_tokens(read_message(raw), self.reading)
        return self.store.learn([StoredMessage(compute_digest(raw), check_label(label), tokens, time)])

    def learn_all(
        self, messages: Iterable[MessageInput], label: str, processes: int | ReaderPool | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LearnCounts:  # fmt: skip
        """Learn many messages of one label as `learn_each`, each batch in a transaction; known ones are skipped."""
        check_label(label)
        learned = self.learn_each(((label, message) for message in messages), processes, progress)
        return learned.get(label, LearnCounts())

    def learn_each(
        self, labelled: Iterable[tuple[str, MessageInput]], processes: int | ReaderPool | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, LearnCounts]:  # fmt: skip
        """Learn messages of several labels, and return the counts by label.

        `processes` is the number of reader processes, or a pool of them (None: one per core, for many messages).
        `progress` is called after each batch with its number of messages.
        """
        from deciban.mail.bulk.read_batches import gather_batches

        total: dict[str, LearnCounts] = {}
        memory = WordMemory()
        checked = ((check_label(label), message) for label, message in labelled)
        for batch in gather_batches(checked, processes, self.reading, BATCH_MESSAGES):
            for label, counts in self.store.learn_batch(batch, memory).items():
                total[label] = add_counts([total.get(label, LearnCounts()), counts])
            if progress is not None:
                progress(len(batch))
        return total

    def unlearn(self, raw: bytes) -> bool:
        """Forget a message as if it had never been learned; return whether it was known."""
        return bool(self.store.unlearn([compute_digest(raw)]))

    def relabel(self, raw: bytes, label: str) -> None:
        """Change the label of a message that was learned; ForgetError if it was not."""
        self.store.relabel(compute_digest(raw), check_label(label))

    def known(self, raw: bytes) -> str | None:
        """Return the label under which a message was learned, or None."""
        return self.store.find_label(compute_digest(raw))

    def classify(self, raw: bytes, clues: int = MAX_CLUES) -> Verdict:
        """Return the verdict on a message, with at most so many clues."""
        message = read_message(raw)
        tokens = extract_tokens(message, self.reading)
        with self.store.read_transaction(report_damage):
            snapshot = self._take_snapshot(self._max_cached_tokens)
            snapshot.look_up(tokens)
        sender, subject = message.heading
        found = snapshot.verdict(tokens, list_omissions(message, tokens), clues)
        return replace(found, sender=sender, subject=subject)

    def _take_snapshot(self, max_tokens: int) -> StoreSnapshot:
        """Return the last snapshot if it is still valid and has looked up at most so many tokens, else a new one."""
        cached = self._cached
        if cached is None or len(cached) > max_tokens or not cached.is_valid():
            set_thresholds = self.store.setting("ham_at", HAM_AT), self.store.setting("spam_at")
            cached = self._cached = StoreSnapshot(self.store, self.model, set_thresholds)
        return cached

    def classify_all(
        self, messages: Iterable[MessageInput], processes: int | ReaderPool | None = None,
        clues: int = MAX_CLUES,
    ) -> Iterator[tuple[str, Verdict]]:  # fmt: skip
        """Yield the name and the verdict of each message, in order; each batch is classified by one snapshot.

        From the first batch of `MIN_MESSAGES_TO_LOAD` messages on, one snapshot with all tokens of the store is used,
        unless they are too many: then what is learned later does not count.
        """
        from deciban.mail.bulk.read_batches import read_batches

        snapshot: StoreSnapshot | None = None
        unlabelled = (("", message) for message in messages)
        for batch in read_batches(unlabelled, processes, self.reading, digests=False):
            with self.store.read_transaction(report_damage):
                if snapshot is None or not snapshot.is_loaded:
                    snapshot = self._take_snapshot(MAX_BATCH_CACHED_TOKENS)
                if len(batch) >= MIN_MESSAGES_TO_LOAD:
                    snapshot.load(MAX_LOADED_TOKENS)
                    self._cached = None  # the memory of all tokens is freed after this call
                snapshot.look_up(batch.words)
            rows = snapshot.rows(batch.words)[batch.indices]
            verdicts = snapshot.verdicts(rows, batch.sizes, batch.omissions, clues)
            for name, verdict, (sender, subject) in zip(batch.names, verdicts, batch.headings, strict=True):
                yield name, replace(verdict, sender=sender, subject=subject)

    def is_fit_due(self) -> bool:
        """Return whether a model has parameters, enough messages, and no fit or one since which much has changed."""
        with self.store.read_transaction(report_damage):
            messages = [n for n, _ in self.store.totals().values() if n]
            if self.model == "fisher" or not has_enough_messages(messages):
                return False
            last = self.store.fit(self.model)
            return last is None or is_growth_due(self.store.changes() - last.changes, last.meta["messages"])

    def refit(self, force: bool = False) -> RefitResult:
        """Fit the model to all messages if that is due, or always with `force`. Not for the middle of a delivery.

        The result is true if the model was fitted, and otherwise gives the reason why it was not.
        """
        if not (force or self.is_fit_due()):
            return RefitResult.NOT_DUE
        if self.model == "fisher":
            return RefitResult.NO_PARAMETERS
        rows = self.store.rows()
        unit = self.store.unit(float(rows.times.max())) if len(rows.times) else 1.0
        examples = TrainingMessages.from_rows(rows, unit)
        if examples is None:
            return RefitResult.TOO_FEW_MESSAGES
        found = fit(examples, self.model)
        if found is None:
            return RefitResult.INSEPARABLE
        choice = self._update_choice(rows, unit, self.model)
        meta = asdict(found.parameters) | ({CHOICE_KEY: asdict(choice)} if choice else {})
        with report_damage(self.store.path):
            self.store.save_fit(self.model, examples.numbers, found.columns, meta, changes=rows.changes)
        return RefitResult.FITTED

    def _update_choice(self, rows: StoreRows, unit: float, model: FittedModelName) -> ThresholdChoice | None:
        """Return the thresholds to save with a fit: the last ones, unless for other settings or much less ham."""
        ham_at, max_lost = self.store.setting("ham_at", HAM_AT), self.store.setting("max_lost_ham", MAX_LOST_HAM)
        n_ham = self.store.totals().get("ham", (0, 0.0))[0]
        try:
            last = self.threshold_choice
        except StoreError:  # it is replaced
            last = None
        if last and (last.ham_at, last.max_lost) == (ham_at, max_lost) and last.is_recent(n_ham):
            return last
        return choose_thresholds(rows, unit, model, ham_at, max_lost)


class CachingMailFilter(MailFilter):
    """A filter for a server: tokens that were looked up for one message are cached for the next, until a change."""

    _max_cached_tokens = MAX_CACHED_TOKENS


def check_label(label: str) -> str:
    """Return a label, if messages can be learned under it."""
    if not label or label == UNSURE or not label.isprintable():
        raise InputError(f"label {label!r}: a label is a word of your own, such as ham, spam or work, not {UNSURE!r}")
    return label
