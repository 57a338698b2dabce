"""From joint log-probabilities to answers: the one log-sum-exp of the house, and what is read off it."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import DecibanWarning

Finish = Literal["joint", "log_posterior", "posterior", "winner", "density", "observed", "typicality"]
"""The last two: how many cells of a row, or words, say something, and ln p(x) for each of them."""

NEARLY_SURE = -1e-6
"""Above this, ln p has lost so many digits of 1 − p that rows are told apart by the other classes' probabilities."""


def subtract_top(joint: Array) -> tuple[Array, Array, Array]:
    """Each row's largest score, how far the others lie below it, and ln Σ exp of that.

    Where the scores are −1e17, ln 2 is lost beside them; beside their differences it is not.
    """
    top = joint.max(axis=1, keepdims=True)
    below = joint - np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return top, below, np.log(np.exp(below).sum(axis=1, keepdims=True))


def log_sum_exp(joint: Array) -> Array:
    """ln Σ_k exp(joint_k) of each row, without overflow; −∞ where every class is impossible.

    >>> log_sum_exp(np.array([[1000.0, 1000.0], [-np.inf, -np.inf]])).round(4).tolist()
    [1000.6931, -inf]
    """
    top, _, log_total = subtract_top(joint)
    return (top + log_total)[:, 0]


def log_odds(log_posterior: Array, k: int) -> Array:
    """ln p/(1−p) of one class against all others: rows stay apart where p itself is 1 to the last bit.

    Evidence adds up, so naive Bayes says 1 − 10⁻³⁰ of many rows; by p they would all be ties. Where p tells rows
    apart it alone counts: those of equal p are ties, however the rest is shared out among the others.

    >>> rows = np.log([[1.0, 1e-30], [1.0, 1e-40]])
    >>> log_odds(rows, 0).round(2).tolist(), log_odds(rows, 1).round(2).tolist()
    ([69.08, 92.1], [-69.08, -92.1])
    """
    ours = np.minimum(log_posterior[:, k], 0.0)
    with np.errstate(divide="ignore"):
        odds: Array = ours - np.log1p(-np.exp(ours))
    rows = np.flatnonzero(ours > NEARLY_SURE)
    others = log_posterior[rows]
    others[:, k] = -np.inf
    odds[rows] = ours[rows] - log_sum_exp(others)
    return odds


def finish(joint: Array, log_prior: Array, wanted: Finish) -> tuple[NDArray[Any], int]:
    """What is wanted of ln p(x, k): itself, ln p(k|x), p(k|x), argmax_k, or ln p(x).

    Where every class is impossible (maximum likelihood meets what it never saw) the data cannot choose:
    the posterior is the class prior. Also returns how many such rows there are.
    """
    if wanted == "joint":
        return joint, 0
    if wanted == "density":
        return log_sum_exp(joint), 0
    lost: NDArray[np.bool_] = np.all(np.isneginf(joint), axis=1)
    if lost.any():
        joint = np.where(lost[:, None], log_prior, joint)
    n_lost = int(lost.sum())
    if wanted == "winner":
        return joint.argmax(axis=1), n_lost
    _, below, log_total = subtract_top(joint)
    log_posterior = below - log_total
    return log_posterior if wanted == "log_posterior" else np.exp(log_posterior), n_lost


def warn_impossible(rows: int) -> None:
    """Say that some rows are impossible under every class."""
    warnings.warn(
        f"{rows} row{'s are' if rows > 1 else ' is'} impossible under every class, so the posterior is the class "
        f"prior. Hint: a pseudo-count (alpha > 0) gives what was never seen a small probability.",
        DecibanWarning,
        stacklevel=3,
    )
