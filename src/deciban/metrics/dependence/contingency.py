"""Contingency tables of two features: evidence that is counted twice, and whether joining them predicts better.

Naive Bayes adds the evidence of a and of b. For class k against l that exceeds their joint evidence by
r_l(a, b) − r_k(a, b), where r_k = ln[p(a, b|k) / (p(a|k) p(b|k))]: on average over the rows of class k, E_k[r_l] less
the mutual information within the class. From counts, r_l = ψ(n_lab + 1) − ln λ − E₁(λ) with λ = n_la n_lb / n_l: 0 on
average where a and b are independent, since E[ψ(h + 1)] = ln λ + E₁(λ) for a Poisson count h of mean λ; corrected to
the variance of a table with given margins as in `mutual_information.py`.

The class of each row, left out, is predicted by four models: both features as if independent (naive), the table of
their combinations (joint), the first alone and the second alone. The counts are enough: leaving a row of class k out
takes one from its own cells and from n_k.

    naive   ln p(a|k) + ln p(b|k),  p(a|k) = (n_ka + α) / (n_k + αA)
    joint   ln[(n_kab + m p(a|k) p(b|k)) / (n_k + m)],  m = αAB

The joint table has as many prior rows as Laplace's rule gives it, distributed as by the naive model: so independent
features lose next to nothing by it, and the difference between the two is dependence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import exp1, psi

from deciban._typing import Array
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.mutual_information import TINY, Tables, mutual_information

LAPLACE_ALPHA = 1.0
"""The pseudo-count of Laplace's rule."""

MIN_LOG_SCORE = -1e300
"""The score in place of −∞ where no class has a score: differences to it have a value."""


class PairFigures(NamedTuple):
    """Figures of pairs of a feature with each of J others, in nats per row.

    `twice`: evidence counted twice. `joining` and `single`: the gain in ln p(class) of the joint table, and of the
    better of the two features alone, over the naive model of both. `beyond`: the gain of the joint table over the
    better feature alone. The errors are standard errors of these differences.
    """

    twice: Array
    twice_error: Array
    joining: Array
    joining_error: Array
    single: Array
    single_error: Array
    beyond: Array
    beyond_error: Array


class PairLikelihoods(NamedTuple):
    """ln p(a, b|k) by each of the four models, K×A×ΣB."""

    naive: Array
    joint: Array
    first: Array
    second: Array


def compare_models(tables: Tables) -> PairFigures:
    """Compare the naive model of each pair with the others."""
    all_rows, left_out = _likelihoods(tables, 0.0), _likelihoods(tables, 1.0)
    share = divide(tables.classes, tables.rows)[:, None, tables.owner]
    with np.errstate(divide="ignore"):
        prior = np.log(share)
    losses = [_log_posterior(own, rest, prior) for own, rest in zip(left_out, all_rows)]
    naive, joint, first, second = losses
    one, other = tables.mean(first), tables.mean(second)
    better = np.where((one >= other)[tables.owner], first, second)
    return PairFigures(
        *_twice(tables, share),
        tables.mean(joint - naive),
        tables.spread(joint - naive),
        tables.mean(better - naive),
        tables.spread(better - naive),
        tables.mean(joint - better),
        tables.spread(joint - better),
    )


def _likelihoods(tables: Tables, left_out: float) -> PairLikelihoods:
    """Return ln p(a, b|k) from the counts less the weight `left_out` of each row itself."""
    n = np.maximum(tables.classes[:, None, tables.owner] - left_out, 0.0)
    a = np.maximum(tables.first[:, :, tables.owner] - left_out, 0.0)
    b = np.maximum(tables.second[:, None] - left_out, 0.0)
    A = tables.counts.shape[1]
    B = np.bincount(tables.owner)[tables.owner]
    first, second = (a + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * A), (b + LAPLACE_ALPHA) / (n + LAPLACE_ALPHA * B)
    m = LAPLACE_ALPHA * A * B
    joint = (np.maximum(tables.counts - left_out, 0.0) + m * first * second) / (n + m)
    log_first, log_second = np.log(first), np.broadcast_to(np.log(second), joint.shape)
    return PairLikelihoods(log_first + log_second, np.log(joint), log_first, log_second)


def _log_posterior(own: Array, rest: Array, prior: Array) -> Array:
    """Return ln p(k|a, b) of a row of class k: its own class by the counts without it, the others by all rows."""
    scores = prior + rest
    top = np.maximum(scores.max(axis=0), MIN_LOG_SCORE)  # where no row has both
    each = np.exp(scores - top)
    own_score = np.exp(prior + own - top)
    others = np.maximum(each.sum(axis=0) - each, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_posterior = np.log(own_score / (own_score + others))
    return np.where(prior > -np.inf, log_posterior, 0.0)


def _twice(tables: Tables, share: Array) -> tuple[Array, Array]:
    """Return E_k[r_l] − I(X;Y|C), l the other classes by their shares, and its standard error."""
    mean, loose = tables.expected
    known = np.maximum(mean, TINY)
    curve = (1 - np.exp(-known) * (1 + known)) / known  # −λ times the second derivative of ln λ + E₁(λ)
    more = psi(tables.counts + 1) - np.log(known) - exp1(known) - 0.5 * (1 - loose) * curve
    more = np.where(mean > 0, more, 0.0)
    others = divide(tables.counts, (1 - share) * np.where(tables.rows > 0, tables.rows, 1.0)[tables.owner])
    weight = share * (others.sum(axis=0) - others)  # the share of the rows of other classes in this cell
    within = mutual_information(tables)
    elsewhere = tables.sums((weight * more).sum(axis=(0, 1)))
    lever = _remove_margins(tables, weight / (tables.counts + 1))
    variance = tables.sums((lever**2 * (tables.counts + 1)).sum(axis=(0, 1)))
    return elsewhere - within.value, np.sqrt(variance + within.error**2)


def _remove_margins(tables: Tables, cells: Array) -> Array:
    """Subtract from values of cells their projection on lines and columns: sums of counts vary by the rest alone."""
    n = tables.classes[:, None, tables.owner]
    first = divide(tables.first[:, :, tables.owner], np.broadcast_to(n, cells.shape))
    second = divide(np.broadcast_to(tables.second[:, None], cells.shape), np.broadcast_to(n, cells.shape))
    lines = tables.sums(cells * second)[:, :, tables.owner]
    columns = (cells * first).sum(axis=1, keepdims=True)
    return cells - lines - columns + (lines * first).sum(axis=1, keepdims=True)
