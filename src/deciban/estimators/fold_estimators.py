"""Facades that have learned all folds but one, from one pass over the rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import is_sparse, thread_count
from deciban.engines.dense import apply_by_fold
from deciban.errors import DecibanWarning, UndefinedError
from deciban.estimators import check_documents as texts
from deciban.estimators.fold_plan import Plan, taken
from deciban.estimators.gaussian_base import GaussianClassifier
from deciban.estimators.generative_base import Bayes
from deciban.estimators.naive_bayes import NaiveBayes
from deciban.estimators.text_base import TextBayes
from deciban.ledger import Ledger
from deciban.model.columns import Column, Layout
from deciban.scores.posterior import Finish
from deciban.text import Words
from deciban.training.number_roles import decide
from deciban.validation.fold_scores import all_but_each, before_each, parted
from deciban.validation.splits import Folds

MOST_CELLS = 1 << 28
"""Numbers that the ledgers of all folds may hold between them: 2 GiB, and as much again while they are added."""

Columns = Sequence[Column] | None
"""The columns of a table as they are counted, those that are open in several ways; None for other rows."""


def adds(est: Any) -> bool:
    """Whether the model of some rows follows from sums over them, and from nothing else."""
    if not isinstance(est, Bayes) or getattr(est, "calibrate", None) is not None:
        return False
    try:
        est._require_additive("cross-validate")
    except UndefinedError:
        return False
    return True


def crowded(est: Any, rows: Any, plan: Plan) -> bool:
    """Whether the ledgers of so many folds would not fit into memory, so that one model after the other is better."""
    if isinstance(est, (NaiveBayes, TextBayes)):
        return False
    K, d = len(est.classes_), rows.shape[1]
    pairs = any(need.kind == "scatter" for need in est._assumption(d, K).needs)
    return plan.n_folds * K * d * (d if pairs else 4) > MOST_CELLS


def is_plain(est: Any, rows: Any) -> bool:
    """Whether the rows are one dense block of numbers, under one bell for each."""
    return isinstance(est, GaussianClassifier) and isinstance(rows, np.ndarray)


def columns_of_features(est: Any, rows: Any) -> Columns:
    """The roles of a table's columns, inferred once from all rows."""
    return est._infer_columns(rows) if isinstance(est, NaiveBayes) else None


def models(est: Any, rows: Any, codes: Codes, weight: Array | None, plan: Plan) -> Iterator[Any]:
    """A facade for each fold, which has learned what that fold is to be judged by."""
    columns = columns_of_features(est, rows)
    ledgers = _fold_ledgers(est, rows, codes, weight, plan, columns)
    rests = before_each(ledgers) if plan.rule == "before" else all_but_each(ledgers)
    for f, rest in zip(range(plan.n_folds), rests):
        if f >= plan.first:
            yield settled(est, rest, columns)


def by_kernel(each: Iterator[Any], rows: Any, fold: Folds, wanted: Finish) -> tuple[Array, NDArray[np.bool_]]:
    """Rows scored where they stand; if there is something in them that no kernel knows, fold by fold."""
    facades = list(each)
    solved = [model._check_fitted().solved for model in facades]
    priors, threads = np.stack([one.log_prior for one in solved]), thread_count(facades[0].n_jobs)
    out = apply_by_fold([one.forms[0] for one in solved], rows, priors, fold, wanted, threads)
    if out is None:
        return by_fold(iter(facades), rows, fold, wanted)
    return out, np.stack([model.ledger_.rows > 0 for model in facades])


def by_fold(each: Iterator[Any], rows: Any, fold: Folds, wanted: Finish) -> tuple[Array, NDArray[np.bool_]]:
    """The rows of each fold gathered and scored by its model; also which classes that knows, F×K."""
    told, known = [], []
    for f, model in enumerate(each):
        index = np.flatnonzero(fold == f)
        known.append(model.ledger_.rows > 0)
        if len(index):
            told.append((index, asked(model, taken(rows, index), wanted)))
    out = np.full((len(fold), *told[0][1].shape[1:]), np.nan)
    for index, scores in told:
        out[index] = scores
    return out, np.stack(known)


def _fold_ledgers(
    est: Any, rows: Any, codes: Codes, weight: Array | None, plan: Plan, columns: Columns
) -> list[Ledger]:
    """What was counted in each fold; last, if there are any, in the rows of no fold."""
    fold = np.where(plan.fold < 0, plan.n_folds, plan.fold).astype(np.int32)
    F, K = plan.n_folds + int((plan.fold < 0).any()), len(est.classes_)
    if not _apart(est, rows):
        return parted(tally(est, rows, codes * np.int32(F) + fold, K * F, weight, columns), est.classes_, F)
    each = []
    for f in range(F):
        mine = np.flatnonzero(fold == f)
        w = None if weight is None else weight[mine]
        each += parted(tally(est, taken(rows, mine), codes[mine], K, w, columns), est.classes_, 1)
    return each


def _apart(est: Any, rows: Any) -> bool:
    """Whether the folds are better counted one after the other.

    Products of matrices are made class by class; sparse counts of many classes are kept otherwise than of few.
    """
    if isinstance(est, (NaiveBayes, TextBayes)):
        return False
    needs = est._assumption(rows.shape[1], len(est.classes_)).needs
    return is_sparse(rows) or any(need.kind == "scatter" for need in needs)


def tally(est: Any, rows: Any, codes: Codes, n_classes: int, weight: Array | None, columns: Columns) -> Ledger:
    """The ledger of checked rows by the numbers of their classes, which may be finer than those of the facade."""
    fine = copy.copy(est)
    fine.classes_ = np.arange(n_classes)
    setattr(fine, est._prior_name, None)  # what is given is given for the facade's own classes
    if columns is not None:
        fine._columns = tuple(columns)
    ledger: Ledger = fine._summarise(rows, codes, weight)
    return ledger


def settled(est: Any, ledger: Ledger, columns: Columns) -> Any:
    """The facade as it would be had it learned this ledger, with everything that is open settled by it."""
    if measures_lengths(est):
        ledger = ledger - ledger.empty()  # which drops the words that nobody has
    if columns is None:
        return est._copy(ledger)
    final, kept, _ = decide(Layout(tuple(columns)), ledger, est._options(len(est.classes_)))
    new = copy.copy(est)
    new._columns = tuple(final)
    new._replace_ledger(ledger.choose(kept))
    return new


def measures_lengths(est: Any) -> bool:
    """Whether documents are divided by their length, which is that of the words that are known."""
    if isinstance(est, TextBayes):
        return est._words.length is not None
    return isinstance(est, NaiveBayes) and Words.given(est.words).length is not None


def blocks(model: Any, rows: Any) -> Iterator[tuple[slice, Sequence[Any]]]:
    """Checked rows as the matrices that the facade's scores take, and which rows they are."""
    if isinstance(model, NaiveBayes):
        pieces: Iterator[Any] = model._parts(model._model(), rows)
    elif isinstance(model, TextBayes):
        pieces = ((model._matrix(some, thread_count(model.n_jobs)),) for some in texts.blocks(rows))
    else:
        model._check_prediction_rows(rows)
        pieces = iter([(rows,)])
    start = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        for parts in pieces:
            yield slice(start, start + parts[0].shape[0]), parts
            start += parts[0].shape[0]


def asked(model: Any, rows: Any, wanted: Finish) -> NDArray[Any]:
    """What a facade says of checked rows; that it has not met a word or a level is no news here."""
    threads = thread_count(model.n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        if isinstance(model, NaiveBayes):
            table = model._model()
            return np.concatenate([table.scores(parts, wanted, threads) for parts in model._parts(table, rows)])
        if isinstance(model, TextBayes):
            return model._score(rows, wanted)
        model._check_prediction_rows(rows)
        with model._reword_errors():
            return model._check_fitted().scores((rows,), wanted, threads)
