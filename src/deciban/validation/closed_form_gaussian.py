"""Leave-one-out in closed form of Gaussians: rank-one changes of moments, and a kernel for many rows."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import dense as arrays
from deciban.engines import is_sparse, kernel_dispatch
from deciban.engines.kernel_arrays import UNIT_WEIGHT, to_kernel_array
from deciban.engines.threads import split_rows
from deciban.families import gaussian
from deciban.families.covariances import EIGENVALUE_FLOOR
from deciban.families.family import log
from deciban.families.gaussian import Gaussian, total_variance
from deciban.generative import GenerativeModel
from deciban.kernels.execution import load_kernels, map_in_threads
from deciban.ledger import Moments, Scatter
from deciban.ledger.double_double import Pair
from deciban.ledger.statistic import divide
from deciban.scores import Diagonal, Full
from deciban.scores.bounded_forms import mix_absent_classes
from deciban.scores.gaussian_forms import LOG_2PI
from deciban.scores.posterior import Finish
from deciban.validation import closed_form
from deciban.validation.closed_form import MIN_REMAINING_SHARE, LeftOutBlock, LeftOutRows, score_without_row
from deciban.validation.closed_form_covariances import MAX_DISTINCT_WEIGHTS, LeftOutCovariances

MIN_SCORE_CHANGE = 1e-10
"""The change of a score by a change of ε that the kernel takes into account."""

MAX_DIRECT_OPERATIONS = 10**11
"""The number of rows times classes times d³ up to which each row's own matrices are factorised: about a minute."""

FLOOR_DISTANCE_FACTOR = 1e7
"""The factor by which all variances exceed their floor where the kernel ignores it."""

EIGENVALUE_MARGIN = 4 * EIGENVALUE_FLOOR
"""Eigenvalues above this stay above the floor if a row is left out of the scale."""


@score_without_row.register
def _score_gaussian(family: Gaussian, block: LeftOutBlock) -> Array | None:
    if family.n_components is not None:  # the axes change with every row
        return None
    X = block.X.toarray() if is_sparse(block.X) else block.X
    if family.has_pairs:
        return _score_covariances(family, block.part, block.form, X, block.rows)
    return _score_diagonal(family, block.part, X, block.rows)


def score_by_kernel(
    model: GenerativeModel, X: Any, codes: Codes, weight: Array | None, wanted: Finish, threads: int
) -> tuple[Array, NDArray[np.bool_]] | None:
    """Score many rows of independent Gaussians by a kernel; None where it does not apply.

    Returns what is wanted of each row, and which rows need a refit.
    """
    family: Any = model.assumption.families[0]
    part: Any = model.complete.parts[0]
    form: Any = model.solved.forms[0]
    if not isinstance(X, np.ndarray) or not X.size or not _is_kernel_applicable(family, part, form):
        return None
    K = form.n_classes
    loops, scoring = load_kernels("held_out_scores", K * X.size), kernel_dispatch.load_kernels("score", K * X.size)
    if loops is None or scoring is None:
        return None
    prior_moves, weights, log_pi = _find_prior_weights(model)
    n = part.weight[:, 0]
    spread = total_variance(part)
    total = np.stack([gaussian.pooled_mean(part), spread * n.sum()])
    known = (
        n, form.mean, part.m2, form.variance, form.precision, form.constant, family.var_smoothing,
        float(family.epsilon(part)), total, weights, prior_moves, log_pi, MIN_SCORE_CHANGE,
    )  # fmt: skip
    x, w = to_kernel_array(X), UNIT_WEIGHT if weight is None else weight
    out, needs_refit = arrays.allocate_result(len(X), K, wanted), np.zeros(len(X), dtype=np.bool_)

    def score_block(block: slice) -> bool:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, K))
        if not loops.score_leaving_one_out(x[block], codes[block], w[block], *known, joint, needs_refit[block]):
            return False
        return wanted == "joint" or kernel_dispatch.finish_by_kernel(scoring, joint, log_pi, wanted, out[block]) == 0

    blocks = split_rows(len(X), max(arrays.SINGLE_BLOCK_ROWS, arrays.DENSE_BLOCK_SCORES // K))
    return (out, needs_refit) if all(map_in_threads(score_block, blocks, threads)) else None


def _is_kernel_applicable(family: Any, part: Any, form: Any) -> bool:
    """Return whether a row changes its own class alone, except for ε, and no variance is near the floor."""
    if not (isinstance(family, Gaussian) and isinstance(part, Moments) and isinstance(form, Diagonal)):
        return False
    if family.covariance != "diagonal" or family.shrinkage is not None or family.prior_rows or family.bounded:
        return False
    if part.weight.shape[1] > 1 or not (part.weight > 0).all():
        return False
    total = total_variance(part)
    if not total.any():
        return False
    if family.var_smoothing >= 10 * gaussian.VARIANCE_FLOOR:  # ε is above the floor of every column
        return True
    return bool((form.variance > FLOOR_DISTANCE_FACTOR * gaussian.VARIANCE_FLOOR * total).all() and (total > 0).all())


def _find_prior_weights(model: GenerativeModel) -> tuple[bool, Array, Array]:
    """Return whether the prior changes with a row, its weights, and their logarithm (or ln π where it is fixed)."""
    prior, rows = model.assumption.prior, model.complete.rows
    if prior.is_fixed:
        return False, rows, model.solved.log_prior
    weights = rows + (prior.alpha if prior.kind == "smoothed" else 0.0)
    return True, weights, log(weights)


def _score_diagonal(family: Gaussian, part: Moments, X: NDArray[Any], rows: LeftOutRows) -> Array:
    """Compute Σ_j ln p(x_j|k) of each row, by the moments of all others; NaN is left out."""
    out = np.empty((len(X), part.n_classes))
    for some in rows.split_into_chunks(part.mean.size):
        x = X[some].astype(np.float64, copy=False)
        others, cancelled = _exclude_from_moments(part, x, rows.codes[some], rows.weight[some])
        rows.needs_refit[some] |= cancelled
        gap = x[:, None, :] - gaussian.means(others)
        variance = family.variances(others)
        with np.errstate(over="ignore"):  # beyond about 1e154 deviations the density is zero
            terms = -0.5 * (LOG_2PI + np.log(variance) + gap * gap / variance)
        if family.bounded:
            bounded = np.maximum(terms, family.log_tails(others)[:, None, :])
            terms = mix_absent_classes(bounded, gaussian.class_shares(others))
        out[some] = np.where(np.isnan(gap), 0.0, terms).sum(axis=2)
    return out


def _exclude_from_moments(part: Moments, x: Array, k: Codes, w: Array) -> tuple[Moments, NDArray[np.bool_]]:
    """Return the moments without each row, c×K×d, and which of them have lost too many digits.

    Rank one: with n' = n − w, mean' = mean − (x − mean) w/n' and M2' = M2 − (x − mean)² w n/n'.
    """
    c, K, d = len(x), part.n_classes, part.n_features
    at = np.arange(c), k
    n, mean, rest, m2 = (np.broadcast_to(a, (c, K, d)).copy() for a in (part.weight, part.mean, part.rest, part.m2))
    here = ~np.isnan(x)
    removed = w[:, None] * here
    gap = np.where(here, (x - mean[at]) - rest[at], 0.0)
    before, squares = n[at], m2[at]
    n[at] = closed_form.subtract_weight(before, removed)
    mean[at], rest[at] = Pair(mean[at], rest[at]).plus(Pair.of(-gap * divide(removed, n[at])))
    m2[at] = np.maximum(squares - gap * gap * removed * divide(before, n[at]), 0.0)
    cancelled = (m2[at] < MIN_REMAINING_SHARE * squares) & (removed > 0)
    return Moments(n, mean, rest, m2), np.asarray(cancelled.any(axis=1))


def _score_covariances(
    family: Gaussian, part: Scatter, form: Full, X: NDArray[Any], rows: LeftOutRows
) -> Array | None:
    """Compute ln p(x|k) by the covariances of all other rows, by rank-one corrections (Sherman & Morrison 1950).

    None where a row changes them otherwise, by the intensity of "oas" or by limits of values; if cells are missing,
    a class has no rows, a covariance is nearly singular, or a row has more than half of the weight.
    """
    changes_all = family.shrinkage == "oas" or (family.bounded and family.prior_rows)
    if changes_all or not part.complete or np.isnan(X).any():
        return None
    n = part.weight[:, 0, 0]
    spread = _find_min_eigenvalues(part, form)
    if (n == 0).any() or (spread < EIGENVALUE_MARGIN).any() or (rows.weight > n.sum() / 2).any():
        return None
    rows.needs_refit[:] |= rows.weight >= n[rows.codes] * (1 - MIN_REMAINING_SHARE)
    if family.shrinkage is not None or family.prior_rows or family.covariance == "mixed":
        return _score_mixed(family, part, form, X, rows, spread)
    out = np.empty((len(X), part.n_classes))
    score = _score_tied if form.shared else _score_full
    for some in rows.split_into_chunks(part.n_features * (part.n_classes + 1)):
        k, w = rows.codes[some], np.where(rows.needs_refit[some], 0.0, rows.weight[some])
        out[some], kept = score(form, X[some].astype(np.float64, copy=False), k, w, n)
        rows.needs_refit[some] |= kept * spread[0 if form.shared else k] < EIGENVALUE_MARGIN
        rows.needs_refit[some] |= kept < MIN_REMAINING_SHARE
    return out


def _score_mixed(
    family: Gaussian, part: Scatter, form: Full, X: NDArray[Any], rows: LeftOutRows, spread: Array
) -> Array | None:
    """Compute ln p(x|k) by mixed or shrunk covariances of all other rows; None where that would take too long."""
    (n, d), K = X.shape, part.n_classes
    safe = LeftOutRows(rows.codes, np.where(rows.needs_refit, 0.0, rows.weight), rows.needs_refit)
    shares = np.array([0.0 if family.shrinkage is None else float(family.shrinkage)])
    family = family if shares.any() else replace(family, shrinkage_target="diagonal")  # no target: units of columns
    is_direct = bool(shares.any()) and family.shrinkage_target == "diagonal"
    left_out = LeftOutCovariances(family, part, X.astype(np.float64, copy=False), safe, shares)
    if is_direct or len(np.unique(safe.weight)) > MAX_DISTINCT_WEIGHTS:
        if n * K * d**3 > MAX_DIRECT_OPERATIONS:
            return None
        scores, log_dets = left_out.score_directly()
    else:
        scores, log_dets = left_out.score_by_eigenvalues()
    before = 2 * form.half_log_dets - d * LOG_2PI + d * np.log(left_out.stretch)[:, None]
    rows.needs_refit[:] |= ~(log_dets[0] - before + np.log(spread) > np.log(EIGENVALUE_MARGIN)).all(axis=1)
    return scores[0]


def _find_min_eigenvalues(part: Scatter, form: Full) -> Array:
    """Return the least eigenvalue of each covariance of scaled columns; −1 where no column varies."""
    if not total_variance(part.moments).any():
        return np.full(1, -1.0)
    deviation = np.sqrt(gaussian.scale_variances(part.moments))
    return np.linalg.eigvalsh(form.covariance / np.outer(deviation, deviation)).min(axis=1)


def _score_full(form: Full, x: Array, k: Codes, w: Array, n: Array) -> tuple[Array, Array]:
    """Score by a covariance of each class, C = nΣ, from which c g gᵀ is subtracted.

    g = x − μ, c = wn/(n − w), q = gᵀC⁻¹g; |C'| = |C|(1 − cq), and g'ᵀΣ'⁻¹g' = n²/(n − w) · q/(1 − cq). Also returns
    1 − cq.
    """
    score, at, d = form.score_complete(x), (np.arange(len(x)), k), x.shape[1]
    nk = n[k]
    q = -2 * (score[at] + form.half_log_dets[k]) / nk
    kept = 1 - w * nk / (nk - w) * q
    safe = np.where(kept > 0, kept, 1.0)
    stretch = nk / (nk - w)
    score[at] = -form.half_log_dets[k] - 0.5 * (np.log(safe) + d * np.log(stretch) + stretch * nk * q / safe)
    return score, kept


def _score_tied(form: Full, x: Array, k: Codes, w: Array, n: Array) -> tuple[Array, Array]:
    """Score by one covariance of all classes, A = NΣ, from which c g gᵀ is subtracted.

    For each class h = x − μ, p = hᵀA⁻¹g; h'ᵀΣ'⁻¹h' = (N − w)(hᵀA⁻¹h + c p²/(1 − cq)); for the own class
    h' = g n/(n − w). Also returns 1 − cq.
    """
    N, at, d = n.sum(), (np.arange(len(x)), k), x.shape[1]
    z = (x - form.centre) @ form.all_whitens.T
    h = z[:, None, :] - form.whitened_means
    g = h[at]
    square, p = np.einsum("ikj,ikj->ik", h, h) / N, np.einsum("ikj,ij->ik", h, g) / N
    nk = n[k]
    c = w * nk / (nk - w)
    kept = 1 - c * square[at]
    safe = np.where(kept > 0, kept, 1.0)
    far = square + (c / safe)[:, None] * p * p
    far[at] = (nk / (nk - w)) ** 2 * square[at] / safe
    shape = form.half_log_dets[0] + 0.5 * (np.log(safe) + d * np.log(N / (N - w)))
    return -shape[:, None] - 0.5 * (N - w)[:, None] * far, kept
