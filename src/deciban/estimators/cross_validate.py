"""`cross_validate`: every row scored by the model that has not learned its fold, from one pass over the rows.

Estimators whose models do not follow from sums, and other scikit-learn classifiers, are refitted for each fold.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, column_or_1d, has_fit_parameter

from deciban._typing import Array, Codes
from deciban.docstrings import document
from deciban.engines import encode
from deciban.errors import InputError, renumber_rows, warn_caller
from deciban.estimators.check_arguments import check_weight, drop_weightless_rows, take_rows
from deciban.estimators.classifier_base import Classifier
from deciban.estimators.fold_estimators import FoldEstimator, FoldPlan, ScoresAndClasses, is_additive, make_fold_plan
from deciban.estimators.generative_base import GenerativeClassifier
from deciban.families.family import log
from deciban.metrics.report import Report
from deciban.metrics.scorecard import report_of
from deciban.scores.posterior import Finish
from deciban.validation.fold_models import scatter_rows, score_by_fold
from deciban.validation.splits import Folds

MAX_REFITS = 2000
"""The number of refits beyond which they are surely not intended: leave-one-out of a classifier without ledgers."""


class OutOfFoldScores(NamedTuple):
    """Scores of rows by models that have not learned them; NaN, in fold −1, of rows that no model scores."""

    scores: Array
    codes: Codes
    weight: Array | None
    fold: Folds
    known: NDArray[np.bool_]
    """n×K: the classes that the model which scored the row had rows of."""
    classes: NDArray[Any]
    words: str


@document()
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    folds: Any = 10,
    *,
    groups: Any = None,
    order: Any = None,
    sample_weight: Any = None,
) -> Report:
    """Evaluate an estimator on rows it has not learned: exact, and from one pass over the rows.

    The figures are those of as many separate fits, everything estimated again in each; the estimator stays as it is.
    Other scikit-learn classifiers are refitted.

    Parameters
    ----------
    estimator : estimator
        A classifier; it need not be fitted.
    X : array-like, sparse matrix, frame or documents
        The rows, as the estimator takes them.
    y : array-like
        The class of each row.
    folds : int, 'loo', array-like or splitter
        A number of folds, stratified by class; 'loo': every row alone; the fold of each row (−1: learned, never
        scored); or a scikit-learn splitter.
    groups : array-like or None
        The group of each row; the rows of a group are in one fold.
    order : array-like or None
        Values that order the rows: each fold is scored by the model of those before it.
    sample_weight : array-like or None
        The weight of each row.

    Returns
    -------
    Report
        The figures of all rows that were scored.

    Examples
    --------
    >>> from deciban import GaussianNB, cross_validate
    >>> X, y = [[1.0], [2.0], [1.5], [8.0], [9.0], [8.5]], ["low"] * 3 + ["high"] * 3
    >>> report = cross_validate(GaussianNB(), X, y, folds=3)
    >>> report.accuracy, report.rows
    (1.0, 6)
    """
    _warn_uncalibrated(estimator)
    found = out_of_fold(estimator, X, y, folds, groups=groups, order=order, sample_weight=sample_weight)
    is_scored, weight = found.fold >= 0, found.weight
    if not is_scored.all():  # rows that no model scores keep their places with the weight 0
        weight = np.where(is_scored, 1.0 if weight is None else weight, 0.0)
    known = None if found.known[:: len(found.known) if found.known.strides[0] == 0 else 1].all() else found.known
    report = report_of(found.scores, found.codes, weight, known, found.classes.tolist(), found.words)
    return replace(report, folds=found.fold)


def _warn_uncalibrated(estimator: Any) -> None:
    """Warn that the calibration fitted by `calibrated` is not an argument, so that no fold's model has it."""
    scorer = getattr(estimator, "_scorer", None)
    argument = getattr(estimator, "_calibration_method", lambda: None)()
    if getattr(scorer, "calibration", None) is not None and argument is None:
        warn_caller(
            f"the calibration of this {type(estimator).__name__} was fitted to all rows; each fold is scored by a "
            f"model without any. Hint: calibration_.after is the log-loss of rows held out; "
            f"NaiveBayes(calibrate='auto') is calibrated again in every fold"
        )


def out_of_fold(
    estimator: Any, X: Any, y: Any, folds: Any = 10, *, groups: Any = None, order: Any = None,
    sample_weight: Any = None, wanted: Finish = "log_posterior",
) -> OutOfFoldScores:  # fmt: skip
    """Score each row by the model without its fold; see `cross_validate`. `wanted` is any `Finish` but the winner.

    Rows of weight 0 are absent: their fold is −1, and their scores are NaN.
    """
    est = clone(estimator)
    if isinstance(est, GenerativeClassifier):  # rows are checked by the rules of its `fit`
        est._validate_params()
        rows, labels = est._check_rows(X, y, reset=True)
    else:
        rows, labels = X, column_or_1d(y)
        check_consistent_length(rows, labels)
    weight = check_weight(sample_weight, rows, some_positive=True)
    classes, codes = encode(labels)
    present = np.ones(len(codes), dtype=np.bool_) if weight is None else weight > 0
    plan = make_fold_plan(folds, X, codes, groups, order, present)
    words = plan.words
    if not is_additive(est):
        words = f"{words.removeprefix('exact')}; {type(est).__name__} refitted for each".lstrip(", ")
    fold = np.full(len(codes), -1, dtype=np.int32)
    fold[present] = np.where(plan.is_scored, plan.fold, -1)
    kept = np.flatnonzero(present)
    with renumber_rows(kept):
        scores, known = _score(est, classes, *drop_weightless_rows(rows, codes, weight), plan, wanted)
    if not present.all():
        scores, known = (scatter_rows([kept], [each], len(codes)) for each in (scores, known))
    return OutOfFoldScores(scores, codes, weight, fold, known, classes, words)


def _score(
    est: Any, classes: NDArray[Any], rows: Any, codes: Codes, weight: Array | None, plan: FoldPlan, wanted: Finish
) -> ScoresAndClasses:
    """Score each row by the model that the plan assigns to it."""
    if is_additive(est):
        est.classes_ = classes
        folds = FoldEstimator(est, rows, codes, weight, wanted)
        if plan.leave_one_out:
            return folds.leave_one_out()
        if plan.rule != "given" and not folds.exceeds_memory(plan.n_folds):
            return folds.score_folds(plan)
    return _score_by_refits(est, classes, rows, codes, weight, plan, wanted)


def _score_by_refits(
    est: Any, classes: NDArray[Any], rows: Any, codes: Codes, weight: Array | None, plan: FoldPlan, wanted: Finish
) -> ScoresAndClasses:
    """Score each fold by a copy of the estimator that is fitted to the rows that the plan lets it learn."""
    _check_refits(est, plan, weight, wanted)
    fold = np.where(plan.is_scored, plan.fold, -1)

    def fit(f: int) -> tuple[Any, NDArray[np.intp]] | None:
        """Return the fitted copy, and the classes of its rows; None where it has no row to score."""
        if not (fold == f).any():
            return None
        learned = plan.learned_rows(f)
        weights = {} if weight is None else {"sample_weight": weight[learned]}
        with renumber_rows(learned):
            fitted = clone(est).fit(take_rows(rows, learned), classes[codes[learned]], **weights)
        return fitted, np.unique(codes[learned]).astype(np.intp)

    def score(model: tuple[Any, NDArray[np.intp]], index: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
        fitted, present = model
        known = np.isin(np.arange(len(classes)), present)
        with renumber_rows(index):
            scores = _score_fitted(fitted, take_rows(rows, index), wanted)
        if scores.ndim == 2 and scores.shape[1] < len(classes):  # classes without rows are impossible
            every = np.full((len(scores), len(classes)), 0.0 if wanted == "posterior" else -np.inf)
            every[:, present] = scores
            scores = every
        return scores, np.broadcast_to(known, (len(index), len(known)))

    scores, known = score_by_fold(map(fit, range(plan.n_folds)), fold, score)
    return scores, known


def _check_refits(estimator: Any, plan: FoldPlan, weight: Array | None, wanted: Finish) -> None:
    """Raise InputError if an estimator cannot be refitted so often, with these weights, or has no such scores."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit"):
        raise InputError(f"{name} cannot be fitted. Hint: an estimator of deciban, or any scikit-learn classifier")
    if plan.n_folds > MAX_REFITS:
        raise InputError(
            f"{name} has to be refitted for each of {plan.n_folds} folds, which is more than {MAX_REFITS}. "
            f"Hint: folds=10"
        )
    if weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(f"{name} takes no weights of rows. Hint: leave sample_weight out")
    if wanted not in ("log_posterior", "posterior") and not isinstance(estimator, GenerativeClassifier):
        raise InputError(f"{name} has no {wanted} scores. Hint: log-posteriors are there for every classifier")


def _score_fitted(fitted: Any, rows: Any, wanted: Finish) -> Array:
    """Return the wanted scores of rows by a fitted classifier, which may be any of scikit-learn's."""
    if isinstance(fitted, Classifier):
        return fitted._score(rows, wanted)
    if not hasattr(fitted, "predict_proba"):
        raise InputError(
            f"{type(fitted).__name__} has no predict_proba, and the report is about probabilities. "
            f"Hint: sklearn.calibration.CalibratedClassifierCV gives it some"
        )
    if wanted == "posterior":
        return np.asarray(fitted.predict_proba(rows))
    if hasattr(fitted, "predict_log_proba"):
        return np.asarray(fitted.predict_log_proba(rows))
    return log(fitted.predict_proba(rows))
