"""deciban: classify by weighing evidence. Naive Bayes, Gaussian Bayes and their kin.

Letters, as in the lectures, everywhere in this package: k, l classes, K how many; j a feature, d how many;
v a level or word, V how many; n a count or weight, w a row's weight; π a class prior, θ a probability,
μ a mean, σ² a variance, Σ a covariance; x a row, z a row of word counts; α a pseudo-count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban.lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from deciban.estimators.bernoulli_nb import BernoulliNB
    from deciban.estimators.boosted_bayes import BoostedBayes
    from deciban.estimators.categorical_nb import CategoricalNB
    from deciban.estimators.complement_nb import ComplementNB
    from deciban.estimators.crossed import cross_validate
    from deciban.estimators.evidence_regression import EvidenceRegression
    from deciban.estimators.gaussian_bayes import GaussianBayes
    from deciban.estimators.gaussian_nb import GaussianNB
    from deciban.estimators.joint_bayes import JointBayes
    from deciban.estimators.logistic_regression import LogisticRegression
    from deciban.estimators.multinomial_nb import MultinomialNB
    from deciban.estimators.naive_bayes import NaiveBayes
    from deciban.estimators.poisson_nb import PoissonNB
    from deciban.estimators.text_classifier import TextClassifier
    from deciban.families.parameters import ParameterCount, parameter_count
    from deciban.judge.bayes import BayesTable
    from deciban.judge.choice import Choice
    from deciban.judge.comparison import Comparison
    from deciban.judge.dependence import Dependence
    from deciban.judge.learning import LearningCurve
    from deciban.judge.report import Report
    from deciban.ledger import Ledger
    from deciban.mail.filter import MailFilter
    from deciban.model.model import Model
    from deciban.opening import load
    from deciban.scores import Explanation
    from deciban.scores.decision import Decision
    from deciban.text import Words
    from deciban.training.choose import choose
    from deciban.training.compare import compare
    from deciban.training.curves import learning_curve
    from deciban.training.dependence import dependence
    from deciban.training.fit import train
    from deciban.training.judged import evaluate

_HOMES = {
    "BernoulliNB": "deciban.estimators.bernoulli_nb",
    "BoostedBayes": "deciban.estimators.boosted_bayes",
    "CategoricalNB": "deciban.estimators.categorical_nb",
    "ComplementNB": "deciban.estimators.complement_nb",
    "EvidenceRegression": "deciban.estimators.evidence_regression",
    "GaussianBayes": "deciban.estimators.gaussian_bayes",
    "GaussianNB": "deciban.estimators.gaussian_nb",
    "JointBayes": "deciban.estimators.joint_bayes",
    "LogisticRegression": "deciban.estimators.logistic_regression",
    "MailFilter": "deciban.mail.filter",
    "MultinomialNB": "deciban.estimators.multinomial_nb",
    "NaiveBayes": "deciban.estimators.naive_bayes",
    "PoissonNB": "deciban.estimators.poisson_nb",
    "TextClassifier": "deciban.estimators.text_classifier",
    "Words": "deciban.text",
    "BayesTable": "deciban.judge.bayes",
    "Choice": "deciban.judge.choice",
    "Comparison": "deciban.judge.comparison",
    "Ledger": "deciban.ledger",
    "LearningCurve": "deciban.judge.learning",
    "Model": "deciban.model.model",
    "Report": "deciban.judge.report",
    "choose": "deciban.training.choose",
    "compare": "deciban.training.compare",
    "Dependence": "deciban.judge.dependence",
    "cross_validate": "deciban.estimators.crossed",
    "dependence": "deciban.training.dependence",
    "evaluate": "deciban.training.judged",
    "learning_curve": "deciban.training.curves",
    "train": "deciban.training.fit",
    "Decision": "deciban.scores.decision",
    "Explanation": "deciban.scores",
    "ParameterCount": "deciban.families.parameters",
    "parameter_count": "deciban.families.parameters",
    "load": "deciban.opening",
}

__all__ = [
    "BayesTable",
    "BernoulliNB",
    "BoostedBayes",
    "CategoricalNB",
    "Choice",
    "Comparison",
    "ComplementNB",
    "Decision",
    "Dependence",
    "EvidenceRegression",
    "Explanation",
    "GaussianBayes",
    "GaussianNB",
    "JointBayes",
    "LearningCurve",
    "Ledger",
    "LogisticRegression",
    "MailFilter",
    "Model",
    "MultinomialNB",
    "NaiveBayes",
    "ParameterCount",
    "PoissonNB",
    "Report",
    "TextClassifier",
    "Words",
    "__version__",
    "choose",
    "compare",
    "cross_validate",
    "dependence",
    "evaluate",
    "learning_curve",
    "load",
    "parameter_count",
    "train",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
