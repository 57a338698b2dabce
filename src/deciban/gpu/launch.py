"""Launches of the Triton kernels that sum by class: sizes of tiles, numbers of programs, and what they write to.

Every function returns None where no kernel can do the work: on a device or for a type that has none, or for values
that none handles; the caller then uses the definition.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib import import_module
from operator import add
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu.tensors import import_torch, to_device, to_numpy, type_name

if TYPE_CHECKING:
    from deciban.gpu.labels import DeviceCodes

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
"""Whether Triton's interpreter runs the kernels, on tensors in host memory."""

SMALL_TYPES = ("float32", "float16", "bfloat16", "uint8", "int8", "int16")
"""Types whose values single precision holds exactly."""

DEVICE_SAMPLE_ROWS = 256
"""Rows whose mean is the first centre of the squares, and whose highest level is expected to be that of all."""

LABEL_TILE_ROWS = 1024
"""Rows of a tile of labels."""

MAX_TILE_ROWS = 256
"""The largest number of rows of a tile of values."""

MAX_BLOCK_TILES = 63
"""Tiles of labels in a block that is sorted by class."""

MIN_LARGE_ROWS = 1 << 22
"""The least number of rows with blocks of `MAX_BLOCK_TILES`."""

SMALL_BLOCK_TILES = 7
"""Tiles of labels in a block of fewer rows."""

MAX_ORDERED_CLASSES = 16
"""The largest number of classes that kernels count and sort."""

LEVELS_PER_WORD = 32
"""Levels that a program counts."""

MAX_PLACE_ROWS = (1 << 15) - 1
"""The largest number of rows that one place of a tile of `kernels.count_levels` counts."""

MAX_PARTIAL_SUMS = 1 << 26
"""Sums (512 MiB) that programs write before they are added; one program, or one block of rows, may write more."""

MAX_LEVEL_COUNTS = 1 << 26
"""Counts of levels (256 MiB) that programs write before they are added; one group of blocks may write more."""

MAX_KERNEL_LEVELS = 256
"""The largest number of levels that a kernel counts."""


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


def choose_tile_size(number: int, most: int) -> int:
    """Return the smallest power of two not below the number, at least 16, as products need, and at most `most`."""
    return min(most, max(16, 1 << (number - 1).bit_length()))


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def find_unit(x: Any) -> int:
    """Return the number that divides the columns and the stride of rows: 16, 4 or 1; 1 for strides beyond 32 bits."""
    if x.stride(0) >= 1 << 31:
        return 1
    return next(unit for unit in (16, 4, 1) if x.shape[1] % unit == 0 and x.stride(0) % unit == 0)


def is_wide(x: Any) -> bool:
    """Return whether offsets within a tile of rows need 64 bits, as of large tensors that lie column by column."""
    return bool((x.shape[1] - 1) * x.stride(1) + MAX_TILE_ROWS * x.stride(0) >= 1 << 31)


def count_block_tiles(n: int) -> int:
    """Return the number of tiles of labels in a block of rows."""
    return MAX_BLOCK_TILES if n >= MIN_LARGE_ROWS else SMALL_BLOCK_TILES


def count_labels(y: Any) -> Any:
    """Count the labels 0 to 15 of each block of rows, blocks × 16, on the device."""
    if not can_launch(y) or y.dtype.is_floating_point or not len(y) or not y.is_contiguous():
        return None
    torch, n, tiles = import_torch(), len(y), count_block_tiles(len(y))
    blocks = ceil_div(n, LABEL_TILE_ROWS * tiles)
    out = torch.empty((blocks, MAX_ORDERED_CLASSES), dtype=torch.int32, device=y.device)
    import_kernels("order_kernels").count_labels[(blocks,)](y, out, n, LABEL_TILE_ROWS, tiles, num_warps=4)
    return out


@dataclass(frozen=True)
class ClassOrder:
    """The numbers of rows, sorted by class within each block of rows, and where classes begin, blocks × (width+1)."""

    rows: Any
    offsets: Any

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return int(self.offsets.shape[0])

    @property
    def width(self) -> int:
        """The number of classes, or of places for them."""
        return int(self.offsets.shape[1]) - 1

    def split(self, block_sums: int) -> Sequence[Any]:
        """Return the offsets in parts of blocks with at most `MAX_PARTIAL_SUMS` together, `block_sums` of each."""
        most = max(1, MAX_PARTIAL_SUMS // block_sums)
        return (self.offsets,) if self.n_blocks <= most else cast(Sequence[Any], self.offsets.split(most))


def order_rows(codes: Any, counts: Any, K: int) -> ClassOrder:
    """Sort the rows of each block by class; `counts` is what `count_labels` returned for these codes, or None."""
    torch, n, tiles = import_torch(), len(codes), count_block_tiles(len(codes))
    counts = count_labels(codes) if counts is None and K <= MAX_ORDERED_CLASSES else counts
    if counts is None or n >= 1 << 31:
        return _sort_rows(codes, K, LABEL_TILE_ROWS * tiles)
    rows = torch.empty(n, dtype=torch.int32, device=codes.device)
    offsets = torch.empty((len(counts), MAX_ORDERED_CLASSES + 1), dtype=torch.int64, device=codes.device)
    import_kernels("order_kernels").order_rows[(len(counts),)](
        codes, counts, offsets, rows, n, LABEL_TILE_ROWS // 8, tiles, ceil_div(K, 5), num_warps=4
    )
    return ClassOrder(rows, offsets)


def _sort_rows(codes: Any, K: int, block_rows: int) -> ClassOrder:
    """Sort the rows of each block by class, for any number of classes."""
    torch, n = import_torch(), len(codes)
    blocks = ceil_div(n, block_rows)
    key = torch.arange(n, device=codes.device) // block_rows * K + codes
    ends = torch.cumsum(torch.bincount(key, minlength=blocks * K), 0)
    ends = torch.nn.functional.pad(ends, (1, 0))
    starts = torch.arange(blocks, device=codes.device)[:, None] * K + torch.arange(K + 1, device=codes.device)
    small = key.int() if blocks * K < 1 << 31 else key
    return ClassOrder(torch.sort(small, stable=True).indices, ends[starts])


def _find_centre(x: Any, out: Any, wide: bool) -> None:
    """Write the mean of a few rows, spread over all, of each column."""
    n, d = x.shape
    step = max(1, n // DEVICE_SAMPLE_ROWS)
    import_kernels("kernels").find_centre[(ceil_div(d, 16),)](
        x, out, d, step * x.stride(0), x.stride(1), min(ceil_div(n, step), DEVICE_SAMPLE_ROWS), DEVICE_SAMPLE_ROWS,
        16, wide, num_warps=4,
    )  # fmt: skip


def sum_moments(x: Any, codes: Any, centre: Array | None, K: int, missing: bool) -> tuple[Array, Array] | None:
    """Return Σ (x − c) and Σ (x − c)² by class, and the numbers of values if some are missing, and the centre c.

    The sums are 2 or 3 × K × d. The centre is one of each class and column (K×d), about which sums are more accurate,
    or without one the mean of a few rows, spread over all, of each column.
    """
    if not can_launch(x) or type_name(x) not in SMALL_TYPES:
        return None
    torch, (n, d), unit = import_torch(), x.shape, find_unit(x)
    by_class, wide = centre is not None, is_wide(x)
    rows, warps, per_processor, stages = (64, 4, 16, 1) if by_class else (256, 4, 4, 3)
    columns, classes = choose_tile_size(d, 32), choose_tile_size(K, 32)
    programs = count_programs(x, ceil_div(n, rows), per_processor)
    size = 3 if missing else 2
    programs = min(programs, max(1, MAX_PARTIAL_SUMS // ((size * K + 1) * d)))
    out = torch.empty((programs, size * K + 1, d), dtype=torch.float64, device=x.device)
    if centre is None:
        _find_centre(x, out[0, -1], wide)
    near, rest = (x, x) if centre is None else to_device(split_single(centre), x)
    splits = 0 if INTERPRETED else 3 if by_class or n * d < 1 << 22 else 2
    import_kernels("kernels").sum_moments[(programs, ceil_div(d, columns), ceil_div(K, classes))](
        x, codes, near, rest, out, n, d // unit, K, x.stride(0) // unit, x.stride(1),
        rows, columns, classes, by_class, missing, splits, stages, unit, wide, num_warps=warps,
    )  # fmt: skip
    total = to_numpy(out.sum(0))
    return total[:-1].reshape(size, K, d), total[-1] if centre is None else centre


def sum_counts(x: Any, codes: "DeviceCodes", threshold: float | None) -> NDArray[np.int64] | None:
    """Return Σ x, or the number of rows above the threshold, by class and column.

    None unless values are whole numbers from 0 to 65535, or with a threshold finite.
    """
    if not can_launch(x) or type_name(x) not in ("uint8", "float32", "int32", "int16"):
        return None
    torch, d, K, order = import_torch(), x.shape[1], len(codes.rows), codes.order
    if threshold is not None and 0 <= threshold < 128 and can_read_words(x):
        return _count_bytes(x, order, K, int(threshold))
    columns, unit = choose_tile_size(d, 64), find_unit(x)
    checked = type_name(x) != "uint8" and not (threshold is not None and type_name(x).startswith("int"))
    limit = 0.0 if threshold is None else threshold

    def sum_part(offsets: Any) -> Any:
        grid = (K, len(offsets), ceil_div(d, columns))
        out = torch.empty((len(offsets), K, d), dtype=torch.int64, device=x.device)
        bad = torch.empty(grid[0] * grid[1] * grid[2] if checked else 1, dtype=torch.int32, device=x.device)
        import_kernels("kernels").sum_counts[grid](
            x, order.rows, offsets, out, bad, len(offsets), order.width, d // unit, x.stride(0) // unit,
            x.stride(1), limit if x.dtype.is_floating_point else math.floor(limit), 32, columns,
            threshold is not None, checked, 3, unit, is_wide(x), num_warps=2,
        )  # fmt: skip
        return None if checked and bool(bad.any()) else out.sum(0)

    total = None
    for offsets in order.split(K * d):
        part = sum_part(offsets)
        if part is None:
            return None
        total = part if total is None else total + part
    return to_numpy(total)


def can_read_words(x: Any) -> bool:
    """Return whether rows of bytes are whole words of four."""
    is_aligned = x.shape[1] % 4 == 0 and x.stride(0) % 4 == 0 and x.stride(1) == 1 and x.data_ptr() % 4 == 0
    return type_name(x) == "uint8" and is_aligned and x.storage_offset() % 4 == 0


def _count_bytes(x: Any, order: ClassOrder, K: int, threshold: int) -> NDArray[np.int64]:
    """Return the number of rows with a byte above the threshold, by class and column."""
    torch, d = import_torch(), x.shape[1] // 4
    words = choose_tile_size(d, 256)
    rows, warps, blocks = 1024 // words, 2, 2

    def count_part(offsets: Any) -> Any:
        groups = ceil_div(len(offsets), blocks)
        out = torch.empty((groups, K, 4 * d), dtype=torch.int32, device=x.device)
        import_kernels("kernels").count_bytes[(K, groups, ceil_div(d, words))](
            x.view(torch.int32), order.rows, offsets, out, len(offsets), order.width, d, x.stride(0) // 4,
            threshold, rows, words, blocks, num_warps=warps,
        )  # fmt: skip
        return out.sum(0)

    return to_numpy(reduce(add, map(count_part, order.split(K * 4 * d))))


def count_levels(x: Any, codes: "DeviceCodes", V: int) -> NDArray[np.int64] | None:
    """Return the number of rows with each of the levels 0, 1, …, V − 1, K × V × d; other values are not counted."""
    if not can_launch(x) or type_name(x) not in ("uint8", "int8", "int16", "int32", "int64") or V > MAX_KERNEL_LEVELS:
        return None
    torch, d, K, order = import_torch(), x.shape[1], len(codes.rows), codes.order
    x = x if x.stride(1) == 1 else x.contiguous()
    unit = 4 if d % 4 == 0 and x.stride(0) % 4 == 0 else 1
    cells, lines = (128, 4) if d <= 128 else (32, 16)
    rows = max(1, cells // d)
    blocks = min(8, MAX_PLACE_ROWS // ceil_div(LABEL_TILE_ROWS * MAX_BLOCK_TILES, lines * rows))

    def count_part(offsets: Any) -> Any:
        groups = ceil_div(len(offsets), blocks)
        out = torch.empty((groups * rows, K, V, d), dtype=torch.int32, device=x.device)
        import_kernels("kernels").count_levels[(K, groups, ceil_div(d, cells) * ceil_div(V, LEVELS_PER_WORD))](
            x, order.rows, offsets, out, len(offsets), order.width, V,
            d, x.stride(0), lines, cells, unit, blocks, not INTERPRETED, num_warps=4,
        )  # fmt: skip
        return out.sum(0)

    most = max(1, MAX_LEVEL_COUNTS // (rows * K * V * d)) * blocks
    return to_numpy(reduce(add, map(count_part, order.offsets.split(most))))


def count_stored(x: Any, codes: Any, K: int, threshold: float | None) -> NDArray[np.int64] | None:
    """Return Σ x of CSR rows, or the number of stored values above the threshold, by class, K×d.

    None unless values are whole numbers from 0 to 65535, or with a threshold finite, and columns in rising order.
    """
    values = x.values()
    if not can_launch(values) or type_name(values) not in ("float32", "float64", "int32", "int64", "uint8", "int16"):
        return None
    limit = 0.0 if threshold is None else threshold
    if type_name(values) == "float64" and float(np.float32(limit)) != limit:  # Triton passes it in single precision
        return None
    torch, (n, d) = import_torch(), x.shape
    rows = 8
    programs = ceil_div(n, rows)
    out = torch.zeros((K, d), dtype=torch.int64, device=values.device)
    bad = torch.empty(programs, dtype=torch.int32, device=values.device)
    import_kernels("kernels").count_stored[(programs,)](
        x.crow_indices(), x.col_indices(), values, codes, out, bad, n, d,
        limit if values.dtype.is_floating_point else math.floor(limit), rows, 64, threshold is not None, num_warps=1,
    )  # fmt: skip
    return None if bool(bad.any()) else to_numpy(out)


def split_single(values: Array) -> NDArray[np.float32]:
    """Return numbers as the nearest of single precision and the rest, 2 × ….

    >>> split_single(np.array([1.0 + 2.0**-30])).tolist()
    [[1.0], [9.313225746154785e-10]]
    """
    near = values.astype(np.float32)
    return np.stack([near, (values - near).astype(np.float32)])


def import_kernels(name: str) -> Any:
    """Import a module of kernels of this package, and with it Triton."""
    return import_module(f"deciban.gpu.{name}")
