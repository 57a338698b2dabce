"""Evaluated rows kept for figures that sums cannot give: ranking, curves, thresholds and costs of decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_percent, format_percent_range
from deciban.ledger.hashing import hash_row_numbers
from deciban.metrics.intervals import Interval, wilson
from deciban.result import Result
from deciban.scores.posterior import REJECTED, Decision, log_odds


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """True and false positives of each threshold of a score: a point for each distinct score, highest first.

    >>> curve = Curve.from_scores(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]), np.ones(4))
    >>> curve.true_positives.tolist(), curve.false_positives.tolist()
    ([1.0, 2.0, 2.0], [0.0, 1.0, 2.0])
    >>> curve.roc_auc, round(curve.average_precision, 4)
    (0.875, 0.8333)
    """

    score: Array
    """The distinct scores, highest first."""
    true_positives: Array
    """Σw of the rows of the class that have at least this score."""
    false_positives: Array
    """Σw of all other rows that have at least this score."""

    @classmethod
    def from_scores(cls, score: Array, positive: NDArray[np.bool_], weight: Array) -> Self:
        """Build the curve of rows; rows of equal score are one point."""
        order = np.argsort(-score)  # four times as fast as a stable sort; equal scores are merged anyway
        falling = score[order]
        last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(falling) - 1)[: len(falling)]
        w, is_positive = weight[order], positive[order]
        return cls(falling[last], *(np.cumsum(np.where(rows, w, 0.0))[last] for rows in (is_positive, ~is_positive)))

    @property
    def n_positives(self) -> float:
        """Σw of the rows of the class."""
        return float(self.true_positives[-1]) if len(self.score) else 0.0

    @property
    def n_negatives(self) -> float:
        """Σw of the other rows."""
        return float(self.false_positives[-1]) if len(self.score) else 0.0

    @property
    def precision(self) -> Array:
        """The share of the class among the rows predicted as the class."""
        return self.true_positives / (self.true_positives + self.false_positives)

    @property
    def recall(self) -> Array:
        """The share of the rows of the class that are predicted as the class; NaN where there is no row of it."""
        return self.true_positives / self.n_positives if self.n_positives else np.full(len(self.score), np.nan)

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve: the probability that a row of the class scores above another, ties half."""
        if not (self.n_positives and self.n_negatives):
            return np.nan
        true, false = (np.append(0.0, sums) for sums in (self.true_positives, self.false_positives))
        return float(np.trapezoid(true / self.n_positives, false / self.n_negatives))

    @property
    def average_precision(self) -> float:
        """Σ (recall − recall before) · precision over the falling scores; NaN where there is no row of the class."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision) if self.n_positives else np.nan


MAX_KEPT_SCORES = 1 << 24
"""The number of scores (rows × classes) that are kept at most: 128 MiB. Of more rows a uniform sample is kept."""


@dataclass(frozen=True, eq=False, slots=True)
class ScoredRows:
    """Evaluated rows; `known` is None where each row's model had learned every class.

    `shift` is what was added to the numbers after they had decided which rows are kept.
    """

    number: NDArray[np.int64]
    log_posterior: Array
    truth: NDArray[np.intp]
    weight: Array
    known: NDArray[np.bool_] | None
    shift: int = 0

    def __getitem__(self, rows: NDArray[Any]) -> "ScoredRows":
        known = None if self.known is None else self.known[rows]
        own = (self.number[rows], self.log_posterior[rows], self.truth[rows], self.weight[rows], known)
        return ScoredRows(*own, self.shift)

    @classmethod
    def concatenate(cls, parts: "Sequence[ScoredRows]") -> "ScoredRows":
        """Return the rows of all parts (at least one), in the order of their numbers."""
        rows = parts[0]
        if len(parts) > 1:
            known = None
            if any(part.known is not None for part in parts):
                all_known = (np.ones(part.log_posterior.shape, dtype=bool) for part in parts)
                known = np.concatenate([k if part.known is None else part.known for part, k in zip(parts, all_known)])
            names = ("number", "log_posterior", "truth", "weight")
            arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
            rows = cls(**arrays, known=known)
        is_sorted = (rows.number[1:] >= rows.number[:-1]).all()
        return rows if is_sorted else rows[np.argsort(rows.number, kind="stable")]


@dataclass(frozen=True, eq=False)
class ScoreSample:
    """ln p(k|x), class and weight of evaluated rows; `a + b` holds the rows of both.

    Of rows with more than `MAX_KEPT_SCORES` scores together a part is kept, those whose shuffled numbers come first:
    one in 2, 4, 8 …, whatever the order in which the rows arrived. A class that a row's model had not learned has
    the probability 0: such rows are ranked last, as they are errors in other figures.

    >>> sample = ScoreSample.from_rows(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 0]))
    >>> sample.roc_auc.tolist(), (sample + sample).n_rows
    ([1.0, 1.0], 6)
    """

    parts: tuple[ScoredRows, ...]
    n_rows: int
    """The number of rows evaluated, kept or not."""
    n_halvings: int = 0
    """The number of times that the rows were halved: one row in 2^n_halvings is kept."""
    has_numbers: bool = False
    """Whether the rows' numbers were given; otherwise rows are numbered in the order of arrival."""

    @classmethod
    def from_rows(
        cls,
        log_posterior: Array,
        truth: NDArray[np.integer[Any]],
        weight: Array | None = None,
        known: NDArray[np.bool_] | None = None,
        number: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Keep rows, given as for `Scorecard.of`; `number` is each row's place in the table."""
        n, K = log_posterior.shape
        if known is not None:
            known = None if known.all() else np.broadcast_to(known, (n, K))
        rows = ScoredRows(
            np.arange(n) if number is None else np.asarray(number, dtype=np.int64),
            np.asarray(log_posterior, dtype=np.float64),
            np.asarray(truth).astype(np.intp),
            np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64),
            known,
        )
        return cls((rows,) if n else (), n, 0, number is not None)._limit_size()

    def __add__(self, other: Self) -> Self:
        """Return the rows of both; those of `other`, where their numbers were not given, follow those of `self`."""
        if not isinstance(other, ScoreSample):
            return NotImplemented
        more = other.parts
        if not other.has_numbers and self.n_rows:
            shift = self.n_rows
            more = tuple(
                replace(part, number=part.number + shift, shift=part.shift + shift if other.n_halvings else 0)
                for part in more
            )
        has_numbers = (self.has_numbers or not self.n_rows) and (other.has_numbers or not other.n_rows)
        n_halvings = max(self.n_halvings, other.n_halvings)
        both = type(self)(self.parts + more, self.n_rows + other.n_rows, n_halvings, has_numbers)
        return both._limit_size(thin=self.n_halvings != other.n_halvings)

    def _limit_size(self, thin: bool = False) -> Self:
        """Return a sample halved, by hashed row numbers, until no more than `MAX_KEPT_SCORES` scores are left.

        `thin`: some rows have not been halved `n_halvings` times yet.
        """
        parts, level = self.parts, self.n_halvings
        while parts:
            if thin:
                bits = np.uint64(64 - level)  # one row in 2^level has a hash that begins with this many zeros
                parts = tuple(part[hash_row_numbers(part.number - part.shift) >> bits == 0] for part in parts)
            if sum(part.log_posterior.size for part in parts) <= MAX_KEPT_SCORES:
                break
            level, thin = level + 1, True
        return self if parts is self.parts else type(self)(parts, self.n_rows, level, self.has_numbers)

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for a sample without rows."""
        return self.parts[0].log_posterior.shape[1] if self.parts else 0

    @cached_property
    def rows(self) -> ScoredRows:
        """The rows that are kept, in the order of the table; InputError for a sample without rows."""
        if not self.parts:
            raise InputError("no row was evaluated, so there is nothing to rank. Hint: check the target")
        return ScoredRows.concatenate(self.parts)

    @property
    def is_complete(self) -> bool:
        """Whether every row is kept."""
        return not self.n_halvings

    @cached_property
    def positive_weight_rows(self) -> ScoredRows:
        """The rows of weight above 0."""
        rows = self.rows
        return rows if (rows.weight > 0).all() else rows[rows.weight > 0]

    @cached_property
    def claimed_log_posterior(self) -> Array:
        """ln p(k|x) of the rows of weight above 0; −∞ for a class that the row's model had not learned."""
        rows = self.positive_weight_rows
        return rows.log_posterior if rows.known is None else np.where(rows.known, rows.log_posterior, -np.inf)

    def curve(self, k: int, by_probability: bool = False) -> Curve:
        """Return the curve of one class against all others, ranked by the log-odds of the class.

        `by_probability` ranks by the probability of the class, which a threshold applies to.
        """
        rows, scores = self.positive_weight_rows, self.claimed_log_posterior
        score = np.exp(scores[:, k]) if by_probability else log_odds(scores, k)
        return Curve.from_scores(score, rows.truth == k, rows.weight)

    @cached_property
    def _figures(self) -> Array:
        """3×K: area, average precision and weight of each class; the curves are not kept."""
        curves = (self.curve(k) for k in range(self.n_classes))
        return np.array([(curve.roc_auc, curve.average_precision, curve.n_positives) for curve in curves]).T

    @property
    def roc_auc(self) -> Array:
        """The area under the ROC curve of each class against all others; NaN where only one of the two has rows."""
        return self._figures[0]

    @property
    def average_precision(self) -> Array:
        """The average precision of each class against all others; NaN for a class without rows."""
        return self._figures[1]

    @property
    def class_weights(self) -> Array:
        """Σw of each class."""
        return self._figures[2]


@dataclass(frozen=True, slots=True)
class Threshold(Result):
    """The rule "predict `label` where p(label|x) ≥ `probability`", with its precision and recall on evaluated rows.

    The intervals are Wilson's of 95 %. A threshold chosen on rows looks a little better on these very rows than it
    will on others.
    """

    _renamed_attributes = {"shown": "probability_text"}

    label: Any
    probability: float
    precision: float
    recall: float
    precision_interval: Interval
    recall_interval: Interval

    @property
    def probability_text(self) -> str:
        """The probability to six digits, rounded down, so that rows of this very probability stay above."""
        digits = Decimal(self.probability)
        place = Decimal(1).scaleb(max(digits.adjusted(), -300) - 5)
        return f"{float(digits.quantize(place, ROUND_DOWN)) if digits else 0:.6g}"

    def __str__(self) -> str:
        low, high = (
            f"{format_percent(share, 2)} ({format_percent_range(ends)})"
            for share, ends in ((self.precision, self.precision_interval), (self.recall, self.recall_interval))
        )
        return f"predict {self.label} from p ≥ {self.probability_text}: precision {low}, recall {high}"


def find_threshold(
    curve: Curve, label: Any, precision: float | None, recall: float | None, rows_per_weight: float
) -> Threshold:
    """Find the lowest probability that reaches a precision, or the highest that reaches a recall; the other is None.

    Refuse a precision that is out of reach.
    """
    if (precision is None) == (recall is None):
        raise InputError("a threshold is for a wanted precision or a wanted recall: give one of the two")
    name, wanted = ("precision", precision) if recall is None else ("recall", recall)
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)) or not 0 < wanted <= 1:
        raise InputError(f"{name}={wanted!r} is not a share above 0 and up to 1. Hint: {name}=0.95")
    if not curve.n_positives:
        raise InputError(f"no evaluated row is of class {label!r}, so no {name} of it can be reached")
    reached = curve.precision if recall is None else curve.recall
    enough = np.flatnonzero(reached >= wanted)
    if not len(enough):
        best = int(np.flatnonzero(reached == reached.max())[-1])
        raise InputError(
            f"a precision of {wanted:g} for class {label!r} is out of reach: the best there is on these rows is "
            f"{reached[best]:.6g}, from p ≥ {curve.score[best]:.6g}, with a recall of {curve.recall[best]:.6g}. "
            f"Hint: a lower precision"
        )
    i = int(enough[-1] if recall is None else enough[0])
    reached_precision, reached_recall = float(curve.precision[i]), float(curve.recall[i])
    n_predicted = float(curve.true_positives[i] + curve.false_positives[i])
    return Threshold(
        label,
        float(curve.score[i]),
        reached_precision,
        reached_recall,
        wilson(reached_precision, n_predicted * rows_per_weight),
        wilson(reached_recall, curve.n_positives * rows_per_weight),
    )


@dataclass(frozen=True, slots=True)
class DecisionCosts(Result):
    """The costs of a decision rule on evaluated rows, compared with predicting the most probable class."""

    cost: float
    """The mean cost of a row."""
    cost_of_most_probable: float
    """The mean cost of a row if every row is assigned its most probable class."""
    undecided: float
    """The share of the rows that were assigned no class."""
    accuracy: float
    """The share of the decided rows that were predicted correctly; NaN if there are none."""


def compute_decision_costs(sample: ScoreSample, rule: Decision) -> DecisionCosts:
    """Compute the costs of a decision rule on the kept rows; refuse undecided ones without a cost (`reject`)."""
    rows = sample.positive_weight_rows
    weight = rows.weight / rows.weight.sum()
    predicted = rule.apply(np.exp(rows.log_posterior))
    paid = rule.paid(rows.truth, predicted)
    undecided = predicted == REJECTED
    if np.isnan(paid).any():
        raise InputError(
            f"{np.isnan(paid).sum()} of {len(paid)} rows reach no threshold and are not decided, "
            f"which has no cost yet. Hint: set the cost of an undecided row, reject=0.5"
        )
    decided = np.where(undecided, 0.0, weight)
    return DecisionCosts(
        float(weight @ paid),
        float(weight @ rule.paid(rows.truth, rows.log_posterior.argmax(axis=1))),
        float(weight @ undecided),
        float(np.average(predicted == rows.truth, weights=decided)) if decided.any() else np.nan,
    )
