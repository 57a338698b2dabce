"""Views of a source: some of its rows only, or with columns that are copied unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.sources.source import ColumnReading, SourceView

COPIED_PREFIX = "\0carried:"
"""The prefix of the names of copied columns; no column of a file can begin with it."""


@dataclass(frozen=True)
class RowRange(SourceView):
    """A view of `count` rows of a source from row `start` (the first is 0); later rows are not read."""

    start: int
    count: int

    @property
    def n_rows(self) -> int | None:
        """See `Source.n_rows`."""
        return self.count

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
        """Yield the wanted and the copied columns; a cell of both is read once, as text, and converted here."""
        texts: ColumnReading = "text"
        read = {**wanted, **dict.fromkeys(self.copied, texts)}
        both = [n for n in self.copied if wanted.get(n) == "number"] if not self.typed else []
        for batch in self.source.batches(read):
            columns = [
                _parse_numbers(batch.column(name), name, self) if name in both else batch.column(name)
                for name in wanted
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


def decode_dictionary(array: Any) -> Any:
    """Return the values of a dictionary array; other arrays are returned unchanged."""
    if not pa.types.is_dictionary(array.type):
        return array
    return array.dictionary.take(array.indices)


def _parse_numbers(texts: Any, column: str, source: SourceView) -> Any:
    """Parse texts of a column as numbers, by the rules for CSV files; raise an InputError for one that is none."""
    from deciban.sources.markers import MISSING_NUMBERS

    words = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    known = pc.if_else(pc.is_in(words, pa.array(MISSING_NUMBERS)), pa.scalar(None, pa.string()), words)
    try:
        return pc.replace_substring(known, source.decimal, ".").cast(pa.float64())
    except pa.ArrowInvalid as error:
        value = str(error).split("'")[1] if "'" in str(error) else "a text"
        raise InputError(
            f"column {column!r} of {source.name} holds {value!r}, which is not a number. "
            f"Hint: --missing {value!r} treats it as a missing value"
        ) from None
