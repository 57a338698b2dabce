"""MailFilter: learns messages into a store, and says what others are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from deciban.errors import InputError
from deciban.mail.message.digest import compute_digest
from deciban.mail.message.message import read_message
from deciban.mail.model.mail_models import ModelName
from deciban.mail.model.refit import RefitResult, is_due, refit_store
from deciban.mail.model.scoring import Scorer
from deciban.mail.model.verdict import UNSURE, Verdict
from deciban.mail.sources.raw_message import MessageInput
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.stored_message import Entry, LearnCounts, together
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.mail.tokens.tokens import extract_tokens, list_omissions

if TYPE_CHECKING:
    from deciban.mail.bulk.reader_processes import ReaderPool

BATCH: Final = 3000
"""Messages that are learned in one transaction; others are read meanwhile."""

CLUES: Final = 15
"""So many clues a verdict names."""


def default_store() -> Path:
    """Where the store is, unless it is said: DECIBAN_MAIL, else the folder where programs keep a user's data."""
    if named := os.environ.get("DECIBAN_MAIL"):
        return Path(named).expanduser()
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "deciban" / "mail.db"


class MailFilter:
    r"""A mailbox that was learned, and what it says of new mail.

    `store` is a path or an open `Store`; `model` one of "evidence", "bayes", "logistic", "fisher" (None: the one that
    the store is set to). A store that is not there is made, unless `create` is False or it is only to be read.
    Learning the same message twice is learning it once.

    >>> import tempfile
    >>> with MailFilter(f"{tempfile.mkdtemp()}/mail.db") as mail:
    ...     _ = mail.learn(b"Subject: tea\n\nTea at four, in the garden?", "ham")
    ...     _ = mail.learn(b"Subject: win\n\nWin a million, claim now", "spam")
    ...     said = mail.classify(b"Subject: claim\n\nYour million")
    >>> said.label, said.why, said.probability > 0.5
    ('unsure', '1 ham, 1 spam learned; at least 5 of each label are needed', True)
    """

    def __init__(
        self, store: str | os.PathLike[str] | Store, *, model: str | None = None, reading: TokenOptions | None = None,
        read_only: bool = False, create: bool = True,
    ) -> None:  # fmt: skip
        self._own = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store(store, create=create, read_only=read_only)
        self.reading = reading or DEFAULT_OPTIONS
        try:
            self.store.expect_reading(self.reading.fingerprint)
            self._judge = Scorer(self.store, model)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the store, if it was opened here."""
        if self._own:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    @property
    def model(self) -> ModelName:
        """The model that weighs."""
        return self._judge.model

    @property
    def thresholds(self) -> tuple[float, float]:
        """A message is ham up to the first probability of spam, spam from the second; between them it is unsure."""
        return self._judge.thresholds

    def learn(self, raw: bytes, label: str, time: float | None = None) -> LearnCounts:
        """Learn one message."""
        return self.store.learn(
            [Entry(compute_digest(raw), check_label(label), extract_tokens(read_message(raw), self.reading), time)]
        )

    def learn_all(
        self, found: Iterable[MessageInput], label: str, processes: int | ReaderPool[Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LearnCounts:  # fmt: skip
        """Learn many: names and messages. Each batch is a transaction; what was learned before is passed over."""
        check_label(label)
        learned = self.learn_each(((label, each) for each in found), processes, progress)
        return learned.get(label, LearnCounts(0, 0, 0))

    def learn_each(
        self, labelled: Iterable[tuple[str, MessageInput]], processes: int | ReaderPool[Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, LearnCounts]:  # fmt: skip
        """The same of several labels: what came of it, for each of them."""
        from deciban.mail.bulk.batches import batches

        total: dict[str, LearnCounts] = {}
        each = ((check_label(label), given) for label, given in labelled)
        for heads, flat in batches(each, processes, self.reading, BATCH):
            for label, learned in self.store.learn_flat(heads, flat).items():
                total[label] = together([total.get(label, LearnCounts(0, 0, 0)), learned])
            if progress is not None:
                progress(len(heads))
        return total

    def unlearn(self, raw: bytes) -> bool:
        """Forget a message as if it had never come; whether it was known."""
        return bool(self.store.unlearn([compute_digest(raw)]))

    def relabel(self, raw: bytes, label: str) -> None:
        """Say that a message that was learned is something else."""
        self.store.relabel(compute_digest(raw), check_label(label))

    def known(self, raw: bytes) -> str | None:
        """The label under which a message was learned."""
        return self.store.known(compute_digest(raw))

    def classify(self, raw: bytes, clues: int = CLUES) -> Verdict:
        """What a message is, and why."""
        message = read_message(raw)
        tokens = extract_tokens(message, self.reading)
        return self._judge.verdict(tokens, list_omissions(message, tokens), clues)

    def classify_all(
        self, found: Iterable[MessageInput], processes: int | ReaderPool[Any] | None = None, clues: int = CLUES
    ) -> Iterator[tuple[str, Verdict]]:
        """What each of many messages is, in their order: many by what was learned when it began, few by what is."""
        from deciban.mail.bulk.bulk_scoring import BatchClassifier
        from deciban.mail.bulk.read_batches import Waiting, read_batches

        judge, waiting = BatchClassifier(self._judge), Waiting()
        given = waiting.given(("", each) for each in found)
        for bundle in read_batches(given, judge, processes, self.reading, digests=False):
            for (_, name, _), verdict in zip(waiting.met(bundle), judge.verdicts(bundle, clues), strict=True):
                yield name, verdict

    def is_fit_due(self) -> bool:
        """Whether so much was learned since trusts were fitted that they should be fitted anew."""
        with report_damage(self.store.path):
            return is_due(self.store, self.model)

    def refit(self, force: bool = False) -> RefitResult:
        """Fit the model to all messages if that is due, or always with `force`. Not for the middle of a delivery.

        The result is true if the model was fitted, and otherwise says why it was not.
        """
        return refit_store(self.store, self.model) if force or self.is_fit_due() else RefitResult.NOT_DUE


def check_label(label: str) -> str:
    """A name that messages can be learned under."""
    if not label or label == UNSURE or not label.isprintable():
        raise InputError(f"label {label!r}: a label is a word of your own, such as ham, spam or work, not {UNSURE!r}")
    return label
