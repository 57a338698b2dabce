"""Arrow files: Feather (the file format) and the stream format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.errors import InputError
from deciban.sources.document_files import compression_by_name, open_decompressed
from deciban.sources.source import Reading, reword_errors, validate

if TYPE_CHECKING:
    import pyarrow as pa

FILE_MAGIC = b"ARROW1"
"""The first bytes of the file format; the stream format begins with the length of a message."""


@dataclass(frozen=True)
class Ipc:
    """Arrow files, read one after the other."""

    paths: Sequence[str]
    schema: pa.Schema
    typed: bool = True
    fills_cores: bool = False
    n_rows: int | None = None

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])

    @classmethod
    def open(cls, paths: Sequence[str]) -> Self:
        """Read the schema; all files must have the same."""
        schemas = [_read_schema(path) for path in paths]
        for path, schema in zip(paths, schemas):
            if schema != schemas[0]:
                raise InputError(f"{path!r} has other columns than {paths[0]!r}")
        return cls(paths, schemas[0])

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.schema.names)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        import pyarrow as pa

        kept: list[Any] = []
        for batch in self.batches(dict.fromkeys(self.columns, "as it is")):
            kept.append(batch)
            if sum(part.num_rows for part in kept) >= n:
                break
        return pa.Table.from_batches(kept, schema=self.schema).slice(0, n)

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for path in self.paths:
            with reword_errors(path):
                for batch in _read_batches(_open_reader(path)):
                    yield validate(batch.select(list(wanted)), repr(path))


def _read_schema(path: str) -> pa.Schema:
    with reword_errors(path, "is no Arrow file"):
        schema = _open_reader(path).schema
        len(schema.names)  # decodes the names, which may be no UTF-8
        return schema


def _read_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    """Yield all batches of either format."""
    if hasattr(reader, "num_record_batches"):
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from reader


def _open_reader(path: str) -> Any:
    """Open a file of either format; it is decompressed by its ending."""
    import pyarrow as pa

    if compression_by_name(path) is None:
        return _open_either(pa.OSFile(path))
    with open_decompressed(path) as file:
        return _open_either(pa.BufferReader(file.read()))


def _open_either(file: Any) -> Any:
    import pyarrow as pa

    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
