"""The least and greatest values of numbers, with their rows: the range of each column that was learned.

A minimum cannot be forgotten: what the next value is would have to be known. So a few values are kept at either end,
each with its number of rows, which add and subtract exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array

N_VALUES = 4
"""Number of distinct values that are kept at either end of a column."""

MAX_COUNTED_ROWS = 1 << 10
"""The rows of a value are counted up to this number; such a value is never forgotten, and none beyond it is kept."""

CHUNK_ROWS = 1 << 12
"""Rows whose least and greatest value are found together."""

FIRST_ROWS = 1 << 10
"""Rows whose values bound the search: where the least value is in every chunk, the least of chunks are too few."""


@dataclass(frozen=True, eq=False, slots=True)
class Extremes:
    """The least distinct values of d named columns, `value[0]`, and the greatest with the opposite sign, `value[1]`.

    `value` (2×d×`N_VALUES`) ascends, ∞ where there are fewer; `rows` has the number of rows of each. All values up
    to `limit` (2×d) are among them, whatever was added and subtracted; beyond it some were never recorded.

    >>> e = Extremes.of(["t"], [np.array([37.5, 36.0, np.nan, 36.0, 375.0])])
    >>> e.ranges()
    {'t': (36.0, 375.0)}
    >>> (e - Extremes.of(["t"], [np.array([375.0, 36.0])])).ranges()
    {'t': (36.0, 37.5)}
    """

    names: tuple[str, ...]
    value: Array
    rows: NDArray[np.int64]
    limit: Array

    @classmethod
    def empty(cls, names: Iterable[str]) -> Self:
        """Return the extremes of no rows."""
        columns = tuple(names)
        shape = (2, len(columns), N_VALUES)
        return cls(columns, np.full(shape, np.inf), np.zeros(shape, dtype=np.int64), np.full(shape[:2], np.inf))

    @classmethod
    def of(cls, names: Iterable[str], columns: Sequence[Array]) -> Self:
        """Find the extremes of columns; NaN is left out."""
        return cls.empty(names).add_rows(columns)

    def add_rows(self, columns: Sequence[Array]) -> Self:
        """Return the extremes with those of further rows, given column by column in the order of the names."""
        assert len({len(column) for column in columns}) <= 1, "columns of different lengths"
        if not columns or not len(columns[0]):
            return self
        found, search_limit = self.empty(self.names), self._counted_limit
        starts = np.arange(0, len(columns[0]), CHUNK_ROWS)
        for j, column in enumerate(columns):
            for side, (reduce, sign) in enumerate(((np.fmin.reduceat, 1.0), (np.fmax.reduceat, -1.0))):
                least = sign * reduce(column, starts)
                near = _find_least(column, starts, least, sign, search_limit[side, j])
                for i, (value, rows) in enumerate(_count_least(near)):
                    found.value[side, j, i], found.rows[side, j, i] = value, rows
        return self + type(self)(self.names, found.value, found.rows, self._find_limit(found))

    @property
    def _counted_limit(self) -> Array:
        """The limit, or just below it where the value there has `MAX_COUNTED_ROWS`: more of it change nothing."""
        is_many = (self.rows == MAX_COUNTED_ROWS).any(axis=-1)
        return np.where(is_many, np.nextafter(self.limit, -np.inf), self.limit)

    def _find_limit(self, found: Self) -> Array:
        """Return up to which value the extremes found among further rows are complete."""
        last = found.value[..., -1]
        many = np.where(found.rows == MAX_COUNTED_ROWS, found.value, np.inf).min(axis=-1)
        return np.minimum(self.limit, np.minimum(last, many))

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return the least and the greatest value of each column that has any.

        Where all values of an end were forgotten, it is the limit: no value that was learned lies beyond it.
        """
        low, high = np.where(np.isfinite(self.value[..., 0]), self.value[..., 0], self.limit) * [[1.0], [-1.0]]
        return {
            name: (float(a), float(b))
            for name, a, b in zip(self.names, low.tolist(), high.tolist())
            if np.isfinite(a) and np.isfinite(b)
        }

    def __add__(self, other: Self) -> Self:
        return self._combine(other, 1)

    def __sub__(self, other: Self) -> Self:
        return self._combine(other, -1)

    def _combine(self, other: Self, sign: int) -> Self:
        """Add the rows of each value, or subtract them (sign −1); keep the values up to the lower of both limits."""
        other = other.reorder(self.names)
        value = np.concatenate([self.value, other.value], axis=-1)
        rows = np.concatenate([self.rows, sign * other.rows], axis=-1)
        order = np.argsort(value, axis=-1, kind="stable")  # of two equal values the first is of `self`
        value, rows = np.take_along_axis(value, order, axis=-1), np.take_along_axis(rows, order, axis=-1)
        is_second = value[..., 1:] == value[..., :-1]
        both = rows[..., :-1] + np.where(is_second, rows[..., 1:], 0)
        rows[..., 1:][is_second] = 0
        first = rows[..., :-1]
        np.copyto(first, np.where(first == MAX_COUNTED_ROWS, MAX_COUNTED_ROWS, both), where=first != 0)
        return self._keep_least(value, np.minimum(rows, MAX_COUNTED_ROWS), np.minimum(self.limit, other.limit))

    def _keep_least(self, value: Array, rows: NDArray[np.int64], limit: Array) -> Self:
        """Keep the least values with rows, up to the limit and the first of `MAX_COUNTED_ROWS`; lower the limit."""
        many = np.where(rows == MAX_COUNTED_ROWS, value, np.inf).min(axis=-1)
        limit = np.minimum(limit, many)
        is_kept = (rows > 0) & (value <= limit[..., None])
        value, rows = np.where(is_kept, value, np.inf), np.where(is_kept, rows, 0)
        order = np.argsort(value, axis=-1, kind="stable")
        value, rows = np.take_along_axis(value, order, axis=-1), np.take_along_axis(rows, order, axis=-1)
        has_more = np.isfinite(value[..., N_VALUES])
        limit = np.where(has_more, np.minimum(limit, value[..., N_VALUES - 1]), limit)
        return type(self)(self.names, value[..., :N_VALUES], rows[..., :N_VALUES], limit)

    def reorder(self, names: Sequence[str]) -> Self:
        """Return the extremes with the columns in the order of these names."""
        if self.names == tuple(names):
            return self
        place = {name: j for j, name in enumerate(self.names)}
        order = [place[name] for name in names]
        return type(self)(tuple(names), self.value[:, order], self.rows[:, order], self.limit[:, order])


def _find_least(column: Array, starts: NDArray[np.intp], least: Array, sign: float, limit: float) -> Array:
    """Return values of a column times `sign`, up to `limit`: at least the rows of the `N_VALUES` least distinct ones.

    `least` is the least value, times `sign`, of the chunk that begins at each of `starts`. The N-th of these, and of
    the first values, is a bound of the N-th least value, so that few chunks are searched.
    """
    known = np.append(least, sign * column[:FIRST_ROWS])
    distinct = np.unique(known[known <= limit])[:N_VALUES]
    if len(distinct) == N_VALUES:
        limit = distinct[-1]
    chunks = [column[start : start + CHUNK_ROWS] for start in starts[least <= limit].tolist()]
    near = sign * np.concatenate([*chunks, np.zeros(0)])
    return near[near <= limit]


def _count_least(values: Array) -> list[tuple[float, int]]:
    """Return the least distinct values with their rows, at most `N_VALUES`, the last being the first of many rows."""
    found: list[tuple[float, int]] = []
    while len(values) and len(found) < N_VALUES:
        least = values.min()
        is_least = values == least
        found.append((float(least), min(int(np.count_nonzero(is_least)), MAX_COUNTED_ROWS)))
        if found[-1][1] == MAX_COUNTED_ROWS:
            break
        values = values[~is_least]
    return found
