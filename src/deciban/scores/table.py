"""The score of the full joint model: one log-probability per class and combination of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import multiply_score
from deciban.scores.score_form import Boundary, ScoreForm

MIN_GROUPED_ROWS = 100
"""With fewer rows, searching the cells for each is faster than grouping all cells by the rows' features."""


@dataclass(frozen=True, eq=False)
class Table(ScoreForm):
    """The score of combinations of levels.

    p(x|k) = (count_k(x) + α) / (N_k + αM), M the number of cells; empty cells are not stored.

    Missing values, and unseen levels that are to be ignored, are summed over: the counts of all cells that match the
    row's values are added. M soon overflows a double, so all is computed in logarithms:
    ln p = ln(count_k + α Π_free v_j) − ln(N_k + α Π_j v_j). Where `trust` is given, the score is multiplied by it.
    """

    cell: NDArray[np.int64]
    count: Array
    sizes: tuple[int, ...]
    alpha: float
    smooth_unseen: bool = False
    trust: float | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return self.count.shape[0]

    @cached_property
    def level_counts(self) -> tuple[int, ...]:
        """v_j, the number of levels that share the pseudo-counts; 1 for a feature without values."""
        return tuple(max(1, v + self.smooth_unseen) for v in self.sizes)

    @cached_property
    def pooled_count(self) -> Array:
        """The counts; those of all classes together for a class without rows, if there are no pseudo-counts."""
        empty = self.count.sum(axis=1, keepdims=True) == 0
        return np.where(empty & (self.alpha == 0), self.count.sum(axis=0), self.count)

    @cached_property
    def log_seen(self) -> Array:
        """ln N_k."""
        return _log(self.pooled_count.sum(axis=1))

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
    def _short(self) -> NDArray[Any]:
        """The cells in the smallest integer type."""
        return self._shorten(self.cell)

    @cached_property
    def _columns(self) -> NDArray[Any]:
        return np.ascontiguousarray(self._short.T)

    @cached_property
    def _whole(self) -> tuple[dict[bytes, int], Array]:
        """The number of each cell, and the counts by number."""
        return _group_cells(self._short, self.pooled_count)

    def _shorten(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Convert codes to the smallest integer type; V_j represents all unknown levels."""
        sizes = np.array(self.sizes, dtype=np.int64)
        return np.minimum(codes, sizes).astype(np.min_scalar_type(int(sizes.max(initial=0))))

    def count_matches(self, X: NDArray[Any]) -> tuple[Array, Array]:
        """Return the counts of each class that match each row, n×K, and ln Π v_j of its missing features, n×1."""
        X = np.asarray(X, dtype=np.int64)
        have = X >= 0
        if not self.smooth_unseen:
            have &= np.array(self.sizes, dtype=np.int64) > X
        free = np.where(have, 0.0, self._log_level_counts).sum(axis=1, keepdims=True)
        return self._match_rows(self._shorten(X), have), free

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        whole = np.logaddexp(self.log_seen, self.log_imagined)
        if np.isneginf(whole).any():  # no rows and no pseudo-counts: no evidence
            return np.zeros((len(X), self.n_classes))
        count, free = self.count_matches(X)
        score = np.logaddexp(_log(count), self._log_alpha + free) - whole
        return score if self.trust is None else multiply_score(self.trust, score)

    def _match_rows(self, codes: NDArray[Any], have: NDArray[np.bool_]) -> Array:
        """Return the counts of each class that match each row, n×K."""
        count = np.empty((len(codes), self.n_classes))
        complete = have.all(axis=1)
        count[complete] = _find_counts(codes[complete], *self._whole)
        part = np.flatnonzero(~complete)
        pattern, which = _distinct(np.packbits(have[part], axis=1))
        order = np.argsort(which, kind="stable")
        for rows in np.split(part[order], np.cumsum(np.bincount(which, minlength=len(pattern)))[:-1]):
            if len(rows):
                features = np.flatnonzero(have[rows[0]])
                count[rows] = self._sum_matches(codes[np.ix_(rows, features)], features)
        return count

    def _sum_matches(self, codes: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """Return the counts of the cells that match each row in these features, r×K."""
        if len(codes) < MIN_GROUPED_ROWS:
            first, which = _distinct(codes)
            return np.stack([self._search_row(codes[i], features) for i in first])[which]
        return _find_counts(codes, *_group_cells(self._short[:, features], self.pooled_count))

    def _search_row(self, row: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """Return the counts of the cells that match one row, searched feature by feature."""
        if not len(row):
            return self.pooled_count.sum(axis=1)
        at = np.flatnonzero(self._columns[features[0]] == row[0])
        for j, v in zip(features[1:], row[1:]):
            if not len(at):
                break
            at = at[self._columns[j][at] == v]
        return self.pooled_count[:, at].sum(axis=1)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return the evidence of the combination as one piece: it is not a sum over features."""
        score = self.joint(X)
        i = np.arange(len(score))
        with np.errstate(invalid="ignore"):
            gap = score[i, k] - score[i, l]
        return Pieces(np.zeros(X.shape), {"joint": gap})

    def linear(self) -> Boundary:
        """Refuse: a table is not linear."""
        raise UndefinedError(
            "the full joint table is not linear in x, nor has it a quadratic_form(): every combination of levels has "
            "a probability of its own. Hint: explain(X) gives the evidence of each row."
        )


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(x)


def _number_rows(rows: NDArray[Any]) -> tuple[dict[bytes, int], NDArray[np.intp]]:
    """Number the distinct rows in order of appearance; return their numbers, and the number of each row."""
    number: dict[bytes, int] = {}
    return number, np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], dtype=np.intp)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first place of each distinct row, and the number of each row."""
    number, which = _number_rows(rows)
    first = np.empty(len(number), dtype=np.intp)
    first[which[::-1]] = np.arange(len(rows))[::-1]
    return first, which


def _group_cells(cell: NDArray[Any], count: Array) -> tuple[dict[bytes, int], Array]:
    """Return the distinct cells and their counts by class; a last row of zeros is for all others."""
    number, which = _number_rows(cell)
    return number, np.stack([np.bincount(which, weights=c, minlength=len(number) + 1) for c in count], axis=1)


def _find_counts(rows: NDArray[Any], number: dict[bytes, int], count: Array) -> Array:
    """Return the counts of each row, n×K."""
    other = len(number)
    return count[np.array([number.get(row.tobytes(), other) for row in rows], dtype=np.intp)]
