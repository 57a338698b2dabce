"""Fold models of tables: ledgers of rows in memory, models of all folds but one, and out-of-fold scores.

A model is learned from rows, or their ledger, and estimates everything from them alone: roles, bins, penalties,
evidence weights. So no row is scored by a model that has learned it.

Every role is decided without the fold: Gaussian, bins or Poisson rate too. Decided once by all rows, noise reveals
the labels that it was decided by: 1000 columns of it with 300 random labels "predicted" 87 % of them, and without the
fold 50 (measured once, by a script that is not kept; tests/tables/test_leakage.py has the latter).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.engines import summarise_bags
from deciban.errors import InputError
from deciban.families.family import ClassPrior
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger, Levels, Needs, Schema, Statistic
from deciban.ledger.schema import Block
from deciban.metrics import Scorecard
from deciban.metrics.calibration_fit import CalibrationResult, calibrate
from deciban.metrics.intervals import effective_weights
from deciban.model.columns import Column, FeatureBlock, Layout
from deciban.model.fold_ledgers import split_by_fold
from deciban.model.matrices import stack_columns
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.scorer import Scorer, vocabularies
from deciban.scores.posterior import Finish, finish, warn_impossible
from deciban.scores.score_form import log
from deciban.text import Words, keep_known_words
from deciban.training.column_roles import decide
from deciban.training.structure import without_cells
from deciban.training.task import Task
from deciban.validation.covariance_choice import MIXINGS, SHRINKAGES, CovarianceSettings, choose_covariance
from deciban.validation.fold_models import ledgers_before_each, ledgers_excluding_each, score_by_fold

DecidedColumns = Mapping[str, Column]
"""Columns whose roles are decided, by their names."""


def count_rows(task: Task, schema: Schema, rows: Rows) -> Ledger:
    """Return the ledger of rows in memory, whose class and level codes are indices of the schema's names."""
    part = np.zeros(len(rows.codes), dtype=np.int32)
    (ledger,) = count_parts(task.options, task.layout, schema, rows, part, 1)
    return ledger


def count_parts(
    options: Options, layout: Layout, schema: Schema, rows: Rows, part: NDArray[np.int32], n_parts: int
) -> list[Ledger]:
    """Return the ledger of each part of the rows; class k of part f is counted as class k·F + f."""
    codes = rows.codes * np.int32(n_parts) + part
    K = len(schema.classes) * n_parts
    weight = np.bincount(codes, weights=rows.weight, minlength=K).astype(np.float64)
    squares: Any = None
    if options.survey_weights and rows.weight is not None:
        squares = np.bincount(codes, weights=rows.weight**2, minlength=K)
    needs = options.assumption(layout).needs
    blocks = zip(needs, layout.blocks, schema.blocks, rows.columns)
    parts = [_count_block(*block, codes, rows.weight, K, options.words) for block in blocks]
    return split_by_fold(Ledger(schema, weight, tuple(parts), squares), schema, n_parts)


def _count_block(
    need: Needs, group: FeatureBlock, block: Block, columns: Sequence[Any], codes: NDArray[np.int32],
    weight: Array | None, K: int, words: Words,
) -> Statistic:  # fmt: skip
    """Return the statistic of one block of features, of K classes, padded to the levels of the schema's block."""
    threads = engines.thread_count(None)
    if group.kind == "bags":
        once = words.values == "presence" and words.length is None
        return summarise_bags(columns[0], codes, weight, K, threads, once)
    if group.kind == "counts":  # a negative value means no count, as the grid will show
        columns = [np.maximum(x, 0.0) if f.role == "countable" else x for f, x in zip(group.features, columns)]
    part = engines.summarise(need, stack_columns(columns), codes, weight, K, threads)
    if isinstance(part, Levels) and block.levels is not None:
        return part.pad_levels(np.array([len(names) for names in block.levels], dtype=np.int64))
    return part


@dataclass(frozen=True)
class FoldModel:
    """A model of some rows of a table, with their ledger and the features of each block that it uses."""

    scorer: Scorer
    kept: Sequence[Sequence[int] | None]
    ledger: Ledger
    columns: Sequence[Column]
    """The columns with every role decided."""
    words: Words
    """The text options."""
    options: Options | None = None
    """The options of the model, where they differ from those of the task: a mixed covariance was chosen."""
    rearrange: Callable[[Rows], Rows] | None = None
    """The conversion of rows to be scored, where they have another layout."""
    choice: str = ""
    """The name of the learner, where it was chosen by the rows."""

    def scores(self, rows: Rows, wanted: Finish) -> NDArray[Any]:
        """Score rows that have the columns of all blocks as they were counted."""
        if self.rearrange is not None:
            rows = self.rearrange(rows)
        parts = select_columns(rescale_texts(rows, self.ledger, self.words), self.kept).parts
        return self.scorer.scores(parts, wanted, engines.thread_count(None))


def rescale_texts(rows: Rows, ledger: Ledger, words: Words) -> Rows:
    """Divide texts by their length as the model of a ledger does: the length counts the words that it knows."""
    if words.length is None:
        return rows
    known = vocabularies(ledger.schema)
    dense = len(rows.columns) - len(known)
    texts = [
        block if vocabulary is None else [keep_known_words(words, block[0], part.seen)]  # type: ignore[attr-defined]
        for vocabulary, block, part in zip(known, rows.columns[dense:], ledger.parts[dense:])
    ]
    return replace(rows, columns=[*rows.columns[:dense], *texts])


def select_columns(rows: Rows, kept: Sequence[Sequence[int] | None]) -> Rows:
    """Return rows with the features that are kept of each block; None keeps all."""
    columns = [
        block if index is None else [block[j] for j in index]
        for block, index in zip(rows.columns, kept)
        if index is None or len(index)
    ]
    return replace(rows, columns=columns)


def solve_ledger(
    task: Task, ledger: Ledger, decided: DecidedColumns | None = None, rows: Rows | None = None
) -> FoldModel:
    """Return the naive Bayes model of a ledger, all undecided roles decided by it but those of `decided` columns.

    `rows` are some of the ledger's rows, from which a mixed covariance is chosen; it is refused without them.
    """
    columns, kept, _ = decide(task.layout, ledger, task.options, decided)
    if task.structure == "naive" and task.layout.cells:
        columns = without_cells(columns)
        kept = [[] if kind == "pairs" else own for (kind, _), own in zip(task.layout.blocks, kept)]
    layout, chosen = Layout(tuple(columns)), ledger.choose(kept)
    model = GenerativeModel(task.options.assumption(layout), chosen)
    if not task.options.chooses_covariance:
        return FoldModel(model, kept, ledger, columns, task.options.words)
    options = choose_mixed_covariance(task.options, model, None if rows is None else select_columns(rows, kept))
    model = GenerativeModel(options.assumption(layout), chosen)
    return FoldModel(model, kept, ledger, columns, options.words, options)


def choose_mixed_covariance(options: Options, model: GenerativeModel, rows: Rows | None) -> Options:
    """Return the options with λ and γ of joined numbers, chosen by leave-one-out of these rows of the model.

    The columns that are not joined are not taken into account; of several blocks the largest is. InputError for None.
    """
    if rows is None:
        raise InputError(
            "covariance='mixed' is chosen by leaving out rows of the table, and here there is only its ledger. "
            "Hint: covariance='full' or 'tied'; evaluate(…, folds=10) chooses in each fold"
        )
    blocks, families = model.schema.blocks, model.assumption.families
    i = max((i for i, block in enumerate(blocks) if block.kind == "scatter"), key=lambda i: blocks[i].width)
    ledger = replace(model.ledger, schema=Schema(model.schema.classes, (blocks[i],)), parts=(model.ledger.parts[i],))
    alone = GenerativeModel(replace(model.assumption, families=(families[i],)), ledger)
    weight: Any = None if rows.weight is None else rows.weight.copy()
    for k in range(len(model.rows)) if options.survey_weights else ():
        weight[rows.codes == k] = effective_weights(weight[rows.codes == k])
    choice = choose_covariance(alone, rows.parts[i], rows.codes, weight, CovarianceSettings(MIXINGS, SHRINKAGES))
    family: Any = choice.family
    return replace(options, mixing=family.mixing, shrinkage=family.shrinkage)


def learn(task: Task, ledger: Ledger, rows: Rows | None, decided: DecidedColumns | None = None) -> FoldModel:
    """Learn a model by the learner that a task names, from these rows alone.

    `ledger` is that of the rows (`count_rows`, if they have not been counted), and all that naive Bayes needs; `rows`
    are the rows, or a uniform sample of them, with the columns of all blocks of the task's layout and codes by the
    names of `ledger.schema`; a learner of rows refuses None. The roles of `decided` columns stay.
    """
    if not task.needs_rows:
        return solve_ledger(task, ledger, decided, rows)
    if rows is None or not len(rows.codes):
        raise InputError(f"learner={task.learner!r} learns from rows, and there are none")
    if task.learner == "auto":
        from deciban.training.learner_choice import learn_by_choice

        return learn_by_choice(task, ledger.schema, rows)
    from deciban.training.discriminative_learners import TrainingRows, fit_learner

    return fit_learner(TrainingRows(task, solve_ledger(task, ledger, decided), rows), task)


def learn_excluding_each(
    task: Task, folds: Sequence[Ledger], rows: Rows | None, decided: DecidedColumns | None = None,
    rest: Ledger | None = None,
) -> Iterator[FoldModel]:  # fmt: skip
    """Yield the model without the first fold, without the second, …; `decided` roles are those no fold can change.

    `rest` is the ledger of rows that are in no fold, which all models learn.
    """
    ledgers = ledgers_excluding_each(folds if rest is None else [rest, *folds])
    if rest is not None:
        next(ledgers)
    for f, ledger in enumerate(ledgers):
        yield learn(task, ledger, _select_folds(task, rows, partial(np.not_equal, f)), decided)


def learn_before_each(task: Task, folds: Sequence[Ledger], rows: Rows | None) -> Iterator[FoldModel | None]:
    """Yield the model of the folds before each fold; None before the first."""
    for f, ledger in enumerate(ledgers_before_each(folds)):
        yield learn_up_to(task, ledger, rows, f - 1) if f else None


def learn_up_to(task: Task, ledger: Ledger, rows: Rows | None, last: int) -> FoldModel:
    """Return the model of the folds up to the `last`; `ledger` is that of all their rows."""
    return learn(task, ledger, _select_folds(task, rows, lambda fold: fold <= last))


def _select_folds(
    task: Task, rows: Rows | None, is_selected: Callable[[NDArray[np.int32]], NDArray[np.bool_]]
) -> Rows | None:
    """Return the rows of the selected folds, all rows if they have no folds; None for a task that needs no rows."""
    if rows is None or not task.uses_rows:
        return None
    return rows if rows.fold is None else rows[np.flatnonzero(is_selected(rows.fold))]


@dataclass(frozen=True)
class TableFoldScores:
    """Rows of a table scored by the models without their folds, and the classes that each row's model knows."""

    rows: Rows
    scores: NDArray[Any]
    known: NDArray[np.bool_]
    log_prior: Array
    """ln π_k by the model that scored each row, n×K."""
    cells: Array | None = None
    """The number of cells of each row, or words, that its model knows; None unless requested."""

    def finish(self, wanted: Finish) -> NDArray[Any]:
        """Turn joint scores into what is wanted, see `scores.finish`; warn of rows impossible in every class."""
        finished, n_impossible = finish(self.scores, self.log_prior, wanted)
        warn_impossible(n_impossible)
        return finished

    def calibrate(
        self, method: str | None, prior: ClassPrior | None = None, log_prior: Array | None = None
    ) -> CalibrationResult:
        """Fit a calibration to the rows, see `calibrate_rows` (without `log_prior` it is for these rows alone)."""
        return calibrate_rows(method, self.finish("log_posterior"), self.rows, self.known, prior, log_prior)

    def scorecard(self, log_posterior: Array) -> Scorecard:
        """Return the scorecard of log-posteriors of the rows, n×K, which it keeps."""
        rows = self.rows
        return Scorecard.of(log_posterior, rows.codes, rows.weight, self.known, keep=True, number=rows.number)


def calibrate_rows(
    method: str | None, log_posterior: Array, rows: Rows, known: NDArray[np.bool_], prior: ClassPrior | None = None,
    log_prior: Array | None = None,
) -> CalibrationResult:  # fmt: skip
    """Fit a calibration to ln p(k|x) of rows that were each scored by a model without their fold.

    Of a row whose own class that model did not know (`known`, n×K) nothing is learned. Without a method, or with
    "auto" and no other rows, there is no calibration. It keeps `log_prior`, ln π_k of the model of all rows; where
    none is given, that of the shares of the classes among the rows. A fixed `prior` has the shares for which it is
    fitted.
    """
    is_known = known[np.arange(len(rows.codes)), rows.codes]
    if method is None or (method == "auto" and not is_known.any()):
        return CalibrationResult(None, log_posterior)
    assert rows.fold is not None
    truth = np.where(is_known, rows.codes, -1)
    K = log_posterior.shape[1]
    shares = None if prior is None else prior.fixed_shares(K)
    if log_prior is None:
        counted = np.bincount(rows.codes, weights=rows.weight, minlength=K)
        log_prior = log(counted / counted.sum() if shares is None else np.asarray(shares, dtype=np.float64))
    return calibrate(method, log_posterior, truth, rows.weight, rows.fold, log_prior, shares)


def score_out_of_fold(
    models: Iterable[FoldModel | None], rows: Rows, wanted: Finish, count_cells: bool = False
) -> TableFoldScores:
    """Score every row by the model without its fold; rows of a fold that has no model are left out.

    `count_cells` also counts the cells and words of each row that its model knows.
    """
    assert rows.fold is not None

    def score(model: FoldModel, index: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
        own, known, log_prior = rows[index], model.ledger.rows > 0, model.scorer.solved.log_prior
        of_model = (np.broadcast_to(values, (len(index), len(known))) for values in (known, log_prior))
        cells = (model.scores(own, "observed"),) if count_cells else ()
        return model.scores(own, wanted), *of_model, *cells

    arrays = score_by_fold(models, rows.fold, score)
    if not arrays:
        return TableFoldScores(rows[:0], np.zeros((0, 0)), np.zeros((0, 0), dtype=np.bool_), np.zeros((0, 0)))
    is_scored = arrays[1].any(axis=1)  # every model knows a class
    if not is_scored.all():
        rows, arrays = rows[np.flatnonzero(is_scored)], [array[is_scored] for array in arrays]
    return TableFoldScores(rows, *arrays)
