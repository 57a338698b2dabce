"""Description: what a table model has learned, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.families.feature_strength import strengths
from deciban.families.joint_feature_strength import strength_together
from deciban.generative import GenerativeModel
from deciban.ledger import Scatter
from deciban.linear.fit_report import Account
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import JOIN_SEPARATOR, Column, Feature
from deciban.model.feature_summaries import (
    ClassMean,
    FeatureSummary,
    LevelEffect,
    format_row_count,
    make_block_summarisers,
)
from deciban.model.weight_summaries import Weight, WeightSummariser, weighed
from deciban.plain_json import plain
from deciban.scores import DECIBAN

if TYPE_CHECKING:
    from deciban.model.model import Model

WORDED = 10
"""The strongest features whose evidence is put into words."""

SHOWN_CLASSES, SHOWN_FEATURES, SHOWN_COLUMNS = 10, 5, 40
"""How many of each a terminal is shown; `to_dict` has all."""

WIDTH = 80


@dataclass(frozen=True)
class ClassShare:
    """A class, the weight of its rows, and its share before any evidence."""

    label: Any
    weight: float
    prior: float


@dataclass(frozen=True)
class ColumnNote:
    """A column's role and the reason for it, how many rows have a value, and the share that has none.

    Of a column that is left out nothing was counted.
    """

    name: str
    role: str
    reason: str
    rows: float | None
    missing: float | None


@dataclass(frozen=True)
class Strength:
    """Average evidence of a feature for the true class of a row against another, in decibans, and a 90 % interval.

    `rows` is the weight of the rows that have the feature, `fewest` that of the class which has least of them.
    """

    feature: str
    column: str
    evidence: float
    low: float
    high: float
    rows: float
    fewest: float
    fewest_label: Any
    says: tuple[FeatureSummary | Weight, ...] = ()
    trust: float | None = None
    """How much of it is believed, by evidence regression."""


@dataclass(frozen=True)
class Description:
    """All that a model can say about itself; `strongest` has every feature, the strongest first."""

    target: str
    classes: tuple[ClassShare, ...]
    rows: int
    rows_without_class: int
    weight: float
    n_parameters: int
    columns: tuple[ColumnNote, ...]
    strongest: tuple[Strength, ...]
    pseudo_counts: Mapping[str, float] | None = None
    """Of each column that has one, where alpha="auto" chose them."""
    account: Account | None = None
    """How weights were fitted, where naive Bayes has not learned."""

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it; a number without end by its name."""
        found: dict[str, Any] = plain(asdict(self))
        for entry, strength in zip(found["strongest"], self.strongest):
            entry["text"] = [str(saying) for saying in strength.says]
            if strength.trust is None:
                del entry["trust"]
        if self.account is None:
            del found["account"]
        return found

    def __str__(self) -> str:
        parts = [self._head() + self._learned() + self._chosen(), self._classes(), self._strongest(), self._columns()]
        return "\n\n".join(part for part in parts if part)

    def _head(self) -> str:
        read = format_row_count(self.rows) + " read" if self.rows else ""
        without = f" ({self.rows_without_class} without a class)" if self.rows_without_class else ""
        counted = format_row_count(self.weight) if self.rows != self.weight else ""
        told = ", ".join(filter(None, [read + without, counted and f"{counted} learned"]))
        used = sum(note.role != "skip" for note in self.columns)
        return f"{self.target} from {used} column{'' if used == 1 else 's'}: {told}; {self.n_parameters} parameters"

    def _learned(self) -> str:
        if self.account is None:
            return ""
        trust = cut(f"\ntrust: {self.account.trusted}") if self.account.trust else ""
        return f"\n{self.account}{trust}"

    def _chosen(self) -> str:
        told = [f"{name} {alpha:g}" for name, alpha in (self.pseudo_counts or {}).items()]
        return cut(f"\npseudo-counts as the rows ask for: {', '.join(told)}") if told else ""

    def _classes(self) -> str:
        shown = self.classes[:SHOWN_CLASSES]
        width = min(40, max(len(name) for name in ["class", *(str(share.label) for share in shown)]))
        lines = [f"  {'class':<{width}}  {'rows':>12}  {'prior':>8}"]
        lines += [
            f"  {cut(str(share.label), width):<{width}}  {share.weight:>12.10g}  {share.prior:>8.1%}"
            for share in shown
        ]
        return "\n".join([*lines, *_more(len(self.classes) - len(shown), "classes")])

    def _strongest(self) -> str:
        shown = self.strongest[:SHOWN_FEATURES]
        if not shown:
            return ""
        width = min(24, max(len(strength.feature) for strength in shown))
        lines = ["strongest columns: average evidence for the true class (90 % interval)"]
        for strength in shown:
            lines += _strength_lines(strength, width)
        return "\n".join([*lines, *_more(len(self.strongest) - len(shown), "columns or parts of dates")])

    def _columns(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        if not shown:
            return ""
        width = min(24, max(len(note.name) for note in shown))
        lines = [f"  {cut(note.name, width):<{width}}  {note.role:<8}  {_gaps(note)}{note.reason}" for note in shown]
        return "\n".join(["columns", *map(cut, lines), *_more(len(self.columns) - len(shown), "columns")])


def describe_model(model: Model) -> Description:
    """What this model has learned; quick for many columns and levels, since only the strongest are put into words."""
    belief, ledger = model.naive.unsolved(), model.ledger
    n, prior = ledger.rows.tolist(), model.scorer.solved.prior.tolist()
    weights = _weights(model)
    with np.errstate(all="ignore"):  # of numbers beyond 1e150 the strengths are infinite or unknown
        strongest = _fitted(model, belief, weights) if model.account else _strengths(model, belief, weights)
    return Description(
        model.target,
        tuple(ClassShare(*share) for share in zip(model.classes, n, prior)),
        model.origin.rows_read,
        model.origin.rows_without_class,
        ledger.n_rows,
        model.n_parameters if model.account else belief.n_parameters,
        tuple(_note(model, column, weights) for column in model.columns),
        strongest,
        model.pseudo_counts if model.options.auto else None,
        model.account,
    )


def _weights(model: Model) -> dict[str, Array]:
    """The weight of the rows of each class that have each feature."""
    K = len(model.ledger.rows)
    found: dict[str, Array] = {}
    for part, (_, features) in zip(model.ledger.parts, model.layout.blocks):
        own = part.moments.weight if isinstance(part, Scatter) else part.weight  # type: ignore[attr-defined]
        weight = np.broadcast_to(own, (K, len(features)))
        found |= {feature.name: weight[:, j] for j, feature in enumerate(features)}
    return found


def _note(model: Model, column: Column, weights: dict[str, Array]) -> ColumnNote:
    features = model.layout.features_of(column)
    if not features:
        return ColumnNote(column.name, column.role, column.reason, None, None)
    rows, n = float(weights[features[0].name].sum()), model.ledger.n_rows
    return ColumnNote(column.name, column.role, column.reason, rows, max(0.0, 1 - rows / n) if n else 0.0)


def _strengths(model: Model, belief: GenerativeModel, weights: dict[str, Array]) -> tuple[Strength, ...]:
    rng = np.random.default_rng(0)
    found: list[tuple[Strength, int, range]] = []
    families = zip(belief.assumption.families, belief.complete.parts, model.layout.blocks)
    for block, (family, part, (kind, features)) in enumerate(families):
        solve = strength_together if kind == "scatter" else strengths
        told = solve(family, part, belief.solved.prior, rng)  # type: ignore[arg-type]
        spans = np.stack([told.value, told.low, told.high], axis=1) * DECIBAN
        if kind == "scatter":  # numbers under one bell speak together
            weight = np.max([weights[feature.name] for feature in features], axis=0)
            said = Feature(JOIN_SEPARATOR.join(feature.name for feature in features), "number")
            found.append((_strength(model, said, spans[0].tolist(), weight), block, range(len(features))))
            continue
        found += [
            (_strength(model, feature, span.tolist(), weights[feature.name]), block, range(j, j + 1))
            for j, (feature, span) in enumerate(zip(features, spans))
        ]
    found.sort(key=lambda entry: -entry[0].evidence)
    voices = make_block_summarisers(belief, model.labels, [group.features for group in model.layout.blocks])
    return tuple(
        _with_words(strength, [say for j in said for say in voices[block].says(j)]) if place < WORDED else strength
        for place, (strength, block, said) in enumerate(found)
    )


def _fitted(model: Model, naive: GenerativeModel, weights: dict[str, Array]) -> tuple[Strength, ...]:
    """What fitted weights say; of evidence regression what naive Bayes says, as far as it is trusted."""
    assert isinstance(model.scorer, FittedModel)
    trust = model.scorer.account.trust
    if trust is not None:
        told = [_trusted(heard, trust.get(heard.feature, 1.0)) for heard in _strengths(model, naive, weights)]
        return tuple(sorted(told, key=lambda strength: -strength.evidence))
    groups = [group.features for group in model.layout.blocks]
    found = sorted(weighed(model.scorer, groups), key=lambda told: -told.span[0])
    voices = [
        WeightSummariser(model.scorer, naive, b, model.labels, [f.name for f in mine])
        for b, mine in enumerate(groups)
    ]
    return tuple(
        _with_words(
            _strength(model, told.feature, told.span, weights[told.feature.name]),
            voices[told.block].says(told.j) if place < WORDED else (),
        )
        for place, told in enumerate(found)
    )


def _trusted(strength: Strength, t: float) -> Strength:
    """As much of a column's evidence as is believed."""
    span = sorted((t * strength.low, t * strength.high))
    says = [saying.times(t) if isinstance(saying, LevelEffect) else saying for saying in strength.says]
    return replace(strength, evidence=t * strength.evidence, low=span[0], high=span[1], trust=t, says=tuple(says))


def _strength(model: Model, feature: Feature, span: Sequence[float], weight: Array) -> Strength:
    known = np.flatnonzero(model.ledger.rows > 0)
    least = int(known[np.argmin(weight[known])]) if known.size else 0
    value, low, high = span
    rests = (float(weight.sum()), float(weight[least]), model.classes[least])
    return Strength(feature.name, feature.column, value, low, high, *rests)


def _with_words(strength: Strength, says: Sequence[FeatureSummary | Weight]) -> Strength:
    return replace(strength, says=tuple(says))


def _strength_lines(strength: Strength, width: int) -> list[str]:
    name = f"{cut(strength.feature, width):<{width}}"
    span = f"{strength.evidence:>6.2f} dB  ({strength.low:.2f} … {strength.high:.2f})"
    trust = "" if strength.trust is None else f"trust {strength.trust:.2f}  "
    rests = f"{trust}{format_row_count(strength.rows)}, {strength.fewest:.10g} of {strength.fewest_label}"
    lines = [cut(f"  {name}  {span}  {rests}")]
    return lines + [_line(saying, strength.feature) for saying in strength.says]


def _line(saying: FeatureSummary | Weight, below: str) -> str:
    """What a feature says, below its name; where that is too long, less of the level's name."""
    whose = "" if saying.feature == below else f"{saying.feature}: "
    who = whose + (saying.what if isinstance(saying, ClassMean) else saying.value)
    room = WIDTH - len(f"       {saying.message()}")
    return cut(f"      {cut(who, max(room, 10))} {saying.message()}")


def _gaps(note: ColumnNote) -> str:
    return f"{note.missing:.1%} missing; " if note.missing else ""


def _more(n: int, what: str) -> list[str]:
    return [f"  … and {n} more {what}"] if n > 0 else []


def cut(text: str, width: int = WIDTH) -> str:
    """The text, or as much of it as fits."""
    return text if len(text) <= width else text[: width - 1] + "…"
