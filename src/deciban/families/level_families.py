"""Families of levels: categorical features that are independent given the class, or one joint table of them all.

- Categorical: one of V_j levels, θ_kjv = (n_kjv + α) / (n_kj + αV_j).
- Joint: the full table p(x|k) over all combinations of levels, without independence assumptions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.family import Alpha, EnumeratedRows, Family, broadcast_alpha, log, pool_empty, sum_count_log
from deciban.families.pooled_shares import pooled_pseudo_counts
from deciban.ledger import Cells, Levels, Needs
from deciban.ledger.levels import sums_by_feature
from deciban.ledger.statistic import compute_offsets, divide
from deciban.scores import Lookup, ScoreForm, Table

Unseen = Literal["ignore", "smooth", "error"]

MAX_COMBINATIONS = 1 << 18
"""Largest number of combinations of levels that are enumerated."""


def enumerate_combinations(sizes: Sequence[int]) -> EnumeratedRows | None:
    """Return every row of level codes once, each for itself; None where there are more than `MAX_COMBINATIONS`."""
    if math.prod(sizes) > MAX_COMBINATIONS:
        return None
    rows = np.stack([axis.ravel() for axis in np.indices(tuple(sizes))], axis=1)
    return rows, np.zeros(len(rows))


@dataclass(frozen=True)
class SeparateLevels:
    """Counts of the levels that have their own parameters, and the column of each level in them; −1: unseen."""

    counts: Levels
    column: NDArray[np.int64]

    def codes(self, part: Levels, j: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first code of each column of feature j, then an unseen one; and all codes of the last column."""
        a, b = part.offset[j : j + 2]
        at, size = self.column[a:b] - self.counts.offset[j], int(self.counts.sizes[j])
        seen = np.flatnonzero(at >= 0)[::-1]
        first = np.full(size + 1, b - a)
        first[at[seen]] = seen
        return first, np.flatnonzero(at == size - 1)


@dataclass(frozen=True)
class Categorical(Family):
    """Independent categorical features: ln p(x|k) = Σ_j ln θ_kj,x_j.

    `min_levels` are levels declared to exist; `unseen` is the treatment of others.

    An unseen level is ignored (no evidence), or smoothed: it gets one of V_j + 1 equal pseudo-counts,
    with n_kj + α(V_j + 1) in the denominator of every level.

    `alpha` may be one for all features, or one each. With `pooled` it is added in proportion to the classes, and the
    shares of each class are shrunk to those of all (`families/pooled_shares.py`). `holes`: whether a level without a
    row in any class counts as a level if it is declared or below the highest one, or as "unseen".
    `most`: the largest number of levels of a feature with their own parameters, those with the most weight over all
    classes (of equals the lower code); all others together are one more level, whose counts are pooled.

    >>> table = Levels.of(np.array([[0], [1], [1]]), np.array([0, 0, 1], np.int32), None, 2)
    >>> np.exp(Categorical(alpha=1.0).solve(table).log_theta).round(3).tolist()
    [[0.5, 0.5], [0.333, 0.667]]
    """

    alpha: Alpha = 1.0
    unseen: Unseen = "ignore"
    min_levels: tuple[int, ...] | None = None
    holes: Literal["level", "unseen"] = "level"
    most: int | None = None
    pooled: bool = False

    def needs(self) -> Needs:
        """See `Family.needs`; with named levels the code −1 is a missing value."""
        return Needs("levels", signed=self.holes == "unseen")

    def full(self, part: Levels) -> Levels:
        """Return the counts with columns for the levels that are declared to exist."""
        return part if self.min_levels is None else part.pad_levels(np.array(self.min_levels, dtype=np.int64))

    def sizes(self, part: Levels) -> NDArray[np.int64]:
        """Return V_j, including the levels that are declared to exist."""
        return self.full(part).sizes

    def separate_levels(self, part: Levels) -> SeparateLevels:
        """Return the counts of the levels with their own parameters; `part` has columns for all declared levels."""
        if self.holes == "level" and self.most is None:
            return SeparateLevels(part, np.arange(part.table.shape[1]))
        owner, total = part.owner, part.table.sum(axis=0)
        known = total > 0 if self.holes == "unseen" else np.ones(len(total), dtype=np.bool_)
        order = np.lexsort((-total, ~known, owner))  # stable sort: of equals the lower code comes first
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - part.offset[owner]
        own = known & (rank < (len(order) if self.most is None else self.most))
        return _pool_levels(part, own, known & ~own)

    def pseudo_counts(self, part: Levels) -> tuple[Array, Array, Array]:
        """Return a_kv of levels that all have their own parameters (K×m), a_k of an unseen one, and Σ_v a_kv (K×d).

        The sum includes an unseen level if these are smoothed.
        """
        smooth, alpha = int(self.unseen == "smooth"), broadcast_alpha(self.alpha, part.n_features)
        if self.pooled:
            levels, unseen, _ = pooled_pseudo_counts(part, alpha, smooth)
            return levels, unseen, sums_by_feature(levels, part.offset) + smooth * unseen
        unseen = np.broadcast_to(alpha, (part.n_classes, part.n_features))
        return unseen[:, part.owner], unseen, alpha * np.broadcast_to(part.sizes + smooth, unseen.shape)

    def pooling(self, part: Levels) -> Array:
        """Return m of each feature."""
        counts = self.separate_levels(self.full(part)).counts
        alpha = broadcast_alpha(self.alpha, counts.n_features)
        return pooled_pseudo_counts(counts, alpha, int(self.unseen == "smooth"))[2]

    def write_formula(self, part: Levels) -> str:
        """Return the formula of θ of the only feature of these counts, with the values of its parameters."""
        V, smooth = int(part.sizes[0]), int(self.unseen == "smooth")
        if not self.pooled:
            return f"(n + α)/(N + αV), α = {self.alpha:g}, V = {V + smooth}"
        m = float(pooled_pseudo_counts(part, broadcast_alpha(self.alpha, 1), smooth)[2][0])
        alpha = self.alpha * np.count_nonzero(part.weight)
        return (
            f"(n + απ + mp)/(N + απV + m), α = {alpha:g}, V = {V + smooth}, m = {m:.3g}, π the share of the "
            f"class, p that of the value in all classes"
        )

    def _log_shares(self, part: Levels) -> tuple[Array, Array]:
        """Return ln θ_kjv of levels that all have their own parameters, and ln θ_kj of an unseen one."""
        levels, unseen, added = self.pseudo_counts(part)
        weight = part.weight + added
        theta = divide(part.table + levels, weight[:, part.owner])
        together = divide(part.table.sum(axis=0), part.weight.sum(axis=0)[part.owner])
        shares = log(pool_empty(theta, weight[:, part.owner], together))
        return shares, log(divide(unseen, weight)) if self.unseen == "smooth" else np.zeros(weight.shape)

    def log_theta(self, part: Levels) -> Array:
        """Return ln θ_kjv, the tables of all features in one array."""
        return self._log_theta_and_unseen(part)[0]

    def _log_theta_and_unseen(self, part: Levels) -> tuple[Array, Array]:
        """Return ln θ_kjv, and ln θ_kj of an unseen level."""
        separate = self.separate_levels(part)
        shares, unseen = self._log_shares(separate.counts)
        if separate.counts is part:
            return shares, unseen
        by_level = np.column_stack([shares, unseen[:, :1]])[:, separate.column]
        return np.where(separate.column < 0, unseen[:, part.owner], by_level), unseen

    def solve(self, part: Levels) -> ScoreForm:
        """See `Family.solve`."""
        part = self.full(part)
        log_theta, unseen = self._log_theta_and_unseen(part)
        return Lookup(log_theta, part.offset, unseen)

    def sample(self, part: Levels, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`; the code after the last level represents an unseen one, if it has a probability.

        Pooled levels are drawn by their frequency in all classes together.
        """
        part = self.full(part)
        separate = self.separate_levels(part)
        log_shares, log_unseen = self._log_shares(separate.counts)
        shares, unseen = Levels(np.exp(log_shares), separate.counts.offset), np.exp(log_unseen)
        draw = rng.random((len(codes), part.n_features))
        X, seen = np.zeros(draw.shape, dtype=np.int64), part.table.sum(axis=0)
        for j, share in enumerate(shares.tables()):
            if self.unseen == "smooth":
                share = np.column_stack([share, unseen[:, j]])
            steps = np.cumsum(share, axis=1)
            if steps.size:
                column = (draw[:, j, None] * steps[codes, -1:] >= steps[codes]).sum(axis=1)
                X[:, j] = _draw_codes(column, *separate.codes(part, j), seen[part.offset[j] :], rng)
        return X

    def enumerate_rows(self, part: Levels) -> EnumeratedRows | None:
        """See `Family.enumerate_rows`; one code represents all pooled levels."""
        part = self.full(part)
        separate = self.separate_levels(part)
        every = enumerate_combinations([max(1, int(v) + (self.unseen == "smooth")) for v in separate.counts.sizes])
        if every is None or separate.counts is part:
            return every
        rows = [separate.codes(part, j)[0][column] for j, column in enumerate(every[0].T)]
        return np.stack(rows, axis=1), every[1]

    def log_likelihood(self, part: Levels, solved: Levels) -> float:
        """See `Family.log_likelihood`."""
        solved = self.full(solved)
        return sum_count_log(part.pad_levels(solved.sizes).table, self.log_theta(solved))

    def n_parameters(self, part: Levels) -> int:
        """Return K Σ_j (V_j − 1)."""
        sizes = self.separate_levels(self.full(part)).counts.sizes
        return part.n_classes * int(np.maximum(sizes - 1, 0).sum())


def _pool_levels(part: Levels, own: NDArray[np.bool_], other: NDArray[np.bool_]) -> SeparateLevels:
    """Return the counts of the separate levels in order, followed for each feature by those of its pooled levels."""
    alone, pooled = (np.bincount(part.owner[mask], minlength=part.n_features) for mask in (own, other))
    offset = compute_offsets(alone + (pooled > 0))
    before = np.cumsum(own) - own - compute_offsets(alone)[part.owner]
    column = offset[part.owner] + np.where(own, before, alone[part.owner])
    column = np.where(own | other, column, -1)
    seen = column >= 0
    table = [np.bincount(column[seen], weights=row[seen], minlength=offset[-1]) for row in part.table]
    return SeparateLevels(Levels(np.array(table, dtype=np.float64).reshape(part.n_classes, -1), offset), column)


def _draw_codes(
    column: NDArray[np.intp], first: NDArray[np.int64], last: NDArray[np.int64], seen: Array, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a code for each drawn column: its level, or one of the pooled levels, drawn by frequency."""
    code = first[column]
    if len(last) > 1:
        rows = np.flatnonzero(column == len(first) - 2)
        weight = seen[last] if seen[last].any() else np.ones(len(last))
        code[rows] = rng.choice(last, size=len(rows), p=weight / weight.sum())
    return code


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
        declared = 0 if self.min_levels is None else np.array(self.min_levels)
        return tuple(int(v) for v in np.maximum(part.sizes, declared))

    def solve(self, part: Cells) -> Table:
        """See `Family.solve`."""
        return Table(part.cell, part.count, self.sizes(part), self.alpha, self.unseen == "smooth")

    def sample(self, part: Cells, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Family.sample`: draws a non-empty cell, or, with the pseudo-counts' probability, any cell."""
        form = self.solve(part)
        X = rng.integers(0, np.array(form.level_counts, dtype=np.int64), (len(codes), part.n_features))
        total = np.logaddexp(form.log_seen, form.log_imagined)
        # N_k / (N_k + αM), the share of each class's rows in rows and pseudo-counts
        observed = np.exp(form.log_seen - np.where(np.isneginf(total), 0.0, total))
        seen = rng.random(len(codes)) < observed[codes]
        for k in np.unique(codes[seen]):
            mine = np.flatnonzero(seen & (codes == k))
            weight = form.count_or_pooled[k]
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
        return sum_count_log(part.count, self.solve(solved).log_likelihoods(part.cell).T)

    def n_parameters(self, part: Cells) -> int:
        """Return K(Π_j V_j − 1)."""
        return part.n_classes * (math.prod(max(1, v) for v in self.sizes(part)) - 1)


def _find_empty_cell(cell: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the first row in lexicographic order that is not a cell: among m + 1 rows there is one."""
    rows = np.zeros((len(cell) + 1, len(sizes)), dtype=np.int64)
    left = np.arange(len(rows))
    for j in reversed(range(len(sizes))):
        left, rows[:, j] = np.divmod(left, sizes[j])
    seen = {row.tobytes() for row in cell}
    return next(row for row in rows if row.tobytes() not in seen)
