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
        tables = [part.arrays() for part in parts]
        weights = [name for name in tables[0] if name in ("weight", "weight_rest")]
        shared = all(t[n].shape[1] == 1 and np.array_equal(t[n], tables[0][n]) for t in tables for n in weights)
        made = {
            name: table
            if shared and name in weights
            else np.concatenate([_spread(p, t[name]) for p, t in zip(parts, tables)], axis=1)
            for name, table in tables[0].items()
        }
        return type(first)(**made)
    if isinstance(first, (Levels, Grid)):
        tables = [part.arrays() for part in parts]
        made = {"table": np.concatenate([t["table"] for t in tables], axis=1)}
        made["offset"] = np.cumsum([0, *(v for t in tables for v in np.diff(t["offset"]))], dtype=np.int64)
        if isinstance(first, Grid):
            made["cell"] = np.concatenate([t["cell"] for t in tables])
        return type(first)(**made)
    raise AssertionError(type(first))


def _spread(part: Statistic, array: Array) -> Array:
    """The array with a column for each feature, where one column holds for all of them."""
    return np.broadcast_to(array, (len(array), part.n_features))
