"""What is counted of rows in memory: of any of them, or of each of several parts of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.judge.crossed import parted
from deciban.ledger import Bags, Counts, Ledger, Levels, Needs, Schema, Statistic, Tallies
from deciban.ledger.schema import Block
from deciban.ledger.statistic import Array
from deciban.model.columns import Group
from deciban.model.gathering import Rows
from deciban.model.matrices import matrix
from deciban.model.options import Options
from deciban.text import Words
from deciban.training.task import Task

OCCURRENCES = Needs("counts", signed=False, skips=False)


def counted(task: Task, options: Options, schema: Schema, rows: Rows) -> Ledger:
    """The ledger of these rows, whose codes are by the names of this schema."""
    (ledger,) = counted_apart(task, options, schema, rows, np.zeros(len(rows.codes), dtype=np.int32), 1)
    return ledger


def counted_apart(
    task: Task, options: Options, schema: Schema, rows: Rows, part: NDArray[np.int32], n_parts: int
) -> list[Ledger]:
    """The ledger of each part of the rows; class k of part f is counted as class k·F + f."""
    codes = rows.codes * np.int32(n_parts) + part
    K = len(schema.classes) * n_parts
    weight = np.bincount(codes, weights=rows.weight, minlength=K).astype(np.float64)
    needs = options.assumption(task.layout).needs
    each = zip(needs, task.layout.blocks, schema.blocks, rows.columns)
    parts = [_counted(*block, codes, rows.weight, K, options.words) for block in each]
    return parted(Ledger(schema, weight, tuple(parts)), schema.classes, n_parts)


def _counted(
    need: Needs,
    group: Group,
    block: Block,
    columns: Sequence[Any],
    codes: NDArray[np.int32],
    weight: Array | None,
    K: int,
    words: Words,
) -> Statistic:
    threads = engines.thread_count(None)
    if group.kind == "bags":
        return _bags(columns[0], codes, weight, K, words, threads)
    if group.kind == "counts":  # a negative value means no count, as the grid will tell
        columns = [np.maximum(x, 0.0) if f.role == "countable" else x for f, x in zip(group.features, columns)]
    part = engines.summarise(need, matrix(columns), codes, weight, K, threads)
    if isinstance(part, Levels) and block.levels is not None:
        return part.widen(np.array([len(names) for names in block.levels], dtype=np.int64))
    return part


def _bags(X: Any, codes: NDArray[np.int32], weight: Array | None, K: int, words: Words, threads: int) -> Bags:
    """Words as texts were read: what they count for, and the documents that have them; one without any is missing."""
    here = np.flatnonzero(np.diff(X.indptr))
    if len(here) < X.shape[0]:
        X, codes, weight = X[here], codes[here], None if weight is None else weight[here]
    occurrences = _tallies(engines.summarise(OCCURRENCES, X, codes, weight, K, threads))
    if words.values == "presence" and words.length is None:
        return Bags(occurrences, occurrences)
    once = X.copy()
    once.data = np.ones_like(once.data)
    return Bags(occurrences, replace(_tallies(engines.summarise(OCCURRENCES, once, codes, weight, K, threads))))


def _tallies(part: Statistic) -> Tallies:
    if isinstance(part, Tallies):
        return part
    assert isinstance(part, Counts)
    return Tallies.from_counts(part)
