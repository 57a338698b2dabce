"""Sparse matrices (CSR) in memory. What is not stored is zero; a stored NaN is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.engines.checks import InvalidValue, Rule
from deciban.engines.threads import row_blocks
from deciban.errors import InputError
from deciban.kernels.execution import map_in_threads
from deciban.ledger import Counts, Needs, Statistic, Tallies
from deciban.scores import Linear, ScoreForm, SparseLinear
from deciban.scores.linear import log_factorials
from deciban.scores.posterior import Finish, warn_impossible

BLOCK_SCORES = 1 << 20
"""Scores made at a time: more than for dense rows, for each call first prepares the common words."""

DENSE_CELLS = 1 << 22
"""Counts of more classes × features than this are kept as tallies, by the classes that have a feature."""


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """What the family needs to remember."""
    adds_up = needs.kind == "counts" and needs.signed and needs.threshold is None
    X = checked(X) if adds_up else canonical(X)
    if needs.kind != "counts" or needs.unit or _shows_zeros(needs):
        return _by_dense_blocks(needs, X, codes, weight, n_classes, threads)
    wide = n_classes * X.shape[1] > DENSE_CELLS
    count = _small if fast.load_kernels("tallies", X.nnz) is None or _falls(needs, X) else _large
    part, flaw = count(needs, X, codes, weight, n_classes, wide, threads)
    if flaw < 0:
        return arrays.merged([part])
    if np.isnan(X.data[flaw]) and needs.skips:
        if not wide:
            return _by_dense_blocks(needs, X, codes, weight, n_classes, threads)
        raise InputError(
            f"X has missing values, and a model of {n_classes} classes × {X.shape[1]} features is kept sparse, with "
            f"one weight per class, so it cannot learn them. Hint: leave such rows out, or take fewer features."
        )
    raise bad_value(X, flaw)


def _falls(needs: Needs, X: Any) -> bool:
    """Whether sums go down as well as up; the kernels take a value below zero for a flaw."""
    return needs.signed and needs.threshold is None and bool((X.data < 0).any())


def _small(
    needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, wide: bool, threads: int
) -> tuple[Statistic, int]:
    """By the definition: a K×n matrix of row weights times X."""
    from scipy.sparse import csr_array

    n = X.shape[0]
    w = np.ones(n) if weight is None else weight
    flaw = first_flaw(X, needs)
    total = csr_array((w, (codes, np.arange(n))), shape=(K, n)) @ csr_array(read(X, needs.threshold), dtype=float)
    rows = class_weight(codes, weight, K)
    if not wide:
        return Counts(total.toarray(), rows), flaw
    by_feature = csr_array(total.T)
    by_feature.sort_indices()
    by_feature.eliminate_zeros()
    start, klass = by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.int32)
    return Tallies(start, klass, by_feature.data, rows), flaw


def _large(
    needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, wide: bool, threads: int
) -> tuple[Statistic, int]:
    from deciban.engines import sparse_totals as tally

    rows = class_weight(codes, weight, K)
    bar = fast.as_read(needs.threshold, X.data)
    if wide:
        start, klass, total, flaw = tally.tally_sparse(X, codes, weight, K, bar, threads)
        return Tallies(start, klass, total, rows), flaw
    dense, flaw = tally.tally_dense(X, codes, weight, K, bar, threads)
    return Counts(dense, rows), flaw


def class_weight(codes: Codes, weight: Array | None, K: int) -> Array:
    """The weight of each class's rows, K×1."""
    return np.bincount(codes, weights=weight, minlength=K).astype(np.float64)[:, None]


def _by_dense_blocks(needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, threads: int) -> Statistic:
    """Write out a block of rows at a time, zeros included."""

    fill = fast.load_kernels("summarise", X.shape[0] * X.shape[1])

    def one(block: slice) -> Statistic:
        w = None if weight is None else weight[block]
        return arrays.summarise_block(fill, needs, X[block].toarray(), codes[block], w, K, block.start)

    return arrays.merged(map_in_threads(one, dense_blocks(X), threads))


def dense_blocks(X: Any) -> list[slice]:
    """Blocks of rows that are small when written out."""
    return row_blocks(X.shape[0], max(1, arrays.BLOCK_BYTES // (8 * max(1, X.shape[1]))))


def apply(form: ScoreForm, X: Any, needs: Needs, log_prior: Array, wanted: Finish, threads: int) -> NDArray[Any]:
    """Score all rows and finish them as wanted."""
    X = canonical(X)
    flaw = first_flaw(X, needs)
    missing = flaw >= 0 and np.isnan(X.data[flaw]) and needs.skips
    if flaw >= 0 and not missing:
        raise bad_value(X, flaw)
    product = _has_product(form) and not missing and not needs.unit and not _shows_zeros(needs)
    hard = isinstance(form, SparseLinear) and form.hard is not None
    quick = product and not hard and fast.load_kernels("tallies", X.nnz) is not None
    if quick and wanted == "winner":
        return _winners(form, X, log_prior, threads)
    out = arrays.empty_answer(X.shape[0], len(log_prior), wanted)
    kernels = fast.load_kernels(
        "score", X.nnz * len(log_prior) if product else X.shape[0] * X.shape[1] * len(log_prior)
    )

    def one(block: slice) -> int:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, len(log_prior)))
        if product:
            _joint(form, X[block], log_prior, joint, wanted, quick)
        else:
            rows = [X[block].toarray()]
            arrays.joint_block(kernels, [form], rows, [needs], log_prior, wanted, joint, block.start)
        return arrays.finish_block(kernels, joint, log_prior, wanted, out[block])

    lost = sum(map_in_threads(one, _score_blocks(X, len(log_prior), product), threads))
    if lost:
        warn_impossible(lost)
    return out


def _shows_zeros(needs: Needs) -> bool:
    """Whether what is not stored counts too: zeros lie above a negative threshold."""
    return needs.threshold is not None and needs.threshold < 0


def _score_blocks(X: Any, K: int, product: bool) -> list[slice]:
    """Blocks of rows: few scores each, and few cells where they must be written out."""
    return row_blocks(X.shape[0], max(64, BLOCK_SCORES // K)) if product else dense_blocks(X)


def _has_product(form: ScoreForm) -> bool:
    """Whether a product with the stored entries gives the whole score."""
    if isinstance(form, Linear):
        return form.barrier is None
    return isinstance(form, SparseLinear)


def _joint(form: Any, X: Any, log_prior: Array, joint: Array, wanted: Finish, quick: bool) -> None:
    """ln π_k + ln p(x|k) from the stored entries."""
    if quick:
        _kernel(form, X, log_prior, joint, None, 1)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by `finish_block`
            if isinstance(form, SparseLinear):
                joint[:] = form.sparse_joint(X) + log_prior
            else:
                joint[:] = read(X, form.threshold) @ form.weights.T + (form.whole_bias + log_prior)
    if form.carrier is not None and wanted in ("joint", "density"):
        joint -= _log_factorial(X)[:, None]


def _winners(form: Any, X: Any, log_prior: Array, threads: int) -> NDArray[np.intp]:
    """argmax_k of every row, without a table of rows × classes."""
    best = np.empty(X.shape[0], dtype=np.int32)
    _kernel(form, X, log_prior, None, best, threads)
    return best.astype(np.intp)


def _kernel(
    form: Any, X: Any, log_prior: Array, joint: Array | None, best: NDArray[np.int32] | None, threads: int
) -> None:
    from deciban.engines import sparse_totals as tally

    bar = fast.as_read(form.threshold, X.data)
    if isinstance(form, Linear):
        bias = form.whole_bias + log_prior
        tally.score_dense(X, form.by_feature, bias, bar, joint, threads, winner=best)
    else:
        bias = form.bias + log_prior
        lists = form.start, form.klass, form.delta, bias, form.slope, form.base, form.scale
        if form.trust is not None:
            X, bar = form.trusted(read(X, form.threshold)), None
        tally.score_sparse(X, *lists, bar, joint, threads, winner=best, mute=form.mute)


def _log_factorial(X: Any) -> Array:
    """Σ ln x! of each row; zeros add nothing."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    logs = log_factorials(X.data.astype(np.float64))
    return np.bincount(row, weights=logs, minlength=X.shape[0]).astype(np.float64, copy=False)


def read(X: Any, threshold: float | None) -> Any:
    """The stored entries as they are counted: themselves, or the indicator [x > threshold]."""
    if threshold is None:
        return X
    Z = X.copy()
    Z.data = (X.data > threshold).astype(np.float64)
    return Z


def canonical(X: Any) -> Any:
    """CSR, each entry stored once: an indicator of a sum is no sum of indicators. What was given stays as it is."""
    X = checked(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def checked(X: Any) -> Any:
    """CSR that stores nothing outside its columns; sums need no more, in whatever order it is."""
    X = X.tocsr()
    if X.nnz and not (X.indices.min() >= 0 and X.indices.max() < X.shape[1]):
        raise InputError("X is a broken sparse matrix: it stores values outside its columns. Hint: X.check_format()")
    return X


def first_flaw(X: Any, needs: Needs) -> int:
    """The place of the first stored entry that is not finite, or negative where that has no meaning; −1: none."""
    data = X.data
    if not data.size:
        return -1
    floating = data.dtype.kind == "f"
    if (not floating or np.isfinite(data.sum())) and (needs.signed or data.min() >= 0):
        return -1
    flawed = ~np.isfinite(data) if floating else np.zeros(data.shape, dtype=np.bool_)
    if not needs.signed:
        flawed |= data < 0
    places = np.flatnonzero(flawed)
    return int(places[0]) if places.size else -1


def bad_value(X: Any, place: int) -> InvalidValue:
    """What is wrong with a stored entry, and where."""
    value = float(X.data[place])
    rule: Rule = "missing" if np.isnan(value) else "infinite" if np.isinf(value) else "negative"
    row = int(np.searchsorted(X.indptr, place, side="right")) - 1
    return InvalidValue(rule, row, int(X.indices[place]), value, 1)
