"""Combinations of the levels of joined flags and categories, as the levels of one category.

A combination is written as its levels with `&` between them, so that a model file needs no other kind of name; a `&`
or a backslash within a level is escaped by a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.model.columns import JOIN_SEPARATOR
from deciban.sources.level_encoder import LevelEncoder

MAX_KEY = 1 << 62
"""Largest number of a combination: beyond it, the combinations that occur are renumbered."""


def join_levels(levels: Sequence[str]) -> str:
    r"""Return the name of a combination of levels.

    >>> join_levels(["chest", "female"]), join_levels(["R&B", "yes"])
    ('chest & female', 'R\\&B & yes')
    """
    return JOIN_SEPARATOR.join(re.sub(r"([\\&])", r"\\\1", level) for level in levels)


def split_levels(name: str) -> list[str]:
    r"""Return the levels of a combination.

    >>> split_levels("chest & female"), split_levels(r"R\&B & yes")
    (['chest', 'female'], ['R&B', 'yes'])
    """
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in name.split(JOIN_SEPARATOR)]


def is_combination(name: str, n_columns: int) -> bool:
    """Return whether this is the name of a combination of `n_columns` levels."""
    levels = split_levels(name)
    return len(levels) == n_columns and join_levels(levels) == name


class Combinations:
    """The combinations of several columns and their codes, in order of appearance; fixed, or extended while encoding.

    Like `LevelEncoder`, but for several columns at a time; a combination in which one level is missing is missing.
    """

    def __init__(self, n_columns: int, known: Sequence[str] = (), grows: bool = False) -> None:
        self.list, self.grows = list(known), grows
        self._codes = {name: v for v, name in enumerate(self.list)}
        valid = [levels for levels in map(split_levels, self.list) if len(levels) == n_columns]
        levels = [list(dict.fromkeys(column)) for column in zip(*valid)] or [[] for _ in range(n_columns)]
        self.columns = [LevelEncoder(names, grows=True) for names in levels]

    def __len__(self) -> int:
        return len(self.list)

    def encode(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """Return a code for each row: −1 where a cell is missing, one past the last for an unknown combination."""
        codes = np.stack([names.encode(array) for names, array in zip(self.columns, arrays, strict=True)])
        out = np.full(codes.shape[1], -1, dtype=np.int64)
        complete = np.flatnonzero((codes >= 0).all(axis=0))
        if len(complete):
            first, which = _find_unique_columns(codes[:, complete])
            found = [tuple(codes[:, row].tolist()) for row in complete[first]]
            out[complete] = np.array([self._encode_one(combination) for combination in found], dtype=np.int64)[which]
        return out

    def _encode_one(self, combination: tuple[int, ...]) -> int:
        """Return the code of one combination of the columns' own codes."""
        name = join_levels([names.list[v] for names, v in zip(self.columns, combination)])
        if self.grows and name not in self._codes:
            self._codes[name] = len(self.list)
            self.list.append(name)
        return self._codes.get(name, len(self.list))


def _find_unique_columns(codes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first index of each unique column, in order of appearance, and which of these each column is."""
    key, size = codes[0], int(codes[0].max()) + 1
    for row in codes[1:]:
        levels = int(row.max()) + 1
        if size > MAX_KEY // levels:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key, size = key * levels + row, size * levels
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return first[order], rank[which.reshape(-1)]
