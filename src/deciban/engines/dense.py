"""Engine for dense arrays."""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import kernel_dispatch
from deciban.engines.checks import TooLargeError, check
from deciban.engines.kernel_arrays import to_kernel_array, to_level_codes
from deciban.engines.threads import limit_products_to_one_core, split_rows
from deciban.errors import InputError
from deciban.kernels.execution import load_kernels, map_in_threads
from deciban.ledger import Cells, Counts, Grid, Levels, Moments, Needs, Pairs, Scatter, Statistic
from deciban.ledger.statistic import MAX_SQUARABLE
from deciban.scores import Diagonal, ScoreForm, finish
from deciban.scores.posterior import Finish, warn_impossible

DENSE_BLOCK_BYTES = 1 << 25
"""Rows are summarised in blocks of this size, whatever the number of threads."""

DENSE_BLOCK_SCORES = 1 << 16
"""Rows are scored in blocks with about this many scores, which stay in the cache until they are finished."""

FOLD_BLOCK_SCORES = 1 << 17
"""Scores of rows by the models of their folds, computed at a time: a block has to have rows of each of ten folds."""

OVERFLOW = "X holds values so large that scores overflow (a double holds up to 1.8e308). Hint: rescale the columns."

SINGLE_BLOCK_ROWS = 64
"""Up to this many rows are scored in one block, without threads."""


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """Summarise these rows into the statistic that a family needs: one per block of rows, merged in order.

    Of sparse rows each block is copied to a dense one.
    """
    is_sparse = hasattr(X, "tocsr")
    kernels = kernel_dispatch.load_kernels("moments", X.shape[0] * X.shape[1])

    def process(block: slice) -> Statistic:
        """Summarise a block by a kernel if possible, else by the definition, which also finds invalid values."""
        rows = X[block].toarray() if is_sparse else X[block]
        of_block = rows, codes[block], None if weight is None else weight[block], n_classes
        statistic = kernel_dispatch.summarise_by_kernel(kernels, needs, *of_block)
        if statistic is not None:
            return statistic
        check(rows, needs, block.start, learning=True)
        with np.errstate(over="ignore", invalid="ignore"):  # `merge_blocks` refuses overflow
            return summarise_by_definition(needs, *of_block)

    if needs.kind == "pairs":  # their tables are larger than a block of rows
        return merge_blocks([process(slice(0, X.shape[0]))])
    with limit_products_to_one_core(needs.kind == "scatter"):
        return merge_blocks(map_in_threads(process, split_into_blocks(X, 8 if is_sparse else X.itemsize), threads))


def split_into_blocks(X: Any, itemsize: int) -> list[slice]:
    """Split the rows into blocks of `DENSE_BLOCK_BYTES` as dense arrays."""
    return split_rows(X.shape[0], max(1, DENSE_BLOCK_BYTES // max(1, X.shape[1] * itemsize)))


def merge_blocks(statistics: Iterable[Statistic]) -> Statistic:
    """Merge the statistics of blocks in their order; raise an error where sums are too large for a double."""
    with np.errstate(over="ignore", invalid="ignore"):
        merged = reduce(operator.add, statistics)
        sums = {name: array.sum() for name, array in merged.arrays().items() if array.dtype.kind == "f"}
    overflowing = [name for name, total in sums.items() if not np.isfinite(total)]
    if isinstance(merged, (Moments, Scatter)) and np.abs(merged.mean).max(initial=0.0) > MAX_SQUARABLE:
        overflowing.append("square")
    if overflowing:
        raise TooLargeError(
            f"X holds values so large that their {overflowing[0]} overflows (a double holds up to 1.8e308). "
            f"Hint: rescale the columns."
        )
    return merged


def summarise_by_definition(
    needs: Needs, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int
) -> Statistic:
    """Compute the statistic that `needs` names by its definition."""
    if needs.kind == "counts":
        return Counts.of(X, codes, weight, n_classes, needs.threshold)
    if needs.kind == "pairs":
        return Pairs.of(X, codes, weight, n_classes, needs.cells)
    rows = to_level_codes(X) if needs.kind in ("levels", "cells") else X
    kinds: Any = {"grid": Grid, "levels": Levels, "cells": Cells, "moments": Moments, "scatter": Scatter}
    return kinds[needs.kind].of(rows, codes, weight, n_classes)


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[NDArray[Any]],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Compute ln π_k + Σ ln p(x|k) over the blocks of features, finished as wanted, a block of rows at a time."""
    n, K = len(parts[0]), len(log_prior)
    kernels = kernel_dispatch.load_kernels("score", K * sum(part.size for part in parts))
    if kernels is None and n <= SINGLE_BLOCK_ROWS:  # a loop over blocks would take as long as the scores of one row
        joint = score_by_definition(forms, parts, needs, log_prior, 0)
        result, n_impossible = finish_by_definition(joint, log_prior, wanted)
        warn_impossible(n_impossible)
        return result

    def write_joint(block: slice, joint: Array) -> None:
        score_block(kernels, forms, [part[block] for part in parts], needs, log_prior, wanted, joint, block.start)

    blocks = split_rows(n, max(SINGLE_BLOCK_ROWS, DENSE_BLOCK_SCORES // K))
    with limit_products_to_one_core(n > SINGLE_BLOCK_ROWS and any(need.kind == "scatter" for need in needs)):
        return apply_in_blocks(write_joint, blocks, kernels, log_prior, wanted, threads)


def apply_in_blocks(
    write_joint: Callable[[slice, Array], None],
    blocks: Sequence[slice],
    kernels: ModuleType | None,
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Have `write_joint` write ln p(x, k) of each block of rows, and finish it while it is in the cache."""
    K = len(log_prior)
    out = allocate_result(blocks[-1].stop, K, wanted)

    def process(block: slice) -> int:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, K))
        write_joint(block, joint)
        return finish_block(kernels, joint, log_prior, wanted, out[block])

    warn_impossible(sum(map_in_threads(process, blocks, threads)))
    return out


def allocate_result(n: int, K: int, wanted: Finish) -> NDArray[Any]:
    """Allocate the result of `apply` for n rows and K classes: class codes, densities, or n×K scores."""
    if wanted == "winner":
        return np.empty(n, dtype=np.intp)
    return np.empty(n) if wanted == "density" else np.empty((n, K))


def score_block(
    kernels: ModuleType | None,
    forms: Sequence[ScoreForm],
    parts: Sequence[NDArray[Any]],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    joint: Array,
    first_row: int,
) -> None:
    """Write ln π_k + Σ ln p(x|k) of a block of rows into `joint`, up to a shared term unless `wanted` needs it."""
    joint[:] = log_prior
    if all(
        kernel_dispatch.score_by_kernel(kernels, form, X, need, wanted, joint)
        for form, X, need in zip(forms, parts, needs)
    ):
        return
    joint[:] = score_by_definition(forms, parts, needs, log_prior, first_row)


def score_by_definition(
    forms: Sequence[ScoreForm],
    parts: Sequence[NDArray[Any]],
    needs: Sequence[Needs],
    log_prior: Array,
    first_row: int,
) -> Array:
    """Return ln π_k + Σ ln p(x|k) of rows, n×K; refuse invalid values."""
    joint = log_prior
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused when scores are finished
        for form, X, need in zip(forms, parts, needs):
            check(X, need, first_row)
            rows = to_level_codes(X) if need.kind in ("levels", "cells") else X
            joint = joint + form.log_likelihoods(rows)
    return joint


def finish_by_definition(joint: Array, log_prior: Array, wanted: Finish) -> tuple[NDArray[Any], int]:
    """Finish joint scores, see `scores.finish`; refuse overflow."""
    if not joint.max(initial=-np.inf) < np.inf:  # infinite, or NaN
        raise InputError(OVERFLOW)
    return finish(joint, log_prior, wanted)


def finish_block(
    kernels: ModuleType | None, joint: Array, log_prior: Array, wanted: Finish, out: NDArray[Any]
) -> int:
    """Finish joint scores into `out`, refusing overflow; return how many rows are impossible under every class."""
    n_impossible = kernel_dispatch.finish_by_kernel(kernels, joint, log_prior, wanted, out)
    if n_impossible is None:
        out[:], n_impossible = finish_by_definition(joint, log_prior, wanted)
    elif n_impossible < 0:
        raise InputError(OVERFLOW)
    return n_impossible


def apply_by_fold(
    forms: Sequence[ScoreForm], X: Any, log_priors: Array, fold: NDArray[np.int32], wanted: Finish, threads: int
) -> NDArray[Any] | None:
    """Score each row by the form and the log-prior (F×K) of its fold, without copying rows; None where no kernel can.

    Rows of fold −1 are scored by no form: NaN. A row impossible under every class gives None, too.
    """
    F, K = log_priors.shape
    if not isinstance(X, np.ndarray) or not X.size or wanted == "winner":
        return None
    diagonal = [form for form in forms if type(form) is Diagonal]  # not one that is bounded
    fold_kernels, kernels = load_kernels("held_out_scores", K * X.size), load_kernels("score", K * X.size)
    if len(diagonal) < F or fold_kernels is None or kernels is None:
        return None
    mean, precision = np.stack([form.mean for form in diagonal]), np.stack([form.precision for form in diagonal])
    constant = np.stack([form.constant for form in diagonal]) + log_priors
    x, out = to_kernel_array(X), allocate_result(len(X), K, wanted)

    def process(block: slice) -> bool:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, K))
        if not fold_kernels.score_by_fold(x[block], fold[block], mean, precision, constant, joint):
            return False
        if wanted == "joint":
            return True
        unscored = np.flatnonzero(fold[block] < 0)
        joint[unscored] = 0.0
        n_impossible = kernel_dispatch.finish_by_kernel(kernels, joint, log_priors[0], wanted, out[block])
        out[block][unscored] = np.nan
        return n_impossible == 0

    blocks = split_rows(len(X), max(SINGLE_BLOCK_ROWS, FOLD_BLOCK_SCORES // K))
    return out if all(map_in_threads(process, blocks, threads)) else None
