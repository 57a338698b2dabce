"""The report on a model: how often it is right, how surprised it is by the truth, how far its confidence is off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from deciban.files.plain import plain
from deciban.ledger.statistic import Array

NORMAL_95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: 95 % lie within so many deviations."""

ROUNDING = 1e-9
"""A share of the rows that makes no difference."""

FIGURES = (
    "rows", "weight", "effective_rows", "accuracy", "accuracy_interval", "majority", "commonest", "log_loss",
    "log_loss_error", "brier", "calibration_error", "unknown", "impossible", "classes", "confusion", "measured",
)  # fmt: skip
"""What a report tells a program, in this order."""

MOST_SHOWN = 8
"""Up to so many classes the confusion is printed."""


def wilson(share: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share seen in n rows (Wilson 1927): never below 0 nor above 1, good for small n.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n); all from 0 to 1 where n is not known (NaN).

    >>> [round(end, 3) for end in wilson(1.0, 10)]
    [0.722, 1.0]
    """
    z2 = NORMAL_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = NORMAL_95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True, eq=False)
class Report:
    """How well rows were classified whose classes are known.

    `log_loss` is the mean of −ln p(truth), ∞ if the model called the truth of any row impossible (`impossible` says
    of how many); `brier` the mean of Σ_k (p_k − [k is the truth])², from 0 to 2; `calibration_error` how far, on
    average, the confidence in the class called is from the share of hits among rows of about that confidence.
    `majority` is the accuracy of always saying `commonest`. Rows of a class the model had no row of (`unknown`)
    are errors, and are left out of log-loss, Brier's score and confusion.

    Weights say how much a row counts in the figures; how sure these are is told by `effective_rows`, the number of
    rows of equal weight that would say as much (Kish 1965): (Σw)² / Σw², whatever the unit of the weights.
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

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """Where the accuracy lies, 95 % sure."""
        return wilson(self.accuracy, self.effective_rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: a number that is not finite is None."""
        return {name: plain(getattr(self, name)) for name in FIGURES}

    def entries(self) -> list[tuple[str, str]]:
        """(name, value) of every figure, worded for people."""
        low, high = self.accuracy_interval
        weight = "" if self.weight == self.rows else f" of weight {self.weight:g} together"
        return [
            ("rows", f"{_spaced(self.rows)}{weight}"),
            ("accuracy", f"{100 * self.accuracy:.2f} % (95 % sure: {100 * low:.2f} to {100 * high:.2f})"),
            (f"always {self.commonest}", f"{100 * self.majority:.2f} %"),
            ("log-loss", self._log_loss()),
            ("Brier score", _shown(self.brier)),
            ("calibration error", _shown(self.calibration_error)),
        ]

    def _log_loss(self) -> str:
        if self.impossible:
            return f"∞ (the truth was called impossible in {_rows(self.impossible)}; alpha > 0 prevents it)"
        return _shown(self.log_loss) + ("" if math.isnan(self.log_loss_error) else f" ± {self.log_loss_error:.4f}")

    def notes(self) -> list[str]:
        """What must be known to read the figures."""
        lines = [self.measured] if self.measured else []
        if self.effective_rows < self.rows * (1 - ROUNDING):
            lines.append(
                f"the weights differ: the intervals are those of {self.effective_rows:.4g} rows of equal weight"
            )
        if self.unknown:
            lines.append(
                f"{_rows(self.unknown)} of a class without training rows: counted as errors, left out of log-loss"
            )
        return lines

    def __str__(self) -> str:
        entries = self.entries()
        width = max(len(name) for name, _ in entries)
        lines = [f"{name:<{width}}  {value}" for name, value in entries]
        if 1 < len(self.classes) <= MOST_SHOWN:
            lines += ["", *self._confusion_lines()]
        notes = self.notes()
        return "\n".join([*lines, "", *notes] if notes else lines)

    def _confusion_lines(self) -> list[str]:
        head = ["truth \\ called", *(str(label) for label in self.classes), "right"]
        table = [head]
        for k, (label, line) in enumerate(zip(self.classes, self.confusion)):
            right = f"{100 * line[k] / line.sum():.1f} %" if line.sum() else "–"
            table.append([str(label), *(f"{cell:g}" for cell in line.round(3)), right])
        widths = [max(len(row[j]) for row in table) for j in range(len(head))]
        return ["  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:]))]) for r in table]


def _shown(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


def _spaced(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _rows(count: int) -> str:
    return f"{_spaced(count)} row{'' if count == 1 else 's'}"
