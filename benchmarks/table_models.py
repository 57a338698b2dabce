"""The models compared on mixed tables: deciban, and pipelines of scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import deciban

Labels = NDArray[np.str_]
Scores = tuple[Labels, NDArray[np.float64]]
"""The classes of a model, and ln p(k|x) of every row in their order."""
Predict = Callable[[pd.DataFrame], Scores]
Learn = Callable[[pd.DataFrame, str], Predict]
"""A function that fits rows with their target column and returns a function that classifies rows."""


def number_columns(frame: Any) -> list[str]:
    """Return the columns of numbers, as pandas reads the file."""
    return [str(name) for name in frame.select_dtypes("number").columns]


def text_columns(frame: Any) -> list[str]:
    """Return the columns that are not numbers."""
    return [str(name) for name in frame.columns if name not in set(number_columns(frame))]


class MixedNaiveBayes:
    """GaussianNB on the numbers and CategoricalNB on the rest, their joint log-probabilities added.

    With `impute`, missing cells become the mean or the most frequent level of the training rows, and a level that is
    unseen in training takes code 0, which CategoricalNB smooths like any other.
    """

    def __init__(self, numbers: list[str], categories: list[str], impute: bool = True) -> None:
        self.numbers, self.categories, self.impute = numbers, categories, impute
        self.encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        if not impute:
            self.encoder = OrdinalEncoder()

    def _split(self, encoded: Any) -> tuple[Any, Any]:
        split = len(self.numbers)
        return encoded[:, :split], encoded[:, split:] + (1 if self.impute else 0)

    def fit(self, frame: Any, y: Any) -> "MixedNaiveBayes":
        """Fit the encoders, then both models."""
        numbers: Any = SimpleImputer(keep_empty_features=True) if self.impute else "passthrough"
        categories = make_pipeline(make_text_imputer(), self.encoder) if self.impute else self.encoder
        self.columns = ColumnTransformer([("n", numbers, self.numbers), ("c", categories, self.categories)])
        X, Z = self._split(self.columns.fit_transform(frame))
        self.models: list[Any] = []
        if self.numbers:
            self.models.append(GaussianNB().fit(X, y))
        if self.categories:
            levels = (Z.max(axis=0) + 1).astype(int)
            self.models.append(CategoricalNB(min_categories=levels).fit(Z, y))
        self.classes_ = self.models[0].classes_
        self.log_prior = np.log(np.unique(np.asarray(y), return_counts=True)[1] / len(y))
        return self

    def predict_joint_log_proba(self, frame: Any) -> NDArray[np.float64]:
        """Return ln p(x, k); the prior is part of both models and is counted once."""
        X, Z = self._split(self.columns.transform(frame))
        parts = [X] * bool(self.numbers) + [Z] * bool(self.categories)
        joint = sum(model.predict_joint_log_proba(part) for model, part in zip(self.models, parts))
        return np.asarray(joint - (len(self.models) - 1) * self.log_prior)

    def predict_log_proba(self, frame: Any) -> NDArray[np.float64]:
        """Return ln p(k|x)."""
        joint = self.predict_joint_log_proba(frame)
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict(self, frame: Any) -> NDArray[Any]:
        """Return the most probable class."""
        return np.asarray(self.classes_[self.predict_joint_log_proba(frame).argmax(axis=1)])


def make_text_imputer() -> SimpleImputer:
    """Return an imputer that replaces missing text by the most frequent level."""
    return SimpleImputer(strategy="most_frequent", missing_values=np.nan, keep_empty_features=True)


def make_logistic(numbers: list[str], categories: list[str]) -> Pipeline:
    """Return logistic regression of scaled numbers and one column per level."""
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
            ("c", make_pipeline(make_text_imputer(), OneHotEncoder(handle_unknown="ignore")), categories),
        ]
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


def make_boosted_trees(numbers: list[str], categories: list[str]) -> Pipeline:
    """Return boosted trees, which handle categories and missing cells."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = ColumnTransformer([("n", "passthrough", numbers), ("c", encoder, categories)])
    kinds = [False] * len(numbers) + [True] * len(categories)
    return make_pipeline(columns, HistGradientBoostingClassifier(categorical_features=kinds, random_state=0))


def make_peer_learner(build: Callable[[list[str], list[str]], Any]) -> Learn:
    """Return a function that fits a scikit-learn estimator."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        X = convert_text_to_objects(train.drop(columns=target))
        model = build(number_columns(X), text_columns(X)).fit(X, train[target].to_numpy(dtype=object))
        return lambda test: (
            as_labels(model.classes_),
            log_posterior(model, convert_text_to_objects(test.drop(columns=target))),
        )

    return learn


def make_our_learner(**options: Any) -> Learn:
    """Return a function that calls `deciban.train` with these options."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        return make_predict(deciban.train(train, target=target, **options), target)

    return learn


def make_predict(model: deciban.Model, target: str) -> Predict:
    """Return a function that scores rows with a table model."""

    def predict(test: pd.DataFrame) -> Scores:
        scores = model.predict_log_proba(test.drop(columns=target))
        return as_labels(scores.columns), scores.to_numpy()

    return predict


def as_labels(labels: Any) -> Labels:
    """Return class names as text, as in the target of every table."""
    return np.array([str(label) for label in labels])


def convert_text_to_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return text as objects with NaN for missing values, as SimpleImputer and the encoders expect."""
    text = text_columns(frame)
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), np.nan) for name in text})


def log_posterior(model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    """Return ln p(k|x), in log space where the model supports it (small probabilities would otherwise be 0)."""
    if hasattr(model, "predict_log_proba"):
        return np.asarray(model.predict_log_proba(X))
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


CANDIDATES: dict[str, Learn] = {
    "deciban": make_our_learner(),
    "deciban, number": make_our_learner(numbers="number"),
    "deciban, binned": make_our_learner(numbers="binned"),
    "Gaussian + CategoricalNB": make_peer_learner(MixedNaiveBayes),
    "logistic regression": make_peer_learner(make_logistic),
    "boosted trees": make_peer_learner(make_boosted_trees),
}
