"""A source seen differently: some of its rows only, or with columns that are carried along as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban.errors import InputError
from deciban.sources.source_view import View

if TYPE_CHECKING:
    import pyarrow as pa

    from deciban.sources.source import Reading

CARRIED = "\0carried:"
"""Before the name of a column that is carried along; no column of a file can begin so."""


@dataclass(frozen=True)
class Part(View):
    """`count` rows of a source, from row `start` on (the first is 0); what comes after is not read."""

    start: int
    count: int

    @property
    def n_rows(self) -> int | None:
        """See `Source.n_rows`."""
        return self.count

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.source.head(self.start + min(n, self.count)).slice(self.start)

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
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
class Carrying(View):
    """A source whose batches also hold some columns just as they stand in it, under names of their own."""

    carried: Sequence[str]

    def nothing(self) -> list[Any]:
        """The carried columns without a row, for their types."""
        head = self.source.head(1)
        return [plain(head.column(name).combine_chunks().slice(0, 0)) for name in self.carried]

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """The wanted columns, and the carried ones; a cell is read once, as text, and made a number here."""
        import pyarrow as pa

        texts: Reading = "text"
        read = {**wanted, **dict.fromkeys(self.carried, texts)}
        both = [n for n in self.carried if wanted.get(n) == "number"] if not self.typed else []
        for batch in self.source.batches(read):
            columns = [self._as_wanted(batch, name, name in both) for name in wanted]
            columns += [batch.column(name) for name in self.carried]
            names = [*wanted, *(CARRIED + name for name in self.carried)]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def _as_wanted(self, batch: Any, name: str, convert: bool) -> Any:
        if not convert:
            return batch.column(name)
        return _doubles(batch.column(name), name, self.name, self.decimal)

    def carried_by(self, batches: Sequence[Any]) -> list[Any]:
        """The carried columns of these batches."""
        import pyarrow as pa

        return [pa.concat_arrays([plain(batch.column(CARRIED + name)) for batch in batches]) for name in self.carried]


def plain(array: Any) -> Any:
    """The values themselves where they are told by a dictionary."""
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    values = values.cast(pa.string()) if pa.types.is_string_view(values.type) else values  # views cannot be taken
    return values.take(array.indices).cast(array.type.value_type)


def _doubles(texts: Any, column: str, name: str, decimal: str) -> Any:
    """Texts as numbers, by the rules that a file's numbers are read by."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from deciban.sources.csv_files import MISSING_NUMBERS

    words = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    known = pc.if_else(pc.is_in(words, pa.array(MISSING_NUMBERS)), pa.scalar(None, pa.string()), words)
    try:
        return pc.replace_substring(known, decimal, ".").cast(pa.float64())
    except pa.ArrowInvalid as error:
        strange = str(error).split("'")[1] if "'" in str(error) else "a text"
        raise InputError(
            f"column {column!r} of {name} holds {strange!r}, which is no number. "
            f"Hint: --missing {strange!r} says that it stands for nothing"
        ) from None
