"""The range of each column of numbers that contains every value learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.ledger import Ledger
from deciban.model.columns import Layout

ROUNDING_FRACTION = 1e-9
"""Fraction by which a range computed from moments is widened, so that rounding leaves no learned value outside."""

Range = tuple[float, float]
"""The least and the greatest value."""


def bound_ranges(layout: Layout, ledger: Ledger) -> dict[str, Range]:
    """Return a range of each column of numbers that its values cannot have left, by its statistic.

    Values of a grid lie in its cells. If no weight is below 1, none of n values with the mean μ and squares M2 is
    further from μ than √(M2 (n − 1)/n) (Samuelson 1968), and counts lie between 0 and their sum.
    """
    found: dict[str, Range] = {}
    for (kind, features), part in zip(layout.blocks, ledger.parts):
        if kind in BOUNDS:
            low, high = BOUNDS[kind](part)
            named = zip(features, low.tolist(), high.tolist())
            found |= {feature.name: (a, b) for feature, a, b in named if a <= b}
    return found


def _bound_grid(grid: Any) -> tuple[Array, Array]:
    first, end = grid.offset[:-1], grid.offset[1:]
    low, high = np.full((2, len(first)), np.nan)
    some = end > first
    bounds = grid.bounds
    low[some], high[some] = bounds[0][first[some]], bounds[1][end[some] - 1]
    return low, high


def _bound_moments(part: Any) -> tuple[Array, Array]:
    squares = getattr(part, part.square_array)
    n, mean = np.broadcast_to(part.weight, squares.shape), np.broadcast_to(part.mean, squares.shape)
    if squares.ndim == 3:  # joined numbers: each with itself
        n, mean, squares = (np.diagonal(array, axis1=1, axis2=2) for array in (n, mean, squares))
    known = n > 0
    radius = np.sqrt(squares * np.maximum(n - 1, 0) / np.where(known, n, 1))
    radius += ROUNDING_FRACTION * (radius + np.abs(mean))
    low, high = np.where(known, mean - radius, np.inf), np.where(known, mean + radius, -np.inf)
    return low.min(axis=0), high.max(axis=0)


def _bound_counts(part: Any) -> tuple[Array, Array]:
    return np.zeros(part.total.shape[1]), part.total.sum(axis=0)


BOUNDS: Mapping[str, Callable[[Any], tuple[Array, Array]]] = {
    "grid": _bound_grid, "moments": _bound_moments, "scatter": _bound_moments, "counts": _bound_counts,
}  # fmt: skip
"""The functions that bound the values of each kind of statistic of numbers: low and high of each feature."""
