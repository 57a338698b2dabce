"""Naive Bayes's partners on tables: learners that look at the rows themselves, over what naive Bayes has solve_ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.families.family import ClassPrior
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear import evidence_weights as trusting
from deciban.linear import evidence_weights_of_words as words
from deciban.linear import table_design as weighing
from deciban.linear.boosting import BoostingSettings, Examples, boost
from deciban.linear.design import Shared
from deciban.linear.fitted_model import FittedModel
from deciban.linear.penalty_choice import FOLDS, FoldedRows, exclude_single_fold_classes
from deciban.linear.table_design import Design, build_table_blocks
from deciban.model.columns import OPEN
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.training.learners import DecidedColumns, Learner
from deciban.training.table_folds import FoldModel, count_parts, select_parts, solve_ledger
from deciban.training.task import Task
from deciban.validation.fold_models import ledgers_excluding_each
from deciban.validation.splits import assign_by_content

EVIDENCE_FOLDS = 10
"""Folds without which the evidence of their rows is taken: a level that was seen once does not vouch for itself."""


ROUNDS = 30
"""Rounds of boosting at most."""


@dataclass(frozen=True)
class Settled:
    """What naive Bayes has solve_ledger of the rows to learn from, and these as its matrices."""

    task: Task
    options: Options
    known: FoldModel
    rows: Rows

    @classmethod
    def of(
        cls, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None
    ) -> Settled:
        """Roles, cuts, and which levels are told apart."""
        if rows is None or not len(rows.codes):
            raise InputError(f"learner={task.learner!r} learns from rows, and there are none")
        return cls(task, options, solve_ledger(task, options, rest, decided), rows)

    @property
    def basis(self) -> GenerativeModel:
        """What naive Bayes believes of them."""
        assert isinstance(self.known.scorer, GenerativeModel)
        return self.known.scorer

    def taught(self, learned: FittedModel) -> FoldModel:
        """What was learned, under the class prior that was asked for, if it is not that of the rows."""
        asked = self.basis.assumption.prior
        usual = asked == ClassPrior()
        return replace(self.known, scorer=learned if usual else learned.with_prior(self.basis.solved.prior))

    @property
    def parts(self) -> list[Any]:
        """A matrix for each block."""
        return select_parts(self.rows, self.known.kept)

    @cached_property
    def judges(self) -> FoldedRows:
        """The rows' classes and weights, and the folds that a penalty is chosen by."""
        return FoldedRows(self.rows.codes, self.rows.weight, inner_folds(self.rows, FOLDS))

    def apart(self, fold: NDArray[np.int32], n_folds: int) -> list[Ledger]:
        """What was counted of all rows but those of each fold; rows that are in none (−1) are in all."""
        part = np.where(fold < 0, n_folds, fold).astype(np.int32)
        counted = count_parts(self.task, self.options, self.known.rest.schema, self.rows, part, n_folds + 1)
        return list(ledgers_excluding_each(counted))[:n_folds]

    @cached_property
    def without(self) -> list[Settled]:
        """The same solve_ledger without each of the folds: roles and cuts that have seen no label of theirs."""
        fold = self.judges.fold
        return [
            replace(
                self, known=solve_ledger(self.task, self.options, rest), rows=self.rows[np.flatnonzero(fold != f)]
            )
            for f, rest in enumerate(self.apart(fold, FOLDS))
        ]


def inner_folds(rows: Rows, n_folds: int) -> NDArray[np.int32]:
    """Folds with their share of every class; a class that would be in one alone is in none (−1): all stay known."""
    columns = [column for block in rows.columns for column in block]
    return exclude_single_fold_classes(rows.codes, assign_by_content(columns, rows.codes, rows.weight, n_folds))


@dataclass(frozen=True)
class Logistic:
    """Logistic regression over indicators, standardised numbers and words."""

    C: float | str
    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None = None
    ) -> FoldModel:
        """See `Learner.learn`."""
        it = Settled.of(task, options, rest, rows, decided)
        cut = any(column.role == "binned" or column.role in OPEN for column in task.columns)
        honest = partial(self._without, it) if cut else None  # else no label has a say in the design
        found = weighing.fit_table_logistic(it.basis, it.parts, it.judges, self.C, engines.thread_count(None), honest)
        return it.taught(found)

    def _without(self, it: Settled, f: int) -> Design:
        """All rows as the model of those outside a fold would have them."""
        rows, other = it.rows, it.without[f]
        weight = np.where(it.judges.fold == f, 0.0, 1.0 if rows.weight is None else rows.weight)
        return [block.part for block in build_table_blocks(other.basis, select_parts(rows, other.known.kept), weight)]


@dataclass(frozen=True)
class Evidence:
    """Evidence regression: how much of what naive Bayes hears from each column is believed."""

    C: float | str
    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None = None
    ) -> FoldModel:
        """See `Learner.learn`."""
        whole = Settled.of(task, options, rest, rows, decided)
        index = trusting.sample_evidence_rows(len(whole.rows.codes), whole.basis)
        it = whole if len(index) == len(whole.rows.codes) else replace(whole, rows=whole.rows[index])
        names = [feature.column for feature in task.layout.texts]
        if (it.judges.fold < 0).all():
            return it.taught(trusting.use_unit_weights(it.basis, len(it.rows.codes), names))
        found, read = _texts(it, self.C)
        said = _with_texts(heard(it, EVIDENCE_FOLDS), it, read)
        told = dict(zip(names, found))
        honest = partial(self._without, it, read)
        return it.taught(
            trusting.fit_evidence_weights(it.basis, said, it.judges, self.C, told, engines.thread_count(None), honest)
        )

    def _without(self, it: Settled, texts_read: Sequence[Array], f: int) -> Design:
        """All rows as the model of those outside a fold would hear them, each of these without a fold of its own."""
        other, mine = it.without[f], it.judges.fold == f
        out = np.zeros((len(mine), trusting.count_weights(other.basis), len(other.basis.ledger.rows)))
        out[mine] = trusting.compute_column_evidence(
            other.basis, select_parts(it.rows[np.flatnonzero(mine)], other.known.kept)
        )
        out[~mine] = heard(other, FOLDS)
        return [Shared(_with_texts(out, other, texts_read), 1.0)]


def heard(it: Settled, n_folds: int) -> Array:
    """ln p(x_j|k) of rows by the belief without their fold, n×d×K; nothing of a row that is alone in its class."""
    rows, kept, assumption = it.rows, it.known.kept, it.basis.assumption
    fold = inner_folds(rows, n_folds)
    out = np.zeros((len(fold), trusting.count_weights(it.basis), len(it.basis.ledger.rows)))
    for f, rest in enumerate(it.apart(fold, n_folds)):
        mine = np.flatnonzero(fold == f)
        if len(mine):
            out[mine] = trusting.compute_column_evidence(
                GenerativeModel(assumption, rest.choose(kept)), select_parts(rows[mine], kept)
            )
    return out


def _texts(it: Settled, C: float | str) -> tuple[list[words.TextWeights], list[Array]]:
    """Each text with its words weighed, and what they say of rows without their fold."""
    found, said = [], []
    for X, block, family in zip(it.parts, it.basis.schema.blocks, it.basis.assumption.families):
        if block.kind == "bags":
            alpha: float = getattr(family, "alpha", 1.0)
            K, threads = len(it.basis.ledger.rows), engines.thread_count(None)
            rows = words.WordRows(X, X, it.rows.codes, it.rows.weight, K, threads=threads)
            found.append(words.fit_text_weights(rows, alpha, C, it.judges.fold))
            said.append(words.out_of_fold_text_evidence(rows, alpha, found[-1].C, it.judges.fold))
    return found, said


def _with_texts(said: Array, it: Settled, read: Sequence[Array]) -> Array:
    """What was heard of all rows, with what their texts say in its place."""
    for j, text in zip(trusting.text_weight_indices(it.basis), read):
        said[:, j] = text
    return said


@dataclass(frozen=True)
class Boosted:
    """Boosted naive Bayes: as many rounds as rows that were held out ask for, then learned of all rows."""

    needs_rows: ClassVar[bool] = True

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None = None
    ) -> FoldModel:
        """See `Learner.learn`."""
        it = Settled.of(task, options, rest, rows, decided)
        threads, parts, (codes, weight, fold) = engines.thread_count(None), it.parts, it.judges
        assumption, schema = replace(it.basis.assumption, prior=ClassPrior()), it.basis.schema
        learn, held = fold != 0, np.flatnonzero(fold == 0)
        rounds = ROUNDS
        if len(held) and len(np.unique(codes[learn])) > 1:
            aside = Examples(_taken(parts, held), codes[held], None if weight is None else weight[held])
            mine, own = np.flatnonzero(learn), None if weight is None else weight[learn]
            rest, settings = (
                Examples(_taken(parts, mine), codes[mine], own),
                BoostingSettings(rounds=ROUNDS, held=aside),
            )
            tried = boost(assumption, schema, rest, settings, threads=threads)
            rounds = len(tried.rounds)
        examples, settings = Examples(parts, codes, weight), BoostingSettings(rounds=rounds)
        found = boost(assumption, schema, examples, settings, threads=threads, basis=it.basis)
        return it.taught(found)


def _taken(parts: Sequence[Any], index: NDArray[np.intp]) -> list[Any]:
    return [X[index] for X in parts]


def make_learner(task: Task) -> Learner:
    """The learner that a task names."""
    if task.learner == "logistic":
        return Logistic(task.C)
    if task.learner == "evidence":
        return Evidence(task.C)
    return Boosted()
