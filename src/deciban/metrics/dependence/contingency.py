"""Two features at a time: how much of their evidence is counted twice, and whether they tell more when joined.

Naive Bayes adds up the evidence of a and of b. For class k against l that is more than they say together by
r_l(a, b) − r_k(a, b), where r_k = ln[p(a, b|k) / (p(a|k) p(b|k))]: on average over the rows of class k, E_k[r_l] less
the mutual information within the class. From counts, r_l = ψ(n_lab + 1) − ln λ − E₁(λ) with λ = n_la n_lb / n_l: 0 on
average where a and b are independent, since E[ψ(h + 1)] = ln λ + E₁(λ) for a Poisson count h of mean λ; corrected to
the variance of a table with given margins as in `information.py`.

The class of each row is told, the row left out, in four ways: by both features as if independent (naive), by the
table of their combinations (joint), by the first alone and by the second alone. From the counts alone: leaving a row
of class k out takes one from its own cells and from n_k.

    naive   ln p(a|k) + ln p(b|k),  p(a|k) = (n_ka + α) / (n_k + αA)
    joint   ln[(n_kab + m p(a|k) p(b|k)) / (n_k + m)],  m = αAB

The joint table has as many imagined rows as Laplace's rule gives it, shared out as the naive model would: so
independent features lose next to nothing by it, and what is left between the two is dependence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import exp1, psi

from deciban._typing import Array
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.mutual_information import TINY, Tables, information

ALPHA = 1.0
"""Laplace's rule."""

LOWEST = -1e300
"""In place of −∞ where no class has a score: differences to it have a value."""


class Compared(NamedTuple):
    """In nats a row, for each of the other features: J.

    `twice`: evidence counted twice. `joining` and `single`: how much better the class is told by the joint table, and
    by the better of the two features alone, than naively by both. `beyond`: how much better by the joint table than
    by the better one alone. The errors are standard errors of these differences.
    """

    twice: Array
    twice_error: Array
    joining: Array
    joining_error: Array
    single: Array
    single_error: Array
    beyond: Array
    beyond_error: Array


class Ways(NamedTuple):
    """ln p(a, b|k) in every way, K×A×ΣB."""

    naive: Array
    joint: Array
    first: Array
    second: Array


def compared(tables: Tables) -> Compared:
    """How the naive model of each pair compares with the others."""
    all_rows, left_out = _ways(tables, 0.0), _ways(tables, 1.0)
    share = divide(tables.classes, tables.rows)[:, None, tables.owner]
    with np.errstate(divide="ignore"):
        prior = np.log(share)
    losses = [_told(own, rest, prior) for own, rest in zip(left_out, all_rows)]
    naive, joint, first, second = losses
    one, other = tables.mean(first), tables.mean(second)
    better = np.where((one >= other)[tables.owner], first, second)
    return Compared(
        *_twice(tables, share),
        tables.mean(joint - naive),
        tables.spread(joint - naive),
        tables.mean(better - naive),
        tables.spread(better - naive),
        tables.mean(joint - better),
        tables.spread(joint - better),
    )


def _ways(tables: Tables, left_out: float) -> Ways:
    """ln p(a, b|k), from the counts without so much of each row itself."""
    n = np.maximum(tables.classes[:, None, tables.owner] - left_out, 0.0)
    a = np.maximum(tables.first[:, :, tables.owner] - left_out, 0.0)
    b = np.maximum(tables.second[:, None] - left_out, 0.0)
    A = tables.counts.shape[1]
    B = np.bincount(tables.owner)[tables.owner]
    first, second = (a + ALPHA) / (n + ALPHA * A), (b + ALPHA) / (n + ALPHA * B)
    m = ALPHA * A * B
    joint = (np.maximum(tables.counts - left_out, 0.0) + m * first * second) / (n + m)
    log_first, log_second = np.log(first), np.broadcast_to(np.log(second), joint.shape)
    return Ways(log_first + log_second, np.log(joint), log_first, log_second)


def _told(own: Array, rest: Array, prior: Array) -> Array:
    """ln p(k|a, b) of a row of class k: its own class by what is left without it, the others by all rows."""
    scores = prior + rest
    top = np.maximum(scores.max(axis=0), LOWEST)  # no row has both: nothing is told
    each = np.exp(scores - top)
    mine = np.exp(prior + own - top)
    others = np.maximum(each.sum(axis=0) - each, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.log(mine / (mine + others))
    return np.where(prior > -np.inf, told, 0.0)


def _twice(tables: Tables, share: Array) -> tuple[Array, Array]:
    """E_k[r_l] − I(X;Y|C), l the other classes by their shares, and its standard error."""
    mean, loose = tables.expected
    known = np.maximum(mean, TINY)
    curve = (1 - np.exp(-known) * (1 + known)) / known  # −λ times the second derivative of ln λ + E₁(λ)
    more = psi(tables.counts + 1) - np.log(known) - exp1(known) - 0.5 * (1 - loose) * curve
    more = np.where(mean > 0, more, 0.0)
    asked = divide(tables.counts, (1 - share) * np.where(tables.rows > 0, tables.rows, 1.0)[tables.owner])
    weight = share * (asked.sum(axis=0) - asked)  # the rows of other classes that ask about this cell
    within = information(tables)
    elsewhere = tables.sums((weight * more).sum(axis=(0, 1)))
    lever = _beyond_margins(tables, weight / (tables.counts + 1))
    variance = tables.sums((lever**2 * (tables.counts + 1)).sum(axis=(0, 1)))
    return elsewhere - within.value, np.sqrt(variance + within.error**2)


def _beyond_margins(tables: Tables, cells: Array) -> Array:
    """Values of cells without what their lines and columns say of them: sums of counts vary by the rest alone."""
    n = tables.classes[:, None, tables.owner]
    first = divide(tables.first[:, :, tables.owner], np.broadcast_to(n, cells.shape))
    second = divide(np.broadcast_to(tables.second[:, None], cells.shape), np.broadcast_to(n, cells.shape))
    lines = tables.sums(cells * second)[:, :, tables.owner]
    columns = (cells * first).sum(axis=1, keepdims=True)
    return cells - lines - columns + (lines * first).sum(axis=1, keepdims=True)
