"""Models of two features: evidence that is counted twice, and whether joining the features predicts better.

Naive Bayes adds the evidence of a and of b. For class k against l that exceeds their joint evidence by
r_l(a, b) − r_k(a, b), where r_k = ln[p(a, b|k) / (p(a|k) p(b|k))]: on average over the rows of class k, E_k[r_l] less
the mutual information within the class. From counts, r_l = ψ(n_lab + 1) − ln λ − E₁(λ) with λ = n_la n_lb / n_l: 0 on
average where a and b are independent, since E[ψ(h + 1)] = ln λ + E₁(λ) for a Poisson count h of mean λ; corrected to
the variance of a table with given margins as in `mutual_information.py`.

The class of each row, left out, is predicted by four models: both features as if independent (naive), the table of
their combinations (joint), the first alone and the second alone. The counts are enough: leaving a row of class k out
takes one from its own cells and from n_k.

    naive   ln p(a|k) + ln p(b|k),  p(a|k) = (n_ka + α) / (n_k + αA)
    joint   ln[(n_kab + m p(a|k) p(b|k)) / (n_k + m)],  m = αAB

The joint table has as many prior rows as Laplace's rule gives it, distributed as by the naive model: so independent
features lose next to nothing by it, and the difference between the two is dependence.

A block of numbers is a Gaussian with all covariances, so tables of bins do not show what joining numbers gains. Of a
bivariate Gaussian every row is left out of its class exactly: with M = ν₀S + C_k, N = ν₀ + n_k, u = x − μ_k and
c = n_k/(n_k − 1),

    M' = M − c u uᵀ,  |M'| = |M| (1 − c q),  u'ᵀM'⁻¹u' = c² q / (1 − c q),  q = uᵀM⁻¹u
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp1, psi

from deciban._typing import Array
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.mutual_information import TINY, LevelCodes, Tables, mutual_information
from deciban.scores import log_sum_exp

LAPLACE_ALPHA = 1.0
"""The pseudo-count of Laplace's rule."""

MIN_LOG_SCORE = -1e300
"""The score in place of −∞ where no class has a score: differences to it have a value."""

PRIOR_ROWS = 1.0
"""ν₀: the prior rows of the pooled covariance S in every class, as in training."""

MIN_ROW_NATS = -1e6
"""The largest loss of a row in nats, so that means exist."""

RELATIVE_RIDGE = 1e-9
"""The share of each variance that is added to it, so that columns that repeat each other have a covariance."""

MIN_DETERMINANT = 1e-300
"""The determinant without a row where rounding has made it 0 or less."""


def compare_models(tables: Tables) -> dict[str, Array]:
    """Compare the naive model of a feature and each of J others with their other models, in nats per row.

    `double_counted`: evidence counted twice. `gain` and `single`: the gain in ln p(class) of the joint table, and of
    the better of the two features alone, over the naive model of both. `beyond`: the gain of the joint table over the
    better feature alone. Each has its standard error, under its name with `_error`.
    """
    all_rows, left_out = _likelihoods(tables, 0.0), _likelihoods(tables, 1.0)
    share = divide(tables.classes, tables.rows)[:, None, tables.owner]
    with np.errstate(divide="ignore"):
        prior = np.log(share)
    scores = [_left_out_log_posterior(own, others, prior) for own, others in zip(left_out, all_rows)]
    naive, joint, first, second = scores
    better = np.where((tables.mean(first) >= tables.mean(second))[tables.owner], first, second)
    figures = dict(zip(("double_counted", "double_counted_error"), _double_counting(tables, share)))
    for name, gain in (("gain", joint - naive), ("single", better - naive), ("beyond", joint - better)):
        figures |= {name: tables.mean(gain), f"{name}_error": tables.spread(gain)}
    return figures


def _likelihoods(tables: Tables, left_out: float) -> tuple[Array, Array, Array, Array]:
    """Return ln p(a, b|k), K×A×ΣB, by the naive and the joint model, the first feature alone and the second alone.

    The counts are those without the weight `left_out` of each row itself.
    """
    n = np.maximum(tables.classes[:, None, tables.owner] - left_out, 0.0)
    a = np.maximum(tables.first[:, :, tables.owner] - left_out, 0.0)
    b = np.maximum(tables.second[:, None] - left_out, 0.0)
    A = tables.counts.shape[1]
    B = np.bincount(tables.owner)[tables.owner]
    first, second = (a + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * A), (b + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * B)
    m = LAPLACE_ALPHA * A * B
    joint = (np.maximum(tables.counts - left_out, 0.0) + m * first * second) / (n + m)
    log_first, log_second = np.log(first), np.broadcast_to(np.log(second), joint.shape)
    return log_first + log_second, np.log(joint), log_first, log_second


def _left_out_log_posterior(own: Array, all_rows: Array, prior: Array) -> Array:
    """Return ln p(k|a, b) of a row of class k: its own class by the counts without it, the others by all rows."""
    scores = prior + all_rows
    top = np.maximum(scores.max(axis=0), MIN_LOG_SCORE)  # where no row has both
    each = np.exp(scores - top)
    own_score = np.exp(prior + own - top)
    others = np.maximum(each.sum(axis=0) - each, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_posterior = np.log(own_score / (own_score + others))
    return np.where(prior > -np.inf, log_posterior, 0.0)


def _double_counting(tables: Tables, share: Array) -> tuple[Array, Array]:
    """Return E_k[r_l] − I(X;Y|C), l the other classes by their shares, and its standard error."""
    mean, loose = tables.expected_counts
    known = np.maximum(mean, TINY)
    curve = (1 - np.exp(-known) * (1 + known)) / known  # −λ times the second derivative of ln λ + E₁(λ)
    more = psi(tables.counts + 1) - np.log(known) - exp1(known) - 0.5 * (1 - loose) * curve
    more = np.where(mean > 0, more, 0.0)
    others = divide(tables.counts, (1 - share) * np.where(tables.rows > 0, tables.rows, 1.0)[tables.owner])
    weight = share * (others.sum(axis=0) - others)  # the share of the rows of other classes in this cell
    within = mutual_information(tables)
    elsewhere = tables.sums((weight * more).sum(axis=(0, 1)))
    lever = _remove_margins(tables, weight / (tables.counts + 1))
    variance = tables.sums((lever**2 * (tables.counts + 1)).sum(axis=(0, 1)))
    return elsewhere - within.value, np.sqrt(variance + within.error**2)


def _remove_margins(tables: Tables, cells: Array) -> Array:
    """Subtract from values of cells their projection on lines and columns: sums of counts vary by what is left."""
    n = tables.classes[:, None, tables.owner]
    first = divide(tables.first[:, :, tables.owner], np.broadcast_to(n, cells.shape))
    second = divide(np.broadcast_to(tables.second[:, None], cells.shape), np.broadcast_to(n, cells.shape))
    lines = tables.sums(cells * second)[:, :, tables.owner]
    columns = (cells * first).sum(axis=1, keepdims=True)
    return cells - lines - columns + (lines * first).sum(axis=1, keepdims=True)


def gaussian_gain(
    values: Array, bins: tuple[LevelCodes, LevelCodes], codes: NDArray[np.int64], K: int
) -> tuple[float, float]:
    """Return the mean gain in ln p(k|x) of a bivariate Gaussian over the better model of each number, and its error.

    Each number alone is a Gaussian or bins, whichever predicts better. `values` is n×2, without missing values; all
    rows have the weight 1; the gain is in nats.
    """
    rows = np.bincount(codes, minlength=K)
    joint = _log_posterior(_gaussian(values, codes, K), codes, rows)
    alone = []
    for j in (0, 1):
        models = [_gaussian(values[:, [j]], codes, K), _histogram(bins[j], codes, K, rows)]
        losses = [np.maximum(_log_posterior(model, codes, rows), MIN_ROW_NATS).mean() for model in models]
        alone.append(models[int(np.argmax(losses))])
    gain = joint - _log_posterior(alone[0] + alone[1], codes, rows)
    gain = np.where(rows[codes] > 1, np.maximum(gain, MIN_ROW_NATS), 0.0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


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
