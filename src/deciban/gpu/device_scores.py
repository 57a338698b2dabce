"""Scores of rows on a device: Gaussian ones of single precision by a kernel, all others by definitions in torch."""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu import launch, matrix_launch
from deciban.gpu.sums import row_blocks
from deciban.gpu.tensors import import_torch, is_above, round_threshold, to_device, to_numpy, type_name
from deciban.scores import Diagonal, Full, Linear, Lookup, ScoreForm

MAX_CENTRED_SQUARES = 256.0
"""The largest Σ_j (μ_kj − c_j)² / 2σ²_kj at which scores are multiplied out in single precision. Scores are
differences of such numbers, and about 1e-7 of them is their error."""

MAX_DOUBLE_SQUARES = 4096.0
"""The largest Σ_j (μ_kj − c_j)² / 2σ²_kj at which scores are multiplied out in double precision: 1e-16 of it is far
below 1e-11."""


def has_definition(form: ScoreForm) -> bool:
    """Return whether the form has a definition on a device; others are applied in host memory."""
    if type(form) in (Diagonal, Full):
        return getattr(form, "evidence_weight", None) is None
    return type(form) in (Lookup, Linear)


def count_terms(form: ScoreForm) -> int:
    """Return the number of terms that are held for one row."""
    if isinstance(form, Lookup):
        return len(form.offset) + form.n_classes
    if isinstance(form, Full):
        return max(len(form.all_whitens), form.n_classes)
    width = form.mean.shape[1] if isinstance(form, Diagonal) else form.weights.shape[1]  # type: ignore[attr-defined]
    return int(width) + form.n_classes


def make_scorer(form: ScoreForm, x: Any) -> Callable[[Any], Any]:
    """Return the function that computes ln p(x|k) of rows in double precision, with its numbers on the device."""
    makers: dict[type, Any] = {
        Diagonal: _make_diagonal_scorer,
        Full: _make_full_scorer,
        Linear: _make_linear_scorer,
        Lookup: _make_lookup_scorer,
    }
    return makers[type(form)](form, x)


def _make_diagonal_scorer(form: Diagonal, x: Any) -> Callable[[Any], Any]:
    """Multiply squares and values about a centre by the weights of the classes; NaN is left out."""
    torch, centre = import_torch(), form.mean.mean(axis=0)
    shift = form.mean - centre
    half_squares = 0.5 * form.precision * shift**2
    if not half_squares.sum(axis=1).max() <= MAX_DOUBLE_SQUARES:
        return _define_diagonal(form, x)
    numbers = centre, -0.5 * form.precision.T, (form.precision * shift).T, (form.log_norm - half_squares).T
    c, square, slope, offset = (to_device(a, x) for a in numbers)
    constant = offset.sum(0)

    def score(rows: Any) -> Any:
        gap = rows.double() - c
        missing = torch.isnan(gap)
        some = bool(missing.any())
        gap = torch.where(missing, 0.0, gap) if some else gap
        joint = torch.addmm((~missing).double() @ offset if some else constant, gap, slope)
        joint = joint.addmm_(gap * gap, square)
        far = ~torch.isfinite(joint).all(1)  # squares overflow
        if bool(far.any()):
            joint[far] = _define_diagonal(form, x)(rows[far])
        return joint

    return score


def _define_diagonal(form: Diagonal, x: Any) -> Callable[[Any], Any]:
    """Sum the squares of the distances from the mean of each class, of a few rows at a time."""
    torch = import_torch()
    mean, precision, log_norm = (to_device(a, x) for a in (form.mean, form.precision, form.log_norm))

    def score_block(rows: Any) -> Any:
        gap = rows.double()[:, None, :] - mean
        return torch.where(torch.isnan(gap), 0.0, log_norm - 0.5 * precision * gap * gap).sum(2)

    return lambda rows: torch.cat([score_block(rows[block]) for block in row_blocks(len(rows), form.mean.size)])


def _make_full_scorer(form: Full, x: Any) -> Callable[[Any], Any]:
    """Whiten the rows for every class by one product; rows with missing values are scored in host memory."""
    torch, K, d = import_torch(), form.n_classes, form.mean.shape[1]
    numbers = form.centre, form.all_whitens.T, form.whitened_means, form.half_log_dets
    centre, whiten, means, half_log_dets = (to_device(a, x) for a in numbers)

    def score(rows: Any) -> Any:
        z = ((rows.double() - centre) @ whiten).reshape(len(rows), -1, d)
        joint = -0.5 * ((z - means) ** 2).sum(2) - half_log_dets
        missing = torch.isnan(rows).any(1) if rows.dtype.is_floating_point else torch.zeros(1, device=rows.device)
        if bool(missing.any()):  # by the marginal distribution of the values that a row has: few are expected
            joint[missing] = to_device(form.log_likelihoods(to_numpy(rows[missing])), x)
        return torch.nan_to_num(joint.expand(len(rows), K), nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)

    return score


def _make_linear_scorer(form: Linear, x: Any) -> Callable[[Any], Any]:
    """Multiply the values by the weights of the classes; NaN is left out, with its offset."""
    torch = import_torch()
    offsets = np.zeros_like(form.weights) if form.offsets is None else form.offsets
    weights, bias, complete = to_device(form.weights.T, x), to_device(form.bias, x), to_device(form.complete_bias, x)
    offset = to_device(offsets.T, x)

    def score(rows: Any) -> Any:
        values = _read_values(form, rows)
        missing = torch.isnan(values)
        known = torch.where(missing, 0.0, values)
        joint = known @ weights + (bias + (~missing).double() @ offset if bool(missing.any()) else complete)
        if form.carrier is not None:
            joint -= torch.lgamma(known + 1).sum(1)[:, None]
        if form.impossible is not None:
            on, off = to_device(form.impossible.on.T, x), to_device(form.impossible.off.T, x)
            count = (known != 0).double() @ on + (values < 1).double() @ off
            joint = torch.where(count > 0, -torch.inf, joint)
        return joint

    return score


def _read_values(form: Linear, rows: Any) -> Any:
    """Return the values that a linear score uses: indicators, or values within the limits, in double precision."""
    torch = import_torch()
    if form.threshold is not None:
        seen = is_above(rows, round_threshold(form.threshold, rows)).double()
        return torch.where(torch.isnan(rows), torch.nan, seen) if rows.dtype.is_floating_point else seen
    values = rows.double()
    if form.limits is not None:
        low, high = to_device(form.limits, rows)
        values = torch.where(torch.isfinite(values), torch.clamp(values, low, high), values)
    return values


def _make_lookup_scorer(form: Lookup, x: Any) -> Callable[[Any], Any]:
    """Sum the rows of one table, of known levels, of unseen ones, and a last row of zeros for missing values."""
    torch = import_torch()
    by_level, unseen = form.by_level
    table = to_device(np.concatenate([by_level, unseen, np.zeros((1, form.n_classes))]), x)
    sizes, starts = to_device(np.diff(form.offset), x), to_device(form.offset[:-1], x)
    beyond = to_device(len(by_level) + np.arange(len(unseen)), x)
    nothing = len(by_level) + len(unseen)

    def score(rows: Any) -> Any:
        missing = torch.isnan(rows) | (rows < 0) if rows.dtype.is_floating_point else rows < 0
        known = torch.where(missing, 0, rows)
        level = (known.double() if rows.dtype.is_floating_point else known.long()).clamp(max=1 << 30).long()
        at = torch.where(missing, nothing, torch.where(level < sizes, starts + level, beyond))
        return torch.nn.functional.embedding_bag(at, table, mode="sum")

    return score


def finish(joint: Any, log_prior: Any, wanted: str) -> tuple[Any, Any]:
    """Return scores finished as `scores.finish` does, and which rows are impossible; None for joint and density."""
    torch = import_torch()
    if wanted == "joint":
        return joint, None
    if wanted == "density":
        return torch.logsumexp(joint, 1), None
    impossible = joint.amax(1) == -torch.inf
    joint = torch.where(impossible[:, None], log_prior, joint)
    if wanted == "winner":
        return joint.argmax(1), impossible
    log_posterior = torch.log_softmax(joint, 1)
    return log_posterior if wanted == "log_posterior" else torch.exp(log_posterior), impossible


def score_by_kernel(form: ScoreForm, x: Any, log_prior: Array, wanted: str, out: Any) -> bool:
    """Write finished Gaussian scores of rows of single precision to `out`; return whether a kernel could."""
    if type(form) is not Diagonal or not launch.can_launch(x) or type_name(x) not in launch.SMALL_TYPES:
        return False
    weights = _find_weights(form, x, log_prior)
    return weights is not None and matrix_launch.score_gaussian(x, weights, wanted, out)


_WEIGHTS: WeakKeyDictionary[Diagonal, tuple[Any, Array, Any]] = WeakKeyDictionary()
"""The device, the log-prior and the weights of the last scores of each form: making them takes 0.1 ms."""


def _find_weights(form: Diagonal, x: Any, log_prior: Array) -> matrix_launch.GaussianWeights | None:
    """Return the weights of a form on the device of x; None where a kernel's scores would not be accurate."""
    device, prior, weights = _WEIGHTS.get(form, (None, None, None))
    if device != x.device or prior is not log_prior:
        weights = _make_weights(form, x, log_prior)
        _WEIGHTS[form] = x.device, log_prior, weights
    return weights


def _make_weights(form: Diagonal, x: Any, log_prior: Array) -> matrix_launch.GaussianWeights | None:
    """Return the weights of squares and values about a centre, those of all classes less those of the widest one."""
    (K, d), centre = form.mean.shape, form.mean.mean(axis=0).astype(np.float32)
    shift = form.mean - centre
    half_squares = 0.5 * (form.precision * shift**2).sum(axis=1)
    is_wide = d > matrix_launch.MAX_SCORED_COLUMNS or K > matrix_launch.MAX_SCORED_CLASSES
    if is_wide or half_squares.max() > MAX_CENTRED_SQUARES:
        return None
    widest = form.precision.argmin(axis=0)
    square, slope = (
        _contrast_with_widest(-0.5 * form.precision, widest),
        _contrast_with_widest(form.precision * shift, widest),
    )
    constant = log_prior + form.constant - half_squares
    constant = np.append(constant - constant.max(), constant.max())
    unit = matrix_launch.choose_units(np.sqrt(form.variance).mean(axis=0))
    return matrix_launch.GaussianWeights.of(x, centre, unit, square, slope, constant)


def _contrast_with_widest(weights: Array, widest: NDArray[np.intp]) -> Array:
    """Return the weights of the classes less those of the widest class of each column, then these, (K+1)×d.

    The weights of its squares are the smallest, so no sum of the two is smaller than what is added: less the mean
    over classes, ln p(x|k) of a class 100 times as wide as another was wrong by 6e-4 of itself.
    """
    shared = weights[widest, np.arange(weights.shape[1])]
    return np.concatenate([weights - shared, shared[None]])
