"""Many stretches of bytes copied or compared at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

LONG = 4096
"""Stretches beyond this are dealt with one by one."""

AT_ONCE = 1 << 20
"""Bytes whose places are written out together."""


def copy(out: Bytes, to: Places, source: Bytes, start: Places, length: Places) -> None:
    """out[to[i] : to[i] + length[i]] = source[start[i] : start[i] + length[i]] for every i."""
    for i in np.flatnonzero(length > LONG).tolist():
        out[to[i] : to[i] + length[i]] = source[start[i] : start[i] + length[i]]
    for some, first, within in _portions(length):
        n = length[some]
        out[np.repeat(to[some] - first, n) + within] = source[np.repeat(start[some] - first, n) + within]


def equal(a: Bytes, start_a: Places, b: Bytes, start_b: Places, length: Places) -> NDArray[np.bool_]:
    """Whether a[start_a[i] : start_a[i] + length[i]] are the bytes at start_b[i] of b, for every i."""
    same = np.ones(len(length), dtype=np.bool_)
    for i in np.flatnonzero(length > LONG).tolist():
        x, y, n = start_a[i], start_b[i], length[i]
        same[i] = np.array_equal(a[x : x + n], b[y : y + n])
    for some, first, within in _portions(length):
        n = length[some]
        differ = a[np.repeat(start_a[some] - first, n) + within] != b[np.repeat(start_b[some] - first, n) + within]
        if differ.any():
            same[np.repeat(some, n)[differ]] = False
    return same


def _portions(length: Places) -> Iterator[tuple[NDArray[np.intp], Places, Places]]:
    """Stretches that are not long, some at a time: which, where each begins among them, and all places in a row."""
    short = np.flatnonzero((length > 0) & (length <= LONG))
    end = np.cumsum(length[short])
    total = int(end[-1]) if len(end) else 0
    cuts = [0, *np.searchsorted(end, np.arange(AT_ONCE, total, AT_ONCE)).tolist(), len(short)]
    for a, b in pairwise(cuts):
        if a < b:
            first = end[a:b] - length[short[a:b]]
            first -= first[0].copy()
            yield short[a:b], first, np.arange(length[short[a:b]].sum())
