"""Preconditioners: coordinates in which the objective is nearly spherical, so that a search needs few passes.

The Hessian of one class's weights is Σ w_i p(1−p) x xᵀ + l2. Where it is small it is factored (H = L Lᵀ, t = L⁻ᵀ u),
else each weight is scaled by its own diagonal; the interaction of blocks of features, and of classes with many
weights, is left to L-BFGS.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.linear.design import DenseBlock, SharedBlock, SparseBlock
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.logistic_objective import compute_probabilities

MAX_JOINT_WEIGHTS = 400
"""Up to this many weights all classes are factored in one matrix: it costs their cube, and saves passes over rows."""

MAX_FACTORED_COLUMNS = 512
"""Up to this many columns the Hessian of each class is factored."""

MAX_FACTORED_CELLS = 1 << 22
"""Up to this many cells in the Hessians of all classes they are factored."""

MIN_RELATIVE_CURVATURE = 1e-10
"""A direction flatter than this, relative to its column's own curvature, is treated as this flat: no step is
infinite."""

MIN_RELATIVE_CURVATURE_SINGLE = 1e-5
"""The least relative curvature of a direction where the Hessian is in single precision."""


class Preconditioner(NamedTuple):
    """Linear maps between weights t and coordinates u: t = `weights`(u), u = `inverse`(t).

    `gradient` converts a gradient for weights to one for coordinates: it is the transpose of `weights`.
    """

    weights: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    inverse: Callable[[Array], Array]


def precondition_by_factor(factor: Array) -> Preconditioner:
    """Return the preconditioner t = u · factor."""
    return Preconditioner(lambda u: u * factor, lambda g: g * factor, lambda t: t / factor)


def _precondition_by_matrices(inverse_lower: Array, lower: Array) -> Preconditioner:
    """Return t_g = L_g⁻ᵀ u_g for each group g of weights: those of one score, or all of them."""
    n_groups = len(lower)
    return Preconditioner(
        lambda u: (u.reshape(n_groups, 1, -1) @ inverse_lower).reshape(u.shape),
        lambda g: (inverse_lower @ g.reshape(n_groups, -1, 1)).reshape(g.shape),
        lambda t: (t.reshape(n_groups, 1, -1) @ lower).reshape(t.shape),
    )


def _remove_direction(inner: Preconditioner, common: Array) -> Preconditioner:
    """Remove the direction which changes no posterior from a preconditioner: an equal change of all classes' scores.

    `common` is that direction for every feature, M×d or M×1 (M for the bias), of length one; a single score has none.
    The penalty pulls it to zero, and a search that moves along it would take long to return.
    """
    if len(common) == 1:
        return inner

    def project(t: Array) -> Array:
        return np.asarray(t - common * np.sum(common * t, axis=0))

    return Preconditioner(
        lambda u: project(inner.weights(u)), lambda g: inner.gradient(project(g)), lambda t: inner.inverse(project(t))
    )


def _compute_common_direction(n_scores: int, scale: Array | None) -> Array:
    """Return the unit vector that changes all scores equally: t_kj ∝ 1/scale_kj; zero where a scale is zero."""
    if scale is None or np.ndim(scale) == 1:
        return np.full((n_scores, 1), n_scores**-0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.abs(scale).min(axis=0)
        same = least / scale
    return np.where(least > 0, same / np.sqrt(np.sum(same * same, axis=0)), 0.0)


def build_preconditioners(
    rows: Rows, ts: Sequence[Array], bias: Array, l2: Sequence[Array | float]
) -> list[Preconditioner]:
    """Return preconditioners of the blocks and, last, of the bias, from the mean loss's curvature at the weights."""
    p, curvature, bias_curvature = _compute_row_curvature(rows, ts, bias)
    found: list[Preconditioner] = []
    for block, penalty in zip(rows.blocks, l2):
        M, d = curvature.shape[1], block.width
        if isinstance(block, SharedBlock):
            found.append(precondition_by_factor(_compute_diagonal_factor(block, curvature, penalty)))
            continue
        if M > 1 and M * d <= MAX_JOINT_WEIGHTS:
            inner = _factor_jointly(block, p, rows.weight, penalty)
        elif d <= MAX_FACTORED_COLUMNS and M * d * d <= MAX_FACTORED_CELLS:
            inner = _factor_classwise(block, curvature, penalty)
        else:
            inner = precondition_by_factor(_compute_diagonal_factor(block, curvature, penalty))
        found.append(_remove_direction(inner, _compute_common_direction(M, block.scale)))
    return [*found, _precondition_bias(bias_curvature)]


def _precondition_bias(curvature: Array) -> Preconditioner:
    M = len(curvature)
    return _remove_direction(precondition_by_factor(_compute_inverse_root(curvature)), np.full(M, M**-0.5))


def precondition_by_hessians(hessians: Array, bias_curvature: Array, l2: Array | float) -> list[Preconditioner]:
    """Return a preconditioner of one block and one of the bias, from the Hessian of each score's weights, M×d×d."""
    common = _compute_common_direction(len(hessians), None)
    return [_remove_direction(_factor_hessians(hessians, l2), common), _precondition_bias(bias_curvature)]


def compute_diagonal_factors(
    rows: Rows, ts: Sequence[Array], bias: Array, l2: Sequence[Array | float]
) -> list[Array]:
    """Return the factors by which each weight of every block, then each bias, is scaled separately."""
    _, curvature, bias_curvature = _compute_row_curvature(rows, ts, bias)
    blocks = [_compute_diagonal_factor(block, curvature, penalty) for block, penalty in zip(rows.blocks, l2)]
    return [*blocks, _compute_inverse_root(bias_curvature)]


def _compute_row_curvature(rows: Rows, ts: Sequence[Array], bias: Array) -> tuple[Array, Array, Array]:
    """Return p of every row, w·p(1 − p) as a share of all weight, both n×M, and the sum of the latter, M."""
    p = compute_probabilities(rows.scores(ts, bias))
    curvature = p * (1.0 - p)
    if rows.weight is not None:
        curvature *= rows.weight[:, None]
    curvature /= max(rows.total, np.finfo(float).tiny)
    return p, curvature, curvature.sum(axis=0)


def _compute_diagonal_factor(
    block: DenseBlock | SparseBlock | SharedBlock, curvature: Array, l2: Array | float
) -> Array:
    """Return the factor of each weight of a block: one over the root of its own second derivative."""
    squares = block.sum_squares(curvature)
    return _compute_inverse_root((squares if block.scale is None else squares * block.scale**2) + l2)


def _factor_jointly(
    block: DenseBlock | SparseBlock, p: Array, weight: Array | None, l2: Array | float
) -> Preconditioner:
    """Factor Σ w (diag p − p pᵀ) ⊗ x xᵀ + l2 in single precision, which affects only the speed of the search.

    The direction common to all classes has no curvature; it is given that of the columns, and is never used.
    """
    X, M = block.centre_rows(), p.shape[1]
    w = np.full(len(X), 1.0 / len(X)) if weight is None else weight / max(weight.sum(), np.finfo(float).tiny)
    size = np.sqrt(w @ (X * X))
    x = (X / np.where(size > 0, size, 1.0)).astype(np.float32)
    root = np.sqrt(w).astype(np.float32)[:, None]
    p = p.astype(np.float32)
    all_classes = np.hstack([x * (root * p[:, k : k + 1]) for k in range(M)])
    hessian = -np.asarray(all_classes.T @ all_classes, dtype=np.float64)
    d = X.shape[1]
    common = np.asarray((x * root).T @ (x * root), dtype=np.float64) / M**2
    hessian.reshape(M, d, M, d)[:] += common[None, :, None, :]
    for k in range(M):
        own = slice(k * d, (k + 1) * d)
        hessian[own, own] += (x * (root * root * p[:, k : k + 1])).T @ x
    factor = np.tile(size, M) if block.scale is None else (np.broadcast_to(block.scale, (M, d)) * size).ravel()
    hessian *= np.outer(factor, factor)
    penalty = np.tile(np.broadcast_to(l2, d), M)
    inverse, lower = _cholesky_inverse(hessian, penalty, MIN_RELATIVE_CURVATURE_SINGLE)
    return _precondition_by_matrices(inverse[None], lower[None])


def _factor_classwise(block: DenseBlock | SparseBlock, curvature: Array, l2: Array | float) -> Preconditioner:
    """Factor Σ_i curvature_ik x xᵀ + l2 of each class k separately."""
    X, M = block.centre_rows(), curvature.shape[1]
    scale = np.broadcast_to(1.0 if block.scale is None else block.scale, (M, X.shape[1]))
    return _factor_hessians(
        (X.T @ (X * curvature[:, k : k + 1]) * np.outer(scale[k], scale[k]) for k in range(M)), l2
    )


def _factor_hessians(hessians: Iterable[Array], l2: Array | float) -> Preconditioner:
    """Factor H + l2 of each score's weights."""
    pairs = [_cholesky_inverse(hessian, l2) for hessian in hessians]
    return _precondition_by_matrices(*(np.array(matrices) for matrices in zip(*pairs)))


def _cholesky_inverse(
    hessian: Array, l2: Array | float, ridge: float = MIN_RELATIVE_CURVATURE
) -> tuple[Array, Array]:
    """Return L⁻¹ and L, LLᵀ = H + l2 with a ridge, which is relative to each column's own curvature."""
    from scipy.linalg.lapack import dtrtri

    d = len(hessian)
    hessian = hessian + np.diag(np.broadcast_to(l2, d))
    step = _compute_inverse_root(np.diag(hessian))
    even = hessian * np.outer(step, step)
    even[np.diag_indices(d)] += ridge
    try:
        lower = np.linalg.cholesky(even)
    except np.linalg.LinAlgError:
        lower = np.linalg.cholesky(even + np.eye(d))
    inverse, _ = dtrtri(lower, lower=1)
    return np.tril(inverse) * step, lower / step[:, None]


def _compute_inverse_root(curvature: Array) -> Array:
    """Compute 1/√curvature; one where there is no curvature (a constant column), as any step is then right."""
    is_curved = np.isfinite(curvature) & (curvature > np.finfo(float).tiny)
    return np.where(is_curved, 1.0 / np.sqrt(np.where(is_curved, curvature, 1.0)), 1.0)
