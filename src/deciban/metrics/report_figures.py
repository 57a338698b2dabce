"""The figures of a report, from the sums over evaluated rows, and from the rows themselves where they were kept.

Reliability is the share of hits in each bin of confidence; Murphy's decomposition divides the Brier score by it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger.statistic import divide
from deciban.metrics.intervals import Interval, area_interval, average_interval, mean_interval, wilson
from deciban.metrics.ranking import ScoreSample
from deciban.result import Result


@dataclass(frozen=True, eq=False, slots=True)
class Reliability(Result):
    """A reliability table: bins of equal width of the confidence in the predicted class; NaN where a bin is empty.

    >>> bins = np.array([[0.0, 4.0], [0.0, 3.2], [0.0, 3.0]])
    >>> table = Reliability.of(bins, 1.0)
    >>> table.confidence.tolist(), table.hits.tolist()
    ([nan, 0.8], [nan, 0.75])
    """

    weight: Array
    confidence: Array
    """The mean confidence in each bin."""
    hits: Array
    """The share of the rows of each bin that were predicted correctly."""
    low: Array
    """The lower end of the 95 % interval of the share (Wilson)."""
    high: Array
    """The upper end of the 95 % interval of the share (Wilson)."""

    @classmethod
    def of(cls, bins: Array, rows_per_weight: float) -> Self:
        """Build the table from the sums of a scorecard, 3×B: weight, confidence, hits.

        `rows_per_weight` is the effective number of rows per unit of weight, for the intervals.
        """
        weight, confidence, hits = bins
        mean, share = divide(confidence, weight, np.nan), np.minimum(divide(hits, weight, np.nan), 1.0)
        ends = np.array([wilson(s, w * rows_per_weight) if w else (np.nan, np.nan) for s, w in zip(share, weight)])
        return cls(weight, mean, share, ends[:, 0], ends[:, 1])

    def select_bins(self, chosen: NDArray[np.bool_]) -> "Reliability":
        """Return the table of some of the bins."""
        return Reliability(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True, slots=True)
class BrierParts(Result):
    """Murphy's decomposition (1973), class by class against all others, the probabilities in bins of equal width.

    With n_b, p̄_b and ō_b the weight, mean probability and share of the class in bin b, ō the share in all rows:
    reliability Σ n_b (p̄_b − ō_b)² / n, resolution Σ n_b (ō_b − ō)² / n, uncertainty ō (1 − ō), each summed over the
    classes. The variation inside the bins is `within`, Σ (p − p̄_b)² − 2 (p − p̄_b)(o − ō_b) over n (Stephenson et
    al. 2008), so that reliability − resolution + uncertainty + within is the Brier score, to the last bits.

    >>> parts = BrierParts(reliability=0.01, resolution=0.2, uncertainty=0.5, within=0.0)
    >>> round(parts.score, 4)
    0.31
    """

    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        """The Brier score that the parts add up to."""
        return self.reliability - self.resolution + self.uncertainty + self.within


def decompose_brier(sample: ScoreSample, bins: int) -> BrierParts | None:
    """Decompose the Brier score of the kept rows whose class their model knows; None where there is no such row."""
    rows = sample.positive_weight_rows
    is_known = rows.truth >= 0
    if rows.known is not None:
        is_known = is_known & rows.known[np.arange(len(rows.truth)), rows.truth]
    if not is_known.any():
        return None
    rows = rows[np.flatnonzero(is_known)]
    weight = rows.weight / rows.weight.sum()
    parts = np.zeros(4)
    for k in range(sample.n_classes):
        parts += _decompose_class(np.exp(rows.log_posterior[:, k]), rows.truth == k, weight, bins)
    return BrierParts(*(float(part) for part in parts))


def _decompose_class(p: Array, o: NDArray[np.bool_], weight: Array, bins: int) -> Array:
    """Return reliability, resolution, uncertainty and within of one class, for weights that sum to 1."""
    which = find_bins(p, bins)
    n, sum_p, sum_o = (np.bincount(which, weight * v, bins).astype(np.float64) for v in (1.0, p, o))
    mean_p, mean_o = divide(sum_p, n), divide(sum_o, n)
    share = float(sum_o.sum())
    gap = p - mean_p[which]
    return np.array(
        [
            n @ (mean_p - mean_o) ** 2,
            n @ (mean_o - share) ** 2,
            share * (1 - share),
            weight @ (gap * gap - 2 * gap * (o - mean_o[which])),
        ]
    )


def find_bins(p: Array, bins: int) -> NDArray[np.intp]:
    """Return the bin of each probability: ((b−1)/B, b/B], the first with 0."""
    return np.searchsorted(np.arange(1, bins) / bins, p)


@dataclass(frozen=True, eq=False)
class Figures(Result):
    """The figures of a report with their uncertainty; `Report` documents what they mean."""

    _renamed_attributes = {"strangers": "unknown_confusion", "ranks": "score_sample", "decided": "decision_costs"}

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
    score_sample: ScoreSample | None = None
    """The evaluated rows, where they were kept."""
    folds: NDArray[Any] | None = None
    """The fold that each row was evaluated in, where there were folds and every row was kept."""
    learned_share: float | None = None
    """The share of the rows that the evaluated model has learned, by its sketch of them; None if none was found."""

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
        hits, _, predicted = self._counts
        return divide(hits, predicted, np.nan)

    @property
    def recall(self) -> Array:
        """The share of the rows of class k that are predicted as k; NaN for a class without rows."""
        hits, rows, _ = self._counts
        return divide(hits, rows, np.nan)

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall, 2 hits / (rows + predicted); NaN for a class without either."""
        hits, rows, predicted = self._counts
        return divide(2 * hits, rows + predicted, np.nan)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows: the accuracy if all classes were equally common."""
        return _average_finite(self.recall)

    @property
    def macro_f1(self) -> float:
        """The unweighted mean F1 of the classes."""
        return _average_finite(self.f1)

    @property
    def brier_parts(self) -> BrierParts | None:
        """Reliability, resolution, uncertainty and the variation within bins (`BrierParts`); None without rows."""
        if self._nonempty_sample is None or self.bins is None:
            return None
        return decompose_brier(self._nonempty_sample, self.bins.shape[1])

    @property
    def reliability(self) -> Reliability | None:
        """The share of correct predictions in each bin of confidence; None where the bins were not kept."""
        return None if self.bins is None else Reliability.of(self.bins, self._rows_per_weight)

    @property
    def _rows_per_weight(self) -> float:
        """The effective number of rows per unit of weight."""
        return self.effective_rows / self.weight

    @property
    def _nonempty_sample(self) -> ScoreSample | None:
        """The kept rows; None where no row of weight above 0 was kept."""
        sample = self.score_sample
        return sample if sample is not None and sample.parts and len(sample.positive_weight_rows.truth) else None

    @property
    def roc_auc_by_class(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where rows or classes are lacking."""
        sample = self._nonempty_sample
        return np.full(len(self.classes), np.nan) if sample is None else sample.roc_auc

    @property
    def average_precision_by_class(self) -> Array:
        """The average precision of each class against all others."""
        sample = self._nonempty_sample
        return np.full(len(self.classes), np.nan) if sample is None else sample.average_precision

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve: of the second of two classes; the mean over all classes of more."""
        return self._combine_classes(self.roc_auc_by_class)

    @property
    def average_precision(self) -> float:
        """The average precision of the second of two classes; the mean over all classes of more."""
        return self._combine_classes(self.average_precision_by_class)

    @property
    def weighted_roc_auc(self) -> float:
        """The mean area, the classes weighted by their rows."""
        return self._weighted_mean(self.roc_auc_by_class)

    @property
    def weighted_average_precision(self) -> float:
        """The mean average precision, the classes weighted by their rows."""
        return self._weighted_mean(self.average_precision_by_class)

    def _combine_classes(self, by_class: Array) -> float:
        """Return the figure of the second of two classes; of more, or one, the mean of those that are finite."""
        return float(by_class[1]) if len(self.classes) == 2 else _average_finite(by_class)

    def _weighted_mean(self, by_class: Array) -> float:
        """Return the mean of the finite figures of classes, weighted by their kept rows; NaN where there are none."""
        finite = np.isfinite(by_class)
        if self._nonempty_sample is None or not finite.any():
            return np.nan
        return float(np.average(by_class[finite], weights=self._nonempty_sample.class_weights[finite]))

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
                low, high = (self._combine_classes(ends[:, i]) for i in (0, 1))
                intervals[name] = low, high
        return intervals

    @cached_property
    def intervals_by_class(self) -> dict[str, Array]:
        """K×2: the 95 % intervals of precision and recall (Wilson's), and of ranking where the rows were kept."""
        _, rows, predicted = self._counts * self._rows_per_weight
        intervals = {
            "precision": _compute_intervals(wilson, self.precision, predicted),
            "recall": _compute_intervals(wilson, self.recall, rows),
        }
        if self._nonempty_sample is not None:
            own = self._nonempty_sample.class_weights * self._rows_per_weight
            others = self._nonempty_sample.positive_weight_rows.weight.sum() * self._rows_per_weight - own
            intervals["roc_auc"] = _compute_intervals(area_interval, self.roc_auc_by_class, own, others)
            intervals["average_precision"] = _compute_intervals(wilson, self.average_precision_by_class, own)
        return intervals


def _average_finite(values: Array) -> float:
    """Return the mean of the finite values; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else np.nan


def _compute_intervals(interval: Callable[..., Interval], figures: Array, *rows: Array) -> Array:
    """Return the interval of each figure, K×2, given the numbers of its rows; NaN for a figure that is NaN."""
    pairs = zip(figures, zip(*rows))
    return np.array([(np.nan, np.nan) if np.isnan(figure) else interval(figure, *n) for figure, n in pairs])
