"""How the cells of a column are written, inferred from its first rows: numbers, dates, and a note for the report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from deciban._lazy import pa, pc
from deciban._typing import Array
from deciban.errors import InputError
from deciban.model.columns import Column
from deciban.sources.arrow_cells import parse_dates
from deciban.sources.arrow_texts import SPACES, replace_nulls, trim_texts
from deciban.sources.arrow_types import is_text
from deciban.sources.cell_conversion import hint_at_number, parse_texts
from deciban.sources.date_formats import (
    ISO,
    MISSING_DATES,
    DateFormat,
    DateOrder,
    InferredDates,
    infer_date_format,
    is_like_date,
)
from deciban.sources.markers import MISSING_NUMBERS
from deciban.sources.number_formats import (
    MARK_PATTERNS,
    PLAIN,
    NumberFormat,
    get_plain_format,
    infer_number_format,
    match_number,
    parse_number,
)
from deciban.sources.source import Source

MAX_INVALID_SHARE = 0.1
"""The share of values that may be no numbers in a column of numbers, or no dates, where bad cells are missing."""

MIN_QUANTITY_VALUES, MIN_QUANTITY_SHARE = 20, 0.5
"""The number of different values from which, or their share of all above which, numbers are a quantity: a text among
few of them, such as 5+ after 1 to 4, is a level."""

MAX_FIRST_CELLS = 20
"""The number of cells that show whether a column may hold numbers or dates."""

MAX_EXAMPLES_TRIED = 100
"""The number of texts among which an example of a format is looked for."""


@dataclass(frozen=True)
class CellStyle:
    """How cells of a table are read: by its types, or as texts with a decimal mark, which may be fixed.

    `dates` is the order of day and month where a column leaves it open; `is_complete`: the first rows are all rows.
    """

    typed: bool = False
    decimal: str = "."
    is_decimal_fixed: bool = False
    dates: DateOrder = ""
    is_complete: bool = False
    max_invalid: float = 0.0

    @classmethod
    def of(cls, source: Source, dates: DateOrder, is_complete: bool) -> Self:
        """Return the style of a source's cells."""
        plain = get_plain_format(source)
        max_invalid = 0.0 if getattr(source, "reported_bad_cells", None) is None else MAX_INVALID_SHARE
        return cls(source.typed, plain.decimal, bool(plain.thousands), dates, is_complete, max_invalid)

    def for_given_role(self) -> Self:
        """Return the style for a column whose role is given: any cells may be bad if some may."""
        return replace(self, is_complete=False, max_invalid=1.0 if self.max_invalid else 0.0)


def parse_cells(cells: Any, column: Column, plain: NumberFormat = PLAIN) -> Any:
    """Return the cells of a column as one array; texts that are numbers are parsed as the reader of rows parses them.

    `plain` is the format of those that have no other. The level of 1.0 is 1 where the levels are numbers.
    """
    cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if not is_text(cells.type) or (column.role in ("flag", "category") and not column.numeric):
        return cells
    return parse_texts(cells, column.format if isinstance(column.format, NumberFormat) else plain).values


class WrittenNumbers(NamedTuple):
    """The values of texts, their format (None: plain), and a note for the report where that is not obvious."""

    values: Array
    format: NumberFormat | None = None
    note: str = ""


def parse_numbers(known: Any, style: CellStyle) -> WrittenNumbers | None:
    """Parse texts as numbers, without marks of missing values; None where they are none, or codes such as 007."""
    first = next((word for cell in known if (word := cell.as_py().strip(SPACES)) not in MISSING_NUMBERS), "")
    if parse_number(first, style.decimal) is None and match_number(first) is None and not style.max_invalid:
        return None  # of long texts no more than one is looked at
    words = trim_texts(known)
    if pc.any(pc.match_substring_regex(words, "^0[0-9]")).as_py():
        return None
    plain = NumberFormat(style.decimal)
    best, parsed = plain, plain.parse(words)
    if parsed.n_invalid:
        distinct = [word for word in words.unique().to_pylist() if word and word not in MISSING_NUMBERS]
        found = infer_number_format(distinct, style.decimal, style.is_decimal_fixed, style.max_invalid)
        if found is not None and (other := found.parse(words)).n_invalid < parsed.n_invalid:
            best, parsed = found, other
    values = parsed.values.drop_null()
    if not len(values) or parsed.n_invalid > style.max_invalid * len(words):
        return None
    written = None if best == plain else best
    return WrittenNumbers(replace_nulls(values, 0.0), written, _describe_numbers(words, best, plain))


def parse_given_numbers(known: Any, style: CellStyle) -> WrittenNumbers | None:
    """Parse texts of a column that is to hold numbers: of a few that are none the reading names the first."""
    style = style.for_given_role()
    return parse_numbers(known.cast(pa.string()), replace(style, max_invalid=style.max_invalid or MAX_INVALID_SHARE))


def holds_few_invalid(known: Any, style: CellStyle) -> bool:
    """Return whether texts are numbers or dates but for a few, such as typing errors, which make it no category."""
    first = [word for cell in known[:MAX_FIRST_CELLS] if (word := cell.as_py().strip(SPACES)) not in MISSING_NUMBERS]
    if 2 * sum(map(is_like_date, first)) >= len(first):
        strict, lenient = (infer_date_format(known, style.dates, share) for share in (0.0, MAX_INVALID_SHARE))
        return strict is None and lenient is not None
    n_alike = sum(parse_number(word, style.decimal) is not None or match_number(word) is not None for word in first)
    n_distinct = len(known.unique())
    if 2 * n_alike < len(first) or n_distinct < min(MIN_QUANTITY_VALUES, MIN_QUANTITY_SHARE * len(known)):
        return False
    return not parse_numbers(known, style) and bool(
        parse_numbers(known, replace(style, max_invalid=MAX_INVALID_SHARE))
    )


def _describe_numbers(words: Any, written: NumberFormat, plain: NumberFormat) -> str:
    """Return a note with an example where numbers are not plain, or where a decimal comma may separate thousands."""
    if written == plain == PLAIN:
        return ""
    distinct = words.unique().to_pylist()
    if written == plain:
        examples = [word for word in distinct if "," in word]
        if not all(MARK_PATTERNS[","][2].fullmatch(word) for word in examples):
            return ""
    else:
        examples = [w for w in distinct if parse_number(w, plain.decimal) is None and w not in MISSING_NUMBERS]
    values = zip(examples, written.parse(pa.array(examples[:MAX_EXAMPLES_TRIED], pa.string())).values.to_pylist())
    return next((f"{word!r} is read as {value:.12g}" for word, value in values if value is not None), "")


def non_number_error(name: str, known: Any, role: str, style: CellStyle) -> InputError:
    """Return the error about a column that is given a role of numbers and holds something else."""
    plain = NumberFormat(style.decimal)
    is_invalid = parse_texts(known, plain).is_invalid
    text = known[0 if is_invalid is None else int(is_invalid.argmax())].as_py()
    return InputError(
        f"column {name!r} holds {text!r}, which is not a number, so its role cannot be {role}. "
        f"Hint: {hint_at_number(name, text, plain, can_set_decimal=not style.typed)}"
    )


class WrittenDates(NamedTuple):
    """The dates of a column, their format (None: it leaves no choice), whether they are times, and a note."""

    values: Any
    format: DateFormat | None = None
    are_times: bool = False
    note: str = ""


def read_dates(known: Any, name: str, style: CellStyle) -> WrittenDates:
    """Convert a column to dates; raise an InputError that names it where a value is none."""
    if not is_text(known.type):
        return WrittenDates(parse_dates(known, name), are_times=pa.types.is_time(known.type))
    known = known.cast(pa.string())
    found = infer_date_format(known, style.dates, max(style.max_invalid, MAX_INVALID_SHARE))
    if found is None:
        parse_dates(known, name)  # names the value that is no date
        found = InferredDates(ISO)
    values = parse_texts(known, found.format).values.drop_null()
    return WrittenDates(
        values, found.format if found.format.order else None, found.are_times, _describe_dates(known, found)
    )


def _describe_dates(known: Any, found: InferredDates) -> str:
    """Return a note on the order of day and month; with an example of both where no date tells."""
    if not found.format.order:
        return ""
    day_first, month_first = DateFormat("day-first"), DateFormat("month-first")
    if not found.is_ambiguous:
        return "the day is first" if found.format == day_first else "the month is first"
    word = next(word for word in known.to_pylist() if word not in MISSING_DATES)
    other = month_first if found.format == day_first else day_first
    read, otherwise = (_name_day(word, each) for each in (found.format, other))
    return f"no date shows the order: {word!r} is read as {read}, by --dates {other.order} as {otherwise}"


def _name_day(word: str, written: DateFormat) -> str:
    """Return the day and month of a date, as in 31 January."""
    when = written.parse(pa.array([word], pa.string())).values
    return f"{pc.day(when)[0].as_py()} {MONTH_NAMES[pc.month(when)[0].as_py() - 1]}"


MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def add_note(reason: str, note: str) -> str:
    """Return a reason followed by a note, where there is one."""
    return f"{reason}; {note}" if note else reason
