"""JSON lines, read by DuckDB; texts that look like dates stay texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.database import READ_AT_ONCE, Complaints, as_it_is, connection, literal, quoted
from deciban.engines.arrow.source import FileOptions, Reading
from deciban.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_LINE = 1 << 20
NUMBERS = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE")


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
        found = connection()
        with Complaints(f"{paths[0]!r} cannot be read as JSON lines"):
            described = found.sql(f"describe select * from {_reader(paths, 'sample_size=-1')}").fetchall()
        types = {name: kind if kind in (*NUMBERS, "BOOLEAN") else "VARCHAR" for name, kind, *_ in described}
        if list(types) == ["json"]:
            raise InputError(
                f"{paths[0]!r} holds no JSON objects, one a line. Hint: --format (format=) names another format"
            )
        return cls(paths, types)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.types)

    def _relation(self, wanted: Sequence[str]) -> Any:
        types = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in self.types.items())
        chosen = ", ".join(quoted(name) for name in wanted)
        return connection().sql(f"select {chosen} from {_reader(self.paths, f'columns={{{types}}}')}")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with Complaints(f"{self.name} cannot be read as JSON lines"):
            return self._relation(self.columns).limit(n).to_arrow_table()

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        with Complaints(f"{self.name} cannot be read as JSON lines"):
            yield from self._relation(list(wanted)).to_arrow_reader(READ_AT_ONCE)


def _check_case(path: str) -> None:
    """DuckDB takes names that differ only in their case for one."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as file:
        line = bytes(file.read(FIRST_LINE)).split(b"\n")[0]
    try:
        names = list(json.loads(line))
    except ValueError:
        return  # DuckDB says what is wrong
    twice = [
        name for name in names if isinstance(name, str) and [str(n).lower() for n in names].count(name.lower()) > 1
    ]
    if twice:
        raise InputError(f"{path!r} has columns that differ only in case: {twice}. Hint: rename one of them")


def _reader(paths: Sequence[str], more: str) -> str:
    files = ", ".join(literal(as_it_is(path)) for path in paths)
    return f"read_json([{files}], format='newline_delimited', {more})"
