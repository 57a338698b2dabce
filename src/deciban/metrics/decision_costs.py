"""What a rule of decision did to judged rows: what it cost, and how many it left undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.ledger.statistic import Array
from deciban.metrics.ranking import Ranks
from deciban.plain_json import plain
from deciban.scores.decision import REJECTED, Decision


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions on rows whose classes are known, beside those of a rule that always calls the most probable class."""

    cost: float
    """What a row cost, on average."""
    cost_of_most_probable: float
    """What it would have cost to call every row its most probable class."""
    undecided: float
    """The share of the rows that were called nothing."""
    accuracy: float
    """The share of the decided rows that were called rightly; NaN if there are none."""

    def to_dict(self) -> dict[str, Any]:
        """By name, as JSON knows it."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}


def decisions(ranks: Ranks, rule: Decision) -> Decided:
    """How a rule did on the rows that are kept."""
    rows = ranks.some
    weight = rows.weight / rows.weight.sum()
    called = rule.apply(np.exp(rows.log_posterior))
    paid = rule.paid(rows.truth, called)
    undecided = called == REJECTED
    if np.isnan(paid).any():
        raise InputError(
            f"{np.isnan(paid).sum()} rows reach no threshold and are not decided, which has no cost yet. "
            f"Hint: say what that costs, reject=0.5"
        )
    return Decided(
        float(weight @ paid),
        float(weight @ rule.paid(rows.truth, rows.log_posterior.argmax(axis=1))),
        float(weight @ undecided),
        _share(called == rows.truth, np.where(undecided, 0.0, weight)),
    )


def _share(right: Any, weight: Array) -> float:
    return float(np.average(right, weights=weight)) if weight.any() else np.nan
