"""scikit-learn's conformance checks, for every estimator and every covariance."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import deciban
from tests.estimators.examples import COVARIANCES

ESTIMATORS = [
    deciban.BernoulliNB(),
    deciban.MultinomialNB(),
    deciban.ComplementNB(),
    deciban.CategoricalNB(),
    deciban.GaussianNB(),
    deciban.PoissonNB(),
    *(deciban.GaussianBayes(covariance=covariance) for covariance in COVARIANCES),
    deciban.JointBayes(),
    deciban.LogisticRegression(),
    deciban.LogisticRegression(start="bayes", missing="error"),
    deciban.LogisticRegression(l1_ratio=0.5),
]


@parametrize_with_checks(ESTIMATORS)
def test_the_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
