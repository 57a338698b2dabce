"""How numbers and small tables are written for people, wherever they are printed or drawn."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Container, Sequence

ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
"""Control characters whose escapes everybody knows."""


def spaced(n: float, form: str = ".0f", gap: str = " ") -> str:
    """A number with its thousands apart; `form` as `format` takes it.

    >>> spaced(1234567), spaced(21300.0, ".6g"), spaced(12)
    ('1 234 567', '21 300', '12')
    """
    return f"{n:,{form}}".replace(",", gap)


def percent(share: float, digits: int = 1) -> str:
    """A share of so many digits after the point; a dash where there is none.

    >>> percent(0.5), percent(2 / 3, 2), percent(math.nan)
    ('50.0 %', '66.67 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def short_percent(share: float, digits: int = 4) -> str:
    """A share of so many digits in all, and of no more than tell it.

    >>> short_percent(0.5), short_percent(90 / 585, 3), short_percent(1e-7)
    ('50 %', '15.4 %', '0.00001 %')
    """
    value = 100 * share
    if not 0 < value < 1e-3:
        return f"{value:.{digits}g} %"
    places = min(digits - 1 - math.floor(math.log10(value)), 20)
    return f"{value:.{places}f}".rstrip("0").rstrip(".") + " %"


def percents(ends: tuple[float, float]) -> str:
    """From one share to another, in percent.

    >>> percents((0.5, 0.75))
    '50.00 to 75.00'
    """
    return f"{100 * ends[0]:.2f} to {100 * ends[1]:.2f}"


def number(value: float, digits: int = 4) -> str:
    """So many digits after the point, with a true minus sign, and nothing below zero that is shown as zero.

    >>> number(0.25), number(-0.25, 2), number(-0.001, 2), number(math.inf), number(math.nan)
    ('0.2500', '−0.25', '0.00', '∞', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:z.{digits}f}".replace("-", "−").replace("inf", "∞")


def signed(value: float, digits: int = 2) -> str:
    """The same with a sign before it, whether above zero or below.

    >>> signed(3.5), signed(-10.0, 1), signed(-math.inf), signed(math.nan)
    ('+3.50', '−10.0', '−∞', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    return f"{value:+z.{digits}f}".replace("-", "−").replace("inf", "∞")


def give_or_take(value: float, error: float, digits: int = 4) -> str:
    """A figure and its standard error, where it has one.

    >>> give_or_take(0.25, 0.01), give_or_take(math.inf, math.nan)
    ('0.2500 ± 0.0100', '∞')
    """
    return number(value, digits) + ("" if math.isnan(error) else f" ± {error:.{digits}f}")


def one_line(text: str) -> str:
    """Control characters, which could break a screen or play tricks with a terminal, as a space.

    >>> one_line("two\\nlines")
    'two lines'
    """
    return "".join(c if c.isprintable() else " " for c in text)


def escape_controls(text: str, keep: str = "") -> str:
    r"""Replace characters that a terminal obeys or hides by the escapes of JSON; `keep` names those that stay.

    These are control characters, marks that reorder text (U+202E) or have no width (U+200B), and whatever else is
    not printable; spaces of any width stay.

    >>> escape_controls("a\x1b[2J\u202eb\tc"), escape_controls("à la carte")
    ('a\\u001b[2J\\u202eb\\tc', 'à la carte')
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else _escape_of(c) for c in text
    )


def _escape_of(char: str) -> str:
    """One character as JSON escapes it: by a letter, or by its code in UTF-16."""
    code = char.encode("utf-16-be", "surrogatepass").hex()
    return ESCAPES.get(char) or "".join(f"\\u{code[i : i + 4]}" for i in range(0, len(code), 4))


def aligned(table: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """Lines of a table whose columns stand beneath each other: on the left those named, all others on the right.

    >>> aligned([["ham", "3"], ["spam", "12"]])
    ['ham    3', 'spam  12']
    """
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = [
        [cell.ljust(width) if j in left else cell.rjust(width) for j, (cell, width) in enumerate(zip(row, widths))]
        for row in table
    ]
    return ["  ".join(line).rstrip() for line in lines]
