"""Exact cross-validation: against one fit and one prediction of all rows, and against scikit-learn's refits."""

import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.model_selection import PredefinedSplit, cross_val_score

import deciban

from . import array_cases
from .case import Data, Group, Job, Line, format_seconds
from .timing import alternate, measure_seconds, speed_line

ROUNDS = 5
MAX_FOLD_COST, MAX_LEAVE_ONE_OUT_COST = 3.0, 3.5
"""The largest cost of ten folds and of leave-one-out, in units of one fit and one prediction."""
REFIT_RATIO = 20.0
"""The required ratio of scikit-learn's time for refits to ours."""

NUMBERS = "GaussianNB 10⁶×50 float64, K=10"


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    if group == "speed":
        yield "speed cross-validation folds", partial(compare_with_one_fit, 10, MAX_FOLD_COST, scale)
        yield (
            "speed cross-validation leave-one-out",
            partial(compare_with_one_fit, "loo", MAX_LEAVE_ONE_OUT_COST, scale),
        )
        yield "speed cross-validation refits", partial(compare_with_refits, scale)
        yield "speed cross-validation others", partial(measure_other_models, scale)


def cross_validate(model: Any, data: Data, folds: Any) -> tuple[float, float]:
    """Return the accuracy and log-loss of held-out rows."""
    report = deciban.cross_validate(model, *data, folds)
    return report.accuracy, report.log_loss


def fit_and_predict(model: Any, data: Data) -> Any:
    """Fit once, and predict the learned rows."""
    return model.fit(*data).predict_log_proba(data[0])


def cost_line(name: str, model: Any, data: Data, folds: Any, max_cost: float | None) -> Line:
    """Measure cross-validation in units of one fit and prediction; the target is an upper limit of that cost."""
    cross_validate(model, data, folds)
    fit_and_predict(model, data)
    times = alternate(partial(cross_validate, model, data, folds), partial(fit_and_predict, model, data), ROUNDS)
    ours, once = (statistics.median(side) for side in times)
    cost = ours / once
    met = None if max_cost is None else cost <= max_cost
    note = f"median of {len(times[0])}; {cost:.2f} times one fit and predict_log_proba, with accuracy and log-loss"
    target, goal = ("no target", None) if max_cost is None else (f"≤ {max_cost:g} times", 1 / max_cost)
    return Line("speed", name, format_seconds(ours), format_seconds(once), once / ours, target, met, note, goal=goal)


def compare_with_one_fit(folds: Any, max_cost: float, scale: float) -> Iterator[Line]:
    """Measure exact cross-validation of numbers in units of one fit and one prediction."""
    method = "leave-one-out" if folds == "loo" else f"{folds}-fold"
    name = f"{NUMBERS}: {method}, against fit + predict_log_proba"
    yield cost_line(name, deciban.GaussianNB(), array_cases.make_numbers(scale), folds, max_cost)


def compare_with_refits(scale: float) -> Iterator[Line]:
    """Compare ten folds with scikit-learn's `cross_val_score` of its own GaussianNB on equal folds."""
    X, y = array_cases.make_numbers(scale)
    report = deciban.cross_validate(deciban.GaussianNB(), X, y, 10)
    split = PredefinedSplit(report.folds)
    accuracies: list[float] = []

    def refit() -> None:
        accuracies.append(float(np.mean(cross_val_score(naive_bayes.GaussianNB(), X, y, cv=split))))

    seconds = measure_seconds(refit)
    ours = [measure_seconds(partial(cross_validate, deciban.GaussianNB(), (X, y), 10)) for _ in range(ROUNDS)]
    same = 1 - abs(accuracies[0] - report.accuracy)
    name = f"{NUMBERS}: 10-fold, against cross_val_score"
    yield speed_line(name, (ours, [seconds]), REFIT_RATIO, same, "scikit-learn once; same: of the accuracies")


def measure_other_models(scale: float) -> Iterator[Line]:
    """Measure ten folds of flags and of categories, which have no target."""
    for name, make_data, model in (
        ("BernoulliNB 200 000×784 uint8, K=10", array_cases.make_flags, deciban.BernoulliNB()),
        ("CategoricalNB 10⁶×20 int64, 20 levels, K=10", array_cases.make_categories, deciban.CategoricalNB()),
    ):
        yield cost_line(f"{name}: 10-fold, against fit + predict_log_proba", model, make_data(scale), 10, None)
