"""`dependence`: how far a table violates the naive assumption, from one pass over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.metrics.dependence import Dependence
from deciban.metrics.mutual_information import Feature
from deciban.metrics.pair_dependence import Sample
from deciban.model.summarise_table import Progress
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
    sample, used_roles, n_learned = _read_sample(task, progress)
    return Dependence.of(sample, target, used_roles, n_learned)


def _read_sample(task: Task, progress: Progress | None) -> tuple[Sample, list[str], int]:
    """Read a uniform sample of the rows, its features in the order of the table.

    Also return the role of each feature, and the number of all rows that have a class.
    """
    d = len(task.layout.features_by_block())
    if not 2 <= d <= MAX_DEPENDENCE_FEATURES:
        raise InputError(
            f"dependence is measured between 2 to {MAX_DEPENDENCE_FEATURES} features, and {task.source.name} has {d} "
            f"besides {task.target!r} that are not texts. "
            f"Hint: give columns roles, {role_hint('COLUMN', 'category')} or skip"
        )
    summariser, reservoir = task.summariser(1), Reservoir(d, task.source.n_rows)
    reservoir.capacity = min(reservoir.capacity, max(1, MAX_COUNTED_PAIRS // (d * (d - 1) // 2)))
    for batch in summariser.read(task.source, progress):
        reservoir.add(batch)
    total, _ = summariser.total_and_folds  # refuses a table without rows
    if (total.rows > 0).sum() < 2:
        raise InputError(
            f"column {task.target!r} has one class only, and dependence is given the class. Hint: another target"
        )
    rows = reservoir.rows()
    assert rows is not None
    found = {
        feature.name: (Feature(feature.name, kind != "levels", np.asarray(column)), feature.role)
        for (kind, features), columns in zip(task.layout.blocks, rows.columns)
        for feature, column in zip(features, columns)
    }
    chosen = [found[feature.name] for feature in task.layout.features_in_table_order()]
    codes = rows.codes.astype(np.int64)
    sample = Sample([feature for feature, _ in chosen], codes, rows.weight, len(summariser.classes))
    return sample, [role for _, role in chosen], summariser.n_learned
