"""JSON lines files, read by DuckDB; texts that look like dates stay texts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from deciban._lazy import duckdb, pa
from deciban.errors import InputError, list_names
from deciban.sources.database import (
    PLAIN_FILES,
    ROWS_PER_BATCH,
    check_gzip,
    common_compression,
    connect,
    convert_duckdb_errors,
    format_paths,
    quote_name,
    quote_text,
)
from deciban.sources.source import ColumnReading, FileOptions, FileSource

FORMAT = "format='newline_delimited'"
INFERENCE = "sample_size=-1, maximum_sample_files=1000000, maximum_depth=2, map_inference_threshold=-1"
"""Types are inferred from all lines of all files, not of the first 32; no object is a map for having many keys."""

SMALL_BYTES = 1 << 24
"""Files up to this size have their types inferred again for `head`: to name 20 000 types takes DuckDB 0.3 s."""

TYPES = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "BOOLEAN")
"""Types that are kept; everything else is read as text."""


@dataclass(frozen=True)
class Lines(FileSource):
    """Files with one JSON object per line."""

    types: Mapping[str, str]
    n_rows: int | None = None
    typed: bool = True
    fills_cores: bool = True
    is_inferred: bool = False
    """Whether the types are all as DuckDB infers them from a small file."""

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """Read names and types of the columns from all lines: booleans, numbers, and everything else as text."""
        for path in paths:
            check_gzip(path)
        if not any(os.path.getsize(path) for path in paths):
            raise InputError(f"{paths[0]!r} is empty. Hint: each line holds a JSON object")
        with convert_duckdb_errors(f"{paths[0]!r} cannot be read as JSON lines"):
            try:
                (line,) = connect(paths).sql(f"from {_reader(paths, INFERENCE)}").types
            except duckdb.NotImplementedException:  # keys of an object differ only in case
                raise InputError(
                    f"{paths[0]!r} has columns that differ only in case: {_find_equal_names(paths)}. "
                    f"Hint: rename one of them"
                ) from None
        if line.id != "struct":
            raise InputError(
                f"{paths[0]!r} holds lines that are no JSON objects, or that have a key without a name. "
                f"Hint: --format (format=) names another format"
            )
        kinds = {name: str(kind) for name, kind in line.children}
        types = {name: kind if kind in TYPES else "VARCHAR" for name, kind in kinds.items()}
        is_small = sum(map(os.path.getsize, paths)) <= SMALL_BYTES
        return cls(paths, types, is_inferred=is_small and types == kinds)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.types)

    def _relation(self, wanted: Iterable[str], more: str = "") -> Any:
        fields = ", ".join(f"{quote_name(name)} {self.types[name]}" for name in wanted)
        columns = f"columns={{line: {quote_text(f'STRUCT({fields})')}}}"
        return connect(self.paths).sql(f"from {_reader(self.paths, columns)} {more}")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with convert_duckdb_errors(f"{self.name} cannot be read as JSON lines"):
            if self.is_inferred:
                relation = connect(self.paths).sql(f"from {_reader(self.paths, INFERENCE)} limit {n}")
            else:
                relation = self._relation(self.types, f"limit {n}")
            lines = relation.to_arrow_table().column(0).combine_chunks()
        return pa.Table.from_arrays(lines.flatten(), list(self.types))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        with convert_duckdb_errors(f"{self.name} cannot be read as JSON lines"):
            for batch in self._relation(wanted).to_arrow_reader(ROWS_PER_BATCH):
                yield pa.RecordBatch.from_arrays(batch.column(0).flatten(), list(wanted))


def _find_equal_names(paths: Sequence[str]) -> str:
    """Find keys that differ only in their case, which DuckDB takes for one name."""
    objects = (
        f"read_json_objects([{format_paths(paths)}], {FORMAT}, compression={quote_text(common_compression(paths))})"
    )
    keys = connect(paths).sql(f"select distinct unnest(json_keys(json)) from {objects}").fetchall()
    count = Counter(key.lower() for (key,) in keys)
    return list_names(sorted(repr(key) for (key,) in keys if count[key.lower()] > 1))


def _reader(paths: Sequence[str], more: str) -> str:
    """Return a call of DuckDB's reader, each line one struct: 20 000 columns took 9 s, as many fields 1 s."""
    return (
        f"read_json([{format_paths(paths)}], {FORMAT}, records=false, "
        f"compression={quote_text(common_compression(paths))}, {PLAIN_FILES}, {more})"
    )
