"""What a table model believes of each column: p(x|k), as a curve, as rates, or as the shares of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, did_you_mean
from deciban.generative import GenerativeModel
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import Feature
from deciban.model.description import Description
from deciban.model.feature_summaries import BlockSummariser, Table, make_block_summarisers
from deciban.model.model import Model
from deciban.scores import Diagonal

DEVIATIONS = 3.6
"""How far a curve is drawn to either side of each class's mean."""

STEPS = 400


@dataclass(frozen=True, eq=False)
class Conditional:
    """One feature of a model: where it stands, the share of rows that lack it, and its values if they have names."""

    model: Model
    feature: Feature
    block: int
    j: int
    missing: float
    table: Table | None
    fitted: Table | None = None
    """The same with what fitted weights say, where naive Bayes has not learned."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.feature.name

    @property
    def whole(self) -> bool:
        """Whether it counts things, so that only whole numbers can be."""
        return self.feature.role == "count"

    def log_likelihood(self, x: Array) -> Array:
        """ln p(x|k) at each x, n×K: the model's own score of a row that has nothing but this."""
        if not self.whole:  # of a bell of several columns, that of this one alone
            middle, spread = self._bell()
            return Diagonal(middle[:, None], spread[:, None] ** 2).joint(x[:, None])
        rows = np.full((len(x), len(self.model.layout.blocks[self.block].features)), np.nan)
        rows[:, self.j] = x
        return self.model.naive.solved.forms[self.block].joint(rows)

    def values(self) -> tuple[list[str], Array]:
        """The names of levels or bins, and p(value|k), K×V; of a date in the order of the calendar."""
        assert self.table is not None
        names, log_theta = self._in_order(self.table)
        return names, np.exp(log_theta)

    def said(self) -> tuple[list[str], Array]:
        """The same with what the model says of each value: ln p(value|k), or fitted weights."""
        table = self.fitted or self.table
        assert table is not None
        return self._in_order(table)

    def _in_order(self, table: Table) -> tuple[list[str], Array]:
        names = self._names(table)
        place = {name: i for i, name in enumerate(self.feature.fixed_levels)}
        order = sorted(range(len(names)), key=lambda v: place.get(names[v], len(place)))
        return [names[v] for v in order], table.log_theta[:, order]

    def said_at(self, x: Array) -> Array:
        """What the model says at each x, n×K: ln p(x|k), or fitted weights."""
        if not isinstance(self.model.scorer, FittedModel):
            return self.log_likelihood(x)
        rows = np.full((len(x), len(self.model.layout.blocks[self.block].features)), np.nan)
        rows[:, self.j] = x
        return self.model.scorer.solved.forms[self.block].joint(rows)

    def seen(self) -> Array:
        """How often each value was seen, in the order of `values`."""
        assert self.table is not None
        place = {name: v for v, name in enumerate(self._names(self.table))}
        return self.table.counts.sum(axis=0)[[place[name] for name in self.values()[0]]]

    def _names(self, table: Table) -> list[str]:
        V = table.counts.shape[1]
        if V == 1 and self.feature.role == "binned":
            return ["any number"]
        return [table.name(v).removeprefix("= ") for v in range(V)]

    def reach(self) -> tuple[float, float]:
        """From where to where the curves are worth drawing."""
        if self.whole:
            rate = float(self._rates().max())
            return 0.0, float(np.ceil(rate + 4 * np.sqrt(rate) + 1))
        middle, spread = self._bell()
        low, high = float((middle - DEVIATIONS * spread).min()), float((middle + DEVIATIONS * spread).max())
        return (low, high) if high > low else (low - 1.0, high + 1.0)

    def _bell(self) -> tuple[Array, Array]:
        """Mean and deviation of each class that has any rows with this feature."""
        form: Any = self.model.naive.solved.forms[self.block]
        if hasattr(form, "variance"):
            return form.mean[:, self.j], np.sqrt(form.variance[:, self.j])
        full = np.broadcast_to(form.covariance, (len(form.mean), *form.covariance.shape[-2:]))
        return form.mean[:, self.j], np.sqrt(full[:, self.j, self.j])

    def near(self, classes: Sequence[int], deviations: float, steps: int) -> Array:
        """Numbers about the means of these classes, from so many deviations below to as many above."""
        if self.whole:
            rate = self._rates()[list(classes)]
            most = float(np.ceil(rate.max() + deviations * np.sqrt(rate.max()) + 1))
            return np.unique(np.linspace(0, most, steps).round())
        middle, spread = (part[list(classes)] for part in self._bell())
        return np.linspace(
            float((middle - deviations * spread).min()), float((middle + deviations * spread).max()), steps
        )

    def _rates(self) -> Array:
        """λ of each class."""
        family: Any = self.model.naive.assumption.families[self.block]
        return np.asarray(family.rates(self.model.naive.complete.parts[self.block]))[:, self.j]

    def grid(self, low: float, high: float) -> Array:
        """Where the curves are computed: evenly, and closely about each class's mean, however narrow it is."""
        if not self.whole:
            middle, spread = self._bell()
            close = middle[:, None] + spread[:, None] * np.linspace(-DEVIATIONS, DEVIATIONS, 61)
            return np.unique(np.concatenate([np.linspace(low, high, STEPS), close.ravel()]).clip(low, high))
        step = max(1, int((high - low) // STEPS))
        return np.arange(max(0.0, np.floor(low)), high + 1, step)


def conditionals(model: Model, columns: Sequence[str] | None, most: int) -> tuple[list[Conditional], int]:
    """The features of these columns, or the strongest, and how many more there are; texts are left to telltales."""
    if not isinstance(model, Model):
        raise InputError(f"this picture is of a table model, from deciban.train or load; not {type(model).__name__}")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most must be a whole number ≥ 1, not {most!r}")
    description = model.describe()
    every = _every(model, description)
    if columns is None:
        order = [strength.feature for strength in description.strongest if strength.feature in every]
        chosen = order[:most]
    else:
        chosen = [name for column in columns for name in _named(model, column, every)]
    if not chosen:
        raise InputError(
            "the model has no numbers, flags or categories to draw. Hint: deciban plot telltales draws words"
        )
    return [every[name] for name in chosen], len(every) - len(chosen) if columns is None else 0


def _every(model: Model, description: Description) -> dict[str, Conditional]:
    """Every feature but texts."""
    belief = model.naive.unsolved()
    voices = make_block_summarisers(belief, model.labels, [group.features for group in model.layout.blocks])
    fits = _fitted(model.scorer, make_block_summarisers(belief, model.labels, [group.features for group in model.layout.blocks]))
    missing = {note.name: note.missing or 0.0 for note in description.columns}
    found: dict[str, Conditional] = {}
    for block, (kind, features) in enumerate(model.layout.blocks):
        for j, feature in enumerate(features if kind != "bags" else ()):
            lacking = max(missing.get(column, 0.0) for column in feature.columns)
            fitted = fits[block].table(j) if fits else None
            found[feature.name] = Conditional(model, feature, block, j, lacking, voices[block].table(j), fitted)
    return found


def _fitted(belief: GenerativeModel | FittedModel, voices: Sequence[BlockSummariser]) -> Sequence[BlockSummariser]:
    """The same voices with what was fitted; none where nothing was."""
    if not isinstance(belief, FittedModel):
        return ()
    for voice, form in zip(voices, belief.solved.forms):
        voice.form = form
    return voices


def _named(model: Model, column: str, every: dict[str, Conditional]) -> list[str]:
    """The features that a column, or a part of a date, gives."""
    found = [name for name, told in every.items() if column == name or column in told.feature.columns]
    if not found:
        known = list(dict.fromkeys(c for told in every.values() for c in told.feature.columns))
        role = model.roles.get(column)
        why = f"is {role}, which is not drawn" if role else f"is not in the model{did_you_mean(column, known)}"
        shown = ", ".join(known[:20]) + (" …" if len(known) > 20 else "")
        raise InputError(f"column {column!r} {why}. Hint: one of {shown}")
    return found
