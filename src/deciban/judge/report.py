"""The report on a model: how often it is right, how surprised it is by the truth, how far its confidence is off."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, no_such_class
from deciban.files.plain import plain
from deciban.judge import wording
from deciban.judge.brier import BrierParts, brier_parts
from deciban.judge.curves import Curve
from deciban.judge.decisions import Decided, decisions
from deciban.judge.intervals import Interval, of_area, of_average, of_mean, wilson
from deciban.judge.ranking import Ranks
from deciban.judge.reliability import Reliability
from deciban.judge.threshold import Threshold, threshold
from deciban.ledger.statistic import Array
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
class Report:
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

    rows: int
    weight: float
    effective_rows: float
    classes: tuple[Any, ...]
    accuracy: float
    log_loss: float
    log_loss_error: float
    brier: float
    calibration_error: float
    confusion: Array
    commonest: Any
    majority: float
    unknown: int = 0
    impossible: int = 0
    measured: str = ""
    brier_error: float = np.nan
    strangers: Array | None = None
    """(K+1)×K: the weight of rows of a class the model does not know, by class (last: none of the K) and call."""
    bins: Array | None = None
    """3×B: weight, confidence and hits of the rows in each bin of confidence."""
    ranks: Ranks | None = None
    """The judged rows, where they were kept."""
    folds: NDArray[Any] | None = None
    """The fold that each row was judged in, where there were folds and every row was kept."""

    @property
    def accuracy_interval(self) -> Interval:
        """Where the accuracy lies, 95 % sure."""
        return wilson(self.accuracy, self.effective_rows)

    @cached_property
    def _counts(self) -> Array:
        """3×K: the weight of the hits of each class, of its rows, and of the rows that are called it."""
        K = len(self.classes)
        strangers = np.zeros((K + 1, K)) if self.strangers is None else self.strangers
        rows = self.confusion.sum(axis=1) + strangers[:K].sum(axis=1)
        return np.stack([np.diag(self.confusion), rows, self.confusion.sum(axis=0) + strangers.sum(axis=0)])

    @property
    def rows_by_class(self) -> Array:
        """The weight of the rows of each class."""
        return self._counts[1]

    @property
    def precision(self) -> Array:
        """Of the rows called k, the share that is k; NaN for a class that is never called."""
        hits, _, called = self._counts
        return _ratio(hits, called)

    @property
    def recall(self) -> Array:
        """Of the rows of class k, the share that is called k; NaN for a class without rows."""
        hits, rows, _ = self._counts
        return _ratio(hits, rows)

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall, 2 hits / (rows + called); NaN for a class that has neither."""
        hits, rows, called = self._counts
        return _ratio(2 * hits, rows + called)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows: what accuracy would be if all were equally common."""
        return _mean(self.recall)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the classes, each counted alike."""
        return _mean(self.f1)

    @property
    def brier_parts(self) -> BrierParts | None:
        """Reliability, resolution, uncertainty and what the bins blur; see `BrierParts`."""
        if self._ranked is None or self.bins is None:
            return None
        return brier_parts(self._ranked, self.bins.shape[1])

    @property
    def reliability(self) -> Reliability | None:
        """How often the class called was right in each bin of confidence; None where the bins were not kept."""
        return None if self.bins is None else Reliability.of(self.bins, self._rows_per_weight)

    @property
    def _rows_per_weight(self) -> float:
        """Rows of equal weight that a unit of weight is worth."""
        return self.effective_rows / self.weight

    @property
    def _ranked(self) -> Ranks | None:
        """The rows, where any that weighs something was kept."""
        return self.ranks if self.ranks is not None and self.ranks.parts and len(self.ranks.some.truth) else None

    def _kept(self, what: str) -> Ranks:
        if self._ranked is None:
            raise InputError(
                f"{what} needs the judged rows, and this report has kept sums only. "
                f"Hint: deciban.evaluate and deciban.cross_validate keep them"
            )
        return self._ranked

    @property
    def roc_auc_by_class(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where rows or classes are lacking."""
        return np.full(len(self.classes), np.nan) if self._ranked is None else self._ranked.area

    @property
    def average_precision_by_class(self) -> Array:
        """The average precision of each class against all others."""
        return np.full(len(self.classes), np.nan) if self._ranked is None else self._ranked.average_precision

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve: of the second of two classes; the mean over all classes of more."""
        return self._overall(self.roc_auc_by_class)

    @property
    def average_precision(self) -> float:
        """The average precision of the second of two classes; the mean over all classes of more."""
        return self._overall(self.average_precision_by_class)

    @property
    def weighted_roc_auc(self) -> float:
        """The mean area, the classes weighted by their rows."""
        return self._weighted(self.roc_auc_by_class)

    @property
    def weighted_average_precision(self) -> float:
        """The mean average precision, the classes weighted by their rows."""
        return self._weighted(self.average_precision_by_class)

    def _overall(self, by_class: Array) -> float:
        return float(by_class[1]) if len(self.classes) == 2 else _mean(by_class)

    def _weighted(self, by_class: Array) -> float:
        told = np.isfinite(by_class)
        if self._ranked is None or not told.any():
            return np.nan
        return float(np.average(by_class[told], weights=self._ranked.share[told]))

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The 95 % interval of each figure that has one.

        Accuracy: Wilson's; balanced accuracy: those of the recalls, squared and added (Newcombe 1998); log-loss and
        Brier's score: the normal one by the standard error; areas: Hanley and McNeil's, solved for its ends (Newcombe
        2006); average precision: Wilson's for as many rows as the class has (Boyd et al. 2013). Of more than two
        classes the ends of areas and average precisions are means of the classes' own, as if these moved together.
        """
        told = {"accuracy": self.accuracy_interval}
        recalls = zip(self.recall, map(tuple, self.intervals_by_class["recall"]))
        if np.isfinite(self.balanced_accuracy):
            told["balanced_accuracy"] = of_average(pair for pair in recalls if np.isfinite(pair[0]))
        if np.isfinite(self.log_loss_error):
            told["log_loss"] = of_mean(self.log_loss, self.log_loss_error)
        if np.isfinite(self.brier_error):
            told["brier"] = of_mean(self.brier, self.brier_error)
        for name in ("roc_auc", "average_precision"):
            ends = self.intervals_by_class.get(name)
            if ends is not None and np.isfinite(getattr(self, name)):
                low, high = (self._overall(ends[:, i]) for i in (0, 1))
                told[name] = low, high
        return told

    @cached_property
    def intervals_by_class(self) -> dict[str, Array]:
        """K×2: the 95 % intervals of precision and recall (Wilson's), and of ranking where the rows were kept."""
        _, rows, called = self._counts * self._rows_per_weight
        told = {
            "precision": np.array([_known(p, wilson(p, n)) for p, n in zip(self.precision, called)]),
            "recall": np.array([_known(r, wilson(r, n)) for r, n in zip(self.recall, rows)]),
        }
        if self._ranked is not None:
            mine = self._ranked.share * self._rows_per_weight
            others = self._ranked.some.weight.sum() * self._rows_per_weight - mine
            areas = zip(self.roc_auc_by_class, mine, others)
            told["roc_auc"] = np.array([_known(a, of_area(a, m, n)) for a, m, n in areas])
            precisions = zip(self.average_precision_by_class, mine)
            told["average_precision"] = np.array([_known(p, wilson(p, m)) for p, m in precisions])
        return told

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


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _mean(values: Array) -> float:
    """The mean of those that are told."""
    told = values[np.isfinite(values)]
    return float(told.mean()) if len(told) else np.nan


def _known(figure: float, ends: Interval) -> Interval:
    return (np.nan, np.nan) if np.isnan(figure) else ends


def _probability(odds: Array) -> Array:
    """p from ln p/(1−p)."""
    return np.exp(-np.logaddexp(0.0, -odds))
