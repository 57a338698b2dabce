"""The figures of a report, computed from the sums over evaluated rows and from the rows where they were kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.metrics.intervals import Interval, area_interval, average_interval, mean_interval, wilson
from deciban.metrics.ranking import Ranks
from deciban.metrics.reliability_bins import BrierParts, Reliability, brier_parts
from deciban.metrics.renamed_attributes import RenamedAttributes


@dataclass(frozen=True, eq=False)
class Figures(RenamedAttributes):
    """The figures of a report with their uncertainty; `Report` documents what they mean."""

    renamed_attributes = {"strangers": "unknown_confusion"}

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
    unknown_confusion: Array | None = None
    """(K+1)×K: weight of rows of a class the model does not know, by class (last: none of the K) and prediction."""
    bins: Array | None = None
    """3×B: weight, confidence and hits of the rows in each bin of confidence."""
    ranks: Ranks | None = None
    """The evaluated rows, where they were kept."""
    folds: NDArray[Any] | None = None
    """The fold that each row was evaluated in, where there were folds and every row was kept."""

    @property
    def accuracy_interval(self) -> Interval:
        """The 95 % interval of the accuracy (Wilson)."""
        return wilson(self.accuracy, self.effective_rows)

    @property
    def log_loss_interval(self) -> Interval:
        """The 95 % interval of the log-loss, by its standard error; NaN where that is not known."""
        return mean_interval(self.log_loss, self.log_loss_error)

    @cached_property
    def _counts(self) -> Array:
        """3×K: the weight of the hits of each class, of its rows, and of the rows predicted as it."""
        K = len(self.classes)
        unknown_confusion = np.zeros((K + 1, K)) if self.unknown_confusion is None else self.unknown_confusion
        rows = self.confusion.sum(axis=1) + unknown_confusion[:K].sum(axis=1)
        return np.stack([np.diag(self.confusion), rows, self.confusion.sum(axis=0) + unknown_confusion.sum(axis=0)])

    @property
    def rows_by_class(self) -> Array:
        """The weight of the rows of each class."""
        return self._counts[1]

    @property
    def precision(self) -> Array:
        """The share of rows of class k among those predicted as k; NaN for a class that is never predicted."""
        hits, _, called = self._counts
        return _ratio(hits, called)

    @property
    def recall(self) -> Array:
        """The share of the rows of class k that are predicted as k; NaN for a class without rows."""
        hits, rows, _ = self._counts
        return _ratio(hits, rows)

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall, 2 hits / (rows + predicted); NaN for a class without either."""
        hits, rows, called = self._counts
        return _ratio(2 * hits, rows + called)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows: the accuracy if all classes were equally common."""
        return _mean(self.recall)

    @property
    def macro_f1(self) -> float:
        """The unweighted mean F1 of the classes."""
        return _mean(self.f1)

    @property
    def brier_parts(self) -> BrierParts | None:
        """Reliability, resolution, uncertainty and the variation within bins; see `BrierParts`."""
        if self._ranks_with_rows is None or self.bins is None:
            return None
        return brier_parts(self._ranks_with_rows, self.bins.shape[1])

    @property
    def reliability(self) -> Reliability | None:
        """The share of correct predictions in each bin of confidence; None where the bins were not kept."""
        return None if self.bins is None else Reliability.of(self.bins, self._rows_per_weight)

    @property
    def _rows_per_weight(self) -> float:
        """The effective number of rows per unit of weight."""
        return self.effective_rows / self.weight

    @property
    def _ranks_with_rows(self) -> Ranks | None:
        """The kept rows; None where no row of weight above 0 was kept."""
        ranks = self.ranks
        return ranks if ranks is not None and ranks.parts and len(ranks.weighted_rows.truth) else None

    @property
    def roc_auc_by_class(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where rows or classes are lacking."""
        ranks = self._ranks_with_rows
        return np.full(len(self.classes), np.nan) if ranks is None else ranks.area

    @property
    def average_precision_by_class(self) -> Array:
        """The average precision of each class against all others."""
        ranks = self._ranks_with_rows
        return np.full(len(self.classes), np.nan) if ranks is None else ranks.average_precision

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
        return self._weighted_mean(self.roc_auc_by_class)

    @property
    def weighted_average_precision(self) -> float:
        """The mean average precision, the classes weighted by their rows."""
        return self._weighted_mean(self.average_precision_by_class)

    def _overall(self, by_class: Array) -> float:
        return float(by_class[1]) if len(self.classes) == 2 else _mean(by_class)

    def _weighted_mean(self, by_class: Array) -> float:
        finite = np.isfinite(by_class)
        if self._ranks_with_rows is None or not finite.any():
            return np.nan
        return float(np.average(by_class[finite], weights=self._ranks_with_rows.class_weights[finite]))

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The 95 % interval of each figure that has one.

        Accuracy: Wilson's; balanced accuracy: those of the recalls, squared and added (Newcombe 1998); log-loss and
        Brier score: the normal one by the standard error; areas: Hanley and McNeil's, solved for its ends (Newcombe
        2006); average precision: Wilson's for as many rows as the class has (Boyd et al. 2013). For more than two
        classes the ends of areas and average precisions are means of the classes' own, as if these moved together.
        """
        intervals = {"accuracy": self.accuracy_interval}
        recalls = zip(self.recall, map(tuple, self.intervals_by_class["recall"]))
        if np.isfinite(self.balanced_accuracy):
            intervals["balanced_accuracy"] = average_interval(pair for pair in recalls if np.isfinite(pair[0]))
        if np.isfinite(self.log_loss_error):
            intervals["log_loss"] = self.log_loss_interval
        if np.isfinite(self.brier_error):
            intervals["brier"] = mean_interval(self.brier, self.brier_error)
        for name in ("roc_auc", "average_precision"):
            ends = self.intervals_by_class.get(name)
            if ends is not None and np.isfinite(getattr(self, name)):
                low, high = (self._overall(ends[:, i]) for i in (0, 1))
                intervals[name] = low, high
        return intervals

    @cached_property
    def intervals_by_class(self) -> dict[str, Array]:
        """K×2: the 95 % intervals of precision and recall (Wilson's), and of ranking where the rows were kept."""
        _, rows, called = self._counts * self._rows_per_weight
        intervals = {
            "precision": np.array([_interval_or_nan(p, wilson(p, n)) for p, n in zip(self.precision, called)]),
            "recall": np.array([_interval_or_nan(r, wilson(r, n)) for r, n in zip(self.recall, rows)]),
        }
        if self._ranks_with_rows is not None:
            own = self._ranks_with_rows.class_weights * self._rows_per_weight
            others = self._ranks_with_rows.weighted_rows.weight.sum() * self._rows_per_weight - own
            areas = zip(self.roc_auc_by_class, own, others)
            intervals["roc_auc"] = np.array([_interval_or_nan(a, area_interval(a, m, n)) for a, m, n in areas])
            precisions = zip(self.average_precision_by_class, own)
            intervals["average_precision"] = np.array([_interval_or_nan(p, wilson(p, m)) for p, m in precisions])
        return intervals


def _ratio(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _mean(values: Array) -> float:
    """Return the mean of the finite values; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.nan


def _interval_or_nan(figure: float, ends: Interval) -> Interval:
    return (np.nan, np.nan) if np.isnan(figure) else ends
