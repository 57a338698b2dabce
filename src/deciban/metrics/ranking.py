"""Evaluated rows kept for figures that sums cannot give: ranking, curves, thresholds, costs of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger.hashing import hash_row_numbers
from deciban.scores.posterior import log_odds


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """Cumulated hits and false alarms of the rows from each score upwards: a point per distinct score, falling.

    >>> curve = Curve.of(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]), np.ones(4))
    >>> curve.hits.tolist(), curve.alarms.tolist(), curve.area, round(curve.average_precision, 4)
    ([1.0, 2.0, 2.0], [0.0, 1.0, 2.0], 0.875, 0.8333)
    """

    score: Array
    """The distinct scores, highest first."""
    hits: Array
    """Σw of the rows of the class that have at least this score."""
    alarms: Array
    """Σw of all other rows that have at least this score."""

    @classmethod
    def of(cls, score: Array, positive: NDArray[np.bool_], weight: Array) -> Self:
        """Build the curve of rows; rows of equal score are one point."""
        order = np.argsort(-score)  # four times as fast as a stable sort; equal scores are merged anyway
        falling = score[order]
        last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(falling) - 1)[: len(falling)]
        w, is_positive = weight[order], positive[order]
        hits, alarms = (np.cumsum(np.where(rows, w, 0.0))[last] for rows in (is_positive, ~is_positive))
        return cls(falling[last], hits, alarms)

    @property
    def n_hits(self) -> float:
        """Σw of the rows of the class."""
        return float(self.hits[-1]) if len(self.hits) else 0.0

    @property
    def n_alarms(self) -> float:
        """Σw of the other rows."""
        return float(self.alarms[-1]) if len(self.alarms) else 0.0

    @property
    def precision(self) -> Array:
        """The share of the class among the rows predicted as the class."""
        return self.hits / (self.hits + self.alarms)

    @property
    def recall(self) -> Array:
        """The share of the rows of the class that are predicted as the class; NaN where there is no row of it."""
        return self.hits / self.n_hits if self.n_hits else np.full(len(self.hits), np.nan)

    @property
    def area(self) -> float:
        """The area under the ROC curve: the probability that a row of the class scores above another, ties half."""
        if not (self.n_hits and self.n_alarms):
            return np.nan
        hits, alarms = (np.append(0.0, sums) for sums in (self.hits, self.alarms))
        return float(np.trapezoid(hits / self.n_hits, alarms / self.n_alarms))

    @property
    def average_precision(self) -> float:
        """Σ (recall − recall before) · precision over the falling scores; NaN where there is no row of the class."""
        if not self.n_hits:
            return np.nan
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def roc(self) -> tuple[Array, Array, Array]:
        """Return false and true positive rates, from (0, 0) to (1, 1), and the threshold of each point."""
        with np.errstate(invalid="ignore"):
            false, true = (np.append(0.0, sums) / sums[-1:] for sums in (self.alarms, self.hits))
        return false, true, np.append(np.inf, self.score)

    def precision_recall(self) -> tuple[Array, Array, Array]:
        """Return precision and recall, rising in recall, and the threshold of each point."""
        return self.precision, self.recall, self.score


MAX_KEPT_SCORES = 1 << 24
"""The number of scores (rows × classes) that are kept at most: 128 MiB. Of more rows a uniform sample is kept."""


@dataclass(frozen=True, eq=False, slots=True)
class ScoredRows:
    """Evaluated rows; `known` is None where each row's model had learned every class."""

    number: NDArray[np.int64]
    log_posterior: Array
    truth: NDArray[np.intp]
    weight: Array
    known: NDArray[np.bool_] | None

    def __getitem__(self, rows: NDArray[Any]) -> ScoredRows:
        known = None if self.known is None else self.known[rows]
        return ScoredRows(self.number[rows], self.log_posterior[rows], self.truth[rows], self.weight[rows], known)

    @classmethod
    def concatenate(cls, parts: Sequence[ScoredRows]) -> ScoredRows:
        """Return the rows of all parts, in the order of their numbers."""
        if len(parts) == 1:
            return parts[0].sorted()
        number, scores, truth, weight = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("number", "log_posterior", "truth", "weight")
        )
        known = None
        if any(part.known is not None for part in parts):
            known = np.concatenate(
                [
                    np.ones(part.log_posterior.shape, dtype=bool) if part.known is None else part.known
                    for part in parts
                ]
            )
        return cls(number, scores, truth, weight, known).sorted()

    def sorted(self) -> ScoredRows:
        """Return the rows in the order of their numbers."""
        number = self.number
        return self if (number[1:] >= number[:-1]).all() else self[np.argsort(number, kind="stable")]


@dataclass(frozen=True, eq=False)
class Ranks:
    """ln p(k|x), class and weight of evaluated rows; `a + b` holds the rows of both.

    Of rows with more than `MAX_KEPT_SCORES` scores together a part is kept, those whose shuffled numbers come first:
    one in 2, 4, 8 …, whatever the order in which the rows arrived. A class that a row's model had not learned has
    the probability 0: such rows are ranked last, as they are errors in other figures.

    >>> ranks = Ranks.of(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]))
    >>> ranks.area.tolist(), (ranks + ranks).n_rows
    ([1.0, 1.0], 6)
    """

    parts: tuple[ScoredRows, ...]
    n_rows: int
    """The number of rows evaluated, kept or not."""
    n_halvings: int = 0
    """The number of times that the rows were halved: one row in 2^n_halvings is kept."""
    has_numbers: bool = False
    """Whether the rows' numbers were given; otherwise rows are numbered in the order of arrival."""

    @classmethod
    def of(
        cls,
        log_posterior: Array,
        truth: NDArray[np.integer[Any]],
        weight: Array | None = None,
        known: NDArray[np.bool_] | None = None,
        number: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Keep rows, given as for `Scorecard.of`; `number` is each row's place in the table."""
        n, K = log_posterior.shape
        if known is not None:
            known = None if known.all() else np.broadcast_to(known, (n, K))
        rows = ScoredRows(
            np.arange(n) if number is None else np.asarray(number, dtype=np.int64),
            np.asarray(log_posterior, dtype=np.float64),
            np.asarray(truth).astype(np.intp),
            np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64),
            known,
        )
        return cls((rows,) if n else (), n, 0, number is not None)._limit_size()

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Ranks):
            return NotImplemented
        more = other.parts
        if not other.has_numbers and self.n_rows:
            more = tuple(replace(part, number=part.number + self.n_rows) for part in more)
        has_numbers = (self.has_numbers or not self.n_rows) and (other.has_numbers or not other.n_rows)
        n_halvings = max(self.n_halvings, other.n_halvings)
        return type(self)(self.parts + more, self.n_rows + other.n_rows, n_halvings, has_numbers)._limit_size(
            thin=self.n_halvings != other.n_halvings
        )

    def _limit_size(self, thin: bool = False) -> Self:
        """Halve the rows, by their hashed numbers, until no more than `MAX_KEPT_SCORES` scores are left."""
        parts, level = self.parts, self.n_halvings
        while parts:
            if thin:
                parts = tuple(part[_is_kept(part.number, level)] for part in parts)
            if sum(part.log_posterior.size for part in parts) <= MAX_KEPT_SCORES:
                break
            level, thin = level + 1, True
        return self if parts is self.parts else type(self)(parts, self.n_rows, level, self.has_numbers)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.parts[0].log_posterior.shape[1] if self.parts else 0

    @cached_property
    def rows(self) -> ScoredRows:
        """The rows that are kept, in the order of the table."""
        if not self.parts:
            raise InputError("no row was evaluated, so there is nothing to rank. Hint: check the target")
        return ScoredRows.concatenate(self.parts)

    @property
    def is_complete(self) -> bool:
        """Whether every row is kept."""
        return not self.n_halvings

    @cached_property
    def weighted_rows(self) -> ScoredRows:
        """The rows of weight above 0."""
        rows = self.rows
        return rows if (rows.weight > 0).all() else rows[rows.weight > 0]

    @cached_property
    def claimed_log_posterior(self) -> Array:
        """ln p(k|x) of the rows of weight above 0; −∞ for a class that the row's model had not learned."""
        rows = self.weighted_rows
        return rows.log_posterior if rows.known is None else np.where(rows.known, rows.log_posterior, -np.inf)

    def curve(self, k: int) -> Curve:
        """Return the curve of one class against all others, ranked by the log-odds of the class."""
        rows = self.weighted_rows
        return Curve.of(log_odds(self.claimed_log_posterior, k), rows.truth == k, rows.weight)

    def probability_curve(self, k: int) -> Curve:
        """Return the curve of one class against all others, ranked by the probability that a threshold applies to."""
        rows = self.weighted_rows
        return Curve.of(np.exp(self.claimed_log_posterior[:, k]), rows.truth == k, rows.weight)

    @cached_property
    def _figures(self) -> Array:
        """3×K: area, average precision and weight of each class; the curves are not kept."""
        curves = (self.curve(k) for k in range(self.n_classes))
        return np.array([(curve.area, curve.average_precision, curve.n_hits) for curve in curves]).T

    @property
    def area(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where only one of the two has rows."""
        return self._figures[0]

    @property
    def average_precision(self) -> Array:
        """The average precision of each class against all others; NaN for a class without rows."""
        return self._figures[1]

    @property
    def class_weights(self) -> Array:
        """Σw of each class."""
        return self._figures[2]


def _is_kept(number: NDArray[np.int64], level: int) -> NDArray[np.bool_]:
    """Select one row in 2^level, by its shuffled number."""
    return hash_row_numbers(number) >> np.uint64(64 - level) == 0
