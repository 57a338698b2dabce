"""Explanations of table rows: evidence in the order of the table, beside the values it comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.errors import InputError, no_such_class
from deciban.ledger.schema import NumberedNames
from deciban.model.columns import JOIN_SEPARATOR, Feature
from deciban.model.matrices import read_documents
from deciban.model.text_explanations import TableExplanation
from deciban.scores import Explanation
from deciban.scores.passages import TextExplanation, clipped, visible
from deciban.sources.arrow_cells import DATE_PARTS, date_part, label_text
from deciban.sources.source import Source
from deciban.text.token_positions import Finder

if TYPE_CHECKING:
    from deciban.model.model import Model

SHOWN_TEXT = 40
"""Characters of a text that stand for it."""


def explain_rows(
    model: Model, source: Source, classes: tuple[Any, Any] | None, rows: int | None, allow_missing: bool
) -> Explanation:
    """The explanation of all rows, or the first ones."""
    pair = None if classes is None else class_pair(model, classes)
    kept: list[tuple[list[Any], list[Any]]] = []
    wanted = rows
    for batches, parts in model.blocks(source, allow_missing):
        n = parts[0].shape[0] if parts else sum(batch.num_rows for batch in batches)
        take = n if wanted is None else min(n, wanted)
        kept.append((batches, [part[:take] for part in parts]))
        wanted = None if wanted is None else wanted - take
        if wanted == 0:
            break
    if not kept:
        raise InputError(f"{source.name} has no rows to explain")
    parts = [_below(block) for block in zip(*(parts for _, parts in kept))]
    told = model.scorer.explain(parts, pair, model.labels, engines.thread_count(None))
    batches = [batch for each, _ in kept for batch in each]
    told = _by_column(model, told, [part.shape[1] for part in parts], batches) if model.layout.texts else told
    order, values = model.layout.table_order(), _values(model, batches, len(told))
    return replace(told, evidence=told.evidence[:, order], features=[told.features[i] for i in order], values=values)


def _below(parts: tuple[Any, ...]) -> Any:
    """Blocks of rows, one below the other."""
    if not engines.is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy.sparse import csr_array, vstack

    return parts[0] if len(parts) == 1 else csr_array(vstack(parts, format="csr"))


def _by_column(model: Model, told: Explanation, widths: list[int], batches: list[Any]) -> TableExplanation:
    """The same with one feature for each text: what its words say together."""
    texts = model.layout.texts
    ends = np.cumsum([0, *widths])[len(widths) - len(texts) :].tolist()
    said = {text.column: told.evidence[:, a:b] for text, a, b in zip(texts, ends, ends[1:])}
    with np.errstate(invalid="ignore"):  # impossible under both classes: the total is undefined
        together = {column: np.asarray(words.sum(axis=1)).reshape(-1) for column, words in said.items()}
    dense = told.evidence[:, : ends[0]]
    evidence = np.column_stack([dense.toarray(), *together.values()])
    documents = {
        column: TextExplanation(
            words, np.zeros(len(told)), together[column], told.winner, told.runner_up, vocabulary or NumberedNames(b - a),
            texts=_texts(batches, column, len(told)), find=Finder(model.options.words, vocabulary), column=column,
        )
        for (column, words), vocabulary, a, b in zip(said.items(), model.scorer.vocabularies, ends, ends[1:])
    }  # fmt: skip
    features = [feature.name for feature in model.layout.all_features()]
    return TableExplanation(**{**vars(told), "evidence": evidence, "features": features}, documents=documents)


def _texts(batches: list[Any], column: str, n: int) -> list[str]:
    """The texts of the first n rows; nothing for one that is missing."""
    found = [read_documents(column, batch) for batch in batches]
    return [part.text(i) or "" for part in found for i in range(len(part))][:n]


def class_pair(model: Model, classes: tuple[Any, Any]) -> tuple[int, int]:
    """The places of two classes that are named."""
    known = {str(label): k for k, label in enumerate(model.scorer.outline.classes)}
    try:
        first, second = (label_text(label) for label in classes)
    except (TypeError, ValueError):
        raise InputError(f"classes must name two classes, (for, against), not {classes!r}") from None
    for label in (first, second):
        if label not in known:
            raise no_such_class(label, list(known))
    if first == second:
        raise InputError(f"classes must name two different classes, not {first!r} twice")
    return known[first], known[second]


def _values(model: Model, batches: list[Any], n: int) -> NDArray[Any]:
    """What each feature was read from, as it stood in the table; of a date the part that counts."""
    features = model.layout.features_in_table_order()
    out = np.empty((n, len(features)), dtype=object)
    for j, feature in enumerate(features):
        columns = [_column(batches, name, feature, n) for name in feature.columns]
        out[:, j] = columns[0] if len(columns) == 1 else [_together(cells) for cells in zip(*columns)]
    return out


def _column(batches: list[Any], name: str, feature: Feature, n: int) -> list[str | None]:
    """The cells of a column as they are shown; none where the column is absent."""
    held = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
    cells = [cell for array in held for cell in _cells(array, feature)]
    show = _beginning if feature.role == "text" else _shown
    return [show(cell) for cell in cells[:n]] if cells else [None] * n


def _together(cells: tuple[str | None, ...]) -> str | None:
    """The cells of columns that are joined; one that lacks a cell says nothing."""
    return None if None in cells else JOIN_SEPARATOR.join(map(str, cells))


def _cells(array: Any, feature: Feature) -> list[Any]:
    if feature.part is None:
        return list(array.to_pylist())
    names = DATE_PARTS[feature.part]
    return [names[i] if i >= 0 else None for i in date_part(array, feature.part, feature.column)]


def _shown(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def _beginning(text: Any) -> str | None:
    """As much of a text as fits on a line."""
    return None if text is None else clipped(visible(str(text)[: 4 * SHOWN_TEXT]).strip(), SHOWN_TEXT)
