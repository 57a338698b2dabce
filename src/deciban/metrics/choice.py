"""Which way of learning a table is best: many ways judged by the same rows, and their differences row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.formatting import aligned, number, percent
from deciban.metrics.intervals import bounded_losses, effective_rows, standard_error
from deciban.metrics.report import Report
from deciban.metrics.scorecard import Scorecard
from deciban.plain_json import plain

SAME = 1e-13
"""A sum of squared differences that is rounding, as a share of the largest."""

SHOWN = 12
"""Ways that are printed; `to_dict` has all."""


@dataclass(frozen=True)
class Setting:
    """One way of learning: what it tells `train`, or another estimator by its name, beside what it is told anyway.

    >>> str(Setting({"numbers": "binned", "alpha": 0.1})), str(Setting({}))
    ('numbers=binned, alpha=0.1', 'as it comes')
    """

    told: Mapping[str, Any]
    taken_by: str = "train"

    def __str__(self) -> str:
        words = ", ".join(f"{name}={_spelled(value)}" for name, value in self.told.items())
        if self.taken_by == "train":
            return words or "as it comes"
        return f"{self.taken_by}: {words}" if words else self.taken_by


@dataclass(frozen=True, eq=False)
class Judged:
    """A way and how good it is; `difference` is its mean log-loss less that of the best way, `error` of that mean.

    The error is paired: of the differences row by row.
    """

    setting: Setting
    report: Report
    difference: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        figures = ("accuracy", "log_loss", "log_loss_error", "calibration_error")
        told = {name: getattr(self.report, name) for name in figures}
        settings = {name: getattr(value, "values", value) for name, value in self.setting.told.items()}
        way = {"setting": str(self.setting), "taken_by": self.setting.taken_by, "told": settings}
        found: dict[str, Any] = plain({**way, **told, "difference": self.difference, "difference_error": self.error})
        return found


@dataclass(frozen=True)
class Choice:
    """Every way that was tried, the lowest log-loss first.

    `best` is what to tell `train` (or the estimator that `estimator` names): of the ways that are not worse than the
    lowest log-loss by more than one standard error the one that has least to tell, which may be nothing. The figures
    of the best of many ways flatter it a little: it was chosen by the same rows.
    """

    judged: tuple[Judged, ...]
    measured: str
    notes: tuple[str, ...] = ()

    @property
    def chosen(self) -> Judged:
        """The way that is recommended."""
        within = [each for each in self.judged if each.difference <= each.error or each is self.judged[0]]
        return min(within, key=lambda each: len(each.setting.told))

    @property
    def best(self) -> dict[str, Any]:
        """What the recommended way tells beside what was told anyway."""
        return dict(self.chosen.setting.told)

    @property
    def estimator(self) -> str:
        """What `best` is told to: train, GaussianBayes or TextClassifier."""
        return self.chosen.setting.taken_by

    @property
    def report(self) -> Report:
        """How good the recommended way is."""
        return self.chosen.report

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it."""
        chosen = self.chosen.to_dict()
        return {
            "best": chosen["told"],
            "estimator": self.estimator,
            "settings": [each.to_dict() for each in self.judged],
            "measured": self.measured,
            "notes": list(self.notes),
        }

    def shown(self) -> list[Judged]:
        """The first ways, and those that must not be missing: the recommended one and the usual one."""
        usual = [each for each in self.judged if not each.setting.told]
        return [*self.judged[:SHOWN], *(each for each in (*usual, self.chosen) if each not in self.judged[:SHOWN])]

    def table(self) -> list[list[str]]:
        """A line for each way shown, worded for people."""
        return [
            [
                "→" if each is self.chosen else "",
                str(each.setting),
                percent(each.report.accuracy),
                f"{number(each.report.log_loss)} ± {each.report.log_loss_error:.3f}",
                number(each.report.calibration_error),
                "" if each is self.judged[0] else f"+{number(each.difference)} ± {number(each.error)}",
            ]
            for each in dict.fromkeys(self.shown())
        ]

    def __str__(self) -> str:
        lines = [list(HEAD), *self.table()]
        left = len(self.judged) - len(lines) + 1
        more = [f"… and {left} ways more"] if left else []
        return "\n".join([*aligned(lines, left=range(len(HEAD))), *more, "", self.measured, *self.notes])


HEAD = ("", "setting", "accuracy", "log-loss", "calibration", "above the best")


@dataclass
class Race:
    """Ways judged fold by fold; what is remembered of single rows is the sums of products of their differences."""

    classes: Sequence[Any]
    cards: dict[str, Scorecard] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    gaps: Array = field(default_factory=lambda: np.zeros((0, 0)))
    products: Array = field(default_factory=lambda: np.zeros((0, 0)))
    weight: Array = field(default_factory=lambda: np.zeros(2))

    def run(
        self,
        ways: Iterator[tuple[Setting, Array]],
        codes: NDArray[np.integer[Any]],
        weight: Array | None,
        known: NDArray[np.bool_],
    ) -> None:
        """Rows of one fold, as each way scores them (ln p(k|x)); the same ways in every fold."""
        w = np.ones(len(codes)) if weight is None else weight
        sure = np.flatnonzero((codes >= 0) & known[codes])
        losses = []
        for setting, log_posterior in ways:
            name = str(setting)
            card = Scorecard.of(log_posterior, codes, weight, known)
            self.cards[name] = self.cards[name] + card if name in self.cards else card
            self.settings[name] = setting
            losses.append(bounded_losses(log_posterior[sure], codes[sure]))
        gap = np.array(losses) - losses[0]
        self.gaps = _plus(self.gaps, (gap * w[sure]).sum(axis=1)[None])
        self.products = _plus(self.products, (gap * w[sure]) @ gap.T)
        self.weight = self.weight + np.array([w[sure].sum(), (w[sure] ** 2).sum()])

    def choice(self, measured: str, notes: Sequence[str] = ()) -> Choice:
        """The ways in order, each with what it is worse by than the best."""
        n, squares = self.weight.tolist()
        mean, rows, names = self.gaps[0] / n, effective_rows(n, squares), list(self.cards)
        different = self._different(names)
        order = sorted(different, key=lambda i: mean[i])
        judged = []
        for i in order:
            gap = float(mean[i] - mean[order[0]])
            error = standard_error(max(0.0, self._square(i, order[0]) / n - gap * gap), rows)
            report = self.cards[names[i]].report(self.classes, measured)
            judged.append(Judged(self.settings[names[i]], report, gap, error))
        same = len(names) - len(order)
        left_out = [f"{same} settings that make no difference here are left out"] if same else []
        return Choice(tuple(judged), measured, (*notes, *left_out))

    def _different(self, names: Sequence[str]) -> list[int]:
        """The ways without those that said of every row what one with less to tell had said."""
        kept: list[int] = []
        bar = SAME * (1 + float(np.abs(self.products).max(initial=0.0)))
        for i in sorted(range(len(names)), key=lambda i: len(self.settings[names[i]].told)):
            if all(self._square(i, k) > bar for k in kept):
                kept.append(i)
        return kept

    def _square(self, i: int, j: int) -> float:
        """Σ w (loss_i − loss_j)²."""
        return float(self.products[i, i] + self.products[j, j] - 2 * self.products[i, j])


def _spelled(value: Any) -> str:
    """A value of a setting: of how texts are read what words count for, and 1 for 1.0."""
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "values", value))


def _plus(sums: Array, more: Array) -> Array:
    return more if not sums.size else sums + more
