"""Rows drawn from a table model, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from deciban.model.model import Model


def sampled(model: Model, n: int, rng: np.random.Generator) -> Any:
    """n rows, the columns in the order of the table, the target last."""
    import pyarrow as pa

    parts, codes = model.belief.sample(n, rng)
    columns: dict[str, Any] = {}
    for block, X, (kind, features) in zip(model.belief.schema.blocks, parts, model.layout.blocks.items()):
        for j, feature in enumerate(features):
            levels = block.levels[j] if kind == "levels" and block.levels else None
            columns[feature.name] = X[:, j] if levels is None else _named(X[:, j], levels)
    order = [feature.name for column in model.columns for feature in model.layout.features_of(column)]
    return pa.table({**{name: columns[name] for name in order}, model.target: pa.array(model.labels[codes])})


def _named(codes: Any, levels: Any) -> Any:
    """Level codes by name; one beyond the known levels has none."""
    import pyarrow as pa

    return pa.array([levels[code] if 0 <= code < len(levels) else None for code in codes.tolist()], pa.string())
