"""The dependence figures of every pair of features of a sample, as matrices, and the models of two features.

The models show evidence that is counted twice, and whether joining the features predicts better.

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

The joint table has as many pseudo-rows as Laplace's rule gives it, distributed as by the naive model: so independent
features lose next to nothing by it, and the difference between the two is dependence.

A block of numbers is a Gaussian with all covariances, so tables of bins do not show what joining numbers gains. Of a
bivariate Gaussian every row is left out of its class exactly: with M = ν₀S + C_k, N = ν₀ + n_k, u = x − μ_k and
c = n_k/(n_k − 1),

    M' = M − c u uᵀ,  |M'| = |M| (1 − c q),  u'ᵀM'⁻¹u' = c² q / (1 − c q),  q = uᵀM⁻¹u
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import exp1, psi

from deciban._typing import Array
from deciban.families.covariances import tied_covariance
from deciban.families.family import log
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.metrics.intervals import effective_weights
from deciban.metrics.mutual_information import (
    POSITIVE_PLACEHOLDER,
    ContingencyTables,
    Feature,
    LevelCodes,
    compute_gaussian_information,
    compute_mutual_information,
    count_levels,
)
from deciban.scores import DECIBAN, log_sum_exp

MAX_TABLE_CELLS = 1 << 20
"""The number of cells of the tables that are processed together."""

MAX_GAUSSIAN_PAIRS, MAX_GAUSSIAN_SCORES = 200, 1 << 17
"""The number of pairs of numbers that are tried as a bivariate Gaussian, and of scores that each is evaluated on."""

MATRIX_FIGURES = (
    "conditional", "error", "p_value", "rows", "marginal", "double_counted", "double_counted_error", "gain",
    "gain_error", "single", "single_error", "beyond", "beyond_error",
)  # fmt: skip
"""The figures of each pair; all but the p-values and rows are in decibans per row."""

LAPLACE_ALPHA = 1.0
"""The pseudo-count of Laplace's rule."""

MIN_LOG_SCORE = -1e300
"""The score in place of −∞ where no class has a score: differences to it have a value."""

PSEUDO_ROWS = 1.0
"""ν₀: the pseudo-rows of the pooled covariance S in every class, as in training."""

MIN_ROW_NATS = -1e6
"""The least ln p(class), or gain, of a row in nats, so that means are finite."""

RELATIVE_RIDGE = 1e-9
"""The share of each variance that is added to it, so that columns that repeat each other have a covariance."""

MIN_DETERMINANT = 1e-300
"""The determinant without a row where rounding has made it 0 or less."""


@dataclass(frozen=True)
class Sample:
    """A sample of rows: features, the class of each row (all known), and weights."""

    features: Sequence[Feature]
    codes: NDArray[np.int64]
    weight: Array | None
    n_classes: int

    @cached_property
    def effective(self) -> Array | None:
        """Weights that sum to Kish's effective number of rows; None where every row has the weight 1."""
        return None if self.weight is None else effective_weights(self.weight)

    @cached_property
    def codes_within_classes(self) -> list[LevelCodes]:
        """The level codes of each feature; numbers are binned among the rows of their own class."""
        return [feature.levels_within_classes(self.codes, self.n_classes) for feature in self.features]

    @cached_property
    def codes_overall(self) -> list[LevelCodes]:
        """The level codes of each feature; numbers are binned among all rows."""
        return [feature.levels_overall(self.n_classes) for feature in self.features]

    def count_tables(self, i: int, others: Sequence[int], coded: Sequence[LevelCodes]) -> ContingencyTables:
        """Count the tables of feature i with each of `others`, by the level codes of every feature, `coded`."""
        levels = count_levels(coded)
        K, A = self.n_classes, levels[i]
        known = coded[i] >= 0
        rows: Any = slice(None) if known.all() else np.flatnonzero(known)  # no copy if all have it
        first = self.codes[rows] * A + coded[i][rows]
        weight = None if self.effective is None else self.effective[rows]
        counts = [_count_cells(first, coded[j][rows], K * A, levels[j], weight) for j in others]
        start = np.cumsum([0, *(levels[j] for j in others[:-1])], dtype=np.intp)
        return ContingencyTables(np.concatenate(counts, axis=1).reshape(K, A, -1), start)


def _count_cells(first: LevelCodes, second: LevelCodes, n_first: int, n_second: int, weight: Array | None) -> Array:
    """Return the weight of the rows by `first` (none missing) and `second`, n_first×n_second."""
    known = second >= 0
    if not known.all():
        first, second, weight = first[known], second[known], None if weight is None else weight[known]
    cells = np.bincount(first * n_second + second, weights=weight, minlength=n_first * n_second)
    return cells.reshape(n_first, n_second).astype(np.float64)


def measure_pairs(sample: Sample) -> dict[str, Array]:
    """Return each of `MATRIX_FIGURES` by name as a d×d matrix, filled above the diagonal and NaN elsewhere."""
    d = len(sample.features)
    found = {name: np.full((d, d), np.nan) for name in MATRIX_FIGURES}
    for i, others in _split_into_runs(sample):
        conditional = compute_mutual_information(sample.count_tables(i, others, sample.codes_within_classes))
        tables = sample.count_tables(i, others, sample.codes_overall)
        marginal = compute_mutual_information(tables.pooled).value
        in_nats = {"conditional": conditional.value, "error": conditional.error, "marginal": marginal}
        figures = {name: value * DECIBAN for name, value in (in_nats | compare_models(tables)).items()}
        for name, values in (figures | {"p_value": conditional.p_value, "rows": conditional.rows}).items():
            found[name][i, others] = values
    _replace_number_gains(sample, found)
    return found


def _split_into_runs(sample: Sample) -> Iterator[tuple[int, list[int]]]:
    """Yield every feature with runs of those after it: one, or as many as `MAX_TABLE_CELLS` hold."""
    coded = zip(count_levels(sample.codes_within_classes), count_levels(sample.codes_overall))
    levels = [max(pair) for pair in coded]
    d = len(levels)
    for i, A in enumerate(levels):
        size = max(1, MAX_TABLE_CELLS // (sample.n_classes * A * max(levels)))
        for start in range(i + 1, d, size):
            yield i, list(range(start, min(start + size, d)))


def _replace_number_gains(sample: Sample, found: dict[str, Array]) -> None:
    """Replace the positive gains of pairs of numbers, and their errors, in place in `found`, in decibans per row.

    The largest `MAX_GAUSSIAN_PAIRS` become those of a bivariate Gaussian, the others 0.
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
        bins = (sample.codes_overall[i][known], sample.codes_overall[j][known])
        gain = compute_gaussian_gain(values[known], bins, sample.codes[known], sample.n_classes)
        found["gain"][i, j], found["gain_error"][i, j] = (DECIBAN * figure for figure in gain)


def compute_class_information(sample: Sample) -> Array:
    """Return I(X;C) of each feature, in decibans per row."""
    cells = _count_levels_by_class(sample, sample.codes_overall)
    tables = (ContingencyTables(each[None], np.zeros(1, dtype=np.intp)) for each in cells)
    return np.array([float(compute_mutual_information(table).value[0]) * DECIBAN for table in tables])


def compute_conditional_entropies(sample: Sample) -> Array:
    """Return H(X|C) of each feature, in decibans per row: the bound of its mutual information within classes."""
    found = []
    for cells in _count_levels_by_class(sample, sample.codes_within_classes):
        share = divide(cells, cells.sum(axis=1, keepdims=True))
        nats = np.where(cells > 0, -log(share), 0.0)
        found.append(float(divide((cells * nats).sum(), cells.sum())) * DECIBAN)
    return np.array(found)


def _count_levels_by_class(sample: Sample, coded: Sequence[LevelCodes]) -> Iterator[Array]:
    """Yield the weight of the rows of each class and level of each feature, K×V."""
    for levels, size in zip(coded, count_levels(coded)):
        yield _count_cells(sample.codes, levels, sample.n_classes, size, sample.effective)


def correlate_within_classes(sample: Sample) -> tuple[Array, Array]:
    """Return ρ within classes, pooled over them, and −½ ln(1 − ρ²) in decibans per row, corrected for bias.

    Both are d×d matrices, NaN unless both features are numbers.
    """
    d = len(sample.features)
    correlation, decibans = np.full((d, d), np.nan), np.full((d, d), np.nan)
    which = [j for j, feature in enumerate(sample.features) if feature.number]
    if len(which) < 2:
        return correlation, decibans
    X = np.stack([sample.features[j].values for j in which], axis=1)
    scatter = Scatter.of(X, sample.codes.astype(np.int32), sample.effective, sample.n_classes)
    covariance = tied_covariance(scatter)[0]
    spread = np.sqrt(np.diag(covariance))
    pair = np.clip(divide(covariance, np.outer(spread, spread)), -1.0, 1.0)
    weight = np.broadcast_to(scatter.weight, scatter.comoment.shape)
    freedom = weight.sum(axis=0) - (weight > 0).sum(axis=0)
    at = np.ix_(which, which)
    correlation[at], decibans[at] = pair, compute_gaussian_information(pair, freedom) * DECIBAN
    return correlation, decibans


def compare_models(tables: ContingencyTables) -> dict[str, Array]:
    """Compare the naive model of a feature and each of J others with their other models, in nats per row.

    `double_counted`: evidence counted twice. `gain` and `single`: the gain in ln p(class) of the joint table, and of
    the better of the two features alone, over the naive model of both. `beyond`: the gain of the joint table over the
    better feature alone. Each has its standard error, under its name with `_error`.
    """
    all_rows, left_out = _compute_log_likelihoods(tables, 0.0), _compute_log_likelihoods(tables, 1.0)
    share = divide(tables.class_totals, tables.rows)[:, None, tables.owner]
    prior = log(share)
    scores = [_compute_left_out_log_posterior(own, others, prior) for own, others in zip(left_out, all_rows)]
    naive, joint, first, second = scores
    better = np.where((tables.mean(first) >= tables.mean(second))[tables.owner], first, second)
    figures = dict(zip(("double_counted", "double_counted_error"), _compute_double_counting(tables, share)))
    for name, gain in (("gain", joint - naive), ("single", better - naive), ("beyond", joint - better)):
        figures |= {name: tables.mean(gain), f"{name}_error": tables.standard_error(gain)}
    return figures


def _compute_log_likelihoods(tables: ContingencyTables, left_out: float) -> tuple[Array, Array, Array, Array]:
    """Return ln p(a, b|k), K×A×ΣB, by the naive and the joint model, the first feature alone and the second alone.

    The counts are those without the weight `left_out` of each row itself.
    """
    n = np.maximum(tables.class_totals[:, None, tables.owner] - left_out, 0.0)
    a = np.maximum(tables.first_margin[:, :, tables.owner] - left_out, 0.0)
    b = np.maximum(tables.second_margin[:, None] - left_out, 0.0)
    A = tables.counts.shape[1]
    B = np.bincount(tables.owner)[tables.owner]
    first, second = (a + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * A), (b + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * B)
    m = LAPLACE_ALPHA * A * B
    joint = (np.maximum(tables.counts - left_out, 0.0) + m * first * second) / (n + m)
    log_first, log_second = np.log(first), np.broadcast_to(np.log(second), joint.shape)
    return log_first + log_second, np.log(joint), log_first, log_second


def _compute_left_out_log_posterior(own: Array, all_rows: Array, prior: Array) -> Array:
    """Return ln p(k|a, b) of a row of class k: its own class by the counts without it, the others by all rows."""
    scores = prior + all_rows
    top = np.maximum(scores.max(axis=0), MIN_LOG_SCORE)  # where no row has both
    each = np.exp(scores - top)
    own_score = np.exp(prior + own - top)
    others = np.maximum(each.sum(axis=0) - each, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_posterior = np.log(own_score / (own_score + others))
    return np.where(prior > -np.inf, log_posterior, 0.0)


def _compute_double_counting(tables: ContingencyTables, share: Array) -> tuple[Array, Array]:
    """Return E_k[r_l] − I(X;Y|C) in nats, l the other classes by their shares, and its standard error, J each.

    `share` is that of each class in the rows of each table, K×1×ΣB.
    """
    mean, variance_ratio = tables.expected_counts
    known = np.maximum(mean, POSITIVE_PLACEHOLDER)
    curve = (1 - np.exp(-known) * (1 + known)) / known  # −λ times the second derivative of ln λ + E₁(λ)
    more = psi(tables.counts + 1) - np.log(known) - exp1(known) - 0.5 * (1 - variance_ratio) * curve
    more = np.where(mean > 0, more, 0.0)
    others = divide(tables.counts, (1 - share) * np.where(tables.rows > 0, tables.rows, 1.0)[tables.owner])
    weight = share * (others.sum(axis=0) - others)  # the share of the rows of other classes in this cell
    within = compute_mutual_information(tables)
    elsewhere = tables.sum_levels((weight * more).sum(axis=(0, 1)))
    lever = _remove_margins(tables, weight / (tables.counts + 1))
    variance = tables.sum_levels((lever**2 * (tables.counts + 1)).sum(axis=(0, 1)))
    return elsewhere - within.value, np.sqrt(variance + within.error**2)


def _remove_margins(tables: ContingencyTables, cells: Array) -> Array:
    """Return values of cells, K×A×ΣB, less their projection on the rows and columns of each table.

    Sums of counts vary by what is left.
    """
    n = tables.class_totals[:, None, tables.owner]
    first = divide(tables.first_margin[:, :, tables.owner], np.broadcast_to(n, cells.shape))
    second = divide(np.broadcast_to(tables.second_margin[:, None], cells.shape), np.broadcast_to(n, cells.shape))
    table_rows = tables.sum_levels(cells * second)[:, :, tables.owner]
    columns = (cells * first).sum(axis=1, keepdims=True)
    return cells - table_rows - columns + (table_rows * first).sum(axis=1, keepdims=True)


def compute_gaussian_gain(
    values: Array, bins: tuple[LevelCodes, LevelCodes], codes: NDArray[np.int64], K: int
) -> tuple[float, float]:
    """Return the mean gain in ln p(k|x) of a bivariate Gaussian over naive Bayes, in nats, and its standard error.

    In naive Bayes each of the two numbers is a Gaussian or bins, whichever predicts better alone. `values` is n×2,
    without missing values; all rows have the weight 1.
    """
    rows = np.bincount(codes, minlength=K)
    joint = _compute_log_posterior(_compute_gaussian_log_likelihood(values, codes, K), codes, rows)
    alone = []
    for j in (0, 1):
        gaussian = _compute_gaussian_log_likelihood(values[:, [j]], codes, K)
        models = [gaussian, _compute_histogram_log_likelihood(bins[j], codes, K, rows)]
        log_posteriors = (_compute_log_posterior(model, codes, rows) for model in models)
        mean_log_posteriors = [np.maximum(each, MIN_ROW_NATS).mean() for each in log_posteriors]
        alone.append(models[int(np.argmax(mean_log_posteriors))])
    gain = joint - _compute_log_posterior(alone[0] + alone[1], codes, rows)
    gain = np.where(rows[codes] > 1, np.maximum(gain, MIN_ROW_NATS), 0.0)
    return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))


def _compute_log_posterior(likelihood: Array, codes: NDArray[np.int64], rows: NDArray[np.int64]) -> Array:
    """Return ln p(k|x) of each row's own class k, from ln p(x|k), n×K, and the number of rows of each class."""
    scores = likelihood + log(rows / rows.sum())
    return scores[np.arange(len(codes)), codes] - log_sum_exp(scores)


def _compute_gaussian_log_likelihood(x: Array, codes: NDArray[np.int64], K: int) -> Array:
    """Return the Gaussian ln p(x|k) of each row and class, n×K, but for a constant; its own class is without the row.

    In a class of one row, that row is not left out.
    """
    n, d = x.shape
    classes = [x[codes == k] for k in range(K)]
    means = [rows.mean(axis=0) if len(rows) else x.mean(axis=0) for rows in classes]
    squares = [(rows - mean).T @ (rows - mean) for rows, mean in zip(classes, means)]
    pooled = sum(squares) / n
    pooled = pooled + RELATIVE_RIDGE * np.diag(np.where(np.diag(pooled) > 0, np.diag(pooled), 1.0))
    out = np.empty((n, K))
    for k, (rows, mean) in enumerate(zip(classes, means)):
        M, N, u = PSEUDO_ROWS * pooled + squares[k], PSEUDO_ROWS + len(rows), x - mean
        q = ((u @ np.linalg.inv(M)) * u).sum(axis=1)
        half = 0.5 * np.linalg.slogdet(M)[1]
        out[:, k] = 0.5 * d * np.log(N) - half - 0.5 * N * q
        if len(rows) > 1:
            own, c = codes == k, len(rows) / (len(rows) - 1)
            left = np.maximum(1 - c * q[own], MIN_DETERMINANT)
            out[own, k] = 0.5 * d * np.log(N - 1) - half - 0.5 * np.log(left) - 0.5 * (N - 1) * c**2 * q[own] / left
    return out


def _compute_histogram_log_likelihood(
    bins: LevelCodes, codes: NDArray[np.int64], K: int, rows: NDArray[np.int64]
) -> Array:
    """Return ln p(x|k) of each row's bin in each class, n×K; its own class is without the row."""
    B = int(bins.max()) + 1
    counts = np.bincount(codes * B + bins, minlength=K * B).reshape(K, B)
    out: Array = np.log((counts[:, bins] + LAPLACE_ALPHA) / (rows[:, None] + LAPLACE_ALPHA * B)).T
    own = np.arange(len(codes)), codes
    out[own] = np.log((counts[codes, bins] - 1 + LAPLACE_ALPHA) / (rows[codes] - 1 + LAPLACE_ALPHA * B))
    return out
