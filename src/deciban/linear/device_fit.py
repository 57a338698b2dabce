"""Logistic regression of rows on a GPU: every pass over rows runs there.

As in `linear.solvers.lbfgs`, the minimum over a sample of the rows starts the search over all of them, and the
curvature of a sample is the preconditioner, so that a few passes remain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu import matrix_launch
from deciban.gpu.sums import row_blocks
from deciban.gpu.tensors import import_torch, on_device, to_device, to_numpy, to_torch
from deciban.linear.solvers.lbfgs import PreconditionedObjective, State, choose_rough_tolerance, search
from deciban.linear.solvers.logistic import LogisticFit
from deciban.linear.solvers.logistic_objective import contrast, count_scores
from deciban.linear.solvers.preconditioner import MAX_FACTORED_CELLS, Preconditioner, precondition_by_hessians

MIN_DEVICE_ROWS = 1 << 17
"""Fewer rows are fitted in host memory."""

MAX_DEVICE_COLUMNS = 512
"""Rows with more columns are fitted in host memory."""

MIN_SINGLE_TOLERANCE = 1e-5
"""The smallest tolerance of a search by passes in single precision; for smaller ones they are in double precision."""

DEVICE_START_ROWS = 1 << 18
"""Rows whose minimum starts the search over all rows."""

CURVATURE_SAMPLE_ROWS = 1 << 14
"""Rows whose curvature is the preconditioner."""


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """Rows on a device, for a search: codes of their classes, weights or None, the centre and unit of each column.

    The features are g = (x − centre)·unit. There are M scores, one for two classes.
    """

    x: Any
    codes: Any
    weight: Any
    centre: Array
    unit: Array
    n_scores: int
    intercept: bool
    is_single: bool

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.x) if self.weight is None else self.weight.sum())

    def take_sample(self, wanted: int) -> "DeviceRows":
        """Return about as many rows as wanted, at equal distances."""
        step = max(1, len(self.x) // wanted)
        weight = None if self.weight is None else self.weight[::step].contiguous()
        return replace(self, x=self.x[::step], codes=self.codes[::step].contiguous(), weight=weight)

    def is_fitted_perfectly(self, loss: float, tol: float) -> bool:
        """See `Rows.is_fitted_perfectly`: it is asked without a penalty, and such fits run in host memory."""
        return False

    def loss_and_gradients(self, ts: Sequence[Array], bias: Array) -> tuple[float, list[Array], Array]:
        """Return Σ w·ℓ, its gradient for the weights, and that for the bias; of two classes those of the second."""
        (t,) = ts
        is_binary = self.n_scores == 1
        weights, offset = (np.vstack([0 * t, t]), np.append(0.0, bias)) if is_binary else (t, bias)
        passed = self._sum_losses_in_single(weights, offset) if self.is_single else None
        loss, sums = sum_losses_in_double(self, weights, offset) if passed is None else passed
        sums = sums[1:] if is_binary else sums
        return loss, [np.ascontiguousarray(sums[:, :-1])], sums[:, -1].copy()

    def _sum_losses_in_single(self, weights: Array, bias: Array) -> tuple[float, NDArray[np.float64]] | None:
        """Return Σ ℓ and its gradients, K×(d+1), from the kernel; None where it does not support these rows.

        The bias makes up for the rounding of the centre to single precision.
        """
        near = self.centre.astype(np.float32).astype(np.float64)
        rest = (near - self.centre) * self.unit
        passed = matrix_launch.sum_logistic(self.x, self.codes, near, self.unit, weights, bias + weights @ rest)
        if passed is not None:
            passed[1][:, :-1] += passed[1][:, -1:] * rest
        return passed

    def build_preconditioners(self, state: State, l2: Array) -> list[Preconditioner]:
        """Return the preconditioners of the weights and of the bias, from the mean loss's curvature at a state."""
        torch = import_torch()
        gap = (self.x.double() - to_device(self.centre, self.x)) * to_device(self.unit, self.x)
        score = gap @ to_device(state.ts[0].T, self.x) + to_device(state.bias, self.x)
        p = torch.sigmoid(score) if self.n_scores == 1 else torch.softmax(score, 1)
        curvature = p * (1 - p) / self.total * (1.0 if self.weight is None else self.weight[:, None])
        bias_curvature = curvature.sum(0)
        if self.n_scores * gap.shape[1] ** 2 > MAX_FACTORED_CELLS:  # one Hessian for all classes
            curvature = curvature.mean(1, keepdim=True).expand(-1, 1)
        hessians = to_numpy(torch.stack([gap.T @ (gap * column[:, None]) for column in curvature.T]))
        hessians = np.broadcast_to(hessians, (self.n_scores, *hessians.shape[1:]))
        return precondition_by_hessians(hessians, to_numpy(bias_curvature), l2)


def sum_losses_in_double(rows: DeviceRows, weights: Array, bias: Array) -> tuple[float, NDArray[np.float64]]:
    """Return Σ w·ℓ and the sums of residuals times g and of residuals, K×(d+1), in double precision."""
    torch, (K, d), x = import_torch(), weights.shape, rows.x
    c, u, W, b = (to_device(a, x) for a in (rows.centre, rows.unit, weights.T, bias))
    sums = torch.zeros((K, d + 1), dtype=torch.float64, device=x.device)
    loss = torch.zeros((), dtype=torch.float64, device=x.device)
    for block in row_blocks(len(x), d + K):
        gap, code = (x[block].double() - c) * u, rows.codes[block].long()[:, None]
        log_p = torch.log_softmax(gap @ W + b, 1)
        w = 1.0 if rows.weight is None else rows.weight[block][:, None]
        loss -= (log_p.gather(1, code) * w).sum()
        residual = torch.exp(log_p).scatter_add_(1, code, torch.full_like(log_p[:, :1], -1.0)) * w
        sums[:, :d] += residual.T @ gap
        sums[:, d] += residual.sum(0)
    return float(loss), to_numpy(sums)


def fit_on_device(
    X: Any, codes: Any, weight: Any, n_classes: int, *, l2: float, intercept: bool,
    start: tuple[Array, Array] | None, tol: float, max_iter: int,
) -> LogisticFit:  # fmt: skip
    """Fit the weights and bias that minimise Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W², of rows without NaN.

    `codes` are `DeviceCodes`; `start` are weights and bias of the features as given.
    """
    x = to_torch(X)
    with on_device(x):
        rows = _prepare_rows(x, codes, weight, count_scores(n_classes), intercept, tol)
        state = _minimise(rows, l2 * rows.unit**2 / rows.total, _choose_start(rows, codes, start), tol, max_iter)
        loss, _, _ = rows.loss_and_gradients(state.ts, state.bias)
    t = state.ts[0] * rows.unit
    bias = state.bias - t @ rows.centre
    bias = bias - bias.mean() if rows.n_scores > 1 and intercept else bias
    objective = loss + 0.5 * l2 * float((t * t).sum())
    return LogisticFit((t,), bias, objective, loss, state.n_iter, state.gradient, state.converged, False)


def _prepare_rows(x: Any, codes: Any, weight: Any, M: int, intercept: bool, tol: float) -> DeviceRows:
    """Return the rows for a search, the centre and the unit of every column chosen from a sample."""
    d, is_single = x.shape[1], weight is None and tol >= MIN_SINGLE_TOLERANCE
    rows = DeviceRows(x, codes.tensor, weight, np.zeros(d), np.ones(d), M, intercept, is_single)
    some = rows.take_sample(CURVATURE_SAMPLE_ROWS).x.double()
    centre = some.mean(0) if intercept else some.new_zeros(d)
    deviation = (some - centre).square().mean(0).sqrt()
    return replace(rows, centre=to_numpy(centre), unit=matrix_launch.choose_units(to_numpy(deviation)))


def _choose_start(rows: DeviceRows, codes: Any, start: tuple[Array, Array] | None) -> State:
    """Return the given start in the units of the rows; if there is none, zero weights and the class log-odds."""
    if start is not None:
        weights = np.asarray(start[0], dtype=np.float64).reshape(rows.n_scores, -1)
        bias = np.asarray(start[1], dtype=np.float64).reshape(-1) if rows.intercept else np.zeros(rows.n_scores)
        return State([weights / rows.unit], bias + weights @ rows.centre)
    counts = codes.sum_weights(rows.weight) + 0.5
    bias = contrast(np.log(counts / counts.sum())) if rows.intercept else np.zeros(rows.n_scores)
    return State([np.zeros((rows.n_scores, rows.x.shape[1]))], bias)


def _minimise(rows: DeviceRows, l2: Array, state: State, tol: float, max_iter: int) -> State:
    """Minimise the mean objective, over a sample first; `l2` is divided by the weight of all rows."""
    sample = rows.take_sample(CURVATURE_SAMPLE_ROWS)

    def search_over(part: DeviceRows, state: State, tol: float) -> State:
        def build(at: State) -> PreconditionedObjective:
            return PreconditionedObjective(part, [l2], sample.build_preconditioners(at, l2), [*at.ts, at.bias])

        return search(build, state, tol, max_iter)

    some = rows.take_sample(DEVICE_START_ROWS)
    present = import_torch().unique(some.codes)
    if len(some.x) < len(rows.x) and len(present) == max(rows.n_scores, 2):
        found = search_over(some, state, max(tol, choose_rough_tolerance(state.ts[0].size, len(some.x))))
        state = State(found.ts, found.bias)
    return search_over(rows, state, tol)
