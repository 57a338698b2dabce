"""From which probability on a class must be called for a wanted precision or recall."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.formatting import percent, percents
from deciban.metrics.intervals import Interval, wilson
from deciban.metrics.score_curves import Curve
from deciban.plain_json import plain


@dataclass(frozen=True, slots=True)
class Threshold:
    """Call `label` where p(label|x) ≥ `probability`: what that reaches on the judged rows, 95 % sure (Wilson).

    A threshold chosen on rows looks a little better on these very rows than it will on others.
    """

    label: Any
    probability: float
    precision: float
    recall: float
    precision_interval: Interval
    recall_interval: Interval

    @property
    def shown(self) -> str:
        """The probability in six digits, rounded down: rows that have it stay above."""
        digits = Decimal(self.probability)
        place = Decimal(1).scaleb(max(digits.adjusted(), -300) - 5)
        return f"{float(digits.quantize(place, ROUND_DOWN)) if digits else 0:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """By name, as JSON knows it."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}

    def __str__(self) -> str:
        low, high = (
            f"{percent(share, 2)} ({percents(ends)})"
            for share, ends in ((self.precision, self.precision_interval), (self.recall, self.recall_interval))
        )
        return f"call {self.label} from p ≥ {self.shown}: precision {low}, recall {high}"


def threshold(
    curve: Curve, label: Any, precision: float | None, recall: float | None, rows_per_weight: float
) -> Threshold:
    """The lowest probability that reaches a precision, or the highest that reaches a recall."""
    if (precision is None) == (recall is None):
        raise InputError("a threshold is for a wanted precision or a wanted recall: give one of the two")
    name, wish = ("precision", precision) if recall is None else ("recall", recall)
    if isinstance(wish, bool) or not isinstance(wish, (int, float)) or not 0 < wish <= 1:
        raise InputError(f"{name}={wish!r} is no share above 0 and up to 1. Hint: {name}=0.95")
    if not curve.n_hits:
        raise InputError(f"no judged row is of class {label!r}, so no {name} of it can be reached")
    reached = curve.precision if recall is None else curve.recall
    enough = np.flatnonzero(reached >= wish)
    if not len(enough):
        best = int(np.flatnonzero(reached == reached.max())[-1])
        raise InputError(
            f"a precision of {wish:g} for class {label!r} is out of reach: the best there is on these rows is "
            f"{reached[best]:.6g}, from p ≥ {curve.score[best]:.6g}, with a recall of {curve.recall[best]:.6g}. "
            f"Hint: wish for less"
        )
    return at(curve, label, int(enough[-1] if recall is None else enough[0]), rows_per_weight)


def at(curve: Curve, label: Any, i: int, rows_per_weight: float) -> Threshold:
    """What calling all rows from the i-th score on reaches."""
    precision, recall = float(curve.precision[i]), float(curve.recall[i])
    called = float(curve.hits[i] + curve.alarms[i])
    return Threshold(
        label,
        float(curve.score[i]),
        precision,
        recall,
        wilson(precision, called * rows_per_weight),
        wilson(recall, curve.n_hits * rows_per_weight),
    )
