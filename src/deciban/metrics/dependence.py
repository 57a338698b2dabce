"""The dependence report: how far the naive assumption is violated, pair by pair, and which columns to drop or join.

The value of the advice is measured in docs/lab/dependence.md: found in one half of a table, tried on the other.
While numbers were compared by tables of bins and blocks had no bound, it lost on two tables (thirty columns of
ionosphere in one block more than doubled its log-loss; measured once, by a script that is not kept): so blocks of
numbers are compared as Gaussians, and are only as large as the rows of their rarest class allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.docstrings import document
from deciban.formatting import align_columns, format_count, format_number, format_percent, format_with_error
from deciban.ledger.statistic import divide
from deciban.metrics import pair_dependence
from deciban.metrics.pair_dependence import Sample
from deciban.plain_json import to_plain
from deciban.result import FrameKind, make_frame

Action = Literal["drop", "join", "leave"]

FALSE_DEPENDENCE_PROBABILITY = 0.01
"""The probability, for all pairs together, that independent features are called dependent (Bonferroni)."""

MIN_REPEATED_SHARE = 0.8
"""The share of a feature's entropy within the classes from which another one that predicts it repeats it."""

MIN_REPEATED_CORRELATION = 0.95
"""The absolute correlation within the classes from which two numbers repeat each other."""

MIN_GAIN_ERRORS = 2.0
"""The number of standard errors by which two joined features, or one alone, must predict better than both naively."""

ROWS_PER_PARAMETER = 5
"""The rows of the rarest class for each variance and covariance of a block of more than two numbers."""

MAX_PRINTED_PAIRS, MAX_PAIR_NAME_CHARACTERS = 12, 32
"""The number of pairs that are printed, and of characters of their names."""

HEAD = ("pair", "given class", "without", "p", "twice", "do")
"""The headings of the lines that `Pair.cells` returns."""


@dataclass(frozen=True)
class Pair:
    """The dependence figures of two features, in decibans per row (10 is a factor of ten).

    `conditional` is I(X;Y|C), their mutual information given the class, with its standard error; naive Bayes assumes
    0. `marginal` is I(X;Y), regardless of the class. Both are corrected for bias: on average 0 for independent
    features, so that they may be negative. `p_value` is the probability of as much given the class if they are
    independent given the class. `double_counted`: evidence for the true class against another that naive Bayes counts
    twice; below 0, evidence that it misses. `gain`: the gain in ln p(class) of joining the two over the naive model,
    by leave-one-out. Both have standard errors. For two numbers also the `correlation` within classes and
    −½ ln(1 − ρ²), `gaussian`. `repeats`: the share of the entropy of one of them within a class that the other
    explains.
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
        """Return a line of a printed table under `HEAD`; `name` is that of the pair."""
        given = format_with_error(self.conditional, self.error, 2)
        twice = format_with_error(self.double_counted, self.double_counted_error, 2)
        chance = "< 0.001" if self.p_value < 0.001 else format_number(self.p_value, 3)
        return [name, given, format_number(self.marginal, 2), chance, twice, self.action]


PAIR_FIGURES = tuple(field.name for field in fields(Pair) if field.type is float)
"""The fields of `Pair` that are figures of the two features."""


@dataclass(frozen=True)
class Advice:
    """Advice on features that depend on each other: drop or leave the first of them, or join them; and the reason."""

    action: Action
    features: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.action} {', '.join(self.features if self.action == 'join' else self.features[:1])}: {self.reason}"
        )


@document()
@dataclass(frozen=True, eq=False, repr=False)
class Dependence:
    """The dependence of all pairs of features, given the class and without it; `dependence` returns it.

    All figures are in decibans per row; `Pair` documents them.

    Parameters
    ----------
    target : str
        The column of the classes.
    features : tuple of str
        The features whose pairs were measured.
    roles : tuple of str
        The role of each feature.
    rows : int
        The number of rows of the sample.
    rows_read : int
        The number of rows of the table.
    fewest : int
        The number of rows of the rarest class in the sample.
    information : array
        I(X;C) of each feature.
    figures : mapping of str to array
        A d×d matrix for each figure of `Pair`, and for more of `MATRIX_FIGURES`, filled above the diagonal.

    Examples
    --------
    >>> import deciban
    >>> flags = {"wet": ["yes", "no"] * 20, "grey": ["yes", "no", "yes", "yes"] * 10}
    >>> flags["rain"] = ["yes", "no", "no", "no"] * 10
    >>> found = deciban.dependence(flags, target="rain")
    >>> found.features, found.matrix.shape
    (('wet', 'grey'), (2, 2))
    >>> found.to_frame("arrow").num_rows
    1
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
    def of(cls, sample: Sample, target: str, roles: Sequence[str], rows_read: int) -> "Dependence":
        """Measure the dependence in a sample of rows; `roles` are those of the features, `rows_read` all rows."""
        figures = pair_dependence.measure_pairs(sample)
        figures["correlation"], figures["gaussian"] = pair_dependence.correlate_within_classes(sample)
        entropy = pair_dependence.compute_conditional_entropies(sample)
        figures["repeats"] = divide(figures["conditional"], np.minimum.outer(entropy, entropy))
        names = tuple(feature.name for feature in sample.features)
        seen = np.bincount(sample.codes)
        fewest = int(seen[seen > 0].min())
        information = pair_dependence.compute_class_information(sample)
        return cls(target, names, tuple(roles), len(sample.codes), rows_read, fewest, information, figures)

    @property
    def matrix(self) -> Array:
        """I(X;Y|C) of all pairs, d×d; NaN on the diagonal."""
        return _mirror(self.figures["conditional"])

    @property
    def marginal(self) -> Array:
        """I(X;Y) of all pairs, d×d."""
        return _mirror(self.figures["marginal"])

    @cached_property
    def actions(self) -> dict[tuple[int, int], Action]:
        """The action for each pair (i, j), i < j, that is to be joined, or of which one is to be dropped."""
        f, d = self.figures, len(self.features)
        n_pairs = max(1, d * (d - 1) // 2)
        with np.errstate(invalid="ignore"):
            dependent = f["p_value"] * n_pairs < FALSE_DEPENDENCE_PROBABILITY
            same = (f["repeats"] >= MIN_REPEATED_SHARE) | (np.abs(f["correlation"]) >= MIN_REPEATED_CORRELATION)
            same |= f["single"] > MIN_GAIN_ERRORS * f["single_error"]
            more = f["beyond"] > MIN_GAIN_ERRORS * f["beyond_error"]
            # numbers can be joined with numbers, flags and categories with each other, dates with none
            kind = np.array([{"flag": 1, "category": 1, "date": -1}.get(role, 0) for role in self.roles])
            joinable = (kind[:, None] == kind) & (kind[:, None] >= 0)
            joined = (f["gain"] > MIN_GAIN_ERRORS * f["gain_error"]) & more & joinable
            chosen: dict[Action, Any] = {"drop": dependent & same & ~joined & ~more, "join": dependent & joined}
        return {
            (i, j): action for action, pairs in chosen.items() for i, j in np.argwhere(np.triu(pairs, 1)).tolist()
        }

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs, the most dependent given the class first."""
        rows, columns = np.triu_indices(len(self.features), 1)
        values = self.figures["conditional"][rows, columns]
        order = np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")
        found = []
        for i, j in zip(rows[order].tolist(), columns[order].tolist()):
            figures = {name: float(self.figures[name][i, j]) for name in PAIR_FIGURES}
            action = self.actions.get((i, j), "leave")
            found.append(Pair(self.features[i], self.features[j], **figures, action=action))
        return tuple(found)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """The features to drop and those to join; a dropped feature is not joined.

        A part of a date that repeats another feature is left where another part of the date is kept.
        """
        repeated = self._find_drops()
        kept = {self._name_column(j) for j in range(len(self.features)) if j not in repeated}
        drops = [
            replace(advice, action="leave", reason=f"{advice.reason}, but a date is dropped as a whole or not at all")
            if self._name_column(j) in kept
            else advice
            for j, advice in repeated.items()
        ]
        return (*drops, *self._find_joins(set(repeated)))

    def _name_column(self, feature: int) -> str:
        """Return the column that a feature is read from: of a part of a date the date."""
        name = self.features[feature]
        return name.rpartition(".")[0] if self.roles[feature] == "date" else name

    def _find_drops(self) -> dict[int, Advice]:
        """Return the features that repeat another, each with its advice; of two the less informative is dropped."""
        found: dict[int, Advice] = {}
        pairs = [pair for pair, action in self.actions.items() if action == "drop"]
        for i, j in sorted(pairs, key=lambda pair: -self.figures["repeats"][pair]):
            if i in found or j in found:
                continue
            gone, kept = (i, j) if self.information[i] < self.information[j] else (j, i)
            names = self.features[gone], self.features[kept]
            found[gone] = Advice("drop", names, f"{names[1]} {self._describe_repetition(i, j)}")
        return found

    def _describe_repetition(self, i: int, j: int) -> str:
        """Describe how much of one of two features the other explains."""
        share, correlation = self.figures["repeats"][i, j], self.figures["correlation"][i, j]
        if np.isfinite(correlation) and abs(correlation) >= MIN_REPEATED_CORRELATION:
            return f"repeats it (correlation {correlation:.2f} within classes)"
        if share >= MIN_REPEATED_SHARE:
            return f"explains {format_percent(min(share, 1.0), 0)} of it within classes"
        return f"predicts more alone than both naively, {self.figures['single'][i, j]:.2g} dB a row"

    def _find_joins(self, dropped: set[int]) -> list[Advice]:
        """Return the advice to join groups of numbers and pairs of categories, the largest gain of a pair first."""
        gains = self.figures["gain"]
        pairs = [pair for pair, action in self.actions.items() if action == "join" and not dropped & {*pair}]
        block: dict[int, list[int]] = {}
        max_parameters = self.fewest / ROWS_PER_PARAMETER
        for i, j in sorted(pairs, key=lambda pair: -gains[pair]):
            first, second = block.get(i, [i]), block.get(j, [j])
            levels = self.roles[i] in ("flag", "category")
            members = sorted({*first, *second})
            d = len(members)
            if first is second or (d > 2 if levels else d > 2 and d * (d + 1) / 2 > max_parameters):
                continue
            block |= dict.fromkeys(members, members)
        best_gain = {
            tuple(members): max(gains[i, j] for i in members for j in members if (i, j) in self.actions)
            for members in block.values()
        }
        return [
            Advice("join", tuple(self.features[j] for j in group), f"{gain:+.2g} dB a row for their best pair alone")
            for group, gain in sorted(best_gain.items(), key=lambda item: -item[1])
        ]

    @property
    def blocks(self) -> list[list[str]]:
        """The columns that should be joined, as `deciban.train(..., blocks=...)` takes them."""
        return [list(advice.features) for advice in self.advice if advice.action == "join"]

    @property
    def drop(self) -> list[str]:
        """The columns that should be dropped, whose role `deciban.train(..., roles=...)` takes as "skip"."""
        dropped = [self.features.index(advice.features[0]) for advice in self.advice if advice.action == "drop"]
        return list(dict.fromkeys(map(self._name_column, dropped)))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as JSON values, in decibans; NaN is null."""
        values = {
            "target": self.target, "rows": self.rows, "rows_read": self.rows_read, "unit": "decibans a row",
            "features": [
                {"feature": name, "role": role, "information": decibans}
                for name, role, decibans in zip(self.features, self.roles, self.information.tolist())
            ],
            "pairs": [asdict(pair) for pair in self.pairs],
            "advice": [{**asdict(advice), "text": str(advice)} for advice in self.advice],
            "blocks": self.blocks,
            "drop": self.drop,
        }  # fmt: skip
        return to_plain(values)

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each pair, the most dependent first, and the figures of `Pair`."""
        return make_frame({f.name: [getattr(pair, f.name) for pair in self.pairs] for f in fields(Pair)}, kind)

    def __repr__(self) -> str:
        steps = [str(each).removesuffix(f": {each.reason}") for each in self.advice if each.action != "leave"]
        advice = "; ".join(steps) or "nothing to drop or to join"
        features, rows = format_count(len(self.features), "feature"), format_count(self.rows, "row")
        return f"<Dependence: {features} given {self.target}, {rows}; {advice}>"

    def __str__(self) -> str:
        shown = self.pairs[:MAX_PRINTED_PAIRS]
        table = align_columns(
            [HEAD, *(pair.cells(f"{pair.first}, {pair.second}"[:MAX_PAIR_NAME_CHARACTERS]) for pair in shown)],
            left=(0, 5),
        )
        title = f"{self.target}: dependence of {format_count(len(self.features), 'feature')}, in decibans a row"
        more = len(self.pairs) - len(shown)
        left = [f"  … and {format_count(more, 'more pair')}"] if more else []
        return "\n".join([title, *(f"  {line}" for line in table), *left, *map(str, self.advice)])


def _mirror(upper: Array) -> Array:
    """Return the symmetric matrix of one that is filled above the diagonal and NaN elsewhere."""
    return np.where(np.isnan(upper), upper.T, upper)
