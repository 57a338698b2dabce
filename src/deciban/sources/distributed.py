"""Tables whose parts lie on many machines: what these do with a part, and what travels between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from deciban._lazy import pa
from deciban.sources.date_formats import DateFormat
from deciban.sources.new_formats import FORMAT_ROWS
from deciban.sources.number_formats import NumberFormat
from deciban.sources.row_views import find_base
from deciban.sources.source import ColumnReading, Source, SourceView

T = TypeVar("T")


class DistributedSource(Source, Protocol):
    """A table whose parts lie on many machines, and are worked on there; `batches` refuses to fetch all rows."""

    advice: str
    """A sentence for reports on how the table would be read faster; empty where there is none."""

    def reduce(
        self,
        work: Callable[[Source, int], T],
        merge: Callable[[T, T], T],
        dump: Callable[[T], bytes],
        load: Callable[[bytes], T],
        wanted: Sequence[str],
    ) -> T | None:
        """Return the merged results of `work` on each part, a source with the wanted columns, and its number.

        Results travel as the bytes of `dump`. Parts without rows are left out; None where no part has rows.
        """

    def choose_kept(self, keep: Sequence[str] | None) -> list[str]:
        """Return the columns that are kept with the predictions, for None the default ones; refuse unknown ones."""

    def transform(
        self,
        work: Callable[[Source, int], Iterator[pa.RecordBatch]],
        kept: Sequence[str],
        added: pa.Schema,
        wanted: Collection[str],
    ) -> Any:
        """Return a distributed frame of the rows that `work` yields for each part: kept columns, and added ones.

        Only the columns that are wanted or kept are read.
        """


@dataclass(frozen=True)
class PartView(SourceView):
    """A part of a table; its first rows, by which the formats of cells are decided, are those of the whole table."""

    first_rows: Any

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.first_rows.slice(0, n)


def fetch_first_rows(base: DistributedSource, readings: Mapping[str, ColumnReading]) -> Any:
    """Return the first rows of the columns whose cells decide how they are read; None where there is no such column.

    If each part decided by its own rows, two could read 01/02/2024 differently.
    """
    names = [name for name, how in readings.items() if isinstance(how, (NumberFormat, DateFormat))]
    names = [name for name in names if name in set(base.columns)]
    return base.head(FORMAT_ROWS).select(names) if names else None


def distributed_base(source: Any) -> DistributedSource | None:
    """Return the distributed source itself that a view is of; None for a local one."""
    base = find_base(source)
    return base if hasattr(base, "reduce") and hasattr(base, "transform") else None


def replace_base(source: Any, base: Any) -> Any:
    """Return a view with another source in place of the one that it is a view of; `base` for a source itself."""
    if not isinstance(source, SourceView):
        return base
    return replace(source, source=replace_base(source.source, base))
