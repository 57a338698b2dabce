"""The joint family: the full table p(x|k) over all combinations of levels, without independence assumptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.categorical import Unseen
from deciban.families.family import EnumeratedRows, Family, dot
from deciban.ledger import Cells, Needs
from deciban.scores import Table


@dataclass(frozen=True)
class Joint(Family):
    """Combinations of levels with their own probability: p(x|k) = (n_k(x) + α) / (n_k + α Π_j V_j)."""

    alpha: float = 0.0
    unseen: Unseen = "ignore"
    min_levels: tuple[int, ...] | None = None

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("cells", signed=False)

    def sizes(self, part: Cells) -> tuple[int, ...]:
        """Return V_j, including the levels that are declared to exist."""
        least = np.zeros(part.n_features, dtype=np.int64) if self.min_levels is None else np.array(self.min_levels)
        return tuple(int(v) for v in np.maximum(part.sizes, least))

    def solve(self, part: Cells) -> Table:
        """See `Family.solve`."""
        return Table(part.cell, part.count, self.sizes(part), self.alpha, self.unseen == "smooth")

    def sample(self, part: Cells, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`: draws a non-empty cell, or, with the pseudo-counts' probability, any cell."""
        form = self.solve(part)
        X = rng.integers(0, np.array(form.level_counts, dtype=np.int64), (len(codes), part.n_features))
        seen = rng.random(len(codes)) < _observed_fraction(form)[codes]
        for k in np.unique(codes[seen]):
            mine = np.flatnonzero(seen & (codes == k))
            weight = form.pooled_count[k]
            X[mine] = part.cell[rng.choice(len(weight), size=len(mine), p=weight / weight.sum())]
        return X

    def enumerate_rows(self, part: Cells) -> EnumeratedRows | None:
        """Return the non-empty cells, and one empty cell that represents all of them, which are alike.

        >>> part = Cells.of(np.array([[0, 0], [1, 1]]), np.array([0, 1], np.int32), None, 2)
        >>> rows, log_times = Joint(alpha=1.0).enumerate_rows(part)
        >>> rows.tolist(), np.exp(log_times).round(3).tolist()
        ([[0, 0], [1, 1], [0, 1]], [1.0, 1.0, 2.0])
        """
        m, form = len(part.cell), self.solve(part)
        if self.alpha == 0 and not part.count.any():  # no rows: every row scores 0, and one represents all
            return np.zeros((1, part.n_features), dtype=np.int64), np.zeros(1)
        left = math.prod(form.level_counts) - m
        if self.alpha == 0 or left == 0:
            return part.cell, np.zeros(m)
        rows = np.concatenate([part.cell, _find_empty_cell(part.cell, form.level_counts)[None]])
        return rows, np.append(np.zeros(m), math.log(left))

    def log_likelihood(self, part: Cells, solved: Cells) -> float:
        """See `Family.log_likelihood`."""
        return dot(part.count, self.solve(solved).joint(part.cell).T)

    def n_parameters(self, part: Cells) -> int:
        """Return K(Π_j V_j − 1)."""
        return part.n_classes * (math.prod(max(1, v) for v in self.sizes(part)) - 1)


def _observed_fraction(form: Table) -> Array:
    """Return N_k / (N_k + αM), the fraction of each class's rows that are not imagined."""
    whole = np.logaddexp(form.log_seen, form.log_imagined)
    return np.exp(form.log_seen - np.where(np.isneginf(whole), 0.0, whole))


def _find_empty_cell(cell: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the first row in lexicographic order that is no cell: among m + 1 rows there is one."""
    rows = np.zeros((len(cell) + 1, len(sizes)), dtype=np.int64)
    left = np.arange(len(rows))
    for j in reversed(range(len(sizes))):
        left, rows[:, j] = np.divmod(left, sizes[j])
    seen = {row.tobytes() for row in cell}
    return next(row for row in rows if row.tobytes() not in seen)
