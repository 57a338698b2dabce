"""Coordinates in which the objective is nearly a sphere, so that a search needs few passes.

The Hessian of one class's weights is Σ w_i p(1−p) x xᵀ + l2. Where it is small it is taken apart (H = L Lᵀ,
t = L⁻ᵀ u), else each weight is measured by its own diagonal; what blocks of features, and classes of many weights,
have to do with each other is left to L-BFGS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deciban._typing import Array
from deciban.linear.feature_scaling import DenseBlock, SharedBlock, SparseBlock
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.logistic_objective import probabilities

MOST_TOGETHER = 400
"""Up to so many weights the classes are taken apart together: it costs their cube, and spares passes over rows."""

MOST_COLUMNS = 512
MOST_CELLS = 1 << 22
"""Up to so many columns, and so many cells in the Hessians of all classes, they are taken apart."""

FLAT = 1e-10
"""A direction flatter than this, beside its column's own curvature, is taken for so flat: no step is infinite."""


BLURRED = 1e-5
"""The same where the Hessian is in single precision."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """t = u · factor."""

    factor: Array

    def weights(self, u: Array) -> Array:
        """From these coordinates."""
        return u * self.factor

    gradient = weights

    def inverse(self, t: Array) -> Array:
        """Into these coordinates."""
        return t / self.factor


@dataclass(frozen=True, slots=True)
class Whitened:
    """t_k = L_k⁻ᵀ u_k. `back` is L⁻¹, `lower` L, one of each a score."""

    back: Array
    lower: Array

    def weights(self, u: Array) -> Array:
        """From these coordinates."""
        return np.einsum("kij,ki->kj", self.back, u)

    def gradient(self, g: Array) -> Array:
        """The gradient for these coordinates."""
        return np.einsum("kij,kj->ki", self.back, g)

    def inverse(self, t: Array) -> Array:
        """Into these coordinates."""
        return np.einsum("kij,ki->kj", self.lower, t)


@dataclass(frozen=True, slots=True)
class Levelled:
    """Coordinates without what no score can tell: something added to a feature's effect on every class alike.

    `common` is that direction for every feature, M×d and of length one; the penalty wants none of it, and a search
    that strays there would be long in coming back.
    """

    inner: Scaled | Whitened | Together
    common: Array

    def weights(self, u: Array) -> Array:
        """From these coordinates."""
        return levelled(self.inner.weights(u), self.common)

    def gradient(self, g: Array) -> Array:
        """The gradient for these coordinates."""
        return self.inner.gradient(levelled(g, self.common))

    def inverse(self, t: Array) -> Array:
        """Into these coordinates."""
        return self.inner.inverse(levelled(t, self.common))


@dataclass(frozen=True, slots=True)
class Together:
    """t = L⁻ᵀ u for the weights of all classes in one."""

    back: Array
    lower: Array

    def weights(self, u: Array) -> Array:
        """From these coordinates."""
        return np.asarray(u.ravel() @ self.back).reshape(u.shape)

    def gradient(self, g: Array) -> Array:
        """The gradient for these coordinates."""
        return np.asarray(self.back @ g.ravel()).reshape(g.shape)

    def inverse(self, t: Array) -> Array:
        """Into these coordinates."""
        return np.asarray(t.ravel() @ self.lower).reshape(t.shape)


Coordinates = Scaled | Whitened | Together | Levelled


def levelled(t: Array, common: Array) -> Array:
    """Without its share of the common direction."""
    return np.asarray(t - common * np.sum(common * t, axis=0))


def common_direction(n_scores: int, scale: Array | None) -> Array:
    """What changes all classes' scores alike, of length one: t_kj = 1/scale_kj; nothing where a scale is zero."""
    if scale is None or np.ndim(scale) == 1:
        return np.full((n_scores, 1), n_scores**-0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.abs(scale).min(axis=0)
        same = least / scale
    return np.where(least > 0, same / np.sqrt(np.sum(same * same, axis=0)), 0.0)


def coordinates(rows: Rows, ts: Sequence[Array], bias: Array, l2: Sequence[Array | float]) -> list[Coordinates]:
    """For every block and for the bias, by the curvature of the mean loss over these rows at these weights."""
    said, curve, of_bias = _curvature(rows, ts, bias)
    found: list[Coordinates] = []
    for block, held in zip(rows.blocks, l2):
        if isinstance(block, SharedBlock):
            found.append(_shared(block, curve, held))
            continue
        M, d = curve.shape[1], block.X.shape[1]
        if M > 1 and M * d <= MOST_TOGETHER:
            inner: Scaled | Whitened | Together = _together(block, said, rows.weight, held)
        elif d <= MOST_COLUMNS and M * d * d <= MOST_CELLS:
            inner = _whitened(block, curve, held)
        else:
            inner = _scaled(block, curve, held)
        found.append(inner if M == 1 else Levelled(inner, common_direction(M, block.scale)))
    return [*found, _of_bias(of_bias)]


def diagonal(rows: Rows, ts: Sequence[Array], bias: Array, l2: Sequence[Array | float]) -> list[Scaled]:
    """The same, each weight by itself alone."""
    _, curve, of_bias = _curvature(rows, ts, bias)
    blocks = [
        _shared(block, curve, held) if isinstance(block, SharedBlock) else _scaled(block, curve, held)
        for block, held in zip(rows.blocks, l2)
    ]
    return [*blocks, Scaled(_steps(of_bias))]


def _curvature(rows: Rows, ts: Sequence[Array], bias: Array) -> tuple[Array, Array, Array]:
    """p of every row, w·p(1 − p) as a share of all weight, and its sum."""
    said = probabilities(rows.scores(ts, bias))
    curve = said * (1.0 - said)
    if rows.weight is not None:
        curve *= rows.weight[:, None]
    curve /= max(rows.total, np.finfo(float).tiny)
    return said, curve, curve.sum(axis=0)


def _of_bias(curvature: Array) -> Coordinates:
    M = len(curvature)
    inner = Scaled(_steps(curvature))
    return inner if M == 1 else Levelled(inner, np.full(M, M**-0.5))


def _scaled(block: DenseBlock | SparseBlock, curve: Array, l2: Array | float) -> Scaled:
    squares = block.squares(curve)
    return Scaled(_steps((squares if block.scale is None else squares * block.scale**2) + l2))


def _together(block: DenseBlock | SparseBlock, said: Array, weight: Array | None, l2: Array | float) -> Together:
    """Σ w (diag p − p pᵀ) ⊗ x xᵀ + l2 in single precision: it decides how fast the search is, not where it ends.

    What no score can tell has no curvature; it is given that of the columns, and is never asked for.
    """
    X, M = block.centred(), said.shape[1]
    w = np.full(len(X), 1.0 / len(X)) if weight is None else weight / max(weight.sum(), np.finfo(float).tiny)
    size = np.sqrt(w @ (X * X))
    x = (X / np.where(size > 0, size, 1.0)).astype(np.float32)
    root = np.sqrt(w).astype(np.float32)[:, None]
    said = said.astype(np.float32)
    all_classes = np.hstack([x * (root * said[:, k : k + 1]) for k in range(M)])
    hessian = -np.asarray(all_classes.T @ all_classes, dtype=np.float64)
    d = X.shape[1]
    even = np.asarray((x * root).T @ (x * root), dtype=np.float64) / M**2
    hessian.reshape(M, d, M, d)[:] += even[None, :, None, :]
    for k in range(M):
        own = slice(k * d, (k + 1) * d)
        hessian[own, own] += (x * (root * root * said[:, k : k + 1])).T @ x
    factor = np.tile(size, M) if block.scale is None else (np.broadcast_to(block.scale, (M, d)) * size).ravel()
    hessian *= np.outer(factor, factor)
    return Together(*_apart(hessian, np.tile(np.broadcast_to(l2, d), M), BLURRED))


def _whitened(block: DenseBlock | SparseBlock, curve: Array, l2: Array | float) -> Whitened:
    X = block.centred()
    scale = (
        np.ones((curve.shape[1], X.shape[1]))
        if block.scale is None
        else np.broadcast_to(block.scale, (curve.shape[1], X.shape[1]))
    )
    pairs = [
        _apart(X.T @ (X * curve[:, k : k + 1]) * np.outer(scale[k], scale[k]), l2) for k in range(curve.shape[1])
    ]
    return Whitened(np.array([back for back, _ in pairs]), np.array([lower for _, lower in pairs]))


def _shared(block: SharedBlock, curve: Array, l2: Array | float) -> Scaled:
    squares = np.einsum("ijk,ik->j", block.values**2, curve)
    return Scaled(_steps(squares + l2))


def _apart(hessian: Array, l2: Array | float, flat: float = FLAT) -> tuple[Array, Array]:
    """L⁻¹ and L of H + l2, each column first measured by its own curvature."""
    from scipy.linalg.lapack import dtrtri

    d = len(hessian)
    hessian = hessian + np.diag(np.broadcast_to(l2, d))
    step = _steps(np.diag(hessian))
    even = hessian * np.outer(step, step)
    even[np.diag_indices(d)] += flat
    try:
        lower = np.linalg.cholesky(even)
    except np.linalg.LinAlgError:
        lower = np.linalg.cholesky(even + np.eye(d))
    back, _ = dtrtri(lower, lower=1)
    return np.tril(back) * step, lower / step[:, None]


def _steps(curvature: Array) -> Array:
    """1/√curvature; where there is none (a constant column) one, for then any step will do."""
    known = np.isfinite(curvature) & (curvature > np.finfo(float).tiny)
    return np.where(known, 1.0 / np.sqrt(np.where(known, curvature, 1.0)), 1.0)
