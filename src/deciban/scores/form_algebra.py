"""Sums of score forms, and score forms multiplied by an evidence weight, one for all features or one for each.

The sum of forms of one kind is a form of that kind where this is possible, else a `Summed`.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.scores.bounded_forms import BoundedDiagonal, BoundedRates, LimitedFull
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import LOG_2PI, Diagonal, Full
from deciban.scores.linear import ImpossibleValues, Linear, SparseLinear
from deciban.scores.lookup import Lookup, Steps, Table
from deciban.scores.score_form import Boundary, Conic, ScoreForm

MAX_DENSE_WEIGHTS = 1 << 26
"""Largest number of dense weights (classes × words) of a sum of sparse scores with different entries: 512 MiB."""


@dataclass(frozen=True, eq=False)
class Summed(ScoreForm):
    """The sum of forms whose sum is not of their kind: score_k(x) = Σ_m score_k of form m."""

    forms: tuple[ScoreForm, ...]

    @property
    def n_classes(self) -> int:
        """K."""
        return self.forms[0].n_classes

    def log_likelihoods(self, X: Any) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        return _sum([form.log_likelihoods(X) for form in self.forms])

    def pieces(self, X: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        every = [form.pieces(X, k, l) for form in self.forms]
        extras: dict[str, Array] = {}
        for name, value in (extra for piece in every for extra in piece.extras.items()):
            extras[name] = extras.get(name, 0.0) + value
        return Pieces(reduce(operator.add, (piece.features for piece in every)), extras)

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`."""
        lines = [form.linear() for form in self.forms]
        return Boundary(_sum([line.weights for line in lines]), _sum([line.bias for line in lines]))

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        curves = [form.quadratic() for form in self.forms]
        return Conic(*(_sum([getattr(curve, name) for curve in curves]) for name in ("A", "weights", "bias")))


def sum_forms(forms: Sequence[ScoreForm]) -> ScoreForm:
    """Return the form whose score is the exact sum of these, all of one kind, for rows with missing values too.

    Linear ones must have equal thresholds, limits and carriers; a carrier, which all classes share, is added once.
    Weights add. Products of Gaussians are Gaussians: Σ_m −½ t_m (x − μ_m)²/σ²_m is one parabola. The cuts of bins
    are united.

    >>> two = Diagonal(np.array([[0.0]]), np.array([[1.0]])), Diagonal(np.array([[2.0]]), np.array([[1.0]]))
    >>> form = sum_forms(two)
    >>> form.mean.tolist(), form.variance.tolist()
    ([[1.0]], [[0.5]])
    >>> x = np.array([[3.0]])
    >>> bool(np.isclose(form.log_likelihoods(x), sum(one.log_likelihoods(x) for one in two)).all())
    True
    """
    if len(forms) == 1:
        return forms[0]
    add = SUMS.get(type(forms[0]))
    return Summed(tuple(forms)) if add is None else add(forms)


def _sum_linear(forms: Sequence[Linear]) -> Linear:
    """Add weights, offsets and biases; a value is impossible if it is so in one of the forms."""
    offsets = None
    if any(form.offsets is not None for form in forms):
        offsets = _sum([np.zeros_like(f.weights) if f.offsets is None else f.offsets for f in forms])
    each = [form.impossible for form in forms if form.impossible is not None]
    impossible = None
    if each:
        either = (np.maximum.reduce([getattr(values, name) for values in each]) for name in ("on", "off"))
        impossible = ImpossibleValues(*either)
    weights, bias = _sum([form.weights for form in forms]), _sum([form.bias for form in forms])
    return replace(forms[0], weights=weights, bias=bias, offsets=offsets, impossible=impossible)


def _sum_sparse_linear(forms: Sequence[SparseLinear]) -> ScoreForm:
    """Add as lists if entries are equal and absence has no evidence, else dense; `Summed` if words are impossible."""
    first = forms[0]
    if any(form.hard is not None for form in forms):
        return Summed(tuple(forms))
    if all(_has_equal_entries(form, first) for form in forms):
        t = [1.0 if form.evidence_weight is None else float(form.evidence_weight[0]) for form in forms]
        delta, slope, scale = (
            _sum([share * getattr(form, name) for share, form in zip(t, forms)])
            for name in ("delta", "slope", "scale")
        )
        bias = _sum([form.bias for form in forms])
        return replace(first, bias=bias, delta=delta, slope=slope, scale=scale, evidence_weight=None)
    return _sum_dense(forms)


def _has_equal_entries(form: SparseLinear, first: SparseLinear) -> bool:
    """Return whether a form has the entries of another, one weight for all words, and no evidence of absence."""
    if form.threshold is not None or form.carrier is not None or not len(form.base):
        return False
    weight = form.evidence_weight
    if weight is not None and not (weight == weight[0]).all():
        return False
    mute, first_mute = (np.zeros(len(first.base), np.bool_) if f.mute is None else f.mute for f in (form, first))
    same = (np.array_equal(getattr(form, name), getattr(first, name)) for name in ("start", "class_code", "base"))
    return all(same) and np.array_equal(mute, first_mute)


def _sum_dense(forms: Sequence[SparseLinear]) -> Linear:
    """Return the sum with all K×V weights, the evidence of the absence of words as offsets; refuse too many."""
    first = forms[0]
    K, V = first.n_classes, len(first.base)
    if K * V > MAX_DENSE_WEIGHTS:
        raise InputError(
            f"a sum of scores of {K} classes × {V} words would have {K * V} dense weights. "
            f"Hint: fewer words or another learner; of arrays, BoostedBayes(algorithm='SAMME') counts votes"
        )
    lines = [form.linear() for form in forms]
    offsets = None
    if first.threshold is not None or first.carrier is not None:
        offsets = np.stack([_sum([form.absence_evidence(k) for form in forms]) for k in range(K)])
    bias = _sum([line.bias for line in lines])
    kept = bias if offsets is None else bias - offsets.sum(axis=1)
    return Linear(_sum([line.weights for line in lines]), kept, offsets, first.threshold, first.carrier)


def _sum_lookup(forms: Sequence[Lookup]) -> ScoreForm:
    """Add log-probabilities; a `Summed` where the forms have different levels."""
    first = forms[0]
    if not all(np.array_equal(form.offset, first.offset) for form in forms):
        return Summed(tuple(forms))
    return Lookup(_sum([f.log_theta for f in forms]), first.offset, _sum([f.unseen for f in forms]))


def _sum_steps(forms: Sequence[Steps]) -> Steps:
    """Unite the cuts; each bin has the sum of the forms' scores."""
    cuts, scores = [], []
    for j in range(len(forms[0].start) - 1):
        own = [form.cuts[form.start[j] : form.start[j + 1]] for form in forms]
        every = np.unique(np.concatenate(own))
        inside = [np.concatenate([[0], np.searchsorted(c, every, side="right")]) for c in own]
        scores.append(_sum([f.log_theta[:, f.start[j] + j + at] for f, at in zip(forms, inside)]))
        cuts.append(every)
    start = np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
    K = forms[0].n_classes
    return Steps(np.concatenate([np.zeros(0), *cuts]), start, np.concatenate([np.zeros((K, 0)), *scores], axis=1))


def _sum_diagonal(forms: Sequence[Diagonal]) -> ScoreForm:
    """Compute P = Σ p, μ = Σ pμ/P, and offsets Σ ln-norms − ½ Σ p(μ_m − μ)² − own ln-norm; a `Summed` if P ≤ 0."""
    precision = _sum([form.precision for form in forms])
    if not (precision > 0).all():
        return Summed(tuple(forms))
    mean = _sum([form.mean * (form.precision / precision) for form in forms])
    spread = _sum([form.precision * (form.mean - mean) ** 2 for form in forms])
    own_norm = 0.5 * (np.log(precision) - LOG_2PI)
    offsets = _sum([form.log_norm for form in forms]) - 0.5 * spread - own_norm
    return Diagonal(mean, 1 / precision, None, offsets)


def _sum(arrays: Sequence[Array]) -> Array:
    return reduce(np.add, arrays)


SUMS: dict[type, Callable[[Any], ScoreForm]] = {
    Linear: _sum_linear,
    SparseLinear: _sum_sparse_linear,
    Lookup: _sum_lookup,
    Steps: _sum_steps,
    Diagonal: _sum_diagonal,
}
"""The function that adds forms, by kind."""


def scale_form(form: ScoreForm, weight: ArrayLike) -> ScoreForm:
    """Return the score Σ_j t_j · ln p(x_j|k): one t for all features, or one for each where the score is such a sum.

    The evidence weight t = 1 gives the same score, 0 no evidence, and a negative one evidence for the other classes
    (refused for impossible values). Terms that all classes share stay as they are (Σ ln x! of counts), as does the
    bias with one t for each feature. The result is of the same kind, and is explained, saved and computed as before.
    A `Summed` and scores of pairs cannot be scaled (KeyError); the forms of a sum can, before they are summed.

    >>> coin = Linear(np.log([[0.9], [0.1]]), np.zeros(2))
    >>> np.exp(scale_form(coin, 0.5).log_likelihoods(np.array([[1.0]]))).round(4).tolist()
    [[0.9487, 0.3162]]
    """
    t = np.asarray(weight, dtype=np.float64)
    if t.ndim > 1 or not np.isfinite(t).all():
        raise InputError(
            f"an evidence weight is a finite number, or one for each feature, not {weight!r}. "
            f"Hint: scale_form(form, 0.5)"
        )
    return SCALES[type(form)](form, t)


def _scale_linear(form: Linear, t: Array) -> Linear:
    each = _weight_per_feature(t, form.weights.shape[1])
    bias = form.bias if t.ndim else form.bias * t  # terms of no feature are not scaled by weights of features
    offsets = None if form.offsets is None else form.offsets * each
    impossible = form.impossible
    if impossible is not None:  # those of features with a nonzero weight remain
        ruled_out = (impossible.on > 0) | (impossible.off > 0)
        _refuse_infinite(bool((ruled_out & (each < 0)).any()))
        kept = ImpossibleValues(impossible.on * (each != 0), impossible.off * (each != 0))
        impossible = kept if (ruled_out & (each != 0)).any() else None
    return replace(form, weights=form.weights * each, bias=bias, offsets=offsets, impossible=impossible)


def _scale_sparse_linear(form: SparseLinear, t: Array) -> SparseLinear:
    each = _weight_per_feature(t, len(form.base))
    if form.hard is not None:
        _refuse_infinite(bool((form.hard & (each < 0)).any()))
    if t.ndim == 0:
        bias = form.bias * t
    else:
        bias = form.bias + np.array([form.absence_evidence(k) @ (each - 1.0) for k in range(form.n_classes)])
    return replace(form, bias=bias, evidence_weight=_multiply_weights(form.evidence_weight, each))


def _scale_lookup(form: Lookup, t: Array) -> Lookup:
    each = _weight_per_feature(t, len(form.offset) - 1)
    log_theta = _multiply_log(form.log_theta, np.repeat(each, np.diff(form.offset)))
    return Lookup(log_theta, form.offset, _multiply_log(form.unseen, each))


def _scale_steps(form: Steps, t: Array) -> Steps:
    each = _weight_per_feature(t, len(form.start) - 1)
    return replace(form, log_theta=_multiply_log(form.log_theta, np.repeat(each, np.diff(form.start) + 1)))


def _scale_diagonal(form: Diagonal, t: Array) -> Diagonal:
    each = _weight_per_feature(t, form.mean.shape[1])
    offsets = None if form.offsets is None else form.offsets * each
    return replace(form, evidence_weight=_multiply_weights(form.evidence_weight, each), offsets=offsets)


def _scale_rates(form: BoundedRates, t: Array) -> BoundedRates:
    each = _weight_per_feature(t, form.rate.shape[1])
    return replace(form, evidence_weight=_multiply_weights(form.evidence_weight, each))


def _scale_together(form: Full | Table, t: Array) -> Full | Table:
    """Scale a score of all features together, which has one evidence weight."""
    if t.ndim:
        raise UndefinedError(
            "features that are scored together have one evidence weight: their score is not a sum over features. "
            "Hint: one number for all of them"
        )
    return replace(form, evidence_weight=_multiply_weights(form.evidence_weight, float(t)))


def _multiply_weights(before: Any, by: Any) -> Any:
    """Multiply evidence weights; None is 1."""
    return by if before is None else before * by


def _weight_per_feature(t: Array, d: int) -> Array:
    """Return one evidence weight for each of d features, from one or d of them; refuse another number."""
    if t.ndim and len(t) != d:
        raise InputError(
            f"there are {len(t)} evidence weights for {d} features. Hint: one for each, or one number for all"
        )
    return np.array(np.broadcast_to(t, (d,)))


def _multiply_log(log_theta: Array, t: Array) -> Array:
    """Return log_theta · t, where −∞ · 0 is 0: a feature of weight 0 rules nothing out."""
    impossible = np.isneginf(log_theta)
    _refuse_infinite(bool((impossible & (t < 0)).any()))
    return np.where(impossible, np.where(t == 0, 0.0, -np.inf), np.where(impossible, 0.0, log_theta) * t)


def _refuse_infinite(infinite: bool) -> None:
    """Raise an error if impossible values have a negative evidence weight."""
    if infinite:
        raise UndefinedError(
            "what is impossible in a class (a log-probability of −∞) cannot have an evidence weight below 0: it "
            "would become infinitely probable. Hint: a pseudo-count, alpha > 0, makes log-probabilities finite"
        )


SCALES: dict[type, Callable[[Any, Array], ScoreForm]] = {
    Linear: _scale_linear,
    SparseLinear: _scale_sparse_linear,
    Lookup: _scale_lookup,
    Steps: _scale_steps,
    Diagonal: _scale_diagonal,
    BoundedDiagonal: _scale_diagonal,
    BoundedRates: _scale_rates,
    Full: _scale_together,
    LimitedFull: _scale_together,
    Table: _scale_together,
}
"""The function that scales a form, by kind."""
