"""Arithmetic with numbers of about 32 digits, each the sum of two doubles: `high` the nearest, `low` the remainder.

A sum of squares with an outlier of 1e8 standard deviations is 1e16 times that of the other rows: in one double none
of their digits is left. The relative error of an operation is about 2⁻¹⁰⁴ (Dekker 1971; Joldes, Muller & Popescu
2017). Numbers beyond 1e300 overflow.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array

SPLITTER = 2.0**27 + 1
"""Splits a double into two halves of 26 bits (Veltkamp)."""

SLICE_BITS, SLICES, SLICE_ROWS = 20, 6, 1 << 12
"""Products of matrices are summed exactly in slices: bits of a slice, number of slices, rows of a block. Twice the
bits plus the binary logarithm of the rows is at most 53, the bits of a double."""

SUM_CHUNK_CELLS = 1 << 14
"""Sums over rows are taken over about this many cells at a time, which stay in the cache."""


class Pair(NamedTuple):
    """A number high + low, with |low| at most half a unit in the last place of high."""

    high: Array
    low: Array

    @classmethod
    def of(cls, high: Any) -> Self:
        """Convert doubles to pairs."""
        array = np.asarray(high, dtype=np.float64)
        return cls(array, np.zeros_like(array))

    def plus(self, other: Pair) -> Pair:
        """Return the sum, accurate also where terms cancel."""
        high, error = two_sum(self.high, other.high)
        low, low_error = two_sum(self.low, other.low)
        high, low = _fast_two_sum(high, error + low)
        return Pair(*_fast_two_sum(high, low + low_error))

    def minus(self, other: Pair) -> Pair:
        """Return the difference."""
        return self.plus(other.negative())

    def negative(self) -> Pair:
        """Return the number with its sign changed."""
        return Pair(-self.high, -self.low)

    def times(self, other: Pair) -> Pair:
        """Return the product."""
        high, error = two_product(self.high, other.high)
        return Pair(*_fast_two_sum(high, error + (self.high * other.low + self.low * other.high)))

    def scale(self, factor: float | Array) -> Pair:
        """Return the product with a double."""
        high, error = two_product(self.high, np.asarray(factor, dtype=np.float64))
        low = error + self.low * factor
        return Pair(*_fast_two_sum(high, np.where(np.isfinite(low), low, 0.0)))  # error terms may overflow

    def over(self, other: Pair) -> Pair:
        """Return the quotient, and zero where the divisor is zero."""
        zero = other.high == 0
        divisor = Pair(np.where(zero, 1.0, other.high), other.low)
        first = np.where(zero, 0.0, self.high / divisor.high)
        left = self.minus(divisor.scale(first))
        return Pair(*_fast_two_sum(first, np.where(zero, 0.0, left.high / divisor.high)))

    def where(self, keep: NDArray[np.bool_], other: Pair | None = None) -> Pair:
        """Return these numbers where `keep` is true, elsewhere `other`, or zero."""
        high, low = (0.0, 0.0) if other is None else other
        return Pair(np.where(keep, self.high, high), np.where(keep, self.low, low))

    def take(self, rows: int | slice) -> Pair:
        """Return these rows of the first axis."""
        return Pair(self.high[rows], self.low[rows])

    def sum_rows(self) -> Pair:
        """Return the sum over the first axis, by repeated halving; 0 without rows."""
        rows = len(self.high)
        step = max(2, SUM_CHUNK_CELLS // max(1, self.high[:1].size))
        if rows > step:
            parts = [self.take(slice(i, i + step)).sum_rows() for i in range(0, rows, step)]
            return Pair(*map(np.stack, zip(*parts))).sum_rows()
        total = self
        while rows > 1:
            half = rows // 2
            paired = total.take(slice(half)).plus(total.take(slice(half, 2 * half)))
            if rows % 2:
                paired = Pair(*map(np.concatenate, zip(paired, total.take(slice(-1, None)))))
            total, rows = paired, len(paired.high)
        return total.take(0) if rows else Pair.of(np.zeros(self.high.shape[1:]))


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b, rounded, and the exact rounding error (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a · b, rounded, and the rounding error, exact but for overflow and underflow (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def difference(a: Array, b: Array) -> Pair:
    """Return a − b of doubles, exactly."""
    return Pair(*two_sum(a, -b))


def matrix_product(a: Pair, b: Pair) -> Pair:
    """Return aᵀb of matrices with the same rows, as accurate as if summed in pairs of doubles.

    The entries are cut into slices of 20 bits, the same in a whole column; a product of two slices has no rounding,
    so ordinary products of matrices can be used (Ozaki et al. 2012). The error is about 2⁻¹¹⁰ of the largest entries.
    """
    total = Pair.of(np.zeros((a.high.shape[1], b.high.shape[1])))
    for start in range(0, len(a.high), SLICE_ROWS):
        rows = slice(start, start + SLICE_ROWS)
        left, right = _cut_slices(a.take(rows)), _cut_slices(b.take(rows))
        for order in reversed(range(SLICES)):
            for i in range(order + 1):
                if left[i].any() and right[order - i].any():
                    total = total.plus(Pair.of(left[i].T @ right[order - i]))
    return total


def _cut_slices(matrix: Pair) -> list[Array]:
    """Return matrices that add up to the matrix, nearly; entries of a column are multiples of one power of two."""
    largest = np.abs(matrix.high).max(axis=0, initial=0.0)
    exponent = np.frexp(largest)[1]
    high, low = matrix
    found = []
    for i in range(1, SLICES + 1):
        anchor = np.ldexp(1.5, exponent - SLICE_BITS * i + 52)
        cut = (high + anchor) - anchor
        found.append(cut)
        high, low = _fast_two_sum(high - cut, low)
    return found


def _split(a: Array) -> tuple[Array, Array]:
    """Return two numbers of 26 bits each whose sum is a."""
    wide = a * SPLITTER
    high = wide - (wide - a)
    return high, a - high


def _fast_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return `two_sum` of a and b where |a| ≥ |b|, in fewer operations."""
    total = a + b
    return total, b - (total - a)
