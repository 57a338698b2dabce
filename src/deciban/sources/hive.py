"""Columns from the names of folders, `year=2024/month=05/day.csv`, as Hive, Spark and DuckDB write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import unquote

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.source import ColumnReading, SourceView

MISSING_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The text that stands for a missing value in a folder's name."""


@dataclass(frozen=True)
class Partitioned(SourceView):
    """Files with additional columns, categories whose values are in the names of their folders."""

    values: Sequence[Mapping[str, str | None]]

    @classmethod
    def open(cls, source: Any) -> Self:
        """Parse the folders' names; raise an error for a name that is a column of the files."""
        values = [_parse_folders(path) for path in source.paths]
        for path, found in zip(source.paths, values):
            if list(found) != list(values[0]):
                raise InputError(
                    f"the folders of {path!r} name {list(found)}, those of {source.paths[0]!r} {list(values[0])}. "
                    f"Hint: files read together need the same KEY=VALUE folders"
                )
        if not values[0]:
            raise InputError(
                f"no folder of {source.paths[0]!r} is named KEY=VALUE. Hint: leave --hive (hive=True) out"
            )
        for key in values[0]:
            if key in source.columns:
                raise InputError(
                    f"{key!r} is a column of {source.name}, and a folder is named {key}={values[0][key] or ''}. "
                    f"Hint: rename one of them, or leave --hive (hive=True) out to read the column of the file"
                )
        return cls(source, values)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return [*self.source.columns, *self.values[0]]

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        tables: list[Any] = []
        for source, values in self._files():
            table = source.head(n - sum(part.num_rows for part in tables))
            for key, value in values.items():
                table = table.append_column(key, pa.chunked_array([_repeat(value, table.num_rows)]))
            tables.append(table)
            if sum(part.num_rows for part in tables) >= n:
                break
        return pa.concat_tables(tables, promote_options="permissive")

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        own = {name: reading for name, reading in wanted.items() if name not in self.values[0]}
        read: Mapping[str, ColumnReading] = own or {self.source.columns[0]: "text"}
        for source, values in self._files():
            for batch in source.batches(read):
                columns = [
                    batch.column(name) if name in own else _repeat(values[name], batch.num_rows) for name in wanted
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(wanted))

    def _files(self) -> Iterator[tuple[Any, Mapping[str, str | None]]]:
        """Yield each file as a source of its own, and the values of its folders."""
        whole: Any = self.source
        for path, values in zip(whole.paths, self.values):
            yield replace(whole, paths=[path]), values


def _parse_folders(path: str) -> dict[str, str | None]:
    """Parse the keys and values in the names of a file's folders, from the first to the last.

    >>> _parse_folders("sales/year=2024/shop=caf%C3%A9/day=__HIVE_DEFAULT_PARTITION__/a=b.csv")
    {'year': '2024', 'shop': 'café', 'day': None}
    """
    found: dict[str, str | None] = {}
    for folder in path.replace("\\", "/").split("/")[:-1]:
        key, equals, value = folder.partition("=")
        if not equals or not key:
            continue
        key = unquote(key)
        if key in found:
            raise InputError(f"two folders of {path!r} are named {key}=. Hint: rename one of them")
        found[key] = None if value == MISSING_VALUE else unquote(value)
    return found


def _repeat(value: str | None, n_rows: int) -> Any:
    """Return a column that has one value in all rows."""
    import numpy as np

    codes = pa.nulls(n_rows, pa.int32()) if value is None else pa.array(np.zeros(n_rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([] if value is None else [value], pa.string()))
