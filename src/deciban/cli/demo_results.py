"""What the demo shows, computed: held-out results, one prediction explained, exact forgetting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import datasets, naive_bayes
from sklearn.model_selection import train_test_split

import deciban
from deciban.scores import DECIBAN, Explanation

SEED = 0
HELD_OUT = 0.3


@dataclass(frozen=True)
class Result:
    """How one model did on the held-out rows."""

    model: str
    accuracy: float
    wrong: int
    log_loss: float


@dataclass(frozen=True)
class Reason:
    """One held-out prediction, taken apart."""

    truth: str
    winner: str
    runner_up: str
    probability: float
    total: float
    added_up: float
    evidence: list[tuple[str, float]]
    text: str


@dataclass(frozen=True)
class Lesson:
    """Results of some models on the same split, and perhaps the reason for one answer."""

    learned: int
    held_out: int
    results: list[Result]
    reason: Reason | None = None


@dataclass(frozen=True)
class Forgetting:
    """A model that forgot some rows beside one that never saw them."""

    model: str
    learned: int
    forgotten: int
    same_ledger: bool
    largest_difference: float


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows held out."""

    X: Any
    y: Any
    X_held: Any
    y_held: Any

    def judge(self, name: str, model: Any) -> Result:
        """Fit on the one part, count on the other."""
        log_proba = model.fit(self.X, self.y).predict_log_proba(self.X_held)
        right = model.classes_[log_proba.argmax(axis=1)] == self.y_held
        truth = log_proba[np.arange(len(right)), np.searchsorted(model.classes_, self.y_held)]
        return Result(name, float(right.mean()), int((~right).sum()), float(-truth.mean()))


def cancer() -> tuple[Split, list[str]]:
    """569 tumours with 30 measurements each, benign or malignant; and the measurements' names."""
    data = datasets.load_breast_cancer()
    return _split(data.data, data.target_names[data.target]), list(data.feature_names)


def _split(X: Any, y: Any) -> Split:
    X, X_held, y, y_held = train_test_split(X, y, test_size=HELD_OUT, stratify=y, random_state=SEED)
    return Split(X, y, X_held, y_held)


def diagnosis() -> Lesson:
    """Benign or malignant: scikit-learn's naive Bayes, ours, and one that knows the features are correlated."""
    split, names = cancer()
    naive = deciban.GaussianNB()
    results = [
        split.judge("scikit-learn GaussianNB", naive_bayes.GaussianNB()),
        split.judge("deciban GaussianNB", naive),
        split.judge('deciban GaussianBayes(covariance="tied")', deciban.GaussianBayes(covariance="tied")),
    ]
    return Lesson(len(split.y), len(split.y_held), results, closest_call(naive, split, names))


def closest_call(model: Any, split: Split, names: list[str]) -> Reason:
    """The held-out row on which the model was least sure."""
    i = int(np.abs(model.explain(split.X_held).total).argmin())
    told: Explanation = replace(model.explain(split.X_held[i : i + 1]), features=names)
    return Reason(
        truth=str(split.y_held[i]),
        winner=str(told.winner[0]),
        runner_up=str(told.runner_up[0]),
        probability=float(1 / (1 + np.exp(-told.total[0] / DECIBAN))),
        total=float(told.total[0]),
        added_up=float(sum(value for _, value in told.entries())),
        evidence=told.entries(),
        text=told.text(most=8),
    )


def handwriting() -> Split:
    """1797 digits written by hand, 8×8 pixels of 17 greys."""
    data = datasets.load_digits()
    return _split(data.data, data.target)


def digits() -> Lesson:
    """Which digit: from pixels that are dark or not, and from their greys with a covariance for each digit."""
    split = handwriting()
    results = [
        split.judge("deciban BernoulliNB(binarize=7)", deciban.BernoulliNB(binarize=7)),
        split.judge('deciban GaussianBayes(shrinkage="oas")', deciban.GaussianBayes(shrinkage="oas")),
    ]
    return Lesson(len(split.y), len(split.y_held), results)


def forgetting() -> list[Forgetting]:
    """Learn everything, forget the held-out part, compare with never having seen it."""
    return [
        unlearned("BernoulliNB on digits", deciban.BernoulliNB(binarize=7), handwriting()),
        unlearned("GaussianNB on tumours", deciban.GaussianNB(var_smoothing=0), cancer()[0]),
    ]


def unlearned(name: str, model: Any, split: Split) -> Forgetting:
    """Compare the ledgers, and the posteriors of the rows forgotten."""
    never = model.fit(split.X, split.y)
    ledger, posterior = never.ledger_, never.predict_proba(split.X_held)
    everything = np.concatenate([split.X, split.X_held]), np.concatenate([split.y, split.y_held])
    after = model.fit(*everything).forget(split.X_held, split.y_held)
    difference = float(np.abs(after.predict_proba(split.X_held) - posterior).max())
    return Forgetting(name, len(everything[1]), len(split.y_held), after.ledger_ == ledger, difference)
