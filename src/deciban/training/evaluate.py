"""`evaluate`: exact folds over all rows of a table, each row left out alone, or a model judged by other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from deciban import engines
from deciban.errors import InputError, did_you_mean
from deciban.metrics.calibration_fit import check_method
from deciban.metrics.report import Report
from deciban.metrics.scorecard import Scorecard, evaluate_rows
from deciban.model.model import Model, file_options
from deciban.model.summarise_table import Progress
from deciban.model.unseen_values import UnseenValueMonitor
from deciban.sources.source import Source, open_source
from deciban.training.labelled_rows import LabelledTable, assign_by_column, table_matrices
from deciban.training.learners import learn_before_each, learn_excluding_each, make_learner
from deciban.training.table_folds import score_out_of_fold
from deciban.training.table_leave_one_out import evaluate_leave_one_out
from deciban.training.task import Task, check_settings, plan
from deciban.training.train import describe_map, train_task
from deciban.validation.splits import (
    LEAVE_ONE_OUT_TEXT,
    FoldAssignment,
    check_n_folds,
    describe_folds,
    describe_ordered_folds,
)


def evaluate(
    source: Any = None,
    *,
    target: str | None = None,
    model: Model | None = None,
    folds: int | str = 10,
    groups: str | None = None,
    order: str | None = None,
    sql: str | None = None,
    weights: str | None = None,
    calibrate: str | None = None,
    progress: Progress | None = None,
    allow_missing_columns: bool = False,
    **settings: Any,
) -> Report:
    """How good a model is: of `model` on these rows, or of k models that each learned all folds but one.

    With folds, the rows are read twice: once for the ledgers of all folds, once to judge each row by the model
    without its fold, everything solve_ledger without it. Every fold has its share of each class; with `groups`, a column,
    rows of one group are in one fold; with `order`, a column of numbers, dates or texts, each fold is judged by what
    was learned from the folds before it, the first by nothing. Neither column is learned from (the one of the order,
    unless it is given a role). `folds="loo"` leaves out each row alone. `calibrate` as in `train`: the rows (of more
    than 100 000 a sample of so many) are judged by model and map without their fold. `settings` are those of `train`.

    >>> import deciban
    >>> taste = {"sweet": [1, 2, 1, 8, 9, 7, 2, 8], "fruit": ["lemon"] * 3 + ["plum"] * 3 + ["lemon", "plum"]}
    >>> deciban.evaluate(taste, target="fruit", numbers="number", folds="loo").accuracy
    1.0
    """
    if (model is None) == (target is None):
        raise InputError("evaluate takes a target, to train and judge in folds, or a model to judge; one of the two")
    method = check_method(calibrate)
    if model is not None:
        if groups is not None or order is not None:
            raise InputError("groups and order are for folds; a model is judged by all rows. Hint: leave them out")
        if method is not None:
            raise InputError("a model is judged as it is. Hint: leave calibrate out, or train(…, calibrate='auto')")
        opened = open_source(source, sql, file_options(settings))
        return _of_model(model, opened, weights, allow_missing_columns, progress)
    assert target is not None
    split = Split.of(folds, groups, order)
    aside = split.aside(settings.get("roles"))
    task = plan(source, target=target, sql=sql, weights=weights, aside=aside, **check_settings("evaluate", settings))
    split.check(task)
    if method is not None:
        return _calibrated(task, split, method, progress)
    return _of_each_row(task, progress) if split.folds is None else _of_folds(task, split, progress)


@dataclass(frozen=True)
class Split:
    """Into how many folds the rows go (None: each row is one), and the column that decides it, if one does."""

    folds: int | None
    groups: str | None = None
    order: str | None = None

    @classmethod
    def of(cls, folds: Any, groups: str | None, order: str | None) -> Split:
        """What was asked for, if it makes sense."""
        if groups is not None and order is not None:
            raise InputError("rows are dealt to folds by groups or by order, not by both. Hint: leave one out")
        if not isinstance(folds, str):
            return cls(check_n_folds(folds), groups, order)
        if folds != "loo":
            raise InputError(f"folds must be a whole number of at least 2, or 'loo' (each row alone), not {folds!r}")
        if groups is not None or order is not None:
            what = "groups" if groups is not None else "order"
            raise InputError(f"'loo' leaves out each row alone, so {what} has no meaning. Hint: folds=10 with {what}")
        return cls(None)

    def aside(self, roles: Any) -> list[str]:
        """Columns that are not learned from; that of the order may be, if it has a role."""
        order = self.order if self.order not in (roles or {}) else None
        return [name for name in (self.groups, order) if name is not None]

    def check(self, task: Task) -> None:
        """Refuse a column that is not there, or that is something else already."""
        for what, name in (("groups", self.groups), ("order", self.order)):
            if name is None:
                continue
            if name not in task.source.columns:
                near = did_you_mean(name, task.source.columns)
                raise InputError(f"{task.source.name} has no column {name!r} for the {what}{near}")
            if name in (task.target, task.weights):
                raise InputError(f"column {name!r} is the {'target' if name == task.target else 'weights'} already")

    def assign(self, task: Task) -> FoldAssignment:
        """Which fold each row goes to."""
        assert self.folds is not None
        if self.groups is not None:
            return assign_by_column(task, self.groups, "groups", self.folds)
        if self.order is not None:
            return assign_by_column(task, self.order, "order", self.folds)
        return FoldAssignment(self.folds)

    def words(self, n: int) -> str:
        """What was done, in a sentence."""
        if self.order is not None:
            return describe_ordered_folds(n, self.order)
        return describe_folds(n, "stratified by class" if self.groups is None else f"each {self.groups} in one fold")


def _of_model(
    model: Model, source: Source, weights: str | None, allow_missing: bool, progress: Progress | None
) -> Report:
    matrices = model.matrices()
    asked = LabelledTable(source, model.target, [str(k) for k in model.scorer.schema.classes], weights, allow_missing)
    watch = UnseenValueMonitor(model.layout, matrices.names)
    card = Scorecard.empty(len(model.labels))
    for batches, rows in asked.rows(matrices, progress):
        if model.options.unseen == "error":
            watch.refuse_unseen(batches, matrices.convert(batches))
        card += evaluate_rows(
            model.scorer, rows.parts, rows.codes, rows.weight, engines.thread_count(None),
            keep=True, number=rows.number,
        )  # fmt: skip
    return card.report(model.classes, f"judged on {source.name}")


def _of_folds(task: Task, split: Split, progress: Progress | None) -> Report:
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    trained.check_folds(assignment.n_folds, hint="; or hold rows out, and judge a model by them")
    options = trained.model.options
    each = list(
        learn_excluding_each(task, options, trained.folds, trained.sample)
        if split.order is None
        else learn_before_each(task, options, trained.folds, trained.sample)
    )
    card = Scorecard.empty(len(trained.model.labels))
    schema = trained.total.schema
    for _, rows in LabelledTable.of(task, schema).rows(table_matrices(task, schema), progress):
        dealt = replace(rows, fold=assignment.lookup(rows.number))
        scored = score_out_of_fold(each, dealt, "log_posterior")
        if len(scored.rows.codes):
            card += scored.scorecard(scored.scores)
    report = card.report(trained.model.classes, split.words(assignment.n_folds))
    if card.ranks is None or not card.ranks.is_complete:
        return report
    return replace(report, folds=assignment.lookup(card.ranks.rows.number))


def _calibrated(task: Task, split: Split, method: str, progress: Progress | None) -> Report:
    """Rows judged by models and maps without their folds, as those that `train` holds out."""
    if split.folds is None:
        raise InputError("calibrate fits a map without each fold, and for 'loo' that is each row. Hint: folds=10")
    if split.order is not None:
        raise InputError(
            "calibrate mends a fold by what came true of all others, of later ones too, so order has no meaning. "
            "Hint: leave one of the two out"
        )
    assignment = split.assign(task)
    trained = train_task(task, assignment.n_folds, progress, assignment)
    trained.check_folds(assignment.n_folds, hint="; or leave calibrate out")
    scored = trained.sample_scores
    assert scored is not None
    calibration, log_posterior = trained.calibrate(method)
    words = ", as they are: no map lowers the log-loss" if calibration is None else describe_map(calibration)
    together = "" if split.groups is None else f", each {split.groups} in one fold"
    return replace(trained.report(log_posterior, words, together), folds=scored.rows.fold)


def _of_each_row(task: Task, progress: Progress | None) -> Report:
    if make_learner(task).needs_rows:
        raise InputError(
            f"'loo' takes each row out of what was counted, and learner={task.learner!r} would have to learn the "
            f"table anew for every row. Hint: --folds 10 (folds=10)"
        )
    trained = train_task(task, 1, progress)
    return evaluate_leave_one_out(trained, progress).report(trained.model.classes, LEAVE_ONE_OUT_TEXT)
