"""Which columns a penalty of L1 leaves anything to: only those are looked at, until no other asks to be.

A weight stays at zero while its slope is no steeper than l1. Of a hundred thousand words a few thousand remain, and
the search is for theirs alone; then all slopes are looked at once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.linear.design import Part, Shared

MANY = 1000
"""Below so many columns all are looked at."""

ROUNDS = 20
"""Times that all slopes are looked at, at most."""

Columns = NDArray[np.intp]


def pays(parts: Sequence[Part]) -> bool:
    """Whether some part with a penalty of L1 is wide."""
    return any(not isinstance(part, Shared) and part.l1 > 0 and part.X.shape[1] >= MANY for part in parts)


def asking(part: Part, t: Array, slope: Array, tol: float) -> NDArray[np.bool_]:
    """The columns that have weights, or whose slope is steeper than what holds them back."""
    if isinstance(part, Shared) or not part.l1 or part.X.shape[1] < MANY:
        return np.ones(t.shape[-1], dtype=bool)
    return np.asarray(((t != 0) | (np.abs(slope) > part.l1 * (1.0 + tol))).any(axis=0))


def narrowed(part: Part, columns: Columns) -> Part:
    """The part with these columns alone."""
    if isinstance(part, Shared):
        return part
    scale = None if part.scale is None else np.ascontiguousarray(part.scale[..., columns])
    return replace(part, X=part.X[:, columns], scale=scale)


def widened(part: Part, columns: Columns, t: Array) -> Array:
    """Weights of these columns among those of all, which are zero."""
    if isinstance(part, Shared):
        return t
    whole = np.zeros((len(t), part.X.shape[1]))
    whole[:, columns] = t
    return whole
