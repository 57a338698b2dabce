"""Learners side by side: judged by the same rows in the same folds, their differences row by row, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, did_you_mean
from deciban.metrics import comparison_advice as advising
from deciban.metrics.comparison_advice import USUAL
from deciban.metrics.comparison_curves import Growth
from deciban.metrics.intervals import bounded_losses, effective_weights, paired_mean
from deciban.metrics.report import Report
from deciban.metrics.scorecard import Scorecard
from deciban.plain_json import plain

SURE = 0.95
"""How sure one may be of all differences at once that are called differences."""

SAME = 1e-9
"""A difference of ln p(k|x) that is rounding."""

FIGURES = ("accuracy", "log_loss", "log_loss_error", "calibration_error")
"""What is told of each learner's report."""


class Gap(NamedTuple):
    """A mean difference of two learners over the rows, and its standard error, paired row by row."""

    mean: float
    error: float

    @property
    def chance(self) -> float:
        """How often chance alone would make a difference as large as this; 1 where nothing is known of it."""
        if not self.error > 0:
            return 1.0
        return 2 * NormalDist().cdf(-abs(self.mean) / self.error)


@dataclass(frozen=True, eq=False)
class Entrant:
    """A learner, what it is told by, and what it says of every row that is judged: ln p(k|x), n×K."""

    name: str
    told: Mapping[str, Any]
    log_posterior: Array
    seconds: float
    n_parameters: float


@dataclass(frozen=True, eq=False)
class Compared:
    """A learner and how good it is.

    `told` is what `train` is told for it, `seconds` what learning all rows but a fold took (a mean over the folds),
    `n_parameters` how many numbers were estimated in it. `loss` is how much its log-loss is above the lowest,
    `misses` how far its accuracy is below the highest; both paired, row by row.
    """

    name: str
    told: Mapping[str, Any]
    report: Report
    seconds: float
    n_parameters: float
    loss: Gap
    misses: Gap

    def to_dict(self) -> dict[str, Any]:
        """As JSON knows it."""
        differences = {
            "log_loss_above": self.loss.mean, "log_loss_above_error": self.loss.error,
            "accuracy_below": self.misses.mean, "accuracy_below_error": self.misses.error,
        }  # fmt: skip
        figures = {name: getattr(self.report, name) for name in FIGURES}
        took = {"seconds": self.seconds, "n_parameters": self.n_parameters}
        told: dict[str, Any] = plain({"name": self.name, "told": dict(self.told), **figures, **differences, **took})
        return told


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learners judged by the same rows; in the order in which they were asked for.

    `advice` says in a sentence which to take. A learner is called worse only where the rows show it: differences are
    paired, row by row, and so many standard errors from zero that one is 95 % sure of all that are called differences
    (Holm 1979). The rows are judged in folds whose models share most of their rows; what another table of the same
    kind would say varies a little more than these errors tell.
    """

    target: str
    rows: tuple[Compared, ...]
    measured: str
    growth: Growth | None = None
    notes: tuple[str, ...] = ()
    losses: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    """L×n: −ln p(truth) of every row by every learner, at most 708 nats; NaN where the class had not been met."""
    hits: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    """L×n: whether it was called rightly."""
    weight: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Compared:
        return self.rows[self._place(name)]

    @property
    def names(self) -> list[str]:
        """The learners."""
        return [each.name for each in self.rows]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"no learner {name!r} was compared{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def loss_gap(self, one: str, other: str) -> Gap:
        """How much the log-loss of one learner is above that of another; below zero where it is better."""
        return _gap(self.losses, self._place(one), self._place(other), self.weight)

    def accuracy_gap(self, one: str, other: str) -> Gap:
        """How much the accuracy of one learner is above that of another."""
        return _gap(self.hits, self._place(one), self._place(other), self.weight)

    @property
    def lowest(self) -> Compared:
        """The learner of the lowest log-loss."""
        return min(self.rows, key=lambda each: each.loss.mean)

    @property
    def most_accurate(self) -> Compared:
        """The learner that calls most of the rows rightly."""
        return min(self.rows, key=lambda each: each.misses.mean)

    def is_lower(self, one: str, other: str) -> bool:
        """Whether the rows show the log-loss of one learner to be below that of another; one of as many questions."""
        return self._shown([self.loss_gap(name, one) for name in self.names], other)

    def is_more_accurate(self, one: str, other: str) -> bool:
        """Whether the rows show one learner to call more of them rightly than another; one of as many questions."""
        return self._shown([self.accuracy_gap(one, name) for name in self.names], other)

    def _shown(self, gaps: Sequence[Gap], other: str) -> bool:
        i = self._place(other)
        return gaps[i].mean > 0 and shown(gaps)[i]

    @property
    def level(self) -> list[Compared]:
        """The learners that these rows cannot tell from that of the lowest log-loss, itself among them."""
        worse = shown([each.loss for each in self.rows])
        return [each for each, is_worse in zip(self.rows, worse) if not is_worse]

    @property
    def as_accurate(self) -> list[Compared]:
        """The learners that these rows cannot tell from that of the highest accuracy, itself among them."""
        worse = shown([each.misses for each in self.rows])
        return [each for each, is_worse in zip(self.rows, worse) if not is_worse]

    @property
    def unbeaten(self) -> list[Compared]:
        """The learners that none is shown to beat, neither in log-loss nor in accuracy; there may be none of them."""
        as_accurate = self.as_accurate
        return [each for each in self.level if each in as_accurate]

    @property
    def best(self) -> Compared:
        """The learner that is recommended.

        Naive Bayes, unless another is shown to have a lower log-loss or a higher accuracy; else that of the lowest
        log-loss among those that none is shown to beat; where each is beaten in something, that of the lowest of all.
        """
        among = self.unbeaten or [self.lowest]
        return min(among, key=lambda each: (each.name != USUAL, each.loss.mean))

    @property
    def advice(self) -> str:
        """Which learner to take, and how sure that is, in a sentence."""
        return advising.advice(self)

    @property
    def growing(self) -> str:
        """What the learning curves say, in a sentence; nothing where there are none."""
        return advising.growing(self)

    @property
    def overtaken_at(self) -> float | None:
        """How many rows it takes until the learner that is taken (or else logistic) overtakes naive Bayes; None
        unless the curves show it to happen once and for all.
        """
        return advising.overtaken_at(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: a number that is not finite is None."""
        return {
            "target": self.target,
            "rows": len(self.weight),
            "best": self.best.name,
            "told": plain(dict(self.best.told)),
            "advice": self.advice,
            "learners": [each.to_dict() for each in self.rows],
            "curves": None
            if self.growth is None
            else {**self.growth.to_dict(), "overtaken_at": self.overtaken_at, "in_words": self.growing},
            "measured": self.measured,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return advising.text(self)


def shown(gaps: Sequence[Gap]) -> list[bool]:
    """Which of these differences to the best are more than chance, 95 % sure of all of them at once (Holm 1979).

    The least probable is held to 0.05/m, the next to 0.05/(m − 1) …, until one is not beyond; the best is none.

    >>> shown([Gap(0.0, 0.0), Gap(3.0, 1.0), Gap(2.1, 1.0), Gap(1.0, 1.0)])
    [False, True, False, False]
    """
    order = sorted((gap.chance, i) for i, gap in enumerate(gaps) if gap.error > 0)
    found = [False] * len(gaps)
    for rank, (chance, i) in enumerate(order):
        if chance > (1 - SURE) / (len(order) - rank):
            break
        found[i] = True
    return found


def _gap(values: Array, i: int, j: int, weight: Array) -> Gap:
    """Of the rows that have a value."""
    gap = values[i] - values[j]
    told = ~np.isnan(gap)
    return Gap(*paired_mean(gap[told], effective_weights(weight[told])))


def compared(
    target: str,
    entrants: Sequence[Entrant],
    truth: NDArray[np.integer[Any]],
    weight: Array | None,
    known: NDArray[np.bool_],
    classes: Sequence[Any],
    measured: str,
) -> Comparison:
    """Judge what learners say of the same rows; `known` (n×K) says which classes each row's models had met.

    A learner that says of every row what one before it said is left out, and a note tells.
    """
    different, notes = _different(entrants)
    w = np.ones(len(truth)) if weight is None else weight
    met = known[np.arange(len(truth)), truth]
    losses = np.array([np.where(met, bounded_losses(each.log_posterior, truth), np.nan) for each in different])
    hits = np.array([met & (each.log_posterior.argmax(axis=1) == truth) for each in different], dtype=np.float64)
    lowest, most = int((losses[:, met] @ w[met]).argmin()), int((hits @ w).argmax())
    rows = []
    for i, each in enumerate(different):
        report = Scorecard.of(each.log_posterior, truth, weight, known).report(classes, measured)
        gaps = _gap(losses, i, lowest, w), _gap(hits, most, i, w)
        rows.append(Compared(each.name, each.told, report, each.seconds, each.n_parameters, *gaps))
    return Comparison(target, tuple(rows), measured, None, tuple(notes), losses, hits, w)


def _different(entrants: Sequence[Entrant]) -> tuple[list[Entrant], list[str]]:
    """The learners without those that say what another said, and notes on these."""
    kept: list[Entrant] = []
    notes = []
    for each in entrants:
        twin = next((other for other in kept if _alike(each.log_posterior, other.log_posterior)), None)
        if twin is None:
            kept.append(each)
        else:
            notes.append(f"{each.name} says of every row what {twin.name} says, and is left out")
    return kept, notes


def _alike(a: Array, b: Array) -> bool:
    return bool(np.allclose(np.exp(a), np.exp(b), rtol=SAME, atol=SAME))
