"""The scales of a nomogram: the decibans of each value of each column for one class against another."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.formatting import to_printable
from deciban.model.model import Model
from deciban.plots.conditionals import Conditional, select_conditionals
from deciban.plots.densities import shorten_value
from deciban.scores import DECIBAN
from deciban.scores.calibration import Isotonic

SCALE_DEVIATIONS = 2.5
"""How far a scale of numbers goes to either side of the two classes' means, in standard deviations."""

SCALE_POINTS = 513

MIN_BRANCH_SHARE = 0.04
"""The shortest of two branches of a scale, as a share of its length; a scale with a shorter one has one branch."""


class Mark(NamedTuple):
    """A value on a scale, and its decibans."""

    decibans: float
    text: str


@dataclass(frozen=True)
class Branch:
    """A range of decibans on which they rise or fall with the value, its marks and, of numbers, its last value."""

    low: float
    high: float
    marks: tuple[Mark, ...]
    until: float = math.inf


@dataclass(frozen=True)
class Scale:
    """A column of the nomogram: its branches (two if decibans both rise and fall), and the position of a row."""

    name: str
    branches: tuple[Branch, ...]
    point: float | None = None
    value: str = ""

    @property
    def low(self) -> float:
        """The smallest evidence of the drawn values."""
        return min(branch.low for branch in self.branches)

    @property
    def high(self) -> float:
        """The largest evidence of the drawn values."""
        return max(branch.high for branch in self.branches)


@dataclass(frozen=True)
class Scales:
    """The prior and scales of a nomogram for `favoured` against `against`; `total` is that of the row, or None."""

    favoured: Any
    against: Any
    prior: float
    columns: tuple[Scale, ...]
    together: Scale | None
    """The sum of the columns that are not drawn and of texts, if there are any."""
    total: float | None

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest sum of prior and columns."""
        every = [*self.columns, *([] if self.together is None else [self.together])]
        return self.prior + sum(s.low for s in every), self.prior + sum(s.high for s in every)


def compute_scales(model: Model, classes: tuple[Any, Any] | None, most: int, explanation: Any = None) -> Scales:
    """Compute scales of the strongest features with evidence, widest first, and one of all others together.

    These are `most`, or `most` + 1 where no other would be left: a scale of one column has its own marks.
    Refuse a model of one class, and one whose evidence does not add up; without a row, one that reads texts.
    With the `explanation` of a row, its winner and runner-up replace `classes`, and the scales have its points.
    """
    every, _ = select_conditionals(model, None, 10**9)
    _refuse_non_additive(model)
    if len(model.classes) < 2:
        raise InputError("a nomogram weighs two classes, and this model has one")
    if explanation is not None:
        classes = explanation.winner[0], explanation.runner_up[0]
    k, l = choose_pair(model, classes)
    _refuse_impossible(model, k, l)
    slope, _ = model._scorer.linear_map()
    points = {} if explanation is None else _read_points(explanation)
    placed = []
    for one in every:
        scale = _make_scale(one, k, l, slope)
        if one.name in points:
            point, value = points[one.name]
            scale = replace(scale, point=point, value=value)
        if scale.high > scale.low or scale.point:
            placed.append(scale)
    texts = [] if explanation is None else [text.column for text in model._layout.texts]
    most += len(placed) == most + 1 and not texts
    shown = sorted(placed[:most], key=lambda scale: scale.low - scale.high)
    extra = sum(point for name, (point, _) in points.items() if name not in {s.name for s in placed})
    together = _sum_scales(placed[most:], extra, explanation is not None, texts)
    prior = _sum_prior_evidence(model, _explain_blank_row(model, k, l) if explanation is None else explanation, k, l)
    total = None if explanation is None else float(explanation.total[0])
    return Scales(model.classes[k], model.classes[l], prior, tuple(shown), together, total)


def _read_points(explanation: Any) -> dict[str, tuple[float, str]]:
    """Return the decibans of each feature of an explained row, and its value as a text."""
    evidence = explanation.evidence
    dense = evidence.toarray() if hasattr(evidence, "toarray") else np.asarray(evidence)
    values = ["missing" if value is None else to_printable(str(value)) for value in explanation.values[0].tolist()]
    return dict(zip(explanation.features, zip(dense.reshape(-1).tolist(), values)))


def choose_pair(model: Model, classes: tuple[Any, Any] | None) -> tuple[int, int]:
    """Return the indices of these classes; for None, of the second and first of two, or the two of highest prior."""
    from deciban.model.table_explanations import find_class_pair

    if classes is not None:
        return find_class_pair(model, classes)
    if len(model.classes) == 2:
        return 1, 0
    order = np.argsort(-model._scorer.solved.prior, kind="stable")
    return int(order[0]), int(order[1])


def _explain_blank_row(model: Model, k: int, l: int) -> Any:
    """Return the explanation of a row in which all is missing; refuse a model that reads texts."""
    rows = []
    for kind, features in model._layout.blocks:
        if kind == "bags":
            raise InputError("the model reads texts, whose words have no scale. Hint: name a row, or plot telltales")
        rows.append(np.full((1, len(features)), -1 if kind in ("levels", "pairs") else np.nan))
    return model._scorer.explain(rows, (k, l), model._labels, engines.thread_count(None))


def _sum_prior_evidence(model: Model, explanation: Any, k: int, l: int) -> float:
    """Return the evidence of the prior and of the biases of fitted weights and of Platt scaling."""
    _, constant = model._scorer.linear_map()
    return float((constant[k] - constant[l]) * DECIBAN + explanation.extras.get("bias", [0.0])[0])


def _refuse_non_additive(model: Model) -> None:
    """Refuse a model with dependent or joined columns, or an isotonic calibration: its evidence does not add up."""
    by = model._scorer.calibration
    if by is not None and isinstance(by.map, Isotonic):
        raise UndefinedError(
            f"a nomogram adds evidence up, and after this calibration ({by.method}) what a value gives depends on "
            f"the others. Hint: train with --calibrate none, temperature or platt"
        )
    if model.learner == "aode":
        raise UndefinedError(
            "averaged one-dependence estimators (aode) have no scale for a column: what it gives depends on all "
            "others. Hint: train with --learner bayes --structure naive; deciban plot evidence draws single rows"
        )
    if model.structure:
        child, parent = next(iter(model.structure.items()))
        raise UndefinedError(
            f"what column {child!r} gives depends on {parent!r}, so it has no scale. "
            f"Hint: train with --structure naive; deciban plot evidence draws single rows"
        )
    joined = [feature for kind, features in model._layout.blocks if kind == "scatter" for feature in features]
    if joined:
        raise UndefinedError(
            f"column {joined[0].name!r} is joined with others, so what it gives depends on them: it has no scale. "
            f"Hint: deciban plot evidence draws single rows"
        )


def _refuse_impossible(model: Model, k: int, l: int) -> None:
    """Refuse two classes whose priors are both 0, which have no odds."""
    if not model._scorer.solved.prior[[k, l]].any():
        raise InputError(
            f"the prior of both {model.classes[k]!r} and {model.classes[l]!r} is 0, so neither has odds against the "
            f"other. Hint: name a class whose prior is above 0"
        )


def _make_scale(conditional: Conditional, k: int, l: int, slope: float) -> Scale:
    """Return the scale of a feature for k against l, without a row: finite evidence times the calibration's slope."""
    if conditional.table is not None:
        names, scores = conditional.value_scores()
        with np.errstate(invalid="ignore"):
            decibans = slope * DECIBAN * (scores[k] - scores[l])
        marks = tuple(Mark(float(d), shorten_value(name)) for d, name in zip(decibans, names) if math.isfinite(d))
        ends = [mark.decibans for mark in marks] or [0.0]
        return Scale(conditional.name, (Branch(min(ends), max(ends), marks),))
    x = np.linspace(*conditional.reach(SCALE_DEVIATIONS, (k, l)), SCALE_POINTS)
    x = np.unique(x.round()) if conditional.is_count else x
    scores = conditional.scores_at(x)
    decibans = slope * DECIBAN * (scores[:, k] - scores[:, l])
    ranges = _split_at_extremum(decibans)
    branches = [_make_branch(x[i:j], decibans[i:j], conditional.is_count) for i, j in ranges]
    return Scale(conditional.name, tuple(branches))


def _split_at_extremum(decibans: Array) -> list[tuple[int, int]]:
    """Return [start, stop) of two branches that share an inner extremum; of one without it or for a short branch."""
    n, span = len(decibans), float(np.ptp(decibans))
    extremum = int(decibans.argmax() if decibans.argmax() not in (0, n - 1) else decibans.argmin())
    halves = [(0, extremum + 1), (extremum, n)]
    if extremum in (0, n - 1) or any(np.ptp(decibans[i:j]) < MIN_BRANCH_SHARE * span for i, j in halves):
        return [(0, n)]
    return halves


def _make_branch(x: Array, decibans: Array, integer: bool) -> Branch:
    """Return the branch of `decibans` at numbers x, with marks at round numbers."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, integer=integer, steps=[1, 2, 2.5, 5, 10]).tick_values(float(x[0]), float(x[-1]))
    inside = [float(tick) for tick in ticks if x[0] <= tick <= x[-1]]
    marks = [Mark(float(np.interp(tick, x, decibans)), f"{tick + 0.0:.6g}".replace("-", "−")) for tick in inside]
    return Branch(float(decibans.min()), float(decibans.max()), tuple(marks), float(x[-1]))


def _sum_scales(scales: list[Scale], extra: float, known: bool, texts: list[str]) -> Scale | None:
    """Return one scale for these columns and for texts, from their smallest to their largest sum; None without any.

    `extra` is the evidence of the row that has no scale, texts included; the scale has its point if `known`.
    """
    names = [*(scale.name for scale in scales), *texts]
    if not names:
        return None
    low, high = sum(s.low for s in scales) + min(extra, 0.0), sum(s.high for s in scales) + max(extra, 0.0)
    point = sum(s.point or 0.0 for s in scales) + extra if known else None
    return Scale(names[0] if len(names) == 1 else f"{len(names)} more", (Branch(low, high, ()),), point)
