"""The learning curve: how good a model is by how many rows it has learned, and how many of their labels are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.formatting import aligned, give_or_take, percent, percents, short_percent, spaced
from deciban.metrics.report import Report
from deciban.plain_json import plain

FIGURES = ("accuracy", "accuracy_interval", "log_loss", "log_loss_interval", "unknown")
"""What a curve tells of each point, beside its size."""


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Reports on the same held-out rows by models that learned more and more rows, each all of those before and some.

    `sizes` are the numbers of rows learned, `flipped` the shares of their labels that were replaced by another class,
    `reports[i][j]` the report with share i and size j. The figures (`accuracy`, `log_loss`, and their 95 % intervals)
    are arrays with a line for each share; for one share that was not given in a list, of the sizes alone.
    """

    target: str
    sizes: tuple[int, ...]
    flipped: tuple[float, ...]
    reports: tuple[tuple[Report, ...], ...]
    several: bool = False
    """Several shares were asked for."""
    measured: str = ""

    def _each(self, figure: str) -> Array:
        values = np.array([[getattr(report, figure) for report in line] for line in self.reports])
        return values if self.several else values[0]

    @property
    def accuracy(self) -> Array:
        """The share of held-out rows called rightly."""
        return self._each("accuracy")

    @property
    def accuracy_interval(self) -> Array:
        """Where each accuracy lies, 95 % sure (Wilson): low and high."""
        return self._each("accuracy_interval")

    @property
    def log_loss(self) -> Array:
        """The mean of −ln p(truth) over the held-out rows."""
        return self._each("log_loss")

    @property
    def log_loss_interval(self) -> Array:
        """Where each log-loss lies, 95 % sure, by its standard error: low and high."""
        return self._each("log_loss_interval")

    @property
    def held_out(self) -> int:
        """How many rows every model was judged by."""
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
    def unmet(self) -> bool:
        """Whether some model had not met the class of a held-out row yet: an error, which has no log-loss."""
        return any(report.unknown for _, _, report in self.points)

    def notes(self) -> list[str]:
        """What must be known to read the table."""
        lines = [self.measured] if self.measured else []
        if self.unmet:
            lines.append("rows of a class that a model had not met are errors, and left out of its log-loss")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: a number that is not finite is None."""
        points = [
            {"rows": size, "flipped": share, **{name: plain(getattr(report, name)) for name in FIGURES}}
            for share, size, report in self.points
        ]
        return {"target": self.target, "held_out": self.held_out, "points": points, "measured": self.measured}

    def table(self) -> list[list[str]]:
        """A line for each model, under a heading, worded for people."""
        head = ["rows", "accuracy", "95 % sure", "log-loss"]
        lines = [[spaced(size), *_shown(report)] for _, size, report in self.points]
        if self.unmet:
            head.append("class not met")
            lines = [[*line, spaced(report.unknown)] for line, (_, _, report) in zip(lines, self.points)]
        if not any(self.flipped) and not self.several:
            return [head, *lines]
        shares = [short_percent(share, 6) for share, _, _ in self.points]
        return [["flipped", *head], *([share, *line] for share, line in zip(shares, lines))]

    def __str__(self) -> str:
        notes = self.notes()
        return "\n".join([*aligned(self.table(), left=()), *(["", *notes] if notes else [])])


def _shown(report: Report) -> list[str]:
    """Accuracy, its interval and log-loss in words."""
    loss = give_or_take(report.log_loss, report.log_loss_error)
    return [percent(report.accuracy, 2), percents(report.accuracy_interval), loss]
