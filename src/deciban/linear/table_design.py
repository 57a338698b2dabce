"""Logistic regression of a table: one linear predictor over all blocks of columns, its penalty chosen by folds.

Numbers are standardised by the training rows, so that one penalty suits all; each level and each bin has an
indicator; words count as they were read. A missing cell is no evidence: the mean of a number, no level at all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import thread_count
from deciban.generative import GenerativeModel
from deciban.linear.design import Dense, Part, Shared, Sparse
from deciban.linear.fitted_model import IMPOSSIBLE_BIAS, Account, FittedModel, LearnerName
from deciban.linear.loss_pass import Rows
from deciban.linear.penalty_choice import (
    CHOICE_TOL,
    MAX_C,
    MAX_PENALTY_ROWS,
    MIN_C,
    FoldedRows,
    PenaltyChoice,
    Refit,
    ScoreFold,
    choose_C_by_folds,
)
from deciban.linear.solvers.logistic import LogisticFit, fit_parts, prepare_rows
from deciban.linear.solvers.logistic_objective import expand_to_classes
from deciban.scores import Linear, Lookup, ScoreForm, Steps

LARGE_DESIGN_C_RANGE = 1e-2, 10.0
"""The range in which C is searched for very many cells: fits beyond it take longest. A C that is given is used as it
is."""

FINAL_MAX_ITER, FINAL_TOL = 1000, 1e-6
"""The iteration limit and the tolerance of the final fit."""

LARGE_DESIGN_CELLS = 1 << 17
"""The number of cells, times classes, from which on C is chosen by fewer folds."""

Design = Sequence[Part]
"""Blocks of features side by side."""

FoldDesign = Callable[[int], Design]
"""All rows as designed without this fold: cuts and evidence that have seen no label of it."""


@dataclass(frozen=True)
class PredictorFit:
    """Weights of each block (K×d; d where classes share them) and biases of all K classes, and the fit itself."""

    blocks: list[Array]
    bias: Array
    fit: LogisticFit
    C: float
    chosen: bool
    held_out_losses: Array | None = None
    """The losses of the rows of the folds that C was chosen by, where they are known."""

    def account(self, learner: LearnerName, n_rows: int) -> Account:
        """Return the account of this fit."""
        settings = {"C": self.C, "C_chosen": self.chosen, "rows": n_rows}
        n_parameters = sum(t.size for t in self.fit.parts) + len(self.fit.bias)
        return Account.of_fit(learner, settings, self.fit, n_parameters)


def fit_table_logistic(
    basis: GenerativeModel,
    parts: Sequence[Any],
    rows: FoldedRows,
    C: float | str,
    fold_design: FoldDesign | None = None,
) -> tuple[FittedModel, Array | None]:
    """Fit logistic regression to a table: weights of the columns replace the forms of the naive Bayes model.

    Also return the losses of the rows of the folds that C was chosen by; None if C is given.
    """
    blocks = build_table_blocks(basis, parts, rows.weight)
    design, K = [block.part for block in blocks], len(basis.ledger.rows)
    found = fit_predictor(design, rows, K, C, fold_design, keeps_losses=True)
    forms = [block.form(weights) for block, weights in zip(blocks, found.blocks)]
    account = found.account("logistic", len(rows.codes))
    solved, rows_by_class = basis.solved, basis.ledger.rows
    model = FittedModel.of(basis.schema, forms, solved.needs, found.bias, rows_by_class, account, basis)
    return model, found.held_out_losses


def fit_predictor(
    parts: Design, rows: FoldedRows, n_classes: int, C: float | str, fold_design: FoldDesign | None = None,
    prefers_default: bool = False, keeps_losses: bool = False,
) -> PredictorFit:  # fmt: skip
    """Fit a predictor to these rows; a class without rows is left out of the fit, and has zero weights.

    The parts have no scale; their penalties are those at C = 1. C is chosen by folds of the same design, or of
    `fold_design`; `prefers_default` and `keeps_losses`: see `choose_C_by_folds`.
    """
    seen = np.flatnonzero(np.bincount(rows.codes, rows.weight, n_classes) > 0)
    code_of = np.zeros(n_classes, dtype=np.int32)
    code_of[seen] = np.arange(len(seen))
    if len(seen) < 2:
        return _fit_one_class(parts, seen, n_classes)
    own, keep = rows._replace(codes=code_of[rows.codes]), partial(_keep_classes, seen=seen, n_classes=n_classes)
    narrow = [keep(part) for part in parts]
    by_fold = None if fold_design is None else lambda f: [keep(part) for part in fold_design(f)]
    asked = prefers_default, keeps_losses
    choice = _choose_C(narrow, by_fold, own, len(seen), *asked) if isinstance(C, str) else None
    value = float(C) if choice is None else choice.C
    fit = _fit(narrow, own, len(seen), value, FINAL_TOL)
    blocks = [t if t.ndim == 1 else _to_all_classes(t, seen, n_classes, 0.0) for t in fit.parts]
    bias = _to_all_classes(fit.bias[:, None], seen, n_classes, IMPOSSIBLE_BIAS)[:, 0]
    return PredictorFit(blocks, bias, fit, value, choice is not None, None if choice is None else choice.losses)


def _keep_classes(part: Part, seen: NDArray[np.intp], n_classes: int) -> Part:
    """Return the part with its values of these classes only."""
    return replace(part, X=part.X[:, :, seen]) if isinstance(part, Shared) and len(seen) < n_classes else part


def _fit_one_class(parts: Sequence[Part], seen: NDArray[np.intp], n_classes: int) -> PredictorFit:
    """Return zero weights for rows of a single class, which is certain."""
    zeros = tuple(np.zeros(part.weight_shape(1)) for part in parts)
    fit = LogisticFit(zeros, np.zeros(1), 0.0, 0.0, 0, 0.0, True, False)
    blocks = [t if t.ndim == 1 else np.zeros((n_classes, t.shape[1])) for t in fit.parts]
    bias = np.full(n_classes, IMPOSSIBLE_BIAS)
    bias[seen] = 0.0
    return PredictorFit(blocks, bias, fit, 1.0, False)


def _to_all_classes(t: Array, seen: NDArray[np.intp], n_classes: int, absent: float) -> Array:
    """Return weights of every class, `absent` for those without rows."""
    out = np.full((n_classes, t.shape[1]), absent)
    out[seen] = expand_to_classes(t)
    return out


def _fit(
    parts: Design, rows: FoldedRows, n_classes: int, C: float, tol: float, start: LogisticFit | None = None,
    prepared: Rows | None = None,
) -> LogisticFit:  # fmt: skip
    """Fit the parts to these rows; their penalties are those at C = 1."""
    penalised = [replace(part, l1=part.l1 / C, l2=part.l2 / C) for part in parts]
    return fit_parts(
        penalised, rows.codes, rows.weight, n_classes, start=None if start is None else (start.parts, start.bias),
        tol=tol, max_iter=FINAL_MAX_ITER, threads=thread_count(None), prepared=prepared,
    )  # fmt: skip


def _take_rows(design: Design, index: NDArray[np.intp]) -> Design:
    """Return the design with these rows only."""
    return [replace(part, X=part.X[index]) for part in design]


def _choose_C(
    parts: Design, fold_design: FoldDesign | None, rows: FoldedRows, n_classes: int, prefers_default: bool,
    keeps_losses: bool,
) -> PenaltyChoice:  # fmt: skip
    """Choose the C whose models without each fold have the least loss on it: of many cells, one or two folds."""
    n, n_folds = len(rows.codes), int(rows.fold.max(initial=-1)) + 1
    cells = min(1.0, MAX_PENALTY_ROWS / n) * n_classes * sum(part.X.size for part in parts)
    max_folds = n_folds if cells <= LARGE_DESIGN_CELLS else min(n_folds, 2 if cells <= 10 * LARGE_DESIGN_CELLS else 1)

    def prepare(index: NDArray[np.intp], sample: FoldedRows) -> tuple[Refit[LogisticFit], ScoreFold[LogisticFit]]:
        def take_sample(design: Design) -> Design:
            return design if len(index) == n else _take_rows(design, index)

        same = take_sample(parts) if fold_design is None else []
        design_of = cache(lambda f: same if fold_design is None else take_sample(fold_design(f)))
        held_of = cache(lambda f: _take_rows(design_of(f), np.flatnonzero(sample.fold == f)))
        others_of = cache(lambda f: sample._replace(weight=np.where(sample.fold == f, 0.0, sample.weights)))

        @cache
        def prepare_fold(f: int) -> Rows:
            others = others_of(f)
            return prepare_rows(design_of(f), others.codes, others.weight, n_classes, True, thread_count(None))

        def refit(f: int, C: float, before: LogisticFit | None) -> LogisticFit:
            return _fit(design_of(f), others_of(f), n_classes, C, CHOICE_TOL, before, prepare_fold(f))

        def score(f: int, state: LogisticFit) -> Array:
            return np.asarray(sum(part.scores(t) for part, t in zip(held_of(f), state.parts)) + state.bias)

        return refit, score

    C_range = (MIN_C, MAX_C) if max_folds == n_folds else LARGE_DESIGN_C_RANGE
    return choose_C_by_folds(rows, prepare, *C_range, max_folds, prefers_default, keeps_losses)


class TableBlock(NamedTuple):
    """One block of a table: its features in a linear predictor, with a penalty of 1, and how to read their weights.

    `form` converts weights of the features (K × their number) to a score form of the block's own cells.
    """

    part: Part
    form: Callable[[Array], ScoreForm]


def build_table_blocks(basis: GenerativeModel, parts: Sequence[Any], weight: Array | None) -> list[TableBlock]:
    """Build the blocks of these rows; the cuts of bins and the distinguished levels are those of naive Bayes."""
    blocks = zip(basis.solved.forms, basis.assumption.families, basis.complete.parts, parts)
    return [_build_table_block(form, family, counted, X, weight) for form, family, counted, X in blocks]


def _build_table_block(form: Any, family: Any, counted: Any, X: Any, weight: Array | None) -> TableBlock:
    """Build indicators of levels or bins, words as they are, or standardised numbers, as the naive form requires."""
    if isinstance(form, Lookup):  # levels as the family distinguishes them: the rarest of very many are one
        offset, column = form.offset, family.separate_levels(family.full(counted)).column
        return _build_indicators(X, offset, column, partial(Lookup, offset=offset, unseen=np.zeros_like(form.unseen)))
    if isinstance(form, Steps):
        offset = form.lookup.offset
        return _build_indicators(form.bins(X), offset, np.arange(offset[-1]), partial(Steps, form.cuts, form.start))
    if hasattr(X, "tocsr"):  # words, by the values that they count with
        return TableBlock(Sparse(X, 1.0), lambda weights: Linear(weights, np.zeros(len(weights))))
    return standardise_numbers(X, weight)


def standardise_numbers(X: NDArray[Any], weight: Array | None) -> TableBlock:
    """Build a block of z_j = (x_j − m_j) / s_j, 0 where x_j is missing; s_j is 1 for a constant column.

    The rows are divided by the largest number first, so that 1e300² does not overflow. In the form, a number beyond
    those of these rows counts as the nearest of them: how far the score goes on rising there is not known.

    >>> part, form = standardise_numbers(np.array([[1.0], [3.0], [np.nan]]), None)
    >>> part.X.ravel().round(9).tolist(), form(np.array([[1.0], [2.0]])).offsets.tolist()
    ([-1.0, 1.0, 0.0], [[-2.0], [-4.0]])
    """
    x = np.asarray(X, dtype=np.float64)
    limits = _find_range(x, weight)
    top = np.nanmax(np.abs(x), axis=0, initial=0.0)
    top[top == 0] = 1.0
    x = x / top
    present = ~np.isnan(x)
    w = present * (1.0 if weight is None else weight[:, None])
    n = np.maximum(w.sum(axis=0), np.finfo(np.float64).tiny)
    mean = np.nansum(x * w, axis=0) / n
    x -= mean
    deviation = np.sqrt(np.nansum(x * x * w, axis=0) / n)
    constant = deviation <= np.finfo(np.float64).eps * np.abs(mean)
    deviation[constant] = 1.0
    standard = np.where(present & ~constant, x / deviation, 0.0)

    def form(weights: Array) -> Linear:
        slopes = weights / (deviation * top)
        return Linear(slopes, np.zeros(len(weights)), -slopes * (mean * top), limits=limits)

    return TableBlock(Dense(standard, 1.0), form)


def _find_range(x: Array, weight: Array | None) -> Array:
    """Return the smallest and the largest value of each column, 2×d, in rows that have weight; 0 without values."""
    there = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)[:, None]
    low = np.where(there, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(there, x, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(there.any(axis=0), np.stack([low, high]), 0.0)


def _build_indicators(
    codes: NDArray[Any], offset: NDArray[np.int64], column: NDArray[np.int64], form: Callable[[Array], ScoreForm]
) -> TableBlock:
    """Build one indicator for each distinguished level or bin; `column` is its place for each code, −1 for none."""
    from scipy.sparse import csr_array

    valid = (codes >= 0) & (codes < np.diff(offset))
    at = column[np.where(valid, codes + offset[:-1], 0)] if len(column) else codes
    valid &= at >= 0
    ends = np.concatenate([[0], np.cumsum(valid.sum(axis=1))])
    width = int(column.max(initial=-1)) + 1
    matrix = csr_array((np.ones(int(ends[-1])), at[valid], ends), shape=(len(codes), width))

    def spread(weights: Array) -> ScoreForm:
        return form(np.where(column < 0, 0.0, np.column_stack([weights, np.zeros(len(weights))])[:, column]))

    return TableBlock(Sparse(matrix, 1.0), spread)
