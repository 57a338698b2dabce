"""Cross-validation by subtraction equals cross-validation by separate fits."""

import numpy as np
import pytest

from deciban.families.count_families import Poisson
from deciban.families.family import ClassPrior
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical
from deciban.generative import Assumption, GenerativeModel, summarise_rows
from deciban.metrics import Scorecard

K, FOLDS, LEVELS = 3, 5, 4
PRIOR = ClassPrior("empirical")
CATEGORY = Categorical(alpha=1.0, min_levels=(LEVELS,) * 2)
FAMILIES = {
    "number": (Gaussian(prior_rows=1.0),),
    "covariance": (Gaussian("full", prior_rows=1.0),),
    "category": (CATEGORY,),
    "count": (Poisson(alpha=1.0),),
    "mixed": (Gaussian(prior_rows=1.0), CATEGORY, Poisson(alpha=1.0)),
}


def table(families, n=200, holes=True):
    """A matrix for each family, classes, weights and folds; some cells missing, the numbers far from zero."""
    rng = np.random.default_rng(5)
    codes = rng.integers(K, size=n).astype(np.int32)
    parts = []
    for family in families:
        if isinstance(family, Gaussian):
            X = 1e4 + codes[:, None] + rng.normal(size=(n, 3))
        elif isinstance(family, Poisson):
            X = rng.poisson(1.0 + codes[:, None], size=(n, 2)).astype(float)
        else:
            X = np.minimum(rng.poisson(0.5 + codes[:, None], size=(n, 2)), LEVELS - 1).astype(float)
        if holes:
            X[rng.random(X.shape) < 0.1] = np.nan
        parts.append(X)
    return parts, codes, rng.choice([0.5, 1.0, 2.0], size=n), np.arange(n) % FOLDS


def ledger(assumption, parts, codes, weight, rows):
    names = [None] * len(parts)
    return summarise_rows(assumption, range(K), names, [X[rows] for X in parts], codes[rows], weight[rows], 1)


def without_by_fitting(assumption, parts, codes, weight, fold):
    """Return the models of separate fits to all rows but each fold."""
    return [GenerativeModel(assumption, ledger(assumption, parts, codes, weight, fold != i)) for i in range(FOLDS)]


def without_by_subtracting(assumption, parts, codes, weight, fold):
    total = ledger(assumption, parts, codes, weight, fold >= 0)
    folds = (ledger(assumption, parts, codes, weight, fold == i) for i in range(FOLDS))
    return [GenerativeModel(assumption, total.without(own)) for own in folds]


def score(model, parts, codes, weight):
    return Scorecard.of(model.scores(parts, "log_posterior", 1), codes, weight, model.ledger.rows > 0)


def evaluate(models, parts, fold, codes, weight):
    """Evaluate every row by the model without its own fold."""
    card = Scorecard.empty(K)
    for i, model in enumerate(models):
        rows = fold == i
        card += score(model, [X[rows] for X in parts], codes[rows], weight[rows])
    return card


@pytest.mark.parametrize("kind", FAMILIES)
def test_subtracting_is_fitting_without_the_fold(kind):
    assumption = Assumption(FAMILIES[kind], PRIOR)
    parts, codes, weight, fold = table(FAMILIES[kind])
    pairs = zip(
        without_by_subtracting(assumption, parts, codes, weight, fold),
        without_by_fitting(assumption, parts, codes, weight, fold),
    )
    for ours, separate in pairs:
        a, b = (model.scores(parts, "log_posterior", 1) for model in (ours, separate))
        assert a == pytest.approx(b, abs=1e-9)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_figures_are_those_of_separate_fits(kind):
    assumption = Assumption(FAMILIES[kind], PRIOR)
    parts, codes, weight, fold = table(FAMILIES[kind])
    models = without_by_subtracting(assumption, parts, codes, weight, fold)
    report = evaluate(models, parts, fold, codes, weight).report(range(K))
    log_posterior = np.empty((len(codes), K))
    for i, model in enumerate(without_by_fitting(assumption, parts, codes, weight, fold)):
        log_posterior[fold == i] = model.scores([X[fold == i] for X in parts], "log_posterior", 1)
    losses = -log_posterior[np.arange(len(codes)), codes]
    assert report.accuracy == pytest.approx(np.average(log_posterior.argmax(axis=1) == codes, weights=weight))
    assert report.log_loss == pytest.approx(np.average(losses, weights=weight), abs=1e-9)
    assert report.rows == len(codes)


def test_the_only_row_of_a_class_is_an_error_without_log_loss():
    assumption = Assumption(FAMILIES["number"], ClassPrior("smoothed"))
    parts, codes, weight, fold = table(FAMILIES["number"])
    codes = np.minimum(codes, 1).astype(np.int32)
    codes[7] = 2
    models = without_by_subtracting(assumption, parts, codes, weight, fold)
    report = evaluate(models, parts, fold, codes, weight).report(range(K))
    assert report.unknown == 1
    assert np.isfinite(report.log_loss)
    assert report.confusion.sum() == report.weight - weight[7]


def test_no_rows_to_score_are_accepted():
    assumption = Assumption(FAMILIES["mixed"], PRIOR)
    parts, codes, weight, fold = table(FAMILIES["mixed"])
    model = without_by_subtracting(assumption, parts, codes, weight, fold)[0]
    card = score(model, [X[:0] for X in parts], codes[:0], None)
    assert card.weight == 0
