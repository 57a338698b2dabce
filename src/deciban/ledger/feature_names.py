"""The names of features, made or looked up when they are asked for: a model may have a million."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from deciban.ledger.schema import Schema


def feature_names(schema: Schema) -> Sequence[str]:
    """The features' names, or their numbers where they have none."""
    named = [Numbered(block.width) if block.names is None else block.names for block in schema.blocks]
    return named[0] if len(named) == 1 else Chained(named)


class Numbered(Sequence[str]):
    """x0, x1, x2 …, made when they are looked at."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [f"x{i}" for i in range(self.length)[j]]
        return f"x{range(self.length)[j]}"


class Chained(Sequence[str]):
    """The names of several blocks, one after the other; a million words are not copied for that."""

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self.parts = parts
        self.ends = list(accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(len(self))[j]]
        j = range(len(self))[j]
        part = bisect_right(self.ends, j)
        return self.parts[part][j - (self.ends[part - 1] if part else 0)]
