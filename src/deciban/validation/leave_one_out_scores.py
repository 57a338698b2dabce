"""Leave-one-out: each row scored by the model of all other rows, in closed form if possible, else by a refit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.families.family import log
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.scores import finish
from deciban.scores.posterior import Finish
from deciban.validation import closed_form_counts  # noqa: F401  registers the closed forms of its families
from deciban.validation.closed_form import LeftOutBlock, LeftOutRows, has_rest, score_without_row
from deciban.validation.closed_form_gaussian import score_by_kernel
from deciban.validation.fold_models import ledgers_excluding_each_row

MAX_REFITTED_ROWS = 10_000
"""The number of rows that may each be left out by a refit: as many models are solved, which takes minutes."""


class LeaveOneOutScores(NamedTuple):
    """The wanted scores of each row, and which rows have none because they need a refit."""

    scores: Array
    needs_refit: NDArray[np.bool_]

    @classmethod
    def concatenate(cls, parts: Sequence[LeaveOneOutScores]) -> LeaveOneOutScores:
        """Return the scores of all parts, in their order."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts)))


def score_in_closed_form(
    model: GenerativeModel, parts: Sequence[Any], codes: Codes, weight: Array | None, wanted: Finish, threads: int
) -> LeaveOneOutScores | None:
    """Score each row by the model without it, in closed form; return None if a family has none.

    `model` has learned all these rows, and perhaps more; their weights are positive.
    """
    if getattr(model.assumption, "auto", False):
        return None
    if len(parts) == 1:
        quick = score_by_kernel(model, parts[0], codes, weight, wanted, threads)
        if quick is not None:
            return LeaveOneOutScores(*quick)
    n = len(codes)
    rows = LeftOutRows(codes, np.ones(n) if weight is None else weight, np.zeros(n, dtype=np.bool_))
    rows.needs_refit[:] = ~has_rest(model.complete.rows[codes], rows.weight)
    log_prior = _log_priors(model, rows)
    joint = log_prior.copy()
    solved = model.solved
    blocks = zip(model.assumption.families, model.complete.parts, solved.forms, parts, solved.needs)
    for family, part, form, X, need in blocks:
        scores = score_without_row(family, LeftOutBlock(part, form, X, need, rows, threads))
        if scores is None:
            return None
        joint += scores
    return LeaveOneOutScores(finish(joint, log_prior, wanted)[0], rows.needs_refit)


def _log_priors(model: GenerativeModel, rows: LeftOutRows) -> Array:
    """Return ln π_k without each row, n×K."""
    n, K, prior = len(rows.codes), len(model.solved.prior), model.assumption.prior
    if prior.kind in ("given", "uniform") or (not model.assumption.probabilistic and K > 1):
        return np.broadcast_to(model.solved.log_prior, (n, K)).copy()
    weight = np.broadcast_to(model.complete.rows, (n, K)).copy()
    weight[np.arange(n), rows.codes] -= np.where(rows.needs_refit, 0.0, rows.weight)
    weight += prior.alpha if prior.kind == "smoothed" else 0.0
    return log(weight / weight.sum(axis=1, keepdims=True))


class RefittableRows(Protocol):
    """Rows of which any subset can be counted, and which can be scored by models of other rows' ledgers."""

    def count_together(self, index: NDArray[np.intp]) -> Ledger:
        """Return the ledger of these rows."""
        ...

    def count_each(self, index: NDArray[np.intp]) -> Sequence[Ledger]:
        """Return the ledger of each of these rows."""
        ...

    def score_each(self, index: NDArray[np.intp], rests: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""
        ...


def refit_each_row(
    rows: RefittableRows, total: Ledger, needs_refit: NDArray[np.bool_], scores: Array | None
) -> Array:
    """Score the rows marked in `needs_refit` by refits to all other rows; return the scores of all rows.

    `scores` holds those of the other rows, and is changed; None where every row needs a refit.
    """
    index, others = np.flatnonzero(needs_refit), np.flatnonzero(~needs_refit)
    if not len(index):
        assert scores is not None
        return scores
    other_ledger = rows.count_together(others) if len(others) else total.empty()
    each = ledgers_excluding_each_row(index, total, other_ledger, rows.count_together, rows.count_each)
    for some, ledgers in each:
        found = rows.score_each(some, ledgers)
        if scores is None:
            scores = np.full((len(needs_refit), *found.shape[1:]), np.nan)
        scores[some] = found
    assert scores is not None
    return scores


def known_classes_without_row(codes: Codes, n_classes: int) -> NDArray[np.bool_]:
    """Return which classes occur among the other rows, for each row, n×K."""
    count = np.bincount(codes, minlength=n_classes)
    if (count > 1).all():
        return np.broadcast_to(np.bool_(True), (len(codes), n_classes))
    known = np.broadcast_to(count > 0, (len(codes), n_classes)).copy()
    alone = np.flatnonzero(count[codes] == 1)
    known[alone, codes[alone]] = False
    return known
