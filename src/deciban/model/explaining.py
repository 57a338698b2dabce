"""Explanations of table rows: evidence in the order of the table, beside the values it comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.engines.arrow.cells import DATE_PARTS, date_part, label_text
from deciban.engines.arrow.source import Source
from deciban.errors import InputError
from deciban.model.columns import Feature
from deciban.scores import Explanation

if TYPE_CHECKING:
    from deciban.model.model import Model


def explained(
    model: Model, source: Source, classes: tuple[Any, Any] | None, rows: int | None, allow_missing: bool
) -> Explanation:
    """The explanation of all rows, or the first ones."""
    pair = None if classes is None else _pair(model, classes)
    kept: list[tuple[list[Any], list[Any]]] = []
    wanted = rows
    for batches, parts in model.blocks(source, allow_missing):
        n = len(parts[0]) if parts else sum(batch.num_rows for batch in batches)
        take = n if wanted is None else min(n, wanted)
        kept.append((batches, [part[:take] for part in parts]))
        wanted = None if wanted is None else wanted - take
        if wanted == 0:
            break
    if not kept:
        raise InputError(f"{source.name} has no rows to explain")
    parts = [np.concatenate(block) for block in zip(*(parts for _, parts in kept))]
    told = model.belief.explain(parts, pair, model.labels, engines.thread_count(None))
    order = model.layout.order()
    values = _values(model, [batch for batches, _ in kept for batch in batches], len(told))
    return replace(told, evidence=told.evidence[:, order], features=[told.features[i] for i in order], values=values)


def _pair(model: Model, classes: tuple[Any, Any]) -> tuple[int, int]:
    known = {str(label): k for k, label in enumerate(model.belief.outline.classes)}
    try:
        first, second = (label_text(label) for label in classes)
    except (TypeError, ValueError):
        raise InputError(f"classes must name two classes, (for, against), not {classes!r}") from None
    for label in (first, second):
        if label not in known:
            raise InputError(f"{label!r} is none of the classes {list(known)}")
    if first == second:
        raise InputError(f"classes must name two different classes, not {first!r} twice")
    return known[first], known[second]


def _values(model: Model, batches: list[Any], n: int) -> NDArray[Any]:
    """What each feature was read from, as it stood in the table; of a date the part that counts."""
    features = [feature for column in model.columns for feature in model.layout.features_of(column)]
    out = np.empty((n, len(features)), dtype=object)
    for j, feature in enumerate(features):
        held = [batch.column(feature.column) for batch in batches if feature.column in batch.schema.names]
        cells = [cell for array in held for cell in _cells(array, feature)]
        out[:, j] = [_shown(cell) for cell in cells[:n]] if cells else None
    return out


def _cells(array: Any, feature: Feature) -> list[Any]:
    if feature.part is None:
        return list(array.to_pylist())
    names = DATE_PARTS[feature.part]
    return [names[i] if i >= 0 else None for i in date_part(array, feature.part, feature.column)]


def _shown(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
