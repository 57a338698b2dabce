"""Judged rows themselves, for what no sums can hold: ranking, curves, thresholds, what a rule would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger.hash_order import shuffled
from deciban.ledger.statistic import Array
from deciban.metrics.score_curves import Curve
from deciban.scores.posterior import log_odds

MOST_SCORES = 1 << 24
"""Scores (rows × classes) that are kept: 128 MiB. Of more rows a uniform sample is kept."""


@dataclass(frozen=True, eq=False, slots=True)
class Stretch:
    """Some judged rows; `known` is None where each row's model had learned every class."""

    number: NDArray[np.int64]
    log_posterior: Array
    truth: NDArray[np.intp]
    weight: Array
    known: NDArray[np.bool_] | None

    def __getitem__(self, rows: NDArray[Any]) -> Stretch:
        known = None if self.known is None else self.known[rows]
        return Stretch(self.number[rows], self.log_posterior[rows], self.truth[rows], self.weight[rows], known)

    @classmethod
    def joined(cls, parts: Sequence[Stretch]) -> Stretch:
        """All of them, in the order of their numbers."""
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

    def sorted(self) -> Stretch:
        """In the order of the numbers."""
        number = self.number
        return self if (number[1:] >= number[:-1]).all() else self[np.argsort(number, kind="stable")]


@dataclass(frozen=True, eq=False)
class Ranks:
    """ln p(k|x), class and weight of judged rows; `a + b` are the rows of both.

    Of rows with more than `MOST_SCORES` scores together a part is kept, those whose shuffled numbers come first: one
    in 2, 4, 8 …, the same ones however the rows came. A class that a row's model had not learned counts as one that
    it never expects: such rows are found last, as they are errors elsewhere.

    >>> ranks = Ranks.of(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]))
    >>> ranks.area.tolist(), (ranks + ranks).seen
    ([1.0, 1.0], 6)
    """

    parts: tuple[Stretch, ...]
    seen: int
    """How many rows were judged, kept or not."""
    thinned: int = 0
    """One row in 2^thinned is kept."""
    numbered: bool = False
    """The rows' numbers were given; otherwise they are counted as they come."""

    @classmethod
    def of(
        cls,
        log_posterior: Array,
        truth: NDArray[np.integer[Any]],
        weight: Array | None = None,
        known: NDArray[np.bool_] | None = None,
        number: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Rows as `Scorecard.of` takes them; `number` is each row's place in the table."""
        n, K = log_posterior.shape
        if known is not None:
            known = None if known.all() else np.broadcast_to(known, (n, K))
        rows = Stretch(
            np.arange(n) if number is None else np.asarray(number, dtype=np.int64),
            np.asarray(log_posterior, dtype=np.float64),
            np.asarray(truth).astype(np.intp),
            np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64),
            known,
        )
        return cls((rows,) if n else (), n, 0, number is not None)._fitting()

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Ranks):
            return NotImplemented
        more = other.parts
        if not other.numbered and self.seen:
            more = tuple(Stretch(p.number + self.seen, p.log_posterior, p.truth, p.weight, p.known) for p in more)
        numbered = (self.numbered or not self.seen) and (other.numbered or not other.seen)
        thinned = max(self.thinned, other.thinned)
        return type(self)(self.parts + more, self.seen + other.seen, thinned, numbered)._fitting(
            thin=self.thinned != other.thinned
        )

    def _fitting(self, thin: bool = False) -> Self:
        """No more scores than are kept: every second row goes, until it is so."""
        parts, level = self.parts, self.thinned
        while parts:
            if thin:
                parts = tuple(part[_chosen(part.number, level)] for part in parts)
            if sum(part.log_posterior.size for part in parts) <= MOST_SCORES:
                break
            level, thin = level + 1, True
        return self if parts is self.parts else type(self)(parts, self.seen, level, self.numbered)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.parts[0].log_posterior.shape[1] if self.parts else 0

    @cached_property
    def rows(self) -> Stretch:
        """The rows that are kept, in the order of the table."""
        if not self.parts:
            raise InputError("no row was judged, so there is nothing to rank. Hint: check the target")
        return Stretch.joined(self.parts)

    @property
    def whole(self) -> bool:
        """Every row is kept."""
        return not self.thinned

    @cached_property
    def some(self) -> Stretch:
        """The rows that weigh something."""
        rows = self.rows
        return rows if (rows.weight > 0).all() else rows[rows.weight > 0]

    @cached_property
    def claimed(self) -> Array:
        """ln p(k|x) of the rows that weigh something; −∞ for a class that the row's model had not learned."""
        some = self.some
        return some.log_posterior if some.known is None else np.where(some.known, some.log_posterior, -np.inf)

    def curve(self, k: int) -> Curve:
        """One class against all others, by the odds for it."""
        return Curve.of(log_odds(self.claimed, k), self.some.truth == k, self.some.weight)

    def by_probability(self, k: int) -> Curve:
        """One class against all others, by its probability, as a threshold takes it."""
        return Curve.of(np.exp(self.claimed[:, k]), self.some.truth == k, self.some.weight)

    @cached_property
    def _figures(self) -> Array:
        """3×K: area, average precision and weight of each class, of curves that are not kept."""
        curves = (self.curve(k) for k in range(self.n_classes))
        return np.array([(curve.area, curve.average_precision, curve.n_hits) for curve in curves]).T

    @property
    def area(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where only one of the two is there."""
        return self._figures[0]

    @property
    def average_precision(self) -> Array:
        """The average precision of each class against all others; NaN for a class without rows."""
        return self._figures[1]

    @property
    def share(self) -> Array:
        """Σw of each class."""
        return self._figures[2]


def _chosen(number: NDArray[np.int64], level: int) -> NDArray[np.bool_]:
    """One row in 2^level, by its shuffled number."""
    return shuffled(number) >> np.uint64(64 - level) == 0
