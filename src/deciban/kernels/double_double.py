"""Arithmetic with pairs of doubles, as in `ledger/double_double.py`, for use within other kernels."""

from deciban.kernels.execution import kernel
from deciban.ledger.double_double import SPLITTER


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b, rounded, and the rounding error."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return a · b, rounded, and the rounding error."""
    product = a * b
    wide = a * SPLITTER
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = b * SPLITTER
    b_high = wide - (wide - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the sum of two pairs."""
    high, error = two_sum(a, b)
    low, low_error = two_sum(a_low, b_low)
    error += low
    middle = high + error
    error = (error - (middle - high)) + low_error
    total = middle + error
    return total, error - (total - middle)


@kernel
def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the product of two pairs."""
    high, error = two_product(a, b)
    error += a * b_low + a_low * b
    total = high + error
    return total, error - (total - high)


@kernel
def divide(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """Return the quotient of two pairs."""
    first = a / b
    p, p_low = multiply(b, b_low, first, 0.0)
    r, r_low = add(a, a_low, -p, -p_low)
    second = r / b
    p, p_low = multiply(b, b_low, second, 0.0)
    r, r_low = add(r, r_low, -p, -p_low)
    high = first + second
    low = second - (high - first)
    return add(high, low, r / b, 0.0)
