"""The choice among settings: many settings evaluated on the same rows, and their differences row by row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError
from deciban.formatting import align_columns, format_count, format_number, format_percent
from deciban.metrics.intervals import bounded_losses, effective_rows, standard_error
from deciban.metrics.report import MAIN_FIGURES, Report
from deciban.metrics.scorecard import Scorecard
from deciban.plain_json import to_plain
from deciban.result import FrameKind, Result, make_frame

ROUNDING_SQUARES = 1e-13
"""A sum of squared differences that is rounding, as a share of the largest."""

MAX_PRINTED_SETTINGS = 12
"""The number of settings that are printed; `to_dict` has all."""


@dataclass(frozen=True)
class Setting(Result):
    """Arguments of `train`, or of another estimator named by `estimator`, that differ from those the user fixed.

    >>> str(Setting({"numbers": "binned", "alpha": 0.1})), str(Setting({}))
    ('numbers=binned, alpha=0.1', 'defaults')
    """

    _renamed_attributes = {"told": "arguments", "taken_by": "estimator"}

    arguments: Mapping[str, Any]
    estimator: str = "train"

    def __str__(self) -> str:
        words = ", ".join(f"{name}={_format_value(value)}" for name, value in self.arguments.items())
        if self.estimator == "train":
            return words or "defaults"
        return f"{self.estimator}: {words}" if words else self.estimator


@dataclass(frozen=True, eq=False, repr=False)
class SettingResult:
    """A setting with its report and its mean log-loss less that of the best setting, in nats.

    `error` is the standard error of the difference, paired row by row.
    """

    setting: Setting
    report: Report
    difference: float
    error: float

    def __repr__(self) -> str:
        return f"<{self.setting}: log-loss {format_number(self.report.log_loss)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the setting and its figures as JSON values."""
        arguments = {name: getattr(value, "values", value) for name, value in self.setting.arguments.items()}
        setting = {"setting": str(self.setting), "taken_by": self.setting.estimator, "told": arguments}
        differences = {"difference": self.difference, "difference_error": self.error}
        return to_plain({**setting, **self.report.select(MAIN_FIGURES), **differences})


@document()
@dataclass(frozen=True, repr=False)
class Choice(Result):
    """The results of all settings that were tried; `choose` returns it.

    Recommended is, among the settings that are not worse than the lowest log-loss by more than one standard error,
    the one with the fewest arguments, which may be none. The figures of the best of many settings are a little too
    good: it was chosen on the same rows.

    Parameters
    ----------
    results : tuple of SettingResult
        Each setting with its report and its difference to the best, the lowest log-loss first.
    measured : str
        A sentence on how the figures were measured.
    notes : tuple of str
        Sentences on what was left out.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 3, 8, 9, 7] * 9, "fruit": (["lemon"] * 3 + ["plum"] * 3) * 9}
    >>> choice = deciban.choose(taste, target="fruit", numbers="number")
    >>> choice.best, choice.report.rows
    ({}, 54)
    >>> choice.to_frame("arrow").column_names[:3]
    ['setting', 'accuracy', 'log_loss']
    """

    _renamed_attributes = {"judged": "results", "chosen": "recommendation"}

    results: tuple[SettingResult, ...]
    measured: str
    notes: tuple[str, ...] = ()

    @property
    def recommendation(self) -> SettingResult:
        """The result of the recommended setting."""
        within = [each for each in self.results if each.difference <= each.error or each is self.results[0]]
        return min(within, key=lambda each: len(each.setting.arguments))

    @property
    def best(self) -> dict[str, Any]:
        """The arguments of the recommended setting, without those that the user fixed."""
        return dict(self.recommendation.setting.arguments)

    @property
    def estimator(self) -> str:
        """The name of the function or estimator that takes `best`: train, GaussianBayes or TextClassifier."""
        return self.recommendation.setting.estimator

    @property
    def report(self) -> Report:
        """The report on the recommended setting."""
        return self.recommendation.report

    def to_dict(self) -> dict[str, Any]:
        """Return all settings and their figures as JSON values."""
        return {
            "best": self.recommendation.to_dict()["told"],
            "estimator": self.estimator,
            "settings": [each.to_dict() for each in self.results],
            "measured": self.measured,
            "notes": list(self.notes),
        }

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each setting, the lowest log-loss first: its figures and its difference."""
        columns: dict[str, list[Any]] = {"setting": [str(each.setting) for each in self.results]}
        for name in MAIN_FIGURES:
            columns[name] = [getattr(each.report, name) for each in self.results]
        columns["difference"] = [each.difference for each in self.results]
        return make_frame(columns | {"difference_error": [each.error for each in self.results]}, kind)

    def __repr__(self) -> str:
        best = self.recommendation
        loss = format_number(best.report.log_loss)
        return f"<Choice among {len(self.results)} settings: {best.setting}, log-loss {loss}>"

    def table(self) -> list[list[str]]:
        """Return the cells under `HEADINGS` of the first `MAX_PRINTED_SETTINGS`, the default and the recommended."""
        default = [each for each in self.results if not each.setting.arguments]
        printed = dict.fromkeys([*self.results[:MAX_PRINTED_SETTINGS], *default, self.recommendation])
        return [
            [
                "→" if each is self.recommendation else "",
                str(each.setting),
                format_percent(each.report.accuracy),
                f"{format_number(each.report.log_loss)} ± {each.report.log_loss_error:.3f}",
                format_number(each.report.calibration_error),
                "" if each is self.results[0] else f"+{format_number(each.difference)} ± {format_number(each.error)}",
            ]
            for each in printed
        ]

    def __str__(self) -> str:
        lines = [list(HEADINGS), *self.table()]
        left = len(self.results) - len(lines) + 1
        more = [f"… and {format_count(left, 'more setting')}"] if left else []
        return "\n".join([*align_columns(lines, left=range(len(lines[0]))), *more, "", self.measured, *self.notes])


HEADINGS = ("", "setting", "accuracy", "log-loss", "calibration", "above the best")


@dataclass
class SettingComparison:
    """The sums over folds that a choice among settings needs: scorecards, and products of differences of losses."""

    classes: Sequence[Any]
    cards: dict[str, Scorecard] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)
    gaps: Any = 0.0
    """S: Σ w (loss of each setting − loss of the first), in nats."""
    products: Any = 0.0
    """S×S: Σ w times the product of these differences of two settings."""
    weight: Any = 0.0
    """Σw and Σw²."""

    def add_fold(
        self,
        scored_settings: Iterator[tuple[Setting, Array]],
        codes: NDArray[np.integer[Any]],
        weight: Array | None,
        known: NDArray[np.bool_],
    ) -> None:
        """Add the rows of one fold with their ln p(k|x) under each setting; all folds have the same settings.

        `known` (K) marks the classes that the fold's models have learned.
        """
        w = np.ones(len(codes)) if weight is None else weight
        rows = np.flatnonzero((codes >= 0) & known[codes])
        losses = []
        for setting, log_posterior in scored_settings:
            name = str(setting)
            card = Scorecard.of(log_posterior, codes, weight, known)
            self.cards[name] = self.cards[name] + card if name in self.cards else card
            self.settings[name] = setting
            losses.append(bounded_losses(log_posterior[rows], codes[rows]))
        gap = np.array(losses) - losses[0]
        weighted = gap * w[rows]
        self.gaps = self.gaps + weighted.sum(axis=1)
        self.products = self.products + weighted @ gap.T
        self.weight = self.weight + np.array([w[rows].sum(), (w[rows] ** 2).sum()])

    def choice(self, measured: str, notes: Sequence[str] = ()) -> Choice:
        """Return the settings by rising log-loss, without those that make no difference, which a note counts.

        Raise an InputError where no row can be scored.
        """
        n, squares = self.weight.tolist()
        if not n:
            raise InputError(
                "the rows of each class are all in one fold, so no row can be scored. Hint: more rows, or other folds"
            )
        mean, rows, names = self.gaps / n, effective_rows(n, squares), list(self.cards)
        order = sorted(self._select_distinct(names), key=lambda i: mean[i])
        results = []
        for i in order:
            gap = float(mean[i] - mean[order[0]])
            error = standard_error(max(0.0, self._compute_square(i, order[0]) / n - gap * gap), rows)
            report = self.cards[names[i]].report(self.classes, measured)
            results.append(SettingResult(self.settings[names[i]], report, gap, error))
        same = len(names) - len(order)
        words = (
            "setting that makes no difference here is" if same == 1 else "settings that make no difference here are"
        )
        left_out = [f"{same} {words} left out"] if same else []
        return Choice(tuple(results), measured, (*notes, *left_out))

    def _select_distinct(self, names: Sequence[str]) -> list[int]:
        """Return the indices of the settings, without those that score every row as one with fewer arguments does."""
        kept: list[int] = []
        limit = ROUNDING_SQUARES * (1 + float(np.abs(self.products).max(initial=0.0)))
        for i in sorted(range(len(names)), key=lambda i: len(self.settings[names[i]].arguments)):
            if all(self._compute_square(i, k) > limit for k in kept):
                kept.append(i)
        return kept

    def _compute_square(self, i: int, j: int) -> float:
        """Return Σ w (loss_i − loss_j)²."""
        return float(self.products[i, i] + self.products[j, j] - 2 * self.products[i, j])


def _format_value(value: Any) -> str:
    """Format the value of an argument: 1 for 1.0, and of an object with `values` (text options) these."""
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "values", value))
