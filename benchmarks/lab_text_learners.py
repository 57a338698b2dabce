"""The learners of texts compared with linear models of tf-idf: accuracy and log-loss on public corpora."""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from deciban import EvidenceRegression, TextClassifier
from deciban.errors import DecibanWarning

from . import text_data
from .lab import format_percent
from .lab_tables import format_table
from .text_data import Corpus

SEED = 0
SENTENCE_FOLDS = 10
MIN_PROBABILITY = 1e-15
"""The least probability in a log-loss; one of 0 has the loss of this one."""

SECTION = """
## Learners compared with linear models of tf-idf

Accuracy, and log-loss where there are probabilities, on test documents that took no part in any choice: 20 Newsgroups
(by date, headers kept), R52 (52 subjects of Reuters, title and body), R8, a third of the SMS and of the messages of
Enron1 (stratified, seed 0), and {folds} folds of the sentences of movie reviews.

"former default" is evidence regression as it was: classic words, presence, α = 1, the common weight fitted to each
document's own evidence. The default chooses smoothing and pairs of neighbours by the training documents. "tuned": C
of 1, 10, 100 or 1000 by a fifth of the training documents. Seconds are the CPU time of fitting and predicting.
"""


def make_former_default() -> EvidenceRegression:
    """Make evidence regression with the defaults before smoothing was chosen."""
    return EvidenceRegression(words="classic", presence=True, alpha=1.0, held_out=False)


class TunedLogistic:
    """Logistic regression of tf-idf whose C is that of least log-loss on a fifth of the training documents."""

    def fit(self, documents: list[str], labels: NDArray[np.str_]) -> "TunedLogistic":
        """Choose C without the fifth, whose classes may be unknown there; then fit to all documents."""
        X = TfidfVectorizer(sublinear_tf=True).fit_transform(documents)
        order = np.random.default_rng(SEED).permutation(len(labels))
        held, others = order[: len(order) // 5], order[len(order) // 5 :]
        held = held[np.isin(labels[held], labels[others])]
        losses = {}
        for C in (1.0, 10.0, 100.0, 1000.0):
            model = make_logistic(C).fit(X[others], labels[others])
            losses[C] = float(compute_losses(model, X[held], labels[held]).mean())
        best = min(losses, key=lambda C: losses[C])
        self._pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), make_logistic(best))
        self._pipeline.fit(documents, labels)
        self.classes_ = self._pipeline.classes_
        return self

    def predict_proba(self, documents: list[str]) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self._pipeline.predict_proba(documents))


def make_logistic(C: float) -> LogisticRegression:
    """Make logistic regression with this C."""
    return LogisticRegression(C=C, max_iter=300, tol=1e-3)


def compute_losses(model: Any, X: Any, labels: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return −ln p of the true class of each document."""
    p = model.predict_proba(X)
    own = p[np.arange(len(p)), np.searchsorted(model.classes_, labels)]
    return np.asarray(-np.log(np.maximum(own, MIN_PROBABILITY)))


LEARNERS: Mapping[str, Callable[[], Any]] = {
    "`EvidenceRegression()`": EvidenceRegression,
    '`EvidenceRegression(words="modern")`': partial(EvidenceRegression, words="modern"),
    "former default": make_former_default,
    '`TextClassifier(alpha="auto", calibrate="auto")`': partial(TextClassifier, alpha="auto", calibrate="auto"),
    '`TextClassifier(weighting="twcnb")`': partial(TextClassifier, weighting="twcnb"),
    "`TextClassifier()`": TextClassifier,
    "CountVectorizer, MultinomialNB": lambda: make_pipeline(CountVectorizer(), MultinomialNB()),
    "tf-idf, LinearSVC": lambda: make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()),
    "tf-idf, LogisticRegression, tuned": TunedLogistic,
}
"""The learners by their names in the tables; the first is compared with the third."""


def load_splits() -> Iterator[tuple[str, list[tuple[Corpus, Corpus]]]]:
    """Yield the name of each corpus and its pairs of training and test documents."""
    news = text_data.load_newsgroups()
    yield "20 Newsgroups", [(news["train"], news["test"])]
    yield "R52", [(text_data.load_reuters_52("train"), text_data.load_reuters_52("test"))]
    yield "R8", [(text_data.load_reuters("train"), text_data.load_reuters("test"))]
    for name, corpus in (("SMS", text_data.load_sms()), ("Enron1", text_data.load_enron(1))):
        rows = np.arange(len(corpus.labels))
        train, test = train_test_split(rows, test_size=1 / 3, stratify=corpus.labels, random_state=SEED)
        yield name, [(corpus.take(train), corpus.take(test))]
    corpus = text_data.load_movie_sentences()
    folds = StratifiedKFold(SENTENCE_FOLDS, shuffle=True, random_state=SEED).split(corpus.documents, corpus.labels)
    yield "sentences", [(corpus.take(i), corpus.take(j)) for i, j in folds]


@dataclass(frozen=True)
class LearnerResult:
    """Whether each test document is right, its loss (None without probabilities), and the CPU time."""

    hits: NDArray[np.bool_]
    losses: NDArray[np.float64] | None
    seconds: float

    @property
    def cells(self) -> list[str]:
        """The cells of a table: accuracy, log-loss, seconds."""
        loss = "–" if self.losses is None else f"{self.losses.mean():.4f}"
        return [format_percent(float(self.hits.mean())), loss, f"{self.seconds:.1f}"]


def evaluate_learner(make: Callable[[], Any], splits: list[tuple[Corpus, Corpus]]) -> LearnerResult:
    """Fit a learner to the training documents of each split, and score its test documents."""
    hits, losses, start = [], [], time.process_time()
    for train, test in splits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make().fit(*train)
            if not hasattr(model, "predict_proba"):
                hits.append(model.predict(test.documents) == test.labels)
                continue
            p = model.predict_proba(test.documents)
        hits.append(model.classes_[p.argmax(axis=1)] == test.labels)
        own = p[np.arange(len(p)), np.searchsorted(model.classes_, test.labels)]
        losses.append(-np.log(np.maximum(own, MIN_PROBABILITY)))
    seconds = time.process_time() - start
    return LearnerResult(np.concatenate(hits), np.concatenate(losses) if losses else None, seconds)


def compare_with_former(new: LearnerResult, old: LearnerResult) -> str:
    """Return whether the new default won, tied or lost by log-loss: beyond two standard errors, paired."""
    assert new.losses is not None
    assert old.losses is not None
    gain = old.losses - new.losses
    mean, error = float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))
    verdict = "won" if mean > 2 * error else "lost" if mean < -2 * error else "tied"
    return f"{verdict} ({mean:+.4f} ± {error:.4f} nats per document)"


def measure_learners() -> str:
    """Measure all learners on all corpora; return the section."""
    parts, verdicts = [SECTION.format(folds=SENTENCE_FOLDS)], []
    for name, splits in load_splits():
        results = {title: evaluate_learner(make, splits) for title, make in LEARNERS.items()}
        lines = [[title, *result.cells] for title, result in results.items()]
        parts.append(f"\n### {name}\n\n{format_table(['learner', 'accuracy', 'log-loss', 'seconds'], lines)}")
        new, _, old = list(results.values())[:3]
        verdicts.append([name, compare_with_former(new, old)])
        print(parts[-1], verdicts[-1], flush=True)
    table = format_table(["corpus", "log-loss of the default against the former one"], verdicts)
    return "".join([*parts, f"\n### The changed default\n\n{table}"])
