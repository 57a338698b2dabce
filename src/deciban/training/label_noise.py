"""A table in which some labels are wrong, on purpose: a share of them replaced by another class, always the same."""

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


def below(number: NDArray[np.int64], share: float, draw: int = 1) -> NDArray[np.bool_]:
    """Whether rows are among a share of them drawn at random, by their numbers alone; `draw` tells draws apart."""
    return mixed(number, draw) < share * 2.0**64


def mixed(number: NDArray[np.int64], times: int = 1) -> NDArray[np.uint64]:
    """Row numbers shuffled so many times over: each time another order."""
    order = hash_row_numbers(number)
    for _ in range(times - 1):
        order = hash_row_numbers(order.view(np.int64))
    return order


@dataclass(frozen=True)
class Flipped(SourceView):
    """The rows of a source, a share of its labels each replaced by another of the classes; the rows held out stay.

    A larger share flips the labels that a smaller one flips, to the same classes, and more.
    """

    target: str
    classes: Sequence[str]
    share: float
    held_out: float

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        names, read = LevelEncoder(self.classes), 0
        for batch in self.source.batches(wanted):
            place = batch.schema.get_field_index(self.target)
            codes = names.encode(batch.column(place))
            number = np.arange(read, read + len(codes))
            read += len(codes)
            yield batch.set_column(place, self.target, self._labels(self.flip(codes, number)))

    def flip(self, codes: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
        """The classes that these rows, by their numbers, are said to be of; −1 for none stays."""
        K = len(self.classes)
        chosen = below(number, self.share, draw=2) & ~below(number, self.held_out) & (codes >= 0)
        step = 1 + (mixed(number, 3) % np.uint64(max(1, K - 1))).astype(np.int64)
        return np.where(chosen, (codes + step) % K, codes)

    def _labels(self, codes: NDArray[np.int64]) -> Any:
        import pyarrow as pa

        return pa.array(list(self.classes), pa.string()).take(pa.array(codes, mask=codes < 0))
