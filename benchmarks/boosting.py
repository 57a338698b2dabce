"""Boosting: rounds of weighted ledgers against scikit-learn's AdaBoostClassifier."""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import deciban

from .case import Data, Group, Line, rows
from .timing import agreement, clock, speed_line

ROUNDS = 3
"""Runs of ours; scikit-learn takes a minute or more and runs once."""

TARGET = 8.0
SETTINGS: dict[str, Any] = {"n_estimators": 50, "learning_rate": 0.1}
ROWS, ASKED = 200_000, 50_000

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        for K in (2, 10):
            yield f"speed boosting {K} classes", partial(boosting, K, scale)


def drawn(K: int, scale: float) -> tuple[Data, Data]:
    """Rows to learn, and others to be asked about."""
    n = rows(ROWS, scale)
    X, y = make_classification(
        n + max(1000, round(ASKED * scale)), 50, n_informative=20, n_redundant=10, n_classes=K, random_state=0
    )
    X = StandardScaler().fit_transform(X)
    return (X[:n], y[:n]), (X[n:], y[n:])


def boosting(K: int, scale: float) -> Iterator[Line]:
    """The same learner and settings on both sides, then the same rounds driven by scikit-learn around our facade."""
    learned, asked = drawn(K, scale)
    ours = deciban.BoostedBayes(**SETTINGS).fit(*learned)
    times = [clock(partial(_fit, deciban.BoostedBayes, learned)) for _ in range(ROUNDS)]
    for name, learner, target in (
        ("AdaBoostClassifier(sklearn GaussianNB)", GaussianNB(), TARGET),
        ("AdaBoostClassifier(deciban GaussianNB)", deciban.GaussianNB(), None),
    ):
        peer = AdaBoostClassifier(learner, **SETTINGS)
        seconds = clock(partial(peer.fit, *learned))
        case = f"BoostedBayes 200 000×50 float64, K={K}, 50 rounds, rate 0.1: fit, against {name}"
        note = f"scikit-learn once; accuracy of other rows {ours.score(*asked):.2%} and {peer.score(*asked):.2%}"
        yield speed_line(case, (times, [seconds]), target, agreement(ours, peer, asked[0]), note)
    yield added(K, learned, asked, statistics.median(times))


def added(K: int, learned: Data, asked: Data, votes: float) -> Line:
    """Scores that add up, beside votes: what they cost and what they bring."""
    model = deciban.BoostedBayes(algorithm="logistic", **SETTINGS).fit(*learned)
    plain = deciban.GaussianNB().fit(*learned)
    seconds = clock(partial(_fit, partial(deciban.BoostedBayes, algorithm="logistic"), learned))
    case = f"BoostedBayes(algorithm='logistic') of the same, K={K}: fit, against its own votes"
    note = f"accuracy of other rows {model.score(*asked):.2%}, GaussianNB alone {plain.score(*asked):.2%}"
    return speed_line(case, ([seconds], [votes]), None, 1.0, note)


def _fit(make: Callable[..., Any], data: Data) -> Any:
    return make(**SETTINGS).fit(*data)
