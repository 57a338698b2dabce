"""Rows drawn from a table model, as a table that could have been learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban.model.combinations import split_levels
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.text import Words, spelled

if TYPE_CHECKING:
    from deciban.model.model import Model

DAYS = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]")
"""Dates are drawn from one year: the model knows months, weekdays and hours, but no years."""


def sampled(model: Model, n: int, rng: np.random.Generator) -> Any:
    """n rows, the columns in the order of the table, the target last; columns that are left out are not there."""
    import pyarrow as pa

    parts, codes = model.naive.sample(n, rng)
    drawn: dict[str, Any] = {}
    for block, X, (kind, features) in zip(model.scorer.schema.blocks, parts, model.layout.blocks):
        if kind == "bags":
            texts = _written(X, block.names, model.options.words, rng)
            drawn |= {} if texts is None else {features[0].name: texts}
            continue
        for j, feature in enumerate(features):
            levels = block.levels[j] if kind == "levels" and block.levels else None
            cells: Any = X[:, j] if levels is None else _named(X[:, j], levels)
            drawn |= _apart(cells, feature.joined) if feature.joined else {feature.name: cells}
    table = {}
    for column in model.columns:
        features = model.layout.features_of(column)
        if column.role == "date":
            table[column.name] = _dates({str(f.part): drawn[f.name] for f in features}, n, rng)
        elif features and column.name in drawn:
            table[column.name] = pa.array(drawn[column.name])
    return pa.table({**table, model.target: pa.array(model.labels[codes])})


def _written(X: Any, vocabulary: Any, words: Words, rng: np.random.Generator) -> list[str] | None:
    """Texts of the words drawn; None where what was counted makes no text."""
    if words.unwritable:
        return None
    return spelled(X.tocsr(), vocabulary, words.values == "presence", rng)


def _apart(names: Sequence[str | None], columns: tuple[str, ...]) -> dict[str, list[str | None]]:
    """Combinations as the columns that they are of."""
    nothing = [None] * len(columns)
    rows = [nothing if name is None else split_levels(name) for name in names]
    return {column: [row[i] for row in rows] for i, column in enumerate(columns)}


def _named(codes: Any, levels: Sequence[str]) -> list[str | None]:
    """Level codes by name; one beyond the known levels has none."""
    return [levels[code] if 0 <= code < len(levels) else None for code in codes.tolist()]


def _dates(parts: Mapping[str, Sequence[str | None]], n: int, rng: np.random.Generator) -> Any:
    """A day with this month and this weekday, at this hour; none where one of them is not known."""
    import pyarrow as pa

    month = (DAYS.astype("datetime64[M]") - np.datetime64("2024-01")).astype(int)
    weekday = (DAYS.astype(int) + 3) % 7  # the first of January 1970 was a Thursday
    places = {part: {name: i for i, name in enumerate(DATE_PARTS[part])} for part in parts}
    out = np.full(n, np.datetime64("NaT"), dtype="datetime64[s]")
    for i in range(n):
        told = {part: names[i] for part, names in parts.items()}
        if None not in told.values():
            at = {part: places[part][str(name)] for part, name in told.items()}
            fits = (month == at.get("month", month)) & (weekday == at.get("weekday", weekday))
            out[i] = rng.choice(DAYS[fits]) + np.timedelta64(at.get("hour", 0), "h")
    return pa.array(out) if "hour" in parts else pa.array(out.astype("datetime64[D]"))
