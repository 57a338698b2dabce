"""Categorical: one of V_j levels, θ_kjv = (n_kjv + α) / (n_kj + αV_j)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from deciban.families.family import EveryRow, dot, log, pool_empty
from deciban.ledger import Levels, Needs
from deciban.ledger.statistic import Array, divide
from deciban.scores import Lookup, ScoreForm

Unseen = Literal["ignore", "smooth", "error"]

ENUMERABLE = 1 << 18
"""Most combinations of levels that are ever written out."""


def combinations(sizes: Sequence[int]) -> EveryRow | None:
    """Every row of level codes, each once, or None where they are too many."""
    if math.prod(sizes) > ENUMERABLE:
        return None
    rows = np.stack([axis.ravel() for axis in np.indices(tuple(sizes))], axis=1)
    return rows, np.zeros(len(rows))


@dataclass(frozen=True)
class Categorical:
    """ln p(x|k) = Σ_j ln θ_kj,x_j. `min_levels` are levels known to exist; `unseen` says what another means.

    An unseen level is ignored (no evidence), or smoothed: it takes one of V_j + 1 shares of the pseudo-counts,
    n_kj + α(V_j + 1) in the denominator of every level.

    >>> table = Levels.of(np.array([[0], [1], [1]]), np.array([0, 0, 1], np.int32), None, 2)
    >>> np.exp(Categorical(alpha=1.0).solve(table).log_theta).round(3).tolist()
    [[0.5, 0.5], [0.333, 0.667]]
    """

    alpha: float = 1.0
    unseen: Unseen = "ignore"
    min_levels: tuple[int, ...] | None = None

    probabilistic: ClassVar[bool] = True

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("levels", signed=False)

    def full(self, part: Levels) -> Levels:
        """The counts, with room for the levels that are known to exist."""
        return part if self.min_levels is None else part.widen(np.array(self.min_levels, dtype=np.int64))

    def _denominator(self, part: Levels) -> Array:
        return part.weight + self.alpha * (part.sizes + (self.unseen == "smooth"))

    def log_theta(self, part: Levels) -> Array:
        """ln θ_kjv, the tables of all features side by side."""
        weight = self._denominator(part)[:, part.owner]
        theta = divide(part.table + self.alpha, weight)
        together = divide(part.table.sum(axis=0), part.weight.sum(axis=0)[part.owner])
        return log(pool_empty(theta, weight, together))

    def solve(self, part: Levels) -> ScoreForm:
        """See `Family.solve`."""
        part = self.full(part)
        unseen = np.zeros((part.n_classes, part.n_features))
        if self.unseen == "smooth":
            unseen = log(divide(np.full_like(unseen, self.alpha), self._denominator(part)))
        return Lookup(self.log_theta(part), part.offset, unseen)

    def sample(self, part: Levels, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`; the code after the last level stands for one never seen, if it has a share."""
        part = self.full(part)
        form = self.solve(part)
        assert isinstance(form, Lookup)
        draw = rng.random((len(codes), part.n_features))
        X = np.empty(draw.shape, dtype=np.int64)
        for j, (a, b) in enumerate(zip(part.offset[:-1], part.offset[1:])):
            shares = np.exp(form.log_theta[:, a:b])
            if self.unseen == "smooth":
                shares = np.column_stack([shares, np.exp(form.unseen[:, j])])
            steps = np.cumsum(shares, axis=1)
            X[:, j] = (draw[:, j, None] * steps[codes, -1:] >= steps[codes]).sum(axis=1) if steps.size else 0
        return X

    def every_row(self, part: Levels) -> EveryRow | None:
        """See `Family.every_row`."""
        return combinations([max(1, int(v) + (self.unseen == "smooth")) for v in self.full(part).sizes])

    def log_likelihood(self, part: Levels, solved: Levels) -> float:
        """See `Family.log_likelihood`."""
        solved = self.full(solved)
        return dot(part.widen(solved.sizes).table, self.log_theta(solved))

    def n_parameters(self, part: Levels) -> int:
        """K Σ_j (V_j − 1)."""
        sizes = self.full(part).sizes
        return part.n_classes * int(np.maximum(sizes - 1, 0).sum())
