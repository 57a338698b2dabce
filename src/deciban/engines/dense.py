"""Dense arrays in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import kernel_dispatch as fast
from deciban.engines.checks import TooLarge, check
from deciban.engines.threads import one_core_products, row_blocks
from deciban.errors import InputError
from deciban.kernels.execution import map_in_threads
from deciban.ledger import Cells, Counts, Grid, Levels, Moments, Needs, Scatter, Statistic
from deciban.ledger.statistic import MAX_SQUARABLE
from deciban.scores import ScoreForm, finish
from deciban.scores.posterior import Finish, warn_impossible

BLOCK_BYTES = 1 << 25
"""Rows are summarised in blocks of this size, whatever the number of threads."""

BLOCK_SCORES = 1 << 16
"""Rows are scored in blocks with about this many scores, which stay in the cache until they are finished."""

FEW_ROWS = 64
"""So few rows are scored at once, without a thought of threads."""


def summarise(
    needs: Needs, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, threads: int
) -> Statistic:
    """What the family needs to remember: a statistic per block of rows, merged in order."""
    size = max(1, BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize))

    fill = fast.load_kernels("summarise", X.size)

    def one(block: slice) -> Statistic:
        w = None if weight is None else weight[block]
        return summarise_block(fill, needs, X[block], codes[block], w, n_classes, block.start)

    with one_core_products(needs.kind == "scatter"):
        return merged(map_in_threads(one, row_blocks(len(X), size), threads))


def merged(parts: Iterable[Statistic]) -> Statistic:
    """The sum of the blocks, in their order; refused where it is too large for a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = reduce(lambda a, b: a + b, parts)
        sums = {name: array.sum() for name, array in whole.arrays().items() if array.dtype.kind == "f"}
    broken = [name for name, total in sums.items() if not np.isfinite(total)]
    if isinstance(whole, (Moments, Scatter)) and np.abs(whole.mean).max(initial=0.0) > MAX_SQUARABLE:
        broken.append("square")
    if broken:
        raise TooLarge(
            f"X holds values so large that their {broken[0]} overflows (a double holds up to 1.8e308). "
            f"Hint: rescale the columns."
        )
    return whole


def summarise_block(
    fill: ModuleType | None,
    needs: Needs,
    X: NDArray[Any],
    codes: Codes,
    weight: Array | None,
    n_classes: int,
    first_row: int,
) -> Statistic:
    """One block: by a kernel if it can, else by the definition, which also finds what is wrong."""
    quick = fast.statistic(fill, needs, X, codes, weight, n_classes)
    if quick is not None:
        return quick
    check(X, needs, first_row, learning=True)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by `merged`
        return define(needs, X, codes, weight, n_classes)


def define(needs: Needs, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Statistic:
    """The statistic by its definition."""
    if needs.kind == "counts":
        return Counts.of(X, codes, weight, n_classes, needs.threshold)
    if needs.kind == "grid":
        return Grid.of(X, codes, weight, n_classes)
    if needs.kind in ("levels", "cells"):
        return (Levels if needs.kind == "levels" else Cells).of(fast.level_codes(X), codes, weight, n_classes)
    return (Moments if needs.kind == "moments" else Scatter).of(X, codes, weight, n_classes)


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[NDArray[Any]],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Score all rows, a block at a time, and finish each block while it is in the cache."""
    n, K = len(parts[0]), len(log_prior)
    out = empty_answer(n, K, wanted)
    whole = out.ndim == 2
    kernels = fast.load_kernels("score", K * sum(part.size for part in parts))

    def one(block: slice) -> int:
        joint = out[block] if whole else np.empty((block.stop - block.start, K))
        joint_block(kernels, forms, [part[block] for part in parts], needs, log_prior, wanted, joint, block.start)
        return finish_block(kernels, joint, log_prior, wanted, out[block])

    size = max(FEW_ROWS, BLOCK_SCORES // K)
    with one_core_products(n > FEW_ROWS and any(need.kind == "scatter" for need in needs)):
        lost = one(slice(0, n)) if n <= size else sum(map_in_threads(one, row_blocks(n, size), threads))
    if lost:
        warn_impossible(lost)
    return out


def empty_answer(n: int, K: int, wanted: Finish) -> NDArray[Any]:
    """Room for the answer."""
    if wanted == "winner":
        return np.empty(n, dtype=np.intp)
    return np.empty(n) if wanted == "density" else np.empty((n, K))


def joint_block(
    kernels: ModuleType | None,
    forms: Sequence[ScoreForm],
    parts: Sequence[NDArray[Any]],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    joint: Array,
    first_row: int,
) -> None:
    """Write ln π_k + Σ ln p(x|k) of a block of rows into `joint`."""
    joint[:] = log_prior
    if all(fast.score(kernels, form, X, need, wanted, joint) for form, X, need in zip(forms, parts, needs)):
        return
    joint[:] = log_prior
    for form, X, need in zip(forms, parts, needs):
        check(X, need, first_row)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by `finish_block`
            joint += form.joint(fast.level_codes(X) if need.kind in ("levels", "cells") else X)


def finish_block(
    kernels: ModuleType | None, joint: Array, log_prior: Array, wanted: Finish, out: NDArray[Any]
) -> int:
    """Finish a block; returns how many rows are impossible under every class."""
    lost = fast.finish(kernels, joint, log_prior, wanted, out)
    if lost is None:
        if np.isnan(joint).any() or np.isposinf(joint).any():
            lost = -1
        else:
            out[:], lost = finish(joint, log_prior, wanted)
    if lost < 0:
        raise InputError(
            "X holds values so large that scores overflow (a double holds up to 1.8e308). Hint: rescale the columns."
        )
    return lost
