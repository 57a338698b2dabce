"""Label noise: a table with a share of its labels replaced by another class, the same ones each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import hash_row_numbers
from deciban.sources.level_encoder import LevelEncoder
from deciban.sources.source import Reading, SourceView

if TYPE_CHECKING:
    import pyarrow as pa


def is_drawn(number: NDArray[np.int64], share: float, draw: int = 1) -> NDArray[np.bool_]:
    """Return whether rows are in a random sample of this share, by their numbers alone; each `draw` is another."""
    return hash_repeatedly(number, draw) < share * 2.0**64


def hash_repeatedly(number: NDArray[np.int64], times: int = 1) -> NDArray[np.uint64]:
    """Hash row numbers `times` times: each time another order."""
    order = hash_row_numbers(number)
    for _ in range(times - 1):
        order = hash_row_numbers(order.view(np.int64))
    return order


@dataclass(frozen=True)
class FlippedLabels(SourceView):
    """The rows of a source, a share of their labels replaced by another class; the labels of held-out rows stay.

    A larger share flips the labels that a smaller one flips, to the same classes, and more.
    """

    target: str
    classes: Sequence[str]
    share: float
    held_out: float

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of the source with flipped labels; see `Source.batches`."""
        names, read = LevelEncoder(self.classes), 0
        for batch in self.source.batches(wanted):
            place = batch.schema.get_field_index(self.target)
            codes = names.encode(batch.column(place))
            number = np.arange(read, read + len(codes))
            read += len(codes)
            yield batch.set_column(place, self.target, self._labels(self.flip(codes, number)))

    def flip(self, codes: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the flipped class codes of rows, given their numbers; −1 for none stays."""
        K = len(self.classes)
        chosen = is_drawn(number, self.share, draw=2) & ~is_drawn(number, self.held_out) & (codes >= 0)
        step = 1 + (hash_repeatedly(number, 3) % np.uint64(max(1, K - 1))).astype(np.int64)
        return np.where(chosen, (codes + step) % K, codes)

    def _labels(self, codes: NDArray[np.int64]) -> Any:
        import pyarrow as pa

        return pa.array(list(self.classes), pa.string()).take(pa.array(codes, mask=codes < 0))
