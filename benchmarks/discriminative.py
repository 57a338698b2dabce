"""Logistic regression against scikit-learn's, both to the same objective: a gap of at most 10⁻⁶ of it."""

import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

import deciban

from .case import Group, Line, rows, format_seconds
from .timing import alternate, clock

Data = tuple[Any, Any]

GAP = 1e-6
"""Most that an objective may be above the least one, as a share of it."""

ROUNDS = 3

SOLVERS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "dense": {"lbfgs": (1e-4, 1e-5, 1e-6, 1e-7)},
    "words": {
        "sag": (1e-2, 3e-3, 1e-3, 1e-4),
        "saga": (1e-2, 3e-3, 1e-3, 1e-4),
        "lbfgs": (1e-4, 1e-5, 1e-6),
        "newton-cg": (1e-3, 1e-4, 1e-5),
    },
}
"""What is tried on scikit-learn's side: the loosest tolerance that reaches the gap is timed."""

TOLERANCES = (1e-3, 3e-4, 1e-4, 1e-5)

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        yield "speed logistic dense many classes", partial(dense, 200_000, 100, 10, 1.5, scale)
        yield "speed logistic dense two classes", partial(dense, 1_000_000, 50, 2, 2.0, scale)
        yield "speed logistic words", partial(words, 2.0, scale)


def drawn(n: int, d: int, K: int) -> Data:
    """Correlated normal columns of about one spread; classes differ in their means."""
    rng = np.random.default_rng(21)
    mean, mixed = 0.3 * rng.normal(size=(K, d)), np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    y, X = rng.integers(K, size=n), np.empty((n, d))
    for start in range(0, n, 20_000):
        block = y[start : start + 20_000]
        X[start : start + 20_000] = (rng.normal(size=(len(block), d)) + mean[block]) @ mixed
    return X, y


def dense(n: int, d: int, K: int, target: float, scale: float) -> Iterator[Line]:
    """Dense rows against L-BFGS."""
    size = f"{n:,}×{d}".replace(",", " ")
    yield from compared(f"LogisticRegression {size} float64, K={K}", drawn(rows(n, scale), d, K), "dense", target)


def words(target: float, scale: float) -> Iterator[Line]:
    """tf–idf rows of newsgroup posts against scikit-learn's best solver for them."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from . import text_data

    posts = text_data.newsgroups()["train"].share(scale)
    X = TfidfVectorizer().fit_transform(posts.documents)
    yield from compared("LogisticRegression 20news tf–idf, CSR, K=20", (X, posts.labels), "words", target)


def objective(model: Any, data: Data) -> float:
    """What both make small at C=1, from coefficients alone."""
    X, y = data
    scores = X @ model.coef_.T + model.intercept_
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    own = scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float((logsumexp(scores, axis=1) - own).sum() + 0.5 * (model.coef_**2).sum())


def compared(name: str, data: Data, kind: str, target: float) -> Iterator[Line]:
    """One line: the quickest settings of either side that reach the gap."""
    least = objective(deciban.LogisticRegression(tol=1e-8, max_iter=1000).fit(*data), data)
    ours = _quickest([partial(deciban.LogisticRegression, tol=tol, max_iter=1000) for tol in TOLERANCES], data, least)
    peers = []
    for solver, tolerances in SOLVERS[kind].items():
        ways = [partial(LogisticRegression, tol=tol, solver=solver, max_iter=5000) for tol in tolerances]
        peers.append(_quickest(ways, data, least))
    peer = min(peers, key=lambda found: found[1])
    times = alternate(lambda: ours[0]().fit(*data), lambda: _quietly(peer[0], data), ROUNDS)
    mine, other = (statistics.median(side) for side in times)
    solver = peer[0]().solver
    at = f"tol {ours[0]().tol:g} and {peer[0]().tol:g}"
    note = f"median of {len(times[0])}; gaps {ours[2]:.1e} and {peer[2]:.1e} at {at}"
    met = other / mine >= target and max(ours[2], peer[2]) <= GAP
    case = f"{name}, C=1: fit, against scikit-learn's {solver}"
    yield Line(
        "speed", case, format_seconds(mine), format_seconds(other), other / mine, f"≥ {target:g}×", met, note, goal=target
    )


def _quickest(ways: Sequence[Callable[[], Any]], data: Data, least: float) -> tuple[Callable[[], Any], float, float]:
    """The first way, from loose to tight, that comes within the gap (or the last): its time and its gap."""
    for way in ways:
        found = _quietly(way, data)
        gap = objective(found, data) / least - 1.0
        if gap <= GAP:
            break
    return way, clock(partial(_quietly, way, data)), gap


def _quietly(way: Callable[[], Any], data: Data) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return way().fit(*data)
