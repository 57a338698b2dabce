"""The learning curve: how good a model is by how many rows it has learned, and how many of their labels are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban.files.plain import plain
from deciban.judge.intervals import of_mean
from deciban.judge.report import Report
from deciban.ledger.statistic import Array

FIGURES = ("accuracy", "accuracy_interval", "log_loss", "log_loss_interval")
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
        values = np.array([[_figure(report, figure) for report in line] for line in self.reports])
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

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: a number that is not finite is None."""
        points = [
            {"rows": size, "flipped": share, **{name: plain(_figure(report, name)) for name in FIGURES}}
            for share, size, report in self.points
        ]
        return {"target": self.target, "held_out": self.held_out, "points": points, "measured": self.measured}

    def table(self) -> list[list[str]]:
        """A line for each model, under a heading, worded for people."""
        head = ["rows", "accuracy", "95 % sure", "log-loss"]
        lines = [[f"{size:,}".replace(",", " "), *_shown(report)] for _, size, report in self.points]
        if not any(self.flipped) and not self.several:
            return [head, *lines]
        shares = [f"{100 * share:g} %" for share, _, _ in self.points]
        return [["flipped", *head], *([share, *line] for share, line in zip(shares, lines))]

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        told = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        return "\n".join([*told, *(["", self.measured] if self.measured else [])])


def _figure(report: Report, name: str) -> Any:
    if name != "log_loss_interval":
        return getattr(report, name)
    return of_mean(report.log_loss, report.log_loss_error)


def _shown(report: Report) -> list[str]:
    """Accuracy, its interval and log-loss in words."""
    low, high = report.accuracy_interval
    error = "" if np.isnan(report.log_loss_error) else f" ± {report.log_loss_error:.4f}"
    loss = "∞" if np.isinf(report.log_loss) else "–" if np.isnan(report.log_loss) else f"{report.log_loss:.4f}{error}"
    return [f"{100 * report.accuracy:.2f} %", f"{100 * low:.2f} to {100 * high:.2f}", loss]
