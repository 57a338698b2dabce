"""Boosting: a belief a round, each of rows that weigh by what those before it had wrong."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deciban import engines
from deciban._typing import Array, Codes
from deciban.engines.bags_from_rows import bagged
from deciban.errors import DecibanWarning, InputError
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger, Needs, Schema, Statistic
from deciban.ledger.statistic import place as place
from deciban.linear.boosted_model import Boosted, Standing
from deciban.linear.fit_report import Account
from deciban.linear.sample_weights import ALGORITHMS, WEIGHINGS, Algorithm, Step, own
from deciban.scores.calibration import normalised

CHANCE = (
    "the first learner is no better than chance (error {error:.3g}, {K} classes), so there is nothing to build on: "
    "the model is that learner alone. Hint: other columns, or another learner"
)


class Examples(NamedTuple):
    """Rows in memory: a matrix for each block, the places of their classes, and their weights."""

    parts: Sequence[Any]
    codes: Codes
    weight: Array | None

    @property
    def weights(self) -> Array:
        """Their weights, written out."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight


@dataclass(frozen=True)
class Plan:
    """How many rounds at most, how much of each learner's share is taken, and how rows are weighed.

    With rows held out (`held`), boosting stops after `patience` rounds without a lower loss of theirs, and the rounds
    after the least are dropped: the loss is their error where learners vote, else their log-loss.
    """

    algorithm: Algorithm = "logistic"
    rounds: int = 10
    rate: float = 0.3
    held: Examples | None = None
    patience: int = 5

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            known = ", ".join(map(repr, ALGORITHMS))
            raise InputError(f"algorithm is one of {known}, not {self.algorithm!r}. Hint: algorithm='logistic'")
        if self.rounds < 1 or not 0 < self.rate < np.inf:
            raise InputError(
                f"boosting takes 1 round or more and a rate above 0, not {self.rounds} rounds and {self.rate}. "
                f"Hint: rounds=10, rate=0.3"
            )


def boosted(
    assumption: Assumption,
    schema: Schema,
    parts: Sequence[Any],
    codes: Codes,
    weight: Array | None,
    *,
    algorithm: Algorithm = "logistic",
    rounds: int = 10,
    rate: float = 0.3,
    held: Examples | None = None,
    patience: int = 5,
    threads: int = 1,
    basis: GenerativeModel | None = None,
) -> Boosted:
    """AdaBoost over beliefs about one block of features or more: each round is one weighted ledger. See `Plan`.

    The rows together weigh in every round what they weigh in the first, so that a pseudo-count means the same in all.
    """
    rows, plan = Examples(parts, codes, weight), Plan(algorithm, rounds, rate, held, patience)
    by_class = np.bincount(codes, weights=weight, minlength=len(schema.classes)).astype(np.float64)
    if algorithm != "SAMME" and not by_class.all():  # ln 0 has no mean, but votes can be counted
        return _among(assumption, schema, rows, plan, threads, by_class, basis)
    done = list(_rounds(assumption, schema, rows, plan, threads))
    losses = [loss for _, _, loss in done if loss is not None]
    if losses:
        done = done[: int(np.argmin(losses)) + 1]
    believed, steps = [belief for belief, _, _ in done], [step for _, step, _ in done]
    shares, errors = np.array([step.share for step in steps]), np.array([step.error for step in steps])
    settings = {"algorithm": plan.algorithm, "rounds": plan.rounds, "rate": float(plan.rate)}
    numbers = sum(belief.n_parameters + 1 for belief in believed)
    told = Account("boosted", settings, loss=min(losses, default=np.nan), n_iter=len(steps), n_parameters=numbers)
    return Boosted.together(schema, believed, shares, errors, by_class, told, basis)


def _among(
    assumption: Assumption,
    schema: Schema,
    rows: Examples,
    plan: Plan,
    threads: int,
    by_class: Array,
    basis: GenerativeModel | None,
) -> Boosted:
    """Boosting of the classes that have rows; to each learner the others are classes of which it knows nothing."""
    seen = np.flatnonzero(by_class)
    place = np.cumsum(by_class > 0).astype(np.int32) - np.int32(1)
    held = None if plan.held is None else plan.held._replace(codes=place[plan.held.codes])
    some = boosted(
        assumption, Schema(tuple(schema.classes[k] for k in seen.tolist()), schema.blocks), rows.parts,
        place[rows.codes], rows.weight, algorithm=plan.algorithm, rounds=plan.rounds, rate=plan.rate, held=held,
        patience=plan.patience, threads=threads,
    )  # fmt: skip
    K = len(schema.classes)
    wide = [
        Ledger(
            replace(belief.ledger.schema, classes=schema.classes),
            place(belief.ledger.rows, seen, K),
            tuple(part.spread(seen, K) for part in belief.ledger.parts),
        )
        for belief in some.rounds
    ]
    believed = [GenerativeModel(assumption, ledger) for ledger in wide]
    return Boosted.together(schema, believed, some.shares, some.errors, by_class, some.account, basis)


def _rounds(
    assumption: Assumption, schema: Schema, rows: Examples, plan: Plan, threads: int
) -> Iterator[tuple[GenerativeModel, Step, float | None]]:
    """Learner after learner, with the loss of the rows held out, until there are enough or no better ones."""
    K, mass = len(schema.classes), float(rows.weights.sum())
    weighing = WEIGHINGS[plan.algorithm](rows.codes, rows.weights, K, plan.rate)
    steps = plan.rounds * K * sum(int(np.prod(block.shape)) for block in rows.parts)
    watched = None if plan.held is None else _Watched(plan, plan.held, K)
    for m in range(plan.rounds):
        weight = rows.weight if m == 0 else weighing.weight * mass
        with engines.part_of_work(steps):  # each pass may be small where all of them together are not
            belief = GenerativeModel(assumption, ledger_of(assumption, schema, rows, weight, threads))
            step = weighing.learned(belief, rows.parts, threads)
        if not step.keep:
            if m == 0:
                warnings.warn(CHANCE.format(error=step.error, K=K), DecibanWarning, stacklevel=3)
                yield belief, step._replace(share=1.0), None  # alone, it has the whole of the score
            return
        yield belief, step, None if watched is None else watched.loss(belief, step, threads)
        if not step.more or (watched is not None and watched.tired):
            return


class _Watched:
    """The rows held out: what each round did to their loss."""

    def __init__(self, plan: Plan, held: Examples, n_classes: int) -> None:
        self._plan, self._held, self._losses = plan, held, list[float]()
        self._standing = Standing(plan.algorithm, len(held.codes), n_classes)

    def loss(self, belief: GenerativeModel, step: Step, threads: int) -> float:
        """The loss after one round more."""
        scores = self._standing.after(belief, step.share, self._held.parts, threads)
        if self._plan.algorithm == "SAMME":
            each: Array = (scores.argmax(axis=1) != self._held.codes).astype(np.float64)
        else:
            each = -own(normalised(scores), self._held.codes)
        self._losses.append(float(np.average(each, weights=self._held.weights)))
        return self._losses[-1]

    @property
    def tired(self) -> bool:
        """Whether the last rounds brought nothing."""
        return len(self._losses) - 1 - int(np.argmin(self._losses)) >= self._plan.patience


def weights_by_round(model: Boosted, rows: Examples, rate: float, threads: int) -> Iterator[Array]:
    """How the rows weighed in each round, from the learners as they are: weights that add up to one.

    They are found again from the rows, so that a model need not keep rounds × rows of them.
    """
    weighing = WEIGHINGS[model.algorithm](rows.codes, rows.weights, len(model.rows), rate)
    for belief in model.rounds:
        yield weighing.weight / weighing.weight.sum()
        if not weighing.learned(belief, rows.parts, threads).more:
            return


def ledger_of(assumption: Assumption, schema: Schema, rows: Examples, weight: Array | None, threads: int) -> Ledger:
    """What is remembered of these rows, weighed so."""
    K = len(schema.classes)
    blocks = tuple(replace(block, levels=None) for block in schema.blocks)
    by_class = np.bincount(rows.codes, weights=weight, minlength=K).astype(np.float64)
    sums = [_sums(needs, X, rows.codes, weight, K, threads) for needs, X in zip(assumption.needs, rows.parts)]
    return Ledger(Schema(schema.classes, blocks), by_class, tuple(sums))


def _sums(needs: Needs, X: Any, codes: Codes, weight: Array | None, K: int, threads: int) -> Statistic:
    """The statistic of a block; of words that are known already both their sums and their documents."""
    if needs.kind != "bags":
        return engines.summarise(needs, X, codes, weight, K, threads)
    return bagged(X, codes, weight, K, threads)
