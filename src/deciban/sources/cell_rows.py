"""Rows of Python values in memory, as JSON has them: every cell has a type of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ClassVar, Self

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.arrow_sources import convert_column_errors
from deciban.sources.markers import MarkerCounts
from deciban.sources.source import ColumnReading
from deciban.sources.typed_cells import convert_columns, to_column

MAX_INTEGER = 1 << 63
"""Whole numbers beyond ± this are doubles."""


@dataclass(frozen=True)
class CellRows:
    """A table of rows in memory; a column has the type that its cells have in common, as in SQLite files.

    Texts that are numbers are read as these where a number is wanted, spaces around texts are removed, and an empty
    text is missing.
    """

    table: Any
    name: str = "the table"
    number_markers: MarkerCounts = field(default_factory=dict)
    typed, fills_cores = False, False
    columns: ClassVar[Any] = property(attrgetter("table.column_names"))
    n_rows: ClassVar[Any] = property(attrgetter("table.num_rows"))

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], name: str = "the table") -> Self:
        """Return rows, given as mappings from columns to cells, as a table; a cell that a row lacks is missing.

        >>> CellRows.of([{"age": 41, "cough": " dry"}, {"age": 40.5}]).table.to_pylist()
        [{'age': 41.0, 'cough': 'dry'}, {'age': 40.5, 'cough': None}]
        """
        columns = {}
        for column in dict.fromkeys(column for row in rows for column in row):
            cells = [row.get(column) for row in rows]
            with convert_column_errors(column):
                columns[column] = to_column([_check_cell(cell, column, i) for i, cell in enumerate(cells)])
        return cls(pa.table(columns), name)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.table.slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for batch in self.table.to_batches():
            yield convert_columns(map(batch.column, wanted), wanted, self.number_markers)


def _check_cell(cell: Any, column: str, row: int) -> Any:
    """Return a cell; refuse a list or an object, and turn a whole number that no column can hold into a double."""
    if isinstance(cell, (list, dict)):
        kind = "a list" if isinstance(cell, list) else "an object"
        raise InputError(
            f"column {column!r} holds {kind} in row {row + 1}; a cell is a number, a text, true, false or null. "
            f"Hint: give each of its values a column"
        )
    if type(cell) is int and not -MAX_INTEGER <= cell < MAX_INTEGER:
        try:
            return float(cell)
        except OverflowError:
            raise InputError(
                f"column {column!r} holds a number of {len(str(cell))} digits in row {row + 1}, which no double can "
                f"hold. Hint: write it as a text"
            ) from None
    return cell
