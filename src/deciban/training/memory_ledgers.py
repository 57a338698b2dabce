"""What is counted of rows in memory: of any of them, or of each of several parts of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.engines import summarise_bags
from deciban.ledger import Ledger, Levels, Needs, Schema, Statistic
from deciban.ledger.schema import Block
from deciban.model.columns import Group
from deciban.model.matrices import stack_columns
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.text import Words
from deciban.training.task import Task
from deciban.validation.fold_scores import parted


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
        once = words.values == "presence" and words.length is None
        return summarise_bags(columns[0], codes, weight, K, threads, once)
    if group.kind == "counts":  # a negative value means no count, as the grid will tell
        columns = [np.maximum(x, 0.0) if f.role == "countable" else x for f, x in zip(group.features, columns)]
    part = engines.summarise(need, stack_columns(columns), codes, weight, K, threads)
    if isinstance(part, Levels) and block.levels is not None:
        return part.widen(np.array([len(names) for names in block.levels], dtype=np.int64))
    return part
