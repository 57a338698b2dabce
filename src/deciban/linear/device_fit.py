"""Logistic regression of rows on a GPU: passes over all rows run there.

A sample of the rows is copied to host memory: its minimum starts the search over all rows, and its curvature is the
preconditioner, as in `linear.solvers.lbfgs`, so that a few passes remain.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import limit_products_to_one_core
from deciban.gpu import matrix_launch
from deciban.gpu.sums import row_blocks
from deciban.gpu.tensors import import_torch, on_device, to_device, to_numpy, to_torch
from deciban.linear.design import Dense
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers import lbfgs
from deciban.linear.solvers.logistic import LogisticFit, build_initial_state, prepare_rows, to_original_units

MIN_DEVICE_ROWS = 1 << 17
"""Fewer rows are fitted in host memory."""

MIN_SINGLE_TOLERANCE = 1e-5
"""The smallest tolerance of a search by passes in single precision; for smaller ones they are in double precision."""


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Rows on a device, for a search: codes of their classes, weights or None, and the sample in host memory."""

    x: Any
    codes: Any
    weight: Any
    sample: Rows
    is_single: bool

    @property
    def intercept(self) -> bool:
        """Whether a bias is fitted."""
        return self.sample.intercept

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.x) if self.weight is None else self.weight.sum())

    def is_fitted_perfectly(self, loss: float, tol: float) -> bool:
        """See `Rows.is_fitted_perfectly`: asked only without a penalty, and such fits run in host memory."""
        return False

    def loss_and_gradients(self, ts: Any, bias: Array) -> tuple[float, list[Array], Array]:
        """Return Σ w·ℓ, its gradient for the weights, and that for the bias; of two classes those of the second."""
        (t,) = ts
        block = self.sample.blocks[0]
        unit = np.ones(block.width) if block.unit is None else block.unit
        is_binary = self.sample.n_scores == 1
        weights, offset = (np.vstack([0 * t, t]), np.append(0.0, bias)) if is_binary else (t, bias)
        passed = self._pass_in_single(weights, offset, block.centre, unit) if self.is_single else None
        if passed is None:
            passed = define_pass(self.x, self.codes, self.weight, block.centre, unit, weights, offset)
        loss, sums = passed
        sums = sums[1:] if is_binary else sums
        return loss, [np.ascontiguousarray(sums[:, :-1])], sums[:, -1].copy()

    def _pass_in_single(
        self, weights: Array, bias: Array, centre: Array, unit: Array
    ) -> tuple[float, NDArray[np.float64]] | None:
        """Return the loss and its gradient from the kernel, or None; the bias makes up for the centre's rounding."""
        near = centre.astype(np.float32).astype(np.float64)
        rest = (near - centre) * unit
        block = self.sample.blocks[0]
        scale = matrix_launch.choose_units(block.X.std(axis=0, dtype=np.float64))
        passed = matrix_launch.sum_logistic(
            self.x, self.codes, near, scale, weights * (unit / scale), bias + weights @ rest
        )
        if passed is None:
            return None
        loss, sums = passed
        sums[:, :-1] = sums[:, :-1] * (unit / scale) + sums[:, -1:] * rest
        return loss, sums


def define_pass(
    x: Any, codes: Any, weight: Any, centre: Array, unit: Array, weights: Array, bias: Array
) -> tuple[float, NDArray[np.float64]]:
    """Return Σ w·ℓ and the sums of residuals times g = (x − centre)·unit and of residuals, K×(d+1), in doubles."""
    torch, (K, d) = import_torch(), weights.shape
    c, u, W, b = (to_device(a, x) for a in (centre, unit, weights.T, bias))
    sums = torch.zeros((K, d + 1), dtype=torch.float64, device=x.device)
    loss = torch.zeros((), dtype=torch.float64, device=x.device)
    for block in row_blocks(len(x), d + K):
        gap, code = (x[block].double() - c) * u, codes[block].long()[:, None]
        log_p = torch.log_softmax(gap @ W + b, 1)
        w = 1.0 if weight is None else weight[block][:, None]
        loss -= (log_p.gather(1, code) * w).sum()
        residual = (torch.exp(log_p).scatter_add_(1, code, torch.full_like(log_p[:, :1], -1.0))) * w
        sums[:, :d] += residual.T @ gap
        sums[:, d] += residual.sum(0)
    return float(loss), to_numpy(sums)


def sample_device_rows(n: int, wanted: int) -> NDArray[np.int64]:
    """Return the numbers of `wanted` of n rows, one from each of equal parts, always the same."""
    place = (np.arange(wanted) + np.random.default_rng(0).random(wanted)) * (n / wanted)
    return np.minimum(place.astype(np.int64), n - 1)


def fit_on_device(
    X: Any, codes: Any, weight: Any, n_classes: int, *, l2: float, intercept: bool,
    start: tuple[Array, Array] | None, tol: float, max_iter: int, threads: int,
) -> LogisticFit:  # fmt: skip
    """Fit the weights and bias that minimise Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W², of rows without NaN."""
    x = to_torch(X)
    with on_device(x), limit_products_to_one_core(True):
        index = sample_device_rows(len(x), min(len(x), lbfgs.count_sample_rows(x.shape[1])))
        where = to_device(index, x)
        part = Dense(to_numpy(x[where]).astype(np.float64), l2)
        some_weight = None if weight is None else to_numpy(weight[where])
        some_codes = to_numpy(codes.tensor[where]).astype(np.int32)
        some = prepare_rows([part], some_codes, some_weight, n_classes, intercept, threads)
        rows = DeviceRows(x, codes.tensor, weight, some, weight is None and tol >= MIN_SINGLE_TOLERANCE)
        unit = some.blocks[0].unit
        penalties = [(l2 if unit is None else l2 * unit**2) / rows.total]
        first = build_initial_state([part], some, None if start is None else ([start[0]], start[1]))
        state = lbfgs.minimise_from_sample(rows, some, penalties, first, tol, max_iter)
        loss, _, _ = rows.loss_and_gradients(state.ts, state.bias)
    ts, bias = to_original_units([part], some, state)
    objective = loss + 0.5 * l2 * float((ts[0] ** 2).sum())
    return LogisticFit(tuple(ts), bias, objective, loss, state.n_iter, state.gradient, state.converged, False)
