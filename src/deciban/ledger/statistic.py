"""The base class of all statistics and the operations that they share: grouping rows, subtracting, comparing."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.errors import ForgetError

ROUNDING_FRACTION = 1e-9
"""A sum may fall below zero by this fraction of itself through rounding; a larger deficit means that rows which were
never learned are subtracted."""

LEFTOVER_FRACTION = 1e-12
"""A remainder of a fractional weight below this fraction of the weight is rounding and is set to zero."""

EFFECTIVE_BITS = 40
"""Counts in effective rows are rounded to this many bits: the unit of survey weights breaks no tie, moves no cut."""

MAX_SQUARABLE = 1e150
"""Numbers up to this magnitude have squares, and sums of squares, that do not overflow a double."""

Locate = Callable[[int, int | None], tuple[int, int | None]]
"""A function that returns the class and the feature of an entry, given its indices on the first and second axis."""


class Statistic(ABC):
    """Sums per class and feature that add: `a + b` is the statistic of one pass over the data of both.

    A statistic is a frozen dataclass whose fields are arrays. The defaults below hold for a statistic without levels.
    """

    __slots__ = ()

    class_array: ClassVar[str | None] = None
    """The name of the only array whose first axis is the class; None where that of every array is."""

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return the sums of no rows."""
        counted: Any = cls
        return counted.of(np.zeros((0, n_features), dtype=np.int64), np.zeros(0, dtype=np.int32), None, n_classes)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of classes, K, and of features, d."""

    @property
    def n_classes(self) -> int:
        """K."""
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """d."""
        return self.shape[1]

    @abstractmethod
    def __add__(self, other: Self, /) -> Self: ...
    @abstractmethod
    def __sub__(self, other: Self, /) -> Self: ...

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """Return the sums with feature order[j] at place j; a weight that all features share stays."""
        d = self.n_features
        return type(self)(**{name: a[:, order] if a.shape[1] == d else a for name, a in self.arrays().items()})

    def __eq__(self, other: object) -> bool:
        """Return whether both hold exactly equal arrays, whichever way a weight is stored."""
        if type(other) is not type(self) or self.shape != other.shape:
            return False
        mine, theirs = self.arrays(), other.arrays()
        return all(_are_equal(mine[name], theirs[name]) for name in mine)

    def map_classes(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """Return the sums with class k at place index[k] among n_classes."""
        return self._change_classes(lambda array: place_classes(array, index, n_classes))

    def take_classes(self, index: NDArray[np.intp]) -> Self:
        """Return the sums of these classes alone, in this order, trimmed."""
        return self._change_classes(lambda array: array[index]).trim()

    def __mul__(self, factor: float | Array) -> Self:
        return self._change_classes(lambda array: scale_classes(array, factor)).trim()

    def _change_classes(self, change: Callable[[Array], Array]) -> Self:
        """Return the statistic with each array changed whose first axis is the class."""
        names = self.arrays() if self.class_array is None else (self.class_array,)
        return replace(self, **{name: change(getattr(self, name)) for name in names})  # type: ignore[type-var]

    def trim(self) -> Self:
        """Return the sums without levels, cells or combinations in which no class has any weight."""
        return self

    def map_levels(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """Return the sums with level v of feature j at place places[j][v] among sizes[j]; None: unchanged."""
        return self

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return all arrays of the statistic by name."""
        return {name: getattr(self, name) for name in _field_names(type(self))}


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields, in their order."""
    return tuple(field.name for field in fields(kind))


def rows_by_class(codes: Codes) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield each class that occurs and the numbers of its rows, in ascending order."""
    order = np.argsort(codes, kind="stable")
    classes, starts = np.unique(codes[order], return_index=True)
    for k, rows in zip(classes, np.split(order, starts[1:])):
        yield int(k), rows


def sum_by_class(codes: Codes, columns: NDArray[Any], weight: Array | None, n_classes: int, n_columns: int) -> Array:
    """Return the sums of the weights of entries by class and column, K×m; without weights each entry weighs one."""
    at = codes.astype(np.int64) * n_columns + columns
    sums = np.bincount(at, weights=weight, minlength=n_classes * n_columns).astype(np.float64, copy=False)
    return sums.reshape(n_classes, n_columns)


class NotLearnedError(ForgetError):
    """More would be subtracted than was learned; the ledger reports it with the names of class and feature."""

    def __init__(self, what: str, k: int, j: int | None, present: float, removed: float) -> None:
        self.what, self.k, self.j, self.present, self.removed = what, k, j, present, removed
        super().__init__(self.format_message(str(k), None if j is None else str(j)))

    def format_message(self, class_name: str, feature: str | None, noun: str = "feature") -> str:
        """Return the error message with the names of class and feature."""
        where = f"class {class_name}" + ("" if feature is None else f", {noun} {feature}")
        return (
            f"cannot forget what was never learned: the {self.what} of {where} is {self.present:g}, and "
            f"{self.removed:g} would be taken away. Nothing was changed. Hint: forget only rows that were learned, "
            f"with the weight they were learned with (a decayed row has a decayed weight)."
        )


def subtract_checked(before: Array, removed: Array, what: str, locate: Locate = lambda k, j: (k, j)) -> Array:
    """Return `before − removed`, exact for whole numbers; refuse a result below zero by more than rounding.

    The first axis is the class, the second, if there is one, the feature; else `locate` finds them for the error.
    """
    left = before - removed
    try:
        return np.where(is_rounding(left, before, removed, what), 0.0, left)
    except NotLearnedError as lack:
        raise NotLearnedError(what, *locate(lack.k, lack.j), lack.present, lack.removed) from None


def is_rounding(left: Array, before: Array, removed: Array, what: str) -> NDArray[np.bool_]:
    """Return whether each remainder is no more than rounding; refuse where more is removed than was present."""
    lacking = left < -ROUNDING_FRACTION * np.abs(before)
    if lacking.any():
        where = tuple(int(i) for i in np.argwhere(lacking)[0])
        amount = np.broadcast_to(removed, before.shape)[where]
        j = where[1] if before.ndim > 1 and before.shape[1] > 1 else None
        raise NotLearnedError(what, where[0], j, float(before[where]), float(amount))
    return (left < 0) | (left <= LEFTOVER_FRACTION * before) & (left != np.rint(left))


def align_by_key(
    mine: NDArray[np.int64], values: Array, theirs: NDArray[np.int64], others: Array
) -> tuple[NDArray[np.int64], Array, Array]:
    """Return the union of ascending keys, and both arrays for it: keys on the last axis, 0 where a key is lacking.

    `np.union1d` gives the same keys, but took 6.6 s of the 8.3 s that merging a million words needed: it hashes,
    while a stable sort of two ascending arrays only merges them.
    """
    both = np.concatenate([mine, theirs])
    both.sort(kind="stable")
    keys = both[np.diff(both, prepend=-1) != 0]  # no key is negative
    a, b = np.zeros((2, *values.shape[:-1], len(keys)))
    a[..., np.searchsorted(keys, mine)] = values
    b[..., np.searchsorted(keys, theirs)] = others
    return keys, a, b


def compute_offsets(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return where consecutive ranges of these whole sizes begin, and the last ends: 0, then cumulative sums."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def divide(numerator: Array, denominator: Array, otherwise: Array | float = 0.0) -> Array:
    """Return numerator / denominator, and `otherwise` where the denominator is zero."""
    if denominator.all():
        return np.asarray(numerator / denominator)
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), otherwise, dtype=np.float64)
    return np.divide(numerator, denominator, out=out, where=denominator != 0)


def scale_classes(array: Array, factor: float | Array) -> Array:
    """Return an array times a factor, or times one for each class, its first axis; those are effective rows."""
    if isinstance(factor, np.ndarray):
        return round_effective(array * factor.reshape(-1, *[1] * (array.ndim - 1)))
    return array * factor


def round_effective(rows: Array) -> Array:
    """Return counts in effective rows to `EFFECTIVE_BITS` bits."""
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.rint(np.ldexp(mantissa, EFFECTIVE_BITS)), exponent - EFFECTIVE_BITS)


def place_classes(rows: Array, index: NDArray[np.intp], n_classes: int) -> Array:
    """Return an array of n_classes rows with row k at place index[k], and zeros in the rows of other classes."""
    out = np.zeros((n_classes, *rows.shape[1:]))
    out[index] = rows
    return out


def _are_equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether the larger array equals the other one, broadcast to its shape."""
    try:
        x, y = np.broadcast_arrays(a, b)
    except ValueError:
        return False
    return x.size == max(a.size, b.size) and bool((x == y).all())
