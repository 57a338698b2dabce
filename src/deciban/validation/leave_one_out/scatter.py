"""Full and shared covariances without a row: rank-one corrections (Sherman & Morrison 1950)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.families.covariance import EIGENVALUE_FLOOR
from deciban.families.gaussian import Gaussian, scale, total_variance
from deciban.ledger import Scatter
from deciban.scores import Full
from deciban.validation.leave_one_out.rows import CANCELLED, RowsLeftOut

MARGIN = 4 * EIGENVALUE_FLOOR
"""Eigenvalues beyond this stay above the floor when all rows but one are the yardstick."""


def covariances(family: Gaussian, part: Scatter, form: Full, X: NDArray[Any], rows: RowsLeftOut) -> Array | None:
    """ln p(x|k) by the covariances of all other rows; None where a row changes more than one matrix by rank one."""
    if family.shrinkage is not None or family.prior_rows or not part.complete or np.isnan(X).any():
        return None
    n = part.weight[:, 0, 0]
    spread = _least_eigenvalues(part, form)
    if (n == 0).any() or (spread < MARGIN).any() or (rows.weight > n.sum() / 2).any():
        return None
    rows.todo[:] |= rows.weight >= n[rows.codes] * (1 - CANCELLED)
    out = np.empty((len(X), part.n_classes))
    score = _tied if form.shared else _own
    for some in rows.chunks(part.n_features * (part.n_classes + 1)):
        k, w = rows.codes[some], np.where(rows.todo[some], 0.0, rows.weight[some])
        out[some], kept = score(form, X[some].astype(np.float64, copy=False), k, w, n)
        rows.todo[some] |= kept * spread[0 if form.shared else k] < MARGIN
        rows.todo[some] |= kept < CANCELLED
    return out


def _least_eigenvalues(part: Scatter, form: Full) -> Array:
    """The least eigenvalue of each covariance, with every column on its own scale; −1 where nothing varies."""
    total = total_variance(part.moments)
    if not total.any():
        return np.full(1, -1.0)
    deviation = np.sqrt(scale(total))
    return np.linalg.eigvalsh(form.covariance / np.outer(deviation, deviation)).min(axis=1)


def _own(form: Full, x: Array, k: Codes, w: Array, n: Array) -> tuple[Array, Array]:
    """Each class its own C = nΣ, of which c g gᵀ is taken away: g = x − μ, c = wn/(n − w), q = gᵀC⁻¹g.

    |C'| = |C|(1 − cq), and g'ᵀΣ'⁻¹g' = n²/(n − w) · q/(1 − cq). Also gives 1 − cq.
    """
    score, at, d = form.whole(x), (np.arange(len(x)), k), x.shape[1]
    nk = n[k]
    q = -2 * (score[at] + form.half_log_dets[k]) / nk
    kept = 1 - w * nk / (nk - w) * q
    safe = np.where(kept > 0, kept, 1.0)
    stretch = nk / (nk - w)
    score[at] = -form.half_log_dets[k] - 0.5 * (np.log(safe) + d * np.log(stretch) + stretch * nk * q / safe)
    return score, kept


def _tied(form: Full, x: Array, k: Codes, w: Array, n: Array) -> tuple[Array, Array]:
    """One A = NΣ for all, of which c g gᵀ is taken away: of each class h = x − μ, p = hᵀA⁻¹g.

    h'ᵀΣ'⁻¹h' = (N − w)(hᵀA⁻¹h + c p²/(1 − cq)); of the own class h' = g n/(n − w).
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
