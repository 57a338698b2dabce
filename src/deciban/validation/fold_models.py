"""Models without some rows: ledgers of all folds but each, of the folds before each, of all rows but each.

In leave-one-out each row is scored by the model of all other rows, in closed form if possible, else by a refit.
The ledgers are computed from one pass over the rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.families.family import log
from deciban.generative import GenerativeModel
from deciban.ledger import Bags, Grid, Ledger, Statistic, Tallies
from deciban.scores import finish
from deciban.scores.posterior import Finish
from deciban.validation import closed_form_counts  # noqa: F401  registers the closed forms of its families
from deciban.validation.closed_form import LeftOutBlock, LeftOutRows, has_remainder, score_without_row
from deciban.validation.closed_form_gaussian import score_by_kernel
from deciban.validation.splits import Folds

LEDGERS_PER_BATCH = 64
"""The number of rows left out one by one whose ledgers are kept at the same time."""

MAX_BATCH_BYTES = 1 << 27
"""Approximate memory that these ledgers may take together; if they would take more, they are fewer."""

MAX_REFITTED_ROWS = 10_000
"""The number of rows that may each be left out by a refit: as many models are solved, which takes minutes."""

RowIndex = NDArray[np.intp]

ModelT = TypeVar("ModelT")


def ledgers_excluding_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """Yield the ledger of all folds but the first, but the second …: the sum of those before it and those after it.

    Sums, so that a fold with an outlier leaves no rounding behind, as subtracting it would. Statistics kept by what
    occurs are long, and mostly whole numbers: of these the fold is subtracted from the total.
    """
    wide = [_is_wide(parts) for parts in zip(*(fold.parts for fold in folds))]
    narrow = [fold.choose([[] if w else None for w in wide]) for fold in folds]
    after = list(accumulate(reversed(narrow[1:]), lambda a, b: b + a))
    before = narrow[0].empty()
    totals = [reduce(lambda a, b: a + b, (fold.parts[i] for fold in folds)) for i in np.flatnonzero(wide)]
    for fold, own in zip(folds, narrow):
        others = before + after.pop() if after else before
        differences = (total - fold.parts[i] for total, i in zip(totals, np.flatnonzero(wide)))
        sums = iter(others.parts)
        parts = tuple(next(differences) if w else next(sums) for w in wide)
        yield replace(others, schema=fold.schema, parts=parts)
        before = before + own


def ledgers_before_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """Return an iterator over the ledgers of all folds before the first (empty), before the second …"""
    return accumulate(folds[:-1], initial=folds[0].empty())


class RefittableRows(ABC):
    """Rows of which any subset can be counted, and which can be scored by models of other rows' ledgers."""

    @abstractmethod
    def count_together(self, index: RowIndex) -> Ledger:
        """Return the ledger of these rows."""

    def count_each(self, index: RowIndex) -> Sequence[Ledger]:
        """Return the ledger of each of these rows."""
        return [self.count_together(index[i : i + 1]) for i in range(len(index))]

    @abstractmethod
    def score_each(self, index: RowIndex, ledgers: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""


def ledgers_excluding_each_row(
    rows: RefittableRows, index: RowIndex, total: Ledger, outside: Ledger
) -> Iterator[tuple[RowIndex, Iterator[Ledger]]]:
    """Yield batches of these rows, with the ledgers of all rows but the first of them, but the second …

    `outside` is the ledger of the rows that are not among these, `total` of all. Half of the rows are added to those
    outside for the other half, and so on: only counts of what occurs are ever subtracted, so an outlier leaves no
    rounding behind.
    """
    frame = total.empty()
    if len(index) <= max(1, min(LEDGERS_PER_BATCH, MAX_BATCH_BYTES // max(1, total.nbytes))):
        ledgers = ledgers_excluding_each([frame + outside, *(frame + own for own in rows.count_each(index))])
        next(ledgers)
        yield index, ledgers
        return
    halves = index[: len(index) // 2], index[len(index) // 2 :]
    for half, other in (halves, halves[::-1]):
        yield from ledgers_excluding_each_row(rows, half, total, outside + rows.count_together(other))


def _is_wide(parts: Sequence[Statistic]) -> bool:
    """Return whether statistics are kept by what occurs, so that adding many is slow; grids only if unweighted."""
    if isinstance(parts[0], Grid):
        return all((part.table == np.floor(part.table)).all() for part in parts if isinstance(part, Grid))
    return isinstance(parts[0], (Bags, Tallies))


def score_by_fold(
    models: Iterable[ModelT | None], fold: Folds, score: Callable[[ModelT, RowIndex], tuple[NDArray[Any], ...]]
) -> list[NDArray[Any]]:
    """Score the rows of each fold by its model; return the arrays that `score` returns, for all rows in their order.

    Rows of fold −1, or of a fold whose model is None, have NaN, or False; if no row is scored, there are no arrays.
    """
    indices, results = [], []
    for f, model in enumerate(models):
        index = np.flatnonzero(fold == f)
        if model is not None and len(index):
            indices.append(index)
            results.append(score(model, index))
    return [scatter_rows(indices, parts, len(fold)) for parts in zip(*results)]


def scatter_rows(indices: Sequence[RowIndex], parts: Sequence[NDArray[Any]], n: int) -> NDArray[Any]:
    """Return an array of n rows with the rows of each part at its indices; elsewhere NaN, of integers or flags 0."""
    fill = np.nan if parts[0].dtype.kind == "f" else 0
    out = np.full((n, *parts[0].shape[1:]), fill, dtype=parts[0].dtype)
    for index, part in zip(indices, parts):
        out[index] = part
    return out


class LeaveOneOutScores(NamedTuple):
    """The wanted scores of each row, and which rows have none because they need a refit."""

    scores: Array
    needs_refit: NDArray[np.bool_]

    @classmethod
    def concatenate(cls, parts: "Sequence[LeaveOneOutScores]") -> "LeaveOneOutScores":
        """Return the scores of all parts, in their order."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts)))


def score_in_closed_form(
    model: GenerativeModel, parts: Sequence[Any], codes: Codes, weight: Array | None, wanted: Finish, threads: int
) -> LeaveOneOutScores | None:
    """Score each row by the model without it, in closed form; None if a family has none, or α is chosen.

    `model` has learned all these rows, and perhaps more; their weights are positive. None for survey weights too:
    without a row its class has other effective rows.
    """
    if model.assumption.auto or model.ledger.squares.any():
        return None
    if len(parts) == 1:
        quick = score_by_kernel(model, parts[0], codes, weight, wanted, threads)
        if quick is not None:
            return LeaveOneOutScores(*quick)
    n = len(codes)
    rows = LeftOutRows(codes, np.ones(n) if weight is None else weight, np.zeros(n, dtype=np.bool_))
    rows.needs_refit[:] = ~has_remainder(model.complete.rows[codes], rows.weight)
    log_prior = log_priors_without_row(model, rows)
    joint = log_prior.copy()
    solved = model.solved
    blocks = zip(model.assumption.families, model.complete.parts, solved.forms, parts, solved.needs)
    for family, part, form, X, need in blocks:
        scores = score_without_row(family, LeftOutBlock(part, form, X, need, rows, threads))
        if scores is None:
            return None
        joint += scores
    return LeaveOneOutScores(finish(joint, log_prior, wanted)[0], rows.needs_refit)


def log_priors_without_row(model: GenerativeModel, rows: LeftOutRows) -> Array:
    """Return ln π_k without each row, n×K; 0 if scores have no prior. A row that needs a refit is not removed."""
    n, K, prior = len(rows.codes), len(model.complete.rows), model.assumption.prior
    if prior.is_fixed or (not model.assumption.probabilistic and K > 1):
        fixed = np.zeros(K) if not model.assumption.probabilistic else log(prior.solve(model.complete.rows))
        return np.broadcast_to(fixed, (n, K)).copy()
    weight = np.broadcast_to(model.complete.rows, (n, K)).copy()
    weight[np.arange(n), rows.codes] -= np.where(rows.needs_refit, 0.0, rows.weight)
    weight += prior.alpha if prior.kind == "smoothed" else 0.0
    return log(weight / weight.sum(axis=1, keepdims=True))


def refit_each_row(
    rows: RefittableRows, total: Ledger, needs_refit: NDArray[np.bool_], scores: Array | None
) -> Array:
    """Score the rows marked in `needs_refit` by refits to all other rows; return the scores of all rows.

    `scores` holds those of the other rows, and is changed; None where every row needs a refit.
    """
    index, others = np.flatnonzero(needs_refit), np.flatnonzero(~needs_refit)
    if len(index):
        outside = rows.count_together(others) if len(others) else total.empty()
        for some, ledgers in ledgers_excluding_each_row(rows, index, total, outside):
            found = rows.score_each(some, ledgers)
            if scores is None:
                scores = np.full((len(needs_refit), *found.shape[1:]), np.nan)
            scores[some] = found
    assert scores is not None
    return scores


def known_classes_without_row(codes: Codes, n_classes: int) -> NDArray[np.bool_]:
    """Return which classes occur among the other rows, for each row, n×K, perhaps read-only."""
    count = np.bincount(codes, minlength=n_classes)
    if (count > 1).all():
        return np.broadcast_to(np.bool_(True), (len(codes), n_classes))
    known = np.tile(count > 0, (len(codes), 1))
    known[np.arange(len(codes)), codes] = count[codes] > 1
    return known
