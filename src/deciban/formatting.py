"""Formatting of numbers, words and small tables for people, wherever they are printed or drawn."""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Container, Sequence
from typing import Any

MAX_EXPONENT = 700.0
"""The size of a logarithm up to which its power of e is a double of full precision."""


def format_thousands(n: float, form: str = ".0f", gap: str = " ") -> str:
    """Format a number with its thousands separated; `form` is a format specification.

    >>> format_thousands(1234567), format_thousands(21300.0, ".6g"), format_thousands(12)
    ('1 234 567', '21 300', '12')
    """
    return f"{n:,{form}}".replace(",", gap)


def format_count(n: float, noun: str = "") -> str:
    """Format a number of things with its thousands separated, or a weight in four digits or more; then the noun.

    >>> format_count(1234567), format_count(2.34567), format_count(12345.67)
    ('1 234 567', '2.346', '12 346')
    >>> [format_count(n, "row") for n in (1, 0.99999, 0, 1.5)], format_count(1000, "other class")
    (['1 row', '1 row', '0 rows', '1.5 rows'], '1 000 other classes')
    """
    number = format_thousands(n, ".0f" if float(n).is_integer() or abs(n) >= 1000 else ".4g")
    plural = "" if number == "1" else "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{plural}" if noun else number


def format_size(n_bytes: int) -> str:
    """Format a number of bytes with its unit, bytes to TB, from 1000 on in three digits.

    >>> format_size(1), format_size(999_700), format_size(1 << 30), format_size(10**12)
    ('1 byte', '1 MB', '1.07 GB', '1 TB')
    """
    if n_bytes < 1000:
        return format_count(n_bytes, "byte")
    power = 1 + sum(n_bytes >= 999.5 * 1000**i for i in (1, 2, 3))
    return f"{n_bytes / 1000**power:.3g} {('', 'kB', 'MB', 'GB', 'TB')[power]}"


def format_percent(share: float, digits: int = 1) -> str:
    """Format a share in percent with `digits` digits after the point; a dash for NaN.

    >>> format_percent(0.5), format_percent(2 / 3, 2), format_percent(math.nan)
    ('50.0 %', '66.67 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def format_short_percent(share: float, digits: int = 4) -> str:
    """Format a share in percent with at most `digits` significant digits, without trailing zeros.

    There are more where it would be rounded to 100 %.

    >>> format_short_percent(0.5), format_short_percent(90 / 585, 3), format_short_percent(1e-7)
    ('50 %', '15.4 %', '0.00001 %')
    >>> format_short_percent(0.9999912), format_short_percent(1.0)
    ('99.99912 %', '100 %')
    """
    value, left = 100 * share, 100 * (1 - share)
    short = f"{value:.{digits}g}"
    if 0 < value < 1e-3:
        places = digits - 1 - math.floor(math.log10(value))
    elif short == "100" and left > 0:
        places = 1 - math.floor(math.log10(left))
    else:
        return f"{short} %"
    return f"{value:.{min(places, 20)}f}".rstrip("0").rstrip(".") + " %"


MAX_PROBABILITY_PLACES = 10
"""The digits after the point of a probability, at most."""


def format_probability(p: float, is_certain: bool = False) -> str:
    """Format a probability: four digits after the point, and as many more as two digits of p and of 1 − p need.

    Only what is certain is 0 or 1; other probabilities are printed as at least 0.0000000001, and as at most
    0.9999999999.

    >>> [format_probability(p) for p in (0.5, 0.9996, 0.9999914152, 1.0)]
    ['0.5000', '0.99960', '0.9999914', '0.9999999999']
    >>> [format_probability(p) for p in (0.0213, 0.00000302, 0.0)], format_probability(1.0, is_certain=True)
    (['0.0213', '0.0000030', '0.0000000001'], '1')
    """
    if math.isnan(p) or (is_certain and p in (0.0, 1.0)):
        return "–" if math.isnan(p) else f"{p:.0f}"
    least = 10.0**-MAX_PROBABILITY_PLACES
    p = min(max(p, least), 1.0 - least)
    places = max(4, 1 - math.floor(math.log10(min(p, 1.0 - p))))
    return f"{p:.{min(places, MAX_PROBABILITY_PLACES)}f}"


def format_percent_range(ends: tuple[float, float]) -> str:
    """Format a range of shares in percent.

    >>> format_percent_range((0.5, 0.75))
    '50.00 to 75.00'
    """
    return f"{100 * ends[0]:.2f} to {100 * ends[1]:.2f}"


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` digits after the point, a true minus sign, and no negative zero.

    >>> format_number(0.25), format_number(-0.25, 2), format_number(-0.001, 2)
    ('0.2500', '−0.25', '0.00')
    >>> format_number(math.inf), format_number(math.nan)
    ('∞', '–')
    """
    if math.isnan(value):
        return "–"
    return f"{value:z.{digits}f}".replace("-", "−").replace("inf", "∞")


def format_plain(value: float) -> str:
    """Format a number as a table would have it: whole ones in full, others with six significant digits.

    >>> format_plain(37.5), format_plain(20240131.0), format_plain(-1 / 3), format_plain(math.inf)
    ('37.5', '20240131', '−0.333333', '∞')
    """
    form = ".0f" if float(value).is_integer() and abs(value) < 1e15 else ".6g"
    return f"{value:z{form}}".replace("-", "−").replace("inf", "∞")


def format_value(value: Any) -> str:
    """Format a float as `format_plain` does, None as a dash, and any other value as its text.

    >>> format_value(1234567.0), format_value(None), format_value("full")
    ('1234567', '–', 'full')
    """
    return "–" if value is None else format_plain(value) if isinstance(value, float) else str(value)


def format_range(low: float, high: float) -> str:
    """Format the ends of a range.

    >>> format_range(35.9, 40.6), format_range(-5.0, 40.0), format_range(3.0, 3.0)
    ('35.9–40.6', '−5 to 40', '3')
    """
    ends = [format_plain(low), format_plain(high)]
    return ends[0] if low == high else (" to " if low < 0 else "–").join(ends)


def format_signed(value: float, digits: int = 2) -> str:
    """Format a number with its sign, also if it is positive.

    >>> format_signed(3.5), format_signed(-10.0, 1), format_signed(-math.inf), format_signed(math.nan)
    ('+3.50', '−10.0', '−∞', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    return f"{value:+z.{digits}f}".replace("-", "−").replace("inf", "∞")


def format_with_error(value: float, error: float, digits: int = 4) -> str:
    """Format a figure and its standard error; the error is left out where it is NaN.

    >>> format_with_error(0.25, 0.01), format_with_error(math.inf, math.nan)
    ('0.2500 ± 0.0100', '∞')
    """
    return format_number(value, digits) + ("" if math.isnan(error) else f" ± {error:.{digits}f}")


def format_decimal(value: float) -> str:
    """Format a number ≥ 0, such as a probability or a density, in four significant digits; a dash for NaN.

    >>> format_decimal(0.6), format_decimal(0.020571), format_decimal(2.5e-9), format_decimal(0.0)
    ('0.6000', '0.02057', '2.500e-09', '0')
    """
    if math.isnan(value):
        return "–"
    return "0" if value == 0 else f"{value:#.4g}".rstrip(".").replace("inf", "∞")


def format_power(log: float) -> str:
    """Format e to the power of `log` in four significant digits, also where a double cannot hold it.

    >>> format_power(math.log(0.6)), format_power(-1698.93), format_power(-1000.000001 * math.log(10))
    ('0.6000', '1.459e-738', '1.000e-1000')
    """
    if abs(log) < MAX_EXPONENT or math.isinf(log) or math.isnan(log):
        return format_decimal(math.exp(log))
    power = log / math.log(10)
    digits, _, carry = f"{10 ** (power % 1):.3e}".partition("e")  # 9.9996 is rounded to 1.000e+01
    return f"{digits}e{math.floor(power) + int(carry):+}"


def format_quotient(above: float, below: float) -> str:
    """Format a quotient of counts.

    >>> format_quotient(3.0, 5.0), format_quotient(3.5, 6.0)
    ('3/5', '3.5/6')
    """
    return f"{above:.10g}/{below:.10g}"


def to_one_line(text: str) -> str:
    """Replace each character that is not printable, and could break a screen or act on a terminal, by a space.

    >>> to_one_line("two\\nlines")
    'two lines'
    """
    return "".join(c if c.isprintable() else " " for c in text)


def to_printable(text: str) -> str:
    """Replace characters that cannot be printed on a line, and runs of spaces, by one space.

    >>> to_printable("two\\n  lines")
    'two lines'
    """
    return re.sub(" +", " ", to_one_line(text))


def format_word(word: str) -> str:
    """Format a word for display: spaces at its ends, which only character n-grams have, are shown as ␣.

    >>> format_word(" to")
    '␣to'
    """
    printable = to_printable(word)
    if not printable.strip(" "):
        return "␣" * max(1, len(word))
    return re.sub("^ +| +$", lambda spaces: "␣" * len(spaces[0]), printable)


def clip_text(text: str, width: int) -> str:
    """Shorten a text to at most `width` characters, the last then an ellipsis.

    >>> clip_text("probability", 6)
    'proba…'
    """
    return text if len(text) <= width else f"{text[: width - 1]}…"


MIN_SHORTENED_NAME_WIDTH = 8
"""The width to which a name or value is shortened at least, before what follows it is left out."""


def shorten_evidence_name(text: str, width: int, cut: Callable[[str, int], str]) -> str:
    """Shorten "column = value" or "column = value, given parent = value" by `cut`, each name and value by itself.

    The middle of the whole could hold the column's value, so that another column's would seem to be its own. The
    parent's name and value are shortened more than the column's, and left out in a width that is too small.

    >>> name = "education-spending = n, given religious-groups = y"
    >>> shorten_evidence_name(name, 40, clip_text), shorten_evidence_name(name, 24, clip_text)
    ('education-spe… = n, given religiou… = y', 'education-spendi… = n, …')
    """
    if cut(text, width) == text:
        return text
    own, given, parent = text.rpartition(", given ") if ", given " in text else (text, "", "")
    for limit in range(width, MIN_SHORTENED_NAME_WIDTH - 1, -1) if given else ():
        shown = f"{_cut_sides(own, limit, cut)}{given}{_cut_sides(parent, 2 * limit // 3, cut)}"
        if cut(shown, width) == shown:
            return shown
    for limit in range(width, MIN_SHORTENED_NAME_WIDTH - 1, -1):
        shown = _cut_sides(own, limit, cut) + (", …" if given else "")
        if cut(shown, width) == shown:
            return shown
    return cut(own, width)


def _cut_sides(text: str, width: int, cut: Callable[[str, int], str]) -> str:
    """Cut the name and the value of "name = value", each to a width."""
    name, equals, value = text.partition(" = ")
    return f"{cut(name, width)}{equals}{cut(value, width)}"


def escape_controls(text: str, keep: str = "") -> str:
    r"""Replace characters that a terminal obeys or hides by the escapes of JSON; `keep` names those that stay.

    These are control characters, marks that reorder text (U+202E) or have no width (U+200B), and whatever else is
    not printable; spaces of any width stay.

    >>> escape_controls("a\x1b[2J\u202eb\tc"), escape_controls("à la carte")
    ('a\\u001b[2J\\u202eb\\tc', 'à la carte')
    """
    if text.isprintable():
        return text
    kept = (c.isprintable() or c in keep or unicodedata.category(c) == "Zs" for c in text)
    return "".join(c if keeps else json.dumps(c)[1:-1] for c, keeps in zip(text, kept))


def align_columns(table: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[str]:
    """Format a table as lines with aligned columns: those in `left` to the left, all others to the right.

    >>> align_columns([["ham", "3"], ["spam", "12"]])
    ['ham    3', 'spam  12']
    """
    widths = [max(map(len, column)) for column in zip(*table)]
    lines = [
        [cell.ljust(width) if j in left else cell.rjust(width) for j, (cell, width) in enumerate(zip(row, widths))]
        for row in table
    ]
    return ["  ".join(line).rstrip() for line in lines]
