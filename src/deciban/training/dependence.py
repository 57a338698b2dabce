"""`dependence`: how far the naive assumption is violated in a table, from one pass over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.metrics.dependence import Dependence, Feature, Sample
from deciban.model.columns import Column
from deciban.model.summarise_table import Progress, Rows, TableSummariser
from deciban.sources.source import role_hint
from deciban.training.reservoir import Reservoir
from deciban.training.task import Task, plan

MOST_STEPS = 1 << 29
"""Rows times pairs that are counted: 300 features are looked at in 12 000 rows."""

MOST_FEATURES = 1000


def dependence(
    source: Any = None,
    *,
    target: str,
    roles: Mapping[str, str] | None = None,
    weights: str | None = None,
    sql: str | None = None,
    progress: Progress | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
    missing: Sequence[str] | str = (),
    hive: bool = False,
) -> Dependence:
    """How much a table's columns tell about each other, given the class: what naive Bayes takes for nothing.

    For every pair the mutual information given the class and without it, evidence that is counted twice, and what to
    do: drop a column that repeats another, join the two (`deciban.train(..., blocks=...)`), or leave them. Numbers
    are looked at in bins of equally many rows, and by their correlation; texts are left out. Of a large table a
    uniform sample of the rows is looked at.

    In the lecture, taxi drivers who wear coats have more accidents, and yet a coat causes none: given rain the two
    are independent, and naive Bayes is right to take them so.

    >>> import deciban
    >>> days = [("rain", 9), ("dry", 1)]  # so many of ten drivers wear coats, and of ten have accidents
    >>> rows = [(sky, i < n, j < n) for sky, n in days for i in range(10) for j in range(10)]
    >>> sky, coat, accident = zip(*rows)
    >>> found = deciban.dependence({"coat": coat, "accident": accident, "sky": sky}, target="sky")
    >>> pair = found.pairs[0]
    >>> f"given the class {pair.conditional:.2f} dB, without it {pair.marginal:.2f} dB"
    'given the class -0.03 dB, without it 0.95 dB'
    """
    task = plan(
        source, target=target, roles=roles, numbers="number", weights=weights, sql=sql, format=format,
        encoding=encoding, errors=errors, missing=missing, hive=hive,
    )  # fmt: skip
    task = replace(task, columns=[_looked_at(column) for column in task.columns])
    gathering, rows = _read(task, progress)
    sample, told = _sample(task, gathering, rows)
    return Dependence.of(sample, target, told, gathering.n_learned)


def _looked_at(column: Column) -> Column:
    return replace(column, role="skip", reason="a text") if column.role == "text" else column


def _read(task: Task, progress: Progress | None) -> tuple[TableSummariser, Rows]:
    """A uniform sample of the rows, and what was counted on the way."""
    d = len(task.layout.all_features())
    if not 2 <= d <= MOST_FEATURES:
        raise InputError(
            f"dependence is looked for between 2 to {MOST_FEATURES} features, and {task.source.name} has {d} beside "
            f"{task.target!r} that are no texts. Hint: give columns roles, {role_hint('COLUMN', 'category')} or skip"
        )
    gathering, sample = task.summariser(1), Reservoir(d, task.source.n_rows)
    sample.capacity = min(sample.capacity, max(1, MOST_STEPS // (d * (d - 1) // 2)))
    for rows in gathering.read(task.source, progress):
        sample.add(rows)
    total, _ = gathering.total_and_folds  # refuses a table without rows
    if (total.rows > 0).sum() < 2:
        raise InputError(
            f"column {task.target!r} has one class only, so nothing can be said given the class. Hint: another target"
        )
    found = sample.rows()
    assert found is not None
    return gathering, found


def _sample(task: Task, gathering: TableSummariser, rows: Rows) -> tuple[Sample, list[str]]:
    """The rows as features to be measured, in the order of the table, and the role of each."""
    found = {
        feature.name: (Feature(feature.name, kind != "levels", np.asarray(column)), feature.role)
        for (kind, features), columns in zip(task.layout.blocks, rows.columns)
        for feature, column in zip(features, columns)
    }
    chosen = [found[feature.name] for feature in task.layout.features_in_table_order()]
    codes = rows.codes.astype(np.int64)
    return Sample([feature for feature, _ in chosen], codes, rows.weight, len(gathering.classes)), [
        r for _, r in chosen
    ]
