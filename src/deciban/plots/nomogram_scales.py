"""The scales of a nomogram: how many decibans each value of each column gives, for one class against another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.model.model import Model
from deciban.plots.conditionals import Conditional, conditionals
from deciban.plots.density_panels import short_value
from deciban.scores import DECIBAN
from deciban.scores.passages import to_printable

DEVIATIONS = 2.5
"""How far a scale of numbers goes to either side of the two classes' means."""

STEPS = 513

BENT = 0.04
"""A scale that turns is drawn as two where each has at least this share of its length."""


class Mark(NamedTuple):
    """A value on a scale, and its decibans."""

    decibans: float
    text: str


@dataclass(frozen=True)
class Branch:
    """A stretch of a scale on which decibans rise or fall with the value: from where to where, its marks, and, of
    numbers, the value at which it ends.
    """

    low: float
    high: float
    marks: tuple[Mark, ...]
    until: float = math.inf


@dataclass(frozen=True)
class Scale:
    """A column of the nomogram: its branches (two where decibans turn with the value), and where a row stands."""

    name: str
    branches: tuple[Branch, ...]
    point: float | None = None
    value: str = ""

    @property
    def low(self) -> float:
        """The least it can give, of what is drawn."""
        return min(branch.low for branch in self.branches)

    @property
    def high(self) -> float:
        """The most it can give, of what is drawn."""
        return max(branch.high for branch in self.branches)


@dataclass(frozen=True)
class Scales:
    """All that a nomogram adds up, for `favoured` against `against`; `total` is that of the row, if there is one."""

    favoured: Any
    against: Any
    prior: float
    columns: tuple[Scale, ...]
    rest: Scale | None
    total: float | None

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the most that prior and columns can add up to."""
        every = [*self.columns, *([self.rest] if self.rest is not None else [])]
        return self.prior + sum(s.low for s in every), self.prior + sum(s.high for s in every)


def scales(model: Model, classes: tuple[Any, Any] | None, most: int, told: Any = None) -> Scales:
    """What each column gives for one class against the other; `told` is the explanation of a row by these two."""
    every, _ = conditionals(model, None, 10**9)
    _refuse_what_does_not_add(model)
    if len(model.classes) < 2:
        raise InputError("a nomogram weighs two classes, and this model has one")
    k, l = pair(model, classes) if told is None else pair(model, (told.winner[0], told.runner_up[0]))
    t = _trust(model)
    points = {} if told is None else dict(zip(told.features, _dense(told.evidence)))
    values = {} if told is None or told.values is None else dict(zip(told.features, told.values[0].tolist()))
    made = [_placed(_scale(one, k, l, t), points, values) for one in every]
    made = [scale for scale in made if scale.high > scale.low or scale.point]
    shown = sorted(made[:most], key=lambda scale: scale.low - scale.high)
    extra = sum(v for name, v in points.items() if name not in {s.name for s in made})
    texts = [] if told is None else [text.column for text in model.layout.texts]
    rest = _together(made[most:], extra, told is not None, texts)
    prior = _start(told) if told is not None else prior_decibans(model, k, l)
    total = None if told is None else float(told.total[0])
    return Scales(model.classes[k], model.classes[l], prior, tuple(shown), rest, total)


def pair(model: Model, classes: tuple[Any, Any] | None) -> tuple[int, int]:
    """The places of two classes: the second against the first of two, the two most frequent of more."""
    from deciban.model.table_explanations import class_pair

    if classes is not None:
        return class_pair(model, classes)
    if len(model.classes) == 2:
        return 1, 0
    order = np.argsort(-model.scorer.solved.prior, kind="stable")
    return int(order[0]), int(order[1])


def prior_decibans(model: Model, k: int, l: int) -> float:
    """What is said before anything is known of a row: the evidence of one in which everything is missing."""
    rows = []
    for kind, features in model.layout.blocks:
        if kind == "bags":
            raise InputError("the model reads texts, whose words have no scale. Hint: name a row, or plot telltales")
        rows.append(np.full((1, len(features)), -1) if kind == "levels" else np.full((1, len(features)), np.nan))
    told = model.scorer.explain(rows, (k, l), model.labels, engines.thread_count(None))
    return _start(told)


def _start(told: Any) -> float:
    """What is said before any column is: the prior, and the bias of weights that were fitted."""
    return float(told.prior[0]) + (float(told.extras["bias"][0]) if "bias" in told.extras else 0.0)


def _refuse_what_does_not_add(model: Model) -> None:
    by = model.scorer.calibration
    if by is not None and by.map.scale is None:
        raise UndefinedError(
            f"a nomogram adds evidence up, and after this calibration ({by.method}) what a value gives depends on "
            f"the others. Hint: train without --calibrate, or with --calibrate temperature"
        )
    joined = [feature for kind, features in model.layout.blocks if kind == "scatter" for feature in features]
    if joined:
        raise UndefinedError(
            f"column {joined[0].name!r} is joined with others, so what it gives depends on them: it has no scale. "
            f"Hint: deciban plot evidence draws single rows"
        )


def _trust(model: Model) -> float:
    by = model.scorer.calibration
    return 1.0 if by is None else float(by.map.scale or 1.0)


def _dense(evidence: Any) -> list[float]:
    rows = evidence.toarray() if hasattr(evidence, "toarray") else evidence
    return [float(value) for value in np.asarray(rows).reshape(-1)]


def _scale(told: Conditional, k: int, l: int, t: float) -> Scale:
    if told.table is not None:
        names, said = told.said()
        with np.errstate(invalid="ignore"):
            gives = t * DECIBAN * (said[k] - said[l])
        marks = [Mark(float(d), short_value(name)) for d, name in zip(gives, names) if math.isfinite(d)]
        return Scale(told.name, (_branch(marks),))
    x = told.near((k, l), DEVIATIONS, STEPS)
    said = told.said_at(x)
    gives = t * DECIBAN * (said[:, k] - said[:, l])
    return Scale(told.name, tuple(_along(part, gives[i:j], told.whole) for i, j, part in _turns(x, gives)))


def _branch(marks: list[Mark]) -> Branch:
    ends = [mark.decibans for mark in marks] or [0.0]
    return Branch(min(ends), max(ends), tuple(marks))


def _turns(x: Array, gives: Array) -> list[tuple[int, int, Array]]:
    """The scale in one piece, or in two where it turns."""
    turn = int(gives.argmax() if gives.argmax() not in (0, len(x) - 1) else gives.argmin())
    span = float(np.ptp(gives))
    halves = [(0, turn + 1), (turn, len(x))]
    if turn in (0, len(x) - 1) or any(np.ptp(gives[i:j]) < BENT * span for i, j in halves):
        return [(0, len(x), x)]
    return [(i, j, x[i:j]) for i, j in halves]


def _along(x: Array, gives: Array, whole: bool) -> Branch:
    """A stretch with marks at round numbers."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, integer=whole, steps=[1, 2, 2.5, 5, 10]).tick_values(float(x[0]), float(x[-1]))
    inside = [float(tick) for tick in ticks if x[0] <= tick <= x[-1]]
    marks = [Mark(float(np.interp(tick, x, gives)), f"{tick + 0.0:.6g}".replace("-", "−")) for tick in inside]
    return Branch(float(gives.min()), float(gives.max()), tuple(marks), float(x[-1]))


def _placed(scale: Scale, points: dict[str, float], values: dict[str, Any]) -> Scale:
    if scale.name not in points:
        return scale
    value = values.get(scale.name)
    return replace(scale, point=points[scale.name], value="missing" if value is None else to_printable(str(value)))


def _together(scales: list[Scale], extra: float, known: bool, texts: list[str]) -> Scale | None:
    """The columns that have no room, and texts, as one: from all at their least to all at their most."""
    names = [*(scale.name for scale in scales), *texts]
    if not names:
        return None
    low, high = sum(s.low for s in scales) + min(extra, 0.0), sum(s.high for s in scales) + max(extra, 0.0)
    point = sum(s.point or 0.0 for s in scales) + extra if known else None
    return Scale(names[0] if len(names) == 1 else f"{len(names)} more", (Branch(low, high, ()),), point)
