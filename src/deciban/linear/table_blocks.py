"""A table's blocks as designs: what of each block a linear predictor weighs, and the score form that it becomes.

Numbers are standardised by the rows learned, so that one penalty is fair to all; of levels and bins each has an
indicator; words count as they were read. A missing cell is no evidence: the mean of a number, no level at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.categorical import Categorical
from deciban.generative import GenerativeModel
from deciban.linear.design import Dense, Part, Sparse
from deciban.scores import Linear, Lookup, ScoreForm, Steps


class Weighed(Protocol):
    """One block of a table, ready to be weighed."""

    @property
    def part(self) -> Part:
        """The design of its rows, under a penalty of 1."""
        ...

    def form(self, weights: Array) -> ScoreForm:
        """The score that weights of the design (K × its columns) are of the block's own cells."""
        ...


@dataclass(frozen=True)
class Numbers:
    """z_j = (x_j − m_j) / s_j, 0 where x_j is missing; s_j is 1 where nothing varies.

    >>> block = Numbers.of(np.array([[1.0], [3.0], [np.nan]]), None)
    >>> block.standard.ravel().round(9).tolist(), block.form(np.array([[1.0], [2.0]])).offsets.tolist()
    ([-1.0, 1.0, 0.0], [[-2.0], [-4.0]])
    """

    standard: Array
    mean: Array
    deviation: Array

    @classmethod
    def of(cls, X: NDArray[Any], weight: Array | None) -> Numbers:
        """By these rows; the largest number comes first, so that squares of 1e300 do not overflow."""
        x = np.asarray(X, dtype=np.float64)
        top = np.nanmax(np.abs(x), axis=0, initial=0.0)
        top[top == 0] = 1.0
        x = x / top
        here = ~np.isnan(x)
        w = here * (1.0 if weight is None else weight[:, None])
        n = np.maximum(w.sum(axis=0), np.finfo(np.float64).tiny)
        mean = np.nansum(x * w, axis=0) / n
        x -= mean
        deviation = np.sqrt(np.nansum(x * x * w, axis=0) / n)
        constant = deviation <= np.finfo(np.float64).eps * np.abs(mean)
        deviation[constant] = 1.0
        return cls(np.where(here & ~constant, x / deviation, 0.0), mean * top, deviation * top)

    @property
    def part(self) -> Part:
        """See `Weighed.part`."""
        return Dense(self.standard, 1.0)

    def form(self, weights: Array) -> Linear:
        """See `Weighed.form`."""
        slopes = weights / self.deviation
        return Linear(slopes, np.zeros(len(weights)), -slopes * self.mean)


@dataclass(frozen=True)
class Indicators:
    """One indicator for each level, or bin, that is told apart; `column` has its place for each code, −1 for none."""

    codes: NDArray[np.int64]
    offset: NDArray[np.int64]
    column: NDArray[np.int64]
    solved: Lookup | Steps

    @classmethod
    def of_levels(cls, X: NDArray[Any], form: Lookup, family: Categorical, counted: Any) -> Indicators:
        """Levels as the family tells them apart: the rarest of very many are one."""
        return cls(X, form.offset, family.told(family.full(counted)).column, form)

    @classmethod
    def of_bins(cls, X: NDArray[Any], form: Steps) -> Indicators:
        """The bins that the cuts make."""
        offset = form.lookup.offset
        return cls(form.bins(X), offset, np.arange(offset[-1]), form)

    @cached_property
    def matrix(self) -> Any:
        """n × levels, CSR."""
        from scipy.sparse import csr_array

        known = (self.codes >= 0) & (self.codes < np.diff(self.offset))
        at = self.column[np.where(known, self.codes + self.offset[:-1], 0)] if len(self.column) else self.codes
        known &= at >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        width = int(self.column.max(initial=-1)) + 1
        return csr_array((np.ones(int(ends[-1])), at[known], ends), shape=(len(self.codes), width))

    @property
    def part(self) -> Part:
        """See `Weighed.part`."""
        return Sparse(self.matrix, 1.0)

    def form(self, weights: Array) -> Lookup | Steps:
        """See `Weighed.form`."""
        told = np.where(self.column < 0, 0.0, np.column_stack([weights, np.zeros(len(weights))])[:, self.column])
        if isinstance(self.solved, Steps):
            return Steps(self.solved.cuts, self.solved.start, told)
        return Lookup(told, self.offset, np.zeros_like(self.solved.unseen))


@dataclass(frozen=True)
class Words:
    """Words by what they count for."""

    matrix: Any

    @property
    def part(self) -> Part:
        """See `Weighed.part`."""
        return Sparse(self.matrix, 1.0)

    def form(self, weights: Array) -> Linear:
        """See `Weighed.form`."""
        return Linear(weights, np.zeros(len(weights)))


def weighable(basis: GenerativeModel, parts: Sequence[Any], weight: Array | None) -> list[Weighed]:
    """Each block of these rows; cuts of bins and levels told apart are those of the naive belief about them."""
    known = zip(basis.solved.forms, basis.assumption.families, basis.complete.parts, parts)
    return [_weighable(form, family, counted, X, weight) for form, family, counted, X in known]


def _weighable(form: ScoreForm, family: Any, counted: Any, X: Any, weight: Array | None) -> Weighed:
    if isinstance(form, Lookup):
        return Indicators.of_levels(X, form, family, counted)
    if isinstance(form, Steps):
        return Indicators.of_bins(X, form)
    return Words(X) if hasattr(X, "tocsr") else Numbers.of(X, weight)
