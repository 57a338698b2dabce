"""Who is compared on mixed tables: deciban, and what people build from scikit-learn's parts."""

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
"""The classes a model knows, and ln p(k|x) of every row in their order."""
Predict = Callable[[pd.DataFrame], Scores]
Learn = Callable[[pd.DataFrame, str], Predict]
"""From rows with their target column to something that classifies rows."""


def numeric(frame: Any) -> list[str]:
    """The columns of numbers, as pandas reads the file."""
    return [str(name) for name in frame.select_dtypes("number").columns]


def textual(frame: Any) -> list[str]:
    """The other columns."""
    return [str(name) for name in frame.columns if name not in set(numeric(frame))]


class MixedNaiveBayes:
    """GaussianNB on the numbers and CategoricalNB on the rest, their joint log-probabilities added.

    With `impute`, missing cells become the training rows' mean or commonest level, and a level never seen in
    training takes code 0, which CategoricalNB has then smoothed like any other.
    """

    def __init__(self, numbers: list[str], categories: list[str], impute: bool = True) -> None:
        self.numbers, self.categories, self.impute = numbers, categories, impute
        self.encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        if not impute:
            self.encoder = OrdinalEncoder()

    def _parts(self, encoded: Any) -> tuple[Any, Any]:
        split = len(self.numbers)
        return encoded[:, :split], encoded[:, split:] + (1 if self.impute else 0)

    def fit(self, frame: Any, y: Any) -> "MixedNaiveBayes":
        """Fit the encoders, then both models."""
        numbers: Any = SimpleImputer(keep_empty_features=True) if self.impute else "passthrough"
        categories = make_pipeline(filled(), self.encoder) if self.impute else self.encoder
        self.columns = ColumnTransformer([("n", numbers, self.numbers), ("c", categories, self.categories)])
        X, Z = self._parts(self.columns.fit_transform(frame))
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
        """ln p(x, k): the prior is in each model's, and is counted once."""
        X, Z = self._parts(self.columns.transform(frame))
        parts = [X] * bool(self.numbers) + [Z] * bool(self.categories)
        joint = sum(model.predict_joint_log_proba(part) for model, part in zip(self.models, parts))
        return np.asarray(joint - (len(self.models) - 1) * self.log_prior)

    def predict_log_proba(self, frame: Any) -> NDArray[np.float64]:
        """ln p(k|x)."""
        joint = self.predict_joint_log_proba(frame)
        return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)

    def predict(self, frame: Any) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_joint_log_proba(frame).argmax(axis=1)])


def filled() -> SimpleImputer:
    """Missing text becomes the commonest level."""
    return SimpleImputer(strategy="most_frequent", missing_values=np.nan, keep_empty_features=True)


def logistic(numbers: list[str], categories: list[str]) -> Pipeline:
    """Scaled numbers and one column a level, under logistic regression."""
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
            ("c", make_pipeline(filled(), OneHotEncoder(handle_unknown="ignore")), categories),
        ]
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


def boosted(numbers: list[str], categories: list[str]) -> Pipeline:
    """Boosted trees, which deal with categories and missing cells themselves."""
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    columns = ColumnTransformer([("n", "passthrough", numbers), ("c", encoder, categories)])
    kinds = [False] * len(numbers) + [True] * len(categories)
    return make_pipeline(columns, HistGradientBoostingClassifier(categorical_features=kinds, random_state=0))


def peer(build: Callable[[list[str], list[str]], Any]) -> Learn:
    """A model of scikit-learn's grammar as a contestant."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        X = objects(train.drop(columns=target))
        model = build(numeric(X), textual(X)).fit(X, train[target].to_numpy(dtype=object))
        return lambda test: (as_labels(model.classes_), log_posterior(model, objects(test.drop(columns=target))))

    return learn


def ours(**options: Any) -> Learn:
    """`deciban.train` with these options as a contestant."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        return predicting(deciban.train(train, target=target, **options), target)

    return learn


def predicting(model: deciban.Model, target: str) -> Predict:
    """What a table model says of rows."""

    def predict(test: pd.DataFrame) -> Scores:
        scores = model.predict_log_proba(test.drop(columns=target))
        return as_labels(scores.columns), scores.to_numpy()

    return predict


def as_labels(labels: Any) -> Labels:
    """Class names as text: every table's target is."""
    return np.array([str(label) for label in labels])


def objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as plain objects with NaN for missing, which SimpleImputer and the encoders understand."""
    text = textual(frame)
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), np.nan) for name in text})


def log_posterior(model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    """ln p(k|x), by logarithms all the way where the model has them (small probabilities would be 0 else)."""
    if hasattr(model, "predict_log_proba"):
        return np.asarray(model.predict_log_proba(X))
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


CONTESTANTS: dict[str, Learn] = {
    "deciban": ours(),
    "deciban, number": ours(numbers="number"),
    "deciban, binned": ours(numbers="binned"),
    "Gaussian + CategoricalNB": peer(MixedNaiveBayes),
    "logistic regression": peer(logistic),
    "boosted trees": peer(boosted),
}
OURS = tuple(name for name in CONTESTANTS if name.startswith("deciban"))
