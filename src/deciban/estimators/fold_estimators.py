"""Fold plans of `cross_validate`: the meaning of its `folds`, `groups` and `order`; and the estimators of folds.

The estimators of folds, and of all rows but one, are learned from the ledgers of one pass over the rows.
"""

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import is_sparse, thread_count
from deciban.engines.dense import apply_by_fold
from deciban.errors import DecibanWarning, InputError, UndefinedError, renumber_rows
from deciban.estimators.check_arguments import take_rows
from deciban.estimators.gaussian_estimators import GaussianClassifier
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.estimators.naive_bayes import NaiveBayes
from deciban.estimators.text_classifier import TextClassifier
from deciban.ledger import Ledger, Schema
from deciban.linear.penalty_choice import CHOICE_FOLDS, exclude_single_fold_classes
from deciban.metrics.calibration_fit import fit_temperature
from deciban.metrics.intervals import bounded_losses
from deciban.model.columns import Column, Layout
from deciban.model.fold_ledgers import split_by_fold
from deciban.scores.posterior import Finish
from deciban.text import Words
from deciban.training.column_roles import decide
from deciban.validation import fold_models, splits
from deciban.validation.fold_models import RowIndex
from deciban.validation.splits import Folds, describe_folds

CANDIDATE_ALPHAS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""The pseudo-counts of words among which documents held out choose."""

MAX_LEDGER_CELLS = 1 << 28
"""The numbers that the ledgers of all folds may hold together: 2 GiB, and as much again while they are added."""

ScoresAndClasses = tuple[Array, NDArray[np.bool_]]
"""The wanted scores of each row, and the classes that the model which scored it has rows of, n×K."""

Rule = Literal["others", "before", "given"]
"""The rows that a fold's model learns: all other folds, the folds before it, or rows that were named."""


@dataclass(frozen=True)
class FoldPlan:
    """The fold of each row (−1: of none, so every model learns it), and the rows that each fold's model learns.

    `words` describe it in a report; `trained` are the rows that each model learns by the rule "given".
    """

    fold: Folds
    n_folds: int
    words: str
    rule: Rule = "others"
    trained: Sequence[NDArray[np.intp]] = ()
    leave_one_out: bool = False
    """Whether every row is a fold of its own."""

    @property
    def first_scored(self) -> int:
        """The first fold that is scored."""
        return int(self.rule == "before")

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Whether each row is scored."""
        return self.fold >= self.first_scored

    def learned_rows(self, f: int) -> NDArray[np.intp]:
        """Return the rows that fold f's model learns."""
        if self.rule == "given":
            return self.trained[f]
        return np.flatnonzero(self.fold < f if self.rule == "before" else self.fold != f)


def make_fold_plan(folds: Any, X: Any, codes: Codes, groups: Any, order: Any, present: NDArray[np.bool_]) -> FoldPlan:
    """Make the plan that the arguments of `cross_validate` describe; its rows are those that are `present`."""
    n = len(codes)
    for name, values in (("groups", groups), ("order", order)):
        if values is not None and len(values) != n:
            raise InputError(f"{name} has {len(values)} values for {n} rows. Hint: one for each row")
    if groups is not None and order is not None:
        raise InputError("rows are folded by groups or by their order, not by both. Hint: leave one of them out")
    if isinstance(folds, str) and folds != "loo":
        raise InputError(f"folds is a number, 'loo', the fold of each row, or a splitter; not {folds!r}")
    if hasattr(folds, "split") and not isinstance(folds, str):
        return _plan_by_pairs(folds.split(X, codes, groups), repr(folds), n, order, present)
    are_pairs = isinstance(folds, (list, tuple)) and all(isinstance(x, tuple) and len(x) == 2 for x in folds)
    if hasattr(folds, "__next__") or are_pairs:  # (train, test), as scikit-learn's splitters give them
        return _plan_by_pairs(folds, "those given", n, order, present)
    if groups is not None:
        return _plan_by_group(folds, np.asarray(groups)[present])
    if order is not None:
        fold = splits.assign_by_order(np.asarray(order)[present], splits.check_n_folds(folds))
        F = int(fold.max()) + 1
        return FoldPlan(fold, F, splits.describe_ordered_folds(F), "before")
    return _plan_by_array(folds, present) if np.ndim(folds) else _plan_by_class(folds, codes[present])


def _plan_by_class(folds: Any, codes: Codes) -> FoldPlan:
    """Make the plan of a number of folds, stratified by class, or of leave-one-out ("loo")."""
    n = len(codes)
    if n < 2:
        raise InputError("cross-validation takes two rows or more: one to be scored, one to learn from")
    if isinstance(folds, str):
        return FoldPlan(np.arange(n, dtype=np.int32), n, splits.LEAVE_ONE_OUT_TEXT, leave_one_out=True)
    F = splits.check_n_folds(folds)
    if n < F:
        raise InputError(f"{n} rows cannot be split into {F} folds. Hint: folds='loo', or fewer folds")
    return FoldPlan(splits.StratifiedAssigner(F).assign(codes), F, describe_folds(F, "stratified by class"))


def _plan_by_group(folds: Any, groups: Any) -> FoldPlan:
    """Make the plan of a number of folds that keep groups together; of a fold for each group by "loo"."""
    if isinstance(folds, str):
        distinct, which = splits.find_distinct_values(groups, "groups", "group")
        if len(distinct) < 2:
            raise InputError("one group cannot be scored by the model of others. Hint: folds='loo' without groups")
        words = "exact leave-one-group-out: every row scored by the model of all other groups"
        return FoldPlan(which.astype(np.int32), len(distinct), words)
    return FoldPlan(splits.assign_by_group(groups, folds), int(folds), describe_folds(folds, "groups kept together"))


def _plan_by_array(folds: Any, present: NDArray[np.bool_]) -> FoldPlan:
    """Make the plan of the fold of each row, a number (−1: always learned) or a text."""
    array = np.asarray(folds)
    if array.shape != present.shape:
        raise InputError(
            f"folds has the shape {array.shape} for {len(present)} rows. Hint: the fold of each row, or a number"
        )
    array = array[present]
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        raise InputError(f"folds are numbered 0, 1, 2 …, or named by texts; not {array[:3]}")
    distinct, which = splits.find_distinct_values(array, "folds", "fold")
    always = distinct.dtype.kind in "if" and distinct[0] < 0
    if always and distinct[0] != -1:
        raise InputError(f"folds are numbered 0, 1, 2 … (−1: learned from, never scored); not {distinct[0]}")
    fold, F = (which - int(always)).astype(np.int32), len(distinct) - int(always)
    if len(distinct) < 2:
        raise InputError("all rows are in one fold, so there is nothing to learn from. Hint: two folds or more")
    return FoldPlan(fold, F, describe_folds(F, "folds as given"))


def _plan_by_pairs(pairs: Iterable[Any], who: str, n: int, order: Any, present: NDArray[np.bool_]) -> FoldPlan:
    """Make the plan of the pairs (rows learned, rows scored) of each fold; `who` names them in sentences.

    A row that no fold scores has the fold −1.
    """
    if order is not None:
        raise InputError("a splitter has an order of its own. Hint: leave order out, or folds=10")
    fold, trained = np.full(n, -1, dtype=np.int32), []
    is_partition = True
    for f, pair in enumerate(pairs):
        train, test = (np.arange(n)[np.asarray(i) if len(i) else slice(0)] for i in pair)
        if (fold[test] >= 0).any() or len(np.unique(test)) < len(test):
            raise InputError(
                f"of the folds, {who}, two score the same row, and a row is scored once. "
                f"Hint: KFold, StratifiedKFold, GroupKFold and their like have each row in one"
            )
        if not len(train):
            raise InputError(f"of the folds, {who}, number {f} has no rows to learn from. Hint: fewer folds")
        fold[test] = f
        trained.append(train)
        is_partition &= bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())
    if not trained:
        raise InputError(f"there are no folds: {who}")
    words = f"{len(trained)} folds of {who}"
    fold = fold[present]
    if (fold < 0).all():
        raise InputError(f"of the folds, {who}, none scores a row of weight above 0. Hint: other folds or weights")
    if is_partition:
        return FoldPlan(fold, len(trained), f"exact, {words}: every row scored by the model without its fold")
    place = np.cumsum(present) - 1
    learned_rows = [place[rows[present[rows]]] for rows in trained]
    return FoldPlan(fold, len(trained), f"{words}, each model fitted to the rows it names", "given", learned_rows)


def choose_alpha(est: TextClassifier, X: Any, codes: Codes, weight: Array | None) -> float | None:
    """Choose the pseudo-count of least log-loss of documents held out, at the best temperature; None: not possible.

    The probabilities of naive Bayes are too near 0 and 1; without a temperature their log-loss is that of the few
    documents most wrong. The documents are counted once, with the class and the fold of each.
    """
    fold = exclude_single_fold_classes(codes, splits.StratifiedAssigner(CHOICE_FOLDS).assign(codes))
    if (fold < 0).all():
        return None
    fixed, plan, losses = copy.copy(est), FoldPlan(fold, CHOICE_FOLDS, ""), []
    rows = FoldEstimator(fixed, X, codes, weight, "log_posterior")
    w = np.ones(len(codes)) if weight is None else weight
    fixed.alpha = 1.0
    ledgers, held = rows.count_folds(plan), fold >= 0
    counted = np.bincount(codes, weights=weight, minlength=len(est.classes_))
    log_prior = fixed._assumption(0, len(est.classes_)).solve_log_prior(counted.astype(np.float64))
    for alpha in CANDIDATE_ALPHAS:
        fixed.alpha = alpha
        scores = rows.score_folds(plan, ledgers)[0][held]
        calibrated = fit_temperature(scores, codes[held], w[held], log_prior).apply(scores, log_prior)
        losses.append(float(w[held] @ bounded_losses(calibrated, codes[held])))
    return CANDIDATE_ALPHAS[int(np.argmin(losses))]


def is_additive(est: Any) -> bool:
    """Return whether the model of some rows follows from sums over them, and from nothing else."""
    if not isinstance(est, GenerativeClassifier) or est._calibration_method() is not None:
        return False
    if isinstance(est, TextClassifier) and isinstance(est.alpha, str):
        return False  # `fit` chooses the pseudo-count by documents held out
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

    def score_folds(self, plan: FoldPlan, ledgers: Sequence[Ledger] | None = None) -> ScoresAndClasses:
        """Score the rows of each fold by the estimator of the rows that the plan lets it learn.

        `ledgers` are those of the folds, where they are known (`count_folds`).
        """
        fold = np.where(plan.is_scored, plan.fold - plan.first_scored, np.int32(-1)).astype(np.int32)
        ledgers = self.count_folds(plan) if ledgers is None else ledgers
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
        """Score each row by the estimator of all other rows; InputError if that takes too many refits."""
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
        """Decide the open roles of a table's columns by a ledger of them."""
        return decide(Layout(tuple(self.columns)), ledger, self.est._options(len(self.est.classes_)))

    def _learn(self, ledger: Ledger) -> Any:
        """Return the estimator as it would be had it learned this ledger, with every role resolved by it."""
        if self.uses_document_lengths:
            ledger = ledger - ledger.empty()  # which drops the words that no document has
        new = copy.copy(self.est)
        if self.is_table:
            final, kept, _ = self._decide_roles(ledger)
            new._columns, ledger = tuple(final), ledger.choose(kept)
        new._replace_ledger(ledger)
        new._scorer = new._scorer.with_maps(calibration=None)
        return new

    def _score(self, model: Any, index: RowIndex) -> NDArray[Any]:
        """Score some of the rows by an estimator, without warnings about words or levels that it has not met."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)
            return model._score_rows(take_rows(self.rows, index), self.wanted)

    def count_folds(self, plan: FoldPlan) -> Sequence[Ledger]:
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
        """Return the ledger of each fold of rows whose `codes` are k·F + f, k being the class and f the fold."""
        fine = copy.copy(self.est)
        fine.classes_ = np.arange(len(self.est.classes_) * n_folds)
        setattr(fine, self.est._prior_name, None)  # given priors are those of the estimator's own classes
        if self.is_table:
            fine._columns = tuple(self.columns)
        counted = fine._summarise(rows, codes, weight)
        schema = Schema(tuple(np.asarray(self.est.classes_).tolist()), counted.schema.blocks)
        return split_by_fold(counted, schema, n_folds)

    def score_each(self, index: RowIndex, ledgers: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""
        models = map(self._learn, ledgers)
        return np.array([self._score(model, index[i : i + 1])[0] for i, model in enumerate(models)])

    def count_together(self, index: RowIndex) -> Ledger:
        """Return the ledger of these rows."""
        weight = None if self.weight is None else self.weight[index]
        with renumber_rows(index):
            return self._count(take_rows(self.rows, index), self.codes[index], weight)[0]
