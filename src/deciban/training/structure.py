"""The dependence between columns: the cells on which it is counted, and whether a model has it.

`tan` is a forest in which each column may depend on one other (`families/pair_families.py`); `blocks` joins columns
in pairs, and a pair is explained as one column that depends on the other. All pairs of columns are counted in the
same pass as the columns alone, on few cells, whose cuts come from the first rows: so the counts of two tables with
the same cells add. Held-out rows decide between the forest and independent columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger.statistic import round_effective
from deciban.metrics.intervals import bounded_losses, effective_weights, paired_mean
from deciban.model.columns import Column
from deciban.sources.arrow_cells import LevelEncoder, to_numbers
from deciban.sources.arrow_texts import from_mask, to_mask
from deciban.sources.document_files import EVALUATION_FOLDS
from deciban.sources.number_formats import PLAIN, NumberFormat
from deciban.training.cell_styles import parse_cells
from deciban.training.joined_columns import NUMBER_ROLES

if TYPE_CHECKING:
    from deciban.training.table_folds import TableFoldScores

STRUCTURES = ("auto", "naive", "blocks", "tan")
"""The values of `structure`: independent columns, pairs of columns, a forest; "auto" chooses "naive" or "tan"."""

STANDARD_ERRORS = 2.0
"""How many standard errors of the difference the log-loss must fall by: with one, a forest was found on small tables
whose columns predict new rows better alone (iris 0.170 nats against 0.135, wine 0.108 against 0.093, hepatitis)."""

MIN_CELLS, MAX_CELLS = 3, 16
"""The least and the greatest number of cells of a column."""

MAX_COUNTED_CELLS = 1 << 23
"""Cells of pairs, of all classes and folds together, up to which they are counted."""

MAX_HEAD_LEVELS = 256
"""Categories with more different levels among the first rows have no cells."""


def refuse_independence(learner: Any, structure: Any) -> None:
    """Refuse structure="naive" for the learners "aode" and "auto", whose columns depend, or may, on each other."""
    if learner in ("aode", "auto") and structure == "naive":
        raise InputError(f"structure='naive' is for naive Bayes, not for learner={learner!r}. Hint: leave one out")


def weigh_first_rows(head: Any, target: str, weights: str | None, plain: NumberFormat) -> Array:
    """Return the weight of each of the first rows; 0 for those that are not learned, without a class or a weight.

    `plain` is the format of texts that are numbers and have no other.
    """
    weight = to_mask(head.column(target).is_valid().combine_chunks()).astype(np.float64)
    if weights is None:
        return weight
    given = to_numbers(parse_cells(head.column(weights), Column(weights, "number"), plain), weights)
    return weight * np.where(given > 0, given, 0.0)


def add_cells(
    columns: Sequence[Column], head: Any, target: str, weight: Array, is_survey: bool, plain: NumberFormat
) -> list[Column]:
    """Return the columns with the cells on which their dependence is counted, from a table of the first rows.

    `weight` is that of each row (`weigh_first_rows`). There are √(n/K)/2 cells, from `MIN_CELLS` to `MAX_CELLS`, n
    rows and K classes; none for a single column, or where a table has too many columns or classes for its pairs.
    """
    taken = [column for column in columns if _can_have_cells(column)]
    d = len(taken)
    if d < 2:
        return list(columns)
    head = head.select([target, *(column.name for column in taken)])  # Arrow cannot filter some nested values
    head, weight = head.filter(from_mask(weight > 0)), weight[weight > 0]
    weight = round_effective(effective_weights(weight)) if is_survey else weight
    K = max(len(head.column(target).unique()), 1)
    affordable = (MAX_COUNTED_CELLS / (K * EVALUATION_FOLDS * d * (d - 1) / 2)) ** 0.5
    n_cells = int(min(MAX_CELLS, affordable, max(MIN_CELLS, (weight.sum() / K) ** 0.5 / 2)))
    if n_cells < MIN_CELLS:
        return list(columns)
    cells = {each.name: _find_cells(each, head.column(each.name), n_cells, plain, weight) for each in taken}
    return [replace(column, cells=cells.get(column.name, ())) for column in columns]


def _can_have_cells(column: Column) -> bool:
    """Return whether the dependence of a column can be counted: it is not joined, a date, text or skipped."""
    return not column.block and column.role in (*NUMBER_ROLES, "flag", "category")


def _find_cells(
    column: Column, values: Any, n_cells: int, plain: NumberFormat = PLAIN, weight: Array | None = None
) -> tuple[float, ...] | tuple[str, ...]:
    """Return the cuts of numbers at their quantiles, or the most frequent levels; none if there would be one cell.

    A weight of 2 is two equal values.
    """
    values = parse_cells(values, column, plain)
    weight = np.ones(len(values)) if weight is None else weight
    if column.role in ("flag", "category"):
        return _find_frequent_levels(values, n_cells - 1, weight)
    try:
        numbers = to_numbers(values, column.name)
    except InputError:  # of a type that is no number: the reader will say so
        return ()
    finite = np.flatnonzero(np.isfinite(numbers))
    order = finite[np.argsort(numbers[finite])]
    if not len(order):
        return ()
    below = np.cumsum(weight[order])
    ranks = np.ceil((below[-1] - 1) * np.arange(1, n_cells) / n_cells)
    cuts = np.unique(numbers[order[np.searchsorted(below, ranks, side="right")]])
    return tuple(cuts[cuts > numbers[order[0]]].tolist())


def _find_frequent_levels(values: Any, most: int, weight: Array) -> tuple[str, ...]:
    """Return the `most` most frequent levels, as sorted texts; none if there is one level, or very many."""
    names = LevelEncoder([], grows=True)
    codes = names.encode(values)
    if not 2 <= len(names.list) <= MAX_HEAD_LEVELS:
        return ()
    counts = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=len(names.list))
    return tuple(sorted(names.list[v] for v in np.argsort(-counts, kind="stable")[:most].tolist()))


def without_cells(columns: Sequence[Column]) -> list[Column]:
    """Return the columns without the cells of their dependence."""
    return [replace(column, cells=()) for column in columns]


def is_better(forest: TableFoldScores, naive: TableFoldScores) -> bool:
    """Return whether a forest predicts the sample better than independent columns, both calibrated by a temperature.

    Its log-loss has to be lower by more than `STANDARD_ERRORS` of the difference, row by row. It is not where no row
    has a class that the model without its fold knows.
    """
    codes = naive.rows.codes
    known = naive.known[np.arange(len(codes)), codes]
    if not known.any():
        return False
    weight = np.ones(known.sum()) if naive.rows.weight is None else effective_weights(naive.rows.weight[known])
    calibrated = (scored.calibrate("temperature").log_posterior for scored in (naive, forest))
    losses = [bounded_losses(log_posterior, codes)[known] for log_posterior in calibrated]
    gain, error = paired_mean(losses[0] - losses[1], weight)
    return bool(gain > STANDARD_ERRORS * error)
