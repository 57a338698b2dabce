"""The binned family: the bin of a number, θ_kjb = (n_kjb + α) / (n_kj + αB_j); for numbers that are not Gaussian.

Bins are cut by recursive halving by class entropy, stopped by description length: Fayyad & Irani (1993),
"Multi-interval discretization of continuous-valued attributes for classification learning". A set S of N rows is cut
where the class entropy of the two sides is smallest, and only if the gain exceeds the cost of describing the cut:

    Gain > [log₂(N − 1) + log₂(3^c − 2) − c Ent(S) + c₁ Ent(S₁) + c₂ Ent(S₂)] / N,

c, c₁, c₂ the number of classes in S and on each side. Then each side is treated in the same way. All columns
of a table are cut together, one round of halving at a time: a call of NumPy for each round, not for each column.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.family import Alpha, EnumeratedRows, Family, sum_count_log
from deciban.families.level_families import Categorical
from deciban.ledger import Grid, Levels, Needs
from deciban.ledger.grid import cell_numbers, cell_widths, edges
from deciban.ledger.statistic import compute_offsets, divide
from deciban.scores import ScoreForm, Steps

TINY = np.finfo(np.float64).tiny
"""The smallest normal double, in place of 0 where a logarithm or a quotient must be finite."""

SMALLEST = np.nextafter(0.0, 1.0)
"""The smallest double above 0."""

CUT_STEPS = 64
"""The least number of steps, powers of two, in a gap between values, to one of which a cut is rounded."""

MAX_EXACT_INTEGER = 2.0**53
"""Sums of whole numbers up to this are exact in double precision."""


@dataclass(frozen=True)
class Bins:
    """The bins of feature j begin at its cells first[start[j]:start[j+1]]; one more bin lies below them all."""

    first: NDArray[np.int64]
    start: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """B_j, the number of bins of each feature."""
        return np.diff(self.start) + 1

    def find_bins(self, part: Grid) -> NDArray[np.int64]:
        """Return the bin of each cell of a grid, the bins of all features in one sequence."""
        ranges = zip(pairwise(self.start.tolist()), pairwise(part.offset.tolist()))
        mine = [
            a + j + self.first[a:b].searchsorted(part.cell[c:d], "right") for j, ((a, b), (c, d)) in enumerate(ranges)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *mine])

    def counts(self, part: Grid) -> Levels:
        """Return how often each bin occurred in each class."""
        offset = compute_offsets(self.sizes)
        at = self.find_bins(part)
        table = [np.bincount(at, weights=row, minlength=offset[-1]) for row in part.table]
        return Levels(np.array(table, dtype=np.float64).reshape(part.n_classes, -1), offset)


@dataclass(frozen=True)
class Binned(Family):
    """Independent numbers, each by its bin.

    ln p(x|k) = Σ_j ln θ_kj,b(x_j), b(x) the bin of x, cut by class entropy.

    The probability is that of the bin, not of the number in it.

    >>> x, y = np.array([[1.0], [2.0], [8.0], [9.0]]), np.array([0, 0, 1, 1], np.int32)
    >>> form = Binned(alpha=1.0).solve(Grid.of(x, y, None, 2))
    >>> form.cuts.tolist(), np.exp(form.log_theta).tolist()
    ([5.0], [[0.75, 0.25], [0.25, 0.75]])
    """

    alpha: Alpha = 1.0
    pooled: bool = False

    @property
    def levels(self) -> Categorical:
        """The family of the bins as levels."""
        return Categorical(self.alpha, pooled=self.pooled)

    def pooling(self, part: Grid) -> Array:
        """Return m of each feature."""
        return self.levels.pooling(self.bins(part).counts(part))

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("grid")

    def bins(self, part: Grid) -> Bins:
        """Return the bins of each feature."""
        runs = [(run, best_cuts(run.table, run.offset)) for run in part.runs()]
        first = [_cut_between(run.bounds[1][at - 1], run.bounds[0][at]) for run, at in runs]
        n_cuts = [np.diff(np.searchsorted(at, run.offset)) for run, at in runs]
        none = np.zeros(0, dtype=np.int64)  # there may be no runs
        return Bins(np.concatenate([none, *first]), compute_offsets(np.concatenate([none, *n_cuts])))

    def _log_theta(self, counts: Levels) -> Array:
        """Return ln θ_kjb; a single bin has probability 1, even for a class or a feature without rows."""
        return np.where((counts.sizes == 1)[counts.owner], 0.0, self.levels.log_theta(counts))

    def solve(self, part: Grid) -> ScoreForm:
        """See `Family.solve`."""
        bins = self.bins(part)
        return Steps(edges(bins.first), bins.start, self._log_theta(bins.counts(part)))

    def sample(self, part: Grid, codes: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """See `Family.sample`: draws a bin, a cell of it by its frequency in all classes, a number of that cell.

        A feature without any value is missing.
        """
        bins = self.bins(part)
        counts = bins.counts(part)
        bin_of_cell, seen = bins.find_bins(part), np.cumsum(np.concatenate([[0.0], part.table.sum(axis=0)]))
        known = counts.weight.sum(axis=0) > 0
        drawn = self.levels.sample(counts, codes, rng) + counts.offset[:-1]
        X = np.full(drawn.shape, np.nan)
        for j in np.flatnonzero(known):
            low, high = (np.searchsorted(bin_of_cell, drawn[:, j], side=side) for side in ("left", "right"))
            spot = seen[low] + rng.random(len(codes)) * (seen[high] - seen[low])
            cell = part.cell[np.clip(np.searchsorted(seen, spot, side="right") - 1, low, high - 1)]
            start, end = edges(cell), edges(cell + cell_widths(part.bits[j]))
            X[:, j] = np.minimum(start + rng.random(len(cell)) * (end - start), np.nextafter(end, -np.inf))
        return X

    def enumerate_rows(self, part: Grid) -> EnumeratedRows | None:
        """See `Family.enumerate_rows`: one number represents each bin."""
        bins = self.bins(part)
        every = Categorical().enumerate_rows(bins.counts(part))
        if every is None:
            return None
        cuts = np.split(edges(bins.first), bins.start[1:-1])
        numbers = [np.append(np.nextafter(mine[:1], -np.inf), mine) if len(mine) else np.zeros(1) for mine in cuts]
        return np.stack([mine[column] for mine, column in zip(numbers, every[0].T)], axis=1), every[1]

    def log_likelihood(self, part: Grid, solved: Grid) -> float:
        """See `Family.log_likelihood`."""
        bins = self.bins(solved)
        return sum_count_log(bins.counts(part).table, self._log_theta(bins.counts(solved)))

    def n_parameters(self, part: Grid) -> int:
        """Return K Σ_j (B_j − 1)."""
        return part.n_classes * len(self.bins(part).first)


def _cut_between(low: Array, high: Array) -> NDArray[np.int64]:
    """Return the first cell above each cut, half-way between cells that end at `low` and begin at `high`.

    The cut is rounded down by at most 2/`CUT_STEPS` of the gap, since short numbers are read, and looked up, easily.
    """
    middle, gap = low / 2 + high / 2, high / CUT_STEPS - low / CUT_STEPS
    step = np.maximum(np.ldexp(1.0, np.frexp(gap)[1]), SMALLEST)
    return cell_numbers(np.clip(np.floor(middle / step) * step, low, high))


def best_cuts(table: Array, offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of a table (K × values in order) that begin a new bin, ascending; weights may be fractions.

    Column j of the data has the places offset[j] to offset[j+1].

    >>> best_cuts(np.array([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]]), np.array([0, 4])).tolist()
    [2]
    """
    first = offset + np.arange(len(offset))  # a place without weight before each column of the data
    inside = np.ones(table.shape[1] + len(offset), dtype=np.bool_)
    inside[first] = False
    counts = np.zeros((len(table), len(inside)))
    counts[:, inside] = table
    present, sums = np.cumsum(counts > 0, axis=1, dtype=np.int64), np.cumsum(counts, axis=1)
    if (table != np.rint(table)).any() or sums[:, -1].max(initial=0.0) > MAX_EXACT_INTEGER:
        # rounded sums of one column must not depend on the columns before it
        for a, b in pairwise(first.tolist()):
            counts[:, a:b].cumsum(axis=1, out=sums[:, a:b])
    cuts: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    starts, ends = first[:-1], first[1:] - 1
    while starts.size:
        starts, ends, at = _cut_segments(sums, present, starts, ends)
        cuts.append(at)
        starts, ends = np.concatenate([starts, at]), np.concatenate([at, ends])
    places = np.sort(np.concatenate(cuts))
    return places - np.searchsorted(first, places, side="left") + 1


def _cut_segments(
    sums: Array, present: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the segments that are worth a cut, and where each is cut; a segment lies between two cumulative sums."""
    n_classes = _count_classes(present, starts, ends)
    worth = (ends - starts >= 2) & (n_classes >= 2)
    starts, ends, n_classes = starts[worth], ends[worth], n_classes[worth]
    if not starts.size:
        return starts, ends, starts
    sizes = ends - starts - 1
    first = np.cumsum(sizes) - sizes
    place = np.arange(int(sizes.sum())) + np.repeat(starts + 1 - first, sizes)
    left = total_entropy(sums[:, place] - np.repeat(sums[:, starts], sizes, axis=1))
    right = total_entropy(np.repeat(sums[:, ends], sizes, axis=1) - sums[:, place])
    best = np.flatnonzero(left + right == np.repeat(np.minimum.reduceat(left + right, first), sizes))
    best = best[np.searchsorted(best, first)]  # the first minimum of each segment
    at, left, right = place[best], left[best], right[best]
    together = total_entropy(sums[:, ends] - sums[:, starts])
    n, n_left = (sums[:, ends] - sums[:, starts]).sum(axis=0), (sums[:, at] - sums[:, starts]).sum(axis=0)
    saved = divide(n_classes * together, n)  # small counts next to huge ones may vanish from the cumulative sums
    saved -= divide(_count_classes(present, starts, at) * left, n_left)
    saved -= divide(_count_classes(present, at, ends) * right, n - n_left)
    log_ways = n_classes * np.log(3) + np.log1p(-2 * 3.0**-n_classes)  # ln(3^c − 2), for any c
    cost = np.log(np.maximum(n - 1, 1.0)) + log_ways - saved
    gains = together - left - right > cost
    return starts[gains], ends[gains], at[gains]


def total_entropy(counts: Array) -> Array:
    """Return N · Ent in nats of each column of class counts: N ln N − Σ n_k ln n_k."""
    return x_log_x(counts.sum(axis=0)) - x_log_x(counts).sum(axis=0)


def x_log_x(x: Array) -> Array:
    """Return x ln x, 0 at 0."""
    return x * np.log(np.maximum(x, TINY))


def _count_classes(present: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many classes have weight between a and b, from the counts themselves, since sums may be rounded."""
    return (present[:, b] > present[:, a]).sum(axis=0)
