"""Dates and times as people write them: 31.01.2024, 01/31/2024, Jan 31, 2024, 2:30 pm.

Which of two numbers is the day is decided by a column as a whole (`infer_date_format`); everything else is read
without a decision. ISO dates and times, as programs write them, are read by Arrow.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.sources.arrow_texts import SPACES, trim_texts
from deciban.sources.markers import MISSING_NUMBERS
from deciban.sources.number_formats import ParsedCells

DateOrder = Literal["", "day-first", "month-first"]
"""The order of day and month in dates such as 01/02/2024; "" where no such date is to be read."""

ORDERS: tuple[DateOrder, ...] = ("", "day-first", "month-first")

MISSING_DATES = ("", *MISSING_NUMBERS)
"""Texts that stand for a missing date in a column of dates."""

ZONE = r"(Z|[+-]\d\d:?\d\d)$"
"""The pattern of a time zone at the end of an ISO time."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = "(?:" + "|".join(
    ("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?",
     "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?")
) + r")\.?"  # fmt: skip
CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?:z|utc|gmt|[+-]\d\d:?\d\d))?"
)
WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? +)?"
ORDINAL = r"(?:st|nd|rd|th)?"
PATTERNS = {
    "numeric": (
        rf"(?i)^{WEEKDAY}(?P<a>\d{{1,4}})(?P<mark>[./-]) ?(?P<b>\d{{1,2}})[./-] ?(?P<c>\d{{1,4}})(?:[t, ]+{CLOCK})?$"
    ),
    "day before the month": (
        rf"(?i)^{WEEKDAY}(?P<a>\d{{1,2}}){ORDINAL}\.?[ -]*(?P<b>{MONTH}),?[ -]*(?P<c>\d{{4}}|\d\d)(?:[t, ]+{CLOCK})?$"
    ),
    "month before the day": (
        rf"(?i)^{WEEKDAY}(?P<b>{MONTH})[ -]*(?P<a>\d{{1,2}}){ORDINAL},?[ -]+(?P<c>\d{{4}}|\d\d)(?:[t, ]+{CLOCK})?$"
    ),
    "time": rf"(?i)^{CLOCK}$",
}  # fmt: skip
"""The patterns of dates that are not ISO; their groups are numbers, or the name of a month."""

MAX_DATE_CHARACTERS = 60
"""Longer texts are not taken for dates."""

CENTURY_PIVOT = 69
"""A year of two digits is in the 20th century from here on, and in the 21st below, as POSIX has it."""


UNKNOWN = np.iinfo(np.int64).min
"""The number of seconds that stands for no date."""

DateFields = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]
"""The year, month and day of each date, and whether it is written as dates are."""


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written: the order of day and month where both are numbers.

    >>> found = DateFormat("day-first").parse(pa.array(["01.02.2024", "2024-02-01", "Feb 1, 2024 2:30 pm", "soon"]))
    >>> [str(when) for when in found.values.to_pylist()], found.is_invalid.tolist()
    (['2024-02-01 00:00:00', '2024-02-01 00:00:00', '2024-02-01 14:30:00', 'None'], [False, False, False, True])
    """

    order: DateOrder = ""

    def __str__(self) -> str:
        """Return the order of day and month in words; "ISO" where there is none."""
        return self.order.replace("-", " ") or "ISO"

    def parse(self, texts: Any) -> ParsedCells:
        """Parse an Arrow array of texts as local dates and times; time zones are ignored, marks are missing."""
        words = trim_texts(texts)
        try:
            return ParsedCells(_parse_iso(words), None)
        except pa.ArrowInvalid:
            pass
        encoded = words.dictionary_encode()  # dates recur
        values, codes = encoded.dictionary, encoded.indices
        seconds = np.full(len(values), UNKNOWN)
        for name, pattern in PATTERNS.items():
            is_match, fields = _match(values, pattern)
            seconds[is_match] = _to_seconds(name, fields, self.order)
        dates = pa.array(seconds, mask=seconds == UNKNOWN).cast(pa.timestamp("s")).cast(pa.timestamp("us"))
        is_missing = np.asarray(pc.is_in(values, value_set=pa.array(MISSING_DATES, values.type)))
        is_invalid = np.append((seconds == UNKNOWN) & ~is_missing, False)  # the last for cells that are null
        return ParsedCells(dates.take(codes), is_invalid[np.asarray(codes.fill_null(len(values)))])


ISO = DateFormat()
"""Dates that leave no choice: ISO, with the name of a month, or times."""


def _parse_iso(words: Any) -> Any:
    """Convert ISO dates and times; raise Arrow's error where a text is none."""
    try:
        return words.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return pc.replace_substring_regex(words, ZONE, "").cast(pa.timestamp("us"))


def _match(values: Any, pattern: str) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which texts match a pattern, and the fields of these by name; a field that is absent is "0"."""
    found = pc.extract_regex(values, pattern)
    is_match = np.asarray(found.is_valid())
    matched = found.filter(pa.array(is_match))
    names = [field.name for field in found.type]
    return is_match, {n: pc.if_else(pc.equal(x, ""), "0", x) for n, x in zip(names, matched.flatten())}


def _to_seconds(name: str, fields: dict[str, Any], order: DateOrder) -> NDArray[np.int64]:
    """Return the seconds since 1970 of dates and times by their fields, `UNKNOWN` where there is no such date."""
    time, is_valid = _to_seconds_of_day(fields)
    if name == "time":
        return np.where(is_valid, time, UNKNOWN)
    year, month, day, is_written = _read_numeric(fields, order) if name == "numeric" else _read_named(fields)
    is_valid &= is_written & (month >= 1) & (month <= 12) & (day >= 1)
    first = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("datetime64[M]")
    n_days = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    days = first.astype("datetime64[D]").astype(np.int64) + day - 1
    return np.where(is_valid & (day <= n_days), days * 86_400 + time, UNKNOWN)


def _to_seconds_of_day(fields: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the seconds since midnight, and which times are valid; hours of half a day are counted from 1 to 12."""
    hour, minute, second = (_to_integers(fields[name]) for name in ("hour", "minute", "second"))
    half = np.array(pc.utf8_lower(fields["half"]).to_pylist(), dtype="<U1")
    is_half = half != "0"
    is_valid = (hour < 24) & (minute < 60) & (second < 61) & (~is_half | ((hour >= 1) & (hour <= 12)))
    hour = np.where(is_half, hour % 12 + 12 * (half == "p"), hour)
    return hour * 3600 + minute * 60 + second, is_valid


def _read_numeric(fields: dict[str, Any], order: DateOrder) -> DateFields:
    """Return the fields of dates of three numbers: the year comes first where it has four digits, else last.

    A year of two digits after dots or hyphens needs days and months of two digits: 3.10.12 is a version.
    """
    a, b, c = (_to_integers(fields[name]) for name in "abc")
    n_a, n_b, n_c = (np.asarray(pc.utf8_length(fields[name])) for name in "abc")
    is_slash = np.asarray(pc.equal(fields["mark"], "/"))
    day, month = (a, b) if order == "day-first" else (b, a)
    has_year_last = (n_a <= 2) & ((n_c == 4) | ((n_c == 2) & (is_slash | ((n_a == 2) & (n_b == 2)))))
    has_year_first = (n_a == 4) & (n_c <= 2)
    is_written = has_year_first | (has_year_last & (order != ""))
    year = np.where(has_year_first, a, _add_century(c, n_c))
    return year, np.where(has_year_first, b, month), np.where(has_year_first, c, day), is_written


def _read_named(fields: dict[str, Any]) -> DateFields:
    """Return the fields of dates with the name of a month, in English."""
    short = pc.utf8_slice_codeunits(pc.utf8_lower(fields["b"]), 0, 3)
    month = np.asarray(pc.index_in(short, value_set=pa.array(MONTHS))).astype(np.int64) + 1
    year = _add_century(_to_integers(fields["c"]), np.asarray(pc.utf8_length(fields["c"])))
    return year, month, _to_integers(fields["a"]), np.ones(len(month), dtype=np.bool_)


def _add_century(year: NDArray[np.int64], n_digits: NDArray[Any]) -> NDArray[np.int64]:
    """Return years of two digits as those of four, 19xx from `CENTURY_PIVOT` on, else 20xx."""
    return np.where(n_digits == 2, year + np.where(year >= CENTURY_PIVOT, 1900, 2000), year)


def _to_integers(words: Any) -> NDArray[np.int64]:
    return np.asarray(words.cast(pa.int64()))


class InferredDates(NamedTuple):
    """The format of a column of dates, whether its cells leave the order open, and whether they are times alone."""

    format: DateFormat
    is_ambiguous: bool = False
    are_times: bool = False


def infer_date_format(texts: Any, preferred: DateOrder = "", max_invalid: float = 0.0) -> InferredDates | None:
    """Return how all distinct texts of an Arrow array but a share of `max_invalid` are dates, None if they are not.

    Where all days are 12 or less, the order is the preferred one; without one, the month is first if slashes are
    between the numbers (as in the United States), else the day.

    >>> infer_date_format(pa.array(["01/02/2024", "01/31/2024"]))
    InferredDates(format=DateFormat(order='month-first'), is_ambiguous=False, are_times=False)
    """
    known = texts.drop_null()
    first = next((word for cell in known if (word := cell.as_py().strip(SPACES)) not in MISSING_DATES), "")
    if not is_like_date(first) and not max_invalid:
        return None  # of long texts no more than one is looked at
    values = trim_texts(known).unique()
    with suppress(pa.ArrowInvalid):
        _parse_iso(values)
        return InferredDates(DateFormat())
    values = values.filter(pc.invert(pc.is_in(values, value_set=pa.array(MISSING_DATES, values.type))))
    n_invalid = {order: DateFormat(order).parse(values).n_invalid for order in ORDERS}
    fewest = min(n_invalid.values())
    if fewest > max_invalid * len(values) or fewest == len(values):
        return None
    fits = [order for order, n in n_invalid.items() if n == fewest]
    if fits[0] == "":
        n_times = int(_match(values, PATTERNS["time"])[0].sum())
        return InferredDates(DateFormat(), are_times=n_times >= (1 - max_invalid) * len(values))
    if len(fits) == 1:
        return InferredDates(DateFormat(fits[0]))
    has_slashes = pc.any(pc.match_substring_regex(values, r"^\D*\d{1,2}/")).as_py()
    order: DateOrder = preferred or ("month-first" if has_slashes else "day-first")
    return InferredDates(DateFormat(order), is_ambiguous=not preferred)


def is_like_date(word: str) -> bool:
    """Return whether a text has the form of a date or a time, whether there is such a date or not."""
    if len(word) > MAX_DATE_CHARACTERS:
        return False
    return bool(re.match(r"\d{4}-\d\d-\d\d", word)) or any(re.match(form, word) for form in PATTERNS.values())
