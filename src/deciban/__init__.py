"""deciban: classify by weighing evidence. Naive Bayes, Gaussian Bayes and related models.

Letters, as in the lectures, everywhere in this package: k, l classes, K their number; j a feature, d their number;
v a level or word, V their number; n a count or weight, w a row's weight; π a class prior, θ a probability,
μ a mean, σ² a variance, Σ a covariance; x a row, z a row of word counts; α a pseudo-count.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deciban._lazy import HOMES

__version__ = "0.1.0"

if TYPE_CHECKING:
    from deciban.estimators.boosted_bayes import BoostedBayes as BoostedBayes
    from deciban.estimators.cross_validate import cross_validate as cross_validate
    from deciban.estimators.discrete_estimators import BernoulliNB as BernoulliNB
    from deciban.estimators.discrete_estimators import CategoricalNB as CategoricalNB
    from deciban.estimators.discrete_estimators import ComplementNB as ComplementNB
    from deciban.estimators.discrete_estimators import JointBayes as JointBayes
    from deciban.estimators.discrete_estimators import MultinomialNB as MultinomialNB
    from deciban.estimators.discrete_estimators import PoissonNB as PoissonNB
    from deciban.estimators.evidence_regression import EvidenceRegression as EvidenceRegression
    from deciban.estimators.gaussian_estimators import GaussianBayes as GaussianBayes
    from deciban.estimators.gaussian_estimators import GaussianNB as GaussianNB
    from deciban.estimators.logistic_regression import LogisticRegression as LogisticRegression
    from deciban.estimators.naive_bayes import NaiveBayes as NaiveBayes
    from deciban.estimators.text_classifier import TextClassifier as TextClassifier
    from deciban.export import export_model as export_model
    from deciban.families.family import ParameterCount as ParameterCount
    from deciban.families.family import parameter_count as parameter_count
    from deciban.ledger import Ledger as Ledger
    from deciban.mail.filter import MailFilter as MailFilter
    from deciban.metrics.bayes_table import BayesTable as BayesTable
    from deciban.metrics.choice import Choice as Choice
    from deciban.metrics.comparison import Comparison as Comparison
    from deciban.metrics.dependence import Dependence as Dependence
    from deciban.metrics.learning_curves import LearningCurve as LearningCurve
    from deciban.metrics.report import Report as Report
    from deciban.model.model import Model as Model
    from deciban.persistence import load as load
    from deciban.scores import Explanation as Explanation
    from deciban.scores.posterior import Decision as Decision
    from deciban.text import Words as Words
    from deciban.training.choose import choose as choose
    from deciban.training.compare import compare as compare
    from deciban.training.evaluate import evaluate as evaluate
    from deciban.training.table_diagnostics import dependence as dependence
    from deciban.training.table_diagnostics import learning_curve as learning_curve
    from deciban.training.train import train as train

__all__ = [*HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
