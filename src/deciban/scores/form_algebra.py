"""Sums of scores: one form where the sum of forms of a kind is of that kind, else the forms side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.scores.diagonal import Diagonal
from deciban.scores.explanation import Pieces
from deciban.scores.full import Full
from deciban.scores.linear import Barrier, Linear
from deciban.scores.lookup import Lookup, Steps
from deciban.scores.score_form import Boundary, Conic, ScoreForm
from deciban.scores.sparse_linear import SparseLinear
from deciban.scores.table import Table

MOST_WEIGHTS = 1 << 26
"""Weights of classes × words that are written out where a sum of sparse scores has no lists in common: 512 MiB."""


@dataclass(frozen=True, eq=False)
class Summed:
    """score_k(x) = Σ_m score_k of form m: what is said by forms that do not melt into one."""

    forms: tuple[ScoreForm, ...]

    @property
    def n_classes(self) -> int:
        """K."""
        return self.forms[0].n_classes

    def joint(self, X: Any) -> Array:
        """See `ScoreForm.joint`."""
        return reduce(np.add, (form.joint(X) for form in self.forms))

    def pieces(self, X: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        every = [form.pieces(X, k, l) for form in self.forms]
        extras: dict[str, Array] = {}
        for name, value in (extra for piece in every for extra in piece.extras.items()):
            extras[name] = extras.get(name, 0.0) + value
        return Pieces(reduce(lambda a, b: a + b, (piece.features for piece in every)), extras)

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`."""
        lines = [form.linear() for form in self.forms]
        return Boundary(_sum([line.weights for line in lines]), _sum([line.bias for line in lines]))

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        curves = [form.quadratic() for form in self.forms]
        parts = ([getattr(curve, name) for curve in curves] for name in ("A", "weights", "bias"))
        return Conic(*(reduce(np.add, part) for part in parts))


def sum_forms(forms: Sequence[ScoreForm]) -> ScoreForm:
    """The form whose score is the sum of these, all of a kind: exactly, whatever is missing in a row.

    Weights add. Bells multiply to bells: Σ_m −½ t_m (x − μ_m)²/σ²_m is one parabola. Bins are cut wherever
    one of them is.

    >>> two = Diagonal(np.array([[0.0]]), np.array([[1.0]])), Diagonal(np.array([[2.0]]), np.array([[1.0]]))
    >>> form = sum_forms(two)
    >>> form.mean.tolist(), form.variance.tolist()
    ([[1.0]], [[0.5]])
    >>> bool(np.isclose(form.joint(np.array([[3.0]])), sum(one.joint(np.array([[3.0]])) for one in two)).all())
    True
    """
    if len(forms) == 1:
        return forms[0]
    add: Callable[[Any], ScoreForm] = SUMS.get(type(forms[0]), _beside)
    return add(forms)


def _beside(forms: Sequence[ScoreForm]) -> Summed:
    return Summed(tuple(forms))


def _sum_linear(forms: Sequence[Linear]) -> Linear:
    """Weights, offsets and biases add; what one rules out is ruled out."""
    first = forms[0]
    offsets = None
    if any(form.offsets is not None for form in forms):
        offsets = _sum([np.zeros_like(f.weights) if f.offsets is None else f.offsets for f in forms])
    barriers = [form.barrier for form in forms if form.barrier is not None]
    barrier = None
    if barriers:
        either = (np.maximum.reduce([getattr(b, name) for b in barriers]) for name in ("on", "off"))
        barrier = Barrier(*either)
    weights, bias = _sum([form.weights for form in forms]), _sum([form.bias for form in forms])
    return replace(first, weights=weights, bias=bias, offsets=offsets, barrier=barrier)


def _sum_sparse_linear(forms: Sequence[SparseLinear]) -> ScoreForm:
    """As lists where all forms list the same entries and say nothing by absence; else written out."""
    first = forms[0]
    if any(form.hard is not None for form in forms):
        return _beside(forms)
    if all(_alike(form, first) for form in forms):
        t = [1.0 if form.trust is None else float(form.trust[0]) for form in forms]
        delta, slope, scale = (
            _sum([share * getattr(form, name) for share, form in zip(t, forms)])
            for name in ("delta", "slope", "scale")
        )
        bias = _sum([form.bias for form in forms])
        return replace(first, bias=bias, delta=delta, slope=slope, scale=scale, trust=None)
    return _written_out(forms)


def _alike(form: SparseLinear, first: SparseLinear) -> bool:
    """Whether a form has the lists of another, one trust for all words, and nothing to say of absent ones."""
    if form.threshold is not None or form.carrier is not None or not len(form.base):
        return False
    same = all(np.array_equal(getattr(form, name), getattr(first, name)) for name in ("start", "klass", "base"))
    silent, before = (np.zeros(len(first.base), np.bool_) if f.mute is None else f.mute for f in (form, first))
    return (
        same and np.array_equal(silent, before) and (form.trust is None or bool((form.trust == form.trust[0]).all()))
    )


def _written_out(forms: Sequence[SparseLinear]) -> Linear:
    """All K×V weights, and what the absence of each word says as offsets."""
    first = forms[0]
    K, V = first.n_classes, len(first.base)
    if K * V > MOST_WEIGHTS:
        raise InputError(
            f"a sum of scores of {K} classes × {V} words would be written out as {K * V} weights. "
            f"Hint: fewer words or another learner; of arrays, BoostedBayes(algorithm='SAMME') counts votes"
        )
    lines = [form.linear() for form in forms]
    offsets = None
    if first.threshold is not None or first.carrier is not None:
        offsets = _sum([form.absent_words() for form in forms])
    bias = _sum([line.bias for line in lines])
    kept = bias if offsets is None else bias - offsets.sum(axis=1)
    return Linear(_sum([line.weights for line in lines]), kept, offsets, first.threshold, first.carrier)


def _sum_lookup(forms: Sequence[Lookup]) -> ScoreForm:
    first = forms[0]
    if not all(np.array_equal(form.offset, first.offset) for form in forms):
        return _beside(forms)
    return Lookup(_sum([f.log_theta for f in forms]), first.offset, _sum([f.unseen for f in forms]))


def _sum_steps(forms: Sequence[Steps]) -> Steps:
    """Cut wherever a form is; each stretch has the sum of what the forms say of it."""
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
    """P = Σ p, μ = Σ pμ/P, and what is left: Σ ln-norms − ½ Σ p(μ_m − μ)²."""
    precision = _sum([form.precision for form in forms])
    if not (precision > 0).all():
        return _beside(forms)
    mean = _sum([form.mean * (form.precision / precision) for form in forms])
    spread = _sum([form.precision * (form.mean - mean) ** 2 for form in forms])
    own_norm = 0.5 * (np.log(precision) - math.log(2 * math.pi))
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
"""How forms of a kind are added, where they melt into one."""


def scale_form(form: ScoreForm, trust: ArrayLike) -> ScoreForm:
    """The score Σ_j t_j · ln p(x_j|k): one t for all features, or one for each where the score is a sum of theirs.

    Trust 1 is the form itself, trust 0 says nothing, and less than 0 speaks for the other classes. What all classes
    share is left as it is (Σ ln x! of counts). What is scaled is a form of the same kind: it is taken apart, written
    to files and computed by kernels as before.

    >>> coin = Linear(np.log([[0.9], [0.1]]), np.zeros(2))
    >>> np.exp(scale_form(coin, 0.5).joint(np.array([[1.0]]))).round(4).tolist()
    [[0.9487, 0.3162]]
    """
    t = np.asarray(trust, dtype=np.float64)
    if t.ndim > 1 or not np.isfinite(t).all():
        raise InputError(
            f"trust is a finite number, or one for each feature, not {trust!r}. Hint: scale_form(form, 0.5)"
        )
    scale: Callable[[Any, Array], ScoreForm] = SCALED[type(form)]
    return scale(form, t)


def _scale_linear(form: Linear, t: Array) -> Linear:
    each = _each(t, form.weights.shape[1])
    bias = form.bias if t.ndim else form.bias * t  # what is no feature's is trusted as it is
    offsets = None if form.offsets is None else form.offsets * each
    barrier = _scale_barrier(form.barrier, each)
    return replace(form, weights=form.weights * each, bias=bias, offsets=offsets, barrier=barrier)


def _scale_barrier(barrier: Barrier | None, each: Array) -> Barrier | None:
    """What is ruled out by a feature that is trusted."""
    if barrier is None:
        return None
    ruled_out = ((barrier.on > 0) | (barrier.off > 0)).any(axis=0)
    _refuse_infinite(bool((ruled_out & (each < 0)).any()))
    left = Barrier(barrier.on * (each != 0), barrier.off * (each != 0))
    return left if (left.on > 0).any() or (left.off > 0).any() else None


def _scale_sparse_linear(form: SparseLinear, t: Array) -> SparseLinear:
    each = _each(t, len(form.base))
    if form.hard is not None:
        _refuse_infinite(bool((form.hard & (each < 0)).any()))
    bias = form.bias * t if t.ndim == 0 else form.bias + form.sum_absences(each - 1.0)
    return replace(form, bias=bias, trust=each if form.trust is None else form.trust * each)


def _scale_lookup(form: Lookup, t: Array) -> Lookup:
    each = _each(t, len(form.offset) - 1)
    log_theta = _times(form.log_theta, np.repeat(each, np.diff(form.offset)))
    return Lookup(log_theta, form.offset, _times(form.unseen, each))


def _scale_steps(form: Steps, t: Array) -> Steps:
    each = _each(t, len(form.start) - 1)
    return replace(form, log_theta=_times(form.log_theta, np.repeat(each, np.diff(form.start) + 1)))


def _scale_diagonal(form: Diagonal, t: Array) -> Diagonal:
    each = _each(t, form.mean.shape[1])
    trust = each if form.trust is None else form.trust * each
    return replace(form, trust=trust, offsets=None if form.offsets is None else form.offsets * each)


def _scale_whole(form: Full | Table, t: Array) -> Full | Table:
    """A score of all features together has one trust."""
    if t.ndim:
        raise UndefinedError(
            "features that are scored together cannot be trusted one by one: their score is no sum of theirs. "
            "Hint: one number for all of them"
        )
    before = 1.0 if form.trust is None else form.trust
    return replace(form, trust=before * float(t))


def _each(t: Array, d: int) -> Array:
    """One trust for each of d features."""
    if t.ndim and len(t) != d:
        raise InputError(f"there are {len(t)} trusts for {d} features. Hint: one for each, or one number for all")
    return np.array(np.broadcast_to(t, (d,)))


def _times(log_theta: Array, t: Array) -> Array:
    """−∞ times 0 is 0 here: what is not trusted rules nothing out."""
    impossible = np.isneginf(log_theta)
    _refuse_infinite(bool((impossible & (t < 0)).any()))
    return np.where(impossible, np.where(t == 0, 0.0, -np.inf), np.where(impossible, 0.0, log_theta) * t)


def _refuse_infinite(infinite: bool) -> None:
    if infinite:
        raise UndefinedError(
            "what is impossible in a class (a log-probability of −∞) cannot be trusted less than 0: it would "
            "become infinitely probable. Hint: a pseudo-count, alpha > 0, makes log-probabilities finite"
        )


SCALED: dict[type, Callable[[Any, Array], ScoreForm]] = {
    Linear: _scale_linear,
    SparseLinear: _scale_sparse_linear,
    Lookup: _scale_lookup,
    Steps: _scale_steps,
    Diagonal: _scale_diagonal,
    Full: _scale_whole,
    Table: _scale_whole,
}
"""How each kind of form is scaled."""
