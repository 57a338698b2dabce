"""Bells without a row: each class's moments less the row, solved as they always are, many rows at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.families.gaussian import Gaussian, means
from deciban.ledger import Moments
from deciban.ledger.statistic import add_to_pair, divide
from deciban.validation.leave_one_out.rows import CANCELLED, RowsLeftOut, left

LOG_2PI = math.log(2 * math.pi)


def bells(family: Gaussian, part: Moments, X: NDArray[Any], rows: RowsLeftOut) -> Array:
    """Σ_j ln p(x_j|k) of each row, by the moments of all others; NaN is left out."""
    out = np.empty((len(X), part.n_classes))
    for some in rows.chunks(part.mean.size):
        x = X[some].astype(np.float64, copy=False)
        others, spoilt = _without(part, x, rows.codes[some], rows.weight[some])
        rows.todo[some] |= spoilt
        gap = x[:, None, :] - means(others)
        variance = family.variances(others)
        with np.errstate(over="ignore"):  # beyond about 1e154 deviations the density is zero
            terms = -0.5 * (LOG_2PI + np.log(variance) + gap * gap / variance)
        out[some] = np.where(np.isnan(gap), 0.0, terms).sum(axis=2)
    return out


def _without(part: Moments, x: Array, k: Codes, w: Array) -> tuple[Moments, NDArray[np.bool_]]:
    """The moments without each row, c×K×d, and which of them have lost too many digits.

    Rank one: with n' = n − w, mean' = mean − (x − mean) w/n' and M2' = M2 − (x − mean)² w n/n'.
    """
    c, K, d = len(x), part.n_classes, part.n_features
    at = np.arange(c), k
    n, mean, rest, m2 = (np.broadcast_to(a, (c, K, d)).copy() for a in (part.weight, part.mean, part.rest, part.m2))
    here = ~np.isnan(x)
    removed = w[:, None] * here
    gap = np.where(here, (x - mean[at]) - rest[at], 0.0)
    before, squares = n[at], m2[at]
    n[at] = left(before, removed)
    mean[at], rest[at] = add_to_pair(mean[at], rest[at], -gap * divide(removed, n[at]))
    m2[at] = np.maximum(squares - gap * gap * removed * divide(before, n[at]), 0.0)
    spoilt = (m2[at] < CANCELLED * squares) & (removed > 0)
    return Moments(n, mean, rest, m2), np.asarray(spoilt.any(axis=1))
