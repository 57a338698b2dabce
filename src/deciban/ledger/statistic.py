"""The contract every statistic obeys, and the operations they share: grouping rows, taking away, comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ForgetError
from deciban.ledger.double_double import Pair

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

ROUNDING = 1e-9
"""A sum may fall this fraction of itself below zero by rounding; further is taking what was never learned."""

LEFTOVER_FRACTION = 1e-12
"""What is left of a fractional weight below this fraction of it is rounding, and counts as nothing."""

MAX_SQUARABLE = 1e150
"""Numbers up to here have squares, and sums of squares, that a double can hold."""


class Statistic(Protocol):
    """Sums per class and feature that add. `a + b` is what one pass over both data would have given."""

    @property
    def n_classes(self) -> int:
        """K."""
        ...

    @property
    def n_features(self) -> int:
        """d."""
        ...

    def __add__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __mul__(self, factor: float, /) -> Self: ...
    def spread(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """The same sums with class k at place index[k] among n_classes."""
        ...

    def take(self, index: NDArray[np.intp]) -> Self:
        """The sums of these classes alone, in this order."""
        ...

    def reorder(self, order: NDArray[np.intp]) -> Self:
        """The same sums with feature order[j] at place j."""
        ...

    def relevel(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """The same sums with level v of feature j at place places[j][v] among sizes[j]; None: unchanged."""
        ...

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Everything remembered, by name."""
        ...


def rows_by_class(codes: Codes) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Each class that occurs and the numbers of its rows, in their order."""
    order = np.argsort(codes, kind="stable")
    classes, starts = np.unique(codes[order], return_index=True)
    for k, rows in zip(classes, np.split(order, starts[1:])):
        yield int(k), rows


class NotLearnedError(ForgetError):
    """More would be taken away than there is; the ledger words it with the names of class and feature."""

    def __init__(self, what: str, k: int, j: int | None, had: float, asked: float) -> None:
        self.what, self.k, self.j, self.had, self.asked = what, k, j, had, asked
        super().__init__(self.worded(str(k), None if j is None else str(j)))

    def worded(self, class_name: str, feature: str | None, noun: str = "feature") -> str:
        """The refusal, for people."""
        where = f"class {class_name}" + ("" if feature is None else f", {noun} {feature}")
        return (
            f"cannot forget what was never learned: the {self.what} of {where} is {self.had:g}, and {self.asked:g} "
            f"would be taken away. Nothing was changed. Hint: forget only rows that were learned, with the weight "
            f"they were learned with (a decayed row has a decayed weight)."
        )


def subtract_checked(before: Array, removed: Array, what: str) -> Array:
    """`before − removed`, exact for whole numbers; refused where it falls below zero by more than rounding.

    The first axis is the class, the second, if there is one, the feature.
    """
    left = before - removed
    return np.where(_is_nothing(left, before, removed, what), 0.0, left)


def subtract_pairs(before: Pair, removed: Pair, what: str) -> Pair:
    """`subtract_checked` of numbers in two parts."""
    left = before.minus(removed)
    whole, _ = np.broadcast_arrays(before.high, left.high)
    return left.where(~_is_nothing(left.high, whole, removed.high, what))


def _is_nothing(left: Array, before: Array, removed: Array, what: str) -> NDArray[np.bool_]:
    """Whether what is left is no more than rounding; refused where more was removed than there was."""
    lacking = left < -ROUNDING * np.abs(before)
    if lacking.any():
        where = tuple(int(i) for i in np.argwhere(lacking)[0])
        asked = np.broadcast_to(removed, before.shape)[where]
        j = where[1] if before.ndim > 1 and before.shape[1] > 1 else None
        raise NotLearnedError(what, where[0], j, float(before[where]), float(asked))
    return (left < 0) | (left <= LEFTOVER_FRACTION * before) & (left != np.rint(left))


def nudge(mean: Array, rest: Array, step: Array) -> tuple[Array, Array]:
    """mean + rest + step as a pair again: the nearest double, and what it cannot hold (Knuth's two-sum).

    At mean 1e8 a double is good to 1e-8; merging by such means would spoil a variance of 1 in its ninth digit.
    """
    moved = mean + step
    back = moved - mean
    lost = (mean - (moved - back)) + (step - back) + rest
    whole = moved + lost
    return whole, lost - (whole - moved)


class Centred(Protocol):
    """Sums about a mean. Weight and mean are pairs of doubles."""

    @property
    def weight(self) -> Array:
        """n, the nearest double."""
        ...

    @property
    def weight_rest(self) -> Array:
        """The low-order part of `weight`."""
        ...

    @property
    def mean(self) -> Array:
        """The nearest double to the mean."""
        ...

    @property
    def rest(self) -> Array:
        """The low-order part of `mean`."""
        ...


class Merged(NamedTuple):
    """Weight and mean after a merge or a subtraction, and the factors of the squares between the two parts.

    Entry (i, j) of the scatter between the parts is gap_i · weighted_gap_j.
    """

    weight: Pair
    mean: Pair
    gap: Pair
    weighted_gap: Pair


def merge_means(a: Centred, b: Centred) -> Merged:
    """Weight and mean of both (Chan, Golub & LeVeque): mean = mean_a + δ n_b/n, and δ and δ n_a n_b/n.

    What has no weight has no mean, so it leaves no gap.
    """
    first, last = a.weight == 0, b.weight == 0
    n_a, n_b = Pair(a.weight, a.weight_rest), Pair(b.weight, b.weight_rest)
    mean_a, mean_b = Pair(a.mean, a.rest), Pair(b.mean, b.rest)
    n = n_a.plus(n_b)
    share = n_b.over(n)
    gap = mean_b.minus(mean_a).where(~(first | last))
    mean = mean_a.plus(gap.times(share)).where(~first, mean_b)
    return Merged(n, mean, gap, gap.times(n_a.times(share)))


def subtract_means(whole: Centred, part: Centred) -> Merged:
    """Weight and mean of what gives `whole` when merged with `part`: mean = mean_w + (mean_w − mean_p) n_p/n."""
    before, removed = Pair(whole.weight, whole.weight_rest), Pair(part.weight, part.weight_rest)
    n = subtract_pairs(before, removed, "weight")
    lever = removed.over(n)
    mean_whole = Pair(whole.mean, whole.rest)
    short = mean_whole.minus(Pair(part.mean, part.rest)).where((n.high != 0) & (removed.high != 0))
    step = short.times(lever)
    gap = short.plus(step)
    mean = mean_whole.plus(step).where(n.high != 0)
    return Merged(n, mean, gap, gap.times(removed.times(n).over(before)))


def divide(numerator: Array, denominator: Array, otherwise: Array | float = 0.0) -> Array:
    """numerator / denominator, and `otherwise` where the denominator is zero."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    out = np.broadcast_to(np.asarray(otherwise, dtype=np.float64), shape).copy()
    return np.divide(numerator, denominator, out=out, where=np.broadcast_to(denominator != 0, shape))


def same(a: Statistic, b: Statistic) -> bool:
    """Whether two statistics of a kind remember exactly the same, whichever way a weight is stored."""
    if (a.n_classes, a.n_features) != (b.n_classes, b.n_features):
        return False
    mine, theirs = a.arrays(), b.arrays()
    return all(_equal(mine[name], theirs[name]) for name in mine)


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    try:
        x, y = np.broadcast_arrays(a, b)
    except ValueError:
        return False
    return x.size == max(a.size, b.size) and bool((x == y).all())
