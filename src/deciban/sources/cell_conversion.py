"""Conversion of texts to numbers and dates by the formats of their columns, and cells that are neither.

An invalid cell is an error that names it, or is counted as missing (`LenientView`) and reported with the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.errors import DecibanWarning, InputError, RowError, list_names
from deciban.formatting import format_count
from deciban.sources.arrow_types import decode_dictionary, is_text, replace_columns
from deciban.sources.date_formats import ORDERS, DateFormat
from deciban.sources.number_formats import NumberFormat, ParsedCells, get_plain_format, infer_number_format
from deciban.sources.row_views import find_base
from deciban.sources.source import ColumnReading, Source, SourceView, role_hint

MAX_EXAMPLES = 3
"""The number of invalid cells that the report on a column quotes."""

MAX_QUOTED_CHARACTERS = 40
MAX_REPORTED_COLUMNS = 5

BAD_CELLS_HINT = "--bad-cells missing (bad_cells='missing') counts such cells as missing"

RULES = {NumberFormat: "a number", DateFormat: "a date"}
"""The kind of value that a cell must be, by the format of its column."""


class BadCellError(InputError):
    """A cell is not a number or a date, and its column has the role of one; `row` is its number in the batch.

    `can_set_decimal`: an option of reading decides the decimal mark, and not the format of the column.
    """

    def __init__(
        self, message: str, column: str = "", value: str = "", kind: Any = None, row: int = 0,
        can_set_decimal: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.column, self.value, self.kind, self.row = column, value, kind, row
        self.can_set_decimal = can_set_decimal

    def at(self, table: str, place: str, is_csv: bool) -> BadCellError:
        """Return the error with the table and the place in it; `is_csv`: the decimal mark is an option there."""
        of, at = f" of {table}", f" in {place}" if place else ""
        return bad_cell_error(
            self.column, self.value, self.kind, of, at, can_set_decimal=is_csv and self.can_set_decimal
        )


def convert_batch(
    batch: pa.RecordBatch, wanted: Mapping[str, ColumnReading], plain: NumberFormat, found: BadCells | None = None
) -> pa.RecordBatch:
    """Return a batch with the texts of columns that are wanted as numbers or dates converted.

    `plain` is the format of numbers that have no other. An invalid cell is added to `found` and becomes missing;
    without `found` it raises a BadCellError. In a row without a label it is missing.
    """
    changed: dict[int, Any] = {}
    for place, (name, texts) in enumerate(zip(batch.schema.names, batch.columns)):
        reading = wanted.get(name)
        kind = plain if reading == "number" else reading
        if not isinstance(kind, (NumberFormat, DateFormat)) or not is_text(texts.type):
            continue
        parsed = parse_texts(texts, kind)
        is_invalid = None if parsed.is_invalid is None else parsed.is_invalid & _are_labelled(batch, wanted)
        if is_invalid is not None and is_invalid.any():
            if found is None:
                row = int(is_invalid.argmax())
                value = decode_dictionary(texts)[row].as_py()
                raise BadCellError("a bad cell", name, value, kind, row, can_set_decimal=reading == "number")
            found.add(name, RULES[type(kind)], decode_dictionary(texts), is_invalid)
        changed[place] = parsed.values
    return replace_columns(batch, changed)


def _are_labelled(batch: pa.RecordBatch, wanted: Mapping[str, ColumnReading]) -> NDArray[np.bool_]:
    """Return which rows have all their labels."""
    is_labelled = np.ones(batch.num_rows, dtype=np.bool_)
    for name, cells in zip(batch.schema.names, batch.columns):
        if wanted.get(name) == "label":
            is_labelled &= np.asarray(cells.is_valid())
    return is_labelled


def parse_texts(texts: Any, kind: NumberFormat | DateFormat) -> ParsedCells:
    """Parse an Arrow array of texts, or of a dictionary of texts; see `NumberFormat.parse`, `DateFormat.parse`."""
    if not pa.types.is_dictionary(texts.type):
        return kind.parse(texts)
    values, is_invalid = parse_texts(texts.dictionary, kind)
    codes = texts.indices.cast(pa.int64())
    if is_invalid is not None:
        is_invalid = np.append(is_invalid, False)[np.asarray(codes.fill_null(len(is_invalid)))]
    return ParsedCells(values.take(codes), is_invalid)


def bad_cell_error(
    column: str,
    value: str,
    kind: NumberFormat | DateFormat,
    of: str = "",
    at: str = "",
    can_set_decimal: bool = False,
) -> BadCellError:
    """Return the error about a cell that is not a number or a date; `of` names its table, and `at` its place.

    `can_set_decimal`: the hint may be a decimal mark, an option of reading.
    """
    if isinstance(kind, NumberFormat):
        hint = hint_at_number(column, value, kind, can_set_decimal)
    else:
        hint = _hint_at_date(column, value, kind)
    return BadCellError(f"column {column!r}{of} holds {value!r}{at}, which is not {RULES[type(kind)]}. Hint: {hint}")


def hint_at_number(column: str, value: str, kind: NumberFormat, can_set_decimal: bool) -> str:
    """Return the ways out where a cell is not a number; none leaves out a number in another format."""
    if not any(map(str.isdigit, value)):
        return _hint_at_word(column, value)
    marks = {mark: infer_number_format([value.strip()], mark, fixed=True) for mark in (".", ",")}
    found = {mark: each for mark, each in marks.items() if each is not None}
    if not found:
        return f"{role_hint(column, 'category')} reads it as text; {BAD_CELLS_HINT}"
    if any(each.unit for each in found.values()):
        return f"write the number {f'in {kind.unit}' if kind.unit else 'without a unit'}"
    if not can_set_decimal:
        return f"write it as the others are, such as {kind}"
    return "; ".join(
        f"--decimal {mark} (decimal={mark!r}) reads it as {each.parse(pa.array([value])).values[0].as_py():.12g}"
        for mark, each in found.items()
    )


def _hint_at_date(column: str, value: str, kind: DateFormat) -> str:
    """Return the ways out where a cell is not a date."""
    if not any(map(str.isdigit, value)):
        return _hint_at_word(column, value)
    others = [order for order in ORDERS if order not in ("", kind.order)]
    fits = [order for order in others if not DateFormat(order).parse(pa.array([value])).n_invalid]
    if not fits:
        return f"correct that cell, or {role_hint(column, 'category')}; {BAD_CELLS_HINT}"
    return f"--dates {fits[0]} (dates={fits[0]!r}), if that is the order of day and month in the column"


def _hint_at_word(column: str, value: str) -> str:
    """Return the ways out where a cell without digits stands among numbers or dates."""
    missing = f"--missing {value!r} (missing=[{value!r}])"
    return f"{role_hint(column, 'category')} reads it as text; {missing} reads it as nothing; {BAD_CELLS_HINT}"


@dataclass
class ColumnFaults:
    """The number of invalid cells of a column, and the first of them with their rows."""

    rule: str
    n_cells: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class BadCells:
    """The invalid cells of a table, which are counted as missing; `n_rows` is the number of rows before the batch."""

    n_rows: int = 0
    columns: dict[str, ColumnFaults] = field(default_factory=dict)

    def add(self, name: str, rule: str, cells: Any, is_invalid: NDArray[np.bool_]) -> None:
        """Add invalid cells of a column of the batch, which do not meet a rule such as "a number"."""
        faults = self.columns.setdefault(name, ColumnFaults(rule))
        rows = np.flatnonzero(is_invalid)
        faults.n_cells += len(rows)
        for row in rows[: max(0, MAX_EXAMPLES - len(faults.examples))].tolist():
            cell = cells[row].as_py()
            faults.examples.append(f"{_shorten_cell(cell)} in row {self.n_rows + row + 1}")

    def describe(self, name: str) -> str:
        """Describe all cells in a sentence, with the name of their table."""
        total = sum(faults.n_cells for faults in self.columns.values())
        parts = [
            f"column {list_names([repr(column)])} has {faults.n_cells} that {'is' if faults.n_cells == 1 else 'are'} "
            f"not {faults.rule} ({', '.join(faults.examples)}{', …' if faults.n_cells > MAX_EXAMPLES else ''})"
            for column, faults in self.columns.items()
        ]
        n_more = len(parts) - MAX_REPORTED_COLUMNS
        more = f"; and {format_count(n_more, 'other column')}" if n_more > 0 else ""
        cells, shown = format_count(total, "cell"), "; ".join(parts[:MAX_REPORTED_COLUMNS])
        return f"{cells} of {name} counted as missing: {shown}{more}"


def _shorten_cell(cell: Any) -> str:
    """Return a number in short form, or a text in quotes, its end left out where it is long."""
    if not isinstance(cell, str):
        return f"{cell:g}"
    return repr(cell if len(cell) <= MAX_QUOTED_CHARACTERS else cell[:MAX_QUOTED_CHARACTERS] + "…")


@dataclass(frozen=True)
class DateOrderView(SourceView):
    """A source with a given order of day and month, for dates that do not show it."""

    order: str

    @property
    def date_order(self) -> str:
        """See `SourceView.date_order`."""
        return self.order


@dataclass(frozen=True)
class LenientView(SourceView):
    """A source whose invalid cells are missing; `read_converted` counts them, and reports each finding once."""

    reports: set[str] = field(default_factory=set, compare=False)

    @property
    def reported_bad_cells(self) -> set[str] | None:
        """See `SourceView.reported_bad_cells`."""
        return self.reports


def read_converted(
    source: Source, wanted: Mapping[str, ColumnReading], counts: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a source, texts that are wanted as numbers or dates converted.

    In a lenient view invalid cells, infinite numbers and negative values of columns of `counts` are missing; a
    warning names them when the reading ends.
    """
    reports: set[str] | None = getattr(source, "reported_bad_cells", None)
    plain, n_rows = get_plain_format(source), getattr(source, "first_row", 0)
    if reports is None:
        for batch in source.batches(wanted):
            try:
                converted = convert_batch(batch, wanted, plain)
            except BadCellError as bad:
                is_csv = hasattr(find_base(source), "number_format")
                describe = partial(_describe_bad_cell, bad, source.name, is_csv)
                raise RowError(describe, n_rows + bad.row) from None
            yield converted
            n_rows += batch.num_rows
        return
    found = BadCells(n_rows)
    try:
        for batch in source.batches(wanted):
            yield _drop_impossible(convert_batch(batch, wanted, plain, found), wanted, counts, found)
            found.n_rows += batch.num_rows
    finally:
        report = found.describe(source.name)
        if found.columns and report not in reports:
            reports.add(report)
            warnings.warn(report, DecibanWarning, stacklevel=2)


def _describe_bad_cell(bad: BadCellError, table: str, is_csv: bool, row: int) -> str:
    """Return the message about a bad cell of a table in a row of this number."""
    return str(bad.at(table, f"row {row + 1}", is_csv))


def _drop_impossible(
    batch: pa.RecordBatch, wanted: Mapping[str, ColumnReading], counts: Collection[str], found: BadCells
) -> pa.RecordBatch:
    """Return the batch with nulls for infinite numbers, and for negative ones of `counts`; add them to `found`."""
    changed: dict[int, Any] = {}
    for place, (name, cells) in enumerate(zip(batch.schema.names, batch.columns)):
        reading, kind = wanted.get(name), cells.type
        is_number = pa.types.is_floating(kind) or (pa.types.is_integer(kind) and name in counts)
        if not is_number or not (reading == "number" or isinstance(reading, NumberFormat)):
            continue
        values = cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        is_negative = (values < 0) & (name in counts)
        is_invalid = np.isinf(values) | is_negative
        if is_invalid.any():
            found.add(name, "a count ≥ 0" if is_negative.any() else "finite", cells, is_invalid)
            changed[place] = pc.if_else(pa.array(is_invalid), None, cells)
    return replace_columns(batch, changed)
