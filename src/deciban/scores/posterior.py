"""Posterior probabilities, predicted classes and densities from joint log-probabilities."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import DecibanWarning

Finish = Literal["joint", "log_posterior", "posterior", "winner", "density", "observed", "typicality"]
"""The result that is wanted of joint log-probabilities: themselves, the posterior, the class of largest posterior,
ln p(x); `observed` is the number of cells or words of a row that carry evidence, `typicality` ln p(x) per cell."""

NEAR_ONE_LOG_PROBABILITY = -1e-6
"""Above this, ln p has lost too many digits of 1 − p, and log-odds use the other classes' probabilities."""


def subtract_top(joint: Array) -> tuple[Array, Array, Array]:
    """Return each row's largest score, the scores minus it, and ln Σ exp of the differences.

    Added to scores of −1e17, ln 2 would be lost; added to their differences it is not.
    """
    top = joint.max(axis=1, keepdims=True)
    below = joint - np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return top, below, np.log(np.exp(below).sum(axis=1, keepdims=True))


def log_sum_exp(joint: Array) -> Array:
    """Return ln Σ_k exp(joint_k) of each row, without overflow; −∞ where every class is impossible.

    >>> log_sum_exp(np.array([[1000.0, 1000.0], [-np.inf, -np.inf]])).round(4).tolist()
    [1000.6931, -inf]
    """
    top, _, log_total = subtract_top(joint)
    return (top + log_total)[:, 0]


def log_odds(log_posterior: Array, k: int) -> Array:
    """Return ln p/(1−p) of one class against all others, which differs between rows where p itself rounds to 1.

    Evidence adds up, so naive Bayes gives many rows 1 − 10⁻³⁰; by p they would all be ties. Where p is further from
    1, it alone counts: rows of equal p are ties, whatever the distribution over the other classes.

    >>> rows = np.log([[1.0, 1e-30], [1.0, 1e-40]])
    >>> log_odds(rows, 0).round(2).tolist(), log_odds(rows, 1).round(2).tolist()
    ([69.08, 92.1], [-69.08, -92.1])
    """
    ours = np.minimum(log_posterior[:, k], 0.0)
    with np.errstate(divide="ignore"):
        odds: Array = ours - np.log1p(-np.exp(ours))
    rows = np.flatnonzero(ours > NEAR_ONE_LOG_PROBABILITY)
    others = log_posterior[rows]
    others[:, k] = -np.inf
    odds[rows] = ours[rows] - log_sum_exp(others)
    return odds


def finish(joint: Array, log_prior: Array, wanted: Finish) -> tuple[NDArray[Any], int]:
    """Return what is wanted of ln p(x, k): itself, ln p(k|x), p(k|x), argmax_k, or ln p(x).

    Where every class is impossible (maximum likelihood and a value never seen) the posterior is the class prior.
    Also returns the number of such rows.
    """
    if wanted == "joint":
        return joint, 0
    if wanted == "density":
        return log_sum_exp(joint), 0
    impossible: NDArray[np.bool_] = np.all(np.isneginf(joint), axis=1)
    if impossible.any():
        joint = np.where(impossible[:, None], log_prior, joint)
    n_impossible = int(impossible.sum())
    if wanted == "winner":
        return joint.argmax(axis=1), n_impossible
    _, below, log_total = subtract_top(joint)
    log_posterior = below - log_total
    return log_posterior if wanted == "log_posterior" else np.exp(log_posterior), n_impossible


def warn_impossible(rows: int) -> None:
    """Warn that some rows are impossible under every class."""
    warnings.warn(
        f"{rows} row{'s are' if rows > 1 else ' is'} impossible under every class, so the posterior is the class "
        f"prior. Hint: a pseudo-count (alpha > 0) gives what was never seen a small probability.",
        DecibanWarning,
        stacklevel=3,
    )
