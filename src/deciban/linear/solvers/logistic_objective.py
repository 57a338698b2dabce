"""The logistic loss ℓ(y, s) of a row of class y with scores s, and its derivatives. This is the definition.

    two classes   s is the log-odds of the second:  ℓ(y, s) = ln(1 + eˢ) − y·s
    more          s has a score for every class:    ℓ(y, s) = ln Σ_k e^{s_k} − s_y

The solvers minimise F(W, b) = Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W² + l1 Σ |W|; the bias has no penalty.
"""

import numpy as np

from deciban._typing import Array, Codes


def count_scores(n_classes: int) -> int:
    """Return M, the number of scores: two classes have one, the log-odds of the second; more have one each."""
    return 1 if n_classes == 2 else n_classes


def as_scores(each: Array, axis: int = 0) -> Array:
    """Reduce values of K classes to M scores: of two classes the second minus the first, of more each class's own.

    >>> as_scores(np.array([1.0, 4.0])).tolist(), as_scores(np.array([1.0, 4.0, 7.0])).tolist()
    ([3.0], [1.0, 4.0, 7.0])
    """
    return np.diff(each, axis=axis) if each.shape[axis] == 2 else each


def contrast(each: Array, axis: int = 0) -> Array:
    """Return the contrast of class values: the difference of two, the deviations from the mean of more."""
    return np.diff(each, axis=axis) if each.shape[axis] == 2 else each - each.mean(axis=axis, keepdims=True)


def expand_to_classes(scores: Array, axis: int = 0) -> Array:
    """Expand M scores to K classes: log-odds are half for the second class and half against the first.

    >>> expand_to_classes(np.array([3.0])).tolist()
    [-1.5, 1.5]
    """
    return np.concatenate([-scores / 2, scores / 2], axis=axis) if scores.shape[axis] == 1 else scores


def compute_losses(scores: Array, codes: Codes) -> Array:
    """Compute ℓ(y_i, s_i) = −ln p(y_i|x_i) of every row, accurate to the last digits also where p is nearly 1.

    >>> compute_losses(np.array([[0.0], [-800.0], [40.0]]), np.array([1, 1, 1], dtype=np.int32)).tolist()
    [0.6931471805599453, 800.0, 4.248354255291589e-18]
    """
    if scores.shape[1] == 1:
        return np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * scores[:, 0])
    gap, _, others = _exponentials(scores, codes)
    return np.asarray(gap + np.log1p(np.expm1(-gap) + others))


def compute_residuals(scores: Array, codes: Codes) -> Array:
    """Compute ∂ℓ/∂s of every row: predicted probability minus outcome, p(k|x_i) − [y_i = k].

    >>> compute_residuals(np.zeros((1, 4)), np.array([2], dtype=np.int32)).tolist()
    [[0.25, 0.25, -0.75, 0.25]]
    """
    if scores.shape[1] == 1:
        sign = np.where(codes == 1, -1.0, 1.0)
        return np.asarray((sign * np.exp(-np.logaddexp(0.0, -sign * scores[:, 0])))[:, None])
    gap, p, others = _exponentials(scores, codes)
    total = others + np.exp(-gap)
    p /= total[:, None]
    p[np.arange(len(codes)), codes] = -others / total
    return p


def compute_probabilities(scores: Array) -> Array:
    """Compute p(k|x) of every row; of two classes only the second's."""
    if scores.shape[1] == 1:
        return np.exp(-np.logaddexp(0.0, -scores))
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def compute_margins(scores: Array, codes: Codes) -> Array:
    """Compute how far the score of every row's class exceeds the best other one; negative where the row is wrong."""
    if scores.shape[1] == 1:
        return np.asarray(np.where(codes == 1, 1.0, -1.0) * scores[:, 0])
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def _exponentials(scores: Array, codes: Codes) -> tuple[Array, Array, Array]:
    """Return the gap between the row's class and the top score, e^{s−top}, and its sum over the other classes.

    The others are summed separately: 1 − p(y|x) keeps its digits where p(y|x) is nearly 1.
    """
    rows = np.arange(len(codes))
    top = scores.max(axis=1)
    exponentials = np.exp(scores - top[:, None])
    gap = top - scores[rows, codes]
    others = exponentials.copy()
    others[rows, codes] = 0.0
    return gap, exponentials, np.asarray(others.sum(axis=1))
