"""Labels of single rows that are corrected: a view of a table in which they are others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.row_views import decode_dictionary
from deciban.sources.source import ColumnReading, SourceView


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
    """Return an array with other labels at some places, in its own type; refuse one that the type cannot hold."""
    kind, cells = array.type, decode_dictionary(array).to_pylist()
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    for place, label in labels.items():
        try:
            cells[place] = None if label is None else pa.scalar(label).cast(plain).as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"{label!r} is no label of this column, whose type is {plain}") from None
    changed = pa.array(cells, plain)
    return changed.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else changed
