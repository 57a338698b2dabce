"""The description of a table model, as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.families.feature_strength import block_strength, strengths
from deciban.formatting import clip_text, format_count
from deciban.generative import GenerativeModel
from deciban.ledger import Scatter
from deciban.linear.fitted_model import Account, FittedModel
from deciban.model.columns import JOIN_SEPARATOR, Column, Feature
from deciban.model.feature_summaries import BlockSummariser, ClassMean, FeatureSummary, LevelEffect
from deciban.model.weight_summaries import WeightSummariser, compute_weight_strengths
from deciban.plain_json import to_plain
from deciban.scores import DECIBAN
from deciban.scores.explanation import LINE_WIDTH

if TYPE_CHECKING:
    from deciban.model.model import Model

N_SUMMARISED_FEATURES = 10
"""Number of the strongest features that are summarised in words."""

SHOWN_CLASSES, SHOWN_FEATURES, SHOWN_COLUMNS = 10, 5, 40
"""Largest number of each in the text; `to_dict` has all."""

SHOWN_MARKED_COLUMNS = 4
"""Largest number of columns that are named for each text that was read as missing."""


@dataclass(frozen=True)
class ClassShare:
    """A class, the weight of its rows, and its prior probability."""

    label: Any
    weight: float
    prior: float


@dataclass(frozen=True)
class ColumnNote:
    """A column's role and the reason for it, the weight of the rows with a value, and the share of weight without.

    Both are None for a column that no feature is made from.
    """

    name: str
    role: str
    reason: str
    rows: float | None
    missing: float | None


@dataclass(frozen=True)
class Strength:
    """Average evidence of a feature for the true class of a row against another, in decibans, and a 90 % interval.

    `rows` is the weight of the rows that have the feature, `fewest` that of the class with the fewest of them;
    `trust` the evidence weight by which evidence regression has multiplied the evidence, None for other learners.
    """

    feature: str
    column: str
    evidence: float
    low: float
    high: float
    rows: float
    fewest: float
    fewest_label: Any
    summaries: tuple[FeatureSummary, ...] = ()
    trust: float | None = None


@dataclass(frozen=True)
class Description:
    """The classes, columns and parameters of a model; `strongest` has every feature, the strongest first."""

    target: str
    classes: tuple[ClassShare, ...]
    rows: int
    rows_without_class: int
    weight: float
    n_parameters: int
    columns: tuple[ColumnNote, ...]
    strongest: tuple[Strength, ...]
    account: Account | None = None
    """The report of how weights were fitted, unless the learner is naive Bayes."""
    markers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """For each column, the number of its cells that were read as missing for each text, such as `?`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values, null for ∞ and NaN, and without a `trust` or `account` of None.

        The `summaries` of a feature are under the key `says`, and as a list of sentences under `text`.
        """
        found: dict[str, Any] = to_plain(asdict(self))
        for i, strength in enumerate(self.strongest):
            entry = {"says" if name == "summaries" else name: v for name, v in found["strongest"][i].items()}
            entry["text"] = [str(summary) for summary in strength.summaries]
            if strength.trust is None:
                del entry["trust"]
            found["strongest"][i] = entry
        if self.account is None:
            del found["account"]
        return found

    def __str__(self) -> str:
        head = self._format_first_line()
        if self.account is not None:
            head += f"\n{self.account}"
            weights = self.account.trust_text
            head += clip_text(f"\nevidence weights: {weights}", LINE_WIDTH) if weights else ""
        parts = [head, self._format_classes(), self._format_strongest(), self._format_columns()]
        parts.append("\n".join(self.format_markers()))
        return "\n\n".join(part for part in parts if part)

    def format_markers(self) -> list[str]:
        """Return a line for each text that was read as missing, with the number of its cells and their columns."""
        texts = sorted({text for counts in self.markers.values() for text in counts})
        lines = []
        for text in texts:
            columns = {name: counts[text] for name, counts in self.markers.items() if text in counts}
            shown = [f"{clip_text(name, 24)} {n}" for name, n in islice(columns.items(), SHOWN_MARKED_COLUMNS)]
            n_more = len(columns) - len(shown)
            more = f" and {format_count(n_more, 'more column')}" if n_more else ""
            cells = format_count(sum(columns.values()), "cell")
            lines.append(f"{text} was read as missing in {cells}: {', '.join(shown)}{more}")
        return lines

    def _format_first_line(self) -> str:
        read = f"{format_count(self.rows, 'row')} read" if self.rows else ""
        without = f" ({format_count(self.rows_without_class)} without a class)" if self.rows_without_class else ""
        learned = f"{format_count(self.weight, 'row')} learned" if self.rows != self.weight else ""
        rows = ", ".join(filter(None, [read + without, learned]))
        columns = format_count(sum(note.role != "skip" for note in self.columns), "column")
        return f"{self.target} from {columns}: {rows}; {format_count(self.n_parameters, 'parameter')}"

    def _format_classes(self) -> str:
        shown = self.classes[:SHOWN_CLASSES]
        width = min(40, max(len(name) for name in ["class", *(str(share.label) for share in shown)]))
        lines = [f"  {'class':<{width}}  {'rows':>12}  {'prior':>8}"]
        lines += [
            f"  {clip_text(str(share.label), width):<{width}}  {share.weight:>12.10g}  {share.prior:>8.1%}"
            for share in shown
        ]
        return "\n".join([*lines, *_format_more(len(self.classes) - len(shown), "more class")])

    def _format_strongest(self) -> str:
        shown = self.strongest[:SHOWN_FEATURES]
        if not shown:
            return ""
        width = min(24, max(len(strength.feature) for strength in shown))
        lines = ["strongest columns: average evidence for the true class (90 % interval)"]
        for strength in shown:
            lines += _format_strength(strength, width)
        return "\n".join([*lines, *_format_more(len(self.strongest) - len(shown), "more feature")])

    def _format_columns(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        if not shown:
            return ""
        width = min(24, max(len(note.name) for note in shown))
        missing = [f"{note.missing:.1%} missing; " if note.missing else "" for note in shown]
        lines = [
            clip_text(f"  {clip_text(note.name, width):<{width}}  {note.role:<8}  {share}{note.reason}", LINE_WIDTH)
            for note, share in zip(shown, missing)
        ]
        return "\n".join(["columns", *lines, *_format_more(len(self.columns) - len(shown), "more column")])


def describe_model(model: Model) -> Description:
    """Return the description of a model; only the strongest features have summaries, so that it is quick for many."""
    naive, ledger = model._naive.unsolved(), model.ledger
    n, prior = (ledger.rows / ledger.mean_weight).tolist(), model._scorer.solved.prior.tolist()
    weights = _list_feature_weights(model)
    with np.errstate(all="ignore"):  # of numbers beyond 1e150 the strengths are infinite or unknown
        strongest = _rank_features(model, naive, weights)
    return Description(
        model.target,
        tuple(ClassShare(*share) for share in zip(model.classes, n, prior)),
        model.origin.rows_read,
        model.origin.rows_without_class,
        ledger.n_effective,
        model.n_parameters if model.account else naive.n_parameters,
        tuple(_describe_column(model, column, weights) for column in model.columns),
        strongest,
        model.account,
        model.origin.markers,
    )


def _list_feature_weights(model: Model) -> dict[str, Array]:
    """Return the weight of the rows of each class that have each feature."""
    K = len(model.ledger.rows)
    found: dict[str, Array] = {}
    for part, (kind, features) in zip(model.ledger.parts, model._layout.blocks):
        if kind == "pairs":  # the features are counted in their own blocks
            continue
        own = part.moments.weight if isinstance(part, Scatter) else part.weight  # type: ignore[attr-defined]
        weight = np.broadcast_to(own / model.ledger.mean_weight, (K, len(features)))
        found |= {feature.name: weight[:, j] for j, feature in enumerate(features)}
    return found


def _describe_column(model: Model, column: Column, weights: dict[str, Array]) -> ColumnNote:
    features = column.modelled_features
    if not features:
        return ColumnNote(column.name, column.role, column.reason, None, None)
    rows, n = float(weights[features[0].name].sum()), model.ledger.n_effective
    parent = model.structure.get(column.name)
    if model.learner == "aode" and column.cells:
        parent = "each other column"
    reason = column.reason if parent is None else f"given {parent}; {column.reason}"
    return ColumnNote(column.name, column.role, reason, rows, max(0.0, 1 - rows / n) if n else 0.0)


def _rank_features(model: Model, naive: GenerativeModel, weights: dict[str, Array]) -> tuple[Strength, ...]:
    """Return the strength of every feature, or of joined numbers together; the strongest first, some with summaries.

    Of logistic regression and boosting they are those of the fitted weights, without the blocks whose score is not a
    sum of weights; of evidence regression those of naive Bayes, scaled after the few with summaries were chosen.
    """
    evidence_weights = None if model.account is None else model.account.trust
    fitted = model._scorer if isinstance(model._scorer, FittedModel) and evidence_weights is None else None
    found = sorted(_list_strengths(model, naive, weights, fitted), key=lambda entry: _get_order(entry[0]))
    ranked = [strength for strength, _, _ in found]
    for rank, (strength, summariser, own) in enumerate(found[:N_SUMMARISED_FEATURES]):
        summaries = tuple(summary for j in own for summary in summariser.summarise(j))
        ranked[rank] = replace(strength, summaries=summaries)
    if evidence_weights is not None:
        ranked = [_scale(strength, evidence_weights.get(strength.feature, 1.0)) for strength in ranked]
        ranked.sort(key=_get_order)
    return tuple(ranked)


def _list_strengths(
    model: Model, naive: GenerativeModel, weights: dict[str, Array], fitted: FittedModel | None
) -> Iterator[tuple[Strength, BlockSummariser, range]]:
    """Yield the strength of each feature, by fitted weights if there are any, and its columns of a summariser."""
    rng = np.random.default_rng(0)
    for block, (kind, features) in enumerate(model._layout.blocks):
        if kind == "pairs":  # corrections of the features' own evidence
            continue
        part: Any = naive.complete.parts[block]
        names = [feature.name for feature in features]
        columns = [range(j, j + 1) for j in range(len(features))]
        if fitted is not None:
            summariser: BlockSummariser = WeightSummariser(naive, block, model._labels, names, fitted)
            solved = compute_weight_strengths(fitted.solved.forms[block], part, fitted.solved.prior)
            if solved is None:
                continue
        else:
            summariser = BlockSummariser(naive, block, model._labels, names)
            solve = block_strength if kind == "scatter" else strengths
            solved = solve(naive.assumption.families[block], part, naive.solved.prior, rng)  # type: ignore[arg-type]
            if kind == "scatter":  # joined numbers have one strength
                weights = {**weights, JOIN_SEPARATOR.join(names): np.max([weights[name] for name in names], axis=0)}
                features, columns = (Feature(JOIN_SEPARATOR.join(names), "number"),), [range(len(features))]
        spans = np.stack([solved.value, solved.low, solved.high], axis=1) * DECIBAN
        for feature, span, own in zip(features, spans.tolist(), columns):
            yield _make_strength(model, feature, span, weights[feature.name]), summariser, own


def _get_order(strength: Strength) -> float:
    """Return the key that sorts features: the strongest first, those of unknown strength (NaN) last."""
    return math.inf if math.isnan(strength.evidence) else -strength.evidence


def _scale(strength: Strength, t: float) -> Strength:
    """Return the strength with evidence, interval and level effects multiplied by t, and t as its `trust`."""
    low, high = sorted((t * strength.low, t * strength.high))
    summaries = tuple(each.scale(t) if isinstance(each, LevelEffect) else each for each in strength.summaries)
    return replace(strength, evidence=t * strength.evidence, low=low, high=high, trust=t, summaries=summaries)


def _make_strength(model: Model, feature: Feature, span: Sequence[float], weight: Array) -> Strength:
    known = np.flatnonzero(model.ledger.rows > 0)
    fewest = int(known[np.argmin(weight[known])]) if known.size else 0
    value, low, high = span
    rows = (float(weight.sum()), float(weight[fewest]), model.classes[fewest])
    return Strength(feature.name, feature.column, value, low, high, *rows)


def _format_strength(strength: Strength, width: int) -> list[str]:
    name = f"{clip_text(strength.feature, width):<{width}}"
    span = f"{strength.evidence:>6.2f} dB  ({strength.low:.2f} … {strength.high:.2f})"
    weight = "" if strength.trust is None else f"weight {strength.trust:.2f}  "
    rows = f"{weight}{format_count(strength.rows, 'row')}, {format_count(strength.fewest)} of {strength.fewest_label}"
    lines = [clip_text(f"  {name}  {span}  {rows}", LINE_WIDTH)]
    return lines + [_format_summary(summary, strength.feature) for summary in strength.summaries]


def _format_summary(summary: FeatureSummary, heading: str) -> str:
    """Return the line of a summary; it names the feature unless that is `heading`, and shortens too long a name."""
    feature = "" if summary.feature == heading else f"{summary.feature}: "
    name = feature + (summary.what if isinstance(summary, ClassMean) else summary.value)
    width = LINE_WIDTH - len(f"       {summary.message()}")
    return clip_text(f"      {clip_text(name, max(width, 10))} {summary.message()}", LINE_WIDTH)


def _format_more(n: int, noun: str) -> list[str]:
    return [f"  … and {format_count(n, noun)}"] if n > 0 else []
