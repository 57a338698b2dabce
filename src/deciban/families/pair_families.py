"""Families of dependent columns, as corrections of their independent distributions, from counts of pairs of cells.

In a tree each feature may depend on one other, its parent (Friedman, Geiger & Goldszmidt 1997, "Bayesian network
classifiers"; Chow & Liu 1968). p(x_j | x_p, k) is estimated on cells, and its ratio to p(x_j | k) on the same cells
multiplies the distribution that the feature has alone, whatever its family:

    ln p(x|k) = Σ_j ln p(x_j|k) + Σ_j ln p(x_j|x_p,k)/p(x_j|k).

Averaged one-dependence estimators (Webb, Boughton & Wang 2005, "Not so naive Bayes: aggregating one-dependence
estimators") average over models in each of which one feature i is the parent of all others:

    p_i(x|k) = Π_j p(x_j|k) · Π_{j≠i} p(x_j|x_i,k)/p(x_j|k),

whose first product is that of independent features.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.families.binned import x_log_x
from deciban.families.family import Family
from deciban.ledger import Needs
from deciban.ledger.pairs import Pairs, list_pairs
from deciban.scores.pair_form import AveragedEdges, Edges

PRIOR_ROWS = 5.0
"""Pseudo-observations of each cell of a parent, distributed as the feature is without it."""

CELL_ALPHA = 1.0
"""The pseudo-count of the cells of a feature without its parent."""

MIN_GAIN_STANDARD_DEVIATIONS = 2.0
"""How far the likelihood must rise above what independence gives on average, in its standard deviations there."""


@dataclass(frozen=True)
class CellPairFamily(Family):
    """A correction of independent features for their dependence, from counts of pairs of their cells, V each."""

    n_cells: int

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("pairs", cells=self.n_cells)

    def sample(self, part: Pairs, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.int64]:
        """Refuse: the cells of dependent columns do not give their values."""
        raise UndefinedError(
            "rows cannot be drawn from a model whose columns depend on each other. Hint: train with structure='naive'"
        )


@dataclass(frozen=True)
class Tree(CellPairFamily):
    """A forest of features on cells: p(b|a,k) = (n_kab + mθ_kb) / (n_ka + m), θ_kb = (n_kb + α) / (n_k + αV_j).

    The forest has the largest sum of gains; edges without a gain are left out. An edge raises the log-likelihood of
    the rows by Σ_kab n_kab ln[n_kab n_k / (n_ka n_kb)]. For independent features that is r/2 on average, with the
    standard deviation √(r/2), r = Σ_k (V_ki − 1)(V_kj − 1) over the cells that class k has. The gain is the rise
    minus this average and minus `MIN_GAIN_STANDARD_DEVIATIONS` of these standard deviations.

    With `pairs_only` each feature has at most one edge: blocks of two features, joined in the order of their gains.

    m is `PRIOR_ROWS`, α is `CELL_ALPHA`.
    """

    pairs_only: bool = False

    def solve(self, part: Pairs) -> Edges:
        """See `Family.solve`."""
        parent = self.find_parents(part)
        K, d, V = part.single.shape
        log_ratio, theta = np.zeros((K, d, V, V)), cell_shares(part)
        for j in np.flatnonzero(parent >= 0).tolist():
            log_ratio[:, j] = log_ratios(part.pair_table(int(parent[j]), j), theta[:, j])
        return Edges(parent, log_ratio)

    def find_parents(self, part: Pairs) -> NDArray[np.int64]:
        """Return the parent of each feature, −1 where it has none."""
        return (join_pairs if self.pairs_only else grow_forest)(edge_gains(part))

    def log_likelihood(self, part: Pairs, solved: Pairs) -> float:
        """Return the sum of the corrections: what the edges add to the log-likelihood of independent features."""
        form = self.solve(solved)
        edges = [(int(p), j) for j, p in enumerate(form.parent) if p >= 0]
        return float(sum((part.pair_table(p, j) * form.log_ratio[:, j]).sum() for p, j in edges))

    def n_parameters(self, part: Pairs) -> int:
        """Return Σ_k (V_p − 1)(V_j − 1), over the edges: the parameters beyond those of independent features."""
        freedom = dict(zip(map(tuple, list_pairs(part.n_features).tolist()), degrees_of_freedom(part).tolist()))
        parent = self.find_parents(part).tolist()
        return int(sum(freedom[min(p, j), max(p, j)] for j, p in enumerate(parent) if p >= 0))


@dataclass(frozen=True)
class Aode(CellPairFamily):
    """The mean of one-dependence models on cells, with p(b|a,k) as in `Tree`.

    A parent whose cell has few rows gives nearly the score of independent features: no parent has to be left out.
    """

    def solve(self, part: Pairs) -> AveragedEdges:
        """See `Family.solve`."""
        K, d, V = part.single.shape
        log_ratio, theta = np.zeros((K, d, V, d, V)), cell_shares(part)
        for i, j in permutations(range(d), 2):
            log_ratio[:, i, :, j] = log_ratios(part.pair_table(i, j), theta[:, j])
        return AveragedEdges(log_ratio)

    def log_likelihood(self, part: Pairs, solved: Pairs) -> float:
        """Refuse: the mean over parents is not a sum over pairs."""
        raise UndefinedError(
            "the likelihood of averaged one-dependence estimators does not follow from counts of pairs. "
            "Hint: evaluate(…, learner='aode') has the log-loss"
        )

    def n_parameters(self, part: Pairs) -> int:
        """Return Σ_k (V_i − 1)(V_j − 1), over all pairs: the parameters beyond those of independent features."""
        return int(degrees_of_freedom(part).sum())


def cell_shares(part: Pairs) -> Array:
    """Return θ_kjb, the smoothed share of each cell of each feature, K×d×V; 0 for cells that no class has."""
    theta = np.where(part.single.any(axis=0), part.single + CELL_ALPHA, 0.0)
    return theta / np.maximum(theta.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)


def log_ratios(count: Array, theta: Array) -> Array:
    """Return ln p(b|a,k)/θ_kb from the counts of a pair, K×V×V with the cells of the parent first; see `Tree`.

    It is 0 for a pair of cells that no row of any class has: two cells that never met are no evidence.
    """
    own, is_seen = theta[:, None, :], count.any(axis=0)
    shrunk = (count + PRIOR_ROWS * own) / (count.sum(axis=2, keepdims=True) + PRIOR_ROWS)
    return np.asarray(np.log(np.divide(shrunk, own, out=np.ones_like(shrunk), where=is_seen)))


def degrees_of_freedom(part: Pairs) -> Array:
    """Return Σ_k (V_ki − 1)(V_kj − 1), over the cells that class k has, of each pair in the order of `list_pairs`."""
    rows, columns = part.pair.any(axis=3).sum(axis=2), part.pair.any(axis=2).sum(axis=2)
    return (np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)).sum(axis=0).astype(np.float64)


def edge_gains(part: Pairs) -> Array:
    """Return the gain of an edge between any two features, d×d, as `Tree` defines it; it may be negative."""
    n_first, n_second = part.pair.sum(axis=3), part.pair.sum(axis=2)
    rise = x_log_x(part.pair).sum(axis=(0, 2, 3)) + x_log_x(n_first.sum(axis=2)).sum(axis=0)
    rise -= x_log_x(n_first).sum(axis=(0, 2)) + x_log_x(n_second).sum(axis=(0, 2))
    freedom = degrees_of_freedom(part)
    gain = np.zeros((part.n_features, part.n_features))
    i, j = list_pairs(part.n_features).T
    gain[i, j] = gain[j, i] = rise - freedom / 2 - MIN_GAIN_STANDARD_DEVIATIONS * np.sqrt(freedom / 2)
    return gain


def join_pairs(gain: Array) -> NDArray[np.int64]:
    """Return the parent of each feature, −1 for none, in a greedy matching: pairs in the order of their gains.

    >>> join_pairs(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, -1.0], [1.0, -1.0, 0.0]])).tolist()
    [-1, 0, -1]
    """
    parent, is_free = np.full(len(gain), -1, dtype=np.int64), np.ones(len(gain), dtype=np.bool_)
    remaining = np.triu(gain, 1)
    while remaining.max(initial=0.0) > 0:
        i, j = np.unravel_index(int(remaining.argmax()), remaining.shape)
        parent[j] = i
        is_free[[i, j]] = False
        remaining = np.where(is_free[:, None] & is_free, remaining, 0.0)
    return parent


def grow_forest(gain: Array) -> NDArray[np.int64]:
    """Return the parent of each feature in the forest with the largest sum of positive gains, −1 for a root (Prim).

    >>> grow_forest(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, -1.0], [1.0, -1.0, 0.0]])).tolist()
    [-1, 0, 0]
    """
    d = len(gain)
    parent, best = np.full(d, -1, dtype=np.int64), np.zeros(d)
    is_left = np.ones(d, dtype=np.bool_)
    for _ in range(d):
        j = int(np.where(is_left, best, -1.0).argmax())
        if best[j] <= 0:  # the root of another tree: the feature with the largest gain of all that are left
            j = int(np.where(is_left, gain.max(axis=1, initial=0.0), -1.0).argmax())
        is_left[j] = False
        is_better = is_left & (gain[j] > best)
        best[is_better], parent[is_better] = gain[j][is_better], j
    return parent
