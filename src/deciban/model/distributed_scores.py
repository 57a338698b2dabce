"""Predictions and explanations of tables whose parts lie on many machines, made by those that have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.scores.explanation import DECIBAN
from deciban.scores.posterior import Decision, Finish
from deciban.sources.arrow_sources import Frame
from deciban.sources.distributed import PartView, distributed_base, fetch_first_rows, replace_base
from deciban.sources.row_views import CopyingView
from deciban.sources.source import Source

if TYPE_CHECKING:
    from deciban.model.model import Model

PREDICTION, PROBABILITY, DECIBANS = "prediction", "probability", "decibans"
"""The columns of a prediction: the class, its probability, and its evidence against the second class."""

EXPLAINED_ROWS = 1 << 12
"""Rows that are explained at a time."""


@dataclass(frozen=True)
class ScoreTask:
    """The quantity that is predicted of each row, and the rule that decides its class."""

    wanted: Finish
    allow_missing: bool = False
    rule: Decision | None = None
    reject_novel: float | None = None

    def make_schema(self, model: Model) -> pa.Schema:
        """Return the columns of the result."""
        if self.wanted == "density":
            return pa.schema([("log_density", pa.float64())])
        labels = [str(label) for label in model.classes]
        if self.wanted == "log_posterior":
            return pa.schema([(f"ln p({label})", pa.float64()) for label in labels])
        names = [f"p({label})" for label in labels] if self.wanted == "posterior" else []
        numbers = [PROBABILITY, DECIBANS, *names]
        return pa.schema([(PREDICTION, pa.array(model._labels).type), *((name, pa.float64()) for name in numbers)])

    def make_columns(self, model: Model, parts: list[Any]) -> list[Any]:
        """Return the columns of the result for a block of rows, null where a row is undecided or novel."""
        if self.wanted == "density":
            return [model._score(parts, "density")]
        log_p = model._score(parts, "log_posterior")
        if self.wanted == "log_posterior":
            return list(log_p.T)
        code = model._decide(parts, log_p, self.rule, self.reject_novel)
        undecided, rows = code < 0, np.arange(len(code))
        label = pa.array(model._labels).take(pa.array(code, mask=undecided))
        own, best = log_p[rows, code], _find_greatest_other(log_p, code)
        figures = [np.exp(own), (own - best) * DECIBAN]
        classes = [np.exp(column) for column in log_p.T] if self.wanted == "posterior" else []
        return [label, *(pa.array(figure, mask=undecided) for figure in figures), *classes]


def _find_greatest_other(log_p: NDArray[Any], code: NDArray[np.intp]) -> NDArray[Any]:
    """Return the greatest ln p(k|x) of each row among the classes other than the given one."""
    others = log_p.T.copy()  # the greatest of long rows is found faster than that of short ones
    others[code, np.arange(len(code))] = -np.inf
    return others.max(axis=0)


def score_parts(model: Model, source: Source, task: ScoreTask, keep: Sequence[str] | None = None) -> Any:
    """Return a distributed frame of the source's columns and predictions, made when its rows are asked for."""
    return _transform(model, source, keep, partial(_ScorePart, task=task), task.make_schema(model))


def explain_parts(
    model: Model,
    source: Source,
    classes: tuple[Any, Any] | None,
    rows: int | None,
    allow_missing: bool,
    keep: Sequence[str] | None,
) -> Any:
    """Return a distributed frame of the source's columns and the evidence of each feature in decibans.

    Evidence that belongs to no feature has a name of its own: that of the class prior is `prior`. `rows` is refused.
    """
    if rows is not None:
        raise InputError("rows= takes the first rows, and a DataFrame has no first ones. Hint: frame.limit(5)")
    label = pa.array(model._labels).type
    evidence = pa.map_(pa.string(), pa.float64())
    fields = [(PREDICTION, label), ("runner_up", label), (DECIBANS, pa.float64()), ("evidence", evidence)]
    work = partial(_ExplainPart, classes=classes, allow_missing=allow_missing)
    return _transform(model, source, keep, work, pa.schema(fields))


def _transform(model: Model, source: Source, keep: Sequence[str] | None, work: Any, added: pa.Schema) -> Any:
    """Return a distributed frame of the kept columns and those that `work(model bytes, view)` makes of each part."""
    base = distributed_base(source)
    assert base is not None
    kept, wanted = base.choose_kept(keep), model._layout.readings()
    first_rows = fetch_first_rows(base, wanted)
    view = CopyingView(replace_base(source, PartView(None, first_rows)), kept)  # type: ignore[arg-type]
    return base.transform(work(_dump(model), view), kept, added, wanted)


def _dump(model: Model) -> bytes:
    """Return the bytes of the file of a model; by name: it is a layer above."""
    content: bytes = import_module("deciban.persistence.table_models").dump_model(model)
    return content


@lru_cache(maxsize=4)
def _load(content: bytes) -> Model:
    """Return the model of the bytes of a file; the tasks of one process share it."""
    model: Model = import_module("deciban.persistence.table_models").load_model(content)
    return model


@dataclass(frozen=True)
class _ScorePart:
    model: bytes
    view: CopyingView
    task: ScoreTask

    def __call__(self, part: Source, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the predictions of a part, a batch for each block of rows."""
        model = _load(self.model)
        schema = self.task.make_schema(model)
        rows, monitor = replace_base(self.view, part), model._make_unseen_monitor()  # nobody would see a warning
        for batches, parts in model._read_blocks(rows, self.task.allow_missing, monitor):
            columns = [
                pa.array(column, kind.type) for column, kind in zip(self.task.make_columns(model, parts), schema)
            ]
            yield pa.RecordBatch.from_arrays(
                [*self.view.copied_columns(batches), *columns], names=[*self.view.copied, *schema.names]
            )


@dataclass(frozen=True)
class _ExplainPart:
    model: bytes
    view: CopyingView
    classes: tuple[Any, Any] | None
    allow_missing: bool

    def __call__(self, part: Source, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the explanations of a part, some rows at a time."""
        model = _load(self.model)
        for batches, _ in model._read_blocks(replace_base(self.view, part), self.allow_missing):
            table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches])
            for start in range(0, table.num_rows, EXPLAINED_ROWS):
                rows = table.slice(start, EXPLAINED_ROWS).combine_chunks()
                columns = [*self.view.copied_columns(rows.to_batches()), *self._explain(model, rows)]
                yield pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])

    def _explain(self, model: Model, rows: pa.Table) -> list[Any]:
        """Return the prediction, the second class, the total evidence and that of each feature."""
        from deciban.model.table_explanations import explain_rows

        found = explain_rows(model, Frame(rows), self.classes, None, self.allow_missing)
        names = [*found.features, "prior", *found.extras]
        values = np.column_stack([np.asarray(found.evidence), found.prior, *found.extras.values()])
        offsets = np.arange(0, values.size + 1, len(names), dtype=np.int32)
        keys = pa.array(names).take(pa.array(np.tile(np.arange(len(names)), len(values))))
        evidence = pa.MapArray.from_arrays(offsets, keys, pa.array(values.reshape(-1)))
        label = pa.array(model._labels).type
        labels = (pa.array(side.tolist(), label) for side in (found.winner, found.runner_up))
        return [*labels, pa.array(found.total), evidence]
