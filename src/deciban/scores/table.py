"""Table: the score of the full joint model, one log-probability per class and combination of levels."""

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
from deciban.scores.full import times
from deciban.scores.score_form import Boundary, Conic

FEW = 100
"""Rows below which searching the cells for each is faster than grouping all cells by what the rows have."""


@dataclass(frozen=True, eq=False)
class Table:
    """p(x|k) = (count_k(x) + α) / (N_k + αM), M the number of cells; the cells never seen are not stored.

    A missing value, or an unseen level that is to be ignored, is summed over: the cells that agree with
    what the row has, counted together. M overflows any float soon, so all is done in logarithms:
    ln p = ln(count_k + α Π_free v_j) − ln(N_k + α Π_j v_j). Where `trust` is given, the score counts so many times as
    much.
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
        """v_j, how many levels share the pseudo-counts; a feature nobody ever had has one."""
        return tuple(max(1, v + self.smooth_unseen) for v in self.sizes)

    @cached_property
    def pooled_count(self) -> Array:
        """The counts, where without pseudo-counts a class never seen says what all classes together say."""
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
        """The cells in the fewest bytes."""
        return self._shorten(self.cell)

    @cached_property
    def _columns(self) -> NDArray[Any]:
        return np.ascontiguousarray(self._short.T)

    @cached_property
    def _whole(self) -> tuple[dict[bytes, int], Array]:
        """The place of each cell, and the counts there."""
        return _grouped(self._short, self.pooled_count)

    def _shorten(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Codes in the fewest bytes; V_j stands for any beyond the known."""
        sizes = np.array(self.sizes, dtype=np.int64)
        return np.minimum(codes, sizes).astype(np.min_scalar_type(int(sizes.max(initial=0))))

    def count_matches(self, X: NDArray[Any]) -> tuple[Array, Array]:
        """How often each class was seen with what each row has, n×K, and ln Π v_j of what it has not, n×1."""
        X = np.asarray(X, dtype=np.int64)
        have = X >= 0
        if not self.smooth_unseen:
            have &= np.array(self.sizes, dtype=np.int64) > X
        free = np.where(have, 0.0, self._log_level_counts).sum(axis=1, keepdims=True)
        return self._agreeing(self._shorten(X), have), free

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        whole = np.logaddexp(self.log_seen, self.log_imagined)
        if np.isneginf(whole).any():  # nothing seen in any class, nothing imagined: nothing to say
            return np.zeros((len(X), self.n_classes))
        count, free = self.count_matches(X)
        score = np.logaddexp(_log(count), self._log_alpha + free) - whole
        return score if self.trust is None else times(self.trust, score)

    def _agreeing(self, codes: NDArray[Any], have: NDArray[np.bool_]) -> Array:
        """How often each class was seen with what each row has, n×K."""
        count = np.empty((len(codes), self.n_classes))
        complete = have.all(axis=1)
        count[complete] = _found(codes[complete], *self._whole)
        part = np.flatnonzero(~complete)
        pattern, which = _distinct(np.packbits(have[part], axis=1))
        order = np.argsort(which, kind="stable")
        for rows in np.split(part[order], np.cumsum(np.bincount(which, minlength=len(pattern)))[:-1]):
            if len(rows):
                features = np.flatnonzero(have[rows[0]])
                count[rows] = self._summed(codes[np.ix_(rows, features)], features)
        return count

    def _summed(self, codes: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """The counts of the cells that agree with each row in these features, r×K."""
        if len(codes) < FEW:
            first, which = _distinct(codes)
            return np.stack([self._searched(codes[i], features) for i in first])[which]
        return _found(codes, *_grouped(self._short[:, features], self.pooled_count))

    def _searched(self, row: NDArray[Any], features: NDArray[np.intp]) -> Array:
        """The same for one row, feature by feature among the cells that still agree."""
        if not len(row):
            return self.pooled_count.sum(axis=1)
        at = np.flatnonzero(self._columns[features[0]] == row[0])
        for j, v in zip(features[1:], row[1:]):
            if not len(at):
                break
            at = at[self._columns[j][at] == v]
        return self.pooled_count[:, at].sum(axis=1)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """The combination speaks as one: no feature's share can be told apart."""
        score = self.joint(X)
        i = np.arange(len(score))
        with np.errstate(invalid="ignore"):
            gap = score[i, k] - score[i, l]
        return Pieces(np.zeros(X.shape), {"joint": gap})

    def linear(self) -> Boundary:
        """A table follows no line."""
        raise UndefinedError(
            "the full joint table is not linear in x, nor has it a quadratic_form(): every combination of levels has "
            "a probability of its own. Hint: explain(X) gives the evidence of each row."
        )

    def quadratic(self) -> Conic:
        """A table follows no curve."""
        self.linear()
        raise AssertionError


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(x)


def _numbered(rows: NDArray[Any]) -> tuple[dict[bytes, int], NDArray[np.intp]]:
    """The distinct rows, numbered as they come, and the number of each row."""
    number: dict[bytes, int] = {}
    return number, np.array([number.setdefault(row.tobytes(), len(number)) for row in rows], dtype=np.intp)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each distinct row comes first, and which of them each row is."""
    number, which = _numbered(rows)
    first = np.empty(len(number), dtype=np.intp)
    first[which[::-1]] = np.arange(len(rows))[::-1]
    return first, which


def _grouped(cell: NDArray[Any], count: Array) -> tuple[dict[bytes, int], Array]:
    """The distinct cells and how often each class had them; the row after the last has zeros, for the others."""
    number, which = _numbered(cell)
    return number, np.stack([np.bincount(which, weights=c, minlength=len(number) + 1) for c in count], axis=1)


def _found(rows: NDArray[Any], number: dict[bytes, int], count: Array) -> Array:
    """The counts of each row, n×K."""
    other = len(number)
    return count[np.array([number.get(row.tobytes(), other) for row in rows], dtype=np.intp)]
