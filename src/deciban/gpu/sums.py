"""Statistics of rows on a device: by kernels where these can, else by definitions in torch, in double precision.

The statistics themselves are the ordinary ones, in host memory.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu import launch, matrix_launch
from deciban.gpu.labels import DeviceCodes
from deciban.gpu.tensors import import_torch, is_above, round_threshold, to_device, to_numpy
from deciban.ledger import Counts, Levels, Moments, Needs, Scatter
from deciban.ledger.double_double import Pair
from deciban.ledger.statistic import compute_offsets, divide

Check = Callable[[], None]
"""A check of all values, which raises an error for those that cannot be counted; kernels refuse them on their own."""

BLOCK_CELLS = 1 << 23
"""Cells of rows, or of the indicators of their classes, that a definition holds at a time in double precision."""

SPLIT_ERROR = 2.0**-18
"""The relative error of a number that is split into two of type bfloat16; that of a mean falls with the root of n."""

SUM_ERROR = 1e-7
"""The relative error of sums of such numbers, however many."""

DOUBLE_ERROR = 1e-16
"""Both errors of numbers in double precision."""

MAX_SINGLE_ERROR = 2e-6
"""The largest relative error of a variance about the column's centre; beyond it, centres are those of the classes."""

MAX_DOUBLE_ERROR = 1e-12
"""The largest such error of numbers in double precision."""

MIN_SINGLE_SQUARE = 1e-30
"""The smallest mean of squares that is summed in single precision, whose smallest normal number is 1e-38."""

MAX_ROWS = float(1 << 40)
"""More rows than a device holds: squares above so many of the smallest are large enough, whatever their number."""

ROUNDING_FRACTION_OF_SQUARES = 4e-15
"""Squares about the mean below this share of those about the centre are rounding: the values are equal."""


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of rows with about `BLOCK_CELLS` cells of this width."""
    step = max(1, BLOCK_CELLS // max(1, width))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def summarise_moments(needs: Needs, x: Any, codes: DeviceCodes, weight: Any, check: Check) -> Moments:
    """Compute moments about a centre of each column, and again about the means of classes if these are far off."""
    sums, error = _sum_moments(needs, x, codes, weight, None, check)
    if _is_far_off(*sums[:3], *error):
        n, total, _, centre = sums
        sums, _ = _sum_moments(needs, x, codes, weight, np.where(n > 0, centre + divide(total, n), 0.0), check)
    n, total, squares, centre = sums
    centre = np.where(n > 0, centre, 0.0)
    shift = divide(total, n)
    mean = centre + shift
    back = mean - centre
    rest = (centre - (mean - back)) + (shift - back)  # the rounding error of the sum (Knuth)
    m2 = squares - total * shift
    return Moments(n, mean, rest, np.where(m2 <= ROUNDING_FRACTION_OF_SQUARES * squares, 0.0, m2))


def find_centre(x: Any) -> Array:
    """Return the mean of a few rows; 0 for columns without a finite one."""
    rows = to_numpy(_sample(x)).astype(np.float64)
    known = np.isfinite(rows)
    return divide(np.where(known, rows, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))


def _sample(x: Any) -> Any:
    """Return a few rows, spread over all."""
    rows = launch.DEVICE_SAMPLE_ROWS
    return x[:: max(1, len(x) // rows)][:rows]


def _sum_moments(
    needs: Needs, x: Any, codes: DeviceCodes, weight: Any, centre: Array | None, check: Check
) -> tuple[tuple[Array, Array, Array, Array], tuple[float, float, float]]:
    """Return n, Σ (x − c), Σ (x − c)² by class and c; the errors of a number and of sums, and the largest allowed.

    Without a centre it is that of a few rows.
    """
    K = len(codes.rows)
    rows = codes.rows.astype(np.float64)[:, None]
    for missing in (False, True) if weight is None else ():
        found = launch.sum_moments(x, codes.tensor, centre, K, missing) if needs.skips or not missing else None
        if found is not None and np.isfinite(found[0]).all():
            sums, about = found
            n = sums[2] if missing else rows
            if _is_underflow(n, sums[0], sums[1]):
                break
            return (n, sums[0], sums[1], about), (SPLIT_ERROR, SUM_ERROR, MAX_SINGLE_ERROR)
    check()
    about = find_centre(x) if centre is None else centre
    defined = define_moments(x, codes.tensor, weight, about, K)
    return (*defined, about), (DOUBLE_ERROR, DOUBLE_ERROR, MAX_DOUBLE_ERROR)


def _is_underflow(n: Array, total: Array, squares: Array) -> bool:
    """Return whether any squares are too small for single precision, or have become zero."""
    if squares.min() >= MIN_SINGLE_SQUARE * MAX_ROWS:
        return False
    return bool(np.where(squares > 0, squares < MIN_SINGLE_SQUARE * n, total != 0).any())


def _is_far_off(n: Array, total: Array, squares: Array, value_error: float, sum_error: float, limit: float) -> bool:
    """Return whether the relative error of any variance about this centre may be above the limit.

    Squares about a centre that is r variances away are 1 + r times as large as those about the mean, and their error.
    """
    left = squares - divide(total**2, n)
    error = (sum_error + divide(np.full_like(n, value_error), np.sqrt(n))) * squares
    return bool(((squares > 0) & (error > limit * left)).any())


def define_moments(x: Any, codes: Any, weight: Any, centre: Array, K: int) -> tuple[Array, Array, Array]:
    """Return n (K×1, or K×d if values are missing), Σ w (x − c) and Σ w (x − c)² by class, in double precision."""
    torch, (rows, d) = import_torch(), x.shape
    c = to_device(centre, x)
    sums = torch.zeros((3, K, d), dtype=torch.float64, device=x.device)
    some = False
    for block in row_blocks(rows, max(d, K)):
        one = _indicators(codes[block], weight, block, K)
        gap = x[block].double() - (c[codes[block].long()] if c.ndim == 2 else c)
        known = ~torch.isnan(gap)
        some = some or not bool(known.all())
        gap = torch.where(known, gap, 0.0)
        sums += torch.stack([one @ known.double(), one @ gap, one @ (gap * gap)])
    n, total, squares = to_numpy(sums)
    return (n if some else n[:, :1].copy()), total, squares


def _indicators(codes: Any, weight: Any, block: slice, K: int) -> Any:
    """Return indicators of classes, K×n, times weights: `codes` are of the block's rows, `weight` of all rows."""
    torch = import_torch()
    one = torch.zeros((K, len(codes)), dtype=torch.float64, device=codes.device)
    value = torch.ones(len(codes), dtype=torch.float64, device=codes.device) if weight is None else weight[block]
    return one.scatter_(0, codes.long()[None], value[None])


def summarise_counts(needs: Needs, x: Any, codes: DeviceCodes, weight: Any, check: Check) -> Counts:
    """Compute counts: exact for whole numbers."""
    threshold = None if needs.threshold is None else round_threshold(needs.threshold, x)
    total = None if weight is not None or needs.unit else launch.sum_counts(x, codes, threshold)
    if total is not None:
        return Counts(total.astype(np.float64), codes.rows.astype(np.float64)[:, None])
    check()
    return define_counts(x, codes.tensor, weight, len(codes.rows), threshold)


def define_counts(x: Any, codes: Any, weight: Any, K: int, threshold: float | None) -> Counts:
    """Compute Σ w·x, or of the indicators [x > threshold], by class, in double precision; NaN is left out."""
    torch, (rows, d) = import_torch(), x.shape
    sums = torch.zeros((2, K, d), dtype=torch.float64, device=x.device)
    some = False
    for block in row_blocks(rows, max(d, K)):
        one, values = _indicators(codes[block], weight, block, K), x[block]
        known = values == values  # not NaN
        some = some or not bool(known.all())
        seen = values.double() if threshold is None else is_above(values, threshold).double()
        sums += torch.stack([one @ torch.where(known, seen, 0.0), one @ known.double()])
    total, n = to_numpy(sums)
    return Counts(total, n if some else n[:, :1].copy())


def summarise_levels(needs: Needs, x: Any, codes: DeviceCodes, weight: Any, check: Check) -> Levels:
    """Count levels; those of a few rows say how many there may be.

    Where a row has a higher level, or a missing value, the kernel counts fewer rows than there are.
    """
    if weight is None and not x.dtype.is_floating_point:
        V = int(_sample(x).max()) + 1
        counts = launch.count_levels(x, codes, max(1, V))
        if counts is not None and _is_complete(counts, codes, x, needs):
            K, V, d = counts.shape
            table = np.ascontiguousarray(counts.transpose(0, 2, 1)).reshape(K, d * V).astype(np.float64)
            return Levels(table, np.arange(d + 1, dtype=np.int64) * V).trim()
    check()
    return define_levels(x, codes.tensor, weight, len(codes.rows))


def _is_complete(counts: NDArray[np.int64], codes: DeviceCodes, x: Any, needs: Needs) -> bool:
    """Return whether all values are counted, except for missing ones where these are negative codes."""
    if (counts.sum(axis=1) == codes.rows[:, None]).all():
        return True
    return needs.signed and int(x.max()) < counts.shape[1]


def define_levels(x: Any, codes: Any, weight: Any, K: int) -> Levels:
    """Count levels by class; a negative code, or NaN, is a missing value."""
    torch, (rows, d) = import_torch(), x.shape
    highest = torch.nan_to_num(x.double(), nan=-1.0).amax(0) if x.dtype.is_floating_point else x.amax(0)
    sizes = np.maximum(to_numpy(highest).astype(np.int64) + 1, 0)
    offset = compute_offsets(sizes)
    starts, width = to_device(offset[:-1], x), int(offset[-1])
    table = torch.zeros(K * width, dtype=torch.float64, device=x.device)
    for block in row_blocks(rows, d) if width else ():
        values = x[block]
        present = values >= 0
        level = torch.where(present, values, 0).long()
        cell = (codes[block].long()[:, None] * width + starts + level)[present]
        weights = None if weight is None else weight[block][:, None].expand(-1, d)[present]
        table += torch.bincount(cell, weights=weights, minlength=K * width)
    return Levels(to_numpy(table).reshape(K, width), offset).trim()


def summarise_scatter(needs: Needs, x: Any, codes: DeviceCodes, weight: Any, check: Check) -> Scatter:
    """Compute the scatter: the means of the classes, then products of the rows of each class about them."""
    if weight is None and launch.can_launch(x):
        codes.order  # noqa: B018  its kernel runs while Python prepares the next one
    centres = summarise_moments(needs, x, codes, weight, check)
    wide = centres.weight.shape[1] > 1
    products = None
    if weight is None and not wide:
        deviation = np.sqrt(divide(centres.m2, centres.weight))
        products = matrix_launch.sum_products(x, codes, centres.mean, deviation)
    if products is not None:
        return Scatter(centres.weight[:, :, None], centres.mean[:, :, None], centres.rest[:, :, None], products)
    return define_scatter(x, codes, weight, centres)


def define_scatter(x: Any, codes: DeviceCodes, weight: Any, centres: Moments) -> Scatter:
    """Compute products of the rows of each class about its means, in double precision; NaN is left out, by pairs."""
    d, wide = x.shape[1], centres.weight.shape[1] > 1
    out = Scatter.empty(len(codes.rows), d, wide)
    ends = compute_offsets(codes.rows)
    for k in np.flatnonzero(codes.rows).tolist():
        rows = codes.sorted_rows[ends[k] : ends[k + 1]]
        n, drift, products = _sum_products(x, rows, weight, centres.mean[k], wide)
        if not wide:
            n = np.full((1, 1), centres.weight[k, 0])
        rest = divide(drift, n)
        product = products - n * rest * rest.T
        out.weight[k] = n
        mean = Pair.of(np.where(n == 0, 0.0, centres.mean[k][:, None])).plus(Pair.of(rest))
        out.mean[k], out.rest[k] = mean
        out.comoment[k] = (product + product.T) / 2
    return out


def _sum_products(x: Any, rows: Any, weight: Any, centre: Array, wide: bool) -> tuple[Array, Array, Array]:
    """Return weights, drifts and products of pairs of features about a centre; weights are 0 unless `wide`."""
    torch, d = import_torch(), x.shape[1]
    c = to_device(centre, x)
    products, n = torch.zeros((2, d, d), dtype=torch.float64, device=x.device)
    drift = torch.zeros((d, d if wide else 1), dtype=torch.float64, device=x.device)
    for block in row_blocks(len(rows), d):
        gap = x[rows[block]].double() - c
        known = ~torch.isnan(gap)
        gap = torch.where(known, gap, 0.0)
        w = None if weight is None else weight[rows[block]][:, None]
        weighted = gap if w is None else gap * w
        products += weighted.T @ gap
        if wide:
            present = known.double()
            drift += weighted.T @ present
            n += (present if w is None else present * w).T @ present
        else:
            drift += weighted.sum(0)[:, None]
    return to_numpy(n), to_numpy(drift), to_numpy(products)


SUMMARISE: dict[str, Any] = {
    "moments": summarise_moments,
    "counts": summarise_counts,
    "levels": summarise_levels,
    "scatter": summarise_scatter,
}
"""The function that summarises each kind of statistic on a device."""
