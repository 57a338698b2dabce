"""Launches of the Triton kernels of products. As in `gpu.launch`, None or False stands for work that none can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu.labels import DeviceCodes
from deciban.gpu.launch import (
    INTERPRETED,
    SMALL_TYPES,
    can_launch,
    ceil_div,
    choose_tile_size,
    count_programs,
    find_unit,
    import_kernels,
    is_wide,
    split_single,
)
from deciban.gpu.tensors import import_torch, to_device, to_numpy, type_name

MAX_SCORED_COLUMNS = 128
"""The largest number of columns that a kernel scores; it holds whole rows."""

MAX_SCORED_CLASSES = 127
"""The largest number of classes that a kernel scores."""

MAX_LOGISTIC_CLASSES = 32
"""The largest number of classes in a pass of logistic regression."""

MAX_HALF_FACTORS = 128.0
"""The largest Euclidean norm of a class's factors in half precision.

Numbers below 2⁻³ are split into two of half precision to 2⁻²⁵, and not to 2⁻²² of themselves: times this, 4e-6.
"""

MAX_UNIT_EXPONENT = 100
"""Units of columns are powers of two between 2⁻¹⁰⁰ and 2¹⁰⁰, so that numbers in them are of single precision."""


def choose_units(deviation: Array) -> Array:
    """Return powers of two that are near 1 / deviation, so that no digit is lost; 1 where there is no deviation.

    >>> choose_units(np.array([0.0, 1.0, 3.0, 1e-3])).tolist()
    [1.0, 1.0, 0.25, 1024.0]
    """
    is_varied = np.isfinite(deviation) & (deviation > 0)
    exponent = np.round(np.log2(np.where(is_varied, deviation, 1.0)))
    return np.exp2(-np.clip(exponent, -MAX_UNIT_EXPONENT, MAX_UNIT_EXPONENT))


def sum_products(x: Any, codes: DeviceCodes, centre: Array, deviation: Array) -> Array | None:
    """Return Σ (x_i − c_i)(x_j − c_j) by class, K × d × d, about centres of the classes; None at NaN and ±∞.

    The deviations of classes and columns, K × d, are rounded to units, in which the products are summed.
    """
    if not can_launch(x) or type_name(x) not in SMALL_TYPES:
        return None
    if ((deviation > 0) & (deviation < 2.0**-MAX_UNIT_EXPONENT)).any():
        return None
    torch, d, K, order = import_torch(), x.shape[1], len(codes.rows), codes.order
    columns = choose_tile_size(d, 128)
    units = choose_units(deviation)[None].astype(np.float32)
    near, rest, unit = to_device(np.concatenate([split_single(centre), units]), x)
    slabs, step = ceil_div(d, columns), find_unit(x)

    def sum_part(offsets: Any) -> Any:
        out = torch.empty((len(offsets), K, d, d), dtype=torch.float32, device=x.device)
        import_kernels("matrix_kernels").sum_products[(K, len(offsets), slabs**2)](
            x, order.rows, offsets, near, rest, unit, out, len(offsets), order.width, d // step,
            x.stride(0) // step, x.stride(1), 64, columns, 8, slabs == 1, "ieee" if INTERPRETED else "tf32", 3, step,
            is_wide(x), num_warps=8 if columns == 128 else 4,
        )  # fmt: skip
        return out.sum(0, dtype=torch.float64)

    products = reduce(add, map(sum_part, order.split(K * d * d)))
    scale = 0.5 / (unit[:, :, None].double() * unit[:, None, :].double())
    products = (products + products.mT) * scale
    found: Array = to_numpy(products)
    return found if np.isfinite(found.diagonal(axis1=1, axis2=2)).all() else None


@dataclass(frozen=True)
class GaussianWeights:
    """Numbers of Gaussian scores on a device, of K classes, and whether half precision suffices.

    They are the centre and the unit (d), for the K classes and the part that they share the factors of squares and
    of values in these units, each (K+1)×d, and the constants (K+1).
    """

    tensors: tuple[Any, ...]
    K: int
    is_in_range: bool

    @classmethod
    def of(cls, x: Any, centre: Array, unit: Array, square: Array, slope: Array, constant: Array) -> Self:
        """Convert the factors `square` and `slope`, of x itself, to the units, and copy all to the device of x."""
        scaled = centre, unit, square / unit**2, slope / unit, constant
        is_in_range = (scaled[2] ** 2 + scaled[3] ** 2).sum(axis=1).max() <= MAX_HALF_FACTORS**2
        return cls(_copy_together(scaled, x), len(constant) - 1, bool(is_in_range))


def _copy_together(arrays: Sequence[Array], x: Any) -> tuple[Any, ...]:
    """Copy arrays to flat tensors of single precision on the device of x, in one copy."""
    flat = to_device(np.concatenate([array.ravel() for array in arrays]).astype(np.float32), x)
    return tuple(flat.split([array.size for array in arrays]))


def score_gaussian(x: Any, weights: GaussianWeights, wanted: str, out: Any) -> bool:
    """Write finished scores to `out`; return whether no row has missing values, ±∞ or scores that overflow.

    Where numbers in half precision overflow, or do not suffice, they are multiplied as numbers of type tf32.
    """
    return any(
        _score_gaussian(x, weights, wanted, out, halves)
        for halves in ((True, False) if weights.is_in_range else (False,))
    )


def _score_gaussian(x: Any, weights: GaussianWeights, wanted: str, out: Any, halves: bool) -> bool:
    """Launch the kernel; return whether the highest score of every row is finite."""
    torch, (n, d), K, step = import_torch(), x.shape, weights.K, find_unit(x)
    rows, warps = (64 if wanted == "winner" else 32, 1) if d <= 32 and K < 16 else (64, 4)
    per_processor, stages = (8, 3) if warps == 1 else (16, 2)
    programs = count_programs(x, ceil_div(n, rows), per_processor)
    bad = torch.empty(programs, dtype=torch.int32, device=x.device)
    import_kernels("matrix_kernels").score_gaussian[(programs,)](
        x, *weights.tensors, out, bad, n, d // step, K, x.stride(0) // step, x.stride(1),
        rows, choose_tile_size(d, MAX_SCORED_COLUMNS), choose_tile_size(K + 1, MAX_SCORED_CLASSES + 1), wanted,
        halves, "ieee" if INTERPRETED else "tf32x3", stages, step, is_wide(x), num_warps=warps,
    )  # fmt: skip
    return not to_numpy(bad).any()


def sum_logistic(
    x: Any, codes: Any, centre: Array, unit: Array, weights: Array, bias: Array
) -> tuple[float, NDArray[np.float64]] | None:
    """Return the sum of −ln p(y|x) and those of (p(k|x) − [y = k]) g and of the residuals, K×(d+1).

    The scores are W g + b, g = (x − centre)·unit, a power of two for each column. None where they overflow.
    """
    (n, d), K = x.shape, len(bias)
    if not can_launch(x) or type_name(x) not in SMALL_TYPES or d > MAX_SCORED_COLUMNS or K > MAX_LOGISTIC_CLASSES:
        return None
    torch = import_torch()
    tensors = _copy_together((centre, unit, weights, bias), x)
    rows, warps, per_processor, stages, step = 64, 4, 4, 2, find_unit(x)
    programs = count_programs(x, ceil_div(n, rows), per_processor)
    out = torch.empty((programs, K, d + 1), dtype=torch.float32, device=x.device)
    loss = torch.empty(programs, dtype=torch.float64, device=x.device)
    import_kernels("matrix_kernels").sum_logistic[(programs,)](
        x, codes, *tensors, out, loss, n, d // step, K, x.stride(0) // step, x.stride(1),
        rows, choose_tile_size(d, MAX_SCORED_COLUMNS), choose_tile_size(K, MAX_LOGISTIC_CLASSES), stages,
        step, is_wide(x), num_warps=warps,
    )  # fmt: skip
    both = to_numpy(torch.cat([out.sum(0, dtype=torch.float64).flatten(), loss.sum()[None]]))
    return (float(both[-1]), both[:-1].reshape(K, d + 1)) if np.isfinite(both).all() else None
