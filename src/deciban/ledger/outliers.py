"""Which rows lie so far out that their squares must be summed in more than double precision.

A plain sum of squares is exact to about 1e-16 of itself. That is enough unless a few rows make up nearly all of it:
once these are forgotten, what is left is their rounding. The scale of a class's column is a low quantile of its
deviations from the median, taken from a few rows, so that up to three quarters of them may be outliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.statistic import Array, Codes, rows_by_class

SAMPLE_ROWS = 32
"""Rows of a class that its scale is taken from."""

MAX_EXACT_ROWS = 8
"""A class with at most this many rows has no reliable scale: all of them are summed exactly."""

MAX_SQUARE_RATIO = 2000.0
"""Where the mean square is at most this many times the square of the scale (of a Gaussian it is some 10 times, and
seldom beyond 1000 in a sample of 16), plain sums are enough: their rounding is below 1e-12 of the squares of any
fiftieth of the rows."""

MAX_NEAR_DEVIATION = 64.0
"""Rows within this many scales (about 20 standard deviations) are summed in plain doubles, others exactly."""


def find_far_rows(X: NDArray[Any], codes: Codes) -> NDArray[np.bool_]:
    """Whether each row lies far from the others of its class in any column, or its class has few rows."""
    far = np.zeros(len(X), dtype=np.bool_)
    for _, rows in rows_by_class(codes) if len(X) > 1 else ():
        if len(rows) > 1:
            far[rows] = len(rows) <= MAX_EXACT_ROWS or _find_far(X[rows].astype(np.float64, copy=False))
    return far


def _find_far(x: Array) -> NDArray[np.bool_]:
    sample = x if len(x) <= SAMPLE_ROWS else x[np.linspace(0, len(x) - 1, SAMPLE_ROWS).astype(np.intp)]
    centre = _rank(np.sort(sample, axis=0), 2)
    gap = np.abs(x - centre)
    squares, present = np.nan_to_num(gap**2).sum(axis=0), (~np.isnan(gap)).sum(axis=0)
    scale = _rank(_nonzero_deviations(sample, centre), 4)
    constant = np.flatnonzero((scale == 0) & (squares > 0))
    if constant.size:
        scale[constant] = _rank(_nonzero_deviations(x[:, constant], centre[constant]), 4)
    wide = np.flatnonzero(squares > MAX_SQUARE_RATIO * present * scale**2)
    return np.asarray((gap[:, wide] > MAX_NEAR_DEVIATION * scale[wide]).any(axis=1))


def _nonzero_deviations(x: Array, centre: Array) -> Array:
    """|x − centre| in order, zeros as missing."""
    gap = np.abs(x - centre)
    return np.sort(np.where(gap > 0, gap, np.nan), axis=0)


def _rank(ordered: Array, parts: int) -> Array:
    """Return the value of each sorted column that ends the first of `parts` equal parts; 0 where all are missing."""
    last = (~np.isnan(ordered)).sum(axis=0) - 1
    place = np.maximum(last, 0) // parts
    return np.where(last < 0, 0.0, np.take_along_axis(ordered, place[None], axis=0)[0])
