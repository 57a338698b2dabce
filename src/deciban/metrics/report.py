"""The report on a model: accuracy, log-loss, calibration, ranking and decisions, as numbers and as text."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError
from deciban.formatting import (
    align_columns,
    format_count,
    format_number,
    format_percent,
    format_percent_range,
    format_with_error,
)
from deciban.metrics import ranking
from deciban.metrics.ranking import DecisionCosts, ScoredRows, ScoreSample, Threshold
from deciban.metrics.report_figures import Figures
from deciban.result import FrameKind, make_frame
from deciban.scores.posterior import Costs, Decision, Thresholds, find_code, take_labels

REPORT_FIGURES = (
    "rows", "weight", "effective_rows", "accuracy", "accuracy_interval", "majority", "commonest", "balanced_accuracy",
    "log_loss", "log_loss_error", "brier", "brier_error", "calibration_error", "macro_f1", "unknown", "impossible",
    "classes", "precision", "recall", "f1", "confusion", "measured",
)  # fmt: skip
"""The first keys of `Report.to_dict`, in this order, with `RANKING_FIGURES` before the last."""

RANKING_FIGURES = (
    "roc_auc", "average_precision", "weighted_roc_auc", "weighted_average_precision", "roc_auc_by_class",
    "average_precision_by_class",
)  # fmt: skip
"""The further keys of `Report.to_dict` where the rows were kept."""

MAIN_FIGURES = ("accuracy", "log_loss", "log_loss_error", "calibration_error")
"""The figures of a report that comparisons of several models show."""

ROUNDING_SHARE = 1e-9
"""A relative difference of numbers of rows that is rounding."""

CLASS_HEADINGS = ("class", "precision", "recall", "F1", "rows")
"""The headings of the lines that `Report.by_class` returns."""

MAX_CONFUSION_CLASSES = 8
"""The number of classes up to which the confusion matrix is printed."""

MAX_LISTED_CLASSES = 12
"""The number of classes up to which precision and recall of each are printed."""

MAX_NOTEBOOK_CLASSES = 30
"""The number of classes up to which notebooks show both."""


@document()
@dataclass(frozen=True, eq=False, repr=False)
class Report(Figures):
    """The quality of a classification of rows whose classes are known; `evaluate` and `cross_validate` return it.

    Weights are how much a row counts in the figures; the uncertainty follows from `effective_rows`, whatever the unit
    of the weights. The `intervals` are 95 % ones.

    Ranking (`roc_auc`, curves, thresholds), `brier_parts` and `cost` need the rows themselves. Where these were not
    kept, the figures are NaN or None, and curves, thresholds and costs raise an InputError; where a sample was kept,
    they are those of the sample, as a note states.

    Parameters
    ----------
    rows : int
        The number of evaluated rows.
    weight : float
        Their weight.
    effective_rows : float
        How many rows of equal weight would carry as much information (Kish 1965): (Σw)² / Σw².
    classes : tuple
        The classes, in order.
    accuracy : float
        The share of rows that were predicted correctly.
    log_loss : float
        The mean of −ln p(truth); ∞ if the model gave the true class of any row the probability 0.
    log_loss_error : float
        The standard error of the log-loss.
    brier : float
        The mean of Σ_k (p_k − [k is the truth])², from 0 to 2.
    calibration_error : float
        The mean distance between the confidence in the predicted class and the share of hits at that confidence.
    confusion : array, K×K
        The weight of rows by their class (line) and the predicted class (column).
    commonest : object
        The most common class.
    majority : float
        The accuracy of always predicting the most common class.
    unknown : int
        Rows of a class that the model had no row of: errors, left out of log-loss, Brier score and confusion.
    impossible : int
        Rows whose true class had the probability 0.
    measured : str
        A sentence on how the figures were measured.
    brier_error : float
        The standard error of the Brier score.
    unknown_confusion : array, (K+1)×K, or None
        The weight of rows of an unknown class, by class (last: none of the K) and predicted class.
    bins : array, 3×B, or None
        Weight, confidence and hits of the rows in each bin of confidence.
    score_sample : ScoreSample or None
        The evaluated rows, where they were kept.
    folds : array or None
        The fold of each row, where there were folds and every row was kept.
    learned_share : float or None
        The share of the rows that the evaluated model had learned, where it is above what chance gives.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
    >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
    >>> report.rows, round(report.accuracy, 3), report.confusion.tolist()
    (6, 0.667, [[2.0, 1.0], [1.0, 2.0]])
    """

    def _require_rows(self, purpose: str) -> ScoreSample:
        """Return the kept rows; refuse a report without them, for which `purpose` is not possible."""
        if self._nonempty_sample is None:
            raise InputError(
                f"{purpose} needs the evaluated rows, and this report has kept sums only. "
                f"Hint: deciban.evaluate and deciban.cross_validate keep them"
            )
        return self._nonempty_sample

    def roc_curve(self, label: Any = None) -> tuple[Array, Array, Array]:
        """Return false and true positive rates of a class against all others, and the probability threshold of each.

        They begin at 0 and 0, with the threshold ∞. The class is the second one by default.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> alarms, found, threshold = report.roc_curve("plum")
        >>> alarms.round(2).tolist(), found.round(2).tolist()
        ([0.0, 0.33, 0.33, 0.33, 0.67, 1.0, 1.0], [0.0, 0.0, 0.33, 0.67, 0.67, 0.67, 1.0])
        """
        curve = self._require_rows("a ROC curve").curve(self._class_index(label))
        with np.errstate(invalid="ignore"):
            sums = (curve.false_positives, curve.true_positives)
            false, true = (np.append(0.0, counts) / counts[-1:] for counts in sums)
        return false, true, np.append(np.inf, _to_probability(curve.score))

    def precision_recall_curve(self, label: Any = None) -> tuple[Array, Array, Array]:
        """Return precision and recall of a class (by default the second), by rising recall, and their thresholds.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> precision, recall, threshold = report.precision_recall_curve("plum")
        >>> recall.round(2).tolist()
        [0.0, 0.33, 0.67, 0.67, 0.67, 1.0]
        """
        curve = self._require_rows("a precision–recall curve").curve(self._class_index(label))
        return curve.precision, curve.recall, _to_probability(curve.score)

    def _class_index(self, label: Any) -> int:
        """Return the index of a class, by default of the second (of a single class 0); refuse an unknown one."""
        if label is None:
            return min(1, len(self.classes) - 1)
        return find_code(label, {known: k for k, known in enumerate(self.classes)})

    def threshold(self, label: Any, *, precision: float | None = None, recall: float | None = None) -> Threshold:
        """Find the probability of `label` from which a wanted precision or recall is reached on the evaluated rows.

        This is the lowest one that reaches the precision, or the highest that reaches the recall;
        `predict(thresholds=...)` takes it. If it is out of reach, the error names the best that can be reached.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> print(report.threshold("plum", recall=0.6))
        predict plum from p ≥ 0.869007: precision 66.67 % (20.77 to 93.85), recall 66.67 % (20.77 to 93.85)
        """
        curve = self._require_rows("a threshold").curve(self._class_index(label), by_probability=True)
        return ranking.find_threshold(curve, label, precision, recall, self._rows_per_weight)

    def cost(
        self, costs: Costs | None = None, reject: float | None = None, thresholds: Thresholds | None = None
    ) -> float:
        """Return the mean cost per evaluated row of a decision rule; see `Decision`.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> round(report.cost(), 3), round(report.cost({("plum", "lemon"): 5}), 3)
        (0.333, 1.0)
        """
        return self.decision_costs(costs, reject, thresholds).cost

    def decision_costs(
        self, costs: Costs | None = None, reject: float | None = None, thresholds: Thresholds | None = None
    ) -> DecisionCosts:
        """Apply a decision rule to the evaluated rows: its cost, the share undecided, the accuracy of the others.

        The cost of predicting the most probable class is returned too. A rule that leaves rows undecided is refused
        without `reject`, which is their cost.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> round(report.decision_costs(reject=0.3).undecided, 3)
        0.0
        """
        sample = self._require_rows("the cost of decisions")
        return ranking.compute_decision_costs(sample, Decision.of(self.classes, costs, reject, thresholds))

    @property
    def log_proba(self) -> Array | None:
        """ln p(k|x) of every row, n×K (NaN for a row that was not evaluated); None where not all were kept."""
        return None if self._all_rows is None else self._all_rows.log_posterior

    @property
    def predictions(self) -> NDArray[Any] | None:
        """The predicted class of every row (None for a row that was not evaluated); None where not all were kept."""
        if self.log_proba is None:
            return None
        places = self.log_proba.argmax(axis=1)
        return take_labels(self._labels, np.where(np.isnan(self.log_proba[:, 0]), -1, places))

    @property
    def truth(self) -> NDArray[Any] | None:
        """The class of every row, evaluated or not (None if not one of `classes`); None where not all were kept."""
        return None if self._all_rows is None else take_labels(self._labels, self._all_rows.truth)

    @property
    def _all_rows(self) -> ScoredRows | None:
        """All rows, also those that were not evaluated; None where not all were kept."""
        sample = self.score_sample
        return sample.rows if sample is not None and sample.is_complete and sample.parts else None

    @property
    def _labels(self) -> NDArray[Any]:
        """The classes as an array, of objects where an array of another type would change them."""
        labels = np.array(self.classes)
        return labels if labels.tolist() == list(self.classes) else np.array(self.classes, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, reliability, Brier parts and intervals as JSON values; None for a number not finite.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.to_dict()["rows"]
        6
        """
        ranking_figures = () if self._nonempty_sample is None else RANKING_FIGURES
        figures = self.select((*REPORT_FIGURES[:-1], *ranking_figures, REPORT_FIGURES[-1]))
        for name, value in (("reliability", self.reliability), ("brier_parts", self.brier_parts)):
            figures[name] = None if value is None else value.to_dict()
        learned = () if self.learned_share is None else ("learned_share",)
        return figures | self.select(("intervals", "intervals_by_class", *learned))

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each class: rows, precision and recall with 95 % intervals, F1, ranking.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.to_frame("arrow").num_rows
        2
        """
        ends = {
            f"{name}_{end}": self.intervals_by_class[name][:, i]
            for name in ("precision", "recall")
            for i, end in enumerate(("low", "high"))
        }
        figures = {"rows": self.rows_by_class, "precision": self.precision, "recall": self.recall, "f1": self.f1}
        ranking = {"roc_auc": self.roc_auc_by_class, "average_precision": self.average_precision_by_class}
        return make_frame({"class": list(self.classes), **figures, **ends, **ranking}, kind)

    def entries(self) -> list[tuple[str, str]]:
        """Return (name, value) of the main figures, formatted for people; the area under ROC only of two classes.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.entries()[0]
        ('rows', '6')
        """
        weight = "" if self.weight == self.rows else f" of weight {self.weight:.10g} together"
        interval = format_percent_range(self.accuracy_interval)
        loss = format_with_error(self.log_loss, self.log_loss_error)
        if self.impossible:
            rows = format_count(self.impossible, "row")
            loss = f"∞ (the true class had the probability 0 in {rows}; alpha > 0 prevents it)"
        entries = [
            ("rows", f"{format_count(self.rows)}{weight}"),
            ("accuracy", f"{format_percent(self.accuracy, 2)} (95 % interval: {interval})"),
            (f"always {self.commonest}", format_percent(self.majority, 2)),
            ("balanced accuracy", format_percent(self.balanced_accuracy, 2)),
            ("log-loss", loss),
            ("Brier score", format_number(self.brier)),
            ("calibration error", format_number(self.calibration_error)),
        ]
        if len(self.classes) == 2 and not math.isnan(self.roc_auc):
            low, high = self.intervals["roc_auc"]
            entries.append(("area under ROC", f"{self.roc_auc:.4f} (95 % interval: {low:.4f} to {high:.4f})"))
        return entries

    def by_class(self) -> list[list[str]]:
        """Return name, precision, recall, F1 and rows of each class, formatted for people.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.by_class()[0]
        ['lemon', '66.7 %', '66.7 %', '66.7 %', '3']
        """
        columns = self.classes, self.precision, self.recall, self.f1, self.rows_by_class.round(3)
        return [
            [str(label), format_percent(p), format_percent(r), format_percent(f), f"{n:.10g}"]
            for label, p, r, f, n in zip(*columns)
        ]

    def notes(self) -> list[str]:
        """Return sentences: how it was measured, and any unequal weights, unknown classes or sampling of rows.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 6, 8, 9, 4], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> report = deciban.evaluate(taste, target="fruit", folds="loo", numbers="number")
        >>> report.notes()[0]
        'exact leave-one-out: every row scored by the model of all others; not calibrated'
        """
        lines = [self.measured] if self.measured else []
        if self.learned_share is not None:
            lines.append(describe_learned_rows(self.learned_share, self.rows))
        if self.effective_rows < self.rows * (1 - ROUNDING_SHARE):
            rows = format_count(self.effective_rows, "row")
            lines.append(f"the weights differ: the intervals are those of {rows} of equal weight")
        if self.unknown:
            rows = format_count(self.unknown, "row")
            lines.append(f"{rows} of a class without training rows: counted as errors, left out of log-loss")
        sample = self.score_sample
        if sample is not None and not sample.is_complete:
            lines.append(f"ranking and thresholds are those of 1 row in {2**sample.n_halvings}, drawn at random")
        return lines

    def __repr__(self) -> str:
        accuracy, loss = format_percent(self.accuracy, 2), format_number(self.log_loss)
        which = f"{format_count(self.rows, 'row')} of {format_count(len(self.classes), 'class')}"
        return f"<Report: {which}, accuracy {accuracy}, log-loss {loss}>"

    def _repr_html_(self) -> str:
        """Return figures, classes and confusion matrix, for notebooks."""
        from deciban import html_fragments as html

        figures = [entry for entry in self.entries() if entry[0] != "accuracy"]
        accuracy = ("accuracy", html.draw_interval(self.accuracy, self.accuracy_interval))
        parts = [html.make_pairs([figures[0], accuracy, *figures[1:]])]
        if 1 < len(self.classes) <= MAX_NOTEBOOK_CLASSES:
            parts.append(html.make_confusion_table(self.classes, self.confusion))
            parts.append(html.make_table(CLASS_HEADINGS, self.by_class(), "each class"))
        return html.wrap_for_notebook(*parts, html.make_notes(self.notes()))

    def __str__(self) -> str:
        entries = self.entries()
        width = max(len(name) for name, _ in entries)
        lines = [f"{name:<{width}}  {value}" for name, value in entries]
        if 1 < len(self.classes) <= MAX_LISTED_CLASSES:
            lines += ["", *align_columns([CLASS_HEADINGS, *self.by_class()])]
        if 1 < len(self.classes) <= MAX_CONFUSION_CLASSES:
            table = [["truth \\ predicted", *(str(label) for label in self.classes), "right"]]
            for k, (label, line) in enumerate(zip(self.classes, self.confusion)):
                right = format_percent(line[k] / line.sum() if line.sum() else math.nan)
                table.append([str(label), *(f"{cell:.10g}" for cell in line.round(3)), right])
            lines += ["", *align_columns(table)]
        notes = self.notes()
        return "\n".join([*lines, "", *notes] if notes else lines)


def describe_learned_rows(share: float, rows: int) -> str:
    """Describe in a sentence that a model was evaluated on rows of which it has learned this share.

    >>> describe_learned_rows(1.0, 397)
    'these 397 rows were learned by this model: the figures are not held out'
    """
    some = "" if share == 1 else "almost all of " if share >= 0.99 else f"about {format_percent(share, 0)} of "
    return f"{some}these {format_count(rows, 'row')} were learned by this model: the figures are not held out"


def _to_probability(log_odds: Array) -> Array:
    """Return p from ln p/(1−p)."""
    return np.exp(-np.logaddexp(0.0, -log_odds))
