"""Parquet files, read by pyarrow: a row group at a time, texts as the dictionaries they are stored as.

Measured on 10⁷ rows × 13 columns: 1.0 s by row groups, 2.3 by `iter_batches`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.source import Reading
from deciban.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_AT_ONCE = 1 << 21
"""Cells of a row group that are held at once; larger groups are read in batches."""


@dataclass(frozen=True)
class Parquet:
    """Parquet files, one after the other."""

    paths: Sequence[str]
    schema: pa.Schema
    n_rows: int
    typed: bool = True
    fills_cores: bool = False

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])

    @classmethod
    def open(cls, paths: Sequence[str]) -> Self:
        """Read the schemas and row counts; all files must have the same columns."""
        files = [_file(path) for path in paths]
        for path, file in zip(paths, files):
            if file.schema_arrow.names != files[0].schema_arrow.names:
                raise InputError(f"{path!r} has other columns than {paths[0]!r}")
        return cls(paths, files[0].schema_arrow, sum(file.metadata.num_rows for file in files))

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.schema.names)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        import pyarrow as pa

        kept: list[Any] = []
        for path in self.paths:
            for batch in _file(path).iter_batches(batch_size=n):
                kept.append(batch)
                if sum(part.num_rows for part in kept) >= n:
                    return pa.Table.from_batches(kept).slice(0, n)
        return pa.Table.from_batches(kept, schema=None if kept else self.schema).slice(0, n)

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        texts = [field.name for field in self.schema if field.name in wanted and _is_text(field.type)]
        for path in self.paths:
            try:
                yield from _row_groups(_file(path, texts), list(wanted))
            except (OSError, ValueError) as error:
                raise InputError(f"{path!r} is damaged: {str(error).splitlines()[0]}") from None


def _row_groups(file: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
    for group in range(file.num_row_groups):
        if file.metadata.row_group(group).num_rows * max(1, len(columns)) <= MOST_AT_ONCE * 8:
            yield from file.read_row_group(group, columns=columns).combine_chunks().to_batches()
        else:
            yield from file.iter_batches(MOST_AT_ONCE // max(1, len(columns)), row_groups=[group], columns=columns)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _file(path: str, texts: Sequence[str] = ()) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, read_dictionary=list(texts), memory_map=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path!r} is no Parquet file: {str(error).splitlines()[0]}") from None
