"""Cross-validation by plain refits, for what has no ledgers to add: any scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from deciban._typing import Array, Codes
from deciban.errors import InputError
from deciban.estimators.fold_plan import BY_CLASS, Plan, taken
from deciban.scores.posterior import Finish

MOST_REFITS = 2000
"""Refits beyond this are surely not meant: leave-one-out of a classifier that has to be fitted anew for each row."""


def refitted_scores(
    estimator: Any, rows: Any, y: NDArray[Any], codes: Codes, weight: Array | None, plan: Plan, K: int, wanted: Finish
) -> tuple[Array, NDArray[np.bool_]]:
    """What a copy of the estimator, fitted to the rows that each fold's model learns from, says of the fold.

    Also which classes that copy had rows of, n×K.
    """
    _refuse(estimator, plan, weight, wanted)
    out = np.full((len(codes), K) if wanted in BY_CLASS else len(codes), np.nan)
    known = np.zeros((len(codes), K), dtype=np.bool_)
    for f in range(plan.n_folds):
        learned, test = plan.learned(f), np.flatnonzero(plan.judged & (plan.fold == f))
        if not len(test):
            continue
        weights = {} if weight is None else {"sample_weight": weight[learned]}
        fitted = clone(estimator).fit(taken(rows, learned), y[learned], **weights)
        present = np.unique(codes[learned]).astype(np.intp)
        known[np.ix_(test, present)] = True
        out[test] = _spread(_asked(fitted, taken(rows, test), wanted), present, K)
    return out, known


def _refuse(estimator: Any, plan: Plan, weight: Array | None, wanted: Finish) -> None:
    name = type(estimator).__name__
    if not hasattr(estimator, "fit"):
        raise InputError(f"{name} cannot be fitted. Hint: a facade of deciban, or any scikit-learn classifier")
    if plan.n_folds > MOST_REFITS:
        raise InputError(
            f"{name} has to be fitted anew for each of {plan.n_folds} folds, which is more than {MOST_REFITS}. "
            f"Hint: folds=10"
        )
    if weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(f"{name} takes no weights of rows. Hint: leave sample_weight out")
    if wanted not in ("log_posterior", "posterior") and not hasattr(estimator, "predict_joint_log_proba"):
        raise InputError(f"{name} has no {wanted} scores. Hint: log-posteriors are there for every classifier")


def _asked(fitted: Any, rows: Any, wanted: Finish) -> Array:
    if wanted == "joint":
        return np.asarray(fitted.predict_joint_log_proba(rows))
    if wanted == "density":
        return np.asarray(fitted.score_samples(rows))
    if wanted == "typicality":
        return np.asarray(fitted._score(rows, wanted))
    if not hasattr(fitted, "predict_proba"):
        raise InputError(
            f"{type(fitted).__name__} states no probabilities, which the report is about. "
            f"Hint: sklearn.calibration.CalibratedClassifierCV gives it some"
        )
    if wanted == "posterior":
        return np.asarray(fitted.predict_proba(rows))
    if hasattr(fitted, "predict_log_proba"):
        return np.asarray(fitted.predict_log_proba(rows))
    with np.errstate(divide="ignore"):
        return np.log(fitted.predict_proba(rows))


def _spread(scores: Array, present: NDArray[np.intp], K: int) -> Array:
    """Scores of the classes that were there, among all; a class that was not has none."""
    if scores.ndim == 1 or scores.shape[1] == K:
        return scores
    out = np.full((len(scores), K), -np.inf)
    out[:, present] = scores
    return out
