"""The logistic loss: what it costs to say s of a row of class y, and how that changes with s. The definition.

    two classes   s is the log-odds of the second:  ℓ(y, s) = ln(1 + eˢ) − y·s
    more          s has a score for every class:    ℓ(y, s) = ln Σ_k e^{s_k} − s_y

What is made small is F(W, b) = Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W² + l1 Σ |W|; the bias is not held back.
"""

from __future__ import annotations

import numpy as np

from deciban._typing import Array, Codes


def score_count(n_classes: int) -> int:
    """M: two classes have one score, the log-odds of the second; more have one each."""
    return 1 if n_classes == 2 else n_classes


def as_scores(each: Array, axis: int = 0) -> Array:
    """What was told of K classes as M scores: of two the second's less the first's, of more each class's own.

    >>> as_scores(np.array([1.0, 4.0])).tolist(), as_scores(np.array([1.0, 4.0, 7.0])).tolist()
    ([3.0], [1.0, 4.0, 7.0])
    """
    return np.diff(each, axis=axis) if each.shape[axis] == 2 else each


def apart(each: Array, axis: int = 0) -> Array:
    """What tells the classes apart: of two their difference, of more what is beyond their mean."""
    return np.diff(each, axis=axis) if each.shape[axis] == 2 else each - each.mean(axis=axis, keepdims=True)


def each_class(scores: Array, axis: int = 0) -> Array:
    """M scores told of K classes: log-odds are half for the second class and half against the first.

    >>> each_class(np.array([3.0])).tolist()
    [-1.5, 1.5]
    """
    return np.concatenate([-scores / 2, scores / 2], axis=axis) if scores.shape[axis] == 1 else scores


def losses(scores: Array, codes: Codes) -> Array:
    """ℓ(y_i, s_i) = −ln p(y_i|x_i) of every row, to the last digits also where p is nearly 1.

    >>> losses(np.array([[0.0], [-800.0], [40.0]]), np.array([1, 1, 1], dtype=np.int32)).tolist()
    [0.6931471805599453, 800.0, 4.248354255291589e-18]
    """
    if scores.shape[1] == 1:
        return np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * scores[:, 0])
    gap, _, others = _beside_top(scores, codes)
    return np.asarray(gap + np.log1p(np.expm1(-gap) + others))


def residuals(scores: Array, codes: Codes) -> Array:
    """∂ℓ/∂s of every row: what was said less what is so, p(k|x_i) − [y_i = k].

    >>> residuals(np.zeros((1, 4)), np.array([2], dtype=np.int32)).tolist()
    [[0.25, 0.25, -0.75, 0.25]]
    """
    if scores.shape[1] == 1:
        wrong = np.where(codes == 1, -1.0, 1.0)
        return np.asarray((wrong * np.exp(-np.logaddexp(0.0, -wrong * scores[:, 0])))[:, None])
    gap, said, others = _beside_top(scores, codes)
    total = others + np.exp(-gap)
    said /= total[:, None]
    said[np.arange(len(codes)), codes] = -others / total
    return said


def probabilities(scores: Array) -> Array:
    """p(k|x) of every row; of two classes the second's alone."""
    if scores.shape[1] == 1:
        return np.exp(-np.logaddexp(0.0, -scores))
    said = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(said / said.sum(axis=1, keepdims=True))


def margins(scores: Array, codes: Codes) -> Array:
    """How far the score of every row's class is above the best other one; below zero where it is told wrong."""
    if scores.shape[1] == 1:
        return np.asarray(np.where(codes == 1, 1.0, -1.0) * scores[:, 0])
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def _beside_top(scores: Array, codes: Codes) -> tuple[Array, Array, Array]:
    """How far the row's class lies below the top, e^{s−top}, and its sum over the other classes.

    The others are summed by themselves: 1 − p(y|x) keeps its digits where p(y|x) is nearly 1.
    """
    rows = np.arange(len(codes))
    top = scores.max(axis=1)
    said = np.exp(scores - top[:, None])
    gap = top - scores[rows, codes]
    rest = said.copy()
    rest[rows, codes] = 0.0
    return gap, said, np.asarray(rest.sum(axis=1))
