"""The results of the demo: quality on held-out rows, one prediction explained, exact forgetting, and a picture."""

from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np
from sklearn import datasets, naive_bayes
from sklearn.model_selection import train_test_split

import deciban
from deciban.scores import DECIBAN, Explanation

SEED = 0
TEST_SHARE = 0.3

PICTURE_COLUMNS = [0, 2]
"""Sepal length and petal length: they have the same scale, so that right angles look right."""

COVARIANCE_PANELS = [
    ("tied", 'One covariance for both ("tied"): a line'),
    ("identity", 'Distances alone ("identity"): the bisector'),
    ("full", 'A covariance each ("full"): a conic'),
]


@dataclass(frozen=True)
class ModelQuality:
    """The quality of one model on the held-out rows."""

    model: str
    accuracy: float
    wrong: int
    log_loss: float


@dataclass(frozen=True)
class ExplainedPrediction:
    """A held-out prediction and its evidence in decibans; `added_up` is the sum of `evidence`, and equals `total`."""

    truth: str
    winner: str
    runner_up: str
    probability: float
    total: float
    added_up: float
    evidence: list[tuple[str, float]]
    text: str


@dataclass(frozen=True)
class SplitResults:
    """The results of several models on the same split, and the evidence for one prediction."""

    learned: int
    held_out: int
    results: list[ModelQuality]
    reason: ExplainedPrediction | None = None


@dataclass(frozen=True)
class Forgetting:
    """A comparison of a model that forgot some rows with one that never learned them."""

    model: str
    learned: int
    forgotten: int
    same_ledger: bool
    largest_difference: float


def split_rows(X: Any, y: Any) -> list[Any]:
    """Return training rows, held-out rows, the classes of the former, and those of the latter."""
    parts: list[Any] = train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=SEED)
    return parts


def split_tumours() -> list[Any]:
    """Return the split of 569 tumours with 30 measurements each, benign or malignant."""
    data = datasets.load_breast_cancer()
    return split_rows(data.data, data.target_names[data.target])


def split_digits() -> list[Any]:
    """Return the split of 1797 handwritten digits of 8×8 pixels with 17 grey levels."""
    return split_rows(*datasets.load_digits(return_X_y=True))


def evaluate_models(models: dict[str, Any], X: Any, X_held: Any, y: Any, y_held: Any) -> SplitResults:
    """Fit each model on the training rows and evaluate it on the held-out rows."""
    results = []
    for name, model in models.items():
        log_proba = model.fit(X, y).predict_log_proba(X_held)
        right = model.classes_[log_proba.argmax(axis=1)] == y_held
        truth = log_proba[np.arange(len(right)), np.searchsorted(model.classes_, y_held)]
        results.append(ModelQuality(name, float(right.mean()), int((~right).sum()), float(-truth.mean())))
    return SplitResults(len(y), len(y_held), results)


def evaluate_tumours() -> SplitResults:
    """Evaluate scikit-learn's naive Bayes, ours, and a model with correlated features on tumours."""
    models = {
        "scikit-learn GaussianNB": naive_bayes.GaussianNB(),
        "deciban GaussianNB": deciban.GaussianNB(),
        'deciban GaussianBayes(covariance="tied")': deciban.GaussianBayes(covariance="tied"),
    }
    split = split_tumours()
    evaluated = evaluate_models(models, *split)
    return replace(evaluated, reason=explain_least_certain(models["deciban GaussianNB"], split[1], split[3]))


def explain_least_certain(model: Any, X: Any, y: Any) -> ExplainedPrediction:
    """Explain the held-out row of which the model is least certain."""
    i = int(np.abs(model.explain(X).total).argmin())
    names = list(datasets.load_breast_cancer().feature_names)
    explanation: Explanation = replace(model.explain(X[i : i + 1]), features=names)
    return ExplainedPrediction(
        truth=str(y[i]),
        winner=str(explanation.winner[0]),
        runner_up=str(explanation.runner_up[0]),
        probability=float(1 / (1 + np.exp(-explanation.total[0] / DECIBAN))),
        total=float(explanation.total[0]),
        added_up=float(sum(value for _, value in explanation.entries())),
        evidence=explanation.entries(),
        text=explanation.text(most=8),
    )


def evaluate_digits() -> SplitResults:
    """Evaluate a model of dark and light pixels, and one of grey levels with a covariance for each digit."""
    models = {
        "deciban BernoulliNB(binarize=7)": deciban.BernoulliNB(binarize=7),
        'deciban GaussianBayes(shrinkage="oas")': deciban.GaussianBayes(shrinkage="oas"),
    }
    return evaluate_models(models, *split_digits())


def compare_forgetting() -> list[Forgetting]:
    """Compare models that forgot the held-out rows with models that never learned them."""
    return [
        forget_held_out("BernoulliNB on digits", deciban.BernoulliNB(binarize=7), *split_digits()),
        forget_held_out("GaussianNB on tumours", deciban.GaussianNB(var_smoothing=0), *split_tumours()),
    ]


def forget_held_out(name: str, model: Any, X: Any, X_held: Any, y: Any, y_held: Any) -> Forgetting:
    """Compare a model that learned all rows and forgot the held-out ones with one that never learned those.

    Compared are their ledgers, and their posteriors of the forgotten rows; the model is fitted in place.
    """
    never = model.fit(X, y)
    ledger, posterior = never.ledger_, never.predict_proba(X_held)
    after = model.fit(np.concatenate([X, X_held]), np.concatenate([y, y_held])).forget(X_held, y_held)
    difference = float(np.abs(after.predict_proba(X_held) - posterior).max())
    return Forgetting(name, len(y) + len(y_held), len(y_held), after.ledger_ == ledger, difference)


def draw_boundaries() -> bytes:
    """Draw a line, a perpendicular bisector and a conic between two species of iris, as a PNG."""
    from deciban.plots import boundary
    from deciban.plots.boundary import draw_means
    from deciban.plots.style import need_matplotlib

    need_matplotlib()
    from matplotlib.figure import Figure

    data = datasets.load_iris()
    rows = data.target > 0  # versicolor and virginica; setosa is too easy
    X, y = data.data[rows][:, PICTURE_COLUMNS], data.target_names[data.target[rows]]
    names = [data.feature_names[j] for j in PICTURE_COLUMNS]
    figure = Figure(figsize=(14.4, 7.2), layout="constrained")
    for ax, (covariance, title) in zip(figure.subplots(1, 3), COVARIANCE_PANELS):
        model = deciban.GaussianBayes(covariance=covariance).fit(X, y)
        boundary(model, X, y, names=names, ax=ax)
        ax.set_title(title, fontsize=11.5, pad=10)
        ax.set_aspect("equal", adjustable="box")
        if covariance == "identity":
            draw_means(ax, model.means_)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    return file.getvalue()
