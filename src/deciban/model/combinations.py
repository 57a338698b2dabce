"""Combinations: what flags and categories that are joined say together, as the levels of one category.

A combination is written as its levels with `&` between them, so that a model file needs no other kind of name; a `&`
or a backslash within a level has a backslash before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.model.columns import JOIN_SEPARATOR
from deciban.sources.arrow_cells import Names

LARGEST_KEY = 1 << 62
"""Numbers of combinations stay below it: beyond, those that occur are numbered anew."""


def join_levels(levels: Sequence[str]) -> str:
    r"""One name for levels that come together.

    >>> join_levels(["chest", "female"]), join_levels(["R&B", "yes"])
    ('chest & female', 'R\\&B & yes')
    """
    return JOIN_SEPARATOR.join(re.sub(r"([\\&])", r"\\\1", level) for level in levels)


def split_levels(name: str) -> list[str]:
    r"""The levels of a combination.

    >>> split_levels("chest & female"), split_levels(r"R\&B & yes")
    (['chest', 'female'], ['R&B', 'yes'])
    """
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in name.split(JOIN_SEPARATOR)]


def is_combination(name: str, n_columns: int) -> bool:
    """Whether this is the name of a combination of so many levels."""
    levels = split_levels(name)
    return len(levels) == n_columns and join_levels(levels) == name


class Combinations:
    """The combinations of several columns and their codes, in order of appearance; fixed, or growing as they come.

    Like `Names`, but of as many columns at a time; a combination that lacks one of its levels is missing.
    """

    def __init__(self, n_columns: int, known: Sequence[str] = (), grows: bool = False) -> None:
        self.list, self.grows = list(known), grows
        self._places = {name: v for v, name in enumerate(self.list)}
        told = [levels for levels in map(split_levels, self.list) if len(levels) == n_columns]
        levels = [list(dict.fromkeys(column)) for column in zip(*told)] or [[] for _ in range(n_columns)]
        self.columns = [Names(names, grows=True) for names in levels]

    def __len__(self) -> int:
        return len(self.list)

    def encode(self, arrays: Sequence[Any]) -> NDArray[np.int64]:
        """A code for each row: −1 where a cell is missing, one past the last where the combination is not known."""
        codes = np.stack([names.encode(array) for names, array in zip(self.columns, arrays, strict=True)])
        out = np.full(codes.shape[1], -1, dtype=np.int64)
        here = np.flatnonzero((codes >= 0).all(axis=0))
        if len(here):
            first, which = _distinct(codes[:, here])
            found = [tuple(codes[:, row].tolist()) for row in here[first]]
            out[here] = np.array([self._code(combination) for combination in found], dtype=np.int64)[which]
        return out

    def _code(self, combination: tuple[int, ...]) -> int:
        """The code of one combination of the columns' own codes."""
        name = join_levels([names.list[v] for names, v in zip(self.columns, combination)])
        if self.grows and name not in self._places:
            self._places[name] = len(self.list)
            self.list.append(name)
        return self._places.get(name, len(self.list))


def _distinct(codes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each different column of codes is first, in order of appearance, and which of these each column is."""
    key, size = codes[0], int(codes[0].max()) + 1
    for row in codes[1:]:
        levels = int(row.max()) + 1
        if size > LARGEST_KEY // levels:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key, size = key * levels + row, size * levels
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return first[order], place[which.reshape(-1)]
