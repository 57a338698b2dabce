"""Boundaries as equations: `1.32·petal length + 2.88·petal width = 12.1`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deciban.plots.boundary_geometry import Gap

MAX_NAME_CHARACTERS = 18
"""The longest name in an equation; x and y replace longer ones."""

MAX_SQUARED_NAME_CHARACTERS = 3
"""The longest name that can be squared."""

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def without_unit(name: str) -> str:
    """Remove a unit in brackets from the end of a name."""
    bare = name.rstrip()
    inner = re.split(r"[)\]]", bare[:-1])[-1] if bare.endswith((")", "]")) else ""
    opening = re.search(r"[(\[]", inner)
    return bare[: len(bare) - 1 - len(inner) + opening.start()].rstrip() or name if opening else name


def equation_names(names: Sequence[str], straight: bool) -> tuple[list[str], bool]:
    """Return the names of the columns in an equation, and whether they replace the columns' own names."""
    short = [without_unit(name) for name in names]
    if max(map(len, short)) <= (MAX_NAME_CHARACTERS if straight else MAX_SQUARED_NAME_CHARACTERS):
        return short, False
    return ["x", "y"][: len(short)], True


def equation(gap: Gap, called: Sequence[str]) -> str:
    """Format the line or conic on which two classes are equally probable, with three digits for each coefficient.

    >>> import numpy as np
    >>> equation(Gap(np.zeros((2, 2)), np.array([-1.0, 2.5]), 4.0), ["a", "b"])
    'a − 2.5·b = 4'
    >>> equation(Gap(np.array([[1.0, 0.5], [0.5, 0]]), np.array([0.0, -3.0]), 0.25), ["x", "y"])
    'x² + xy − 3·y + 0.25 = 0'
    """
    x, y = called
    line = [(gap.w[0], x), (gap.w[1], y)]
    if not gap.A.any():
        sign = _sign(line)
        return f"{_sum(line, sign)} = {number(-sign * gap.b)}"
    product = f"{x}{y}" if len(x) == len(y) == 1 else f"{x}·{y}"
    squares = [(gap.A[0, 0], f"{x}²"), (gap.A[0, 1] + gap.A[1, 0], product), (gap.A[1, 1], f"{y}²")]
    return f"{_sum([*squares, *line, (gap.b, '')], _sign(squares))} = 0"


def _sign(terms: Sequence[tuple[float, str]]) -> float:
    """Return the sign that makes the first coefficient positive."""
    return -1.0 if next((c for c, _ in terms if c), 1.0) < 0 else 1.0


def _sum(terms: Sequence[tuple[float, str]], sign: float) -> str:
    shown = [("−" if sign * c < 0 else "+", _term(abs(float(c)), of)) for c, of in terms if c]
    if not shown:
        return "0"
    (_, first), *rest = shown
    return first + "".join(f" {s} {term}" for s, term in rest)


def wrap_equation(text: str, most: int) -> str:
    """Break an equation before signs, so that no line has more than `most` characters if possible.

    >>> print(wrap_equation("4·x² − 20·xy + 26·y² = 0", 14))
    4·x² − 20·xy
    + 26·y² = 0
    """
    lines = [""]
    for part in re.split(r" (?=[+−] )", text):
        fits = len(lines[-1]) + 1 + len(part) <= most
        lines = [*lines[:-1], f"{lines[-1]} {part}".strip()] if fits or not lines[-1] else [*lines, part]
    return "\n".join(lines)


def _term(size: float, of: str) -> str:
    if not of:
        return number(size)
    return of if number(size) == "1" else f"{number(size)}·{of}"


def number(value: float) -> str:
    """Format with three significant digits, a true minus sign, and powers of ten.

    >>> number(-0.03456), number(1234.5), number(6.02e23)
    ('−0.0346', '1230', '6.02×10²³')
    """
    rounded = float(f"{value:.3g}")
    if rounded and not 1e-4 <= abs(rounded) < 1e6:
        digits, power = f"{rounded:.2e}".split("e")
        text = f"{float(digits):g}×10{str(int(power)).translate(SUPERSCRIPT)}"
    else:
        text = f"{rounded + 0.0:.10g}"
    return text.replace("-", "−")
