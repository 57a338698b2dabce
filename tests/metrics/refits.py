"""Brute-force cross-validation, which the exact one must equal: fit the other rows, score these."""

import warnings

import numpy as np
from sklearn.base import clone

from deciban.estimators.cross_validate import out_of_fold


def some(X, index):
    """Return some of the rows of an array or a frame."""
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def refit(estimator, X, y, fold, weight=None, ask="predict_log_proba", declared=False, rows=slice(None)):
    """Score the rows of each fold of `rows` by a copy of the estimator fitted to all rows but those of the fold."""
    classes, out = np.unique(y), None
    for f in np.unique(fold[rows]):
        rest, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        w = None if weight is None else weight[rest]
        model = clone(estimator)
        if declared:
            model.partial_fit(some(X, rest), y[rest], classes, w)
        else:
            model.fit(some(X, rest), y[rest], w)
        result = getattr(model, ask)(some(X, test))
        if out is None:
            out = np.full((len(y), *((len(classes),) if result.ndim == 2 else ())), -np.inf)
        if result.ndim == 2:
            out[np.ix_(test, np.searchsorted(classes, model.classes_))] = result
        else:
            out[test] = result
    return out


ASKED = {"log_posterior": "predict_log_proba", "joint": "predict_joint_log_proba", "density": "score_samples"}


def sample_row_numbers(n):
    """Return the first dozen rows, among which are all that a test changes, and every fourth of the others."""
    return np.flatnonzero((np.arange(n) < 12) | (np.arange(n) % 4 == 0))


def assert_as_refitted(estimator, X, y, folds, weight=None, wanted="log_posterior", declared=False, rows=None):
    """Assert that scores equal those of refits to 1e-9, relative for scores larger than one.

    Of rows that are each left out alone, only some are refitted unless `rows` is given: a fit each takes time.
    """
    if rows is None:
        rows = sample_row_numbers(len(y)) if isinstance(folds, str) else slice(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = out_of_fold(estimator, X, y, folds, sample_weight=weight, wanted=wanted)
        expected = refit(estimator, X, y, found.fold, weight, ASKED[wanted], declared, rows)
    assert np.array_equal(np.unique(y)[found.codes], y)
    np.testing.assert_allclose(found.scores[rows], expected[rows], rtol=1e-9, atol=1e-9)
