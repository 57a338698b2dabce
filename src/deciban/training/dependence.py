"""`dependence`: how far a table violates the naive assumption, from one pass over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.metrics.dependence import Dependence, Feature, Sample
from deciban.model.summarise_table import Progress, Rows, TableSummariser
from deciban.sources.source import role_hint
from deciban.training.table_rows import Reservoir
from deciban.training.task import Task, plan

MAX_COUNTED_PAIRS = 1 << 29
"""The number of rows times pairs that are counted: 300 features in 12 000 rows."""

MAX_DEPENDENCE_FEATURES = 1000
"""The number of features whose pairs are measured."""


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
    """Measure the dependence of a table's columns given the class, which naive Bayes assumes to be none.

    For every pair: the mutual information given the class and without it, evidence that is counted twice, and advice:
    drop a column that repeats another, join the two (`deciban.train(..., blocks=...)`), or leave them. Numbers are
    measured in bins of equally many rows, and by their correlation; texts are left out. Of a large table a uniform
    sample of the rows is measured.

    In an example of a lecture, taxi drivers who wear coats have more accidents, and yet a coat causes none: given
    rain the two are independent, and naive Bayes is right to assume so.

    >>> import deciban
    >>> days = [("rain", 9), ("dry", 1)]  # of ten drivers this many wear coats, and as many of ten have accidents
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
    columns = [replace(c, role="skip", reason="a text") if c.role == "text" else c for c in task.columns]
    task = replace(task, columns=columns)
    summariser, rows = _read(task, progress)
    sample, used_roles = _sample(task, summariser, rows)
    return Dependence.of(sample, target, used_roles, summariser.n_learned)


def _read(task: Task, progress: Progress | None) -> tuple[TableSummariser, Rows]:
    """Read a uniform sample of the rows; return the summariser of all rows as well."""
    d = len(task.layout.all_features())
    if not 2 <= d <= MAX_DEPENDENCE_FEATURES:
        raise InputError(
            f"dependence is measured between 2 to {MAX_DEPENDENCE_FEATURES} features, and {task.source.name} has {d} "
            f"besides {task.target!r} that are not texts. "
            f"Hint: give columns roles, {role_hint('COLUMN', 'category')} or skip"
        )
    summariser, sample = task.summariser(1), Reservoir(d, task.source.n_rows)
    sample.capacity = min(sample.capacity, max(1, MAX_COUNTED_PAIRS // (d * (d - 1) // 2)))
    for rows in summariser.read(task.source, progress):
        sample.add(rows)
    total, _ = summariser.total_and_folds  # refuses a table without rows
    if (total.rows > 0).sum() < 2:
        raise InputError(
            f"column {task.target!r} has one class only, and dependence is given the class. Hint: another target"
        )
    found = sample.rows()
    assert found is not None
    return summariser, found


def _sample(task: Task, summariser: TableSummariser, rows: Rows) -> tuple[Sample, list[str]]:
    """Return the rows as features to be measured, in the order of the table, and the role of each."""
    found = {
        feature.name: (Feature(feature.name, kind != "levels", np.asarray(column)), feature.role)
        for (kind, features), columns in zip(task.layout.blocks, rows.columns)
        for feature, column in zip(features, columns)
    }
    chosen = [found[feature.name] for feature in task.layout.features_in_table_order()]
    codes = rows.codes.astype(np.int64)
    sample = Sample([feature for feature, _ in chosen], codes, rows.weight, len(summariser.classes))
    return sample, [role for _, role in chosen]
