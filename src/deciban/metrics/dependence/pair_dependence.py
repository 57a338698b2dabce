"""The dependence figures of every pair of features of a sample, as matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.gaussian import tied_covariance
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.mutual_information import (
    Feature,
    LevelCodes,
    Tables,
    count_levels,
    gaussian_information,
    mutual_information,
)
from deciban.metrics.dependence.pair_models import compare_models, gaussian_gain
from deciban.metrics.intervals import effective_weights
from deciban.scores import DECIBAN

MAX_TABLE_CELLS = 1 << 20
"""The number of cells of the tables that are processed together."""

MAX_GAUSSIAN_PAIRS, MAX_GAUSSIAN_SCORES = 200, 1 << 17
"""The number of pairs of numbers that are tried as a bivariate Gaussian, and of scores that each is evaluated on."""

FIGURES = (
    "conditional", "error", "p_value", "rows", "marginal", "double_counted", "double_counted_error", "gain",
    "gain_error", "single", "single_error", "beyond", "beyond_error",
)  # fmt: skip
"""The figures of each pair; all but the p-values and rows are in decibans per row."""


@dataclass(frozen=True)
class Sample:
    """A sample of rows: features, the class of each row, and weights."""

    features: Sequence[Feature]
    codes: NDArray[np.int64]
    weight: Array | None
    n_classes: int

    @cached_property
    def effective(self) -> Array | None:
        """Weights that sum to Kish's effective number of rows; None where every row has the weight 1."""
        return None if self.weight is None else effective_weights(self.weight)

    @cached_property
    def within(self) -> list[LevelCodes]:
        """The levels of each feature given the class."""
        return [feature.levels_within_classes(self.codes, self.n_classes) for feature in self.features]

    @cached_property
    def overall(self) -> list[LevelCodes]:
        """The levels of each feature regardless of the class."""
        return [feature.levels_overall(self.n_classes) for feature in self.features]

    def tables(self, i: int, others: Sequence[int], coded: Sequence[LevelCodes], levels: Sequence[int]) -> Tables:
        """Count the contingency tables of feature i with others."""
        K, A = self.n_classes, levels[i]
        known = coded[i] >= 0
        rows: Any = slice(None) if known.all() else np.flatnonzero(known)  # no copy if all have it
        first = self.codes[rows] * A + coded[i][rows]
        weight = None if self.effective is None else self.effective[rows]
        counts = [_count_cells(first, coded[j][rows], K * A, levels[j], weight) for j in others]
        start = np.cumsum([0, *(levels[j] for j in others[:-1])], dtype=np.intp)
        return Tables(np.concatenate(counts, axis=1).reshape(K, A, -1), start)


def _count_cells(first: LevelCodes, second: LevelCodes, n_first: int, n_second: int, weight: Array | None) -> Array:
    known = second >= 0
    if not known.all():
        first, second, weight = first[known], second[known], None if weight is None else weight[known]
    cells = np.bincount(first * n_second + second, weights=weight, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second).astype(np.float64)


def measure_pairs(sample: Sample) -> dict[str, Array]:
    """Return each of `FIGURES` as a d×d matrix, filled above the diagonal."""
    d = len(sample.features)
    found = {name: np.full((d, d), np.nan) for name in FIGURES}
    for i, others in _runs(count_levels(sample.within), count_levels(sample.overall), sample.n_classes):
        for name, values in _measure_run(sample, i, others).items():
            found[name][i, others] = values
    _measure_gaussian_pairs(sample, found)
    return found


def _runs(within: list[int], overall: list[int], n_classes: int) -> Iterator[tuple[int, list[int]]]:
    """Yield every feature with runs of the features after it, each run of at most `MAX_TABLE_CELLS` cells."""
    levels = [max(pair) for pair in zip(within, overall)]
    for i, A in enumerate(levels):
        run_cells = 0
        run: list[int] = []
        for j in range(i + 1, len(levels)):
            cells = n_classes * A * levels[j]
            if run and run_cells + cells > MAX_TABLE_CELLS:
                yield i, run
                run_cells, run = 0, []
            run_cells, run = run_cells + cells, [*run, j]
        if run:
            yield i, run


def _measure_run(sample: Sample, i: int, others: list[int]) -> dict[str, Array]:
    given = mutual_information(sample.tables(i, others, sample.within, count_levels(sample.within)))
    tables = sample.tables(i, others, sample.overall, count_levels(sample.overall))
    marginal = mutual_information(tables.pooled).value
    in_nats = {"conditional": given.value, "error": given.error, "marginal": marginal, **compare_models(tables)}
    return {name: value * DECIBAN for name, value in in_nats.items()} | {"p_value": given.p_value, "rows": given.rows}


def _measure_gaussian_pairs(sample: Sample, found: dict[str, Array]) -> None:
    """Set the gain of joining numbers to that of a bivariate Gaussian, for the pairs that gain most by tables.

    The gain of the other pairs of numbers is set to 0.
    """
    is_number = np.array([feature.number for feature in sample.features])
    pairs = np.argwhere((found["gain"] > 0) & np.outer(is_number, is_number)).tolist()
    best = sorted(pairs, key=lambda pair: -found["gain"][tuple(pair)])[:MAX_GAUSSIAN_PAIRS]
    for i, j in pairs:
        found["gain"][i, j] = found["gain_error"][i, j] = 0.0
    max_rows = max(1, MAX_GAUSSIAN_SCORES // sample.n_classes)
    for i, j in best:
        values = np.stack([sample.features[i].values, sample.features[j].values], axis=1)
        known = np.flatnonzero(np.isfinite(values).all(axis=1))
        if len(known) > max_rows:
            known = known[np.linspace(0, len(known) - 1, max_rows).astype(np.intp)]  # evenly spaced
        bins = (sample.overall[i][known], sample.overall[j][known])
        gain = gaussian_gain(values[known], bins, sample.codes[known], sample.n_classes)
        found["gain"][i, j], found["gain_error"][i, j] = (DECIBAN * figure for figure in gain)


def information_with_class(sample: Sample) -> Array:
    """Return I(X;C) of each feature, in decibans per row."""
    classes = Feature("class", False, sample.codes)
    values = []
    for levels in sample.overall:
        alone = Sample([classes], np.zeros_like(sample.codes), sample.weight, 1)
        tables = alone.tables(0, [1], [sample.codes, levels], [sample.n_classes, *count_levels([levels])])
        values.append(float(mutual_information(tables).value[0]) * DECIBAN)
    return np.array(values)


def entropies(sample: Sample) -> Array:
    """Return H(X|C) of each feature, in decibans per row: the bound of its mutual information within classes."""
    found = []
    for levels, size in zip(sample.within, count_levels(sample.within)):
        known = levels >= 0
        weight = None if sample.effective is None else sample.effective[known]
        cells = _count_cells(sample.codes[known], levels[known], sample.n_classes, size, weight)
        share = divide(cells, cells.sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            nats = np.where(cells > 0, -np.log(share), 0.0)
        found.append(float(divide((cells * nats).sum(), cells.sum())) * DECIBAN)
    return np.array(found)


def correlations(sample: Sample) -> tuple[Array, Array]:
    """Return ρ within classes, pooled over them, and −½ ln(1 − ρ²) in decibans; NaN unless both are numbers."""
    d = len(sample.features)
    correlation, decibans = np.full((d, d), np.nan), np.full((d, d), np.nan)
    which = [j for j, feature in enumerate(sample.features) if feature.number]
    if len(which) < 2:
        return correlation, decibans
    X = np.stack([sample.features[j].values for j in which], axis=1)
    part = Scatter.of(X, sample.codes.astype(np.int32), sample.effective, sample.n_classes)
    covariance = tied_covariance(part)[0]
    spread = np.sqrt(np.diag(covariance))
    pair = np.clip(divide(covariance, np.outer(spread, spread)), -1.0, 1.0)
    weight = np.broadcast_to(part.weight, part.comoment.shape)
    freedom = weight.sum(axis=0) - (weight > 0).sum(axis=0)
    at = np.ix_(which, which)
    correlation[at], decibans[at] = pair, gaussian_information(pair, freedom) * DECIBAN
    return correlation, decibans
