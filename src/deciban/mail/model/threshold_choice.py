"""The choice of the threshold for spam from a store's own messages, so that next to no ham is lost.

Each message is scored by a fit to the messages of other folds. The threshold is the lowest at which the upper 95 %
bound of the rate of lost ham is at most the rate that is allowed. So many ham are needed for that that the default
stays with fewer, and is raised only where they show that the rate is exceeded.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.model import mail_models
from deciban.mail.model.mail_models import MessageScores, logit
from deciban.mail.model.weight_fitting import (
    DEFAULT_FIT_SETTINGS,
    FitSettings,
    FittedModelName,
    TrainingMessages,
    fit,
)
from deciban.mail.store.sqlite_errors import FIT_HINT, INVALID_VALUE_ERRORS, invalid_value
from deciban.mail.store.store_arrays import Fit, StoreRows
from deciban.mail.store.store_schema import HAM_AT, MAX_LOST_HAM, SPAM_AT
from deciban.scores.posterior import log_sum_exp

LABELS: Final = ("ham", "spam")
"""The labels that thresholds are chosen for; the code of a message with one of them is its index."""

HAM_CODE, SPAM_CODE, UNSURE_CODE = 0, 1, 2
"""Codes of verdicts."""

CHOICE_KEY: Final = "choice"
"""The key of the chosen thresholds among the parameters of a fit."""

N_FOLDS: Final = 5

MAX_PARALLEL_TOKENS: Final = 1 << 22
"""Tokens of messages that are fitted at a time, in folds that run in threads: each takes about 85 bytes."""

MIN_HAM: Final = 300
"""Ham from which the threshold is chosen: with fewer, ten times the default rate could not be excluded."""

CONFIDENCE: Final = 0.95
"""Probability with which the rate of lost ham is below its upper bound."""

SPAM_CANDIDATES: Final = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999)
"""Thresholds to choose from, rising; beyond the last, a single ham in the wrong folder would make all spam unsure."""

GROWTH_FRACTION: Final = 0.5
"""The threshold is chosen again when the ham have grown by so much: it takes five fits."""


@dataclass(frozen=True)
class OutOfFoldScores:
    """Log-odds of spam of messages by fits without them, and the scores that the threshold for spam is for."""

    scores: Array
    spam_scores: Array
    is_spam: NDArray[np.bool_]


@dataclass(frozen=True)
class ThresholdChoice:
    """A chosen threshold, and what is expected at it: of so many ham and spam the numbers lost, missed and unsure.

    `max_lost` is the rate that was allowed, and `ham_at` the threshold for ham that the numbers are for.
    """

    spam_at: float
    ham_at: float
    max_lost: float
    ham: int
    lost: int
    ham_unsure: int
    spam: int
    missed: int
    spam_unsure: int

    @classmethod
    def from_dict(cls, values: Any) -> Self:
        """Return a saved choice; one of `INVALID_VALUE_ERRORS` is raised if it is invalid."""
        spam_at, ham_at, max_lost = (float(values[name]) for name in ("spam_at", "ham_at", "max_lost"))
        counts = [int(values[name]) for name in ("ham", "lost", "ham_unsure", "spam", "missed", "spam_unsure")]
        if not all(0 <= value <= 1 for value in (spam_at, ham_at, max_lost)) or min(counts) < 0:
            raise ValueError("thresholds and rates must be from 0 to 1, and counts from 0")
        return cls(spam_at, ham_at, max_lost, *counts)

    @property
    def missing_ham(self) -> int:
        """Return how many more ham are needed before the allowed rate can be ensured."""
        return max(0, required_ham(self.max_lost) - self.ham)

    def is_recent(self, n_ham: int) -> bool:
        """Return whether the choice is still the one to use with so many ham."""
        return n_ham < (1 + GROWTH_FRACTION) * self.ham


def read_choice(fit: Fit | None, path: Path) -> ThresholdChoice | None:
    """Return the thresholds that were saved with a fit of the store at this path; None if none were."""
    if fit is None or (saved := fit.meta.get(CHOICE_KEY)) is None:
        return None
    try:
        return ThresholdChoice.from_dict(saved)
    except INVALID_VALUE_ERRORS as error:
        rule = f"the thresholds of model {fit.model!r} are invalid ({type(error).__name__}: {error})"
        raise invalid_value(path, rule, FIT_HINT) from error


def resolve_spam_at(ham_at: float, spam_at: float | None, choice: ThresholdChoice | None) -> float:
    """Return the threshold for spam: the one set, or else the one chosen, or the default, but at least `ham_at`."""
    if spam_at is not None:
        return spam_at
    return max(ham_at, SPAM_AT if choice is None else choice.spam_at)


def log_binomial_cdf(k: int, n: int, rate: float) -> float:
    """Compute the log of the binomial distribution function, ln P(at most k of n), each with this probability."""
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        + i * math.log(rate) + (n - i) * math.log1p(-rate)
        for i in range(k + 1)
    ]  # fmt: skip
    return float(log_sum_exp(np.array([logs]))[0])


def upper_bound(k: int, n: int) -> float:
    """Compute the upper 95 % bound of a rate of which k in n were found (Clopper and Pearson).

    >>> round(upper_bound(0, 2995), 6), round(upper_bound(3, 1000), 5)
    (0.001, 0.00774)
    """
    if k >= n:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if log_binomial_cdf(k, n, middle) > math.log(1 - CONFIDENCE) else (low, middle)
    return high


def required_ham(max_lost: float) -> int:
    """Compute how many ham, none of them lost, ensure a rate of lost ham.

    >>> required_ham(0.001)
    2995
    """
    return math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-max_lost)) if max_lost < 1 else 1


def apply_thresholds(
    scores: Array, thresholds: tuple[float, float], spam_scores: Array | None = None
) -> NDArray[Any]:
    """Return the verdict codes of messages with these log-odds of spam, and the scores for the second threshold.

    Without other scores the log-odds are compared with both.

    >>> apply_thresholds(np.array([-3.0, 0.0, 5.0]), (0.2, 0.95)).tolist()
    [0, 2, 1]
    """
    ham_at, spam_at = (logit(p) for p in thresholds)
    is_spam = (scores if spam_scores is None else spam_scores) >= spam_at
    return np.where(scores <= ham_at, HAM_CODE, np.where(is_spam, SPAM_CODE, UNSURE_CODE))


def choose_spam_threshold(ham_scores: Array, max_lost: float = MAX_LOST_HAM, ham_at: float = HAM_AT) -> float:
    """Choose the threshold for spam from the scores of ham; it is above that for ham where a candidate is.

    >>> scores = np.full(3000, -5.0)
    >>> choose_spam_threshold(scores), choose_spam_threshold(np.append(scores, 3.5))
    (0.9, 0.98)
    >>> choose_spam_threshold(scores[:400]), choose_spam_threshold(np.append(scores[:400], [3.5] * 4))
    (0.95, 0.98)
    """
    n = len(ham_scores)
    is_ensured = n >= required_ham(max_lost)
    for threshold in (candidate for candidate in SPAM_CANDIDATES if candidate > ham_at):
        lost = int((ham_scores >= logit(threshold)).sum())
        if is_ensured and upper_bound(lost, n) <= max_lost:
            return threshold
        # so many lost would be a surprise (5 %) if the rate were the allowed one
        is_exceeded = lost > 0 and max_lost < 1 and log_binomial_cdf(lost - 1, n, max_lost) > math.log(CONFIDENCE)
        if not is_ensured and threshold >= SPAM_AT and not is_exceeded:
            return threshold
    return max(ham_at, SPAM_CANDIDATES[-1])


def choose_thresholds(
    rows: StoreRows, unit: float, model: FittedModelName, ham_at: float = HAM_AT, max_lost: float = MAX_LOST_HAM,
    settings: FitSettings = DEFAULT_FIT_SETTINGS,
) -> ThresholdChoice | None:  # fmt: skip
    """Choose the threshold for spam of a store's messages; None where they are too few, or not ham and spam."""
    found = score_out_of_fold(rows, unit, model, settings)
    if found is None:
        return None
    spam_at = choose_spam_threshold(found.spam_scores[~found.is_spam], max_lost, ham_at)
    verdicts = apply_thresholds(found.scores, (ham_at, spam_at), found.spam_scores)
    counts = np.bincount(3 * found.is_spam + verdicts, minlength=6).reshape(2, 3)
    (_, lost, ham_unsure), (missed, _, spam_unsure) = counts.tolist()
    ham, spam = counts.sum(axis=1).tolist()
    return ThresholdChoice(spam_at, ham_at, max_lost, ham, lost, ham_unsure, spam, missed, spam_unsure)


def score_out_of_fold(
    rows: StoreRows, unit: float, model: FittedModelName, settings: FitSettings = DEFAULT_FIT_SETTINGS
) -> OutOfFoldScores | None:
    """Score each message of a store by a fit to the four other folds; None if no fit, or too few ham or other labels.

    Folds are stretches of time, by label: replies and campaigns are mostly in one. They are fitted in threads.
    """
    from deciban.engines.threads import thread_count  # later: a message in a new process needs none of these
    from deciban.kernels.execution import map_in_threads, part_of_work

    names = [rows.label_names[k] for k in rows.labels.tolist()]
    spam = np.array([name == LABELS[1] for name in names], dtype=bool)
    if set(names) != set(LABELS) or (~spam).sum() < MIN_HAM:
        return None
    folds = np.empty(len(spam), dtype=np.int64)
    for side in (spam, ~spam):
        mine = np.flatnonzero(side)
        folds[mine[np.argsort(rows.times[mine], kind="stable")]] = np.arange(len(mine)) * N_FOLDS // len(mine)
    by_token = np.bincount(rows.indices)
    n_fitted = int(by_token[by_token > 1].sum())
    steps = n_fitted + 2 * len(spam)  # of the fit to all messages: folds, though smaller, are computed as it is
    threads = min(thread_count(None), max(1, MAX_PARALLEL_TOKENS // max(n_fitted, 1)))

    def score(fold: int) -> MessageScores | None:
        with part_of_work(steps):
            learned, tested = (rows.take(np.flatnonzero(kept)) for kept in (folds != fold, folds == fold))
            return _score_fold(learned, tested, unit, model, settings)

    scores, spam_scores = np.empty(len(spam)), np.empty(len(spam))
    for fold, found in enumerate(map_in_threads(score, range(N_FOLDS), threads)):
        if found is None:
            return None
        tested = folds == fold
        scores[tested], spam_scores[tested] = np.array(found.totals)[:, 0], found.spam_scores
    return OutOfFoldScores(scores, spam_scores, spam)


def _score_fold(
    learned: StoreRows, tested: StoreRows, unit: float, model: FittedModelName, settings: FitSettings
) -> MessageScores | None:
    """Score messages by a fit to others; None if that fails."""
    examples = TrainingMessages.from_rows(learned, unit)
    fitted = fit(examples, model, settings) if examples else None
    if examples is None or fitted is None:
        return None
    V, sizes = len(learned.numbers), np.diff(learned.indptr)
    own, weights = np.zeros((V, 1)), np.repeat(learned.weights / unit, sizes)
    own[np.searchsorted(learned.numbers, examples.numbers), 0] = fitted.columns[0]
    cells = learned.indices * 2 + np.repeat(examples.codes, sizes)
    counts = np.bincount(cells, weights, 2 * V).reshape(-1, 2)
    known = counts[tested.indices].sum(axis=1) > 0
    at, before = tested.indices[known], np.concatenate([[0], np.cumsum(known)])
    contributions = mail_models.token_scores(model, counts[at], examples.totals, fitted.parameters, own[at])
    return mail_models.score_messages(
        model, counts[at], examples.totals, fitted.parameters, contributions,
        np.diff(before[tested.indptr]).tolist(), np.diff(tested.indptr).tolist(),
    )  # fmt: skip
