"""Separable rows: without a penalty longer weights are always better, and the search must be told to end."""

from __future__ import annotations

import numpy as np

from deciban._typing import Array
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.logistic_objective import margins

SURE, ASIDE = 30.0, 0.01
"""Rows that are sure on average by so many nats, and none of which is wrong by more than this share of it, can only
lie beside a boundary that the others let grow: they are separable but for those on the boundary itself."""


def all_told(rows: Rows, loss: float, tol: float) -> bool:
    """Whether a loss is so small that every row is told right, with little left to gain.

    A row that is told wrong has a loss of ln 2 or more.
    """
    weight = rows.weight
    least = 1.0 if weight is None else float(weight[weight > 0].min(initial=np.inf))
    return bool(loss < np.log(2.0) * least and loss <= tol * rows.total)


def separable(rows: Rows, scores: Array) -> bool:
    """Whether weights that say this tell all rows apart, so that no weights without a penalty are best."""
    margin = margins(scores, rows.codes)
    if rows.weight is not None:
        margin = margin[rows.weight > 0]
    if not len(margin):
        return False
    sure = float(margin.mean())
    return bool(margin.min() > 0 or (sure > SURE and margin.min() > -ASIDE * sure))
