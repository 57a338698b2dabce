"""The portable document of a table model: its classes, columns, score terms and calibration as plain JSON values.

A score is ln π_k + bias_k + Σ of terms, one or several for each feature, or for features that are joined. Terms have
no parameters but those of the score itself: evidence weights, bounds and limits are spelt out. −∞, a value that is
impossible in a class, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Vocabulary
from deciban.model.columns import Feature
from deciban.persistence.container import get_library_version
from deciban.persistence.table_models import describe_column
from deciban.scorer import vocabularies
from deciban.scores import ScoreForm
from deciban.scores.bounded_forms import MAX_FEATURE_EVIDENCE, BoundedDiagonal, BoundedRates, LimitedFull
from deciban.scores.calibration import Calibration, Isotonic, Platt, Temperature
from deciban.scores.form_algebra import Summed
from deciban.scores.gaussian_forms import Diagonal, Full
from deciban.scores.linear import Linear, SparseLinear
from deciban.scores.lookup import Lookup, Steps
from deciban.scores.pair_form import AveragedEdges, Edges
from deciban.text.words import PATTERNS

if TYPE_CHECKING:
    from deciban.model.model import Model

Document = dict[str, Any]
"""A portable document: lists, dicts, numbers, texts, true, false and null."""

Term = dict[str, Any]
"""One summand of the score: its kind, its feature or features, and its parameters."""

FORMAT_NAME = "deciban score form"
"""The value of `format`, by which a document is recognised."""

FORMAT_VERSION = 1
"""The version of the format that is written."""

MAX_DENSE_WEIGHTS = 1 << 26
"""Largest number of weights, classes × words, of a text that is exported."""


def make_document(model: Model) -> Document:
    """Return the portable document of a table model."""
    solved, calibration = model._scorer.solved, model._scorer.calibration
    K = len(solved.prior)
    document: Document = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "deciban": get_library_version(),
        "learner": model.learner,
        "target": model.target,
        "target_type": model._target_type,
        "classes": [str(label) for label in model._scorer.outline.classes],
        "columns": [describe_column(column) for column in model.columns],
        "features": [describe_feature(feature, model) for feature in model._layout.features_in_table_order()],
        "markers": list(model.options.markers),
        "unseen": model.options.unseen,
        "rows": to_list(model._scorer.rows),
        "log_prior": to_list(solved.log_prior),
        "prior": to_list(solved.prior),
        "bias": to_list(np.zeros(K) if solved.bias is None else solved.bias),
        "terms": list(list_terms(model)),
        "calibration": None if calibration is None else describe_calibration(calibration),
    }
    if model._layout.texts:
        document["words"] = {**model.options.words.to_dict(), "characters": list_character_classes()}
    return document


def describe_feature(feature: Feature, model: Model) -> dict[str, Any]:
    """Return the name of a feature, the columns that it is read from, and as what: number, level or text.

    A part of a date has `part`, any other level `numeric` for each of its columns, and a count the minimum 0.
    """
    numeric = {column.name for column in model.columns if column.numeric}
    kind = "text" if feature.role == "text" else "level" if feature in model._layout.levels else "number"
    described: dict[str, Any] = {"name": feature.name, "columns": list(feature.columns), "kind": kind}
    if feature.part is not None:
        described["part"] = feature.part
    if kind == "level" and feature.part is None:
        described["numeric"] = [name in numeric for name in feature.columns]
    if feature.role == "count":
        described["minimum"] = 0
    return described


def to_list(array: Any) -> Any:
    """Return an array as nested lists of numbers, None for −∞."""
    values = np.asarray(array, dtype=np.float64)
    nested: Any = values.astype(object) if np.isneginf(values).any() else values
    if nested is not values:
        nested[np.isneginf(values)] = None
    return nested.tolist()


def list_character_classes() -> dict[str, str]:
    """Return the word and the white-space characters of this Python's `\\w` and `\\s`, as classes of a JS pattern."""
    from deciban.text.character_tables import match_characters

    found = {}
    for name, pattern in {"word": PATTERNS["words"], "space": r"\s+"}.items():
        is_member = match_characters(pattern)
        edges = np.flatnonzero(np.diff(is_member.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
        found[name] = "".join(
            f"\\u{{{a:x}}}" + (f"-\\u{{{b - 1:x}}}" if b - a > 1 else "") for a, b in edges.tolist()
        )
    return found


def find_line(document: Document) -> tuple[float | None, list[float | None]]:
    """Return the slope and the constant of each class (None: −∞) of a linear calibration, under the present prior.

    They map ln p(k|x) under the prior of the calibration. An isotonic map has no slope; the constants, added to what
    it maps to, are ln π'/π from that prior to the present one.
    """
    c = document["calibration"]
    slope = c.get("t", c.get("slope"))
    each = zip(document["log_prior"], c["log_prior"], c.get("bias", [0.0] * len(c["log_prior"])))
    if slope is None:
        return None, [0.0 if old is None else None if new is None else new - old for new, old, _ in each]
    return slope, [None if new is None or old is None else new - slope * old + bias for new, old, bias in each]


def describe_calibration(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration map, and the class prior under which it was fitted."""
    described = {"method": calibration.method, "log_prior": to_list(calibration.log_prior)}
    match calibration.map:
        case Temperature(t):
            return {**described, "t": float(t)}
        case Platt(slope, bias):
            return {**described, "slope": float(slope), "bias": to_list(bias)}
        case Isotonic(start, claimed, true):
            ends = zip(start[:-1].tolist(), start[1:].tolist())
            curves = [{"claimed": to_list(claimed[a:b]), "true": to_list(true[a:b])} for a, b in ends]
            return {**described, "curves": curves}


def list_terms(model: Model) -> Iterator[Term]:
    """Yield the terms of all blocks."""
    texts = iter(vocabularies(model._scorer.outline)) if model._layout.texts else iter(())
    for (kind, features), form in zip(model._layout.blocks, model._scorer.solved.forms):
        names: Any = None
        if kind == "levels":
            names = model._scorer.level_names
        elif kind in ("bags", "pairs"):
            names = next(texts) if kind == "bags" else [list(model._layout.cells[f.column]) for f in features]
        for part in form.forms if isinstance(form, Summed) else (form,):
            yield from WRITERS[kind if kind == "bags" else type(part)](part, [f.name for f in features], names)


def _make_refusal(form: ScoreForm, why: str) -> InputError:
    """Return the error for a score form that cannot be exported."""
    return InputError(
        f"a model with scores of the form {type(form).__name__} {why} cannot be exported. "
        f"Hint: train it again with this version, with alpha > 0"
    )


def _write_gaussian_terms(form: Diagonal, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield t · max(−½ ln 2πσ² − ½ (x − μ)²/σ², floor) + offset of each feature."""
    bounded = form if isinstance(form, BoundedDiagonal) else None
    for j, feature in enumerate(features):
        shares = None if bounded is None or bounded.shares is None else bounded.shares[:, j]
        yield {
            "kind": "gaussian",
            "feature": feature,
            "mean": to_list(form.mean[:, j]),
            "variance": to_list(form.variance[:, j]),
            "floor": None if bounded is None else to_list(bounded.log_tail[j : j + 1])[0],
            "shares": None if shares is None or shares.all() else to_list(shares),  # where some class never had it
            "weight": 1.0 if form.evidence_weight is None else float(form.evidence_weight[j]),
            "offset": None if form.offsets is None else to_list(form.offsets[:, j]),
        }


def _write_rate_terms(form: BoundedRates, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield −t · min(x ln(x/λ) − x + λ, bound) of each feature."""
    for j, feature in enumerate(features):
        weight = 1.0 if form.evidence_weight is None else float(form.evidence_weight[j])
        rate = to_list(form.rate[:, j])
        yield {"kind": "poisson", "feature": feature, "rate": rate, "bound": float(form.bound), "weight": weight}


def _write_bin_terms(form: Steps, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield the score of each bin, for each feature."""
    for j, feature in enumerate(features):
        a, b = form.start[j : j + 2].tolist()
        scores = to_list(form.log_theta[:, a + j : b + j + 1])
        yield {"kind": "bins", "feature": feature, "cuts": to_list(form.cuts[a:b]), "scores": scores}


def _write_level_terms(form: Lookup, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield the score of each level, and that of levels never seen."""
    for j, (feature, levels) in enumerate(zip(features, names, strict=True)):
        own = slice(form.offset[j], form.offset[j + 1])
        scores, unseen = to_list(form.log_theta[:, own]), to_list(form.unseen[:, j])
        yield {"kind": "levels", "feature": feature, "levels": list(levels), "scores": scores, "unseen": unseen}


def _write_linear_terms(form: Linear, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield weight · x + offset of each feature; x is limited first, and may be impossible where it is not 0."""
    if form.threshold is not None or (form.impossible is not None and form.impossible.off.any()):
        raise _make_refusal(form, "with a threshold")
    impossible = np.zeros(form.weights.shape, np.bool_) if form.impossible is None else form.impossible.on > 0
    if form.bias.any():
        yield {"kind": "constant", "name": "bias", "scores": to_list(form.bias)}
    for j, feature in enumerate(features):
        yield {
            "kind": "linear",
            "feature": feature,
            "weights": to_list(form.weights[:, j]),
            "offset": None if form.offsets is None else to_list(form.offsets[:, j]),
            "limits": None if form.limits is None else to_list(form.limits[:, j]),
            "impossible": impossible[:, j].tolist() if impossible[:, j].any() else None,
        }


def _write_pair_terms(form: Edges, features: Sequence[str], names: Sequence[list[Any]]) -> Iterator[Term]:
    """Yield what the cell of a feature adds, given the cell of the feature that it depends on."""
    for j, p in enumerate(form.parent.tolist()):
        if p >= 0:
            scores = form.log_ratio[:, j, : len(names[p]) + 1, : len(names[j]) + 1]
            yield {
                "kind": "pair",
                "feature": features[j],
                "parent": features[p],
                "cells": names[j],
                "parent_cells": names[p],
                "scores": to_list(scores),
            }


def _refuse_averaged_edges(form: AveragedEdges, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Refuse averaged one-dependence estimators: their score is no sum of terms of features."""
    raise InputError(
        "a model of averaged one-dependence estimators (learner='aode') cannot be exported: its score is a mean over "
        "columns, not a sum. Hint: train with --structure tan (structure='tan'), or apply it by deciban predict"
    )


def _write_joint_terms(form: Full, features: Sequence[str], names: Any) -> Iterator[Term]:
    """Yield the score of joined features: t times the log-density of the features that are present."""
    yield {
        "kind": "joint_gaussian",
        "features": list(features),
        "mean": to_list(form.mean),
        "covariance": to_list(form.covariance),
        "limits": to_list(form.limits) if isinstance(form, LimitedFull) else None,
        "bound": MAX_FEATURE_EVIDENCE if isinstance(form, LimitedFull) else None,
        "weight": 1.0 if form.evidence_weight is None else float(form.evidence_weight),
    }


def _write_text_terms(
    form: SparseLinear | Linear, features: Sequence[str], names: Vocabulary | None
) -> Iterator[Term]:
    """Yield the weight of each word; words are numbered where only their hashes are kept."""
    if form.threshold is not None or form.carrier is not None:
        raise _make_refusal(form, "that counts absent words")
    if isinstance(form, Linear):
        if form.offsets is not None or form.impossible is not None or form.limits is not None:
            raise _make_refusal(form, "with offsets or limits of words")
        weights = form.weights
    else:
        weights = _compute_dense_weights(form)
    if form.bias.any():
        yield {"kind": "constant", "name": "absent", "scores": to_list(form.bias)}
    words = None if names is None else list(names)
    yield {"kind": "text", "feature": features[0], "words": words, "weights": to_list(weights)}


def _compute_dense_weights(form: SparseLinear) -> Array:
    """Return all K×V weights of a sparse form; refuse too many."""
    K, V = form.n_classes, len(form.base)
    if K * V > MAX_DENSE_WEIGHTS:
        raise InputError(
            f"{K} classes × {V} words are more weights than can be exported ({MAX_DENSE_WEIGHTS}). "
            f"Hint: fewer words, words={{'stop': 'english'}} or {{'hashed': 16}} (--hashed 16)"
        )
    words = np.arange(V)
    return np.stack([form.weights(np.full(V, k), words) for k in range(K)])


WRITERS: Mapping[Any, Callable[[Any, Sequence[str], Any], Iterator[Term]]] = {
    Diagonal: _write_gaussian_terms,
    BoundedDiagonal: _write_gaussian_terms,
    BoundedRates: _write_rate_terms,
    Steps: _write_bin_terms,
    Lookup: _write_level_terms,
    Linear: _write_linear_terms,
    Edges: _write_pair_terms,
    AveragedEdges: _refuse_averaged_edges,
    Full: _write_joint_terms,
    LimitedFull: _write_joint_terms,
    "bags": _write_text_terms,
}
"""The function that writes the terms of each score form; a text has its own."""
