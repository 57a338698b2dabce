"""The figures of a report: what follows from the sums over judged rows, and from the rows where they were kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.statistic import Array
from deciban.metrics.brier import BrierParts, brier_parts
from deciban.metrics.intervals import Interval, of_area, of_average, of_mean, wilson
from deciban.metrics.ranking import Ranks
from deciban.metrics.reliability_bins import Reliability


@dataclass(frozen=True, eq=False)
class Figures:
    """How good, and how sure that is; what the figures mean is said by `Report`."""

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

    @property
    def log_loss_interval(self) -> Interval:
        """Where the log-loss lies, 95 % sure, by its standard error; NaN where that is not known."""
        return of_mean(self.log_loss, self.log_loss_error)

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
            told["log_loss"] = self.log_loss_interval
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


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _mean(values: Array) -> float:
    """The mean of those that are told."""
    told = values[np.isfinite(values)]
    return float(told.mean()) if len(told) else np.nan


def _known(figure: float, ends: Interval) -> Interval:
    return (np.nan, np.nan) if np.isnan(figure) else ends
