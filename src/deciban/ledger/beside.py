"""Statistics of some features each put side by side: a table that is stored by columns is counted by columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban.ledger.counts import Counts
from deciban.ledger.grid import Grid
from deciban.ledger.levels import Levels
from deciban.ledger.moments import Moments
from deciban.ledger.statistic import Array, Statistic


def beside(parts: Sequence[Statistic]) -> Statistic:
    """The statistic of all the features, as one pass over their matrix would have given it."""
    first: Any = parts[0]
    if len(parts) == 1:
        return parts[0]
    if isinstance(first, (Counts, Moments)):
        arrays = {name: [part.arrays()[name] for part in parts] for name in first.arrays()}
        return type(first)(
            **{n: _weight(parts, a) if n == "weight" else np.concatenate(a, axis=1) for n, a in arrays.items()}
        )
    if isinstance(first, (Levels, Grid)):
        tables = [part.arrays() for part in parts]
        made: dict[str, Any] = {"table": np.concatenate([t["table"] for t in tables], axis=1)}
        made["offset"] = np.cumsum([0, *(v for t in tables for v in np.diff(t["offset"]))], dtype=np.int64)
        if isinstance(first, Grid):
            made["cell"] = np.concatenate([t["cell"] for t in tables])
        return type(first)(**made)
    raise AssertionError(type(first))


def _weight(parts: Sequence[Statistic], weights: Sequence[Array]) -> Array:
    """One weight for all features where nothing is missing in any, else one for each."""
    if all(w.shape[1] == 1 and np.array_equal(w, weights[0]) for w in weights):
        return weights[0]
    return np.concatenate([np.broadcast_to(w, (len(w), p.n_features)) for p, w in zip(parts, weights)], axis=1)
