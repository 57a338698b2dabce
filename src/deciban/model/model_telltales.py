"""Telltales of a table model: the words with the strongest evidence for a class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, did_you_mean, unknown_class_error
from deciban.families.telltales import Telltale, telltales
from deciban.ledger import Tallies
from deciban.linear.fitted_model import FittedModel
from deciban.model.weight_summaries import contrasts
from deciban.scores import DECIBAN
from deciban.sources.arrow_cells import format_label

if TYPE_CHECKING:
    from deciban.model.model import Model


def find_telltales(model: Model, label: Any, n: int, column: str | None) -> list[Telltale]:
    """Return the n words with the strongest evidence for a class in a column of texts."""
    text = _find_text_index(model, column)
    naive = model.naive.unsolved()
    known = [str(name) for name in naive.schema.classes]
    if format_label(label) not in known:
        raise unknown_class_error(label, known)
    k, block = known.index(format_label(label)), len(naive.complete.parts) - len(model.layout.texts) + text
    words = naive.complete.schema.blocks[block].names
    if words is None:
        raise UndefinedError(
            f"words were hashed (hashed={model.options.words.hashed}), so there are none to name. "
            f"Hint: train without hashed, and the words are kept"
        )
    if isinstance(model.scorer, FittedModel):
        return _find_fitted_telltales(model.scorer, block, k, n)
    family: Any = naive.assumption.families[block]
    part: Any = naive.complete.parts[block]
    return telltales(family, part, k, n, words)


def _find_fitted_telltales(model: FittedModel, block: int, k: int, n: int) -> list[Telltale]:
    """Return the words with the largest sum of evidence over a class's documents; weights have no interval (NaN)."""
    part: Any = model.naive.complete.parts[block]
    words: Any = model.naive.complete.schema.blocks[block].names
    evidence = DECIBAN * (contrasts(model.solved.prior) @ model.solved.forms[block].linear().weights)[k]
    counts, documents = _split_by_class(part.occurrences, k), _split_by_class(part.documents, k)
    best = np.lexsort((-evidence, -np.where(evidence > 0, evidence * documents[0], evidence)))[:n]
    best = best[np.argsort(-evidence[best], kind="stable")]
    return [
        Telltale(words[v], float(evidence[v]), math.nan, math.nan, *(float(n[v]) for n in (*counts, *documents)))
        for v in best.tolist()
    ]


def _split_by_class(part: Tallies, k: int) -> tuple[Array, Array]:
    """Return the totals of every word in class k, and in all other classes."""
    own = np.where(part.klass == k, part.total, 0.0)
    inside, total = (np.bincount(part.feature, each, part.n_features).astype(float) for each in (own, part.total))
    return inside, total - inside


def _find_text_index(model: Model, column: str | None) -> int:
    """Return the index of the text column: the only one, or the one that is named."""
    names = [feature.column for feature in model.layout.texts]
    if not names:
        raise UndefinedError(
            "the model has no column of texts, so it has no telltales. "
            "Hint: describe() summarises its columns; --as COLUMN=text (roles={'COLUMN': 'text'}) reads words"
        )
    if column is None:
        if len(names) > 1:
            raise InputError(f"the model has {len(names)} columns of texts. Hint: column= one of {names}")
        return 0
    if column not in names:
        near = did_you_mean(column, names) or "."
        raise InputError(f"{column!r} is no column of texts{near} Hint: column= one of {names}")
    return names.index(column)
