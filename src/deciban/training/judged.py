"""`evaluate`: exact k-fold over all rows of a table, or a model judged by other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban import engines
from deciban.belief import vocabularies
from deciban.engines.arrow.cells import Names
from deciban.engines.arrow.source import Reading, Source, open_source
from deciban.errors import InputError
from deciban.judge.metrics import Scorecard
from deciban.judge.report import Report
from deciban.judge.rows import score_rows
from deciban.model.gathering import Progress, Rows, row_weights
from deciban.model.matrices import Matrices, checked, did_you_mean, row_blocks
from deciban.model.model import Model, file_options
from deciban.model.strange import Watch
from deciban.training.fit import learned
from deciban.training.task import Task, plan
from deciban.training.without import judged


def evaluate(
    source: Any = None,
    *,
    target: str | None = None,
    model: Model | None = None,
    folds: int = 10,
    sql: str | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
    allow_missing_columns: bool = False,
    **settings: Any,
) -> Report:
    """How good a model is: of `model` on these rows, or of k models that each learned all folds but one.

    With folds, the rows are read twice: once for the ledgers of all folds, once to judge each row by the model
    without its fold (row number mod `folds`), everything settled without it. `settings` are those of `train`.
    """
    if (model is None) == (target is None):
        raise InputError("evaluate takes a target, to train and judge in folds, or a model to judge; one of the two")
    if model is not None:
        opened = open_source(source, sql, file_options(settings))
        return _of_model(model, opened, weights, allow_missing_columns, progress)
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2, not {folds!r}")
    assert target is not None
    return _of_folds(plan(source, target=target, sql=sql, weights=weights, **settings), folds, progress)


def _of_model(
    model: Model, source: Source, weights: str | None, allow_missing: bool, progress: Progress | None
) -> Report:
    matrices = model.matrices()
    asked = Question(source, model.target, [str(k) for k in model.belief.schema.classes], weights, allow_missing)
    watch = Watch(model.layout, matrices.names)
    card = Scorecard.empty(len(model.labels))
    for batches, rows in asked.rows(matrices, progress):
        if model.options.unseen == "error":
            watch.refuse(batches, matrices.of(batches))
        card += score_rows(model.belief, rows.parts, rows.codes, rows.weight, engines.thread_count(None))
    return card.report(model.classes, f"judged on {source.name}")


def _of_folds(task: Task, folds: int, progress: Progress | None) -> Report:
    trained = learned(task, folds, progress)
    if len(trained.folds) < folds:
        raise InputError(
            "the ledgers of so many folds, classes and levels would take too much memory. "
            "Hint: fewer folds; or hold rows out, and judge a model by them"
        )
    schema = trained.total.schema
    levels = next((block.levels for block in schema.blocks if block.kind == "levels"), None)
    matrices = Matrices(
        task.layout, [Names(names) for names in levels or ()], words=task.options.words,
        vocabularies=vocabularies(schema),
    )  # fmt: skip
    classes = [str(label) for label in schema.classes]
    each = list(trained.without_each())
    card = Scorecard.empty(len(classes))
    for _, rows in Question(task.source, task.target, classes, task.weights).rows(matrices, progress):
        card += judged(each, folds, rows)
    words = f"exact {folds}-fold: every row judged by the model without its fold (row number mod {folds})"
    return card.report(trained.model.classes, words)


@dataclass(frozen=True)
class Question:
    """Rows whose classes are known, to be judged."""

    source: Source
    target: str
    classes: Sequence[str]
    weights: str | None = None
    allow_missing: bool = False

    def rows(self, matrices: Matrices, progress: Progress | None) -> Iterator[tuple[list[Any], Rows]]:
        """The rows that have a class, with the batches they come from; a class that is not known has the code −1."""
        known = Names(self.classes)
        read = 0
        for batches in row_blocks(self.source, self._wanted(matrices), matrices.layout):
            codes = np.concatenate([known.encode(batch.column(self.target)) for batch in batches])
            number = np.arange(read, read + len(codes))
            weight = None if self.weights is None else row_weights(batches, self.weights, read)
            told = codes >= 0
            codes[codes == len(known)] = -1
            read += len(codes)
            if progress is not None:
                progress(read)
            yield batches, Rows(matrices.columns(batches), codes.astype(np.int32), weight, number)[told]

    def _wanted(self, matrices: Matrices) -> dict[str, Reading]:
        for name in filter(None, (self.target, self.weights)):
            if name not in self.source.columns:
                raise InputError(
                    f"{self.source.name} has no column {name!r}{did_you_mean(name, self.source.columns)}"
                )
        columns = checked(self.source, matrices.layout.readings(), self.allow_missing)
        return {**columns, self.target: "text", **({self.weights: "number"} if self.weights else {})}
