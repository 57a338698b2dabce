"""JSON lines, read by DuckDB; texts that look like dates stay texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.database import (
    PLAIN_FILES,
    READ_AT_ONCE,
    Complaints,
    binder_errors,
    check_gzip,
    compression,
    connection,
    file_list,
    literal,
    quoted,
)
from deciban.engines.arrow.source import FileOptions, Reading
from deciban.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "format='newline_delimited'"
INFERENCE = "sample_size=-1, maximum_sample_files=1000000, maximum_depth=2, map_inference_threshold=-1"
"""Types are inferred from all lines of all files, not of the first 32; no object is a map for having many keys."""

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
        for path in paths:
            check_gzip(path)
        with Complaints(f"{paths[0]!r} cannot be read as JSON lines"):
            try:
                described = connection().sql(f"describe select * from {_reader(paths, INFERENCE)}").fetchall()
            except binder_errors():
                raise InputError(
                    f"{paths[0]!r} holds lines that are no JSON objects, or that have a key without a name. "
                    f"Hint: --format (format=) names another format"
                ) from None
            names = [name for name, *_ in described]
            _refuse_alike(paths, names)
        types = {name: kind if kind in (*NUMBERS, "BOOLEAN") else "VARCHAR" for name, kind, *_ in described}
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


def _refuse_alike(paths: Sequence[str], names: Sequence[str]) -> None:
    """Refuse keys that differ only in their case: DuckDB takes `a` and `A` for one, and calls the second `A_1`."""
    lower = {name.lower() for name in names}
    if not any(name.lower().rpartition("_")[0] in lower for name in names):
        return
    objects = f"read_json_objects([{file_list(paths)}], {FORMAT}, compression={literal(compression(paths))})"
    keys = connection().sql(f"select distinct unnest(json_keys(json)) from {objects}").fetchall()
    count = Counter(key.lower() for (key,) in keys)
    alike = sorted(key for (key,) in keys if count[key.lower()] > 1)
    if alike:
        raise InputError(f"{paths[0]!r} has columns that differ only in case: {alike}. Hint: rename one of them")


def _reader(paths: Sequence[str], more: str) -> str:
    return (
        f"read_json([{file_list(paths)}], {FORMAT}, records='true', "
        f"compression={literal(compression(paths))}, {PLAIN_FILES}, {more})"
    )
