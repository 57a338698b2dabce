"""The table that is open: where it lies, its columns, its first rows, and its corrected labels."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.formatting import format_count
from deciban.sources.arrow_types import decode_dictionary
from deciban.sources.document_files import TEXT
from deciban.sources.row_views import RowRange
from deciban.sources.source import ColumnReading, FileOptions, Source, SourceView, open_source

DESCRIBED_ROWS = 2000
"""The number of first rows from which a page describes the columns."""


@dataclass(frozen=True)
class DataSet:
    """A table in a file of this machine; its rows stay in the file."""

    path: str
    name: str
    """The name that pages, command lines and Python lines show: of a dropped file its own name, without a folder."""
    columns: tuple[str, ...]
    head: Any = field(repr=False)
    """An Arrow table of the first rows; of a file without types, as text."""
    n_rows: int | None
    """The number of rows, which may be an estimate; None where it is not known before they are read."""
    example: str = ""
    """The name of the bundled table, if it is one."""
    labels: Mapping[int, str | None] = field(default_factory=dict)
    """The labels of rows, counted from 0, that were corrected; None: the row is to be learned no more."""
    labelled: str = ""
    """The column of the corrected labels."""
    is_estimated: bool = False
    """Whether `n_rows` is estimated from the size of the file, whose rows were not all read yet."""

    @classmethod
    def open(cls, path: str, name: str | None = None, example: str = "") -> DataSet:
        """Open a table; a file that cannot be read is an InputError."""
        source = open_source(path, None, FileOptions())
        head, columns = source.head(DESCRIBED_ROWS), tuple(source.columns)
        opened = cls(path, name or path, columns, head, head.num_rows, example)
        if head.num_rows < DESCRIBED_ROWS:
            return opened
        return replace(opened, n_rows=source.n_rows, is_estimated=not source.typed or columns == (TEXT,))

    def source(self) -> Source:
        """Return the table with its corrected labels, to be read from its beginning."""
        source = open_source(self.path, None, FileOptions())
        return RelabelledView(source, self.labelled, self.labels) if self.labels else source

    @property
    def table(self) -> Any:
        """The table as `deciban.train` takes it: the path or, where labels were corrected, the open table."""
        return self.source() if self.labels else self.path

    def with_label(self, row: int, label: str | None, target: str) -> DataSet:
        """Return the table with another label of a row, counted from 0; None: without one. See `relabel_array`."""
        head = self.head
        if row < head.num_rows:
            place = head.schema.get_field_index(target)
            cells = relabel_array(head.column(place).combine_chunks(), {row: label})
            head = head.set_column(place, target, cells)
        kept = self.labels if target == self.labelled else {}
        return replace(self, head=head, labels={**kept, row: label}, labelled=target)

    def read_rows(self, start: int, count: int) -> Any:
        """Return `count` rows from row `start` (the first is 0) as an Arrow table of texts; none beyond the last."""
        if start + count <= self.head.num_rows or self.head.num_rows < DESCRIBED_ROWS:
            return pa.table({name: _to_texts(self.head.column(name)) for name in self.columns}).slice(start, count)
        view = RowRange(self.source(), start, count)
        batches = list(view.batches(dict.fromkeys(self.columns, "text")))
        table = pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in self.columns})
        return pa.table({name: _to_texts(table.column(name)) for name in self.columns})

    def read_cells(self, rows: Sequence[int], columns: Sequence[str]) -> dict[int, dict[str, str | None]]:
        """Return the cells of some columns as texts, by row, for rows anywhere in the table, in one pass."""
        wanted, first, found = sorted(rows), 0, dict[int, dict[str, str | None]]()
        for batch in self.source().batches(dict.fromkeys(columns, "text")):
            here = [row - first for row in wanted if first <= row < first + batch.num_rows]
            if here:
                part = pa.table({name: _to_texts(batch.column(name).take(pa.array(here))) for name in columns})
                found |= zip([row + first for row in here], part.to_pylist())
            first += batch.num_rows
            if not wanted or first > wanted[-1]:
                break
        return found

    @property
    def row_count(self) -> str:
        """The number of rows in words, an estimate in two digits; empty where it is not known.

        >>> DataSet("a.csv", "a.csv", ("x", "y"), None, 32604, is_estimated=True).row_count
        'about 33 000 rows'
        """
        if self.n_rows is None:
            return ""
        if self.is_estimated:
            return f"about {format_count(float(f'{self.n_rows:.2g}'), 'row')}"
        return format_count(self.n_rows, "row")

    @property
    def size_bytes(self) -> int:
        """The size of the file; 0 where it has none."""
        return os.path.getsize(self.path) if os.path.isfile(self.path) else 0

    @property
    def stem(self) -> str:
        """The file's name without folder and ending, to name other files by."""
        return os.path.basename(self.name).partition(".")[0] or "table"

    @property
    def training_name(self) -> str:
        """The name of the file to train on: with corrected labels, the one that the page Take away writes."""
        return f"{self.stem}-corrected.csv" if self.labels else self.name

    @property
    def shell_name(self) -> str:
        """The name as a word of a command line."""
        return quote_path(self.name)


@dataclass(frozen=True)
class RelabelledView(SourceView):
    """A table in which the target of some rows, counted from 0, is another; None: the row has no label.

    A row without a label is not learned, so it is as if it had been removed, and the others keep their numbers.
    """

    target: str
    labels: Mapping[int, str | None]

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        table = self.source.head(n)
        return pa.Table.from_batches(
            [self._relabel(batch, 0) for batch in table.combine_chunks().to_batches()], table.schema
        )

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        first = 0
        for batch in self.source.batches(wanted):
            yield self._relabel(batch, first)
            first += batch.num_rows

    def _relabel(self, batch: Any, first: int) -> Any:
        """Return a batch, whose first row has this number, with the corrected labels."""
        rows = {row - first: label for row, label in self.labels.items() if first <= row < first + batch.num_rows}
        place = batch.schema.get_field_index(self.target)
        if not rows or place < 0:
            return batch
        return batch.set_column(place, self.target, relabel_array(batch.column(place), rows))


def relabel_array(array: Any, labels: Mapping[int, str | None]) -> Any:
    """Return an array with other labels at some places, in its own type; InputError for one that it cannot hold."""
    kind, cells = array.type, decode_dictionary(array).to_pylist()
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    for place, label in labels.items():
        try:
            cells[place] = None if label is None else pa.scalar(label).cast(plain).as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"{label!r} is no label of this column, whose type is {plain}") from None
    changed = pa.array(cells, plain)
    return changed.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else changed


def quote_path(path: str) -> str:
    """Return a path as a word of a command line that is no option.

    >>> quote_path("my table.csv"), quote_path("-x.csv")
    ("'my table.csv'", './-x.csv')
    """
    return shlex.quote(path if not path.startswith("-") else f"./{path}")


def _to_texts(column: Any) -> Any:
    """Return a column as texts; missing values stay missing."""
    return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
