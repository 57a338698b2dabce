"""JSON lines, read by DuckDB; texts that look like dates stay texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.database import READ_AT_ONCE, Complaints, as_it_is, connection, literal, quoted
from deciban.engines.arrow.source import FileOptions, Reading
from deciban.errors import InputError, list_names

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_LINE = 1 << 20
TYPES = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "BOOLEAN")
"""Types that are kept; everything else is read as text."""


@dataclass(frozen=True)
class Lines:
    """Files with one JSON object a line."""

    paths: Sequence[str]
    types: Mapping[str, str]
    n_rows: int | None = None
    typed: bool = True
    fills_cores: bool = True

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """Names and kinds of the columns, from all lines: true and false, numbers, and everything else as text."""
        _check_case(paths[0])
        with Complaints(f"{paths[0]!r} cannot be read as JSON lines"):
            (line,) = connection().sql(f"from {_reader(paths, 'sample_size=-1, map_inference_threshold=-1')}").types
        if line.id != "struct":
            raise InputError(
                f"{paths[0]!r} holds no JSON objects, one a line. Hint: --format (format=) names another format"
            )
        kinds = {name: str(kind) for name, kind in line.children}
        return cls(paths, {name: kind if kind in TYPES else "VARCHAR" for name, kind in kinds.items()})

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.types)

    def _relation(self, wanted: Iterable[str], more: str = "") -> Any:
        fields = ", ".join(f"{quoted(name)} {self.types[name]}" for name in wanted)
        columns = f"columns={{line: {literal(f'STRUCT({fields})')}}}"
        return connection().sql(f"from {_reader(self.paths, columns)} {more}")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        import pyarrow as pa

        with Complaints(f"{self.name} cannot be read as JSON lines"):
            lines = self._relation(self.types, f"limit {n}").to_arrow_table().column(0).combine_chunks()
        return pa.Table.from_arrays(lines.flatten(), list(self.types))

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        import pyarrow as pa

        with Complaints(f"{self.name} cannot be read as JSON lines"):
            for batch in self._relation(wanted).to_arrow_reader(READ_AT_ONCE):
                yield pa.RecordBatch.from_arrays(batch.column(0).flatten(), list(wanted))


def _check_case(path: str) -> None:
    """DuckDB takes names that differ only in their case for one."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as file:
        line = bytes(file.read(FIRST_LINE)).split(b"\n")[0]
    try:
        names = list(json.loads(line))
    except ValueError:
        return  # DuckDB says what is wrong
    spelled = Counter(str(name).lower() for name in names)
    twice = [name for name in names if isinstance(name, str) and spelled[name.lower()] > 1]
    if twice:
        some = list_names([repr(name) for name in twice], 6)
        raise InputError(f"{path!r} has columns that differ only in case: {some}. Hint: rename one of them")


def _reader(paths: Sequence[str], more: str) -> str:
    """A reader that gives each line as one struct: with 20 000 columns DuckDB took 9 s, with as many fields 1."""
    files = ", ".join(literal(as_it_is(path)) for path in paths)
    return f"read_json([{files}], format='newline_delimited', records=false, {more})"
