"""Labels of single rows that are corrected: a view of a table, and the exact change of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.model.model import Model
from deciban.server.served_model import copy_model
from deciban.sources.arrow_types import decode_dictionary
from deciban.sources.row_views import RowRange
from deciban.sources.source import ColumnReading, Source, SourceView

if TYPE_CHECKING:
    from deciban.studio.data_set import DataSet


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


def relabel_in_model(model: Model, data: DataSet, row: int, label: str | None) -> Model:
    """Return the model that training would give if a row had another label, or none; the given one stays as it is.

    The row, as the table now has it, is forgotten and, with its new label, added: both exact.
    """
    changed = copy_model(model).forget(RowRange(data.source(), row, 1))
    if label is None:
        return changed
    return changed.add(RowRange(data.with_label(row, label, model.target).source(), row, 1))


def open_relabelled(source: Source, target: str, labels: Mapping[int, str | None]) -> Source:
    """Return a table with corrected labels; the table itself where there are none."""
    return RelabelledView(source, target, labels) if labels else source
