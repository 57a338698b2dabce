"""Markers of missing values: texts, such as `?` and `NA`, that stand where there is no value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.sources.arrow_texts import make_texts, replace_nulls
from deciban.sources.arrow_types import from_numpy, is_text, replace_columns, without_null_in_dictionary
from deciban.sources.source import ColumnReading, SourceView, read_spread

MISSING_MARKERS = (
    "?", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null",
    "#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!",
)  # fmt: skip
"""Texts that stand for a missing value in a column of any kind: those of R, pandas, Weka, SQL and spreadsheets.

`None`, `-` and `.` are not among them: they are values as often (no basement, a negative result)."""

MISSING_NUMBERS = (*MISSING_MARKERS, "None", "-", ".")
"""Texts that stand for a missing number in a column of numbers."""

MarkerCounts = dict[str, Counter[str]]
"""The number of cells of each marker, for each column that has any."""


@dataclass(frozen=True)
class WithoutMarkers(SourceView):
    """A view of a source in which markers are missing values, counted while all rows are read.

    `kept` has, for a column, texts that are values there although they are markers: the declared classes.
    """

    markers: tuple[str, ...]
    kept: Mapping[str, Collection[str]] = field(default_factory=dict)
    counts: MarkerCounts = field(default_factory=dict)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`; its markers are added to `counts`, which a reading of all rows clears."""
        return self._remove_and_count(self.source.head(n), set(self.columns))

    def read_spread(self, n: int) -> pa.Table:
        """See `source.read_spread`; its markers are added to `counts` too."""
        return self._remove_and_count(read_spread(self.source, n), set(self.columns))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; `counts` is cleared first, and then has the markers of the wanted columns."""
        self.counts.clear()
        self.number_markers.clear()
        for batch in self.source.batches(wanted):
            yield self._remove_and_count(batch, wanted) if self.markers else batch

    def all_counts(self) -> dict[str, dict[str, int]]:
        """Return the counts of the last reading by column, those of markers within columns of numbers too."""
        own, others, none = self.counts, self.number_markers, Counter[str]()
        found = {name: own.get(name, none) | others.get(name, none) for name in self.columns}  # cells of both once
        return {name: dict(counts) for name, counts in found.items() if counts}

    def _remove_and_count(self, data: Any, names: Collection[str]) -> Any:
        """Return a batch or table with nulls in place of the markers of these columns, and add them to `counts`."""
        changed: dict[int, Any] = {}
        for place, kind in enumerate(data.schema):
            if not is_text(kind.type) or kind.name not in names:
                continue
            markers = [marker for marker in self.markers if marker not in self.kept.get(kind.name, ())]
            column, counts = remove_markers(data.column(place), markers)
            if counts:
                self.counts.setdefault(kind.name, Counter()).update(counts)
                changed[place] = column
        return replace_columns(data, changed)


def remove_markers(column: Any, markers: Sequence[str]) -> tuple[Any, Counter[str]]:
    """Return a column of texts with nulls in place of markers, and the number of cells of each marker.

    >>> import pyarrow as pa
    >>> column, counts = remove_markers(pa.array(["no", "?", "yes", "?"]), ["?", "NA"])
    >>> column.to_pylist(), counts
    (['no', None, 'yes', None], Counter({'?': 2}))
    """
    if isinstance(column, pa.ChunkedArray):
        found = [remove_markers(chunk, markers) for chunk in column.chunks]
        total: Counter[str] = sum((counts for _, counts in found), Counter())
        return (pa.chunked_array([chunk for chunk, _ in found]) if total else column), total
    if pa.types.is_dictionary(column.type):
        return _remove_from_dictionary(column, markers)
    places, which = _find_markers(column, markers)
    if not len(places):
        return column, Counter()
    is_marker = np.zeros(len(column), dtype=np.bool_)
    is_marker[places] = True
    bits = pa.py_buffer(np.packbits(is_marker, bitorder="little"))
    mask = pa.Array.from_buffers(pa.bool_(), len(column), [None, bits])
    return pc.if_else(mask, pa.nulls(1, column.type)[0], column), _count_by_marker(which, markers)


def _remove_from_dictionary(column: Any, markers: Sequence[str]) -> tuple[Any, Counter[str]]:
    """Do the work of `remove_markers` for a dictionary-encoded column: look up its distinct texts alone."""
    values, found = remove_markers(column.dictionary, markers)
    if not found:
        return column, Counter()
    places, which = _find_markers(column.dictionary, markers)
    codes = replace_nulls(column.indices.cast(pa.int64()), -1)
    n_rows = np.bincount(codes + 1, minlength=len(column.dictionary) + 1)[1 + places].tolist()
    counts = Counter({markers[i]: n for i, n in zip(which.tolist(), n_rows) if n})
    changed = pa.DictionaryArray.from_arrays(column.indices, values, ordered=column.type.ordered)
    return without_null_in_dictionary(changed), counts


def count_markers(texts: Any, markers: Sequence[str]) -> Counter[str]:
    """Return the number of cells of each marker in an array of texts."""
    return _count_by_marker(_find_markers(texts, markers)[1], markers)


def _count_by_marker(which: NDArray[Any], markers: Sequence[str]) -> Counter[str]:
    """Return the number of cells of each marker, given the index of the marker in each cell that has one."""
    return Counter({markers[i]: int(n) for i, n in enumerate(np.bincount(which).tolist()) if n})


def _find_markers(texts: Any, markers: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the positions of the markers in an array of texts, and the index of the marker at each."""
    places = _find_candidates(texts, markers)
    if not len(places):
        return places, places
    candidates = texts.take(from_numpy(places))
    which = replace_nulls(pc.index_in(candidates, value_set=make_texts(markers, texts.type)), -1)
    return places[which >= 0], which[which >= 0]


def _find_candidates(texts: Any, markers: Sequence[str]) -> NDArray[np.int64]:
    """Return the positions of texts that have the first byte and the length of a marker.

    Looking all texts up took 12 ns for each; this takes 3, and leaves few.
    """
    _, buffer, utf8 = texts.buffers()
    if utf8 is None or not utf8.size or not markers:
        return np.zeros(0, dtype=np.int64)
    dtype = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    offsets: NDArray[Any] = np.frombuffer(buffer, dtype=dtype)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(utf8, dtype=np.uint8)
    encoded = [marker.encode(errors="surrogatepass") for marker in markers]
    keys = [(marker[0], len(marker)) for marker in encoded]
    is_first, is_key = np.zeros(256, dtype=np.bool_), np.zeros((256, 1 + max(size for _, size in keys)), np.bool_)
    for first, size in keys:
        is_first[first] = is_key[first, size] = True
    first_bytes, sizes = content.take(offsets[:-1], mode="clip"), np.diff(offsets)
    places = np.flatnonzero(is_first.take(first_bytes) & (sizes < is_key.shape[1]))
    return places[is_key[first_bytes[places], sizes[places]]]
