"""`evaluate`: exact cross-validation over all rows of a table, leave-one-out, or a model evaluated on other rows."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import MAX_NAME_LENGTH, InputError, did_you_mean, warn_caller
from deciban.formatting import clip_text, format_count
from deciban.ledger import Ledger
from deciban.metrics.calibration_fit import apply_fold_maps, check_method
from deciban.metrics.report import Report, describe_learned_rows
from deciban.metrics.scorecard import Scorecard
from deciban.model.columns import Layout, to_name
from deciban.model.learned_rows import LearnedRows, RowHasher
from deciban.model.matrices import read_documents
from deciban.model.model import Model
from deciban.model.model_options import hide_markers
from deciban.model.summarise_table import Progress, Rows
from deciban.sources.arrow_cells import LevelEncoder
from deciban.sources.distributed import distributed_base
from deciban.sources.source import FileOptions, Source, check_column, open_source
from deciban.text import Documents
from deciban.training import table_folds
from deciban.training.column_roles import decide
from deciban.training.structure import refuse_independence
from deciban.training.table_pass import fetch_sample
from deciban.training.table_rows import assign_by_column, concatenate_rows, keep_learned_rows, read_labelled_rows
from deciban.training.task import TABLE_PARAMETERS, Task, check_settings, choose_weights, plan
from deciban.training.train import Trained, describe_map, train_task
from deciban.validation import fold_models, splits
from deciban.validation.fold_models import LeaveOneOutScores
from deciban.validation.splits import FoldAssignment

MAX_NAMED_CLASSES = 3
"""Number of classes without training rows that a warning names."""


@document(TABLE_PARAMETERS)
def evaluate(
    source: Any = None,
    *,
    target: str | int | None = None,
    model: Model | None = None,
    folds: int | str = 10,
    groups: str | None = None,
    order: str | None = None,
    sql: str | None = None,
    spark: Any = None,
    weights: str | None = None,
    survey_weights: str | None = None,
    calibrate: str | None = None,
    progress: Progress | None = None,
    allow_missing_columns: bool = False,
    **settings: Any,
) -> Report:
    """Evaluate a model on these rows, or k models that each learned all folds but one.

    With folds, the rows are read twice: once for the ledgers of all folds, once to score each row by the model
    without its fold, everything estimated without it. Folds are stratified by class. The rows of a DataFrame of Spark
    are read once: a uniform sample of them is scored, each by the model without its fold.

    Parameters
    ----------
    target : str or None
        The column to predict, for cross-validation.
    model : Model or None
        A model to evaluate on these rows, instead of cross-validation.
    folds : int or 'loo'
        The number of folds; 'loo' leaves out each row alone.
    order : str or None
        A column of numbers, dates or texts: each fold is scored by the model of the folds before it, the first by
        none. It is learned from as `train` does.
    calibrate : 'auto', 'temperature', 'platt', 'isotonic', 'none' or None
        How probabilities are corrected, see `train`: the rows are scored by model and map without their fold. None:
        'auto', and 'none' with an order, or where each row is left out alone.
    allow_missing_columns : bool
        Whether a column of the model that the table lacks is missing in every row, and no error.

    Returns
    -------
    Report
        The figures of all rows.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 1, 8, 9, 7, 2, 8], "fruit": ["lemon"] * 3 + ["plum"] * 3 + ["lemon", "plum"]}
    >>> deciban.evaluate(taste, target="fruit", numbers="number", folds="loo").accuracy
    1.0
    """
    if (model is None) == (target is None):
        raise InputError("evaluate takes a target, for cross-validation, or a model to evaluate; one of the two")
    if model is not None:
        weights = choose_weights(weights, survey_weights)
        if groups is not None or order is not None:
            raise InputError("groups and order are for folds; a model is scored on all rows. Hint: leave them out")
        if check_method(calibrate) is not None:
            raise InputError("a model is evaluated as it is. Hint: omit calibrate, or train(…, calibrate='auto')")
        opened = hide_markers(model, open_source(source, sql, FileOptions.from_arguments(settings), spark))
        if distributed_base(opened) is not None:
            opened = fetch_sample(model, opened, weights, allow_missing_columns)
        return _evaluate_model(model, opened, weights, survey_weights is not None, allow_missing_columns, progress)
    assert target is not None
    split = Split.of(folds, groups, order)
    settings = {"structure": "auto", "survey_weights": survey_weights, **check_settings("evaluate", settings)}
    refuse_independence(settings.get("learner"), settings["structure"])
    if split.folds is None or split.order is not None:
        settings["structure"] = "naive" if settings["structure"] == "auto" else settings["structure"]
    task = split.plan(source, target=target, sql=sql, spark=spark, weights=weights, **settings)
    if distributed_base(task.source) is not None:
        return _evaluate_parts(task, split, check_method(calibrate, "auto"))
    _check_split(split, check_method(calibrate))
    if split.folds is None:
        return _evaluate_leave_one_out(task, progress)
    return _evaluate_folds(task, split, check_method(calibrate, "auto" if split.order is None else None), progress)


@dataclass(frozen=True)
class Split:
    """The number of folds (None: leave-one-out), and the column of groups or of an order that assigns the rows."""

    folds: int | None
    groups: str | None = None
    order: str | None = None

    @classmethod
    def of(cls, folds: Any, groups: str | None, order: str | None) -> "Split":
        """Check the arguments of `evaluate`, and return the split; `folds` is a number, or "loo"."""
        groups, order = to_name(groups), to_name(order)
        if groups is not None and order is not None:
            raise InputError("rows are assigned to folds by groups or by order, not by both. Hint: leave one out")
        if not isinstance(folds, str):
            return cls(splits.check_n_folds(folds), groups, order)
        if folds != "loo":
            raise InputError(f"folds must be a whole number of at least 2, or 'loo' (each row alone), not {folds!r}")
        if groups is not None or order is not None:
            name = "groups" if groups is not None else "order"
            raise InputError(f"'loo' leaves out each row alone, so {name} has no meaning. Hint: folds=10")
        return cls(None)

    @property
    def column(self) -> tuple[Literal["groups", "order"], str] | None:
        """The use and name of the column that assigns rows to folds; None where they are stratified by class."""
        if self.groups is not None:
            return "groups", to_name(self.groups)
        return None if self.order is None else ("order", self.order)

    def plan(self, source: Any, **arguments: Any) -> Task:
        """Plan a task; the column of groups or of an order is checked, and that of groups is not learned from."""
        task = plan(source, unlearned=[] if self.groups is None else [self.groups], **arguments)
        if self.column is not None:
            argument, name = self.column
            check_column(task.source, name, f" for the {argument}")
            if name in (task.target, task.weights):
                raise InputError(f"column {name!r} is the {'target' if name == task.target else 'weights'} already")
        return task

    def assign(self, task: Task) -> FoldAssignment:
        """Return the assignment of rows to folds; a column that decides it is read."""
        assert self.folds is not None
        return FoldAssignment(self.folds) if self.column is None else assign_by_column(task, *self.column, self.folds)

    def train(self, task: Task, progress: Progress | None, hint: str = "") -> tuple[Trained, FoldAssignment]:
        """Train a model with the ledgers of all folds, and return it with the assignment of rows to folds.

        Ledgers that would be too large are an InputError, in which `hint` names a way out.
        """
        assignment = self.assign(task)
        trained = train_task(task, assignment.n_folds, progress, assignment)
        trained.check_folds(assignment.n_folds, hint=hint)
        return trained, assignment

    def describe(self, n: int) -> str:
        """Describe the cross-validation with n folds in a sentence."""
        if self.order is not None:
            return splits.describe_ordered_folds(n, self.order)
        how = "stratified by class" if self.groups is None else f"each {self.groups} in one fold"
        return splits.describe_folds(n, how)


def _evaluate_model(
    model: Model, source: Source, weights: str | None, survey: bool, allow_missing: bool, progress: Progress | None
) -> Report:
    """Return the report on the labelled rows of a source, scored by a model that was trained before."""
    card, hasher = score_table(model, source, weights, model._scorer, allow_missing, progress)
    report = (card.in_effective_rows() if survey else card).report(model.classes, f"evaluated on {source.name}")
    share = estimate_learned_share(model, hasher)
    if share is not None:
        hint = f"Hint: --target {model.target} without --model (target={model.target!r}) cross-validates"
        warn_caller(f"{describe_learned_rows(share, report.rows)}. {hint}")
    return replace(report, learned_share=share)


def score_table(
    model: Model, source: Source, weights: str | None, scorer: Any, allow_missing: bool, progress: Progress | None,
    score: Callable[[Rows], Array] | None = None,
) -> tuple[Scorecard, RowHasher]:  # fmt: skip
    """Return the scorecard of the labelled rows of a source, scored by a scorer or `score`, and their hashes."""
    matrices, monitor = model._make_matrices(), model._make_unseen_monitor()
    labels = [str(label) for label in model._scorer.schema.classes]
    hasher = RowHasher(model._layout, matrices.names)
    known = model._scorer.ledger.rows > 0  # a class that the model has learned no row of is unknown to it
    card, unknown = Scorecard.empty(len(known)), Counter[str]()
    read = read_labelled_rows(source, model.target, labels, weights, matrices, progress, allow_missing)
    for batches, rows in read:
        if model.options.unseen == "error":
            monitor.refuse_unseen(batches, matrices.convert(batches))
        parts, index = rows.parts, rows.number - monitor.n_rows
        monitor.count(batches, parts, index)
        is_unknown = ~np.append(known, False)[rows.codes]
        if is_unknown.any():
            weighs = np.bool_(True) if rows.weight is None else rows.weight > 0
            unknown.update(_read_labels(batches, model.target, index[is_unknown & weighs]))
        if len(rows.codes):
            posterior = score(rows) if score else scorer.scores(parts, "log_posterior", engines.thread_count(None))
            card += Scorecard.of(posterior, rows.codes, rows.weight, known, keep=True, number=rows.number)
            hasher.add(_with_documents(model._layout, rows, batches, index), rows.codes, labels)
    monitor.warn()
    _warn_of_unknown_classes(unknown, [label for label, is_known in zip(labels, known) if is_known])
    return card, hasher


def _read_labels(batches: Sequence[Any], target: str, index: NDArray[np.intp]) -> list[str]:
    """Return the labels of some rows of a block."""
    names = LevelEncoder(grows=True, column=target)
    codes = np.concatenate([names.encode(batch.column(target)) for batch in batches])
    return [names.list[code] for code in codes[index].tolist()]


def _warn_of_unknown_classes(unknown: Counter[str], known: Sequence[str]) -> None:
    """Warn of rows whose class the model has learned no row of: the commonest classes, each with a similar one."""
    if not unknown:
        return
    shown = ", ".join(
        f"{clip_text(label, MAX_NAME_LENGTH)!r} ({format_count(n, 'row')}{did_you_mean(label, known)})"
        for label, n in unknown.most_common(MAX_NAMED_CLASSES)
    )
    more = ", …" if len(unknown) > MAX_NAMED_CLASSES else ""
    rows = format_count(unknown.total(), "row")
    warn_caller(f"{rows} of a class without training rows, counted as errors: {shown}{more}")


def _with_documents(layout: Layout, rows: Rows, batches: Sequence[Any], index: NDArray[Any]) -> list[list[Any]]:
    """Return the columns of rows with the documents of texts in place of their words; `index` are their rows."""
    first = len(rows.columns) - len(layout.texts)
    texts = [[read_documents(feature.column, batch) for batch in batches] for feature in layout.texts]
    return [*rows.columns[:first], *([Documents.concatenate(parts)[index]] for parts in texts)]


def estimate_learned_share(model: Model, hasher: RowHasher) -> float | None:
    """Return the share of rows that the model has learned, None where it is not known, or not significant."""
    learned = model.origin.learned
    return None if learned is None else learned.estimate_share(LearnedRows.of(hasher.hashes), hasher.chance)


def _evaluate_folds(task: Task, split: Split, method: str | None, progress: Progress | None) -> Report:
    """Evaluate models, and calibration maps if a method is given, both without the fold of each row."""
    trained, assignment = split.train(task, progress, "; or hold rows out, and evaluate a model on them")
    learn = table_folds.learn_excluding_each if split.order is None else table_folds.learn_before_each
    models = list(learn(trained.task, trained.folds, trained.sample))
    fitted = None if method is None else trained.score_sample(models).calibrate(method, trained.task.options.prior)
    maps = {} if fitted is None else fitted.fold_maps
    log_prior = None if fitted is None or fitted.calibration is None else fitted.calibration.log_prior
    card = Scorecard.empty(len(trained.model._labels))
    for _, rows in trained.read_rows(progress):
        assigned = replace(rows, fold=assignment.lookup(rows.number))
        scored = table_folds.score_out_of_fold(models, assigned, "log_posterior")
        if len(scored.rows.codes):
            assert scored.rows.fold is not None
            card += scored.scorecard(apply_fold_maps(maps, scored.scores, scored.rows.fold, log_prior))
    words = split.describe(assignment.n_folds) + describe_map(fitted and fitted.calibration)
    chosen = Counter(model.choice for model in models if model is not None and model.choice)
    if chosen:
        words += f"; learners, chosen without the fold: {', '.join(f'{name} ×{n}' for name, n in chosen.items())}"
    report = card.report(trained.model.classes, words)
    if card.score_sample is None or not card.score_sample.is_complete:
        return report
    return replace(report, folds=assignment.lookup(card.score_sample.rows.number))


def _check_split(split: Split, method: str | None) -> None:
    """Raise an error if a calibration was requested that this split does not allow."""
    if method is not None and split.folds is None:
        raise InputError("calibrate fits a map without each fold, and for 'loo' that is each row. Hint: folds=10")
    if method is not None and split.order is not None:
        raise InputError(
            "calibrate corrects a fold by the outcomes of all others, of later ones too, so order has no meaning. "
            "Hint: leave one of the two out"
        )


def _evaluate_parts(task: Task, split: Split, method: str | None) -> Report:
    """Evaluate models of a table that lies on many machines on a uniform sample of its rows, in one pass over it."""
    if split.folds is None or split.column is not None:
        name = "folds='loo'" if split.column is None else f"{split.column[0]}="
        raise InputError(
            f"{name} needs all rows on one machine, and those of {task.source.name} lie on many. "
            f"Hint: folds=10, by a hash of each row's place; or a sample of the rows, frame.sample(0.01).toArrow()"
        )
    trained = train_task(task, split.folds, None)
    trained.check_folds(split.folds)
    scored = trained.sample_scores
    assert scored is not None
    calibration, log_posterior, _ = scored.calibrate(method, trained.task.options.prior)
    return replace(trained.report(log_posterior, describe_map(calibration)), folds=scored.rows.fold)


def _evaluate_leave_one_out(task: Task, progress: Progress | None) -> Report:
    """Evaluate all rows of a table, each scored by the model of all others: in closed form where there is one."""
    if task.needs_rows:
        raise InputError(
            f"'loo' subtracts each row from the ledger, and learner={task.learner!r} would have to learn the "
            f"table again for every row. Hint: --folds 10 (folds=10)"
        )
    if task.options.survey_weights:
        raise InputError("'loo' does not know the effective rows without each row. Hint: --folds 100 (folds=100)")
    trained = train_task(task, 1, progress)
    found = _score_in_closed_form(trained, progress)
    if found is None or found[1].needs_refit.any():
        needs_all = np.ones(trained.n_learned, dtype=np.bool_)
        scores, needs_refit = (None, needs_all) if found is None else found[1]
        n = int(needs_refit.sum())
        if n > fold_models.MAX_REFITTED_ROWS:
            raise InputError(
                f"{trained.task.source.name} has {n} rows that need a model refitted without each of them, and "
                f"that is done for at most {fold_models.MAX_REFITTED_ROWS} rows. Hint: folds=100 is nearly the same, "
                f"and far quicker; or fix what rows decide, numbers='number', alpha=1.0"
            )
        batches = [keep_learned_rows(batch) for _, batch in trained.read_rows()]
        table = RowsInMemory(trained, concatenate_rows(batches), progress)
        rows, scores = table.rows, fold_models.refit_each_row(table, trained.total, needs_refit, scores)
    else:
        rows, (scores, _) = found
    known = fold_models.known_classes_without_row(rows.codes, len(trained.total.rows))
    card = Scorecard.of(scores, rows.codes, rows.weight, known, keep=True, number=rows.number)
    return card.report(trained.model.classes, f"{splits.LEAVE_ONE_OUT_TEXT}; not calibrated")


def _score_in_closed_form(trained: Trained, progress: Progress | None) -> tuple[Rows, LeaveOneOutScores] | None:
    """Return the rows, without columns, and their scores by closed forms.

    None where there is no closed form, or where a row could change the role of a column.
    """
    task = trained.task
    decision = decide(task.layout, trained.total, task.options)
    if not decision.is_certain(task.columns) or (task.options.words.length is not None and task.layout.texts):
        return None
    naive, threads = trained.model._naive, engines.thread_count(None)
    batches, scored = [], []
    for _, batch in trained.read_rows(progress):
        rows = keep_learned_rows(batch)
        parts = table_folds.select_columns(rows, decision.kept).parts
        found = fold_models.score_in_closed_form(naive, parts, rows.codes, rows.weight, "log_posterior", threads)
        if found is None:
            return None
        batches.append(replace(rows, columns=[]))
        scored.append(found)
    return concatenate_rows(batches), LeaveOneOutScores.concatenate(scored)


@dataclass(frozen=True)
class RowsInMemory(fold_models.RefittableRows):
    """The labelled rows of a small table, in memory, of which any subset can be counted again."""

    trained: Trained
    rows: Rows
    progress: Progress | None

    def count_together(self, index: NDArray[np.intp]) -> Ledger:
        """Return the ledger of these rows."""
        return table_folds.count_rows(self.trained.task, self.trained.total.schema, self.rows[index])

    def count_each(self, index: NDArray[np.intp]) -> Sequence[Ledger]:
        """Return the ledger of each of these rows."""
        task, schema, part = self.trained.task, self.trained.total.schema, np.arange(len(index), dtype=np.int32)
        return table_folds.count_parts(task.options, task.layout, schema, self.rows[index], part, len(index))

    def score_each(self, index: NDArray[np.intp], ledgers: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows, and report progress."""
        models = (table_folds.solve_ledger(self.trained.task, ledger) for ledger in ledgers)
        scores = [model.scores(self.rows[[i]], "log_posterior") for i, model in zip(index, models)]
        if self.progress is not None:
            self.progress(int(self.rows.number[index[-1]]) + 1)
        return np.concatenate(scores)
