"""Evidence: how far each feature moves the odds between two classes, in decibans.

A deciban is ten times the base-10 logarithm of an odds ratio: +10 is ten to one, +3 about two to one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DECIBAN = 10 / math.log(10)
"""Decibans in a nat: 10 / ln 10."""


class Pieces(NamedTuple):
    """A difference of scores taken apart: n×d by feature (dense or CSR), and by name what is no feature's."""

    features: Any
    extras: Mapping[str, Array] = {}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why row i went to `winner[i]` rather than `runner_up[i]`, in decibans.

    `evidence` (rows × features, sparse for wide input), `prior` and the named `extras` of a row add up to
    its `total`, ten times the base-10 logarithm of the odds of its two classes. Indexing gives single rows.
    """

    evidence: Any
    prior: Array
    total: Array
    winner: NDArray[Any]
    runner_up: NDArray[Any]
    features: Sequence[str]
    extras: Mapping[str, Array] = field(default_factory=dict)
    values: NDArray[Any] | None = None
    """What each feature was in each row, as it is to be shown, where that is known."""

    def __len__(self) -> int:
        return len(self.prior)

    def __getitem__(self, rows: int | slice) -> Self:
        """The explanation of these rows alone."""
        rows = self._slice(rows)
        return replace(
            self,
            evidence=self.evidence[rows],
            prior=self.prior[rows],
            total=self.total[rows],
            winner=self.winner[rows],
            runner_up=self.runner_up[rows],
            extras={name: values[rows] for name, values in self.extras.items()},
            values=None if self.values is None else self.values[rows],
        )

    def _slice(self, rows: int | slice) -> slice:
        if isinstance(rows, slice):
            return rows
        i = range(len(self))[rows]
        return slice(i, i + 1)

    def entries(self, row: int = 0) -> list[tuple[str, float]]:
        """(name, decibans) of everything that counted in a row, strongest first; they add up to its total."""
        row = range(len(self))[row]
        columns, values = self.told(row)
        named = [("prior", float(self.prior[row])), *((n, float(v[row])) for n, v in self.extras.items())]
        named += zip(self._shown(row, columns), values.tolist())
        return sorted(named, key=lambda entry: -abs(entry[1]))

    def told(self, row: int) -> tuple[NDArray[np.intp], Array]:
        """The features that have evidence in a row, by their numbers, and how much."""
        one = self.evidence[row : row + 1]
        if hasattr(one, "indices"):
            return one.indices[one.data != 0], one.data[one.data != 0]
        values = (one.toarray() if hasattr(one, "toarray") else np.asarray(one)).reshape(-1)
        columns = np.flatnonzero(values)
        return columns, values[columns]

    def _shown(self, row: int, columns: NDArray[np.intp]) -> list[str]:
        """The features' names, and their values where these are known."""
        named = []
        for j in columns.tolist():
            value = None if self.values is None else self.values[row, j]
            named.append(self.features[j] if value is None else f"{self.features[j]} = {value}")
        return named

    def text(self, row: int = 0, most: int = 10) -> str:
        """One row's reasons as a small table."""
        row = range(len(self))[row]
        entries = self.entries(row)
        shown, rest = entries[:most], entries[most:]
        width = max([len(name) for name, _ in shown] + [len("everything else")])
        lines = [f"{self.winner[row]} rather than {self.runner_up[row]}"]
        lines += [f"  {name:<{width}}  {decibans(value)}" for name, value in shown]
        if rest:
            lines.append(f"  {'everything else':<{width}}  {decibans(sum(v for _, v in rest))}  ({len(rest)} more)")
        lines.append(f"  {'total':<{width}}  {decibans(float(self.total[row]))}  {odds(float(self.total[row]))}")
        return "\n".join(lines)

    def __str__(self) -> str:
        shown = [self.text(row) for row in range(min(len(self), 5))]
        if len(self) > 5:
            shown.append(f"… and {len(self) - 5} rows more")
        return "\n\n".join(shown)


def decibans(value: float) -> str:
    """Evidence in writing."""
    if math.isnan(value):
        return "undefined: impossible under both classes"
    return f"{'+∞' if value > 0 else '−∞':>8} dB" if math.isinf(value) else f"{value:>+8.2f} dB"


def odds(total: float) -> str:
    """What a total comes to, as odds."""
    if math.isnan(total):
        return ""
    if abs(total) > 60:
        return "(over a million to one)" if total > 0 else "(over a million to one against)"
    ratio = 10 ** (abs(total) / 10)
    return f"({ratio:.3g} to 1{'' if total >= 0 else ' against'})"
