"""Decision rules on evaluated rows: the threshold for a wanted precision or recall, and the costs of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_percent, format_percent_range
from deciban.metrics.intervals import Interval, wilson
from deciban.metrics.ranking import Curve, Ranks
from deciban.metrics.renamed_attributes import RenamedAttributes
from deciban.plain_json import to_plain
from deciban.scores.decision import REJECTED, Decision


@dataclass(frozen=True, slots=True)
class Threshold(RenamedAttributes):
    """The rule "predict `label` where p(label|x) ≥ `probability`", with its precision and recall on evaluated rows.

    The intervals are Wilson's of 95 %. A threshold chosen on rows looks a little better on these very rows than it
    will on others.
    """

    renamed_attributes = {"shown": "probability_text"}

    label: Any
    probability: float
    precision: float
    recall: float
    precision_interval: Interval
    recall_interval: Interval

    @property
    def probability_text(self) -> str:
        """The probability to six digits, rounded down, so that rows of this very probability stay above."""
        digits = Decimal(self.probability)
        place = Decimal(1).scaleb(max(digits.adjusted(), -300) - 5)
        return f"{float(digits.quantize(place, ROUND_DOWN)) if digits else 0:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON values."""
        return {name: to_plain(getattr(self, name)) for name in self.__slots__}

    def __str__(self) -> str:
        low, high = (
            f"{format_percent(share, 2)} ({format_percent_range(ends)})"
            for share, ends in ((self.precision, self.precision_interval), (self.recall, self.recall_interval))
        )
        return f"call {self.label} from p ≥ {self.probability_text}: precision {low}, recall {high}"


def find_threshold(
    curve: Curve, label: Any, precision: float | None, recall: float | None, rows_per_weight: float
) -> Threshold:
    """Find the lowest probability that reaches a precision, or the highest that reaches a recall."""
    if (precision is None) == (recall is None):
        raise InputError("a threshold is for a wanted precision or a wanted recall: give one of the two")
    name, wanted = ("precision", precision) if recall is None else ("recall", recall)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)) or not 0 < wanted <= 1:
        raise InputError(f"{name}={wanted!r} is no share above 0 and up to 1. Hint: {name}=0.95")
    if not curve.n_hits:
        raise InputError(f"no evaluated row is of class {label!r}, so no {name} of it can be reached")
    reached = curve.precision if recall is None else curve.recall
    enough = np.flatnonzero(reached >= wanted)
    if not len(enough):
        best = int(np.flatnonzero(reached == reached.max())[-1])
        raise InputError(
            f"a precision of {wanted:g} for class {label!r} is out of reach: the best there is on these rows is "
            f"{reached[best]:.6g}, from p ≥ {curve.score[best]:.6g}, with a recall of {curve.recall[best]:.6g}. "
            f"Hint: a lower precision"
        )
    i = int(enough[-1] if recall is None else enough[0])
    reached_precision, reached_recall = float(curve.precision[i]), float(curve.recall[i])
    called = float(curve.hits[i] + curve.alarms[i])
    return Threshold(
        label,
        float(curve.score[i]),
        reached_precision,
        reached_recall,
        wilson(reached_precision, called * rows_per_weight),
        wilson(reached_recall, curve.n_hits * rows_per_weight),
    )


@dataclass(frozen=True, slots=True)
class DecisionCosts:
    """The costs of a decision rule on evaluated rows, compared with predicting the most probable class."""

    cost: float
    """The mean cost of a row."""
    cost_of_most_probable: float
    """The mean cost of a row if every row is assigned its most probable class."""
    undecided: float
    """The share of the rows that were assigned no class."""
    accuracy: float
    """The share of the decided rows that were predicted correctly; NaN if there are none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON values."""
        return {name: to_plain(getattr(self, name)) for name in self.__slots__}


def decision_costs(ranks: Ranks, rule: Decision) -> DecisionCosts:
    """Compute the costs of a decision rule on the rows that are kept."""
    rows = ranks.weighted_rows
    weight = rows.weight / rows.weight.sum()
    called = rule.apply(np.exp(rows.log_posterior))
    paid = rule.paid(rows.truth, called)
    undecided = called == REJECTED
    if np.isnan(paid).any():
        raise InputError(
            f"{np.isnan(paid).sum()} rows reach no threshold and are not decided, which has no cost yet. "
            f"Hint: set the cost of an undecided row, reject=0.5"
        )
    return DecisionCosts(
        float(weight @ paid),
        float(weight @ rule.paid(rows.truth, rows.log_posterior.argmax(axis=1))),
        float(weight @ undecided),
        _share(called == rows.truth, np.where(undecided, 0.0, weight)),
    )


def _share(right: Any, weight: Array) -> float:
    return float(np.average(right, weights=weight)) if weight.any() else np.nan
