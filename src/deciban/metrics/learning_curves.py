"""Learning curves: of one model, with its reports, and of several learners on the same draws of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError, did_you_mean
from deciban.formatting import (
    align_columns,
    format_percent,
    format_percent_range,
    format_short_percent,
    format_thousands,
    format_with_error,
)
from deciban.metrics.report import Report
from deciban.plain_json import to_plain
from deciban.result import FrameKind, Result, make_frame

POINT_FIGURES = ("accuracy", "accuracy_interval", "log_loss", "log_loss_interval", "unknown")
"""The figures of a report that `LearningCurve.to_dict` holds for each point."""

Figure = Literal["accuracy", "log_loss"]


@document()
@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Result):
    """Reports on the same held-out rows by models that learned nested sets of rows; `learning_curve` returns it.

    The figures (`accuracy`, `log_loss`, and their 95 % intervals) are arrays with a line for each share of flipped
    labels; for one share that was not given in a list, they have the sizes alone.

    Parameters
    ----------
    target : str
        The column that was predicted.
    sizes : tuple of int
        The numbers of rows learned.
    flipped : tuple of float
        The shares of labels that were replaced by another class.
    reports : tuple of tuples of Report
        `reports[i][j]` is the report with share i and size j.
    several : bool
        Whether a list of shares was requested.
    measured : str
        A sentence on how the figures were measured.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 3, 8, 9, 7] * 20, "fruit": (["lemon"] * 3 + ["plum"] * 3) * 20}
    >>> curve = deciban.learning_curve(taste, target="fruit", sizes=[20, 60], numbers="number")
    >>> curve.sizes, curve.accuracy.tolist()
    ((20, 60), [1.0, 1.0])
    >>> curve.to_frame("arrow").num_rows
    2
    """

    _renamed_attributes = {"unmet": "has_unmet_classes"}

    target: str
    sizes: tuple[int, ...]
    flipped: tuple[float, ...]
    reports: tuple[tuple[Report, ...], ...]
    several: bool = False
    measured: str = ""

    def _values(self, figure: str) -> Array:
        """Return a figure of every report, a line for each share; without the lines unless `several`."""
        values = np.array([[getattr(report, figure) for report in line] for line in self.reports])
        return values if self.several else values[0]

    @property
    def accuracy(self) -> Array:
        """The share of held-out rows that were predicted correctly."""
        return self._values("accuracy")

    @property
    def accuracy_interval(self) -> Array:
        """The 95 % interval of each accuracy (Wilson): low and high."""
        return self._values("accuracy_interval")

    @property
    def log_loss(self) -> Array:
        """The mean of −ln p(truth) over the held-out rows whose class the model had met; NaN if that is one."""
        return self._values("log_loss")

    @property
    def log_loss_interval(self) -> Array:
        """The 95 % interval of each log-loss, by its standard error: low and high."""
        return self._values("log_loss_interval")

    @property
    def held_out(self) -> int:
        """The number of rows that every model was evaluated on."""
        return self.reports[0][0].rows

    @property
    def points(self) -> list[tuple[float, int, Report]]:
        """(share of labels flipped, rows learned, report) of every model."""
        return [
            (share, size, report)
            for share, line in zip(self.flipped, self.reports)
            for size, report in zip(self.sizes, line)
        ]

    @property
    def has_unmet_classes(self) -> bool:
        """Whether some model had not met the class of a held-out row yet: an error, which has no log-loss."""
        return any(report.unknown for _, _, report in self.points)

    def notes(self) -> list[str]:
        """Return the sentences below the table: `measured`, and how rows of classes not met by a model count."""
        lines = [self.measured] if self.measured else []
        if self.has_unmet_classes:
            lines.append("rows of a class that a model had not met are errors, and left out of its log-loss")
        if np.isnan(self.log_loss).any():
            lines.append("a model that had met one class only has no log-loss")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return all points as JSON values: a number that is not finite is None."""
        points = [
            {"rows": size, "flipped": share, **report.select(POINT_FIGURES)} for share, size, report in self.points
        ]
        return {"target": self.target, "held_out": self.held_out, "points": points, "measured": self.measured}

    def table(self) -> list[list[str]]:
        """Return a line for each model, under a heading, formatted for people."""
        head = ["rows", "accuracy", "95 % interval", "log-loss"]
        lines = [
            [
                format_thousands(size),
                format_percent(report.accuracy, 2),
                format_percent_range(report.accuracy_interval),
                format_with_error(report.log_loss, report.log_loss_error),
            ]
            for _, size, report in self.points
        ]
        if self.has_unmet_classes:
            head.append("class not met")
            lines = [[*line, format_thousands(report.unknown)] for line, (_, _, report) in zip(lines, self.points)]
        if not any(self.flipped) and not self.several:
            return [head, *lines]
        shares = [format_short_percent(share, 6) for share, _, _ in self.points]
        return [["flipped", *head], *([share, *line] for share, line in zip(shares, lines))]

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each model: rows learned, labels flipped, figures with 95 % intervals."""
        figures: dict[str, list[Any]] = {
            "rows": [size for _, size, _ in self.points],
            "flipped": [share for share, _, _ in self.points],
        }
        for name in ("accuracy", "log_loss"):
            figures[name] = [getattr(report, name) for _, _, report in self.points]
            for i, end in enumerate(("low", "high")):
                figures[f"{name}_{end}"] = [getattr(report, f"{name}_interval")[i] for _, _, report in self.points]
        return make_frame(figures | {"unknown": [report.unknown for _, _, report in self.points]}, kind)

    def __repr__(self) -> str:
        first, last = self.reports[0][0], self.reports[0][-1]
        accuracy = f"{format_percent(first.accuracy)} → {format_percent(last.accuracy)}"
        sizes = f"{format_thousands(self.sizes[0])} → {format_thousands(self.sizes[-1])} rows"
        flipped = f", {len(self.flipped)} shares of flipped labels" if self.several else ""
        return f"<LearningCurve of {self.target}: {sizes}, accuracy {accuracy}{flipped}>"

    def __str__(self) -> str:
        notes = self.notes()
        return "\n".join([*align_columns(self.table(), left=()), *(["", *notes] if notes else [])])


class Crossing(NamedTuple):
    """A crossing of the learning curves of two learners.

    `ahead_until` is the last size at which the learner that is overtaken is significantly ahead, `behind_from` the
    first at which it is significantly behind, `at` the size between them where the mean curves cross, `first_ahead`
    whether the first of the two learners was ahead before.
    """

    ahead_until: int
    behind_from: int
    at: float
    first_ahead: bool


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurves(Result):
    """Accuracy and log-loss of several learners by the number of rows learned, on the same draws of rows.

    `accuracy` and `log_loss` (a true class of probability 0 costs 708 nats, so that means exist) are of held-out
    rows, an entry for each learner, draw and size: L×R×S.
    """

    _renamed_attributes = {"place": "index", "beyond_chance": "critical_errors"}

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    accuracy: Array
    log_loss: Array
    held_out: int

    def __repr__(self) -> str:
        sizes = f"{format_thousands(self.sizes[0])} → {format_thousands(self.sizes[-1])} rows"
        return f"<LearningCurves of {', '.join(self.names)}: {sizes}, {self.draws} draws>"

    @property
    def draws(self) -> int:
        """The number of draws of rows."""
        return int(self.accuracy.shape[1])

    def index(self, name: str) -> int:
        """Return the index of a learner; refuse a name that is none of `names`."""
        return find_learner(name, self.names)

    def mean(self, figure: Figure) -> Array:
        """Return the mean of a figure over the draws for each learner and size, L×S."""
        return getattr(self, figure).mean(axis=1)

    def error(self, figure: Figure) -> Array:
        """Return the standard error of the mean over the draws, L×S; NaN for one draw."""
        return _compute_error(np.moveaxis(getattr(self, figure), 1, 0))

    def gap(self, one: str, other: str, figure: Figure = "accuracy") -> tuple[Array, Array]:
        """Return how much one learner is worse than another at each size, and its error; paired, draw by draw."""
        values = getattr(self, figure)
        each = values[self.index(one)] - values[self.index(other)]
        worse = -each if figure == "accuracy" else each
        return worse.mean(axis=0), _compute_error(worse)

    def sides(self, one: str, other: str, figure: Figure = "accuracy") -> Array:
        """Return −1 for each size at which `one` is significantly better than `other`, 1 if worse, else 0."""
        return find_sides(*self.gap(one, other, figure), self.critical_errors)

    def crossings(self, one: str, other: str, figure: Figure = "accuracy") -> list[Crossing]:
        """Return the significant crossings of the curves of two learners."""
        return find_crossings(self.sizes, *self.gap(one, other, figure), self.critical_errors)

    @cached_property
    def critical_errors(self) -> float:
        """The number of standard errors that is significant at 95 %, by Student's t; ∞ for one draw."""
        from scipy.special import stdtrit

        return float(stdtrit(self.draws - 1, 0.975)) if self.draws > 1 else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the means over the draws and their errors as JSON values."""
        data: dict[str, Array] = {}
        for figure in get_args(Figure):
            data |= {figure: self.mean(figure), f"{figure}_error": self.error(figure)}
        learners = {name: {key: to_plain(mean[i]) for key, mean in data.items()} for i, name in enumerate(self.names)}
        return {"sizes": list(self.sizes), "draws": self.draws, "held_out": self.held_out, "learners": learners}


def find_learner(name: str, names: Sequence[str]) -> int:
    """Return the index of a learner among the names of those that were compared; refuse another name."""
    if name not in names:
        raise InputError(f"no learner {name!r} was compared{did_you_mean(name, names)}")
    return names.index(name)


def _compute_error(values: Array) -> Array:
    """Return the standard error of the mean along the first axis; NaN for one value."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n))


def find_crossings(sizes: Any, gap: Array, error: Array, critical: float) -> list[Crossing]:
    """Find where a curve of differences goes from one side of zero to the other, each by more than `critical` errors.

    Between the two sizes the mean is interpolated linearly over ln n; where it changes its sign more than once there,
    the last time counts. A difference below 0 means that the first learner is ahead.

    >>> (found,) = find_crossings([10, 20, 40, 80], np.array([-3.0, -1.0, 1.0, 3.0]), np.full(4, 0.9), 2.0)
    >>> found.ahead_until, found.behind_from, round(found.at, 2)
    (10, 80, 28.28)
    """
    side = find_sides(gap, error, critical)
    turns = [(i, j) for i, j in pairwise(np.flatnonzero(side).tolist()) if side[i] != side[j]]
    n = np.asarray(sizes, dtype=np.float64)
    return [Crossing(int(sizes[i]), int(sizes[j]), _find_zero(n, gap, i, j), bool(side[i] < 0)) for i, j in turns]


def find_sides(gap: Array, error: Array, critical: float) -> Array:
    """Return the sign of each difference of more than `critical` errors, 0 for the others."""
    return np.where(np.abs(gap) > critical * error, np.sign(gap), 0.0)


def _find_zero(sizes: Array, gap: Array, i: int, j: int) -> float:
    """Return the last size between sizes i and j where the line through the means, linear over ln n, is zero."""
    k = max(k for k in range(i, j) if gap[k] * gap[j] <= 0 and gap[k + 1] * gap[j] > 0)
    share = gap[k] / (gap[k] - gap[k + 1])
    return float(np.exp(np.log(sizes[k]) + share * np.log(sizes[k + 1] / sizes[k])))
