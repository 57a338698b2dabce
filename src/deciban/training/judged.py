"""`evaluate`: exact k-fold over all rows of a table, or a model judged by other rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np

from deciban import engines
from deciban.engines.arrow.cells import Names, numbers
from deciban.engines.arrow.source import Source, open_source
from deciban.errors import InputError
from deciban.judge.folds import score_folds, score_rows, without_each
from deciban.judge.metrics import Scorecard
from deciban.judge.report import Report
from deciban.model.gathering import Progress, Rows
from deciban.model.matrices import Matrices, checked, did_you_mean, row_blocks
from deciban.model.model import Model, file_options
from deciban.training.fit import learned
from deciban.training.task import plan


def evaluate(
    source: Any = None,
    *,
    target: str | None = None,
    model: Model | None = None,
    folds: int = 10,
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Report:
    """How good a model is: of `model` on these rows, or of k models that each learned all folds but one.

    With folds, the rows are read twice: once for the ledgers of all folds, once to judge each row by the model
    without its fold (row number mod `folds`). The figures are those of k separate trainings with the same roles.
    `settings` are those of `train`.
    """
    if (model is None) == (target is None):
        raise InputError("evaluate takes a target, to train and judge in folds, or a model to judge; one of the two")
    if model is not None:
        opened = open_source(source, sql, file_options(settings))
        cards = (
            score_rows(model.belief, r.parts, r.codes, r.weight, _threads())
            for r in _rows(model, opened, weights, progress)
        )
        return _summed(cards, model).report(model.classes, f"judged on {opened.name}")
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2, not {folds!r}")
    assert target is not None
    task = plan(source, target=target, sql=sql, weights=weights, **settings)
    trained = learned(task, folds, progress)
    if len(trained.folds) < folds:
        raise InputError("the folds' ledgers would take too much memory. Hint: fewer folds, or fewer columns")
    beliefs = list(without_each(trained.model.belief.assumption, trained.model.ledger, trained.folds))
    cards = (
        score_folds(beliefs, r.parts, r.number % folds, r.codes, r.weight, _threads())
        for r in _rows(trained.model, task.source, weights, progress)
    )
    words = f"exact {folds}-fold: every row judged by the model without its fold (row number mod {folds})"
    return _summed(cards, trained.model).report(trained.model.classes, words)


def _threads() -> int:
    return engines.thread_count(None)


def _summed(cards: Iterator[Scorecard], model: Model) -> Scorecard:
    return reduce(lambda a, b: a + b, cards, Scorecard.empty(len(model.labels)))


def _rows(model: Model, source: Source, weights: str | None, progress: Progress | None) -> Iterator[Rows]:
    """The rows that have a class, as the model reads them; a class that it does not know has the code −1."""
    for name in filter(None, (model.target, weights)):
        if name not in source.columns:
            raise InputError(f"{source.name} has no column {name!r}{did_you_mean(name, source.columns)}")
    wanted = {**checked(source, model.layout.readings(), False), model.target: "text"}
    if weights is not None:
        wanted[weights] = "number"
    classes = Names([str(label) for label in model.ledger.schema.classes])
    matrices = Matrices(model.layout, model.level_names())
    read = 0
    for batches in row_blocks(source, wanted, model.layout):
        codes = np.concatenate([classes.encode(batch.column(model.target)) for batch in batches])
        number = np.arange(read, read + len(codes))
        weight = None if weights is None else np.concatenate([numbers(b.column(weights), weights) for b in batches])
        known = codes >= 0
        codes[codes == len(classes)] = -1
        read += len(codes)
        if progress is not None:
            progress(read)
        yield Rows(matrices.columns(batches), codes.astype(np.int32), weight, number)[known]
