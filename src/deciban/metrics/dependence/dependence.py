"""Dependence: how far the naive assumption is violated, pair by pair, and what to do about it.

What the advice is worth is measured in docs/lab/dependence.md: found in one half of a table, tried on the other.
While numbers were judged by tables of bins and blocks had no bound, it lost on two tables (thirty columns of
ionosphere in one block more than doubled its log-loss; measured once, by a script that is not kept): so blocks of
numbers are judged as bells, and are only as large as their rarest class can bear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.formatting import aligned, give_or_take, number, percent
from deciban.ledger.statistic import divide
from deciban.metrics.dependence.pair_dependence import Sample, correlations, entropies, measured, with_class
from deciban.plain_json import plain

Action = Literal["drop", "join", "leave"]

SURE = 0.01
"""Among all pairs together, the chance that one of independent features is taken for dependent (Bonferroni)."""

REPEATS = 0.8
"""A feature repeats another that tells so much of its entropy within the classes."""

SAME_NUMBER = 0.95
"""Numbers that are correlated so much within the classes repeat each other."""

ERRORS = 2.0
"""Standard errors by which two joined, or one alone, must tell the class better than both naively."""

ROWS_PER_PARAMETER = 5
"""Rows that the rarest class should have for each variance and covariance of a block of more than two numbers."""

SHOWN, LONGEST = 12, 32
"""Pairs that are printed, and characters of their names."""

HEAD = ("pair", "given class", "without", "p", "twice", "do")
"""What stands above the lines that `Pair.cells` makes."""


@dataclass(frozen=True)
class Pair:
    """Two features, in decibans a row (10 is a factor of ten).

    `conditional` is I(X;Y|C), their mutual information given the class, with its standard error; naive Bayes takes it
    for 0. `marginal` is I(X;Y), whatever the class. Both are free of bias: on average 0 for independent features, so
    that they may be below. `p_value` is the chance of as much given the class, were they independent there.
    `double_counted`: evidence for the true class against another that naive Bayes counts twice; below 0, evidence
    that it misses. `gain`: how much better the class is told by the two joined than naively, a row left out each
    time. Both have standard errors. For two numbers also the `correlation` within classes and −½ ln(1 − ρ²),
    `gaussian`. `repeats`: the share of what one of them says within a class that the other one tells.
    """

    first: str
    second: str
    conditional: float
    error: float
    marginal: float
    p_value: float
    double_counted: float
    double_counted_error: float
    gain: float
    gain_error: float
    correlation: float
    gaussian: float
    repeats: float
    rows: float
    action: Action

    def cells(self, name: str) -> list[str]:
        """A line of a table under `HEAD`, worded for people."""
        given = give_or_take(self.conditional, self.error, 2)
        twice = give_or_take(self.double_counted, self.double_counted_error, 2)
        chance = "< 0.001" if self.p_value < 0.001 else number(self.p_value, 3)
        return [name, given, number(self.marginal, 2), chance, twice, self.action]


@dataclass(frozen=True)
class Advice:
    """What to do about features that depend on each other: drop the first of these, or join them; and why."""

    action: Action
    features: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        what = f"drop {self.features[0]}" if self.action == "drop" else f"join {', '.join(self.features)}"
        return f"{what}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Dependence:
    """How much the features tell about each other, given the class and without it; see `Pair` for the figures.

    `matrix` (given the class) and `marginal` are d×d, `information` is I(X;C) of each feature, in decibans a row;
    `rows` were looked at, `fewest` of them are of the rarest class.
    """

    target: str
    features: tuple[str, ...]
    roles: tuple[str, ...]
    rows: int
    rows_read: int
    fewest: int
    information: Array
    figures: Mapping[str, Array]

    @classmethod
    def of(cls, sample: Sample, target: str, roles: Sequence[str], rows_read: int) -> Dependence:
        """What a sample of rows says; `roles` of the features."""
        figures = measured(sample)
        figures["correlation"], figures["gaussian"] = correlations(sample)
        entropy = entropies(sample)
        figures["repeats"] = divide(figures["conditional"], np.minimum.outer(entropy, entropy))
        names = tuple(feature.name for feature in sample.features)
        seen = np.bincount(sample.codes)
        fewest = int(seen[seen > 0].min())
        return cls(target, names, tuple(roles), len(sample.codes), rows_read, fewest, with_class(sample), figures)

    @property
    def matrix(self) -> Array:
        """I(X;Y|C) of all pairs, d×d; a feature beside itself has none."""
        return _mirrored(self.figures["conditional"])

    @property
    def marginal(self) -> Array:
        """I(X;Y) of all pairs, d×d."""
        return _mirrored(self.figures["marginal"])

    @cached_property
    def actions(self) -> dict[tuple[int, int], Action]:
        """What to do about each pair that something is to be done about."""
        f, d = self.figures, len(self.features)
        pairs = max(1, d * (d - 1) // 2)
        with np.errstate(invalid="ignore"):
            dependent = f["p_value"] * pairs < SURE
            same = (f["repeats"] >= REPEATS) | (np.abs(f["correlation"]) >= SAME_NUMBER)
            same |= f["single"] > ERRORS * f["single_error"]
            more = f["beyond"] > ERRORS * f["beyond_error"]
            joined = (f["joining"] > ERRORS * f["joining_error"]) & more & self._joinable
            drop = np.argwhere(np.triu(dependent & same & ~joined & ~more, 1))
            join = np.argwhere(np.triu(dependent & joined, 1))
        found: dict[tuple[int, int], Action] = dict.fromkeys(((i, j) for i, j in drop.tolist()), "drop")
        found.update(dict.fromkeys(((i, j) for i, j in join.tolist()), "join"))
        return found

    @cached_property
    def _joinable(self) -> Any:
        """Numbers with numbers, flags and categories with each other."""
        kind = np.array([{"flag": 1, "category": 1, "date": -1}.get(role, 0) for role in self.roles])
        return (kind[:, None] == kind) & (kind[:, None] >= 0)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs, those first that depend on each other most, given the class."""
        rows, columns = np.triu_indices(len(self.features), 1)
        values = self.figures["conditional"][rows, columns]
        order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
        return tuple(self._pair(int(rows[i]), int(columns[i])) for i in order)

    def _pair(self, i: int, j: int) -> Pair:
        told = {name: float(values[i, j]) for name, values in self.figures.items()}
        same = ("conditional", "error", "marginal", "p_value", "correlation", "gaussian", "repeats", "rows")
        return Pair(
            self.features[i], self.features[j], double_counted=told["twice"],
            double_counted_error=told["twice_error"], gain=told["joining"], gain_error=told["joining_error"],
            action=self.actions.get((i, j), "leave"), **{name: told[name] for name in same},
        )  # fmt: skip

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """Which features to drop and which to join; what is dropped is not joined."""
        dropped = self._dropped()
        drops = tuple(Advice("drop", (self.features[j], self.features[i]), why) for j, (i, why) in dropped.items())
        return drops + tuple(self._joins(set(dropped)))

    def _dropped(self) -> dict[int, tuple[int, str]]:
        """Features that repeat one that stays, and which; of two the one that tells less about the class goes."""
        found: dict[int, tuple[int, str]] = {}
        wished = [pair for pair, action in self.actions.items() if action == "drop"]
        for i, j in sorted(wished, key=lambda pair: -self.figures["repeats"][pair]):
            if i in found or j in found:
                continue
            gone, kept = (i, j) if self.information[i] < self.information[j] else (j, i)
            found[gone] = (kept, f"{self.features[kept]} tells {_how_much(self, i, j)}")
        return found

    def _joins(self, dropped: set[int]) -> list[Advice]:
        """Blocks by what joining their pairs gains: of numbers all that hang together, of categories two."""
        gain = self.figures["joining"]
        wished = [pair for pair, action in self.actions.items() if action == "join" and not dropped & {*pair}]
        block: dict[int, list[int]] = {}
        room = self.fewest / ROWS_PER_PARAMETER
        for i, j in sorted(wished, key=lambda pair: -gain[pair]):
            mine, its = block.get(i, [i]), block.get(j, [j])
            levels = self.roles[i] in ("flag", "category")
            together = sorted({*mine, *its})
            d = len(together)
            if mine is its or (d > 2 if levels else d > 2 and d * (d + 1) / 2 > room):
                continue
            block |= dict.fromkeys(together, together)
        distinct = {tuple(members) for members in block.values()}
        worth = {
            members: max(gain[i, j] for i in members for j in members if (i, j) in self.actions)
            for members in distinct
        }
        return [
            Advice(
                "join",
                tuple(self.features[j] for j in members),
                f"{worth[members]:+.2g} dB a row for their best pair alone",
            )
            for members in sorted(distinct, key=lambda members: -worth[members])
        ]

    @property
    def blocks(self) -> list[list[str]]:
        """The columns that are advised to be joined, as `deciban.train(..., blocks=...)` takes them."""
        return [list(advice.features) for advice in self.advice if advice.action == "join"]

    @property
    def drop(self) -> list[str]:
        """The columns that are advised to be dropped."""
        return [advice.features[0] for advice in self.advice if advice.action == "drop"]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it, in decibans; what has no value is null."""
        told = {
            "target": self.target, "rows": self.rows, "rows_read": self.rows_read, "unit": "decibans a row",
            "features": [
                {"feature": name, "role": role, "information": told}
                for name, role, told in zip(self.features, self.roles, self.information.tolist())
            ],
            "pairs": [asdict(pair) for pair in self.pairs],
            "advice": [{**asdict(advice), "text": str(advice)} for advice in self.advice],
            "blocks": self.blocks,
            "drop": self.drop,
        }  # fmt: skip
        found: dict[str, Any] = plain(told)
        return found

    def __str__(self) -> str:
        shown = self.pairs[:SHOWN]
        table = aligned(
            [HEAD, *(pair.cells(f"{pair.first}, {pair.second}"[:LONGEST]) for pair in shown)], left=(0, 5)
        )
        title = f"{self.target}: what {len(self.features)} features tell about each other, in decibans a row"
        more = len(self.pairs) - len(shown)
        left = [f"  … and {more} pairs more"] if more else []
        return "\n".join([title, *(f"  {line}" for line in table), *left, *map(str, self.advice)])


def _how_much(found: Dependence, i: int, j: int) -> str:
    """How much of a feature another one tells."""
    share, correlation = found.figures["repeats"][i, j], found.figures["correlation"][i, j]
    if np.isfinite(correlation) and abs(correlation) >= SAME_NUMBER:
        return f"the same (correlation {correlation:.2f} within classes)"
    if share >= REPEATS:
        return f"{percent(min(share, 1.0), 0)} of it within classes"
    return f"more alone than both naively, {found.figures['single'][i, j]:.2g} dB a row"


def _mirrored(upper: Array) -> Array:
    """A symmetric matrix of what stands above the diagonal."""
    return np.where(np.isnan(upper), upper.T, upper)
