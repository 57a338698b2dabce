"""`cross_validate`: every row judged by the model that has not learned its fold, from one pass over the rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, column_or_1d

from deciban._typing import Array, Codes
from deciban.engines import encode
from deciban.errors import DecibanWarning, InputError
from deciban.estimators.check_arrays import check_weight
from deciban.estimators.fold_estimators import adds, by_fold, by_kernel, crowded, is_plain, models
from deciban.estimators.fold_plan import Plan, planned, taken
from deciban.estimators.generative_base import Bayes
from deciban.estimators.leave_one_out_models import LeftOut
from deciban.estimators.refit_folds import refitted_scores
from deciban.metrics.report import Report
from deciban.metrics.scorecard import report_of
from deciban.scores.posterior import Finish
from deciban.validation.splits import Folds


class Crossed(NamedTuple):
    """What the models say of rows they have not learned; NaN, in fold −1, of rows that none of them judges."""

    scores: Array
    codes: Codes
    weight: Array | None
    fold: Folds
    known: NDArray[np.bool_]
    """n×K: the classes that the model which judged the row had rows of."""
    classes: NDArray[Any]
    words: str


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
    """How good an estimator is on rows it has not learned: exact, and from one pass over the rows.

    `folds`: a number (stratified by class), "loo" (every row alone), the fold of each row (−1: learned, never
    judged), or a scikit-learn splitter. `groups` keeps the rows of a group together; `order` judges each fold by
    what was learned from those before it. The figures are those of as many separate fits, everything solved anew in
    each; the estimator stays as it is. Other scikit-learn classifiers are refitted.

    >>> from deciban import GaussianNB, cross_validate
    >>> X, y = [[1.0], [2.0], [1.5], [8.0], [9.0], [8.5]], ["low"] * 3 + ["high"] * 3
    >>> report = cross_validate(GaussianNB(), X, y, folds=3)
    >>> report.accuracy, report.rows
    (1.0, 6)
    """
    _warn_uncalibrated(estimator)
    return _report(out_of_fold(estimator, X, y, folds, groups, order, sample_weight, "log_posterior"))


def _warn_uncalibrated(estimator: Any) -> None:
    """Say that what `calibrated` has fitted is no argument, so that no fold's model has it."""
    belief = getattr(estimator, "_scorer", None)
    if getattr(belief, "calibration", None) is not None and getattr(estimator, "calibrate", None) is None:
        warnings.warn(
            f"the calibration of this {type(estimator).__name__} was fitted to all rows; each fold is judged by a "
            f"model without any. Hint: calibration_.after is the log-loss of rows held out; "
            f"NaiveBayes(calibrate='auto') is calibrated anew in every fold",
            DecibanWarning,
            stacklevel=3,
        )


def out_of_fold_scores(
    estimator: Any, X: Any, y: Any, folds: Any = 10, sample_weight: Any = None, wanted: Finish = "log_posterior"
) -> tuple[Array, Codes, Array | None, Folds]:
    """What the models without each row say of it (n×K, or n for "density"), its class, its weight, its fold.

    Rows of weight 0 are absent: their fold is −1, and their scores are NaN.
    """
    crossed = out_of_fold(estimator, X, y, folds, None, None, sample_weight, wanted)
    return crossed.scores, crossed.codes, crossed.weight, crossed.fold


def out_of_fold(
    estimator: Any, X: Any, y: Any, folds: Any, groups: Any, order: Any, sample_weight: Any, wanted: Finish
) -> Crossed:
    """See `cross_validate`; what is wanted of each row may be any of `Finish` but the winner."""
    est = clone(estimator)
    rows, labels, weight = _checked(est, X, y, sample_weight)
    classes, codes = encode(labels)
    present = np.ones(len(codes), dtype=np.bool_) if weight is None else weight > 0
    if not present.any():
        raise InputError("sample_weight is zero in every row, so there is nothing to learn from")
    plan = planned(folds, X, codes, groups, order, present)
    words = (
        plan.words
        if adds(est)
        else f"{plan.words.removeprefix('exact')}; {_name(est)} refitted for each".lstrip(", ")
    )
    fold = np.full(len(codes), -1, dtype=np.int32)
    fold[present] = np.where(plan.judged, plan.fold, -1)
    if present.all():
        told = _told(est, rows, labels, classes, codes, weight, plan, wanted)
        return Crossed(told[0], codes, weight, fold, told[1], classes, words)
    kept = np.flatnonzero(present)
    assert weight is not None
    told = _told(est, taken(rows, kept), labels[kept], classes, codes[kept], weight[kept], plan, wanted)
    scores, known = np.full((len(codes), *told[0].shape[1:]), np.nan), np.zeros((len(codes), len(classes)), np.bool_)
    scores[kept], known[kept] = told
    return Crossed(scores, codes, weight, fold, known, classes, words)


def _checked(est: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Array | None]:
    """Rows, labels and weights, by the rules of the estimator's own `fit`."""
    if isinstance(est, Bayes):
        est._validate_params()
        rows, labels = est._check_rows(X, y, reset=True)
    else:
        rows, labels = X, column_or_1d(y)
        check_consistent_length(rows, labels)
    return rows, labels, check_weight(sample_weight, rows)


def _name(est: Any) -> str:
    return type(est).__name__


def _told(
    est: Any, rows: Any, labels: NDArray[Any], classes: NDArray[Any], codes: Codes, weight: Array | None, plan: Plan,
    wanted: Finish,
) -> tuple[Array, NDArray[np.bool_]]:  # fmt: skip
    """What is said of each row, and which classes are known to the model that says it, n×K."""
    if isinstance(est, Bayes):
        est.classes_ = classes
    if plan.alone and adds(est):
        return LeftOut(est, rows, codes, weight).scores(wanted)
    if not adds(est) or plan.rule == "given" or crowded(est, rows, plan):
        return refitted_scores(est, rows, labels, codes, weight, plan, len(classes), wanted)
    fold = np.where(plan.judged, plan.fold - plan.first, np.int32(-1)).astype(np.int32)
    facades = models(est, rows, codes, weight, plan)
    out, known = (
        by_kernel(facades, rows, fold, wanted) if is_plain(est, rows) else by_fold(facades, rows, fold, wanted)
    )
    return out, known[fold] if not known.all() else np.broadcast_to(np.bool_(True), (len(fold), len(classes)))


def _report(crossed: Crossed) -> Report:
    judged = crossed.fold >= 0
    weight = crossed.weight
    if not judged.all():  # rows that nobody judges keep their places, and weigh nothing
        weight = np.where(judged, 1.0 if weight is None else weight, 0.0)
    known = (
        None if crossed.known[:: len(crossed.known) if crossed.known.strides[0] == 0 else 1].all() else crossed.known
    )
    report = report_of(crossed.scores, crossed.codes, weight, known, crossed.classes.tolist(), crossed.words)
    return replace(report, folds=crossed.fold)
