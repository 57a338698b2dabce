"""Estimators of folds and of all rows but one, from the ledgers of one pass over the rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import is_sparse, thread_count
from deciban.engines.dense import apply_by_fold
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.estimators.gaussian_estimators import GaussianClassifier
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.estimators.naive_bayes import NaiveBayes
from deciban.estimators.text_classifier import TextClassifier
from deciban.ledger import Ledger
from deciban.model.columns import Column, Layout
from deciban.scores.posterior import Finish
from deciban.text import Words
from deciban.training.column_roles import decide
from deciban.validation.fold_models import (
    MAX_REFITTED_ROWS,
    LeaveOneOutScores,
    known_classes_without_row,
    ledgers_before_each,
    ledgers_excluding_each,
    refit_each_row,
    score_by_fold,
    score_in_closed_form,
    split_by_fold,
)
from deciban.validation.fold_plan import FoldPlan, take_rows
from deciban.validation.splits import Folds

MAX_LEDGER_CELLS = 1 << 28
"""The numbers that the ledgers of all folds may hold together: 2 GiB, and as much again while they are added."""

Columns = Sequence[Column] | None
"""The columns of a table as they are counted, undecided ones under several roles; None for other rows."""

Scored = tuple[Array, NDArray[np.bool_]]
"""The wanted scores of each row, and the classes that the model which scored it has rows of, n×K."""


def is_additive(est: Any) -> bool:
    """Return whether the model of some rows follows from sums over them, and from nothing else."""
    if not isinstance(est, GenerativeClassifier) or getattr(est, "calibrate", None) is not None:
        return False
    try:
        est._require_additive("cross-validate")
    except UndefinedError:
        return False
    return True


def exceeds_memory(est: Any, rows: Any, plan: FoldPlan) -> bool:
    """Return whether the ledgers of all folds would not fit into memory, so that refits are better."""
    if isinstance(est, (NaiveBayes, TextClassifier)):
        return False
    K, d = len(est.classes_), rows.shape[1]
    pairs = any(need.kind == "scatter" for need in est._assumption(d, K).needs)
    return plan.n_folds * K * d * (d if pairs else 4) > MAX_LEDGER_CELLS


def score_folds(est: Any, rows: Any, codes: Codes, weight: Array | None, plan: FoldPlan, wanted: Finish) -> Scored:
    """Score the rows of each fold by the model of the rows that the plan lets it learn."""
    fold = np.where(plan.is_scored, plan.fold - plan.first_scored, np.int32(-1)).astype(np.int32)
    models: Iterable[Any] = _fold_models(est, rows, codes, weight, plan)
    if isinstance(est, GaussianClassifier) and isinstance(rows, np.ndarray):
        models = [*models]
        scored = _score_by_kernel(models, rows, fold, wanted)
        if scored is not None:
            return scored

    def score(model: Any, index: NDArray[np.intp]) -> tuple[Array, NDArray[np.bool_]]:
        known = model.ledger_.rows > 0
        return score_rows(model, take_rows(rows, index), wanted), np.broadcast_to(known, (len(index), len(known)))

    scores, known = score_by_fold(models, fold, score)
    return scores, known | (fold < 0)[:, None]


def _score_by_kernel(models: Sequence[Any], rows: Any, fold: Folds, wanted: Finish) -> Scored | None:
    """Score dense rows of independent Gaussians without gathering the folds; None where no kernel applies."""
    solved = [model._check_fitted().solved for model in models]
    priors, threads = np.stack([one.log_prior for one in solved]), thread_count(models[0].n_jobs)
    scores = apply_by_fold([one.forms[0] for one in solved], rows, priors, fold, wanted, threads)
    if scores is None:
        return None
    known = np.stack([model.ledger_.rows > 0 for model in models])
    return scores, known[fold] if not known.all() else np.broadcast_to(np.bool_(True), (len(fold), known.shape[1]))


def _fold_models(est: Any, rows: Any, codes: Codes, weight: Array | None, plan: FoldPlan) -> Iterator[Any]:
    """Yield an estimator for each scored fold, which has learned the other folds, or those before it."""
    columns = _infer_columns(est, rows)
    ledgers = _fold_ledgers(est, rows, codes, weight, plan, columns)
    rests = ledgers_before_each(ledgers) if plan.rule == "before" else ledgers_excluding_each(ledgers)
    for f, rest in zip(range(plan.n_folds), rests):
        if f >= plan.first_scored:
            yield _finalise_model(est, rest, columns)


def _infer_columns(est: Any, rows: Any) -> Columns:
    """Infer the roles of a table's columns, once from all rows; None for an estimator of other rows."""
    return est._infer_columns(rows) if isinstance(est, NaiveBayes) else None


def _fold_ledgers(
    est: Any, rows: Any, codes: Codes, weight: Array | None, plan: FoldPlan, columns: Columns
) -> list[Ledger]:
    """Return the ledger of each fold; last, if there are any, that of the rows of no fold."""
    fold = np.where(plan.fold < 0, plan.n_folds, plan.fold).astype(np.int32)
    F, K = plan.n_folds + int((plan.fold < 0).any()), len(est.classes_)
    if not _counts_folds_separately(est, rows):
        return split_by_fold(
            count_rows(est, rows, codes * np.int32(F) + fold, K * F, weight, columns), est.classes_, F
        )
    ledgers = []
    for f in range(F):
        index = np.flatnonzero(fold == f)
        w = None if weight is None else weight[index]
        ledger = count_rows(est, take_rows(rows, index), codes[index], K, w, columns)
        ledgers += split_by_fold(ledger, est.classes_, 1)
    return ledgers


def _counts_folds_separately(est: Any, rows: Any) -> bool:
    """Return whether the folds are better counted one after the other.

    Products of matrices are computed class by class; sparse counts of many classes are kept otherwise than of few.
    """
    if isinstance(est, (NaiveBayes, TextClassifier)):
        return False
    needs = est._assumption(rows.shape[1], len(est.classes_)).needs
    return is_sparse(rows) or any(need.kind == "scatter" for need in needs)


def count_rows(est: Any, rows: Any, codes: Codes, n_classes: int, weight: Array | None, columns: Columns) -> Ledger:
    """Return the ledger of checked rows by class codes, which may be finer than the classes of the estimator."""
    fine = copy.copy(est)
    fine.classes_ = np.arange(n_classes)
    setattr(fine, est._prior_name, None)  # given priors are those of the estimator's own classes
    if columns is not None:
        fine._columns = tuple(columns)
    ledger: Ledger = fine._summarise(rows, codes, weight)
    return ledger


def _finalise_model(est: Any, ledger: Ledger, columns: Columns) -> Any:
    """Return the estimator as it would be had it learned this ledger, with every role resolved by it."""
    if _uses_document_lengths(est):
        ledger = ledger - ledger.empty()  # which drops the words that no document has
    if columns is None:
        return est._copy(ledger)
    final, kept, _ = decide(Layout(tuple(columns)), ledger, est._options(len(est.classes_)))
    new = copy.copy(est)
    new._columns = tuple(final)
    new._replace_ledger(ledger.choose(kept))
    return new


def _uses_document_lengths(est: Any) -> bool:
    """Return whether documents are divided by their length, which is that of the known words."""
    if isinstance(est, TextClassifier):
        return est._words.length is not None
    return isinstance(est, NaiveBayes) and Words.from_argument(est.words).length is not None


def score_rows(model: Any, rows: Any, wanted: Finish) -> NDArray[Any]:
    """Score checked rows by an estimator, without warnings about words or levels that it has not met."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return model._score_rows(rows, wanted)


class LeaveOneOut:
    """The rows of an estimator, each of which is scored by the model of all others."""

    def __init__(self, est: Any, rows: Any, codes: Codes, weight: Array | None, wanted: Finish) -> None:
        self.est, self.rows, self.codes, self.weight, self.wanted = est, rows, codes, weight, wanted
        self.columns: Columns = _infer_columns(est, rows)

    def scores(self) -> Scored:
        """Return the wanted scores of each row, and which classes its model has rows of, n×K."""
        total = self.count_together()
        closed = self._score_in_closed_form(total)
        scores, needs_refit = (None, np.ones(len(self.codes), dtype=np.bool_)) if closed is None else closed
        self._check_refits(int(needs_refit.sum()))
        scores = refit_each_row(self, total, needs_refit, scores)
        return scores, known_classes_without_row(self.codes, len(self.est.classes_))

    def _score_in_closed_form(self, total: Ledger) -> LeaveOneOutScores | None:
        """Score the rows by closed forms; None where there is none."""
        if self.wanted in ("observed", "typicality"):
            return None
        if _uses_document_lengths(self.est) or not self._has_certain_columns(total):
            return None
        model = _finalise_model(self.est, total, self.columns)
        batches, start, threads = [], 0, thread_count(model.n_jobs)
        with warnings.catch_warnings(), model._reword_errors():
            warnings.simplefilter("ignore", DecibanWarning)
            for parts in model._parts(self.rows, threads):
                some = slice(start, start + parts[0].shape[0])
                weight = None if self.weight is None else self.weight[some]
                batch = score_in_closed_form(
                    model._check_fitted(), parts, self.codes[some], weight, self.wanted, threads
                )
                if batch is None:
                    return None
                batches.append(batch)
                start = some.stop
        return LeaveOneOutScores.concatenate(batches)

    def _has_certain_columns(self, total: Ledger) -> bool:
        """Return whether no row could change the role of a column."""
        if self.columns is None:
            return True
        decision = decide(Layout(tuple(self.columns)), total, self.est._options(len(self.est.classes_)))
        return decision.is_certain(self.columns)

    def _check_refits(self, n: int) -> None:
        if n > MAX_REFITTED_ROWS:
            raise InputError(
                f"leaving out each of {n} rows needs a model solved for each of them, and more than "
                f"{MAX_REFITTED_ROWS} take too long ({type(self.est).__name__} with these arguments has no closed "
                f"form). Hint: folds=10, or score some of the rows: folds=[…] with −1 for rows that are learned only"
            )

    def score_each(self, index: NDArray[np.intp], rests: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""
        models = (_finalise_model(self.est, rest, self.columns) for rest in rests)
        each = zip(models, index)
        return np.array([score_rows(model, take_rows(self.rows, np.array([i])), self.wanted)[0] for model, i in each])

    def count_each(self, index: NDArray[np.intp]) -> list[Ledger]:
        """Return the ledger of each of these rows."""
        return [self.count_together(index[at : at + 1]) for at in range(len(index))]

    def count_together(self, index: NDArray[np.intp] | None = None) -> Ledger:
        """Return the ledger of these rows, or of all."""
        rows, codes, weight = self.rows, self.codes, self.weight
        if index is not None:
            rows, codes, weight = take_rows(rows, index), codes[index], None if weight is None else weight[index]
        ledger = count_rows(self.est, rows, codes, len(self.est.classes_), weight, self.columns)
        return split_by_fold(ledger, self.est.classes_, 1)[0]
