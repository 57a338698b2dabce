"""InMemoryFilter: a filter in memory that says, to the number, what a store of the same messages would say.

It is for judging filters: thousands are taught and asked in a minute, and none leaves a file behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.evaluation.labelled_mail import LABELS, LabelledMail
from deciban.mail.model.mail_models import USUAL_MODEL, MessageScores, ModelName, score_message, token_scores
from deciban.mail.model.minimum_counts import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT
from deciban.mail.model.refit import is_growth_due
from deciban.mail.model.store_rows import Rows
from deciban.mail.model.token_weights import WeightParameters
from deciban.mail.model.verdict import Verdict
from deciban.mail.model.verdicts import Known, LearnCounts, VerdictBuilder
from deciban.mail.model.weight_fitting import USUAL_SETTINGS, Examples, Settings, fit
from deciban.mail.store.store_settings import HAM_AT, SPAM_AT

Indices = NDArray[np.integer[Any]]


class InMemoryFilter:
    """Learns messages of a collection by their places in it, fits trusts, and weighs others."""

    def __init__(
        self, mail: LabelledMail, model: ModelName = USUAL_MODEL, settings: Settings = USUAL_SETTINGS,
        thresholds: tuple[float, float] = (HAM_AT, SPAM_AT),
    ) -> None:  # fmt: skip
        self.mail, self.model, self.settings, self.thresholds = mail, model, settings, thresholds
        self.refits = 0
        self._known: dict[bytes, int] = {}
        self._counts, self._any = np.zeros((len(mail.words), 2)), np.zeros(len(mail.words))
        self._messages = np.zeros(2)
        self._trust: WeightParameters | None = None
        self._own = np.zeros((len(mail.words), 1))
        self._since = 0

    def learn(self, rows: Iterable[int] | Indices) -> None:
        """Learn messages; one that is known is learned once, one that is known under another label moves."""
        for i in np.asarray(rows).tolist():
            digest = self.mail.digests[i]
            before = self._known.get(digest)
            if before is not None and self.mail.codes[before] == self.mail.codes[i]:
                continue
            if before is not None:
                self._count(self._known.pop(digest), -1)
            self._known[digest] = i
            self._count(i, 1)
            self._since += 1

    def _count(self, i: int, sign: int) -> None:
        tokens, code = self.mail.tokens[i], self.mail.codes[i]
        self._counts[tokens, code] += sign
        self._any[tokens] += sign
        self._messages[code] += sign

    def is_fit_due(self) -> bool:
        """As `MailFilter.is_fit_due`."""
        if (
            self.model == "fisher"
            or self._messages.min() < MIN_MESSAGES_PER_LABEL
            or self._messages.sum() < MIN_MESSAGES_TO_FIT
        ):
            return False
        return self._trust is None or is_growth_due(self._since, self._trust.messages)

    def refit(self, force: bool = False) -> bool:
        """Fit as `MailFilter.refit` does; return whether the model was fitted."""
        if self.model == "fisher" or not (force or self.is_fit_due()):
            return False
        examples = Examples.of(self._rows())
        found = None if examples is None else fit(examples, self.model, settings=self.settings)
        if found is None:
            return False
        self._trust, self._since = found.trust, 0
        self._own = np.zeros_like(self._own)
        self._own[found.numbers, 0] = found.columns[0]
        self.refits += 1
        return True

    def _rows(self) -> Rows:
        """What is known, as a store gives it."""
        learned = list(self._known.values())
        tokens = [np.sort(self.mail.tokens[i]) for i in learned]
        n = len(learned)
        return Rows(
            label_names=LABELS, labels=self.mail.codes[learned].astype(np.int64), weights=np.ones(n),
            times=np.zeros(n), digests=list(self._known),
            indptr=np.concatenate([[0], np.cumsum([len(each) for each in tokens], dtype=np.int64)]),
            indices=np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int64),
            numbers=np.arange(len(self.mail.words)), changes=n,
        )  # fmt: skip

    @property
    def trust(self) -> WeightParameters:
        """What was fitted, or what is trusted before that."""
        if self._trust is not None:
            return self._trust
        first = WeightParameters.initial(LABELS, int(self._messages.sum()))
        return replace(first, alpha=self.settings.alpha, power=self.settings.power)

    @property
    def knows_both(self) -> bool:
        """Whether messages of both labels were learned."""
        return bool(self._messages.all())

    @property
    def too_few(self) -> bool:
        """Whether no verdict can be sure."""
        return bool(self._messages.min() < MIN_MESSAGES_PER_LABEL)

    def _weighed(self, i: int, trust: WeightParameters) -> tuple[MessageScores, Indices]:
        """What a message comes to, and which of its tokens are known."""
        tokens = self.mail.tokens[i]
        at = tokens[self._any[tokens] > 0]
        counts, totals = self._counts[at], self._messages
        said = token_scores(self.model, counts, totals, trust, self._own[at])
        return score_message(self.model, counts, totals, trust, said), at

    def scores(self, rows: Iterable[int] | Indices) -> Array:
        """The log-odds of spam, in nats, of some messages; 0 while only one label is known."""
        rows = np.asarray(rows)
        if not self.knows_both:
            return np.zeros(len(rows))
        trust = self.trust
        return np.array([self._weighed(i, trust)[0].scores[0][0] for i in rows.tolist()])

    def verdict(self, i: int, clues: int) -> Verdict:
        """What a message is, and why; both labels were learned before."""
        messages = self._messages
        learned = LearnCounts(LABELS, (0, 1), (int(messages[0]), int(messages[1])), tuple(messages.tolist()))
        found, at = self._weighed(i, self.trust)
        teller = VerdictBuilder(learned, self.model, self.thresholds)
        return next(teller.told(found, Known(at, self.mail.words, self._counts), {}, clues))
