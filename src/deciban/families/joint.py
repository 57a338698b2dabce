"""Joint: the full table p(x|k) over all combinations of levels; nothing assumed, everything to be estimated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deciban.families.categorical import Unseen, combinations
from deciban.families.family import dot, log
from deciban.ledger import Cells, Needs
from deciban.ledger.statistic import divide
from deciban.scores import ScoreForm, Table


@dataclass(frozen=True)
class Joint:
    """p(x|k) = (n_k(x) + α) / (n_k + α Π_j V_j)."""

    alpha: float = 0.0
    unseen: Unseen = "ignore"
    min_levels: tuple[int, ...] | None = None

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("cells", signed=False)

    def sizes(self, part: Cells) -> tuple[int, ...]:
        """V_j, with the levels that are known to exist."""
        least = np.zeros(part.n_features, dtype=np.int64) if self.min_levels is None else np.array(self.min_levels)
        return tuple(int(v) for v in np.maximum(part.sizes, least))

    def solve(self, part: Cells) -> ScoreForm:
        """See `Family.solve`."""
        return Table(part.cell, part.count, self.sizes(part), self.alpha, self.unseen == "smooth")

    def _n_cells(self, part: Cells) -> int:
        """How many combinations share the pseudo-counts."""
        return math.prod(v + (self.unseen == "smooth") for v in self.sizes(part))

    def sample(self, part: Cells, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`: a seen cell, or, with the pseudo-counts' share, any cell."""
        sizes = self.sizes(part)
        imagined = self.alpha * self._n_cells(part)
        total = part.count.sum(axis=1)
        room = [max(1, v + (self.unseen == "smooth")) for v in sizes]
        X = np.stack([rng.integers(0, v, len(codes)) for v in room], axis=1)
        for i, k in enumerate(codes):
            weight = part.count[k] if total[k] > 0 or imagined > 0 else part.count.sum(axis=0)
            if rng.random() * (weight.sum() + imagined) < weight.sum():
                X[i] = part.cell[rng.choice(len(weight), p=weight / weight.sum())]
        return X

    def every_row(self, part: Cells) -> NDArray[np.int64] | None:
        """All combinations of levels; None where they are too many to write out."""
        return combinations([max(1, v + (self.unseen == "smooth")) for v in self.sizes(part)])

    def log_likelihood(self, part: Cells) -> float:
        """See `Family.log_likelihood`."""
        weight = part.count.sum(axis=1, keepdims=True) + self.alpha * self._n_cells(part)
        return dot(part.count, log(divide(part.count + self.alpha, weight)))

    def n_parameters(self, part: Cells) -> int:
        """K(Π_j V_j − 1)."""
        return part.n_classes * (math.prod(self.sizes(part)) - 1)
