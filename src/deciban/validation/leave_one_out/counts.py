"""Counts without a row: Bernoulli, multinomial, Poisson and complement."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.engines import is_sparse
from deciban.families.bernoulli import Bernoulli
from deciban.families.complement import Complement
from deciban.families.family import log
from deciban.families.multinomial import Multinomial
from deciban.families.poisson import Poisson
from deciban.ledger import Counts
from deciban.ledger.counts import read
from deciban.scores.linear import log_factorial
from deciban.validation.leave_one_out.rows import RowsLeftOut, counts_without

MOST_CELLS = 1 << 33
"""Rows × classes × features that are looked at where every class changes with every row; folds are the way beyond."""


def own_class(family: Bernoulli | Multinomial, part: Counts, X: Any, rows: RowsLeftOut) -> Array | None:
    """ln p(x|k) of each row by its own class's counts without it; those of the other classes stay.

    None where a class has nothing to go by but what all classes have in common, which would change too.
    """
    alpha = np.asarray(family.alpha)
    weight = part.weight if isinstance(family, Bernoulli) else part.total.sum(axis=1, keepdims=True)
    if (alpha == 0).any() and (weight == 0).any():
        return None
    out = np.empty(X.shape[0])
    for some in rows.chunks(part.n_features):
        x = _values(X[some], family)
        others = counts_without(part, x, rows.codes[some], rows.weight[some])
        whole = others.weight if isinstance(family, Bernoulli) else others.total.sum(axis=2, keepdims=True)
        rows.todo[some] |= ((whole == 0) & (alpha == 0)).any(axis=(1, 2))
        score = _times(x, log(family.theta(others))[:, 0])
        if isinstance(family, Bernoulli):
            score += _times(1 - x, log(family.absent(others))[:, 0])
        out[some] = score.sum(axis=1)
    return out


def every_class(family: Poisson | Complement, part: Counts, X: Any, rows: RowsLeftOut) -> Array | None:
    """The score of each row by all classes' counts without it: the mean of a column, or what other classes have."""
    alpha = np.asarray(family.alpha)
    if (alpha == 0).any() or part.total.size * X.shape[0] > MOST_CELLS:
        return None
    out = np.empty((X.shape[0], part.n_classes))
    for some in rows.chunks(part.total.size):
        x = _values(X[some], family)
        others = _all_classes(part, counts_without(part, x, rows.codes[some], rows.weight[some]), rows, some)
        x = x[:, None]
        if isinstance(family, Complement):
            out[some] = (x * family.log_theta(others)).sum(axis=2)
            continue
        rate = family.rates(others)  # of a column without any count 0 in every class: it says nothing
        terms = _times(x, np.where(rate == 0, 0.0, log(rate))) - rate
        out[some] = np.where(np.isnan(x), 0.0, terms).sum(axis=2) - log_factorial(x[:, 0])[:, None]
    return out


def _all_classes(part: Counts, own: Counts, rows: RowsLeftOut, some: slice) -> Counts:
    """The counts of all classes, c×K×d, that of the row's own class without it."""
    shape = (len(own.total), *part.total.shape)
    total, weight = (np.broadcast_to(each, shape).copy() for each in (part.total, part.weight))
    at = np.arange(shape[0]), rows.codes[some]
    total[at], weight[at] = own.total[:, 0], own.weight[:, 0]
    return Counts(total, weight)


def _values(X: Any, family: Any) -> Array:
    dense = X.toarray() if is_sparse(X) else np.asarray(X)
    return read(dense, getattr(family, "threshold", None))


def _times(x: Array, log_theta: Array) -> Array:
    """x · ln θ; nothing where x is 0 or missing, even if it is impossible."""
    nothing = np.isnan(x) | (x == 0)
    return np.where(nothing, 0.0, np.where(nothing, 0.0, x) * np.where(nothing, 0.0, log_theta))
