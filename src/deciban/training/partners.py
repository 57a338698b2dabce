"""Naive Bayes's partners on tables: learners that look at the rows themselves, over what naive Bayes has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.belief import Belief
from deciban.discriminative import boosting, trusting, weighing
from deciban.discriminative.boosting import boosted
from deciban.discriminative.learned import Learned
from deciban.discriminative.weighing import Judges
from deciban.errors import InputError
from deciban.families.prior import ClassPrior
from deciban.judge.crossed import all_but_each
from deciban.judge.folds import Stratified
from deciban.ledger import Ledger
from deciban.ledger.statistic import Array
from deciban.model.gathering import Rows
from deciban.model.options import Options
from deciban.training.counting import counted_apart
from deciban.training.learners import Learner, Sure
from deciban.training.task import Task
from deciban.training.without import Without, chosen_parts, settled

FOLDS = 5
"""Folds that a penalty is chosen by."""

EVIDENCE_FOLDS = 10
"""Folds without which the evidence of their rows is taken: a level that was seen once does not vouch for itself."""


ROUNDS = 30
"""Rounds of boosting at most."""


@dataclass(frozen=True)
class Settled:
    """What naive Bayes has settled of the rows to learn from, and these as its matrices."""

    known: Without
    rows: Rows

    @classmethod
    def of(cls, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None) -> Settled:
        """Roles, cuts, and which levels are told apart."""
        if rows is None or not len(rows.codes):
            raise InputError(f"learner={task.learner!r} learns from rows, and there are none")
        return cls(settled(task, options, rest, sure), rows)

    @property
    def basis(self) -> Belief:
        """What naive Bayes believes of them."""
        assert isinstance(self.known.belief, Belief)
        return self.known.belief

    def taught(self, learned: Learned) -> Without:
        """What was learned, under the class prior that was asked for, if it is not that of the rows."""
        asked = self.basis.assumption.prior
        usual = asked == ClassPrior()
        return replace(self.known, belief=learned if usual else learned.under(self.basis.solved.prior))

    @property
    def parts(self) -> list[Any]:
        """A matrix for each block."""
        return chosen_parts(self.rows, self.known.kept)

    @property
    def judges(self) -> Judges:
        """The rows' classes and weights, and the folds that a penalty is chosen by."""
        return Judges(self.rows.codes, self.rows.weight, inner_folds(self.rows.codes, FOLDS))


def inner_folds(codes: NDArray[np.int32], n_folds: int) -> NDArray[np.int32]:
    """Folds with their share of every class; the only row of a class is in none (−1): all classes stay known."""
    alone = np.bincount(codes)[codes] < 2
    return np.where(alone, -1, Stratified(n_folds).of(codes)).astype(np.int32)


@dataclass(frozen=True)
class Logistic:
    """Logistic regression over indicators, standardised numbers and words."""

    C: float | str
    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None = None
    ) -> Without:
        """See `Learner.learn`."""
        it = Settled.of(task, options, rest, rows, sure)
        return it.taught(weighing.logistic(it.basis, it.parts, it.judges, self.C, engines.thread_count(None)))


@dataclass(frozen=True)
class Evidence:
    """Evidence regression: how much of what naive Bayes hears from each column is believed."""

    C: float | str
    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None = None
    ) -> Without:
        """See `Learner.learn`."""
        it = Settled.of(task, options, rest, rows, sure)
        heard, index = self._heard(task, options, it)
        judges = it.judges
        weight = None if judges.weight is None else judges.weight[index]
        texts = [feature.column for feature in task.layout.texts]
        some = Judges(judges.codes[index], weight, judges.fold[index])
        return it.taught(
            trusting.evidence(
                it.basis, _taken(it.parts, index), heard, some, self.C, texts, engines.thread_count(None)
            )
        )

    def _heard(self, task: Task, options: Options, it: Settled) -> tuple[Array, NDArray[np.intp]]:
        """ln p(x_j|k) of rows by the belief without their fold, n×d×K; of very many rows some, and which."""
        index = trusting.enough(len(it.rows.codes), it.basis)
        rows, assumption = it.rows, it.basis.assumption
        fold = Stratified(EVIDENCE_FOLDS).of(rows.codes)
        ledgers = counted_apart(task, options, it.known.rest.schema, rows, fold, EVIDENCE_FOLDS)
        out = np.zeros((len(index), trusting.n_trusts(it.basis), len(it.basis.ledger.rows)))
        for f, rest in enumerate(all_but_each(ledgers)):
            mine = np.flatnonzero(fold[index] == f)
            if len(mine):
                without = Belief(assumption, rest.choose(it.known.kept))
                out[mine] = trusting.heard(without, chosen_parts(rows[index[mine]], it.known.kept))
        return out, index


@dataclass(frozen=True)
class Boosted:
    """Boosted naive Bayes: as many rounds as rows that were held out ask for, then learned of all rows."""

    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None = None
    ) -> Without:
        """See `Learner.learn`."""
        it = Settled.of(task, options, rest, rows, sure)
        threads, parts, (codes, weight, fold) = engines.thread_count(None), it.parts, it.judges
        assumption, schema = replace(it.basis.assumption, prior=ClassPrior()), it.basis.schema
        learn, held = fold != 0, np.flatnonzero(fold == 0)
        rounds = ROUNDS
        if len(held) and len(np.unique(codes[learn])) > 1:
            aside = boosting.Rows(_taken(parts, held), codes[held], None if weight is None else weight[held])
            mine, own = np.flatnonzero(learn), None if weight is None else weight[learn]
            tried = boosted(
                assumption, schema, _taken(parts, mine), codes[mine], own, rounds=ROUNDS, held=aside, threads=threads
            )
            rounds = len(tried.rounds)
        found = boosted(assumption, schema, parts, codes, weight, rounds=rounds, threads=threads, basis=it.basis)
        return it.taught(found)


def _taken(parts: Sequence[Any], index: NDArray[np.intp]) -> list[Any]:
    return [X[index] for X in parts]


def learner_of(task: Task) -> Learner:
    """The learner that a task names."""
    if task.learner == "logistic":
        return Logistic(task.C)
    if task.learner == "evidence":
        return Evidence(task.C)
    return Boosted()
