"""A source seen differently: all that a view leaves as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from deciban.sources.source import Source


@dataclass(frozen=True)
class View:
    """What a view has of its source as it is; its `batches` are its own."""

    source: Source

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return self.source.name

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return self.source.columns

    @property
    def typed(self) -> bool:
        """See `Source.typed`."""
        return self.source.typed

    @property
    def fills_cores(self) -> bool:
        """See `Source.fills_cores`."""
        return self.source.fills_cores

    @property
    def n_rows(self) -> int | None:
        """See `Source.n_rows`."""
        return self.source.n_rows

    @property
    def decimal(self) -> str:
        """The decimal mark, where numbers come as texts."""
        return getattr(self.source, "decimal", ".")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.source.head(n)
