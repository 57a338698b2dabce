"""Weighing a table's columns: one linear predictor over all blocks, its penalty chosen by rows that were left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.generative import GenerativeModel
from deciban.linear.design import Part, Shared, weight_shape
from deciban.linear.fit_report import Account, LearnerName
from deciban.linear.fitted_model import NEVER, FittedModel
from deciban.linear.penalty_choice import ENOUGH_ROWS, LEAST_C, MOST_C, ROUGH, Judges, by_folds
from deciban.linear.solvers.logistic import LogisticFit, fit_parts
from deciban.linear.solvers.logistic_objective import as_scores, expand_to_classes
from deciban.linear.table_blocks import weighable

USUAL_C = 1e-2, 10.0
"""Where it is sought for very many cells: fits beyond take longest. A C that is given is taken as it is."""

MOST_ITERATIONS, TOLERANCE = 1000, 1e-6
"""How far the fit goes that is kept."""

MANY_CELLS = 1 << 17
"""Cells, times classes, from which on fewer folds are judged for the sake of C."""

Design = Sequence[Part]
"""Blocks of features beside each other."""

Honest = Callable[[int], Design]
"""All rows as they are by what was settled without this fold: cuts and evidence that have seen no label of it."""


@dataclass(frozen=True)
class Found:
    """Weights of each block of a predictor for all K classes, and the fit that they come from."""

    blocks: list[Array]
    bias: Array
    fit: LogisticFit
    C: float
    chosen: bool

    def account(self, learner: LearnerName, n_rows: int) -> Account:
        """How these weights were come by."""
        fit = self.fit
        settings = {"C": self.C, "C_chosen": self.chosen, "rows": n_rows}
        n_parameters = sum(t.size for t in fit.parts) + len(fit.bias)
        return Account(
            learner, settings, float(fit.objective), float(fit.loss), int(fit.n_iter), bool(fit.converged),
            bool(fit.separable), n_parameters,
        )  # fmt: skip


def logistic(
    basis: GenerativeModel,
    parts: Sequence[Any],
    rows: Judges,
    C: float | str,
    threads: int,
    honest: Honest | None = None,
) -> FittedModel:
    """Logistic regression of a table: the columns' weights, in the place of what the naive belief says of them."""
    blocks = weighable(basis, parts, rows.weight)
    found = predictor([block.part for block in blocks], rows, len(basis.ledger.rows), C, threads, honest)
    forms = [block.form(weights) for block, weights in zip(blocks, found.blocks)]
    account = found.account("logistic", len(rows.codes))
    return FittedModel.of(basis.schema, forms, basis.solved.needs, found.bias, basis.ledger.rows, account, basis)


def predictor(
    parts: Design, rows: Judges, n_classes: int, C: float | str, threads: int, honest: Honest | None = None
) -> Found:
    """The predictor that these rows are least surprised by; a class that has none is left out of the fit.

    The penalties of the parts are those at C = 1. C is chosen by folds of the same design, or of `honest` ones.
    """
    seen = np.flatnonzero(np.bincount(rows.codes, rows.weight, n_classes) > 0)
    place = np.zeros(n_classes, dtype=np.int32)
    place[seen] = np.arange(len(seen))
    if len(seen) < 2:
        return _certain(parts, seen, n_classes)
    own, known = rows._replace(codes=place[rows.codes]), [_of_classes(part, seen, n_classes) for part in parts]
    apart = None if honest is None else _among(honest, seen, n_classes)
    asked = _chosen(known, apart, own, len(seen), threads) if isinstance(C, str) else C
    fit = _fitted(known, own, len(seen), asked, TOLERANCE, threads)
    blocks = [
        t if isinstance(part, Shared) else _all_classes(_of_cells(part, t), seen, n_classes, 0.0)
        for part, t in zip(known, fit.parts)
    ]
    bias = _all_classes(fit.bias[:, None], seen, n_classes, NEVER)[:, 0]
    return Found(blocks, bias, fit, float(asked), isinstance(C, str))


def _of_classes(part: Part, seen: NDArray[np.intp], n_classes: int) -> Part:
    """The same with what it says of these classes alone; of two that are left, their difference."""
    if len(seen) == n_classes:
        return part
    if isinstance(part, Shared):
        return replace(part, values=part.values[:, :, seen])
    if part.scale is None:
        return part
    return replace(part, scale=as_scores(part.scale[seen]))


def _among(honest: Honest, seen: NDArray[np.intp], n_classes: int) -> Honest:
    """Honest designs that speak of these classes alone."""
    return lambda f: [_of_classes(part, seen, n_classes) for part in honest(f)]


def _of_cells(part: Part, t: Array) -> Array:
    """What weights of a part's features are of its cells."""
    return t if isinstance(part, Shared) or part.scale is None else t * part.scale


def _certain(parts: Sequence[Part], seen: NDArray[np.intp], n_classes: int) -> Found:
    """Rows of one class: there is nothing to tell apart, and no weights are needed."""
    fit = LogisticFit(
        tuple(np.zeros(weight_shape(part, 1)) for part in parts), np.zeros(1), 0.0, 0.0, 0, 0.0, True, False
    )
    blocks = [t if t.ndim == 1 else np.zeros((n_classes, t.shape[1])) for t in fit.parts]
    bias = np.full(n_classes, NEVER)
    bias[seen] = 0.0
    return Found(blocks, bias, fit, 1.0, False)


def _all_classes(t: Array, seen: NDArray[np.intp], n_classes: int, absent: float) -> Array:
    """Weights for every class, those that were not seen too."""
    out = np.full((n_classes, t.shape[1]), absent)
    out[seen] = expand_to_classes(t)
    return out


def _fitted(
    parts: Design, rows: Judges, n_classes: int, C: float, tol: float, threads: int, start: LogisticFit | None = None
) -> LogisticFit:
    """The fit to these rows; the penalties of the parts are those at C = 1."""
    held = [replace(part, l1=part.l1 / C, l2=part.l2 / C) for part in parts]
    return fit_parts(
        held, rows.codes, rows.weight, n_classes, start=None if start is None else (start.parts, start.bias),
        tol=tol, max_iter=MOST_ITERATIONS, threads=threads,
    )  # fmt: skip


def _taken(design: Design, index: NDArray[np.intp]) -> Design:
    """The same with these rows alone."""
    return [
        replace(part, values=part.values[index]) if isinstance(part, Shared) else replace(part, X=part.X[index])
        for part in design
    ]


class _Trials:
    """Fits without a fold, whose rows weigh nothing in it: of one design, or of honest ones."""

    def __init__(self, design: Honest, rows: Judges, n_classes: int, threads: int) -> None:
        self._rows, self._n_classes, self._threads = rows, n_classes, threads
        self._design = cache(design)

    def refit(self, f: int, C: float, before: LogisticFit | None) -> LogisticFit:
        """See `Trials.refit`."""
        rest = self._rows._replace(weight=np.where(self._rows.fold == f, 0.0, self._rows.weights))
        return _fitted(self._design(f), rest, self._n_classes, C, ROUGH, self._threads, before)

    def scores(self, f: int, learned: LogisticFit) -> Array:
        """See `Trials.scores`."""
        design = _taken(self._design(f), np.flatnonzero(self._rows.fold == f))
        return np.asarray(sum(part.scores(t) for part, t in zip(design, learned.parts)) + learned.bias)


def _chosen(parts: Design, honest: Honest | None, rows: Judges, n_classes: int, threads: int) -> float:
    """The C by which rows of each fold are told best without them."""
    n, n_folds = len(rows.codes), int(rows.fold.max(initial=-1)) + 1
    few = _judging(parts, min(1.0, ENOUGH_ROWS / n), n_classes, n_folds)

    def trials(index: NDArray[np.intp], some: Judges) -> _Trials:
        def fewer(design: Design) -> Design:
            return design if len(index) == n else _taken(design, index)

        same = fewer(parts) if honest is None else []
        return _Trials(lambda f: same if honest is None else fewer(honest(f)), some, n_classes, threads)

    return by_folds(rows, trials, *((LEAST_C, MOST_C) if few == n_folds else USUAL_C), n_judged=few).C


def _judging(parts: Design, share: float, n_classes: int, n_folds: int) -> int:
    """How many of the folds are left out and judged: of many cells one or two, which have many rows."""
    size = sum(part.values.size if isinstance(part, Shared) else part.X.size for part in parts)
    cells = share * n_classes * size
    return n_folds if cells <= MANY_CELLS else min(n_folds, 2 if cells <= 10 * MANY_CELLS else 1)
