"""Launches of the Triton kernels: sizes of tiles, numbers of programs, and the memory that they write to.

Every function returns None where no kernel can do the work: on a device or for a type that has none, or for values
that none handles; the caller then uses the definition.
"""

import os
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu.tensors import import_torch, to_device, to_numpy, type_name

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether Triton's interpreter runs the kernels, on tensors in host memory."""

SMALL_TYPES = ("float32", "float16", "bfloat16", "uint8", "int8", "int16")
"""Types whose values single precision holds exactly."""

MAX_BYTE_COUNT = 255
"""Tiles that a program reads which counts in bytes."""

LABEL_TILE_ROWS = 1024
"""Labels that a program reads at a time."""

CHUNK_ROWS = 2048
"""Rows of one class that a program sums."""

BYTE_TILE_ROWS = 4
"""Rows that a program of `count_bytes` reads at a time."""

PRODUCT_CHUNK_ROWS = 4096
"""Rows of one class whose products a program sums."""

MAX_KERNEL_LEVELS = 32
"""The largest number of levels that a kernel counts."""

MAX_SCORED_COLUMNS = 128
"""The largest number of columns that a kernel scores; it holds whole rows."""

MAX_SCORED_CLASSES = 127
"""The largest number of classes that a kernel scores."""


@cache
def has_triton() -> bool:
    """Return whether Triton is installed."""
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def can_launch(tensor: Any) -> bool:
    """Return whether kernels run on the tensor's device."""
    return (tensor.device.type == "cuda" or INTERPRETED) and has_triton()


@cache
def count_processors(index: int) -> int:
    """Return the number of multiprocessors of a device."""
    return int(import_torch().cuda.get_device_properties(index).multi_processor_count)


def count_programs(tensor: Any, n_tiles: int, per_processor: int) -> int:
    """Return the number of programs: as many as keep the device busy, and no more than there are tiles."""
    processors = count_processors(tensor.device.index) if tensor.device.type == "cuda" else 1
    return max(1, min(n_tiles, processors * per_processor))


def power_of_two(number: int, least: int, most: int) -> int:
    """Return the smallest power of two that is not below the number, within bounds."""
    return min(most, max(least, 1 << (number - 1).bit_length()))


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def count_labels(y: Any) -> NDArray[np.int64] | None:
    """Count the labels 0 to 15; None where there are others."""
    if not can_launch(y) or y.dtype.is_floating_point or not len(y) or not y.is_contiguous():
        return None
    torch, n = import_torch(), len(y)
    n_tiles = ceil_div(n, LABEL_TILE_ROWS)
    programs = max(count_programs(y, n_tiles, 8), ceil_div(n_tiles, MAX_BYTE_COUNT))
    out = torch.empty((programs, 16), dtype=torch.int32, device=y.device)
    _kernels().count_labels[(programs,)](y, out, n, LABEL_TILE_ROWS, num_warps=4)
    counts = to_numpy(out.sum(0))
    return np.trim_zeros(counts, "b") if counts.sum() == n else None


def sum_moments(x: Any, codes: Any, centre: Array, K: int, missing: bool) -> Array | None:
    """Return Σ (x − c) and Σ (x − c)² by class, and the numbers of values if some are missing: 2 or 3 × K × d.

    The centre is one of each column (d) or of each class and column (K×d); about the latter, sums are more accurate.
    """
    if not can_launch(x) or type_name(x) not in SMALL_TYPES:
        return None
    torch, (n, d) = import_torch(), x.shape
    by_class = centre.ndim == 2
    rows, warps, per_processor, stages = (64, 4, 16, 1) if by_class else (256, 4, 4, 3)
    columns = power_of_two(d, 16, 32)
    classes = power_of_two(K, 16, 32)
    programs = count_programs(x, ceil_div(n, rows), per_processor)
    out = torch.empty((programs, 3 if missing else 2, K, d), dtype=torch.float64, device=x.device)
    both = to_device(split_single(centre), x)
    splits = 0 if INTERPRETED else 3 if by_class or n * d < 1 << 22 else 2
    _kernels().sum_moments[(programs, ceil_div(d, columns), ceil_div(K, classes))](
        x, codes, both[0], both[1], out, n, d, K, x.stride(0), x.stride(1),
        rows, columns, classes, by_class, missing, splits, stages, num_warps=warps,
    )  # fmt: skip
    return to_numpy(out.sum(0))


def split_into_chunks(rows: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where chunks of sorted rows begin, and the last ends, and their classes; `rows` counts those of classes.

    >>> split_into_chunks(np.array([3, 0, 2]), 2)
    (array([0, 2, 3, 5]), array([0, 0, 2]))
    """
    starts = np.concatenate([[0], np.cumsum(rows)])
    pieces = [np.arange(a, b, size) for a, b in pairwise(starts)]
    classes = np.repeat(np.arange(len(rows)), [len(piece) for piece in pieces])
    return np.concatenate([*pieces, starts[-1:]]), classes


def _sum_chunks(out: Any, classes: NDArray[np.int64], K: int, dtype: str = "int64") -> NDArray[Any]:
    """Add the sums of chunks by class, whose codes ascend; `index_add_`, of all at once, took 8 ms more for bytes."""
    torch = import_torch()
    ends = np.searchsorted(classes, np.arange(K + 1))
    return to_numpy(torch.stack([out[a:b].sum(0, dtype=getattr(torch, dtype)) for a, b in pairwise(ends)]))


def sum_counts(x: Any, codes: Any, threshold: float | None) -> NDArray[np.int64] | None:
    """Return Σ x, or the number of rows above the threshold, by class and column; None except for small counts."""
    if not can_launch(x) or type_name(x) not in ("uint8", "float32", "int32", "int16"):
        return None
    torch, d = import_torch(), x.shape[1]
    if threshold is not None and 0 <= threshold < 128 and can_read_words(x):
        return _count_bytes(x, codes, int(threshold))
    starts, classes = split_into_chunks(codes.rows, CHUNK_ROWS)
    columns = power_of_two(d, 16, 64)
    grid = (ceil_div(d, columns), len(classes))
    checked = type_name(x) != "uint8" and not (threshold is not None and type_name(x).startswith("int"))
    out = torch.empty((len(classes), d), dtype=torch.int32, device=x.device)
    bad = torch.empty(grid[0] * grid[1] if checked else 1, dtype=torch.int32, device=x.device)
    limit = 0.0 if threshold is None else float(np.floor(threshold)) if type_name(x) != "float32" else threshold
    _kernels().sum_counts[grid](
        x, codes.order, to_device(starts, x), out, bad, d, x.stride(0), x.stride(1), limit,
        32, columns, threshold is not None, checked, 3, num_warps=2,
    )  # fmt: skip
    if checked and bool(bad.any()):
        return None
    return _sum_chunks(out, classes, len(codes.rows))


def can_read_words(x: Any) -> bool:
    """Return whether rows of bytes are whole words of four."""
    is_aligned = x.shape[1] % 4 == 0 and x.stride(0) % 4 == 0 and x.stride(1) == 1 and x.data_ptr() % 4 == 0
    return type_name(x) == "uint8" and is_aligned and x.storage_offset() % 4 == 0


def _count_bytes(x: Any, codes: Any, threshold: int) -> NDArray[np.int64]:
    """Return the number of rows with a byte above the threshold, by class and column."""
    starts, classes = split_into_chunks(codes.rows, BYTE_TILE_ROWS * MAX_BYTE_COUNT)
    torch, d = import_torch(), x.shape[1] // 4
    out = torch.empty((len(classes), 4 * d), dtype=torch.int32, device=x.device)
    words = power_of_two(d, 16, 256)
    _kernels().count_bytes[(ceil_div(d, words), len(classes))](
        x.view(torch.int32), codes.order, to_device(starts, x), out, d, x.stride(0) // 4, threshold,
        BYTE_TILE_ROWS, words, 1, num_warps=4,
    )  # fmt: skip
    return _sum_chunks(out, classes, len(codes.rows))


def sum_products(x: Any, codes: Any, centre: Array) -> Array | None:
    """Return Σ (x_i − c_i)(x_j − c_j) by class, K × d × d, about the centres of the classes; NaN spoils all of it."""
    if not can_launch(x) or type_name(x) not in SMALL_TYPES:
        return None
    torch, d, K = import_torch(), x.shape[1], len(codes.rows)
    columns = power_of_two(d, 16, 128)
    starts, classes = split_into_chunks(codes.rows, PRODUCT_CHUNK_ROWS)
    out = torch.empty((len(classes), d, d), dtype=torch.float32, device=x.device)
    near, rest = to_device(split_single(centre), x)
    _kernels().sum_products[(ceil_div(d, columns) ** 2, len(classes))](
        x, codes.order, to_device(starts, x), to_device(classes, x), near, rest, out, d, x.stride(0), x.stride(1),
        64, columns, 4, "ieee" if INTERPRETED else "tf32x3", 1, num_warps=8 if columns == 128 else 4,
    )  # fmt: skip
    return _sum_chunks(out, classes, K, "float64")


def split_single(values: Array) -> NDArray[np.float32]:
    """Return numbers as the nearest of single precision and the rest, 2 × ….

    >>> split_single(np.array([1.0 + 2.0**-30])).tolist()
    [[1.0], [9.313225746154785e-10]]
    """
    near = values.astype(np.float32)
    return np.stack([near, (values - near).astype(np.float32)])


def count_levels(x: Any, codes: Any, V: int, signed: bool) -> NDArray[np.int64] | None:
    """Return the number of rows with each level, K × V × d; None for codes ≥ V, and negative ones unless `signed`."""
    if not can_launch(x) or type_name(x) not in ("uint8", "int8", "int16", "int32", "int64") or V > MAX_KERNEL_LEVELS:
        return None
    torch, d = import_torch(), x.shape[1]
    rows, columns = 64, 4
    starts, classes = split_into_chunks(codes.rows, rows * MAX_BYTE_COUNT)
    grid = (ceil_div(d, columns), len(classes))
    out = torch.empty((len(classes), V, d), dtype=torch.int32, device=x.device)
    bad = torch.empty((grid[0] * grid[1], 2), dtype=torch.int32, device=x.device)
    _kernels().count_levels[grid](
        x, codes.order, to_device(starts, x), out, bad, d, V, x.stride(0), x.stride(1),
        rows, columns, ceil_div(V, 8), 1, num_warps=2,
    )  # fmt: skip
    is_high, is_negative = to_numpy(bad.amax(0)).tolist()
    return None if is_high or (is_negative and not signed) else _sum_chunks(out, classes, len(codes.rows))


def score_gaussian(x: Any, weights: tuple[Array, ...], K: int, wanted: str, out: Any) -> bool:
    """Write finished scores to `out`; return whether no row has missing values, ±∞ or scores that overflow.

    `weights` are the centre (d), and for the K classes and the part that they share the factors of squares and of
    values, each (K+1)×d, and the constants (K).
    """
    torch, (n, d) = import_torch(), x.shape
    rows, warps, per_processor, stages = (32, 1, 8, 3) if d <= 32 and K < 16 else (64, 4, 16, 2)
    programs = count_programs(x, ceil_div(n, rows), per_processor)
    bad = torch.empty(programs, dtype=torch.int32, device=x.device)
    flat = to_device(np.concatenate([weight.ravel() for weight in weights]).astype(np.float32), x)
    tensors = flat.split([weight.size for weight in weights])
    _kernels().score_gaussian[(programs,)](
        x, *tensors, out, bad, n, d, K, x.stride(0), x.stride(1),
        rows, power_of_two(d, 16, MAX_SCORED_COLUMNS), power_of_two(K + 1, 16, MAX_SCORED_CLASSES + 1), wanted,
        "ieee" if INTERPRETED else "tf32x3", stages, num_warps=warps,
    )  # fmt: skip
    return not bool(bad.any())


def _kernels() -> Any:
    """Import the kernels, and with them Triton."""
    from deciban.gpu import kernels

    return kernels
