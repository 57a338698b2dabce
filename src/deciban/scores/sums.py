"""Sums of scores: one form where the sum of forms of a kind is of that kind, else the forms side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.scores.diagonal import Diagonal
from deciban.scores.explanation import Pieces
from deciban.scores.linear import Barrier, Linear
from deciban.scores.lookup import Lookup, Steps
from deciban.scores.score_form import Boundary, Conic, ScoreForm
from deciban.scores.sparse_linear import SparseLinear

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


def summed(forms: Sequence[ScoreForm]) -> ScoreForm:
    """The form whose score is the sum of these, all of a kind: exactly, whatever is missing in a row.

    Weights add. Bells multiply to bells: Σ_m −½ t_m (x − μ_m)²/σ²_m is one parabola. Bins are cut wherever
    one of them is.

    >>> two = Diagonal(np.array([[0.0]]), np.array([[1.0]])), Diagonal(np.array([[2.0]]), np.array([[1.0]]))
    >>> form = summed(two)
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


def _linear(forms: Sequence[Linear]) -> Linear:
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


def _sparse_linear(forms: Sequence[SparseLinear]) -> ScoreForm:
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


def _lookup(forms: Sequence[Lookup]) -> ScoreForm:
    first = forms[0]
    if not all(np.array_equal(form.offset, first.offset) for form in forms):
        return _beside(forms)
    return Lookup(_sum([f.log_theta for f in forms]), first.offset, _sum([f.unseen for f in forms]))


def _steps(forms: Sequence[Steps]) -> Steps:
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


def _diagonal(forms: Sequence[Diagonal]) -> ScoreForm:
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
    Linear: _linear,
    SparseLinear: _sparse_linear,
    Lookup: _lookup,
    Steps: _steps,
    Diagonal: _diagonal,
}
"""How forms of a kind are added, where they melt into one."""
