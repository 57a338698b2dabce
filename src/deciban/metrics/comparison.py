"""The comparison of learners evaluated on the same rows in the same folds: differences row by row, and advice."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.formatting import format_number, format_thousands
from deciban.metrics import comparison_advice
from deciban.metrics.comparison_advice import DEFAULT_LEARNER
from deciban.metrics.intervals import bounded_losses, effective_weights, paired_mean
from deciban.metrics.learning_curves import Figure, LearningCurves, find_learner
from deciban.metrics.report import MAIN_FIGURES, Report
from deciban.metrics.scorecard import Scorecard
from deciban.plain_json import to_plain
from deciban.result import FrameKind, Result, make_frame

CONFIDENCE_LEVEL = 0.95
"""The confidence that all differences reported as significant are real (Holm 1979)."""

ROUNDING_PROBABILITY = 1e-9
"""A difference of p(k|x) that is rounding."""


class Gap(NamedTuple):
    """The mean difference of two learners over the rows and its standard error, paired row by row.

    It is in nats for losses, a share for accuracies.
    """

    mean: float
    error: float

    @property
    def p_value(self) -> float:
        """The probability of a difference at least this large by chance alone; 1 where it has no standard error."""
        if not self.error > 0:
            return 1.0
        return 2 * NormalDist().cdf(-abs(self.mean) / self.error)


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """A learner, its arguments for `train`, and its ln p(k|x) of every evaluated row, n×K."""

    name: str
    arguments: Mapping[str, Any]
    log_posterior: Array
    seconds: float
    n_parameters: float


@dataclass(frozen=True, eq=False, repr=False)
class CandidateResult(Result):
    """A learner with its report and its differences to the best learner.

    `arguments` are those of `train` for it, `seconds` the mean time over the folds to learn all rows but a fold,
    `n_parameters` the number of estimated parameters. `loss` is its log-loss above the lowest, `misses` its accuracy
    below the highest; both paired, row by row.
    """

    _renamed_attributes = {"told": "arguments"}

    name: str
    arguments: Mapping[str, Any]
    report: Report
    seconds: float
    n_parameters: float
    loss: Gap
    misses: Gap

    @property
    def figures(self) -> dict[str, Any]:
        """The name and all figures by name: log-losses in nats, seconds, shares, the number of parameters."""
        differences = {
            "log_loss_above": self.loss.mean, "log_loss_above_error": self.loss.error,
            "accuracy_below": self.misses.mean, "accuracy_below_error": self.misses.error,
        }  # fmt: skip
        main = {name: getattr(self.report, name) for name in MAIN_FIGURES}
        effort = {"seconds": self.seconds, "n_parameters": self.n_parameters}
        return {"name": self.name, **main, **differences, **effort}

    def to_dict(self) -> dict[str, Any]:
        """Return the learner and its figures as JSON values."""
        figures = self.figures
        return to_plain({"name": figures.pop("name"), "told": dict(self.arguments), **figures})

    def __repr__(self) -> str:
        return f"<{self.name}: log-loss {format_number(self.report.log_loss)}, accuracy {self.report.accuracy:.4f}>"


@document()
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The results of learners on the same rows, in the order of the request; `compare` returns it.

    A learner is reported as worse only if the rows show it: differences are paired, row by row, and so many standard
    errors from zero that all those reported as significant are real with 95 % confidence (Holm 1979). The rows are
    evaluated in folds whose models share most of their rows, so results on another table of the same kind vary a
    little more than these errors. Iteration gives the learners, `comparison["logistic"]` one of them.

    Parameters
    ----------
    target : str
        The column that was predicted.
    rows : tuple of CandidateResult
        Each learner with its report and its differences to the best.
    measured : str
        A sentence on how the figures were measured.
    growth : LearningCurves or None
        Accuracy and log-loss of every learner by the number of rows learned.
    notes : tuple of str
        Sentences on what was left out.
    losses : array, L×n
        −ln p(truth) of every row by every learner, at most 708 nats; NaN where the class was unknown.
    hits : array, L×n
        Whether each row was predicted correctly by each learner.
    weight : array
        The weight of each row.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 3, 8, 9, 7] * 9, "fruit": (["lemon"] * 3 + ["plum"] * 3) * 9}
    >>> found = deciban.compare(taste, target="fruit", learners=["bayes", "logistic"])
    >>> found.names
    ['naive Bayes', 'logistic']
    >>> found.to_frame("arrow").num_rows
    2
    """

    _renamed_attributes = {"growing": "curve_summary"}

    target: str
    rows: tuple[CandidateResult, ...]
    measured: str
    growth: LearningCurves | None = None
    notes: tuple[str, ...] = ()
    losses: Array = field(default_factory=lambda: np.zeros((0, 0)))
    hits: Array = field(default_factory=lambda: np.zeros((0, 0)))
    weight: Array = field(default_factory=lambda: np.zeros(0))

    def __iter__(self) -> Iterator[CandidateResult]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> CandidateResult:
        return self.rows[find_learner(name, self.names)]

    @property
    def names(self) -> list[str]:
        """The names of the learners."""
        return [each.name for each in self.rows]

    def loss_gap(self, one: str, other: str) -> Gap:
        """Return the log-loss of one learner less that of another; below zero where the first is better."""
        return _compute_gap(self.losses, find_learner(one, self.names), find_learner(other, self.names), self.weight)

    def accuracy_gap(self, one: str, other: str) -> Gap:
        """Return the accuracy of one learner less that of another."""
        return _compute_gap(self.hits, find_learner(one, self.names), find_learner(other, self.names), self.weight)

    @property
    def lowest(self) -> CandidateResult:
        """The learner of the lowest log-loss."""
        return min(self.rows, key=lambda each: each.loss.mean)

    @property
    def most_accurate(self) -> CandidateResult:
        """The learner of the highest accuracy."""
        return min(self.rows, key=lambda each: each.misses.mean)

    def is_better(self, one: str, other: str, figure: Figure) -> bool:
        """Return whether one learner is better than another in a figure, significantly among all its differences."""
        is_loss = figure == "log_loss"
        gaps = [self.loss_gap(name, one) if is_loss else self.accuracy_gap(one, name) for name in self.names]
        i = find_learner(other, self.names)
        return gaps[i].mean > 0 and find_significant(gaps)[i]

    @property
    def level(self) -> list[CandidateResult]:
        """The learners whose log-loss is not significantly above the lowest, that of the lowest included."""
        worse = find_significant([each.loss for each in self.rows])
        return [each for each, is_worse in zip(self.rows, worse) if not is_worse]

    @property
    def as_accurate(self) -> list[CandidateResult]:
        """The learners whose accuracy is not significantly below the highest, that of the highest included."""
        worse = find_significant([each.misses for each in self.rows])
        return [each for each, is_worse in zip(self.rows, worse) if not is_worse]

    @property
    def unbeaten(self) -> list[CandidateResult]:
        """The learners that no other beats significantly, in log-loss or in accuracy; there may be none."""
        as_accurate = self.as_accurate
        return [each for each in self.level if each in as_accurate]

    @property
    def best(self) -> CandidateResult:
        """The learner that is recommended.

        This is naive Bayes, unless another has a significantly lower log-loss or higher accuracy; else the learner of
        the lowest log-loss among those that no other beats; if each is beaten in something, the lowest of all.
        """
        among = self.unbeaten or [self.lowest]
        return min(among, key=lambda each: (each.name != DEFAULT_LEARNER, each.loss.mean))

    @property
    def advice(self) -> str:
        """A sentence on which learner to use, and why."""
        return comparison_advice.recommend_learner(self)

    @property
    def curve_summary(self) -> str:
        """A sentence on the learning curves; empty where there are none."""
        return comparison_advice.describe_curves(self)

    @property
    def overtaken_at(self) -> float | None:
        """The number of rows at which the recommended learner (or else logistic) overtakes naive Bayes.

        None unless the curves show it to happen exactly once.
        """
        other = comparison_advice.choose_rival(self)
        if self.growth is None or other is None:
            return None
        turns = self.growth.crossings(DEFAULT_LEARNER, other)
        return turns[0].at if len(turns) == 1 and turns[0].first_ahead else None

    def to_dict(self) -> dict[str, Any]:
        """Return all results as JSON values: a number that is not finite is None."""
        return {
            "target": self.target,
            "rows": len(self.weight),
            "best": self.best.name,
            "told": to_plain(dict(self.best.arguments)),
            "advice": self.advice,
            "learners": [each.to_dict() for each in self.rows],
            "curves": None
            if self.growth is None
            else {**self.growth.to_dict(), "overtaken_at": self.overtaken_at, "in_words": self.curve_summary},
            "measured": self.measured,
            "notes": list(self.notes),
        }

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each learner: its figures, their differences to the best, time and size."""
        lines = [each.figures for each in self.rows]
        return make_frame({name: [line[name] for line in lines] for name in lines[0]}, kind)

    def __repr__(self) -> str:
        learners = ", ".join(map(repr, self.rows))
        rows = f"{format_thousands(len(self.weight))} rows"
        return f"<Comparison on {rows} of {self.target}: {learners}; recommended: {self.best.name}>"

    def _repr_html_(self) -> str:
        """Return the learners side by side and the advice, for notebooks."""
        return comparison_advice.show_in_notebook(self)

    def __str__(self) -> str:
        return comparison_advice.format_comparison(self)


def find_significant(gaps: Sequence[Gap]) -> list[bool]:
    """Return whether each difference to the best is significant, at 95 % for all of them together (Holm 1979).

    The least p-value is compared with 0.05/m, the next with 0.05/(m − 1) …, until one is above its bound; the
    difference of the best to itself is none.

    >>> find_significant([Gap(0.0, 0.0), Gap(3.0, 1.0), Gap(2.1, 1.0), Gap(1.0, 1.0)])
    [False, True, False, False]
    """
    order = sorted((gap.p_value, i) for i, gap in enumerate(gaps) if gap.error > 0)
    significant = [False] * len(gaps)
    for rank, (p_value, i) in enumerate(order):
        if p_value > (1 - CONFIDENCE_LEVEL) / (len(order) - rank):
            break
        significant[i] = True
    return significant


def _compute_gap(values: Array, i: int, j: int, weight: Array) -> Gap:
    """Return the mean of line i less line j of values, L×n, over the rows that have both; NaN if none has."""
    gap = values[i] - values[j]
    finite = ~np.isnan(gap)
    return Gap(*paired_mean(gap[finite], effective_weights(weight[finite])))


def compare_candidates(
    target: str,
    candidates: Sequence[CandidateScores],
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_],
    classes: Sequence[Any],
    measured: str,
) -> Comparison:
    """Compare the scores of learners on the same rows; `known` (n×K) marks the classes that each row's models know.

    `truth` are codes of `classes`. A row of a class that is not known is an error, and has no loss.
    A learner that scores every row as one before it did is left out, with a note.
    """
    different, notes = _remove_duplicates(candidates)
    w = np.ones(len(truth)) if weight is None else weight
    met = known[np.arange(len(truth)), truth]
    losses = np.array([np.where(met, bounded_losses(each.log_posterior, truth), np.nan) for each in different])
    hits = np.array([met & (each.log_posterior.argmax(axis=1) == truth) for each in different], dtype=np.float64)
    lowest, highest = int((losses[:, met] @ w[met]).argmin()), int((hits @ w).argmax())
    rows = []
    for i, each in enumerate(different):
        report = Scorecard.of(each.log_posterior, truth, weight, known).report(classes, measured)
        gaps = _compute_gap(losses, i, lowest, w), _compute_gap(hits, highest, i, w)
        rows.append(CandidateResult(each.name, each.arguments, report, each.seconds, each.n_parameters, *gaps))
    return Comparison(target, tuple(rows), measured, None, tuple(notes), losses, hits, w)


def _remove_duplicates(candidates: Sequence[CandidateScores]) -> tuple[list[CandidateScores], list[str]]:
    """Return the learners without those whose probabilities equal those of one before, and notes on these."""
    kept: list[CandidateScores] = []
    notes = []
    for each in candidates:
        p, rounding = np.exp(each.log_posterior), ROUNDING_PROBABILITY
        same = (other for other in kept if np.allclose(p, np.exp(other.log_posterior), rounding, rounding))
        twin = next(same, None)
        if twin is None:
            kept.append(each)
        else:
            notes.append(f"{each.name} gives every row the probabilities of {twin.name}, and is left out")
    return kept, notes
