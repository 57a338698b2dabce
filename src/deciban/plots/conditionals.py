"""The distributions p(x|k) of each column of a table model: curves, rates, or shares of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, did_you_mean, list_names
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import Feature
from deciban.model.description import Description
from deciban.model.feature_summaries import LevelTable, make_block_summarisers
from deciban.model.model import Model
from deciban.plots.style import check_positive
from deciban.scorer import Scorer

CURVE_DEVIATIONS, COUNT_DEVIATIONS = 3.6, 4.0
"""How far the curve of a number, and that of a count, is drawn beyond each class's mean, in standard deviations."""

DENSITY_POINTS = 400


@dataclass(frozen=True, eq=False)
class Conditional:
    """Feature j of a block, with the share of rows in which it is missing, and its `table` if values have names."""

    model: Model
    feature: Feature
    block: int
    j: int
    missing: float
    table: LevelTable | None
    scored: LevelTable | None
    """The table that the model scores by: `table`, or one of fitted weights for models other than naive Bayes."""

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.feature.name

    @property
    def is_count(self) -> bool:
        """Whether the feature is a count, with whole numbers only."""
        return self.feature.role == "count"

    def log_likelihood(self, x: Array) -> Array:
        """Return ln p(x|k) at each x, n×K."""
        return self._score(self.model._naive, x)

    def scores_at(self, x: Array) -> Array:
        """Return the scores at each x, n×K: ln p(x|k), or fitted weights."""
        return self._score(self.model._scorer, x)

    def _score(self, scorer: Scorer, x: Array) -> Array:
        """Return the scores of rows in which all but x is missing, n×K, without prior and bias."""
        rows = np.full((len(x), len(self.model._layout.blocks[self.block].features)), np.nan)
        rows[:, self.j] = x
        return scorer.solved.forms[self.block].log_likelihoods(rows)

    def values(self) -> tuple[list[str], Array, Array]:
        """Return the names of levels or bins, p(value|k), K×V, and the count of each value."""
        assert self.table is not None
        names, order = self._sort_values(self.table)
        return names, np.exp(self.table.log_theta[:, order]), self.table.counts.sum(axis=0)[order]

    def value_scores(self) -> tuple[list[str], Array]:
        """Return the names of levels or bins, and their scores: ln p(value|k), or fitted weights."""
        assert self.scored is not None
        names, order = self._sort_values(self.scored)
        return names, self.scored.log_theta[:, order]

    def _sort_values(self, table: LevelTable) -> tuple[list[str], list[int]]:
        """Return the names of the values in order, and their indices; weekdays and the like as in the calendar."""
        V = table.counts.shape[1]
        if V == 1 and self.feature.role == "binned":
            return ["any number"], [0]
        names = [table.name(v).removeprefix("= ") for v in range(V)]
        place = {name: i for i, name in enumerate(self.feature.fixed_levels)}
        order = sorted(range(V), key=lambda v: place.get(names[v], len(place)))
        return [names[v] for v in order], order

    def reach(self, deviations: float, classes: Sequence[int] | None = None) -> tuple[float, float]:
        """Return the range up to `deviations` beyond the means of these classes, by default all; counts from 0."""
        chosen = slice(None) if classes is None else list(classes)
        if self.is_count:
            family: Any = self.model._naive.assumption.families[self.block]
            rates = np.asarray(family.rates(self.model._naive.complete.parts[self.block]))  # λ of each class
            rate = float(rates[chosen, self.j].max())
            return 0.0, float(np.ceil(rate + deviations * np.sqrt(rate) + 1))
        mean, deviation = (values[chosen] for values in self._mean_and_deviation())
        return float((mean - deviations * deviation).min()), float((mean + deviations * deviation).max())

    def _mean_and_deviation(self) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of the number in each class."""
        form: Any = self.model._naive.solved.forms[self.block]
        if hasattr(form, "variance"):
            return form.mean[:, self.j], np.sqrt(form.variance[:, self.j])
        full = np.broadcast_to(form.covariance, (len(form.mean), *form.covariance.shape[-2:]))
        return form.mean[:, self.j], np.sqrt(full[:, self.j, self.j])

    def grid(self, low: float, high: float) -> Array:
        """Return the points of the curves: whole numbers for a count, else evenly spaced, denser around each mean."""
        if not self.is_count:
            middle, spread = self._mean_and_deviation()
            close = middle[:, None] + spread[:, None] * np.linspace(-CURVE_DEVIATIONS, CURVE_DEVIATIONS, 61)
            return np.unique(np.concatenate([np.linspace(low, high, DENSITY_POINTS), close.ravel()]).clip(low, high))
        step = max(1, int((high - low) // DENSITY_POINTS))
        return np.arange(max(0.0, np.floor(low)), high + 1, step)


def check_table_model(model: Any) -> None:
    """Refuse anything but a model of a table."""
    if not isinstance(model, Model):
        raise InputError(f"this picture is of a table model, from deciban.train or load; not {type(model).__name__}")


def select_conditionals(model: Model, columns: Sequence[str] | None, most: int) -> tuple[list[Conditional], int]:
    """Return the features of these columns and 0, or the `most` strongest and how many more there are.

    Texts are excluded; columns that are not drawn, and models without any, are refused.
    """
    check_table_model(model)
    check_positive("most", most)
    description = model.describe()
    every = _make_conditionals(model, description)
    if columns is None:
        chosen = [strength.feature for strength in description.strongest if strength.feature in every][:most]
    else:
        chosen = [name for column in columns for name in _features_of_column(model, column, every)]
    if not chosen:
        raise InputError(
            "the model has no numbers, flags or categories to draw. Hint: deciban plot telltales draws words"
        )
    return [every[name] for name in chosen], len(every) - len(chosen) if columns is None else 0


def _make_conditionals(model: Model, description: Description) -> dict[str, Conditional]:
    """Return every feature except texts, by name."""
    naive, names = model._naive.unsolved(), [group.features for group in model._layout.blocks]
    summarisers = scored = make_block_summarisers(naive, model._labels, names)
    if isinstance(model._scorer, FittedModel):
        scored = make_block_summarisers(naive, model._labels, names)
        for summariser, form in zip(scored, model._scorer.solved.forms):
            summariser.form = form
    missing = {note.name: note.missing or 0.0 for note in description.columns}
    found: dict[str, Conditional] = {}
    for block, (kind, features) in enumerate(model._layout.blocks):
        for j, feature in enumerate(features if kind not in ("pairs", "bags") else ()):
            lacking = max(missing.get(column, 0.0) for column in feature.columns)
            tables = summarisers[block].table(j), scored[block].table(j)
            found[feature.name] = Conditional(model, feature, block, j, lacking, *tables)
    return found


def _features_of_column(model: Model, column: str, every: dict[str, Conditional]) -> list[str]:
    """Return the names of the features of a column, or that of one feature (such as the weekday of a date)."""
    found = [name for name, one in every.items() if column == name or column in one.feature.columns]
    if not found:
        known = list(dict.fromkeys(c for one in every.values() for c in one.feature.columns))
        role = model.roles.get(column)
        why = f"is {role}, which is not drawn" if role else f"is not in the model{did_you_mean(column, known)}"
        raise InputError(f"column {column!r} {why}. Hint: one of {list_names(known, 20)}")
    return found
