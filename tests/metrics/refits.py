"""The brute force that cross-validation must equal: fit the other rows, ask about these."""

import warnings

import numpy as np
from sklearn.base import clone

from deciban.estimators.cross_validate import out_of_fold_scores


def some(X, index):
    """Some of the rows, of whatever kind they are."""
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def refitted(estimator, X, y, fold, weight=None, ask="predict_log_proba", declared=False, rows=slice(None)):
    """What a copy of the estimator, fitted to all rows but those of a fold, says of these; in all folds of `rows`."""
    classes, out = np.unique(y), None
    for f in np.unique(fold[rows]):
        rest, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        w = None if weight is None else weight[rest]
        model = clone(estimator)
        if declared:
            model.partial_fit(some(X, rest), y[rest], classes, w)
        else:
            model.fit(some(X, rest), y[rest], w)
        told = getattr(model, ask)(some(X, test))
        if out is None:
            out = np.full((len(y), *((len(classes),) if told.ndim == 2 else ())), -np.inf)
        if told.ndim == 2:
            out[np.ix_(test, np.searchsorted(classes, model.classes_))] = told
        else:
            out[test] = told
    return out


ASKED = {"log_posterior": "predict_log_proba", "joint": "predict_joint_log_proba", "density": "score_samples"}


def sample_row_numbers(n):
    """The first dozen rows, among which are all that are made odd by a test, and every fourth of the others."""
    return np.flatnonzero((np.arange(n) < 12) | (np.arange(n) % 4 == 0))


def assert_as_refitted(estimator, X, y, folds, weight=None, wanted="log_posterior", declared=False, rows=None):
    """To 1e-9, or to that part of a score that is larger than one.

    Of rows that are each left out alone, some are refitted unless it is said which: a fit each takes time.
    """
    if rows is None:
        rows = sample_row_numbers(len(y)) if isinstance(folds, str) else slice(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores, codes, _, fold = out_of_fold_scores(estimator, X, y, folds, weight, wanted)
        expected = refitted(estimator, X, y, fold, weight, ASKED[wanted], declared, rows)
    assert np.array_equal(np.unique(y)[codes], y)
    np.testing.assert_allclose(scores[rows], expected[rows], rtol=1e-9, atol=1e-9)
