"""Numbers as people write them: thousands separators, decimal commas, currencies, percent signs and units.

`infer_number_format` finds the one format under which all cells of a column are numbers; `NumberFormat.parse` reads
cells in it. A column of plain numbers, as programs write them, has no format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.sources.arrow_texts import SPACES, make_texts, to_mask, trim_texts
from deciban.sources.markers import MISSING_NUMBERS

SPACE = "[ \u00a0\u2007\u2009\u202f]"
"""A space of any width within a number."""

THOUSANDS = {"": "", ".": r"\.", ",": ",", " ": SPACE, "'": "['’]"}
"""The separators of thousands, and the pattern of each: spaces of all widths, both apostrophes."""

OTHER_MARK = {".": ",", ",": "."}
"""The mark that separates thousands where the key is the decimal mark."""

PLAIN_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A number as programs write it."""

SIGN = "[+\u2212-]"
"""A sign; U+2212 is the minus of typographers."""

INFINITE = "(?i)^[+-]?inf(inity)?$"

CURRENCY_CODES = frozenset({
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "RMB", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "RUB",
    "UAH", "BRL", "CAD", "AUD", "NZD", "ZAR", "MXN", "TRY", "KRW", "ILS", "SGD", "HKD", "US$", "A$", "C$", "CA$",
    "AU$", "NZ$", "HK$", "R$", "Rs", "Rs.", "kr", "Fr.",
})  # fmt: skip
"""Currencies that may stand before a number, besides the signs that Unicode knows as such."""

MAX_UNIT_CHARACTERS = 12

WRITTEN_NUMBER = re.compile(
    rf"(?P<bracket>\()?{SIGN}?\s*+(?P<prefix>[^\W\d_]{{0,3}}[^\w\s.,;:'’()+\u2212-]?|Rs\.|Fr\.)\s*+{SIGN}?\s*+"
    rf"(?P<digits>[0-9](?:[0-9.,'’ \u00a0\u2007\u2009\u202f]*[0-9])?|[.,][0-9]+)\s*+"
    rf"(?P<suffix>[^\d\s()]{{1,{MAX_UNIT_CHARACTERS}}})?\)?"
)
"""A number with a currency before it or a unit after it; brackets are an accountant's minus."""

MARK_PATTERNS = {
    mark: (
        re.compile(rf"[+-]?(?:[0-9]{{1,3}}(?:[{other}][0-9]{{3}})+|[0-9]*)[{mark}][0-9]+"),
        re.compile(rf"[+-]?[0-9]{{1,3}}(?:[{mark}][0-9]{{3}}){{2,}}"),
        re.compile(rf"[+-]?[1-9][0-9]{{0,2}}[{mark}][0-9]{{3}}"),
    )
    for mark, other in OTHER_MARK.items()
}
"""For each mark, the patterns of numbers that have it as decimal mark, that cannot, and that leave it open."""

MAX_NUMBER_CHARACTERS = 60
"""Longer texts are not taken for numbers; the time to match a pattern is bounded by it."""

MIN_UNIT_SHARE = 0.5
"""The share of cells that have the unit of the column; the others have none."""


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: the decimal mark, the separator of thousands, and the unit.

    >>> NumberFormat(",", ".", "€").parse(pa.array(["1.234,50 €", "-7 €", "n. a.", None])).values.to_pylist()
    [1234.5, -7.0, None, None]
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def __str__(self) -> str:
        """Return how one thousand and a half is written."""
        return f"1{self.thousands}000{self.decimal}5{' ' if self.unit else ''}{self.unit}"

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them, but for the decimal mark."""
        return not self.thousands and not self.unit

    @cached_property
    def digits(self) -> str:
        """The pattern of digits: groups of three, or of two before the last as in India; none begins with 0."""
        mark, point = THOUSANDS[self.thousands], re.escape(self.decimal)
        grouped = [rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+"] if mark else []
        grouped += [rf"[1-9][0-9]?(?:{mark}[0-9]{{2}})+{mark}[0-9]{{3}}"] if self.thousands == "," else []
        whole = "|".join([*grouped, "[0-9]+"])
        return rf"(?:(?:{whole})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"

    @cached_property
    def pattern(self) -> str:
        """The pattern of a cell; its groups are an opening bracket, a sign before or after the unit, and digits."""
        unit = f"(?:{re.escape(self.unit)})?{SPACE}*" if self.unit else ""
        number = f"{SPACE}*({self.digits}){SPACE}*{unit}"
        return rf"^(?:(\(){SPACE}*{unit}{number}\)|({SIGN})?{SPACE}*{unit}{number}|{unit}({SIGN}){number})$"

    def parse(self, texts: Any) -> ParsedCells:
        """Parse an Arrow array of texts; marks of missing numbers and empty texts are missing, not invalid."""
        words = trim_texts(texts)
        if self.is_plain:
            with suppress(pa.ArrowInvalid):
                return ParsedCells(self._cast(words), None)
        null = pa.nulls(1, words.type)[0]
        words = pc.if_else(pc.is_in(words, value_set=make_texts([*MISSING_NUMBERS, ""], words.type)), null, words)
        if self.is_plain:
            with suppress(pa.ArrowInvalid):
                return ParsedCells(self._cast(words), None)
        is_infinite = pc.match_substring_regex(words, INFINITE)
        fits = pc.match_substring_regex(words, self.pattern)
        numbers = pc.replace_substring_regex(pc.if_else(fits, words, null), self.pattern, r"\1\3\5\2\4\6")
        for found, replacement in ((THOUSANDS[self.thousands], ""), (r"^\(|\x{2212}", "-")):
            numbers = pc.replace_substring_regex(numbers, found, replacement) if found else numbers
        is_invalid = pc.invert(pc.or_(fits, is_infinite))  # null where a cell is missing
        values = self._cast(pc.if_else(is_infinite, words, numbers))
        return ParsedCells(values, to_mask(is_invalid) if pc.any(is_invalid).as_py() else None)

    def _cast(self, words: Any) -> Any:
        """Convert texts without units and thousands to doubles; raise Arrow's error where one is not a number."""
        if self.decimal != ".":  # a text that has a point already does not become a number
            words = pc.replace_substring(pc.replace_substring(words, ".", "?"), self.decimal, ".")
        return words.cast(pa.float64())


PLAIN = NumberFormat()
"""Numbers as programs write them."""


def get_plain_format(source: Any) -> NumberFormat:
    """Return the format of those numbers of a source that come as texts and have no other."""
    return getattr(source, "number_format", PLAIN)


class ParsedCells(NamedTuple):
    """The values of cells, null where one is missing, and which texts are invalid; None where none is."""

    values: Any
    is_invalid: NDArray[np.bool_] | None

    @property
    def n_invalid(self) -> int:
        """The number of texts that are invalid."""
        return 0 if self.is_invalid is None else int(self.is_invalid.sum())


def parse_number(word: str, decimal: str = ".") -> float | None:
    """Return the value of a number as programs write it, or with another decimal mark; None if it is not one."""
    plain = word.strip(SPACES)
    plain = plain if decimal == "." else plain.replace(".", "?").replace(decimal, ".")
    return float(plain) if re.fullmatch(PLAIN_NUMBER, plain) or re.match(INFINITE, plain) else None


def infer_number_format(
    words: Sequence[str], decimal: str = ".", fixed: bool = False, max_invalid: float = 0.0
) -> NumberFormat | None:
    """Return the format in which all words but a share of `max_invalid` are numbers; None if they are not.

    `decimal` is the mark that the file prefers, or with `fixed` the only one. Words are trimmed, none is a mark of a
    missing value; codes such as 007 and telephone numbers are no numbers.

    >>> infer_number_format(["38,367", "950"]), infer_number_format(["1.234,50 €", "99 €"])
    (NumberFormat(decimal='.', thousands=',', unit=''), NumberFormat(decimal=',', thousands='.', unit='€'))
    >>> infer_number_format(["0,125 €", "0,250 €"])
    NumberFormat(decimal=',', thousands='', unit='€')
    >>> infer_number_format(["70 kg", "154 lb"]), infer_number_format(["007", "012"])
    (None, None)
    """
    cells: list[re.Match[str]] = []
    for n_seen, word in enumerate(words, 1):
        if (found := match_number(word)) is not None:
            cells.append(found)
        elif n_seen - len(cells) > max_invalid * len(words):
            return None
    unit = _find_unit(cells)
    if unit is None or not cells:
        return None
    digits, other = [found["digits"] for found in cells], OTHER_MARK[decimal]
    marks = [(decimal, ""), (decimal, other), (decimal, " "), (decimal, "'")]
    marks += [] if fixed else [(other, ""), (other, decimal), (other, " "), (other, "'")]
    formats = [NumberFormat(*mark, unit) for mark in marks]
    n_fits = [sum(re.fullmatch(each.digits, text) is not None for text in digits) for each in formats]
    best = formats[n_fits.index(max(n_fits))]
    return None if max(n_fits) < (1 - max_invalid) * len(words) or _are_codes(digits, best) else best


def match_number(word: str) -> re.Match[str] | None:
    """Return the parts of a number as people write it; None for a text that is none, and for codes."""
    found = WRITTEN_NUMBER.fullmatch(word) if len(word) <= MAX_NUMBER_CHARACTERS else None
    if found is None or (found["bracket"] is not None) != word.endswith(")") or not _is_quantity(found):
        return None
    return found


def _is_quantity(found: re.Match[str]) -> bool:
    """Return whether a number with a prefix and a suffix is a quantity: no code such as 007, A12 or #5."""
    prefix, suffix, digits = found["prefix"], found["suffix"] or "", found["digits"]
    if re.match(r"0[0-9]", digits) or (prefix and suffix):
        return False
    if prefix:
        return is_currency(prefix)
    return not suffix or any(sign.isalpha() or sign in "%‰°" or unicodedata.category(sign) == "Sc" for sign in suffix)


def is_currency(unit: str) -> bool:
    """Return whether a unit is a code of a currency, or one or more of its signs."""
    return unit in CURRENCY_CODES or (bool(unit) and all(unicodedata.category(sign) == "Sc" for sign in unit))


def _find_unit(cells: Sequence[re.Match[str]]) -> str | None:
    """Return the unit of the cells, "" where they have none; None for several units, or too few cells with one.

    A number without a percent sign may be a share among percentages, so only 0 can do without.
    """
    units = [found["prefix"] or found["suffix"] or "" for found in cells]
    known = {unit for unit in units if unit}
    if not known:
        return ""
    if len(known) > 1 or sum(map(bool, units)) < MIN_UNIT_SHARE * len(units):
        return None
    if known & {"%", "‰"} and any(not u and re.search("[1-9]", f["digits"]) for u, f in zip(units, cells)):
        return None
    return known.pop()


def _are_codes(digits: Sequence[str], found: NumberFormat) -> bool:
    """Return whether grouped digits are more likely telephone or tax numbers: long, and all of one length."""
    if found.unit or found.thousands not in (" ", "."):
        return False
    return len({len(text) for text in digits}) == 1 and len(digits) > 1 and len(digits[0]) >= len("123 456 789")


def detect_decimal(cells: Iterable[str]) -> str:
    """Return the decimal mark of a file whose delimiter is no comma: that of most cells that leave no choice.

    1,5 has a decimal comma and 1,234,567 none; 38,367 may be either, and is taken for a decimal comma where no cell
    of the file decides.

    >>> detect_decimal(["1,5", "a"]), detect_decimal(["38,367", "1.5"]), detect_decimal(["38,367"])
    (',', '.', ',')
    """
    votes = {".": 0, ",": 0}
    has_open_comma = False
    for cell in (cell.strip(SPACES) for cell in cells if "," in cell or "." in cell):
        for mark, (decided, opposed, is_open) in MARK_PATTERNS.items():
            if is_open.fullmatch(cell):
                has_open_comma |= mark == ","
            elif decided.fullmatch(cell):
                votes[mark] += 1
            elif opposed.fullmatch(cell):
                votes[OTHER_MARK[mark]] += 1
    if not any(votes.values()):
        return "," if has_open_comma else "."
    return "," if votes[","] >= votes["."] else "."
