"""Logistic regression, evidence regression and boosting against scikit-learn's.

Both sides of logistic regression are timed at the same accuracy: an objective within 10⁻⁶ of the minimum.
"""

import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import deciban
from deciban import EvidenceRegression, Words

from . import text_data
from .case import Data, Group, Job, Line, format_seconds, scale_rows
from .text import measure_accuracy, program_line
from .text_data import Corpus
from .timing import agreement, alternate, measure_seconds, speed_line

MAX_OBJECTIVE_GAP = 1e-6
"""The largest relative difference between an objective and its minimum."""

ROUNDS = 3
"""Timed runs of our side; where scikit-learn takes minutes, it runs once."""

SOLVERS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "dense": {"lbfgs": (1e-4, 1e-5, 1e-6, 1e-7)},
    "words": {
        "sag": (1e-2, 3e-3, 1e-3, 1e-4),
        "saga": (1e-2, 3e-3, 1e-3, 1e-4),
        "lbfgs": (1e-4, 1e-5, 1e-6),
        "newton-cg": (1e-3, 1e-4, 1e-5),
    },
}
"""Solvers and tolerances of scikit-learn: of each solver the largest tolerance that reaches the gap is timed."""

TOLERANCES = (1e-3, 3e-4, 1e-4, 1e-5)
"""The tolerances tried on our side."""

EVIDENCE_POSTS = 25_000
EVIDENCE_RATIO = 6.0

BOOSTING_SETTINGS: dict[str, Any] = {"n_estimators": 50, "learning_rate": 0.1}
BOOSTING_ROWS, BOOSTING_TEST_ROWS = 200_000, 50_000
BOOSTING_RATIO = 8.0


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    if group == "speed":
        yield "speed logistic dense many classes", partial(compare_dense_logistic, 200_000, 100, 10, 1.5, scale)
        yield "speed logistic dense two classes", partial(compare_dense_logistic, 1_000_000, 50, 2, 2.0, scale)
        yield "speed logistic words", partial(compare_sparse_logistic, 2.0, scale)
        yield "speed evidence regression of posts", partial(compare_evidence_regression, scale)
        for K in (2, 10):
            yield f"speed boosting {K} classes", partial(compare_boosting, K, scale)


def make_correlated_columns(n: int, d: int, K: int) -> Data:
    """Draw correlated normal columns of similar spread; classes differ in their means."""
    rng = np.random.default_rng(21)
    mean, mixing = 0.3 * rng.normal(size=(K, d)), np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    y, X = rng.integers(K, size=n), np.empty((n, d))
    for start in range(0, n, 20_000):
        block = y[start : start + 20_000]
        X[start : start + 20_000] = (rng.normal(size=(len(block), d)) + mean[block]) @ mixing
    return X, y


def compare_dense_logistic(n: int, d: int, K: int, target: float, scale: float) -> Iterator[Line]:
    """Compare logistic regression on dense rows with L-BFGS."""
    size = f"{n:,}×{d}".replace(",", " ")
    data = make_correlated_columns(scale_rows(n, scale), d, K)
    yield compare_logistic(f"LogisticRegression {size} float64, K={K}", data, "dense", target)


def compare_sparse_logistic(target: float, scale: float) -> Iterator[Line]:
    """Compare logistic regression on tf–idf rows of newsgroup posts with scikit-learn's best solver for them."""
    posts = text_data.load_newsgroups()["train"].subsample(scale)
    X = TfidfVectorizer().fit_transform(posts.documents)
    yield compare_logistic("LogisticRegression 20news tf–idf, CSR, K=20", (X, posts.labels), "words", target)


def objective(model: Any, data: tuple[Any, Any]) -> float:
    """Compute the objective of both libraries at C=1, from the coefficients alone."""
    X, y = data
    scores = X @ model.coef_.T + model.intercept_
    scores = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    own = scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float((logsumexp(scores, axis=1) - own).sum() + 0.5 * (model.coef_**2).sum())


def compare_logistic(name: str, data: tuple[Any, Any], kind: str, target: float) -> Line:
    """Compare the fastest settings of either side that reach the gap."""
    minimum = objective(deciban.LogisticRegression(tol=1e-8, max_iter=1000).fit(*data), data)
    ours = _find_fastest(
        [partial(deciban.LogisticRegression, tol=tol, max_iter=1000) for tol in TOLERANCES], data, minimum
    )
    peers = []
    for solver, tolerances in SOLVERS[kind].items():
        candidates = [partial(LogisticRegression, tol=tol, solver=solver, max_iter=5000) for tol in tolerances]
        peers.append(_find_fastest(candidates, data, minimum))
    peer = min(peers, key=lambda found: found[1])
    times = alternate(lambda: ours[0]().fit(*data), lambda: _fit_quietly(peer[0], data), ROUNDS)
    our_time, peer_time = (statistics.median(side) for side in times)
    solver = peer[0]().solver
    tolerances_used = f"tol {ours[0]().tol:g} and {peer[0]().tol:g}"
    note = f"median of {len(times[0])}; gaps {ours[2]:.1e} and {peer[2]:.1e} at {tolerances_used}"
    ratio = peer_time / our_time
    met = ratio >= target and max(ours[2], peer[2]) <= MAX_OBJECTIVE_GAP
    case = f"{name}, C=1: fit, against scikit-learn's {solver}"
    shown = format_seconds(our_time), format_seconds(peer_time)
    return Line("speed", case, *shown, ratio, f"≥ {target:g}×", met, note, goal=target)


def _find_fastest(
    candidates: Sequence[Callable[[], Any]], data: tuple[Any, Any], minimum: float
) -> tuple[Callable[[], Any], float, float]:
    """Return the first candidate, by decreasing tolerance, within the gap (or the last), its time and its gap."""
    for make in candidates:
        gap = objective(_fit_quietly(make, data), data) / minimum - 1.0
        if gap <= MAX_OBJECTIVE_GAP:
            break
    return make, measure_seconds(partial(_fit_quietly, make, data)), gap


def _fit_quietly(make: Callable[[], Any], data: tuple[Any, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(*data)


def make_evidence_regression() -> Any:
    """Return our model of words and pairs of words with the default C."""
    return EvidenceRegression(C=1.0, words=Words(ngrams=2), presence=True, alpha=1.0, held_out=False)


def make_logistic_pipeline() -> Any:
    """Return scikit-learn's logistic regression of words and pairs of words, with its defaults."""
    return make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(C=1.0))


def compare_evidence_regression(scale: float) -> Iterator[Line]:
    """Compare fits of repeated posts; the accuracies are on test posts, by models of the training posts alone."""
    parts = {name: part.subsample(scale) for name, part in text_data.load_newsgroups().items()}
    train, test = parts["train"], parts["test"]
    both = Corpus(train.documents + test.documents, np.concatenate([train.labels, test.labels]))
    repeated = both.take(np.resize(np.arange(len(both.labels)), max(2000, round(EVIDENCE_POSTS * scale))))
    makes = make_evidence_regression, make_logistic_pipeline
    accuracies = tuple(measure_accuracy(make().fit(*train), test) for make in makes)
    our_times = [measure_seconds(lambda: make_evidence_regression().fit(*repeated)) for _ in range(ROUNDS)]
    peer_times = [measure_seconds(lambda: make_logistic_pipeline().fit(*repeated))]
    name = f"EvidenceRegression, {len(repeated.labels)} newsgroup posts, uni + bigrams, C=1: fit from strings"
    note = "scikit-learn (CountVectorizer, LogisticRegression) once; accuracies by fits of the training posts"
    yield program_line(name, (our_times, peer_times), EVIDENCE_RATIO, accuracies, note)  # type: ignore[arg-type]


def make_boosting_data(K: int, scale: float) -> tuple[Data, Data]:
    """Draw rows to learn, and rows to test."""
    n = scale_rows(BOOSTING_ROWS, scale)
    n_test = max(1000, round(BOOSTING_TEST_ROWS * scale))
    X, y = make_classification(n + n_test, 50, n_informative=20, n_redundant=10, n_classes=K, random_state=0)
    X = StandardScaler().fit_transform(X)
    return (X[:n], y[:n]), (X[n:], y[n:])


def compare_boosting(K: int, scale: float) -> Iterator[Line]:
    """Compare boosting with equal settings on both sides, then with scikit-learn's rounds around our estimator."""
    train, test = make_boosting_data(K, scale)
    ours = deciban.BoostedBayes(**BOOSTING_SETTINGS).fit(*train)
    times = [measure_seconds(partial(_fit_boosting, deciban.BoostedBayes, train)) for _ in range(ROUNDS)]
    for name, learner, target in (
        ("AdaBoostClassifier(sklearn GaussianNB)", GaussianNB(), BOOSTING_RATIO),
        ("AdaBoostClassifier(deciban GaussianNB)", deciban.GaussianNB(), None),
    ):
        peer = AdaBoostClassifier(learner, **BOOSTING_SETTINGS)
        seconds = measure_seconds(partial(peer.fit, *train))
        case = f"BoostedBayes 200 000×50 float64, K={K}, 50 rounds, rate 0.1: fit, against {name}"
        note = f"scikit-learn once; accuracy on other rows {ours.score(*test):.2%} and {peer.score(*test):.2%}"
        yield speed_line(case, (times, [seconds]), target, agreement(ours, peer, test[0]), note)
    yield compare_additive_boosting(K, train, test, statistics.median(times))


def compare_additive_boosting(K: int, train: Data, test: Data, vote_seconds: float) -> Line:
    """Compare additive scores with votes: their time and their accuracy."""
    model = deciban.BoostedBayes(algorithm="logistic", **BOOSTING_SETTINGS).fit(*train)
    single = deciban.GaussianNB().fit(*train)
    seconds = measure_seconds(partial(_fit_boosting, partial(deciban.BoostedBayes, algorithm="logistic"), train))
    case = f"BoostedBayes(algorithm='logistic') on the same data, K={K}: fit, against its own votes"
    note = f"accuracy on other rows {model.score(*test):.2%}, GaussianNB alone {single.score(*test):.2%}"
    return speed_line(case, ([seconds], [vote_seconds]), None, 1.0, note)


def _fit_boosting(make: Callable[..., Any], data: Data) -> Any:
    return make(**BOOSTING_SETTINGS).fit(*data)
