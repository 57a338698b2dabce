"""Where the search for weights may start: at the weights of naive Bayes, which have the same form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deciban import engines
from deciban._typing import Array, Codes
from deciban.errors import DecibanError
from deciban.families.class_prior import ClassPrior
from deciban.families.family import Family, log
from deciban.families.gaussian import Gaussian
from deciban.families.multinomial import Multinomial
from deciban.generative import Assumption, GenerativeModel, learn
from deciban.ledger.hashing import sample_row_numbers
from deciban.linear.solvers.logistic_objective import contrast, losses

MOST_ROWS = 20_000
"""So many rows tell well enough how far to go in the direction of naive Bayes."""

FARTHEST = 4.0
"""Naive Bayes is over-confident wherever features repeat each other; four times what it says is the most."""

NEAREST = 1e-16
"""A column that never varies within a class has evidence without bounds; nearer than this it is not looked at."""


def bayes_start(
    X: Any, codes: Codes, weight: Array | None, K: int, *, l2: float, l1: float, intercept: bool, threads: int
) -> tuple[Array, Array] | None:
    """Weights and bias in the direction of the naive Bayes of these rows, at the best distance; None: it has none.

    Numbers are bells of a shared variance for each column (then naive Bayes is linear), sparse counts are words.
    The evidence is scaled by the one factor t for which the penalised loss is least, as a temperature would: naive
    Bayes counts what is told twice twice, so its own distance may be worse than not to start at all.
    """
    try:
        weights, bias, log_prior = _naive(X, codes, weight, K, threads)
    except DecibanError:  # values too large to have squares, say: the search can do without
        return None
    weights, bias, log_prior = (contrast(each) for each in (weights, bias, log_prior))
    if not intercept:
        bias, log_prior = np.zeros_like(bias), np.zeros_like(bias)
    t = _distance(X, codes, weight, weights, bias, log_prior, l2, l1)
    return (t * weights, log_prior + t * bias) if t > 0 else None


def _naive(X: Any, codes: Codes, weight: Array | None, K: int, threads: int) -> tuple[Array, Array, Array]:
    """Weights, bias and log-prior of naive Bayes, K×d, K and K."""
    words = engines.is_sparse(X) and (X.nnz == 0 or X.data.min() >= 0)
    family: Family = Multinomial() if words else Gaussian("tied_diagonal")
    assumption = Assumption((family,), ClassPrior("smoothed"))
    ledger = learn(assumption, list(range(K)), [None], [X], codes, weight, threads)
    solved = GenerativeModel(assumption, ledger).solved
    line = solved.forms[0].linear()
    return line.weights, line.bias, log(solved.prior)


def _distance(
    X: Any, codes: Codes, weight: Array | None, weights: Array, bias: Array, log_prior: Array, l2: float, l1: float
) -> float:
    """The t at which Σ w ℓ(y, log-prior + t·evidence) and penalty are least; one product serves every t."""
    rows = sample_row_numbers(X.shape[0], MOST_ROWS)
    w = np.ones(len(rows)) if weight is None else weight[rows]
    share = float(w.sum()) / (X.shape[0] if weight is None else float(weight.sum()))
    evidence, y = np.asarray(X[rows] @ weights.T, dtype=np.float64) + bias, codes[rows]
    squares, sizes = share * 0.5 * l2 * float((weights**2).sum()), share * l1 * float(np.abs(weights).sum())

    def objective(t: float) -> float:
        return float(w @ losses(log_prior + t * evidence, y)) + squares * t * t + sizes * t

    return _least(objective)


def _least(objective: Callable[[float], float]) -> float:
    """Where a convex function of t ≥ 0 is least: down from the farthest by quarters, then between the neighbours."""
    from scipy.optimize import minimize_scalar

    t, value = FARTHEST, objective(FARTHEST)
    while t > NEAREST and (nearer := objective(t / 4)) < value:
        t, value = t / 4, nearer
    found = minimize_scalar(
        objective, bounds=(t / 4, min(4 * t, FARTHEST)), method="bounded", options={"xatol": t / 50}
    )
    best = float(found.x) if found.fun < value else t
    return best if objective(best) < objective(0.0) else 0.0
