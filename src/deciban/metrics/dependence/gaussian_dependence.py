"""Two numbers under one bell: how much better they tell the class than each by itself, as it tells most.

A block of numbers is a Gaussian with all covariances, so tables of bins do not say what joining gains. Every row is
left out of its class's bell exactly: with M = ν₀S + C_k, N = ν₀ + n_k, u = x − μ_k and c = n_k/(n_k − 1),

    M' = M − c u uᵀ,  |M'| = |M| (1 − c q),  u'ᵀM'⁻¹u' = c² q / (1 − c q),  q = uᵀM⁻¹u
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.metrics.dependence.contingency import ALPHA
from deciban.metrics.dependence.level_codes import Coded
from deciban.scores import log_sum_exp

PRIOR_ROWS = 1.0
"""ν₀: imagined rows of the pooled covariance S in every class, as tables are trained."""

WORST = -1e6
"""Nats that a row may lose at most, so that means exist."""

RIDGE = 1e-9
"""A share of each variance that is added to it, so that columns that repeat each other have a covariance."""

NOTHING_LEFT = 1e-300
"""A determinant without a row that rounding has made 0 or less."""


def gain_of_bell(values: Array, bins: tuple[Coded, Coded], codes: NDArray[np.int64], K: int) -> tuple[float, float]:
    """ln p(k|x) by one bell, less that by each number alone, as a bell or in bins: the mean and its error, in nats.

    `values` is n×2, with nothing missing; every row counts one.
    """
    rows = np.bincount(codes, minlength=K)
    joint = _told(_bell(values, codes, K), codes, rows)
    alone = [_better(values[:, [j]], bins[j], codes, K, rows) for j in (0, 1)]
    gain = joint - _told(alone[0] + alone[1], codes, rows)
    gain = np.where(rows[codes] > 1, np.maximum(gain, WORST), 0.0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _better(x: Array, bins: Coded, codes: NDArray[np.int64], K: int, rows: NDArray[np.int64]) -> Array:
    """ln p(x|k) of a number as a bell or in bins, whichever tells the class better."""
    ways = [_bell(x, codes, K), _binned(bins, codes, K, rows)]
    return max(ways, key=lambda way: float(np.maximum(_told(way, codes, rows), WORST).mean()))


def _told(likelihood: Array, codes: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    """ln p(k|x) of each row's own class."""
    with np.errstate(divide="ignore"):
        scores = likelihood + np.log(rows / rows.sum())
    return scores[np.arange(len(codes)), codes] - log_sum_exp(scores)


def _bell(x: Array, codes: NDArray[np.int64], K: int) -> Array:
    """ln p(x|k) of each row and class, by its own class without the row."""
    n, d = x.shape
    classes = [x[codes == k] for k in range(K)]
    means = [rows.mean(axis=0) if len(rows) else x.mean(axis=0) for rows in classes]
    squares = [(rows - mean).T @ (rows - mean) for rows, mean in zip(classes, means)]
    pooled = sum(squares) / n
    pooled = pooled + RIDGE * np.diag(np.where(np.diag(pooled) > 0, np.diag(pooled), 1.0))
    out = np.empty((n, K))
    for k, (rows, mean) in enumerate(zip(classes, means)):
        M, N, u = PRIOR_ROWS * pooled + squares[k], PRIOR_ROWS + len(rows), x - mean
        q = ((u @ np.linalg.inv(M)) * u).sum(axis=1)
        half = 0.5 * np.linalg.slogdet(M)[1]
        out[:, k] = 0.5 * d * np.log(N) - half - 0.5 * N * q
        if len(rows) > 1:
            own, c = codes == k, len(rows) / (len(rows) - 1)
            left = np.maximum(1 - c * q[own], NOTHING_LEFT)
            out[own, k] = 0.5 * d * np.log(N - 1) - half - 0.5 * np.log(left) - 0.5 * (N - 1) * c**2 * q[own] / left
    return out


def _binned(bins: Coded, codes: NDArray[np.int64], K: int, rows: NDArray[np.int64]) -> Array:
    """ln p(x|k) by the bin that x is in, by its own class without the row."""
    B = int(bins.max()) + 1
    counts = np.bincount(codes * B + bins, minlength=K * B).reshape(K, B)
    out: Array = np.log((counts[:, bins] + ALPHA) / (rows[:, None] + ALPHA * B)).T
    own = np.arange(len(codes)), codes
    out[own] = np.log((counts[codes, bins] - 1 + ALPHA) / (rows[codes] - 1 + ALPHA * B))
    return out
