"""Posterior probabilities, predicted classes and densities from joint log-probabilities; novelty detection.

Novelty is detected by the quantiles of the density of usual rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import DecibanWarning, InputError

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


MAX_QUANTILES = 1001
"""Largest number of stored quantiles: every thousandth of the rows, from the least probable on."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """Quantiles of ln p(x) per cell, of rows scored by a model that was fitted without them.

    >>> usual = Novelty.of(np.arange(-200.0, 0.0))
    >>> usual.threshold(0.01)
    -198.0
    """

    quantiles: Array
    rows: int

    @classmethod
    def of(cls, typicality: Array, weight: Array | None = None) -> Self:
        """Compute the quantiles of these rows."""
        w = np.ones(len(typicality)) if weight is None else weight
        some = ~np.isnan(typicality)  # rows without any observed cell are left out
        typicality, w = typicality[some], w[some]
        order = np.argsort(typicality, kind="stable")
        values, passed = typicality[order], np.cumsum(w[order])
        if not len(values) or not passed[-1] > 0:
            raise InputError("there are no rows from which to measure what is usual")
        shares = np.linspace(0.0, 1.0, min(MAX_QUANTILES, len(values) + 1))
        at = np.searchsorted(passed, shares * passed[-1], side="right")
        return cls(values[np.minimum(at, len(values) - 1)], int(np.count_nonzero(w)))

    def threshold(self, share: float) -> float:
        """Return the typicality below which at most this share of the usual rows lies."""
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InputError(
                f"reject_novel is the share of usual rows that may pass for novel, from 0 to below 1, not {share!r}. "
                f"Hint: 0.01"
            )
        place = int(np.floor(share * (len(self.quantiles) - 1) + 1e-9))
        return float(self.quantiles[place])

    def novel(self, typicality: Array, share: float) -> NDArray[np.bool_]:
        """Return which rows are less typical than all but this share of usual rows, or have no observed cell."""
        return ~(typicality >= self.threshold(share))


def require_novelty(novelty: Novelty | None) -> Novelty:
    """Return the novelty; refuse a model without one."""
    if novelty is None:
        raise InputError(
            "this model does not know which rows are usual. Hint: deciban.train measures it when it evaluates "
            "(judge=True), estimators by fit_novelty(X, y) with the rows they have learned; learning more discards it"
        )
    return novelty


def density_per_cell(density: Array, cells: Array) -> Array:
    """Return ln p(x) per observed cell; NaN for rows without observed cells."""
    return np.where(cells > 0, density / np.where(cells > 0, cells, 1.0), np.nan)
