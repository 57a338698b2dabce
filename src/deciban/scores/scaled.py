"""Scores that count more or less: a form times a trust, of the whole or of each feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.scores.diagonal import Diagonal
from deciban.scores.full import Full
from deciban.scores.linear import Barrier, Linear
from deciban.scores.lookup import Lookup, Steps
from deciban.scores.score_form import ScoreForm
from deciban.scores.sparse_linear import SparseLinear
from deciban.scores.table import Table


def scaled(form: ScoreForm, trust: ArrayLike) -> ScoreForm:
    """The score Σ_j t_j · ln p(x_j|k): one t for all features, or one for each where the score is a sum of theirs.

    Trust 1 is the form itself, trust 0 says nothing, and less than 0 speaks for the other classes. What all classes
    share is left as it is (Σ ln x! of counts). What is scaled is a form of the same kind: it is taken apart, written
    to files and computed by kernels as before.

    >>> coin = Linear(np.log([[0.9], [0.1]]), np.zeros(2))
    >>> np.exp(scaled(coin, 0.5).joint(np.array([[1.0]]))).round(4).tolist()
    [[0.9487, 0.3162]]
    """
    t = np.asarray(trust, dtype=np.float64)
    if t.ndim > 1 or not np.isfinite(t).all():
        raise InputError(f"trust is a finite number, or one for each feature, not {trust!r}. Hint: scaled(form, 0.5)")
    scale: Callable[[Any, Array], ScoreForm] = SCALED[type(form)]
    return scale(form, t)


def _linear(form: Linear, t: Array) -> Linear:
    each = _each(t, form.weights.shape[1])
    bias = form.bias if t.ndim else form.bias * t  # what is no feature's is trusted as it is
    offsets = None if form.offsets is None else form.offsets * each
    barrier = _barrier(form.barrier, each)
    return replace(form, weights=form.weights * each, bias=bias, offsets=offsets, barrier=barrier)


def _barrier(barrier: Barrier | None, each: Array) -> Barrier | None:
    """What is ruled out by a feature that is trusted."""
    if barrier is None:
        return None
    ruled_out = ((barrier.on > 0) | (barrier.off > 0)).any(axis=0)
    _refuse_infinite(bool((ruled_out & (each < 0)).any()))
    left = Barrier(barrier.on * (each != 0), barrier.off * (each != 0))
    return left if (left.on > 0).any() or (left.off > 0).any() else None


def _sparse_linear(form: SparseLinear, t: Array) -> SparseLinear:
    each = _each(t, len(form.base))
    if form.hard is not None:
        _refuse_infinite(bool((form.hard & (each < 0)).any()))
    bias = form.bias * t if t.ndim == 0 else form.bias + form.absences(each - 1.0)
    return replace(form, bias=bias, trust=each if form.trust is None else form.trust * each)


def _lookup(form: Lookup, t: Array) -> Lookup:
    each = _each(t, len(form.offset) - 1)
    log_theta = _times(form.log_theta, np.repeat(each, np.diff(form.offset)))
    return Lookup(log_theta, form.offset, _times(form.unseen, each))


def _steps(form: Steps, t: Array) -> Steps:
    each = _each(t, len(form.start) - 1)
    return replace(form, log_theta=_times(form.log_theta, np.repeat(each, np.diff(form.start) + 1)))


def _diagonal(form: Diagonal, t: Array) -> Diagonal:
    each = _each(t, form.mean.shape[1])
    trust = each if form.trust is None else form.trust * each
    return replace(form, trust=trust, offsets=None if form.offsets is None else form.offsets * each)


def _whole(form: Full | Table, t: Array) -> Full | Table:
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
    Linear: _linear,
    SparseLinear: _sparse_linear,
    Lookup: _lookup,
    Steps: _steps,
    Diagonal: _diagonal,
    Full: _whole,
    Table: _whole,
}
"""How each kind of form is scaled."""
