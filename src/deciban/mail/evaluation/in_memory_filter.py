"""A filter in memory that gives exactly the numbers of a store with the same messages.

It is for evaluation: thousands of them learn and score in a minute, and none leaves a file behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.evaluation.filter_metrics import LOST_HAM_COST, Thresholds, choose_thresholds, log_losses
from deciban.mail.evaluation.labelled_mail import LABELS, LabelledMail
from deciban.mail.model.mail_models import (
    ALPHA,
    DEFAULT_MODEL,
    MIN_MESSAGES_PER_LABEL,
    MIN_MESSAGES_TO_FIT,
    MessageScores,
    WeightParameters,
    score_messages,
    token_scores,
)
from deciban.mail.model.verdicts import LabelTotals, TokenRows, Verdict, VerdictBuilder
from deciban.mail.model.weight_fitting import DEFAULT_FIT_SETTINGS, FitSettings, TrainingMessages, fit, is_growth_due
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.store_schema import HAM_AT, SPAM_AT, ModelName

Indices = NDArray[np.integer[Any]]

ALPHA_CANDIDATES: Final = (ALPHA, 0.1, 1.0)
"""The default first: it stays if no other is better."""


class InMemoryFilter:
    """A filter that learns messages of a collection by their indices, fits weights, and scores other messages."""

    def __init__(
        self, mail: LabelledMail, model: ModelName = DEFAULT_MODEL, settings: FitSettings = DEFAULT_FIT_SETTINGS,
        thresholds: Thresholds = (HAM_AT, SPAM_AT),
    ) -> None:  # fmt: skip
        self.mail, self.model, self.settings, self.thresholds = mail, model, settings, thresholds
        self.refits = 0
        self._known: dict[bytes, int] = {}
        self._counts, self._any = np.zeros((len(mail.words), 2)), np.zeros(len(mail.words))
        self._messages = np.zeros(2)
        self._parameters: WeightParameters | None = None
        self._own = np.zeros((len(mail.words), 1))
        self._since = 0

    def learn(self, rows: Iterable[int] | Indices) -> None:
        """Learn messages; a known one is learned once, one known under another label changes its label."""
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
        """Return whether a fit is due, as `MailFilter.is_fit_due` does."""
        if (
            self.model == "fisher"
            or self._messages.min() < MIN_MESSAGES_PER_LABEL
            or self._messages.sum() < MIN_MESSAGES_TO_FIT
        ):
            return False
        return self._parameters is None or is_growth_due(self._since, self._parameters.messages)

    def refit(self, force: bool = False) -> bool:
        """Fit as `MailFilter.refit` does; return whether the model was fitted."""
        if self.model == "fisher" or not (force or self.is_fit_due()):
            return False
        examples = TrainingMessages.from_rows(self._rows())
        found = None if examples is None else fit(examples, self.model, settings=self.settings)
        if found is None:
            return False
        self._parameters, self._since = found.parameters, 0
        self._own = np.zeros_like(self._own)
        self._own[found.numbers, 0] = found.columns[0]
        self.refits += 1
        return True

    def _rows(self) -> StoreRows:
        """Return the learned messages as a store gives them."""
        learned = list(self._known.values())
        tokens = [np.sort(self.mail.tokens[i]) for i in learned]
        n = len(learned)
        return StoreRows(
            label_names=LABELS, labels=self.mail.codes[learned].astype(np.int64), weights=np.ones(n),
            times=np.zeros(n), digests=list(self._known),
            indptr=np.concatenate([[0], np.cumsum([len(each) for each in tokens], dtype=np.int64)]),
            indices=np.concatenate(tokens) if tokens else np.zeros(0, dtype=np.int64),
            numbers=np.arange(len(self.mail.words)), changes=n,
        )  # fmt: skip

    @property
    def parameters(self) -> WeightParameters:
        """Return the fitted weights, or the initial ones before the first fit."""
        if self._parameters is not None:
            return self._parameters
        first = WeightParameters.initial(LABELS, int(self._messages.sum()))
        return replace(first, alpha=self.settings.alpha, power=self.settings.power)

    @property
    def has_both_labels(self) -> bool:
        """Return whether messages of both labels were learned."""
        return bool(self._messages.all())

    @property
    def has_too_few(self) -> bool:
        """Return whether too few messages were learned for any verdict but unsure."""
        return bool(self._messages.min() < MIN_MESSAGES_PER_LABEL)

    def _score(self, rows: list[int]) -> tuple[MessageScores, Indices]:
        """Return the scores of some messages, and their tokens that are known, message after message."""
        known = [tokens[self._any[tokens] > 0] for tokens in (self.mail.tokens[i] for i in rows)]
        at = np.concatenate([np.zeros(0, dtype=np.int64), *known])
        counts, totals, parameters = self._counts[at], self._messages, self.parameters
        scores = token_scores(self.model, counts, totals, parameters, self._own[at])
        return score_messages(self.model, counts, totals, parameters, scores, list(map(len, known))), at

    def scores(self, rows: Iterable[int] | Indices) -> Array:
        """Return the log-odds of spam, in nats, of some messages; 0 while only one label is known."""
        rows = np.asarray(rows).tolist()
        if not self.has_both_labels or not rows:
            return np.zeros(len(rows))
        return np.array(self._score(rows)[0].totals)[:, 0]

    def verdict(self, i: int, clues: int) -> Verdict:
        """Return the verdict on a message with its clues; both labels must have been learned."""
        messages = self._messages.tolist()
        learned = LabelTotals(LABELS, (0, 1), tuple(map(int, messages)), tuple(messages))
        found, at = self._score([i])
        builder = VerdictBuilder(learned, self.model, self.thresholds)
        return next(builder.build(found, TokenRows(at, self.mail.words, self._counts), {}, clues))


def choose_settings(
    mail: LabelledMail, learn: Indices, choose: Indices, model: ModelName, lost_ham_cost: float = LOST_HAM_COST
) -> tuple[InMemoryFilter, dict[float, float]]:
    """Learn some messages with the α and the thresholds that are best on others; return the log-loss of each α too.

    α is chosen by log-loss, which every message contributes to; thresholds by the costs of verdicts.
    """
    found: dict[float, tuple[InMemoryFilter, Array]] = {}
    tried: dict[float, float] = {}
    codes = mail.codes[choose]
    has_alpha = model in ("evidence", "bayes")
    for alpha in ALPHA_CANDIDATES if has_alpha else ALPHA_CANDIDATES[:1]:
        trained = InMemoryFilter(mail, model, FitSettings(alpha=alpha))
        trained.learn(learn)
        trained.refit(force=True)
        scores = trained.scores(choose)
        found[alpha] = trained, scores
        tried[alpha] = float(log_losses(scores, codes == 1).mean())
    best, scores = found[min(tried, key=lambda alpha: tried[alpha])]
    best.thresholds = choose_thresholds(scores, codes, lost_ham_cost)
    return best, tried
