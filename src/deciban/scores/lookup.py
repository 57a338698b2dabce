"""Scores by lookup: a log-probability per class, feature and level, or bin of a number; and the full joint model.

The full joint model has one log-probability per class and combination of levels.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import group_by_missing, multiply_score
from deciban.scores.score_form import ScoreForm, log

LOOKUP_CHUNK_CELLS = 1 << 16
"""Log-probabilities that are looked up at a time, so that they stay in the cache until they are summed."""


@dataclass(frozen=True, eq=False)
class Lookup(ScoreForm):
    """The score of categorical features.

    score_k(x) = Σ_j log_theta[k, offset_j + x_j]; a missing (negative) code adds nothing.

    A code beyond the known levels is unseen: it scores `unseen[k, j]`, zero where it is to be ignored.
    """

    log_theta: Array
    offset: NDArray[np.int64]
    unseen: Array

    class_array = "log_theta"
    not_linear = (
        "a categorical model is linear in one indicator per level, not in the level codes, so it has no "
        "weights per feature, nor a quadratic_form(). Hint: explain(X) gives the evidence of each feature."
    )

    @cached_property
    def by_level(self) -> tuple[Array, Array]:
        """The log-probabilities transposed, contiguous by level for loops over rows."""
        return np.ascontiguousarray(self.log_theta.T), np.ascontiguousarray(self.unseen.T)

    def _locate_levels(self, X: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
        """Return which codes are known, which are unseen, and the column of `log_theta` of each known one, n×d."""
        sizes = np.diff(self.offset)
        known = (X >= 0) & (sizes > X)
        return known, sizes <= X, np.where(known, X + self.offset[:-1], 0).astype(np.int64)

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        known, unknown, at = (np.ascontiguousarray(each.T) for each in self._locate_levels(X))
        score = np.zeros((len(X), self.n_classes))
        step = max(1, LOOKUP_CHUNK_CELLS // max(1, score.size))
        levels, unseen = self.by_level
        for j in range(0, len(at), step):  # in groups of features, whose scores are summed in order
            group = slice(j, j + step)
            terms = np.where(unknown[group, :, None], unseen[group, None, :], 0.0)
            if len(levels):
                terms = np.where(known[group, :, None], levels[at[group]], terms)
            terms[0] += score
            score = terms.sum(axis=0)
        return score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        known, unknown, at = self._locate_levels(X)
        if not self.log_theta.shape[1]:
            return Pieces(np.zeros(X.shape))
        with np.errstate(invalid="ignore"):  # impossible under both classes: −∞ − −∞ has no value
            gap = self.log_theta[k[:, None], at] - self.log_theta[l[:, None], at]
            beyond = self.unseen[k] - self.unseen[l]
        return Pieces(np.where(known, gap, np.where(unknown, beyond, 0.0)))


@dataclass(frozen=True, eq=False)
class Steps(ScoreForm):
    """The score of numbers by bins.

    score_k(x) = Σ_j log_theta[k, bin of x_j], the bins of all features in one array; NaN adds nothing.

    Feature j's cuts are cuts[start[j]:start[j+1]], ascending, and its bins one more: x is in bin b if it is at least
    the cut before b and below the cut after. A feature without cuts has one bin, so it carries no evidence.

    >>> form = Steps(np.array([2.0]), np.array([0, 1]), np.log([[0.25, 0.75]]))
    >>> np.exp(form.log_likelihoods(np.array([[1.9], [2.0], [np.nan]]))).ravel().tolist()
    [0.25, 0.75, 1.0]
    """

    cuts: Array
    start: NDArray[np.int64]
    log_theta: Array

    class_array = "log_theta"
    not_linear = (
        "numbers by bins have a score that jumps from bin to bin, so it has no weights per feature, nor a "
        "quadratic_form(). Hint: explain(X) gives the evidence of each feature."
    )

    @cached_property
    def lookup(self) -> Lookup:
        """The score of the bins as level codes."""
        d = len(self.start) - 1
        return Lookup(self.log_theta, self.start + np.arange(d + 1), np.zeros((self.n_classes, d)))

    def bins(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each number, counted from 0 in each feature; −1 where it is missing."""
        found = np.zeros(X.shape, dtype=np.int64)
        for j in np.flatnonzero(np.diff(self.start)).tolist():  # a feature without cuts has one bin
            a, b = self.start[j : j + 2]
            found[:, j] = np.searchsorted(self.cuts[a:b], X[:, j].astype(np.float64, copy=False), side="right")
        if X.dtype.kind == "f":
            found[np.isnan(X)] = -1
        return found

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        return self.lookup.log_likelihoods(self.bins(X))

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        return self.lookup.pieces(self.bins(X), k, l)


MIN_GROUPED_ROWS = 100
"""With fewer rows, searching the cells for each is faster than grouping all cells by the rows' features."""


@dataclass(frozen=True, eq=False)
class Table(ScoreForm):
    """The score of combinations of levels.

    p(x|k) = (count_k(x) + α) / (N_k + αM), M the number of cells; empty cells are not stored.

    Missing values, and unseen levels that are to be ignored, are summed over: the counts of all cells that match the
    row's values are added. M soon overflows a double, so all is computed in logarithms:
    ln p = ln(count_k + α Π_free v_j) − ln(N_k + α Π_j v_j). Where `evidence_weight` is given, the score is
    multiplied by it.

    `cell` is m×d (level codes of the non-empty cells), `count` K×m, `sizes` V_j.
    """

    cell: NDArray[np.int64]
    count: Array
    sizes: tuple[int, ...]
    alpha: float
    smooth_unseen: bool = False
    evidence_weight: float | None = None

    class_array = "count"
    not_linear = (
        "the full joint table is not linear in x, nor has it a quadratic_form(): every combination of levels has "
        "a probability of its own. Hint: explain(X) gives the evidence of each row."
    )

    @cached_property
    def level_counts(self) -> tuple[int, ...]:
        """v_j, the number of levels that share the pseudo-counts; 1 for a feature without values."""
        return tuple(max(1, v + self.smooth_unseen) for v in self.sizes)

    @cached_property
    def count_or_pooled(self) -> Array:
        """The counts; those of all classes together for a class without rows, if there are no pseudo-counts."""
        empty = self.count.sum(axis=1, keepdims=True) == 0
        return np.where(empty & (self.alpha == 0), self.count.sum(axis=0), self.count)

    @cached_property
    def log_seen(self) -> Array:
        """ln N_k."""
        return log(self.count_or_pooled.sum(axis=1))

    @cached_property
    def log_imagined(self) -> float:
        """ln αM, the pseudo-counts of all cells together."""
        return self._log_alpha + float(self._log_level_counts.sum())

    @property
    def _log_alpha(self) -> float:
        return math.log(self.alpha) if self.alpha > 0 else -math.inf

    @cached_property
    def _log_level_counts(self) -> Array:
        return np.log(np.array(self.level_counts, dtype=np.float64))

    @cached_property
    def _small_cells(self) -> NDArray[Any]:
        """The cells in the smallest integer type."""
        return self._to_small_codes(self.cell)

    @cached_property
    def _cells_by_feature(self) -> NDArray[Any]:
        """The cells transposed, contiguous by feature."""
        return np.ascontiguousarray(self._small_cells.T)

    @cached_property
    def _numbered_cells(self) -> tuple[dict[bytes, int], Array]:
        """The number of each cell, and the counts by number."""
        return _group_cells(self._small_cells, self.count_or_pooled)

    def _to_small_codes(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Convert codes to the smallest integer type; V_j represents all unknown levels."""
        sizes = np.array(self.sizes, dtype=np.int64)
        return np.minimum(codes, sizes).astype(np.min_scalar_type(int(sizes.max(initial=0))))

    def count_matches(self, X: NDArray[Any]) -> tuple[Array, Array]:
        """Return the counts of each class that match each row, n×K, and ln Π v_j of its free features, n×1.

        A feature is free if it is missing, or unseen and ignored.
        """
        X = np.asarray(X, dtype=np.int64)
        is_known = X >= 0
        if not self.smooth_unseen:
            is_known &= np.array(self.sizes, dtype=np.int64) > X
        free = np.where(is_known, 0.0, self._log_level_counts).sum(axis=1, keepdims=True)
        return self._match_rows(self._to_small_codes(X), is_known), free

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        log_total = np.logaddexp(self.log_seen, self.log_imagined)
        if np.isneginf(log_total).any():  # no rows and no pseudo-counts: no evidence
            return np.zeros((len(X), self.n_classes))
        count, free = self.count_matches(X)
        score = np.logaddexp(log(count), self._log_alpha + free) - log_total
        return score if self.evidence_weight is None else multiply_score(self.evidence_weight, score)

    def _match_rows(self, codes: NDArray[Any], is_known: NDArray[np.bool_]) -> Array:
        """Return the counts of each class that match each row, n×K."""
        count = np.empty((len(codes), self.n_classes))
        for present, rows in group_by_missing(is_known):
            features = np.flatnonzero(present)
            if present.all():
                count[rows] = _find_counts(codes[rows], *self._numbered_cells)
            else:
                count[rows] = self._sum_matches(codes[np.ix_(rows, features)], features)
        return count

    def _sum_matches(self, codes: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """Return the counts of the cells that match each row in these features, r×K."""
        if len(codes) < MIN_GROUPED_ROWS:
            distinct = {row.tobytes(): row for row in codes}
            found = {key: self._search_row(row, features) for key, row in distinct.items()}
            return np.stack([found[row.tobytes()] for row in codes])
        return _find_counts(codes, *_group_cells(self._small_cells[:, features], self.count_or_pooled))

    def _search_row(self, row: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """Return the counts of the cells that match one row, searched feature by feature."""
        if not len(row):
            return self.count_or_pooled.sum(axis=1)
        at = np.flatnonzero(self._cells_by_feature[features[0]] == row[0])
        for j, v in zip(features[1:], row[1:]):
            if not len(at):
                break
            at = at[self._cells_by_feature[j][at] == v]
        return self.count_or_pooled[:, at].sum(axis=1)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return 0 for each feature, and the evidence of the combination as the extra piece 'joint'."""
        score = self.log_likelihoods(X)
        i = np.arange(len(score))
        with np.errstate(invalid="ignore"):
            gap = score[i, k] - score[i, l]
        return Pieces(np.zeros(X.shape), {"joint": gap})


def _group_cells(cell: NDArray[Any], count: Array) -> tuple[dict[bytes, int], Array]:
    """Return the numbers of the distinct cells and their counts by class; a last row of zeros is for all others."""
    number: dict[bytes, int] = {}
    which = np.array([number.setdefault(row.tobytes(), len(number)) for row in cell], dtype=np.intp)
    return number, np.stack([np.bincount(which, weights=c, minlength=len(number) + 1) for c in count], axis=1)


def _find_counts(rows: NDArray[Any], number: dict[bytes, int], count: Array) -> Array:
    """Return the counts of each row, n×K."""
    other = len(number)
    return count[np.array([number.get(row.tobytes(), other) for row in rows], dtype=np.intp)]
