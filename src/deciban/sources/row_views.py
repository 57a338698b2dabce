"""Views of a source: some of its rows only, or with columns that are copied unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from deciban._lazy import pa
from deciban.sources.arrow_types import decode_dictionary
from deciban.sources.source import ColumnReading, SourceView

COPIED_PREFIX = "\0carried:"
"""The prefix of the names of copied columns; no column of a file can begin with it."""


def find_base(source: Any) -> Any:
    """Return the source that a view is of, through any number of views; a source that is no view as it is."""
    while isinstance(source, SourceView):
        source = source.source
    return source


@dataclass(frozen=True)
class RowRange(SourceView):
    """A view of `count` rows of a source from row `start` (the first is 0); later rows are not read."""

    start: int
    count: int
    n_rows: ClassVar[Any] = property(attrgetter("count"))

    @property
    def first_row(self) -> int:
        """See `SourceView.first_row`."""
        return super().first_row + self.start

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.source.head(self.start + min(n, self.count)).slice(self.start)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        skip, left = self.start, self.count
        for batch in self.source.batches(wanted):
            part = batch.slice(min(skip, batch.num_rows), left)
            skip = max(0, skip - batch.num_rows)
            left -= part.num_rows
            if part.num_rows:
                yield part
            if not left:
                return


@dataclass(frozen=True)
class CopyingView(SourceView):
    """A view of a source whose batches also hold some columns unchanged, under names of their own."""

    copied: Sequence[str]

    def empty_columns(self) -> list[Any]:
        """Return the copied columns without rows, for their types; the first row of the source is read for that."""
        head = self.source.head(1)
        return [decode_dictionary(head.column(name).combine_chunks().slice(0, 0)) for name in self.copied]

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """Yield the wanted and the copied columns; a cell of both is read once, as it is, and converted later."""
        as_it_is: ColumnReading = "as it is"
        read = {**wanted, **dict.fromkeys(self.copied, as_it_is)}
        for batch in self.source.batches(read):
            columns = [
                self.trim(batch.column(name)) if name in self.copied and reading == "text" else batch.column(name)
                for name, reading in wanted.items()
            ]
            columns += [batch.column(name) for name in self.copied]
            names = [*wanted, *(COPIED_PREFIX + name for name in self.copied)]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def copied_columns(self, batches: Sequence[Any]) -> list[Any]:
        """Return each copied column of these batches, from `batches`, as one array; dictionaries are decoded."""
        return [
            pa.concat_arrays([decode_dictionary(batch.column(COPIED_PREFIX + name)) for batch in batches])
            for name in self.copied
        ]
