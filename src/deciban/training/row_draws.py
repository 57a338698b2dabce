"""Random draws of rows for learning curves: those held out, and the order in which the others are learned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.model.summarise_table import Rows
from deciban.training.table_diagnostics import HELD_OUT_SHARE, MIN_CURVE_ROWS

MAX_CURVE_ROWS = 5_120
"""The number of rows at which learning curves end: by then the differences of the learners have shown."""

MAX_HELD_OUT_ROWS = 10_000
"""The number of rows that are held out of a draw, at most."""


@dataclass(frozen=True)
class RowDraws:
    """Repeated random splits of rows: those held out, and the order in which the others are learned.

    Both are stratified by class, as far as possible, so that few rows are not of one class alone. `codes` are the
    classes of the rows, `sizes` the numbers of rows that are learned.
    """

    codes: NDArray[np.int32]
    n_draws: int
    n_held: int
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows, n_draws: int, wanted_sizes: Sequence[int] | None) -> "RowDraws":
        """Plan draws of the wanted sizes, or of doubling ones; sizes at which a draw has one class only are left out.

        A wanted size of more rows than are not held out is an InputError.
        """
        n = len(rows.codes)
        n_held = min(round(HELD_OUT_SHARE * n), MAX_HELD_OUT_ROWS)
        if wanted_sizes is not None and wanted_sizes[-1] > n - n_held:
            raise InputError(
                f"sizes asks for {wanted_sizes[-1]} rows, and there are {n - n_held} besides {n_held} held out. "
                f"Hint: smaller sizes"
            )
        draws = cls(rows.codes, n_draws, n_held, ())
        sizes = list_doubling_sizes(min(n - n_held, MAX_CURVE_ROWS)) if wanted_sizes is None else wanted_sizes
        classes = (rows.codes[order] for _, order in draws)
        is_other = (codes != codes[0] for codes in classes)
        until_two_classes = (int(np.argmax(other)) + 1 if other.any() else n for other in is_other)
        fewest = max(until_two_classes, default=0) if n_held else n
        return replace(draws, sizes=tuple(size for size in sizes if size >= fewest))

    def __iter__(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows held out, and the others in the order in which they are learned."""
        for seed in range(self.n_draws):
            order = _interleave_classes(self.codes, np.random.default_rng(seed))
            yield np.sort(order[: self.n_held]), order[self.n_held :]


def list_doubling_sizes(n_rows: int) -> list[int]:
    """Return the sizes 10, 20, 40 … and all rows, none for fewer than 10; the last but one is at most 1/1.4 of all.

    >>> list_doubling_sizes(100), list_doubling_sizes(88), list_doubling_sizes(9)
    ([10, 20, 40, 100], [10, 20, 40, 88], [])
    """
    smaller = [MIN_CURVE_ROWS << i for i in range(20) if (MIN_CURVE_ROWS << i) * 1.4 <= n_rows]
    return [*smaller, n_rows] if n_rows >= MIN_CURVE_ROWS else []


def _interleave_classes(codes: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a random order in which every range has about the class shares of all rows."""
    mixed = rng.permutation(len(codes))
    grouped = mixed[np.argsort(codes[mixed], kind="stable")]
    counts = np.bincount(codes)
    first = np.cumsum(counts) - counts
    each = codes[grouped]
    place = (np.arange(len(codes)) - first[each] + rng.random(len(counts))[each]) / counts[each]
    return grouped[np.argsort(place, kind="stable")]
