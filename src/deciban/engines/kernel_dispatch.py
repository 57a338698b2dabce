"""Use of kernels in place of definitions, for large inputs of plain types.

Every function here returns None or False when no kernel fits, or when the rows hold values that no kernel handles
(±∞, negative counts); the caller then uses the definition.
"""

from importlib import import_module
from math import gcd
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.checks import MAX_LEVELS
from deciban.engines.kernel_arrays import (
    UNIT_WEIGHT,
    are_level_codes,
    round_threshold,
    to_kernel_array,
    to_level_codes,
)
from deciban.engines.threads import split_rows
from deciban.kernels.execution import load_kernels as load_kernels
from deciban.ledger import Counts, Grid, Levels, Moments, Needs, Pairs, Scatter, Statistic, grid
from deciban.ledger.double_double import Pair
from deciban.ledger.grid import MANTISSA_BITS, MIN_CELL_BITS, edges, find_bits
from deciban.ledger.levels import level_counts
from deciban.ledger.moments import moments_about
from deciban.ledger.scatter import comoment_about
from deciban.ledger.statistic import compute_offsets
from deciban.scores import (
    AveragedEdges,
    BoundedDiagonal,
    BoundedRates,
    Diagonal,
    Edges,
    Full,
    LimitedFull,
    Linear,
    Lookup,
    ScoreForm,
    Steps,
)
from deciban.scores.form_algebra import Summed
from deciban.scores.linear import sum_log_factorials
from deciban.scores.posterior import Finish

TRANSPOSED_COLUMNS = 16
"""Columns that are transposed at once: two cache lines from each row."""

SCATTER_BYTES = 1 << 22
"""Rows are centred for their scatter in copies of this size."""

GRID_SAMPLE_ROWS = 4096
"""Rows of a column, evenly spread, whose cells tell the most bits with which all rows may be counted."""


def summarise_by_kernel(
    kernels: ModuleType | None, needs: Needs, X: NDArray[Any], codes: Codes, weight: Array | None, K: int
) -> Statistic | None:
    """Compute a statistic by its kernel; None without `kernels` (the module `moments`) or where no kernel fits."""
    if kernels is None or not X.size or needs.unit or needs.kind == "cells":
        return None
    w = UNIT_WEIGHT if weight is None else weight
    if needs.kind == "moments":
        x = to_kernel_array(X)
        if X.shape[1] == 1:  # the weights of a single feature have one shape with and without missing values
            return _compute_column_moments(kernels, x, codes, w, K, needs.skips)
        moments = _compute_moments(kernels, x, codes, w, *_find_scales(x, codes, w, K))
        return _compute_moments_with_missing(kernels, x, codes, w, K) if moments is None and needs.skips else moments
    if needs.kind == "scatter":
        return _compute_scatter(kernels, to_kernel_array(X), codes, w, K)
    if needs.kind == "pairs":
        return _count_pairs(needs, X, codes, w, K)
    counters = import_module("deciban.kernels.value_counts")
    if needs.kind == "levels":
        return _count_levels(counters, needs, X, codes, w, K)
    if needs.kind == "grid":
        return _count_grid(counters, needs, X, codes, w, K)
    return _count_values(counters, needs, to_kernel_array(X), codes, w, K)


def _find_scales(X: NDArray[Any], codes: Codes, w: Array, K: int) -> tuple[Array, Array]:
    """Return the median of a few rows, and the largest mean square about it for plain sums, both K×d."""
    kernels = import_module("deciban.kernels.column_scales")
    centre, limit = np.empty((2, K, X.shape[1]))
    chosen, numbers = np.empty((K, kernels.SCALE_ROWS), dtype=np.int64), np.empty((2, K), dtype=np.int64)
    step = max(1, int(0.618 * len(X)))
    while gcd(step, len(X)) > 1:
        step += 1
    kernels.choose_rows(codes, w, step, chosen, numbers)
    if kernels.find_scales(X, chosen, numbers, centre, limit):
        kernels.find_scales_of_constant(X, codes, w, centre, limit)
    centre[~np.isfinite(centre)] = 0.0
    return centre, limit


def _compute_moments(
    kernels: ModuleType, X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array
) -> Moments | None:
    """Compute moments with one weight per class, blocks with outliers in pairs of doubles; None at NaN and ±∞.

    The pass has no code for outliers, which are rare, so that kernels for them are compiled only if there are some.
    """
    K, d = centre.shape
    block = max(64, kernels.SUM_BLOCK_BYTES // max(1, d * X.itemsize))
    here, weight, (part, sums, lows) = np.zeros(K), np.zeros((2, K)), np.zeros((3, 2, K, d))
    state = block, here, weight, part, sums, lows
    row = kernels.sum_blocks(X, codes, w, centre, limit, 0, *state)
    if 0 <= row < len(X):
        row = kernels.sum_blocks_with_outliers(X, codes, w, centre, limit, row, *state)
    if row < 0:
        return None
    halves = zip((weight[0][:, None], *sums), (weight[1][:, None], *lows))
    n, drift, squares = (Pair.of(high).plus(Pair.of(low)) for high, low in halves)
    mean, rest, m2, m2_rest = moments_about(np.where(n.high > 0, centre, 0.0), n, drift, squares)
    return Moments(n.high, mean, rest, m2, n.low, m2_rest) if np.isfinite(mean).all() else None


def _compute_column_moments(
    kernels: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int, skips: bool
) -> Moments | None:
    """Compute the moments of a single column; None at ±∞, and at NaN unless `skips` is set."""
    centre, limit = _find_scales(X, codes, w, K)
    weight, *others = np.zeros((5, K, 1))
    moments = Moments(weight, centre, *others)
    is_filled = kernels.fill_column(X.reshape(-1), codes, w, skips, limit, tuple(moments.arrays().values()))
    return moments if is_filled else None


def _compute_moments_with_missing(
    kernels: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int
) -> Moments | None:
    """Compute moments of rows with missing values, columns with outliers in pairs of doubles; None at ±∞."""
    moments = Moments(*np.zeros((6, K, X.shape[1])))
    if not kernels.fill_moments_with_missing(X, codes, w, tuple(moments.arrays().values())):
        return None
    centre, limit = _find_scales(X, codes, w, K)
    columns = np.flatnonzero((moments.m2 > moments.weight * limit).any(axis=0))
    if columns.size:
        sums = np.zeros((6, K, len(columns)))
        kernels.sum_exactly(X, codes, w, columns, centre, limit, sums)
        n, drift, squares = Pair(*sums[:2]), Pair(*sums[2:4]), Pair(*sums[4:])
        exact = moments_about(centre[:, columns], n, drift, squares)
        arrays = moments.weight, moments.weight_rest, moments.mean, moments.rest, moments.m2, moments.m2_rest
        for array, values in zip(arrays, (*n, *exact)):
            array[:, columns] = values
    return moments


def _compute_scatter(kernels: ModuleType, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Statistic | None:
    """Compute class means by their kernel, centre the rows class by class, then one matrix product per class.

    Where a column has outliers, their products are summed separately, in pairs of doubles.
    """
    d = X.shape[1]
    centre, limit = _find_scales(X, codes, w, K)
    moments = _compute_moments(kernels, X, codes, w, centre, limit)
    if moments is None:
        return None
    out = Scatter.empty(K, d)
    out.weight[:, 0], out.weight_rest[:, 0] = moments.weight, moments.weight_rest
    out.mean[:, :, 0], out.rest[:, :, 0] = moments.mean, moments.rest
    wide = np.asarray((moments.m2 > moments.weight * limit).any(axis=1))
    limit[~wide] = np.inf
    centre[~wide] = moments.mean[~wide]
    products, gap = np.zeros((2, K, d, d) if wide.any() else 0), np.empty((max(1, SCATTER_BYTES // (8 * d)), d))
    for rows in split_rows(len(X), len(gap)):
        ends = np.cumsum(np.bincount(codes[rows], minlength=K)).astype(np.int64)
        of_rows = X[rows], codes[rows], w[rows], centre
        if wide.any():
            kernels.centre_near_values(*of_rows, limit, np.append(0, ends[:-1]), gap, *products)
        else:
            kernels.centre_rows(*of_rows, np.append(0, ends[:-1]), gap)
        for square, mine in zip(out.comoment, np.split(gap, ends)):
            square += mine.T @ mine
    for k in range(K):
        if wide[k]:
            far = Pair(*products[:, k])
            about_centre = far.plus(Pair(far.high.T, far.low.T)).plus(Pair.of(out.comoment[k]))
            shift = Pair(moments.mean[k], moments.rest[k]).minus(Pair.of(centre[k]))
            n = Pair(moments.weight[k], moments.weight_rest[k])
            out.comoment[k], out.comoment_rest[k] = comoment_about(about_centre, n, shift)
        else:
            rest = moments.rest[k]
            out.comoment[k] -= moments.weight[k] * np.outer(rest, rest)
    return out


def _count_values(
    kernels: ModuleType, needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int
) -> Statistic | None:
    """Count values, or indicators of a threshold; None where the kernels fail."""
    rows = np.bincount(codes, weights=w if len(w) else None, minlength=K).astype(np.float64)[:, None]
    if not len(w) and needs.threshold is not None and X.dtype == np.uint8:
        small = np.zeros((K, X.shape[1]), dtype=np.int64)
        kernels.count_small(X, codes, int(np.clip(np.floor(needs.threshold), -1, 255)), small)
        return Counts(small.astype(np.float64), rows)
    total = np.zeros((K, X.shape[1]))
    rounded = round_threshold(needs.threshold, X)
    threshold = np.nan if rounded is None else rounded
    if kernels.fill_counts(X, codes, w, threshold, total):
        return Counts(total, rows)
    if not needs.skips:
        return None
    total, weight = np.zeros((2, K, X.shape[1]))
    fill = kernels.fill_counts_with_missing
    return Counts(total, weight) if fill(X, codes, w, threshold, needs.signed, total, weight) else None


def _count_pairs(needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int) -> Pairs:
    """Count cells and pairs of cells."""
    d, V = X.shape[1], needs.cells
    single, pair = np.zeros((K, d, V)), np.zeros((K, d * (d - 1) // 2, V, V))
    cells = np.ascontiguousarray(X, dtype=np.int16)
    import_module("deciban.kernels.pair_counts").fill_pairs(cells, codes, w, single, pair)
    return Pairs(single, pair)


def _count_levels(
    kernels: ModuleType, needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int
) -> Statistic | None:
    """Count levels in a table sized by the first rows, then by all; None where X has values other than codes."""
    if not are_level_codes(X, needs):
        return None
    x = to_level_codes(X)
    for known in (x[:4096], x):
        sizes = level_counts(known)
        if sizes.max() > MAX_LEVELS:
            return None
        offset = compute_offsets(sizes)
        table = np.zeros((K, int(offset[-1])))
        short = kernels.fill_levels(x, codes, w, offset, X.dtype.kind == "f" or needs.signed, table)
        if short <= 0:
            return Levels(table, offset).trim() if short == 0 else None
    return None


def _count_grid(
    kernels: ModuleType, needs: Needs, X: NDArray[Any], codes: Codes, w: Array, K: int
) -> Statistic | None:
    """Count the cells column by column, a few columns transposed at once; None where the kernel fails."""
    numbers = to_kernel_array(X.astype(np.float64, copy=False)).view(np.int64)
    found: list[tuple[NDArray[np.int64], Array, int]] = []
    for first in range(0, X.shape[1], TRANSPOSED_COLUMNS):
        for column in to_kernel_array(numbers[:, first : first + TRANSPOSED_COLUMNS].T, whole=True):
            counted = _count_cells(kernels, column, codes, w, K, needs.skips)
            if counted is None:
                return None
            found.append(counted)
    cells, tables, bits = zip(*found)
    owner = np.repeat(np.arange(len(found)), [len(own) for own in cells])
    table = np.concatenate([own.T for own in tables], axis=1)
    return Grid.from_counts(owner, np.concatenate(cells), table, np.array(bits, dtype=np.int64))


def _count_cells(
    kernels: ModuleType, numbers: NDArray[Any], codes: Codes, w: Array, K: int, skips: bool
) -> tuple[NDArray[np.int64], Array, int] | None:
    """Return the cells of a column, their counts (m×K), and their bits; None where the kernel fails.

    It is counted with the bits of a sample of its rows, and with fewer bits each time that too many cells are filled.
    """
    bits = _sample_bits(numbers, w)
    size = grid.MAX_FILLED_CELLS << 2 * (bits == MIN_CELL_BITS)  # the fewest bits may fill more
    cells, count, row, used = np.empty(size, dtype=np.int64), np.empty((size, K)), 0, 0
    while True:
        shift, place = MANTISSA_BITS - bits, np.full(2 << size.bit_length(), kernels.NO_PLACE)
        row, used = kernels.count_column(numbers, codes, w, skips, row, shift, place, cells, used, count)
        if row < 0 or row == len(numbers):
            return None if row < 0 else (cells[:used] << shift, count[:used], bits)
        if bits > MIN_CELL_BITS:
            bits = find_bits(np.append(edges(cells << shift), numbers[row : row + 1].view(np.float64)), bits)
            distinct, inverse = np.unique(cells >> (MANTISSA_BITS - bits - shift), return_inverse=True)
            used, sums = len(distinct), np.zeros((len(distinct), K))
            np.add.at(sums, inverse, count)
            cells[:used], count[:used] = distinct, sums
        else:
            size *= 2
            cells, count = (np.concatenate([a, np.empty_like(a)]) for a in (cells, count))


def _sample_bits(numbers: NDArray[Any], w: Array) -> int:
    """Return the bits with which a sample of a column is counted; all of it is counted with no more."""
    some = slice(None, None, max(1, len(numbers) // GRID_SAMPLE_ROWS))
    values = (numbers[some][w[some] > 0] if len(w) else numbers[some]).view(np.float64)
    return find_bits(values[np.isfinite(values)])


def score_by_kernel(
    kernels: ModuleType | None, form: ScoreForm, X: NDArray[Any], needs: Needs, wanted: Finish, out: Array
) -> bool:
    """Add ln p(x|k) of rows to `out` by the form's kernel, from the module `score`, and return whether it could.

    Terms that all classes share may be left out where they do not matter. After a failure `out` is undefined.
    """
    if isinstance(form, Summed):
        return all(score_by_kernel(kernels, each, X, needs, wanted, out) for each in form.forms)
    if isinstance(form, BoundedRates):
        return _add_bounded_rates(form, X, needs, wanted, out)
    if isinstance(form, Edges):
        return score_by_kernel(kernels, form.lookup, form.combine(X), needs, wanted, out)
    if isinstance(form, AveragedEdges):
        return kernels is not None and bool(X.size) and _add_averaged_edges(form, X, out)
    if isinstance(form, Full):
        has_kernel = form.shared and not (isinstance(form, LimitedFull) and (form.evidence_weight or 0.0) < 0)
        return has_kernel and wanted not in ("joint", "density") and _add_contrast(form, X, out)
    if kernels is None or not X.size or needs.unit or not isinstance(form, (Diagonal, Lookup, Steps, Linear)):
        return False
    if isinstance(form, BoundedDiagonal):
        return _add_bounded_diagonal(form, to_kernel_array(X), needs, out)
    if isinstance(form, Diagonal):
        return _add_diagonal(kernels, form, to_kernel_array(X), needs, out)
    if isinstance(form, Lookup):
        return are_level_codes(X, needs) and _add_lookup(kernels, form, X, needs, out)
    if isinstance(form, Steps):
        by_bin, _ = form.lookup.by_level
        return bool(
            kernels.add_step_scores(to_kernel_array(X), form.cuts, form.start, by_bin, needs.skips, out) == len(X)
        )
    return form.impossible is None and _add_linear(kernels, form, to_kernel_array(form.limit(X)), needs, wanted, out)


def _add_averaged_edges(form: AveragedEdges, X: NDArray[Any], out: Array) -> bool:
    """Add the mean over the parents; return whether all cells are known."""
    kernels = import_module("deciban.kernels.pair_counts")
    return bool(kernels.add_averaged_scores(to_kernel_array(X, whole=True), form.log_ratio, out))


def _add_contrast(form: Full, X: NDArray[Any], out: Array) -> bool:
    """Add one product for all classes, where only their differences matter; return whether it is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        contrast = form.contrast(X)
        fine = bool(np.isfinite(contrast.sum()))
    out += contrast
    return fine


def _add_diagonal(kernels: ModuleType, form: Diagonal, X: NDArray[Any], needs: Needs, out: Array) -> bool:
    """Add scores of independent Gaussians; return whether all values have one, NaN where `needs.skips` allows it."""
    n_done = kernels.add_diagonal_scores(X, form.mean, form.precision, form.constant, out)
    if n_done == len(X) or not needs.skips:
        return bool(n_done == len(X))
    add = kernels.add_diagonal_scores_with_missing
    return bool(add(X[n_done:], form.mean, form.precision, form.log_norm, out[n_done:]))


def _add_bounded_diagonal(form: BoundedDiagonal, X: NDArray[Any], needs: Needs, out: Array) -> bool:
    """Add bounded scores; False with negative evidence weights, or where a class never had a feature."""
    if len(form.absent_features) or (form.precision < 0).any():
        return False
    kernels = import_module("deciban.kernels.bounded_score")
    bounded = form.mean, form.precision, form.max_squares
    n_done = kernels.add_bounded_scores(X, *bounded, form.constant, out)
    if n_done == len(X) or not needs.skips:
        return bool(n_done == len(X))
    return bool(kernels.add_bounded_scores_with_missing(X[n_done:], *bounded, form.log_norm, out[n_done:]))


def _add_bounded_rates(form: BoundedRates, X: NDArray[Any], needs: Needs, wanted: Finish, out: Array) -> bool:
    """Add scores of counts by their definition, so that other columns may have kernels; False at invalid values."""
    if not X.size or (X < 0).any() or np.isinf(X).any() or (np.isnan(X).any() and not needs.skips):
        return False
    out += form.log_likelihoods(X) if wanted in ("joint", "density") else form.contrasts(X)
    return True


def _add_lookup(kernels: ModuleType, form: Lookup, X: NDArray[Any], needs: Needs, out: Array) -> bool:
    """Add scores looked up by level; return whether all codes are valid."""
    by_level, unseen = form.by_level
    missing = X.dtype.kind == "f" or needs.signed
    n_done = kernels.add_lookup_scores(to_level_codes(X), by_level, form.offset, unseen, missing, out)
    return bool(n_done == len(X))


def _add_linear(kernels: ModuleType, form: Linear, X: NDArray[Any], needs: Needs, wanted: Finish, out: Array) -> bool:
    """Add linear scores, less the log-factorials of counts where they matter; return whether all values have one."""
    rounded = round_threshold(form.threshold, X)
    threshold = np.nan if rounded is None else rounded
    n_done = kernels.add_linear_scores(X, form.weights, form.complete_bias, threshold, needs.signed, out)
    if n_done < len(X):
        if not needs.skips:
            return False
        add = kernels.add_linear_scores_with_missing
        offsets = np.zeros_like(form.weights) if form.offsets is None else form.offsets
        if not add(X[n_done:], form.weights, offsets, form.bias, threshold, needs.signed, out[n_done:]):
            return False
    if form.carrier is not None and wanted in ("joint", "density"):
        out -= sum_log_factorials(X)[:, None]
    return True


def finish_by_kernel(
    kernels: ModuleType | None, joint: Array, log_prior: Array, wanted: Finish, out: NDArray[Any]
) -> int | None:
    """Finish a block of joint scores into `out`, and return how many rows are impossible under every class.

    None without a kernel, negative where scores overflow. A posterior is computed in `joint`, the memory of `out`.
    """
    if kernels is None or wanted == "joint":
        return None
    if wanted == "winner":
        return int(kernels.find_best_classes(joint, log_prior, out))
    if wanted == "density":
        return int(kernels.compute_log_densities(joint, out))
    return int(kernels.normalise(joint, log_prior, wanted == "log_posterior"))
