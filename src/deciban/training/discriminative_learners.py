"""Discriminative learners of tables, which fit the rows themselves, with the roles and bins of naive Bayes."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.families.family import ClassPrior
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger, Schema
from deciban.linear import evidence_weights, table_design
from deciban.linear.boosting import BoostingSettings, Examples, boost, narrow_classes, trace_losses, use_one_learner
from deciban.linear.design import Shared
from deciban.linear.evidence_weights_of_words import WordRows
from deciban.linear.fitted_model import IMPOSSIBLE_BIAS, FittedModel
from deciban.linear.penalty_choice import CHOICE_FOLDS, FoldedRows, exclude_single_fold_classes, is_clearly_lower
from deciban.linear.table_design import Design, build_table_blocks
from deciban.model.columns import OPEN_ROLES, Role
from deciban.model.summarise_table import Rows
from deciban.training.cell_styles import add_note
from deciban.training.table_folds import DecidedColumns, FoldModel, count_parts, select_columns, solve_ledger
from deciban.training.task import Task
from deciban.validation.fold_models import ledgers_excluding_each
from deciban.validation.splits import StratifiedAssigner

T = TypeVar("T")

EVIDENCE_FOLDS = 10
"""The number of folds without which the evidence of their rows is computed: a row adds no evidence for itself."""

LOGISTIC_ROLES: tuple[Role, ...] = ("number", "binned")
"""The roles that logistic regression tries for all numbers whose role is open."""

MAX_BOOSTING_ROUNDS = 30
"""The number of rounds of boosting, at most."""

MAX_TRACED_ROWS = 300
"""Rows up to which the number of rounds is chosen by all folds; of more rows one fold is enough."""


class SharedParts:
    """Results that several learners of the same rows use: each is computed once."""

    def __init__(self) -> None:
        self._parts: dict[Hashable, tuple[Any, float]] = {}
        self.reused_seconds = 0.0
        """The time that results took which were not computed again."""

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of this key; compute it where it is not known yet."""
        if key in self._parts:
            self.reused_seconds += self._parts[key][1]
        else:
            start = time.perf_counter()
            self._parts[key] = compute(), time.perf_counter() - start
        value: T = self._parts[key][0]
        return value


@dataclass(frozen=True)
class TrainingRows:
    """The rows to learn from, with the naive Bayes model of them, which decides roles, bins and levels.

    Of the task the learner and its penalty are not used: several can learn the same rows.
    """

    task: Task
    model: FoldModel
    rows: Rows
    shared: SharedParts = field(default_factory=SharedParts)
    decided: DecidedColumns | None = None
    """Columns whose roles are not decided by the rows."""

    @property
    def basis(self) -> GenerativeModel:
        """The naive Bayes model of the rows."""
        assert isinstance(self.model.scorer, GenerativeModel)
        return self.model.scorer

    @property
    def parts(self) -> list[Any]:
        """The rows as a matrix for each block of features that the model uses."""
        return select_columns(self.rows, self.model.kept).parts

    @cached_property
    def folded_rows(self) -> FoldedRows:
        """The rows' classes and weights, and the folds that choose a penalty."""
        return FoldedRows(self.rows.codes, self.rows.weight, assign_inner_folds(self.rows, CHOICE_FOLDS))

    def count_excluding_folds(self, fold: NDArray[np.int32], n_folds: int, decided: bool) -> list[Ledger]:
        """Return the ledgers of all rows but those of each fold; rows of no fold (−1) are in all ledgers.

        With `decided` they have the features of the model alone, not those of other roles that a column might have.
        """
        part = np.where(fold < 0, n_folds, fold).astype(np.int32)
        task, schema, rows = self.task, self.model.ledger.schema, self.rows
        if decided:
            task, schema = replace(task, columns=self.model.columns), self.basis.schema
            rows = select_columns(rows, self.model.kept)
        parts = count_parts(task.options, task.layout, schema, rows, part, n_folds + 1)
        return list(ledgers_excluding_each(parts))[:n_folds]

    def exclude_fold(self, f: int) -> "TrainingRows":
        """Return the rows outside of a fold, with roles and bins that have seen no label of it."""

        def learn() -> TrainingRows:
            fold = self.folded_rows.fold
            ledgers = self.shared.get(
                "inner ledgers", lambda: self.count_excluding_folds(fold, CHOICE_FOLDS, decided=False)
            )
            model = solve_ledger(self.task, ledgers[f], self.decided)
            return TrainingRows(self.task, model, self.rows[np.flatnonzero(fold != f)])

        return self.shared.get(("inner fold", f), learn)

    def with_open_numbers(self, role: Role) -> "TrainingRows | None":
        """Return the rows with this role for all numbers whose role is open; None where they have it already."""
        reason = f"{role}: so logistic regression predicts better"
        own = {column.name: column for column in self.model.columns}
        open_columns = [column for column in self.task.columns if column.role in OPEN_ROLES]
        if all(own[column.name].role == role for column in open_columns):
            return None
        decided = {c.name: replace(c, role=role, reason=add_note(reason, c.note)) for c in open_columns}
        model = solve_ledger(self.task, self.model.ledger, decided)
        return TrainingRows(self.task, model, self.rows, SharedParts(), decided)


def assign_inner_folds(rows: Rows, n_folds: int) -> NDArray[np.int32]:
    """Assign rows to stratified folds; a class that would be in one fold alone is in none (−1), and stays known."""
    return exclude_single_fold_classes(rows.codes, StratifiedAssigner(n_folds).assign(rows.codes))


def fit_logistic(data: TrainingRows, C: float | str) -> FoldModel:
    """Fit a logistic regression over indicators, standardised numbers and words.

    Where C is chosen by folds, so is the role of numbers that have none: as naive Bayes takes them, or, where that
    has a clearly lower loss, all as they are, or all in bins.
    """
    model, best = _fit_logistic_design(data, C)
    if best is None:  # no folds have chosen C
        return model
    for role in LOGISTIC_ROLES:
        other = data.with_open_numbers(role)
        if other is not None:
            found, losses = _fit_logistic_design(other, C)
            if losses is not None and is_clearly_lower(losses, best):
                model, best = found, losses
    return model


def _fit_logistic_design(data: TrainingRows, C: float | str) -> tuple[FoldModel, Array | None]:
    """Fit a logistic regression with the roles of these rows; also return the losses in the folds that choose C."""
    decided = data.decided or {}
    uses_labels = any((decided.get(c.name) or c).role in ("binned", *OPEN_ROLES) for c in data.task.columns)
    fold_design = partial(_make_logistic_design, data) if uses_labels else None  # else no label influences the design
    scorer, losses = table_design.fit_table_logistic(data.basis, data.parts, data.folded_rows, C, fold_design)
    return replace(data.model, scorer=scorer), losses


def _make_logistic_design(data: TrainingRows, f: int) -> Design:
    """Return the design of all rows by the model of those outside fold f."""
    rows, other = data.rows, data.exclude_fold(f)
    weight = np.where(data.folded_rows.fold == f, 0.0, 1.0 if rows.weight is None else rows.weight)
    parts = select_columns(rows, other.model.kept).parts
    return [block.part for block in build_table_blocks(other.basis, parts, weight)]


def fit_evidence(data: TrainingRows, C: float | str) -> FoldModel:
    """Fit the evidence weight of each column to out-of-fold evidence of columns and texts.

    It is fitted to a sample of very many rows; all weights are 1 if no class is in two folds.
    """
    index = evidence_weights.sample_evidence_rows(len(data.rows.codes), data.basis)
    if len(index) < len(data.rows.codes):
        data = replace(data, rows=data.rows[index], shared=SharedParts())
    names = [feature.column for feature in data.task.layout.texts]
    if (data.folded_rows.fold < 0).all():
        scorer = evidence_weights.use_unit_weights(data.basis, len(data.rows.codes), names)
        return replace(data.model, scorer=scorer)
    weights, text_evidence = _fit_texts(data, C)
    evidence = _set_text_evidence(compute_out_of_fold_column_evidence(data, EVIDENCE_FOLDS), data, text_evidence)
    fold_design = partial(_make_evidence_design, data, text_evidence)
    scorer = evidence_weights.fit_evidence_weights(
        data.basis, evidence, data.folded_rows, C, dict(zip(names, weights)), fold_design
    )
    return replace(data.model, scorer=scorer)


def _make_evidence_design(data: TrainingRows, text_evidence: Sequence[Array], f: int) -> Design:
    """Return the evidence of all rows by the model of those outside fold f; of these, without their inner fold."""
    other, own = data.exclude_fold(f), data.folded_rows.fold == f
    out = np.zeros((len(own), evidence_weights.count_weights(other.basis), len(other.basis.ledger.rows)))
    parts = select_columns(data.rows[np.flatnonzero(own)], other.model.kept).parts
    out[own] = evidence_weights.compute_column_evidence(other.basis, parts)
    out[~own] = compute_out_of_fold_column_evidence(other, CHOICE_FOLDS)
    return [Shared(_set_text_evidence(out, other, text_evidence), 1.0)]


def compute_out_of_fold_column_evidence(data: TrainingRows, n_folds: int) -> Array:
    """Return ln p(x_j|k) of rows by the model without their fold, n×d×K; 0 for a row that is alone in its class."""
    rows, kept, assumption = data.rows, data.model.kept, data.basis.assumption
    fold = assign_inner_folds(rows, n_folds)
    out = np.zeros((len(fold), evidence_weights.count_weights(data.basis), len(data.basis.ledger.rows)))
    for f, ledger in enumerate(data.count_excluding_folds(fold, n_folds, decided=True)):
        own = np.flatnonzero(fold == f)
        if len(own):
            model = GenerativeModel(assumption, ledger)
            out[own] = evidence_weights.compute_column_evidence(model, select_columns(rows[own], kept).parts)
    return out


def _fit_texts(data: TrainingRows, C: float | str) -> tuple[list[evidence_weights.TextWeights], list[Array]]:
    """Return the fitted weights of the words of each text column, and its evidence without each row's fold."""
    found, evidence = [], []
    for X, block, family in zip(data.parts, data.basis.schema.blocks, data.basis.assumption.families):
        if block.kind == "bags":
            alpha: float = getattr(family, "alpha", 1.0)
            K, threads = len(data.basis.ledger.rows), engines.thread_count(None)
            has_unit_length = data.task.options.words.length == "l2"
            size = max(1.0, float(np.sqrt(X.nnz / X.shape[0]))) if has_unit_length else 1.0
            rows = WordRows(X, X, data.rows.codes, data.rows.weight, K, size, threads)
            found.append(evidence_weights.fit_text_weights(rows, alpha / size, C, data.folded_rows.fold))
            evidence.append(evidence_weights.compute_out_of_fold_evidence(rows, found[-1], data.folded_rows.fold))
    return found, evidence


def _set_text_evidence(evidence: Array, data: TrainingRows, text_evidence: Sequence[Array]) -> Array:
    """Replace the evidence of texts by that of their weighted words, in place; return the array."""
    for j, text in zip(evidence_weights.find_text_weights(data.basis), text_evidence):
        evidence[:, j] = text
    return evidence


def fit_boosted(data: TrainingRows, C: float | str) -> FoldModel:
    """Fit boosted naive Bayes: the number of rounds is chosen on held-out rows, then all rows are learned.

    It has no penalty, so C is not used.
    """
    threads, (codes, weight, fold) = engines.thread_count(None), data.folded_rows
    assumption, schema = replace(data.basis.assumption, prior=ClassPrior()), data.basis.schema
    learned, held = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    examples, rounds = Examples(data.parts, codes, weight), MAX_BOOSTING_ROUNDS
    settings = BoostingSettings(rounds=rounds, threads=threads)
    by_class = np.bincount(codes, weights=weight, minlength=len(schema.classes)).astype(np.float64)
    seen, own = narrow_classes(schema, examples, by_class)
    if len(codes) <= MAX_TRACED_ROWS and (fold >= 0).any() and _has_all_classes(own.codes, fold, len(seen.classes)):
        rounds = _choose_rounds(assumption, seen, own, fold, settings)
        if not rounds:
            one = use_one_learner(assumption, schema, examples, settings, data.basis)
            return replace(data.model, scorer=one)
    elif len(held) and len(np.unique(codes[learned])) > 1:
        trial = boost(assumption, schema, examples.take(learned), replace(settings, held=examples.take(held)))
        rounds = len(trial.rounds)
    boosted = boost(assumption, schema, examples, replace(settings, rounds=rounds), data.basis)
    return replace(data.model, scorer=boosted)


def _has_all_classes(codes: NDArray[np.int32], fold: NDArray[np.int32], n_classes: int) -> bool:
    """Return whether the rows outside of each fold have all classes."""
    return all(len(np.unique(codes[fold != f])) == n_classes for f in range(CHOICE_FOLDS))


def _choose_rounds(
    assumption: Assumption, schema: Schema, examples: Examples, fold: NDArray[np.int32], settings: BoostingSettings
) -> int:
    """Return the number of rounds with the least log-loss in all folds; 0 if it is not clearly below naive Bayes.

    A row whose class is impossible counts as one of the least positive probability.
    """
    parts = []
    for f in np.unique(fold[fold >= 0]).tolist():
        learned, held = (examples.take(np.flatnonzero(index)) for index in (fold != f, fold == f))
        parts.append(trace_losses(assumption, schema, learned, replace(settings, held=held)))
    losses = np.minimum(np.concatenate(parts, axis=1), -IMPOSSIBLE_BIAS)
    best = int(losses.sum(axis=1).argmin())
    return best if best and is_clearly_lower(losses[best], losses[0]) else 0


FIT_FUNCTIONS: Mapping[str, Callable[[TrainingRows, float | str], FoldModel]] = {
    "logistic": fit_logistic,
    "evidence": fit_evidence,
    "boosted": fit_boosted,
}
"""The function that fits the model of each learner to rows, with a penalty, by the name of the learner."""


def fit_learner(data: TrainingRows, task: Task) -> FoldModel:
    """Fit the discriminative learner of a task to rows, with the task's class prior."""
    learned = FIT_FUNCTIONS[task.learner](data, task.C)
    if data.basis.assumption.prior != ClassPrior():  # else the class prior is that of the rows
        assert isinstance(learned.scorer, FittedModel)
        learned = replace(learned, scorer=learned.scorer.with_prior(data.basis.solved.prior))
    return learned
