"""The scikit-learn facades: familiar names and arguments over one shared base."""

from deciban.estimators.bernoulli_nb import BernoulliNB
from deciban.estimators.categorical_nb import CategoricalNB
from deciban.estimators.complement_nb import ComplementNB
from deciban.estimators.gaussian_bayes import GaussianBayes
from deciban.estimators.gaussian_nb import GaussianNB
from deciban.estimators.joint_bayes import JointBayes
from deciban.estimators.multinomial_nb import MultinomialNB
from deciban.estimators.poisson_nb import PoissonNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianBayes",
    "GaussianNB",
    "JointBayes",
    "MultinomialNB",
    "PoissonNB",
]
