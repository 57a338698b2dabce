"""How boosting weighs the rows from round to round: what a learner's share is, and which rows come to the fore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from deciban._typing import Array, Codes
from deciban.errors import UndefinedError
from deciban.generative import GenerativeModel
from deciban.scores.calibration import normalised

Algorithm = Literal["SAMME", "SAMME.R", "logistic"]

ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

LEAST_WEIGHT = float(np.finfo(np.float64).eps)
"""The least share of all weight that a row keeps, so that no class is ever forgotten."""

NO_BETTER = 1e-12
"""A learner whose error is so near to chance has a share of nothing but rounding."""

MOST_SHARE = 16.0
LEAST_SHARE = 1e-6
"""Where the best share of a learner is looked for; below it there is nothing more to learn."""

LEAST_MISSED = 1e-6
"""Below this mean of 1 − p(y|x) the rows are told apart, and weights would be those of rounding."""

STEPS = 60
"""Most steps on the way to the best share; a handful is usual."""

NEAR = 1e-5
"""A step of Newton's so small is the last: the next would be its square."""

AT_ONCE = 1 << 12
"""Rows whose probabilities are held at a time."""


class Step(NamedTuple):
    """What a round came to: the learner's share, its error on the rows as they were weighed, and whether to go on."""

    share: float
    error: float
    keep: bool = True
    more: bool = True


@dataclass(eq=False)
class Weighing:
    """The weights of rows, which add up to one, and how a learner changes them."""

    codes: Codes
    given: Array
    n_classes: int
    rate: float
    weight: Array = field(init=False)

    def __post_init__(self) -> None:
        self.given = self.given / self.given.sum()
        self.weight = self.given

    def learned(self, belief: GenerativeModel, parts: Sequence[Any], threads: int) -> Step:
        """Weigh the rows by what this learner says of them."""
        raise NotImplementedError

    def _weigh(self, log_weight: Array, least: float = LEAST_WEIGHT) -> bool:
        """Weights from their logarithms; False where nothing is left to weigh."""
        with np.errstate(over="ignore", invalid="ignore"):
            weight = np.where(self.given > 0, np.exp(log_weight - log_weight.max()), 0.0)
            weight /= weight.sum()
        if not np.isfinite(weight).all():
            return False
        self.weight = np.where(self.given > 0, np.maximum(weight, least), 0.0)
        return True

    def _log_weight(self) -> Array:
        return np.log(np.where(self.given > 0, self.weight, 1.0))

    def _error(self, wrong: Any) -> float:
        return float(np.average(wrong, weights=self.weight))


class Voting(Weighing):
    """SAMME (Zhu, Zou, Rosset and Hastie 2009): rows that the learner has wrong weigh e^share times as much.

    share = rate · (ln (1 − e)/e + ln (K − 1)), e the learner's error.
    """

    def learned(self, belief: GenerativeModel, parts: Sequence[Any], threads: int) -> Step:
        """See `Weighing.learned`."""
        wrong = belief.scores(parts, "winner", threads) != self.codes
        error, K = self._error(wrong), self.n_classes
        if error <= 0:
            return Step(1.0, 0.0, more=False)
        if error >= 1 - 1 / K - NO_BETTER:
            return Step(1.0, error, keep=False, more=False)
        share = self.rate * (np.log((1 - error) / error) + np.log(K - 1.0))
        more = self._weigh(self._log_weight() + share * wrong)
        return Step(float(share), error, more=more)


class Scoring(Weighing):
    """SAMME.R, its real sister: rows weigh e^(−rate · h_y) times as much, h the learner's centred ln p(x, k).

    Written with ln p(k|x) and the code of y in Zhu et al. that is e^(−rate (K − 1)/K · y · ln p): the same.
    """

    def learned(self, belief: GenerativeModel, parts: Sequence[Any], threads: int) -> Step:
        """See `Weighing.learned`."""
        h = centred(belief, parts, threads)
        error = self._error(h.argmax(axis=1) != self.codes)
        more = error > 0 and self._weigh(self._log_weight() - self.rate * own(h, self.codes))
        return Step(1.0, error, more=more)


class Fitting(Weighing):
    """The log-loss made small along each learner's score: rows weigh 1 − p(y|x) of the sum so far.

    share = rate · argmin_t Σ w ℓ(y, F + t·h): boosting of the loss of logistic regression (Collins, Schapire and
    Singer 2002). A row that is plainly wrong weighs 1, not e^50, and the sum is fit to be read as probabilities.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._total: Array = np.zeros((len(self.codes), self.n_classes))
        self._guess = 1.0

    def learned(self, belief: GenerativeModel, parts: Sequence[Any], threads: int) -> Step:
        """See `Weighing.learned`."""
        h = centred(belief, parts, threads)
        error = self._error(h.argmax(axis=1) != self.codes)
        self._guess = best_share(self._total, h, self.codes, self.given, self._guess)
        share = self.rate * self._guess
        if share < LEAST_SHARE:
            return Step(share, error, keep=False, more=False)
        self._total += share * h
        missed = -np.expm1(own(normalised(self._total), self.codes))
        if np.dot(self.given, missed) < LEAST_MISSED:
            return Step(share, error, more=False)
        with np.errstate(divide="ignore"):
            self._weigh(np.log(self.given) + np.log(np.maximum(missed, LEAST_WEIGHT)), least=0.0)
        return Step(share, error)


WEIGHINGS: dict[Algorithm, type[Weighing]] = {"SAMME": Voting, "SAMME.R": Scoring, "logistic": Fitting}


def centred(belief: GenerativeModel, parts: Sequence[Any], threads: int) -> Array:
    """ln p(x, k) less its mean over the classes."""
    joint = belief.scores(parts, "joint", threads)
    with np.errstate(invalid="ignore"):
        h: Array = joint - joint.mean(axis=1, keepdims=True)
    if not np.isfinite(h).all():
        raise UndefinedError(
            "a learner gives a row the probability 0 in some class, so its scores are infinite and cannot be added. "
            "Hint: a pseudo-count (alpha > 0), smaller numbers; of arrays, BoostedBayes(algorithm='SAMME') votes"
        )
    return h


def own(scores: Array, codes: Codes) -> Array:
    """The score of each row's own class."""
    return np.take_along_axis(scores, codes[:, None].astype(np.intp), axis=1)[:, 0]


def best_share(total: Array, h: Array, codes: Codes, weight: Array, guess: float = 1.0) -> float:
    """argmin_t Σ w (−ln p(y | total + t·h)), which is convex in t: Newton's steps, kept between what is known.

    >>> h, codes = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> round(best_share(np.zeros((4, 2)), h, codes, np.ones(4)), 6) == round(float(np.log(3) / 2), 6)
    True
    """
    by_class, moves = np.ascontiguousarray(total.T), np.ascontiguousarray(h.T)
    pull = float(np.dot(weight, own(h, codes)))
    low, high, t = 0.0, MOST_SHARE, min(max(guess, LEAST_SHARE), MOST_SHARE / 2)
    for _ in range(STEPS):
        mean, bend = _moved(by_class, moves, weight, t)
        low, high = (low, t) if mean > pull else (t, high)
        step = t - (mean - pull) / bend if bend > 0 else high
        newton = low < step < high
        before, t = t, step if newton else (low + high) / 2
        if abs(t - before) <= (NEAR if newton else NEAR**2) * before:
            break
    return t


def _moved(total: Array, h: Array, weight: Array, t: float) -> tuple[float, float]:
    """Σ w E[h] and Σ w Var[h] under p ∝ exp(total + t·h); classes × rows, a few rows at a time, in the cache."""
    mean = bend = 0.0
    for start in range(0, len(weight), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        w, move = weight[rows], h[:, rows]
        p = total[:, rows] + t * move
        p -= p.max(axis=0)
        np.exp(p, out=p)
        p /= p.sum(axis=0)
        p *= move
        middle = p.sum(axis=0)
        p *= move
        mean += float(np.dot(w, middle))
        bend += float(np.dot(w, p.sum(axis=0) - middle * middle))
    return mean, bend
