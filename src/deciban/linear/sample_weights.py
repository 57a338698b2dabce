"""Sample weights of boosting: the share of each learner, and the weights of the rows in the next round."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from deciban._typing import Array, Codes
from deciban.errors import UndefinedError
from deciban.families.family import log
from deciban.generative import GenerativeModel
from deciban.scores.posterior import normalise

Algorithm = Literal["SAMME", "SAMME.R", "logistic"]

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

MIN_ROW_WEIGHT = float(np.finfo(np.float64).eps)
"""The least share of all weight that a row keeps, so that no class ever vanishes."""

CHANCE_MARGIN = 1e-12
"""A learner whose error is this near to chance has a share that is only rounding."""

MAX_LEARNER_SHARE = 16.0
"""The greatest share of a learner that is tried."""

MIN_LEARNER_SHARE = 1e-6
"""The least share of a learner: below it there is nothing more to learn."""

MIN_MEAN_ERROR = 1e-6
"""Below this mean of 1 − p(y|x) the rows are separated, and weights would be only rounding."""

MAX_SHARE_STEPS = 60
"""The greatest number of steps of the search for a share; a handful is usual."""

NEWTON_TOL = 1e-5
"""A Newton step of this relative size is the last: the next would be its square."""

SHARE_BLOCK_ROWS = 1 << 12
"""Rows whose probabilities are held at a time."""


class RoundResult(NamedTuple):
    """The result of a round: the learner's share, its error on the weighted rows, whether to keep it and to go on."""

    share: float
    error: float
    keep: bool = True
    more: bool = True


@dataclass(eq=False)
class Weighting:
    """The weights of rows, which add up to one but for `MIN_ROW_WEIGHT`, and how a learner changes them.

    `initial` are the given weights, divided by their sum; a row whose initial weight is 0 keeps it.
    """

    codes: Codes
    initial: Array
    n_classes: int
    rate: float
    weight: Array = field(init=False)

    def __post_init__(self) -> None:
        self.initial = self.initial / self.initial.sum()
        self.weight = self.initial

    def update(self, model: GenerativeModel, parts: Sequence[Any], threads: int) -> RoundResult:
        """Update `weight` by this learner's scores of the rows; return the result of the round."""
        raise NotImplementedError

    def _set_weights(self, log_weight: Array, least: float = MIN_ROW_WEIGHT) -> bool:
        """Set `weight` from logarithms, `least` or more each; return False, and set nothing, if not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            weight = np.where(self.initial > 0, np.exp(log_weight - log_weight.max()), 0.0)
            weight /= weight.sum()
        if not np.isfinite(weight).all():
            return False
        self.weight = np.where(self.initial > 0, np.maximum(weight, least), 0.0)
        return True

    def _log_weight(self) -> Array:
        """Return ln of each weight, 0 for rows without weight."""
        return np.log(np.where(self.initial > 0, self.weight, 1.0))

    def _compute_error(self, wrong: Any) -> float:
        """Return the share of the weight of the rows that are predicted wrongly."""
        return float(np.average(wrong, weights=self.weight))


class SammeWeighting(Weighting):
    """SAMME (Zhu, Zou, Rosset and Hastie 2009): rows that the learner gets wrong are multiplied by e^share.

    share = rate · (ln (1 − e)/e + ln (K − 1)), e the learner's error.
    """

    def update(self, model: GenerativeModel, parts: Sequence[Any], threads: int) -> RoundResult:
        """See `Weighting.update`."""
        wrong = model.scores(parts, "winner", threads) != self.codes
        error, K = self._compute_error(wrong), self.n_classes
        if error <= 0:
            return RoundResult(1.0, 0.0, more=False)
        if error >= 1 - 1 / K - CHANCE_MARGIN:
            return RoundResult(1.0, error, keep=False, more=False)
        share = self.rate * (np.log((1 - error) / error) + np.log(K - 1.0))
        more = self._set_weights(self._log_weight() + share * wrong)
        return RoundResult(float(share), error, more=more)


class SammeRWeighting(Weighting):
    """SAMME.R, its real-valued form: rows are multiplied by e^(−rate · h_y), h the learner's centred ln p(x, k).

    Written with ln p(k|x) and the code of y in Zhu et al. that is e^(−rate (K − 1)/K · y · ln p), which is equal.
    """

    def update(self, model: GenerativeModel, parts: Sequence[Any], threads: int) -> RoundResult:
        """See `Weighting.update`."""
        h = compute_centred_scores(model, parts, threads)
        error = self._compute_error(h.argmax(axis=1) != self.codes)
        more = error > 0 and self._set_weights(self._log_weight() - self.rate * select_class_scores(h, self.codes))
        return RoundResult(1.0, error, more=more)


class LogisticWeighting(Weighting):
    """Minimisation of the log-loss along each learner's scores: rows are weighted by 1 − p(y|x) of the sum so far.

    share = rate · argmin_t Σ w ℓ(y, F + t·h): boosting of the loss of logistic regression (Collins, Schapire and
    Singer 2002). A row that is plainly wrong has weight 1, not e^50, and the sum gives usable probabilities.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._total: Array = np.zeros((len(self.codes), self.n_classes))
        self._guess = 1.0

    def update(self, model: GenerativeModel, parts: Sequence[Any], threads: int) -> RoundResult:
        """See `Weighting.update`."""
        h = compute_centred_scores(model, parts, threads)
        error = self._compute_error(h.argmax(axis=1) != self.codes)
        self._guess = find_best_share(self._total, h, self.codes, self.initial, self._guess)
        share = self.rate * self._guess
        if share < MIN_LEARNER_SHARE:
            return RoundResult(share, error, keep=False, more=False)
        self._total += share * h
        missed = -np.expm1(select_class_scores(normalise(self._total), self.codes))
        if np.dot(self.initial, missed) < MIN_MEAN_ERROR:
            return RoundResult(share, error, more=False)
        self._set_weights(log(self.initial) + np.log(np.maximum(missed, MIN_ROW_WEIGHT)), least=0.0)
        return RoundResult(share, error)


WEIGHTINGS: dict[Algorithm, type[Weighting]] = {
    "SAMME": SammeWeighting,
    "SAMME.R": SammeRWeighting,
    "logistic": LogisticWeighting,
}


def compute_centred_scores(model: GenerativeModel, parts: Sequence[Any], threads: int) -> Array:
    """Compute ln p(x, k) minus its mean over the classes, n×K; UndefinedError if a score is infinite."""
    joint = model.scores(parts, "joint", threads)
    with np.errstate(invalid="ignore"):
        h: Array = joint - joint.mean(axis=1, keepdims=True)
    if not np.isfinite(h).all():
        raise UndefinedError(
            "a learner gives a row the probability 0 in some class, so its scores are infinite and cannot be added. "
            "Hint: a pseudo-count (alpha > 0), smaller numbers; of arrays, BoostedBayes(algorithm='SAMME') votes"
        )
    return h


def select_class_scores(scores: Array, codes: Codes) -> Array:
    """Return the score of each row's own class."""
    return np.take_along_axis(scores, codes[:, None].astype(np.intp), axis=1)[:, 0]


def find_best_share(total: Array, h: Array, codes: Codes, weight: Array, guess: float = 1.0) -> float:
    """Find argmin_t Σ w (−ln p(y | total + t·h)), 0 ≤ t ≤ `MAX_LEARNER_SHARE`, by Newton steps within a bracket.

    The function is convex in t; `guess` is where the search begins.

    >>> h, codes = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> round(find_best_share(np.zeros((4, 2)), h, codes, np.ones(4)), 6) == round(float(np.log(3) / 2), 6)
    True
    """
    by_class, moves = np.ascontiguousarray(total.T), np.ascontiguousarray(h.T)
    target = float(np.dot(weight, select_class_scores(h, codes)))
    low, high, t = 0.0, MAX_LEARNER_SHARE, min(max(guess, MIN_LEARNER_SHARE), MAX_LEARNER_SHARE / 2)
    for _ in range(MAX_SHARE_STEPS):
        mean, variance = _compute_score_moments(by_class, moves, weight, t)
        low, high = (low, t) if mean > target else (t, high)
        step = t - (mean - target) / variance if variance > 0 else high
        newton = low < step < high
        before, t = t, step if newton else (low + high) / 2
        if abs(t - before) <= (NEWTON_TOL if newton else NEWTON_TOL**2) * before:
            break
    return t


def _compute_score_moments(total: Array, h: Array, weight: Array, t: float) -> tuple[float, float]:
    """Compute Σ w E[h] and Σ w Var[h] under p ∝ exp(total + t·h); arrays are classes × rows, read in small blocks."""
    mean = variance = 0.0
    for start in range(0, len(weight), SHARE_BLOCK_ROWS):
        rows = slice(start, start + SHARE_BLOCK_ROWS)
        w, move = weight[rows], h[:, rows]
        p = total[:, rows] + t * move
        p -= p.max(axis=0)
        np.exp(p, out=p)
        p /= p.sum(axis=0)
        p *= move
        row_mean = p.sum(axis=0)
        p *= move
        mean += float(np.dot(w, row_mean))
        variance += float(np.dot(w, p.sum(axis=0) - row_mean * row_mean))
    return mean, variance
