"""The Ledger: everything a generative classifier must remember of its data, as one value that adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deciban.errors import ForgetError, InputError
from deciban.ledger.counts import Counts
from deciban.ledger.schema import Block, Schema, unite
from deciban.ledger.statistic import Array, Lacking, Statistic, take_away
from deciban.ledger.tallies import Tallies


@dataclass(frozen=True, eq=False)
class Ledger:
    """Weight of each class's rows, and one statistic for each block of the schema.

    `a + b` is the ledger of both data, `a - b` of what is left of a, `a * f` of a whose rows each weigh f
    times as much. Classes are united, features lined up by name; what cannot be lined up is refused.
    """

    schema: Schema
    rows: Array
    parts: tuple[Statistic, ...]

    @property
    def n_rows(self) -> float:
        """The weight of all rows."""
        return float(self.rows.sum())

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Ledger):
            return NotImplemented
        schema, a, b = _aligned(self, other)
        parts = tuple(_joined(x, y, lambda x, y: x + y) for x, y in zip(a.parts, b.parts))
        return type(self)(schema, a.rows + b.rows, parts)

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, Ledger):
            return NotImplemented
        schema, a, b = _aligned(self, other)
        with _named(schema, None):
            rows = take_away(a.rows, b.rows, "weight")
        parts = []
        for block, x, y in zip(schema.blocks, a.parts, b.parts):
            with _named(schema, block):
                parts.append(_joined(x, y, lambda x, y: x - y))
        return type(self)(schema, rows, tuple(parts))

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        if not (np.isfinite(factor) and factor >= 0):
            raise InputError(f"a ledger can be scaled by a finite factor ≥ 0, not by {factor!r}")
        f = float(factor)
        return type(self)(self.schema, self.rows * f, tuple(part * f for part in self.parts))

    __rmul__ = __mul__
    __array_ufunc__ = None  # an array times a ledger is no array of ledgers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ledger)
            and self.schema == other.schema
            and np.array_equal(self.rows, other.rows)
            and all(a == b for a, b in zip(_dense_if_mixed(self, other), _dense_if_mixed(other, self)))
        )

    def __hash__(self) -> int:
        return hash(self.schema.fingerprint)

    def empty(self) -> Self:
        """The neutral element: the same schema, nothing learned."""
        return self * 0.0

    @property
    def nbytes(self) -> int:
        """How much memory the sums take."""
        return sum(array.nbytes for part in self.parts for array in part.arrays().values())

    def __repr__(self) -> str:
        blocks = ", ".join(f"{b.kind} of {b.width}" for b in self.schema.blocks)
        return f"<Ledger: weight {self.n_rows:g} in {len(self.rows)} classes; {blocks}; {self.schema.fingerprint}>"


@contextmanager
def _named(schema: Schema, block: Block | None) -> Iterator[None]:
    """Word a refusal with the names of class and feature."""
    try:
        yield
    except Lacking as lack:
        names = block.names if block is not None else None
        feature = None if lack.j is None else str(lack.j) if names is None else repr(names[lack.j])
        raise ForgetError(lack.worded(repr(schema.classes[lack.k]), feature)) from None


def _aligned(a: Ledger, b: Ledger) -> tuple[Schema, Ledger, Ledger]:
    if a.schema == b.schema:
        return a.schema, a, b
    schema, move_a, move_b = unite(a.schema, b.schema)
    moved = [
        Ledger(schema, move.rows(x.rows), tuple(move.apply(i, p) for i, p in enumerate(x.parts)))
        for x, move in ((a, move_a), (b, move_b))
    ]
    return schema, moved[0], moved[1]


def _joined(a: Any, b: Any, operation: Callable[[Any, Any], Statistic]) -> Statistic:
    """Sparse and dense counts meet as dense ones, unless both are sparse."""
    if isinstance(a, Tallies) and isinstance(b, Counts):
        a = a.dense()
    if isinstance(a, Counts) and isinstance(b, Tallies):
        b = b.dense()
    return operation(a, b)


def _dense_if_mixed(a: Ledger, b: Ledger) -> list[Statistic]:
    return [x.dense() if isinstance(x, Tallies) and isinstance(y, Counts) else x for x, y in zip(a.parts, b.parts)]
