"""Names and modules that are imported when they are first used, so that `import deciban` and commands are fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["HOMES", "LazyModule", "duckdb", "pa", "pc"]

HOMES = {
    "BernoulliNB": "deciban.estimators.discrete_estimators",
    "BoostedBayes": "deciban.estimators.boosted_bayes",
    "CategoricalNB": "deciban.estimators.discrete_estimators",
    "ComplementNB": "deciban.estimators.discrete_estimators",
    "EvidenceRegression": "deciban.estimators.evidence_regression",
    "GaussianBayes": "deciban.estimators.gaussian_estimators",
    "GaussianNB": "deciban.estimators.gaussian_estimators",
    "JointBayes": "deciban.estimators.discrete_estimators",
    "LogisticRegression": "deciban.estimators.logistic_regression",
    "MailFilter": "deciban.mail.filter",
    "MultinomialNB": "deciban.estimators.discrete_estimators",
    "NaiveBayes": "deciban.estimators.naive_bayes",
    "PoissonNB": "deciban.estimators.discrete_estimators",
    "TextClassifier": "deciban.estimators.text_classifier",
    "Words": "deciban.text",
    "BayesTable": "deciban.metrics.bayes_table",
    "Choice": "deciban.metrics.choice",
    "Comparison": "deciban.metrics.comparison",
    "Ledger": "deciban.ledger",
    "LearningCurve": "deciban.metrics.learning_curves",
    "Model": "deciban.model.model",
    "Report": "deciban.metrics.report",
    "choose": "deciban.training.choose",
    "compare": "deciban.training.compare",
    "Dependence": "deciban.metrics.dependence",
    "cross_validate": "deciban.estimators.cross_validate",
    "dependence": "deciban.training.table_diagnostics",
    "evaluate": "deciban.training.evaluate",
    "export_model": "deciban.export",
    "learning_curve": "deciban.training.table_diagnostics",
    "train": "deciban.training.train",
    "Decision": "deciban.scores.posterior",
    "Explanation": "deciban.scores",
    "ParameterCount": "deciban.families.family",
    "parameter_count": "deciban.families.family",
    "load": "deciban.persistence",
}
"""The public names of deciban, and the module that defines each."""


class LazyModule:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # found without this function from now on
        return value


if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    duckdb, pa, pc = map(LazyModule, ("duckdb", "pyarrow", "pyarrow.compute"))
