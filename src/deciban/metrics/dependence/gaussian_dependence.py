"""The gain of a bivariate Gaussian of two numbers over the better model of each number alone.

A block of numbers is a Gaussian with all covariances, so tables of bins do not show what joining gains. Every row is
left out of its class's Gaussian exactly: with M = ν₀S + C_k, N = ν₀ + n_k, u = x − μ_k and c = n_k/(n_k − 1),

    M' = M − c u uᵀ,  |M'| = |M| (1 − c q),  u'ᵀM'⁻¹u' = c² q / (1 − c q),  q = uᵀM⁻¹u
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.metrics.dependence.contingency import LAPLACE_ALPHA
from deciban.metrics.dependence.mutual_information import LevelCodes
from deciban.scores import log_sum_exp

PRIOR_ROWS = 1.0
"""ν₀: the prior rows of the pooled covariance S in every class, as in training."""

MIN_ROW_NATS = -1e6
"""The largest loss of a row in nats, so that means exist."""

RELATIVE_RIDGE = 1e-9
"""The share of each variance that is added to it, so that columns that repeat each other have a covariance."""

MIN_DETERMINANT = 1e-300
"""The determinant without a row where rounding has made it 0 or less."""


def gaussian_gain(
    values: Array, bins: tuple[LevelCodes, LevelCodes], codes: NDArray[np.int64], K: int
) -> tuple[float, float]:
    """Return the mean gain in ln p(k|x) of a bivariate Gaussian over the better model of each number, and its error.

    Each number alone is a Gaussian or bins, whichever predicts better. `values` is n×2, without missing values; all
    rows have the weight 1; the gain is in nats.
    """
    rows = np.bincount(codes, minlength=K)
    joint = _log_posterior(_gaussian(values, codes, K), codes, rows)
    alone = [_better(values[:, [j]], bins[j], codes, K, rows) for j in (0, 1)]
    gain = joint - _log_posterior(alone[0] + alone[1], codes, rows)
    gain = np.where(rows[codes] > 1, np.maximum(gain, MIN_ROW_NATS), 0.0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _better(x: Array, bins: LevelCodes, codes: NDArray[np.int64], K: int, rows: NDArray[np.int64]) -> Array:
    """Return ln p(x|k) of a number as a Gaussian or in bins, whichever predicts the class better."""
    models = [_gaussian(x, codes, K), _histogram(bins, codes, K, rows)]
    return max(models, key=lambda each: float(np.maximum(_log_posterior(each, codes, rows), MIN_ROW_NATS).mean()))


def _log_posterior(likelihood: Array, codes: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    """Return ln p(k|x) of each row's own class."""
    with np.errstate(divide="ignore"):
        scores = likelihood + np.log(rows / rows.sum())
    return scores[np.arange(len(codes)), codes] - log_sum_exp(scores)


def _gaussian(x: Array, codes: NDArray[np.int64], K: int) -> Array:
    """Return the Gaussian ln p(x|k) of each row and class, by its own class without the row."""
    n, d = x.shape
    classes = [x[codes == k] for k in range(K)]
    means = [rows.mean(axis=0) if len(rows) else x.mean(axis=0) for rows in classes]
    squares = [(rows - mean).T @ (rows - mean) for rows, mean in zip(classes, means)]
    pooled = sum(squares) / n
    pooled = pooled + RELATIVE_RIDGE * np.diag(np.where(np.diag(pooled) > 0, np.diag(pooled), 1.0))
    out = np.empty((n, K))
    for k, (rows, mean) in enumerate(zip(classes, means)):
        M, N, u = PRIOR_ROWS * pooled + squares[k], PRIOR_ROWS + len(rows), x - mean
        q = ((u @ np.linalg.inv(M)) * u).sum(axis=1)
        half = 0.5 * np.linalg.slogdet(M)[1]
        out[:, k] = 0.5 * d * np.log(N) - half - 0.5 * N * q
        if len(rows) > 1:
            own, c = codes == k, len(rows) / (len(rows) - 1)
            left = np.maximum(1 - c * q[own], MIN_DETERMINANT)
            out[own, k] = 0.5 * d * np.log(N - 1) - half - 0.5 * np.log(left) - 0.5 * (N - 1) * c**2 * q[own] / left
    return out


def _histogram(bins: LevelCodes, codes: NDArray[np.int64], K: int, rows: NDArray[np.int64]) -> Array:
    """Return ln p(x|k) by the bin that x is in, by its own class without the row."""
    B = int(bins.max()) + 1
    counts = np.bincount(codes * B + bins, minlength=K * B).reshape(K, B)
    out: Array = np.log((counts[:, bins] + LAPLACE_ALPHA) / (rows[:, None] + LAPLACE_ALPHA * B)).T
    own = np.arange(len(codes)), codes
    out[own] = np.log((counts[codes, bins] - 1 + LAPLACE_ALPHA) / (rows[codes] - 1 + LAPLACE_ALPHA * B))
    return out
