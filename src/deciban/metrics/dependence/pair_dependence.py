"""Every pair of features of a sample measured: as matrices, feature by feature against all that follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.covariance import tied_covariance
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.contingency import compared
from deciban.metrics.dependence.gaussian_dependence import gain_of_bell
from deciban.metrics.dependence.level_codes import Coded, Feature, sizes
from deciban.metrics.dependence.mutual_information import Tables, information, of_correlation
from deciban.metrics.intervals import effective_weights
from deciban.scores import DECIBAN

MOST_CELLS = 1 << 20
"""Cells of the tables that are looked at together."""

MOST_BELLS, MOST_SCORES = 200, 1 << 17
"""Pairs of numbers that are tried under one bell, and scores that each of them is judged by."""

FIGURES = (
    "conditional", "error", "p_value", "rows", "marginal", "twice", "twice_error", "joining", "joining_error",
    "single", "single_error", "beyond", "beyond_error",
)  # fmt: skip
"""What is measured of each pair; all but the p-values and rows in decibans a row."""


@dataclass(frozen=True)
class Sample:
    """Rows to measure: features, the class of each row, and weights."""

    features: Sequence[Feature]
    codes: NDArray[np.int64]
    weight: Array | None
    n_classes: int

    @cached_property
    def effective(self) -> Array | None:
        """Weights that add up to Kish's effective number of rows; None where every row counts one."""
        return None if self.weight is None else effective_weights(self.weight)

    @cached_property
    def within(self) -> list[Coded]:
        """The levels of each feature given the class."""
        return [feature.within(self.codes, self.n_classes) for feature in self.features]

    @cached_property
    def overall(self) -> list[Coded]:
        """The levels of each feature whatever the class."""
        return [feature.overall(self.n_classes) for feature in self.features]

    def both_numbers(self, i: int, j: int) -> bool:
        """Whether two features are numbers."""
        return self.features[i].number and self.features[j].number

    def tables(self, i: int, others: Sequence[int], coded: Sequence[Coded], levels: Sequence[int]) -> Tables:
        """The counts of feature i beside others."""
        K, A = self.n_classes, levels[i]
        known = coded[i] >= 0
        rows: Any = slice(None) if known.all() else np.flatnonzero(known)  # as they lie, if all have it
        first = self.codes[rows] * A + coded[i][rows]
        weight = None if self.effective is None else self.effective[rows]
        counts = [_counted(first, coded[j][rows], K * A, levels[j], weight) for j in others]
        start = np.cumsum([0, *(levels[j] for j in others[:-1])], dtype=np.intp)
        return Tables(np.concatenate(counts, axis=1).reshape(K, A, -1), start)


def _counted(first: Coded, second: Coded, n_first: int, n_second: int, weight: Array | None) -> Array:
    known = second >= 0
    if not known.all():
        first, second, weight = first[known], second[known], None if weight is None else weight[known]
    cells = np.bincount(first * n_second + second, weights=weight, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second).astype(np.float64)


def measured(sample: Sample) -> dict[str, Array]:
    """Each of the figures as a d×d matrix, of which what stands above the diagonal is filled."""
    d = len(sample.features)
    found = {name: np.full((d, d), np.nan) for name in FIGURES}
    for i, others in _runs(sizes(sample.within), sizes(sample.overall), sample.n_classes):
        for name, values in _of_run(sample, i, others).items():
            found[name][i, others] = values
    measure_bells(sample, found)
    return found


def _runs(within: list[int], overall: list[int], n_classes: int) -> Iterator[tuple[int, list[int]]]:
    """Every feature with as many of those after it as are looked at together."""
    levels = [max(pair) for pair in zip(within, overall)]
    for i, A in enumerate(levels):
        room = 0
        run: list[int] = []
        for j in range(i + 1, len(levels)):
            cells = n_classes * A * levels[j]
            if run and room + cells > MOST_CELLS:
                yield i, run
                room, run = 0, []
            room, run = room + cells, [*run, j]
        if run:
            yield i, run


def _of_run(sample: Sample, i: int, others: list[int]) -> dict[str, Array]:
    given = information(sample.tables(i, others, sample.within, sizes(sample.within)))
    tables = sample.tables(i, others, sample.overall, sizes(sample.overall))
    pair, marginal = compared(tables), information(tables.pooled)
    in_nats = {
        "conditional": given.value, "error": given.error, "marginal": marginal.value, **pair._asdict(),
    }  # fmt: skip
    return {name: value * DECIBAN for name, value in in_nats.items()} | {"p_value": given.p_value, "rows": given.rows}


def measure_bells(sample: Sample, found: dict[str, Array]) -> None:
    """What joining gains by one bell, for the pairs of numbers that gain most by tables; the others gain nothing."""
    pairs = [(i, j) for i, j in np.argwhere(found["joining"] > 0).tolist() if sample.both_numbers(i, j)]
    best = sorted(pairs, key=lambda pair: -found["joining"][tuple(pair)])[:MOST_BELLS]
    for i, j in pairs:
        found["joining"][i, j] = found["joining_error"][i, j] = 0.0
    for i, j in best:
        values = np.stack([sample.features[i].values, sample.features[j].values], axis=1)
        known = _some(np.flatnonzero(np.isfinite(values).all(axis=1)), MOST_SCORES // sample.n_classes)
        bins = (sample.overall[i][known], sample.overall[j][known])
        gain = gain_of_bell(values[known], bins, sample.codes[known], sample.n_classes)
        found["joining"][i, j], found["joining_error"][i, j] = (DECIBAN * figure for figure in gain)


def _some(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """At most so many of the rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, max(1, most)).astype(np.intp)]


def with_class(sample: Sample) -> Array:
    """I(X;C) of each feature, in decibans a row."""
    classes = Feature("class", False, sample.codes)
    told = []
    for levels in sample.overall:
        alone = Sample([classes], np.zeros_like(sample.codes), sample.weight, 1)
        tables = alone.tables(0, [1], [sample.codes, levels], [sample.n_classes, *sizes([levels])])
        told.append(float(information(tables).value[0]) * DECIBAN)
    return np.array(told)


def entropies(sample: Sample) -> Array:
    """H(X|C) of each feature, in decibans a row: all that another one could tell about it within a class."""
    found = []
    for levels, size in zip(sample.within, sizes(sample.within)):
        known = levels >= 0
        weight = None if sample.effective is None else sample.effective[known]
        cells = _counted(sample.codes[known], levels[known], sample.n_classes, size, weight)
        share = divide(cells, cells.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            surprise = np.where(cells > 0, -np.log(share), 0.0)
        found.append(float(divide((cells * surprise).sum(), cells.sum())) * DECIBAN)
    return np.array(found)


def correlations(sample: Sample) -> tuple[Array, Array]:
    """ρ within classes, pooled over them, and −½ ln(1 − ρ²) in decibans; NaN but for two numbers."""
    d = len(sample.features)
    correlation, told = np.full((d, d), np.nan), np.full((d, d), np.nan)
    which = [j for j, feature in enumerate(sample.features) if feature.number]
    if len(which) < 2:
        return correlation, told
    X = np.stack([sample.features[j].values for j in which], axis=1)
    part = Scatter.of(X, sample.codes.astype(np.int32), sample.effective, sample.n_classes)
    covariance = tied_covariance(part)[0]
    spread = np.sqrt(np.diag(covariance))
    pair = np.clip(divide(covariance, np.outer(spread, spread)), -1.0, 1.0)
    weight = np.broadcast_to(part.weight, part.comoment.shape)
    freedom = weight.sum(axis=0) - (weight > 0).sum(axis=0)
    at = np.ix_(which, which)
    correlation[at], told[at] = pair, of_correlation(pair, freedom) * DECIBAN
    return correlation, told
