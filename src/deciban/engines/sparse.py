"""Engine for sparse rows (CSR), alone or together with dense blocks. A cell not stored is zero; NaN is missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import dense, kernel_dispatch
from deciban.engines.checks import InvalidValueError, Rule
from deciban.engines.kernel_arrays import round_threshold
from deciban.engines.threads import split_rows
from deciban.errors import InputError
from deciban.ledger import Counts, Needs, Statistic, Tallies
from deciban.scores import Linear, ScoreForm, SparseLinear
from deciban.scores.linear import log_factorials
from deciban.scores.posterior import Finish

SPARSE_BLOCK_SCORES = 1 << 20
"""Scores computed at a time: more than for dense rows, as each call first prepares the common words."""

DENSE_CELLS = 1 << 22
"""Counts of more classes × features than this are kept as tallies, a list of classes per feature."""


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """Summarise rows into the statistic that a family needs.

    Whatever is not a plain sum of stored entries is computed by the dense engine. Tallies refuse missing values;
    any other invalid entry raises `InvalidValueError`.
    """
    adds_up = needs.kind == "counts" and needs.signed and needs.threshold is None
    X = to_checked_csr(X) if adds_up else to_canonical_csr(X)
    if needs.kind != "counts" or needs.unit or is_zero_counted(needs):
        return dense.summarise(needs, X, codes, weight, n_classes, threads)
    as_tallies = n_classes * X.shape[1] > DENSE_CELLS
    use_kernel = kernel_dispatch.load_kernels("tallies", X.nnz) is not None
    if adds_up and (X.data < 0).any():  # sums with negative terms, which the kernels would report as invalid
        use_kernel = False
    rows = needs, X, codes, weight, n_classes, as_tallies
    sums, invalid = _count_by_kernel(*rows, threads) if use_kernel else _count_by_product(*rows)
    if invalid < 0:
        class_weights = np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)[:, None]
        statistic: Any = Tallies if as_tallies else Counts
        return dense.merge_blocks([statistic(*sums, class_weights)])
    if np.isnan(X.data[invalid]) and needs.skips:
        if not as_tallies:
            return dense.summarise(needs, X, codes, weight, n_classes, threads)
        raise InputError(
            f"X has missing values, and a model of {n_classes} classes × {X.shape[1]} features is kept sparse, with "
            f"one weight per class, so it cannot learn them. Hint: leave such rows out, or take fewer features."
        )
    raise invalid_entry_error(X, invalid)


def _count_by_product(
    needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, as_tallies: bool
) -> tuple[Any, int]:
    """Count by the definition, a K×n matrix of row weights times X; with `as_tallies` as lists of classes.

    Returns the arrays of the counts, and the index that `find_suspect_entry` returns; if not −1, ignore the counts.
    """
    from scipy.sparse import csr_array

    n = X.shape[0]
    w = np.ones(n) if weight is None else weight
    invalid = find_suspect_entry(X, needs)
    values = csr_array(to_indicators(X, needs.threshold), dtype=float)
    total = csr_array((w, (codes, np.arange(n))), shape=(K, n)) @ values
    if not as_tallies:
        return (total.toarray(),), invalid
    by_feature = csr_array(total.T)
    by_feature.sort_indices()
    by_feature.eliminate_zeros()
    return (by_feature.indptr.astype(np.int64), by_feature.indices.astype(np.int32), by_feature.data), invalid


def _count_by_kernel(
    needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, as_tallies: bool, threads: int
) -> tuple[Any, int]:
    """Return the arrays of counts by a kernel, and the index of the first entry that is invalid for it, or −1.

    Invalid are entries that are not finite, and negative ones unless there is a threshold.
    """
    from deciban.engines import sparse_totals

    threshold = round_threshold(needs.threshold, X.data)
    tally: Any = sparse_totals.tally_sparse if as_tallies else sparse_totals.tally_dense
    *sums, invalid = tally(X, codes, weight, K, threshold, threads)
    return sums, invalid


def apply(form: ScoreForm, X: Any, needs: Needs, log_prior: Array, wanted: Finish, threads: int) -> NDArray[Any]:
    """Score all rows and finish them as wanted; raise `InvalidValueError` at an invalid entry."""
    X = to_canonical_csr(X)
    invalid = find_suspect_entry(X, needs)
    missing = invalid >= 0 and np.isnan(X.data[invalid]) and needs.skips
    if invalid >= 0 and not missing:
        raise invalid_entry_error(X, invalid)
    # whether a product with the stored entries gives all of the score
    product = isinstance(form, SparseLinear) or (isinstance(form, Linear) and form.impossible is None)
    product = product and not missing and not needs.unit and not is_zero_counted(needs)
    is_hard = isinstance(form, SparseLinear) and form.hard is not None
    use_kernel = product and not is_hard and kernel_dispatch.load_kernels("tallies", X.nnz) is not None
    if use_kernel and wanted == "winner":  # without a table of rows × classes
        best = np.empty(X.shape[0], dtype=np.int32)
        _score_by_kernel(form, X, log_prior, None, best, threads)
        return best.astype(np.intp)
    K = len(log_prior)
    kernels = kernel_dispatch.load_kernels("score", K * (X.nnz if product else X.shape[0] * X.shape[1]))

    def write_joint(block: slice, joint: Array) -> None:
        if product:
            _write_joint(form, X[block], log_prior, joint, wanted, use_kernel)
        else:
            rows = [X[block].toarray()]
            dense.score_block(kernels, [form], rows, [needs], log_prior, wanted, joint, block.start)

    blocks = split_rows(X.shape[0], max(64, SPARSE_BLOCK_SCORES // K)) if product else dense.split_into_blocks(X, 8)
    return dense.apply_in_blocks(write_joint, blocks, kernels, log_prior, wanted, threads)


def apply_mixed(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Score rows of sparse and dense blocks, some rows at a time: first the dense blocks, then each sparse one."""
    blocks = list(zip(forms, parts, needs))
    sparse_blocks = [(form, to_canonical_csr(X), need) for form, X, need in blocks if hasattr(X, "tocsr")]
    dense_blocks = [block for block in blocks if not hasattr(block[1], "tocsr")]
    n, K = parts[0].shape[0], len(log_prior)
    work = K * (sum(X.nnz for _, X, _ in sparse_blocks) + sum(X.size for _, X, _ in dense_blocks))
    kernels = kernel_dispatch.load_kernels("score", work)

    def write_joint(rows: slice, joint: Array) -> None:
        dense_forms = [form for form, _, _ in dense_blocks]
        dense_rows = [X[rows] for _, X, _ in dense_blocks]
        dense_needs = [need for _, _, need in dense_blocks]
        dense.score_block(kernels, dense_forms, dense_rows, dense_needs, log_prior, wanted, joint, rows.start)
        for form, X, need in sparse_blocks:
            joint += apply(form, X[rows], need, np.zeros(K), "joint", 1)

    row_blocks = split_rows(n, max(64, SPARSE_BLOCK_SCORES // K))
    return dense.apply_in_blocks(write_joint, row_blocks, kernels, log_prior, wanted, threads)


def is_zero_counted(needs: Needs) -> bool:
    """Return whether cells that are not stored count too: zeros lie above a negative threshold."""
    return needs.threshold is not None and needs.threshold < 0


def _write_joint(form: Any, X: Any, log_prior: Array, joint: Array, wanted: Finish, use_kernel: bool) -> None:
    """Write ln π_k + ln p(x|k), from the stored entries, into `joint`; with the carrier only if `wanted` needs it."""
    if use_kernel:
        _score_by_kernel(form, X, log_prior, joint, None, 1)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by `finish_block`
            if isinstance(form, SparseLinear):
                joint[:] = form.log_likelihoods_without_carrier(X) + log_prior
            else:
                joint[:] = to_indicators(X, form.threshold) @ form.weights.T + (form.complete_bias + log_prior)
    if form.carrier is not None and wanted in ("joint", "density"):
        joint -= _sum_log_factorials(X)[:, None]


def _score_by_kernel(
    form: Any, X: Any, log_prior: Array, joint: Array | None, best: NDArray[np.int32] | None, threads: int
) -> None:
    """Write ln π_k + ln p(x|k), without the carrier, into `joint`, and the best classes into `best`, unless None."""
    from deciban.engines import sparse_totals

    threshold = round_threshold(form.threshold, X.data)
    if isinstance(form, Linear):
        bias = form.complete_bias + log_prior
        sparse_totals.score_dense(X, form.by_feature, bias, threshold, joint, threads, winner=best)
    else:
        bias = form.bias + log_prior
        lists = form.start, form.class_code, form.delta, bias, form.slope, form.base, form.scale
        if form.evidence_weight is not None:
            X, threshold = form.apply_evidence_weight(to_indicators(X, form.threshold)), None
        sparse_totals.score_sparse(X, *lists, threshold, joint, threads, winner=best, mute=form.mute)


def _sum_log_factorials(X: Any) -> Array:
    """Return Σ ln x! of each CSR row; zeros add nothing."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    logs = log_factorials(X.data.astype(np.float64))
    return np.bincount(row, weights=logs, minlength=X.shape[0]).astype(np.float64, copy=False)


def to_indicators(X: Any, threshold: float | None) -> Any:
    """Return X, or a copy with the indicators [x > threshold] of its stored entries: 0 for NaN."""
    if threshold is None:
        return X
    Z = X.copy()
    Z.data = (X.data > threshold).astype(np.float64)
    return Z


def to_canonical_csr(X: Any) -> Any:
    """Convert to CSR with duplicates summed: an indicator of a sum is not a sum of indicators.

    X is not modified; if it has this form already, it is returned itself.
    """
    X = to_checked_csr(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def to_checked_csr(X: Any) -> Any:
    """Convert to CSR, with duplicates and in any order; refuse a matrix that stores entries outside its columns."""
    X = X.tocsr()
    if X.nnz and not (X.indices.min() >= 0 and X.indices.max() < X.shape[1]):
        raise InputError("X is a broken sparse matrix: it stores values outside its columns. Hint: X.check_format()")
    return X


def find_suspect_entry(X: Any, needs: Needs) -> int:
    """Return the index of the first stored entry that is NaN, infinite, or negative where that is invalid.

    It is −1 if there is none. The caller decides whether NaN is a missing value or an error.
    """
    data = X.data
    if not data.size:
        return -1
    floating = data.dtype.kind == "f"
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = not floating or np.isfinite(data.sum())
    if is_finite and (needs.signed or data.min() >= 0):
        return -1
    is_suspect = ~np.isfinite(data)
    if not needs.signed:
        is_suspect |= data < 0
    indices = np.flatnonzero(is_suspect)
    return int(indices[0]) if indices.size else -1


def invalid_entry_error(X: Any, index: int) -> InvalidValueError:
    """Return an error that names the rule, row and column of the invalid entry `X.data[index]`."""
    value, column = float(X.data[index]), int(X.indices[index])
    rule: Rule = "missing" if np.isnan(value) else "infinite" if np.isinf(value) else "negative"
    row = int(np.searchsorted(X.indptr, index, side="right")) - 1
    own = X.data[X.indices == column]
    broken = np.isnan(own) if rule == "missing" else np.isinf(own) if rule == "infinite" else own < 0
    return InvalidValueError(rule, row, column, value, int(broken.sum()))
