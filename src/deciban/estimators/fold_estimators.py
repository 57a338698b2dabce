"""Estimators of folds and of all rows but one, from the ledgers of one pass over the rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
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
from deciban.validation import fold_models
from deciban.validation.fold_models import RowIndex
from deciban.validation.fold_plan import FoldPlan, take_rows
from deciban.validation.splits import Folds

MAX_LEDGER_CELLS = 1 << 28
"""The numbers that the ledgers of all folds may hold together: 2 GiB, and as much again while they are added."""

ScoresAndClasses = tuple[Array, NDArray[np.bool_]]
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


class FoldEstimator(fold_models.RefittableRows):
    """The checked rows of an additive estimator, which are scored by estimators that have learned some of the others.

    The estimator knows its classes. The roles of a table's columns are inferred once, from all rows.
    """

    def __init__(self, est: Any, rows: Any, codes: Codes, weight: Array | None, wanted: Finish) -> None:
        self.est, self.rows, self.codes, self.weight, self.wanted = est, rows, codes, weight, wanted
        self.is_table = isinstance(est, NaiveBayes)
        self.columns: Sequence[Column] = est._infer_columns(rows) if self.is_table else ()
        """The columns of a table as they are counted, undecided ones under several roles."""
        words = Words.from_argument(est.words) if self.is_table else getattr(est, "_words", None)
        self.uses_document_lengths = words is not None and words.length is not None
        """Whether documents are divided by their length, which is that of the known words."""
        is_matrix = not self.is_table and not isinstance(est, TextClassifier)
        self.needs = est._assumption(rows.shape[1], len(est.classes_)).needs if is_matrix else ()
        """The statistics of a matrix; none for tables and documents."""

    def exceeds_memory(self, n_folds: int) -> bool:
        """Return whether the ledgers of all folds would not fit into memory, so that refits are better."""
        K, d = len(self.est.classes_), self.rows.shape[1] if self.needs else 0
        pairs = any(need.kind == "scatter" for need in self.needs)
        return n_folds * K * d * (d if pairs else 4) > MAX_LEDGER_CELLS

    def score_folds(self, plan: FoldPlan) -> ScoresAndClasses:
        """Score the rows of each fold by the estimator of the rows that the plan lets it learn."""
        fold = np.where(plan.is_scored, plan.fold - plan.first_scored, np.int32(-1)).astype(np.int32)
        ledgers = self._count_folds(plan)
        before = plan.rule == "before"
        combine = fold_models.ledgers_before_each if before else fold_models.ledgers_excluding_each
        models: Iterable[Any] = map(self._learn, islice(combine(ledgers), plan.first_scored, plan.n_folds))
        if isinstance(self.est, GaussianClassifier) and isinstance(self.rows, np.ndarray):
            models = [*models]
            scored = self._score_by_kernel(models, fold)
            if scored is not None:
                return scored

        def score(model: Any, index: RowIndex) -> ScoresAndClasses:
            known = model.ledger_.rows > 0
            return self._score(model, index), np.broadcast_to(known, (len(index), len(known)))

        scores, known = fold_models.score_by_fold(models, fold, score)
        return scores, known | (fold < 0)[:, None]

    def _score_by_kernel(self, models: Sequence[Any], fold: Folds) -> ScoresAndClasses | None:
        """Score dense rows of independent Gaussians without gathering the folds; None where no kernel applies."""
        solved = [model._check_fitted().solved for model in models]
        forms, priors = [one.forms[0] for one in solved], np.stack([one.log_prior for one in solved])
        scores = apply_by_fold(forms, self.rows, priors, fold, self.wanted, thread_count(self.est.n_jobs))
        if scores is None:
            return None
        known = np.stack([model.ledger_.rows > 0 for model in models])
        return scores, known[fold] if not known.all() else np.broadcast_to(np.True_, (len(fold), known.shape[1]))

    def leave_one_out(self) -> ScoresAndClasses:
        """Score each row by the estimator of all other rows."""
        (total,) = self._count(self.rows, self.codes, self.weight)
        closed = self._score_in_closed_form(total)
        scores, needs_refit = (None, np.ones(len(self.codes), dtype=np.bool_)) if closed is None else closed
        n = int(needs_refit.sum())
        if n > fold_models.MAX_REFITTED_ROWS:
            raise InputError(
                f"leaving out each of {n} rows needs a model solved for each of them, and more than "
                f"{fold_models.MAX_REFITTED_ROWS} take too long ({type(self.est).__name__} with these arguments has "
                f"no closed form). Hint: folds=10, or score some of the rows: folds=[…] with −1 for rows that are "
                f"learned only"
            )
        scores = fold_models.refit_each_row(self, total, needs_refit, scores)
        return scores, fold_models.known_classes_without_row(self.codes, len(self.est.classes_))

    def _score_in_closed_form(self, total: Ledger) -> fold_models.LeaveOneOutScores | None:
        """Score the rows by closed forms; None where there is none, or where a row could change a column's role."""
        if self.wanted in ("observed", "typicality") or self.uses_document_lengths:
            return None
        if self.is_table and not self._decide_roles(total).is_certain(self.columns):
            return None
        model = self._learn(total)
        scorer, threads = model._check_fitted(), thread_count(model.n_jobs)
        batches, start = [], 0
        with warnings.catch_warnings(), model._reword_errors():
            warnings.simplefilter("ignore", DecibanWarning)
            for parts in model._parts(self.rows, threads):
                some = slice(start, start + parts[0].shape[0])
                w = None if self.weight is None else self.weight[some]
                batch = fold_models.score_in_closed_form(scorer, parts, self.codes[some], w, self.wanted, threads)
                if batch is None:
                    return None
                batches.append(batch)
                start = some.stop
        return fold_models.LeaveOneOutScores.concatenate(batches)

    def _decide_roles(self, ledger: Ledger) -> Any:
        return decide(Layout(tuple(self.columns)), ledger, self.est._options(len(self.est.classes_)))

    def _learn(self, ledger: Ledger) -> Any:
        """Return the estimator as it would be had it learned this ledger, with every role resolved by it."""
        if self.uses_document_lengths:
            ledger = ledger - ledger.empty()  # which drops the words that no document has
        if not self.is_table:
            return self.est._copy(ledger)
        final, kept, _ = self._decide_roles(ledger)
        new = copy.copy(self.est)
        new._columns = tuple(final)
        new._replace_ledger(ledger.choose(kept))
        return new

    def _score(self, model: Any, index: RowIndex) -> NDArray[Any]:
        """Score some of the rows by an estimator, without warnings about words or levels that it has not met."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)
            return model._score_rows(take_rows(self.rows, index), self.wanted)

    def _count_folds(self, plan: FoldPlan) -> Sequence[Ledger]:
        """Return the ledger of each fold; last, if there are any, that of the rows of no fold.

        The folds are counted one after the other where that is better: products of matrices are computed class by
        class; sparse counts of many classes are kept otherwise than of few.
        """
        fold = np.where(plan.fold < 0, plan.n_folds, plan.fold).astype(np.int32)
        F = plan.n_folds + int((plan.fold < 0).any())
        if self.needs and (is_sparse(self.rows) or any(need.kind == "scatter" for need in self.needs)):
            return [self.count_together(np.flatnonzero(fold == f)) for f in range(F)]
        return self._count(self.rows, self.codes * np.int32(F) + fold, self.weight, F)

    def _count(self, rows: Any, codes: Codes, weight: Array | None, n_folds: int = 1) -> list[Ledger]:
        """Return the ledger of each fold, from one in which class k of fold f is counted as class k·F + f."""
        fine = copy.copy(self.est)
        fine.classes_ = np.arange(len(self.est.classes_) * n_folds)
        setattr(fine, self.est._prior_name, None)  # given priors are those of the estimator's own classes
        if self.is_table:
            fine._columns = tuple(self.columns)
        return fold_models.split_by_fold(fine._summarise(rows, codes, weight), self.est.classes_, n_folds)

    def score_each(self, index: RowIndex, ledgers: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""
        models = map(self._learn, ledgers)
        return np.array([self._score(model, index[i : i + 1])[0] for i, model in enumerate(models)])

    def count_together(self, index: RowIndex) -> Ledger:
        """Return the ledger of these rows."""
        weight = None if self.weight is None else self.weight[index]
        return self._count(take_rows(self.rows, index), self.codes[index], weight)[0]
