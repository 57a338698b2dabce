"""Weighing a table's columns: one linear predictor over all blocks, its penalty chosen by rows that were left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.belief import Belief
from deciban.discriminative.account import Account, LearnerName
from deciban.discriminative.blocks import weighable
from deciban.discriminative.choosing import chosen_C
from deciban.discriminative.designs import Part, Shared
from deciban.discriminative.learned import NEVER, Learned
from deciban.discriminative.logistic import Fit, fitted_parts
from deciban.discriminative.newton import Small, is_small, newton
from deciban.discriminative.objective import losses
from deciban.engines.threads import one_core_products
from deciban.ledger.shuffled import some_of
from deciban.ledger.statistic import Array

LEAST_C, MOST_C = 1e-3, 1e3
"""Between these C is sought: beyond, a thousand rows are not heard, or a column is all but free."""

USUAL_C = 1e-2, 10.0
"""Where it is sought for very many cells: fits beyond take longest. A C that is given is taken as it is."""

MOST_ITERATIONS, TOLERANCE, ROUGH = 1000, 1e-6, 1e-2
"""How far the fit goes that is kept, and those that only tell one C from another."""

ENOUGH_ROWS = 20_000
"""Rows that C is chosen by at most: it is sought in steps of √10, no finer."""

MANY_CELLS = 1 << 17
"""Cells, times classes, from which on fewer folds are judged for the sake of C."""

FEW_C = 1.0
"""C where no row can be left out."""


Design = Sequence[Part]
"""Blocks of features beside each other."""

Honest = Callable[[int], Design]
"""All rows as they are by what was settled without this fold: cuts and evidence that have seen no label of it."""


class Judges(NamedTuple):
    """Rows that a predictor is fitted to: classes' codes, weights, and the fold in which each is left out."""

    codes: NDArray[np.int32]
    weight: Array | None
    fold: NDArray[np.int32]


@dataclass(frozen=True)
class Found:
    """Weights of each block of a predictor for all K classes, and the fit that they come from."""

    blocks: list[Array]
    bias: Array
    fit: Fit
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
    basis: Belief, parts: Sequence[Any], rows: Judges, C: float | str, threads: int, honest: Honest | None = None
) -> Learned:
    """Logistic regression of a table: the columns' weights, in the place of what the naive belief says of them."""
    blocks = weighable(basis, parts, rows.weight)
    found = predictor([block.part for block in blocks], rows, len(basis.ledger.rows), C, threads, honest)
    forms = [block.form(weights) for block, weights in zip(blocks, found.blocks)]
    account = found.account("logistic", len(rows.codes))
    return Learned.of(basis.schema, forms, basis.solved.needs, found.bias, basis.ledger.rows, account, basis)


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
    fit = Search(known, own.codes, len(seen), threads).fit(asked, own.weight, TOLERANCE)
    blocks = [
        t if isinstance(part, Shared) else _each_class(_of_cells(part, t), seen, n_classes, 0.0)
        for part, t in zip(known, fit.parts)
    ]
    bias = _each_class(fit.bias[:, None], seen, n_classes, NEVER)[:, 0]
    return Found(blocks, bias, fit, float(asked), isinstance(C, str))


def _of_classes(part: Part, seen: NDArray[np.intp], n_classes: int) -> Part:
    """The same with what it says of these classes alone; of two that are left, their difference."""
    if len(seen) == n_classes:
        return part
    if isinstance(part, Shared):
        return replace(part, values=part.values[:, :, seen])
    if part.scale is None:
        return part
    own = part.scale[seen]
    return replace(part, scale=own[1:] - own[:1] if len(seen) == 2 else own)


def _among(honest: Honest, seen: NDArray[np.intp], n_classes: int) -> Honest:
    """Honest designs that speak of these classes alone."""
    return lambda f: [_of_classes(part, seen, n_classes) for part in honest(f)]


def _of_cells(part: Part, t: Array) -> Array:
    """What weights of a part's features are of its cells."""
    return t if isinstance(part, Shared) or part.scale is None else t * part.scale


def _certain(parts: Sequence[Part], seen: NDArray[np.intp], n_classes: int) -> Found:
    """Rows of one class: there is nothing to tell apart, and no weights are needed."""
    fit = Fit(tuple(np.zeros(part.shape(1)) for part in parts), np.zeros(1), 0.0, 0.0, 0, 0.0, True, False)
    blocks = [t if t.ndim == 1 else np.zeros((n_classes, t.shape[1])) for t in fit.parts]
    bias = np.full(n_classes, NEVER)
    bias[seen] = 0.0
    return Found(blocks, bias, fit, 1.0, False)


def _each_class(t: Array, seen: NDArray[np.intp], n_classes: int, absent: float) -> Array:
    """Weights for every class: the log-odds of two are half for one and half against the other."""
    out = np.full((n_classes, t.shape[1]), absent)
    out[seen] = np.concatenate([-t / 2, t / 2]) if len(t) == 1 else t
    return out


class Search:
    """Fits of one design under several penalties and weights of its rows, by Newton's method where it is small."""

    def __init__(self, parts: Sequence[Part], codes: NDArray[np.int32], n_classes: int, threads: int) -> None:
        self.parts, self.codes, self.n_classes, self.threads = parts, codes, n_classes, threads
        self.small = Small(parts, codes, n_classes) if is_small(parts, len(codes), n_classes) else None

    def fit(self, C: float, weight: Array | None, tol: float, start: Fit | None = None) -> Fit:
        """The penalties of the parts are those at C = 1."""
        held = [replace(part, l1=part.l1 / C, l2=part.l2 / C) for part in self.parts]
        if self.small is not None:
            with one_core_products(True):
                return newton(self.small, held, weight, start, tol, MOST_ITERATIONS)
        before = None if start is None else (start.parts, start.bias)
        return fitted_parts(
            held, self.codes, weight, self.n_classes,
            start=before, tol=tol, max_iter=MOST_ITERATIONS, threads=self.threads,
        )  # fmt: skip


def _taken(design: Design, index: NDArray[np.intp] | None) -> Design:
    """The same with these rows alone."""
    if index is None:
        return design
    return [
        replace(part, values=part.values[index]) if isinstance(part, Shared) else replace(part, X=part.X[index])
        for part in design
    ]


def _fewer(rows: Judges) -> tuple[NDArray[np.intp] | None, Judges]:
    """As many rows as C takes, drawn at random, but always the same; None: all."""
    n = len(rows.codes)
    if n <= ENOUGH_ROWS:
        return None, rows
    index = some_of(n, ENOUGH_ROWS)
    weight = None if rows.weight is None else rows.weight[index]
    return index, Judges(rows.codes[index], weight, rows.fold[index])


def _chosen(parts: Design, honest: Honest | None, rows: Judges, n_classes: int, threads: int) -> float:
    """The C by which rows of each fold are told best without them; those left out weigh nothing."""
    n_folds = int(rows.fold.max(initial=-1)) + 1
    if not n_folds:
        return FEW_C
    n, (index, rows) = len(rows.codes), _fewer(rows)
    codes, fold = rows.codes, rows.fold
    weight = np.ones(len(codes)) if rows.weight is None else rows.weight
    few = _judging(parts, len(codes) / n, n_classes, n_folds)
    if honest is None:
        designs = [_taken(parts, index)] * few
        searches = [Search(designs[0], codes, n_classes, threads)] * few
    else:
        designs = [_taken(honest(f), index) for f in range(few)]
        searches = [Search(design, codes, n_classes, threads) for design in designs]

    def refit(f: int, C: float, before: Fit | None) -> Fit:
        return searches[f].fit(C, np.where(fold == f, 0.0, weight), ROUGH, before)

    def loss(f: int, fit: Fit) -> float:
        said = sum(part.scores(t) for part, t in zip(designs[f], fit.parts)) + fit.bias
        mine = fold == f
        return float(weight[mine] @ losses(said[mine], codes[mine]))

    return chosen_C(refit, loss, few, *((LEAST_C, MOST_C) if few == n_folds else USUAL_C)).C


def _judging(parts: Design, share: float, n_classes: int, n_folds: int) -> int:
    """How many of the folds are left out and judged: of many cells one or two, which have many rows."""
    size = sum(part.values.size if isinstance(part, Shared) else part.X.size for part in parts)
    cells = share * n_classes * size
    return n_folds if cells <= MANY_CELLS else min(n_folds, 2 if cells <= 10 * MANY_CELLS else 1)
