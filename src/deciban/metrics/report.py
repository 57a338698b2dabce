"""The report on a model: how often it is right, how surprised it is by the truth, how far its confidence is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, no_such_class
from deciban.ledger.statistic import Array
from deciban.metrics import report_text as wording
from deciban.metrics.decision_costs import Decided, decisions
from deciban.metrics.ranking import Ranks
from deciban.metrics.report_figures import Figures
from deciban.metrics.score_curves import Curve
from deciban.metrics.thresholds import Threshold, threshold
from deciban.plain_json import plain
from deciban.scores.decision import Costs, Decision, Thresholds, labelled

FIGURES = (
    "rows", "weight", "effective_rows", "accuracy", "accuracy_interval", "majority", "commonest", "balanced_accuracy",
    "log_loss", "log_loss_error", "brier", "brier_error", "calibration_error", "macro_f1", "unknown", "impossible",
    "classes", "precision", "recall", "f1", "confusion", "measured",
)  # fmt: skip
"""What a report tells a program, in this order."""

RANKING = (
    "roc_auc", "average_precision", "weighted_roc_auc", "weighted_average_precision", "roc_auc_by_class",
    "average_precision_by_class",
)  # fmt: skip
"""What it tells as well where the rows were kept."""


@dataclass(frozen=True, eq=False)
class Report(Figures):
    """How well rows were classified whose classes are known.

    `log_loss` is the mean of −ln p(truth), ∞ if the model called the truth of any row impossible (`impossible` says
    of how many); `brier` the mean of Σ_k (p_k − [k is the truth])², from 0 to 2; `calibration_error` how far, on
    average, the confidence in the class called is from the share of hits among rows of about that confidence.
    `majority` is the accuracy of always saying `commonest`. Rows of a class the model had no row of (`unknown`)
    are errors, and are left out of log-loss, Brier's score and confusion.

    Weights say how much a row counts in the figures; how sure these are is told by `effective_rows`, the number of
    rows of equal weight that would say as much (Kish 1965): (Σw)² / Σw², whatever the unit of the weights. The
    `intervals` are 95 % ones.

    Ranking (`roc_auc`, curves, thresholds), `brier_parts` and `cost` need the rows themselves. Where these were not
    kept, the figures are NaN or None; where a sample was, they are those of the sample, and a note says so.
    """

    def _kept(self, what: str) -> Ranks:
        if self._ranked is None:
            raise InputError(
                f"{what} needs the judged rows, and this report has kept sums only. "
                f"Hint: deciban.evaluate and deciban.cross_validate keep them"
            )
        return self._ranked

    def roc_curve(self, label: Any = None) -> tuple[Array, Array, Array]:
        """False and true positive rates of a class against all others, and the probability from which it is called.

        Of the second class unless said otherwise.
        """
        false, true, odds = self._curve("a ROC curve", label).roc()
        return false, true, np.append(np.inf, _probability(odds[1:]))

    def precision_recall_curve(self, label: Any = None) -> tuple[Array, Array, Array]:
        """Precision and recall of a class, by rising recall, and the probability from which it is called."""
        precision, recall, odds = self._curve("a precision–recall curve", label).precision_recall()
        return precision, recall, _probability(odds)

    def _curve(self, what: str, label: Any) -> Curve:
        return self._kept(what).curve(self._place(label))

    def _place(self, label: Any) -> int:
        if label is None:
            return len(self.classes) - 1 if len(self.classes) < 2 else 1
        classes = list(self.classes)
        if label not in classes:
            raise no_such_class(label, classes)
        return classes.index(label)

    def threshold(self, label: Any, *, precision: float | None = None, recall: float | None = None) -> Threshold:
        """From which probability of `label` on a wanted precision or recall is reached on the judged rows.

        The lowest one that reaches the precision, the highest that reaches the recall; `predict(thresholds=...)`
        takes it. What is out of reach is refused, with the best there is.
        """
        curve = self._kept("a threshold").by_probability(self._place(label))
        return threshold(curve, label, precision, recall, self._rows_per_weight)

    def cost(
        self, costs: Costs | None = None, reject: float | None = None, thresholds: Thresholds | None = None
    ) -> float:
        """What deciding so would have cost on the judged rows, a row; see `Decision`."""
        return self.decided(costs, reject, thresholds).cost

    def decided(
        self, costs: Costs | None = None, reject: float | None = None, thresholds: Thresholds | None = None
    ) -> Decided:
        """How deciding so would have done on the judged rows: its cost, the undecided, the accuracy of the others."""
        kept = self._kept("what decisions cost")
        return decisions(kept, Decision.of(self.classes, costs, reject, thresholds))

    @property
    def log_proba(self) -> Array | None:
        """ln p(k|x) of every judged row, n×K; None where not all were kept."""
        return self.ranks.rows.log_posterior if self._whole and self.ranks else None

    @property
    def predictions(self) -> NDArray[Any] | None:
        """The class that every row was called (None: of a row that was not judged); None where not all were kept."""
        if self.log_proba is None:
            return None
        places = self.log_proba.argmax(axis=1)
        return labelled(self._labels, np.where(np.isnan(self.log_proba[:, 0]), -1, places))

    @property
    def truth(self) -> NDArray[Any] | None:
        """The class of every judged row (None: one that has no name here); None where not all were kept."""
        return labelled(self._labels, self.ranks.rows.truth) if self._whole and self.ranks else None

    @property
    def _whole(self) -> bool:
        return self.ranks is not None and self.ranks.whole and bool(self.ranks.parts)

    @property
    def _labels(self) -> NDArray[Any]:
        labels = np.array(self.classes)
        return labels if labels.tolist() == list(self.classes) else np.array(self.classes, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: a number that is not finite is None."""
        names = FIGURES if self._ranked is None else (*FIGURES[:-1], *RANKING, FIGURES[-1])
        told = {name: plain(getattr(self, name)) for name in names}
        for name in ("reliability", "brier_parts"):
            value = getattr(self, name)
            told[name] = None if value is None else plain(value.to_dict())
        return told | {"intervals": plain(self.intervals), "intervals_by_class": plain(self.intervals_by_class)}

    def entries(self) -> list[tuple[str, str]]:
        """(name, value) of every figure, worded for people."""
        return wording.entries(self)

    def by_class(self) -> list[list[str]]:
        """A line for each class: its name, precision, recall, F1 and rows, worded for people."""
        return wording.by_class(self)

    def notes(self) -> list[str]:
        """What must be known to read the figures."""
        return wording.notes(self)

    def __str__(self) -> str:
        return wording.text(self)


def _probability(odds: Array) -> Array:
    """p from ln p/(1−p)."""
    return np.exp(-np.logaddexp(0.0, -odds))
