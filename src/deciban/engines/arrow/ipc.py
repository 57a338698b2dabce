"""Arrow files: Feather, and the stream format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.source import Reading
from deciban.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Ipc:
    """Arrow files, one after the other."""

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
        """Read the schema; other files must have the same."""
        schemas = [_reader(path).schema for path in paths]
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
        import pyarrow as pa

        for path in self.paths:
            reader = _reader(path)
            try:
                if hasattr(reader, "num_record_batches"):
                    for i in range(reader.num_record_batches):
                        yield reader.get_batch(i).select(list(wanted))
                else:
                    for batch in reader:
                        yield batch.select(list(wanted))
            except (pa.ArrowInvalid, OSError) as error:
                raise InputError(f"{path!r} is damaged: {str(error).splitlines()[0]}") from None


def _reader(path: str) -> Any:
    """The file format if it is one, else the stream format; unpacked by its ending."""
    import pyarrow as pa

    try:
        if path.endswith((".gz", ".zst")):
            content = pa.input_stream(path, compression="detect").read()
            return _either(pa.BufferReader(content))
        return _either(pa.OSFile(path))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path!r} is no Arrow file: {str(error).splitlines()[0]}") from None


def _either(file: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)
