"""Exact cross-validation: against one fit and one prediction of all rows, and against scikit-learn's refits."""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.model_selection import PredefinedSplit, cross_val_score

import deciban

from . import dense
from .case import Data, Group, Line, format_seconds
from .timing import alternate, clock, speed_line

ROUNDS = 5
FOLDS, ALONE, REFITS = 3.0, 3.5, 20.0
"""Most fits and predictions that ten folds may cost, and leave-one-out; least times faster than refits."""

NUMBERS = "GaussianNB 10⁶×50 float64, K=10"

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        yield "speed judging folds", partial(against_one_fit, 10, FOLDS, scale)
        yield "speed judging leave-one-out", partial(against_one_fit, "loo", ALONE, scale)
        yield "speed judging refits", partial(against_refits, scale)
        yield "speed judging others", partial(others, scale)


def crossed(model: Any, data: Data, folds: Any) -> tuple[float, float]:
    """Accuracy and log-loss of rows that were not learned."""
    report = deciban.cross_validate(model, *data, folds)
    return report.accuracy, report.log_loss


def fit_and_ask(model: Any, data: Data) -> Any:
    """One fit, and what it says of the rows it has learned."""
    return model.fit(*data).predict_log_proba(data[0])


def cost_line(name: str, model: Any, data: Data, folds: Any, most: float | None) -> Line:
    """How many fits and predictions cross-validation costs; a target is a most, so its ratio is below one."""
    crossed(model, data, folds)
    fit_and_ask(model, data)
    times = alternate(partial(crossed, model, data, folds), partial(fit_and_ask, model, data), ROUNDS)
    ours, once = (statistics.median(side) for side in times)
    times_over = ours / once
    met = None if most is None else times_over <= most
    note = (
        f"median of {len(times[0])}; {times_over:.2f} times one fit and predict_log_proba, accuracy and log-loss told"
    )
    target, goal = ("no target", None) if most is None else (f"≤ {most:g} times", 1 / most)
    return Line("speed", name, format_seconds(ours), format_seconds(once), once / ours, target, met, note, goal=goal)


def against_one_fit(folds: Any, most: float, scale: float) -> Iterator[Line]:
    """Exact cross-validation of numbers, as so many fits and predictions."""
    what = "leave-one-out" if folds == "loo" else f"{folds}-fold"
    yield cost_line(
        f"{NUMBERS}: {what}, against fit + predict_log_proba", deciban.GaussianNB(), dense.numbers(scale), folds, most
    )


def against_refits(scale: float) -> Iterator[Line]:
    """The same ten folds by scikit-learn, with its own GaussianNB."""
    X, y = dense.numbers(scale)
    report = deciban.cross_validate(deciban.GaussianNB(), X, y, 10)
    split = PredefinedSplit(report.folds)
    found: list[float] = []

    def refits() -> None:
        found.append(float(np.mean(cross_val_score(naive_bayes.GaussianNB(), X, y, cv=split))))

    seconds = clock(refits)
    ours = [clock(partial(crossed, deciban.GaussianNB(), (X, y), 10)) for _ in range(ROUNDS)]
    same = 1 - abs(found[0] - report.accuracy)
    name = f"{NUMBERS}: 10-fold, against cross_val_score"
    yield speed_line(name, (ours, [seconds]), REFITS, same, "scikit-learn once; same: of the accuracies")


def others(scale: float) -> Iterator[Line]:
    """Ten folds of flags and of categories, which have no target."""
    for name, data, model in (
        ("BernoulliNB 200 000×784 uint8, K=10", dense.flags, deciban.BernoulliNB()),
        ("CategoricalNB 10⁶×20 int64, 20 levels, K=10", dense.categories, deciban.CategoricalNB()),
    ):
        yield cost_line(f"{name}: 10-fold, against fit + predict_log_proba", model, data(scale), 10, None)
